/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_readdir.c - READDIR and READDIRPLUS: arguments, and whole replies with their lists.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "cases.h"
#include "pieces.h"

#define MAX_ENTRIES 8

struct listing {
	struct wire_readdir_head head;
	struct wire_dirent entries[MAX_ENTRIES];
	size_t count;
	bool eof;
};
_Static_assert(sizeof(struct listing) <= CASE_OBJECT_MAX, "object fits");

static int decode_list(struct wire_dec *d, struct listing *l, bool plus)
{
	int err = wire_readdir_head_decode(d, &l->head);

	l->count = 0;
	if (err || l->head.status)
		return err;
	while ((err = wire_dirent_next(d, &l->entries[l->count], plus, &l->eof)) > 0)
		if (++l->count == MAX_ENTRIES)
			return -E2BIG;
	return err;
}

static void encode_list(struct wire_enc *e, const struct listing *l, bool plus)
{
	wire_readdir_head_encode(e, &l->head);
	if (l->head.status)
		return;
	for (size_t i = 0; i < l->count; i++)
		if (!wire_dirent_encode(e, &l->entries[i], plus))
			e->overflow = true;
	wire_readdir_end_encode(e, l->eof);
}

#define FLAVOR(suffix, plus)                                                                       \
	static int decode_list_##suffix(struct wire_dec *d, void *o)                               \
	{                                                                                          \
		return decode_list(d, o, plus);                                                    \
	}                                                                                          \
	static void encode_list_##suffix(struct wire_enc *e, const void *o)                        \
	{                                                                                          \
		encode_list(e, o, plus);                                                           \
	}                                                                                          \
	static int decode_args_##suffix(struct wire_dec *d, void *o)                               \
	{                                                                                          \
		return wire_readdir_args_decode(d, o, plus);                                       \
	}                                                                                          \
	static void encode_args_##suffix(struct wire_enc *e, const void *o)                        \
	{                                                                                          \
		wire_readdir_args_encode(e, o, plus);                                              \
	}
FLAVOR(bare, false)
FLAVOR(plus, true)
#define ROW(name, type, check, hex)                                                                \
	{                                                                                          \
		name, hex, decode_##type, encode_##type, NULL, check                               \
	}

static void check_args(const struct wire_readdir_args *a)
{
	cr_assert_eq(a->dir.len, 4);
	cr_assert_eq(a->cookie, UINT64_C(0x1000000000000007));
	cr_assert_arr_eq(a->verf, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
}

static void args_bare(const void *o)
{
	const struct wire_readdir_args *a = o;

	check_args(a);
	cr_assert_eq(a->maxcount, 0x2000);
	cr_assert_eq(a->dircount, 0x2000);
}

static void args_plus(const void *o)
{
	const struct wire_readdir_args *a = o;

	check_args(a);
	cr_assert_eq(a->dircount, 0x1000);
	cr_assert_eq(a->maxcount, 0x8000);
}

static void two_names(const void *o)
{
	const struct listing *l = o;

	cr_assert(l->head.attr.present);
	cr_assert_arr_eq(l->head.verf, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
	cr_assert_eq(l->count, 2);
	cr_assert(l->eof);
	cr_assert_eq(l->entries[0].fileid, 5);
	cr_assert_eq(l->entries[0].name_len, 1);
	cr_assert_eq(l->entries[0].name[0], 'a');
	cr_assert_eq(l->entries[0].cookie, 1);
	cr_assert_eq(l->entries[1].fileid, UINT64_C(0xf00000006));
	cr_assert_eq(l->entries[1].name_len, 5);
	cr_assert_arr_eq(l->entries[1].name, "hello", 5);
	cr_assert_eq(l->entries[1].cookie, UINT64_C(0xffffffffffffffff));
}

static void empty(const void *o)
{
	const struct listing *l = o;

	cr_assert_eq(l->count, 0);
	cr_assert_not(l->eof);
}

static void bad_cookie(const void *o)
{
	cr_assert_eq(((const struct listing *)o)->head.status, 10003);
}

/* One entry with everything, one without handle, one without attributes, one with neither. */
static void four_kinds(const void *o)
{
	const struct listing *l = o;

	cr_assert_eq(l->count, 4);
	cr_assert_not(l->eof);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(l->entries[i].attr.present, i < 2, "entry %zu", i);
		cr_assert_eq(l->entries[i].has_fh, i == 0 || i == 2, "entry %zu", i);
		cr_assert_eq(l->entries[i].cookie, i + 1);
	}
	cr_assert_eq(l->entries[0].attr.attr.fileid, 42);
	cr_assert_eq(l->entries[0].fh.len, 5);
	cr_assert_eq(l->entries[2].fh.len, 4);
	cr_assert_arr_eq(l->entries[2].fh.data, "\xa1\xb2\xc3\xd4", 4);
}

#define ENTRY(fileid, name, cookie) YES fileid name cookie
#define DOUBLE(low) "00000000 000000" low " "

static const struct wire_case rows[] = {
	ROW("READDIR args", args_bare, args_bare, FH "10000000 00000007" VERF "00002000"),
	ROW("READDIRPLUS args", args_plus, args_plus,
	    FH "10000000 00000007" VERF "00001000 00008000"),
	ROW("READDIR two names", list_bare, two_names,
	    OK3 POST_ATTR VERF ENTRY(DOUBLE("05"), NAME_A, DOUBLE("01"))
		    ENTRY("0000000f 00000006 ", NAME_HELLO, "ffffffff ffffffff ") NO YES),
	ROW("READDIR empty, more to come", list_bare, empty, OK3 NO VERF NO NO),
	ROW("READDIR bad cookie", list_bare, bad_cookie, "00002713" NO),
	ROW("READDIRPLUS bad cookie", list_plus, bad_cookie, "00002713" POST_ATTR),
	ROW("READDIRPLUS four kinds", list_plus, four_kinds,
	    OK3 NO VERF ENTRY(DOUBLE("05"), NAME_A, DOUBLE("01"))
		    POST_ATTR YES FH5 ENTRY(DOUBLE("06"), NAME_HELLO, DOUBLE("02"))
			    POST_ATTR NO ENTRY(DOUBLE("07"), NAME_A, DOUBLE("03")) NO YES FH ENTRY(
				    DOUBLE("08"), NAME_A, DOUBLE("04")) NO NO NO NO),
};

const struct wire_case_list cases_readdir = {rows, sizeof(rows) / sizeof(rows[0])};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_mount.c - MOUNT version 3: MNT by hand and generated, EXPORT's and DUMP's lists.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cases.h"
#include "pieces.h"
#include "wire/mount_xdr.h"

#define ROW(name, type, check, hex)                                                                \
	{                                                                                          \
		name, hex, decode_##type, encode_##type, NULL, check                               \
	}
#define MAX_ITEMS 4

CASE_XDR(mountres3)

static int decode_mnt_args(struct wire_dec *d, void *o)
{
	return wire_mnt_args_decode(d, o);
}

static void encode_mnt_args(struct wire_enc *e, const void *o)
{
	wire_mnt_args_encode(e, o);
}

static int decode_mnt_res(struct wire_dec *d, void *o)
{
	return wire_mnt_res_decode(d, o);
}

static void encode_mnt_res(struct wire_enc *e, const void *o)
{
	wire_mnt_res_encode(e, o);
}

struct exports {
	size_t count;
	struct wire_export items[MAX_ITEMS];
};

static int decode_exports(struct wire_dec *d, void *o)
{
	struct exports *x = o;
	int more;

	x->count = 0;
	while ((more = wire_export_next(d, &x->items[x->count])) > 0)
		if (++x->count == MAX_ITEMS)
			return -E2BIG;
	return more;
}

static const char *text(const uint8_t *bytes, uint32_t len, char buf[64])
{
	cr_assert_lt(len, 64);
	memcpy(buf, bytes, len);
	buf[len] = '\0';
	return buf;
}

/* Our encoder knows one group at most, and so do the cases. */
static void encode_exports(struct wire_enc *e, const void *o)
{
	const struct exports *x = o;
	char path[64], group[64];

	for (size_t i = 0; i < x->count; i++) {
		const struct wire_export *it = &x->items[i];

		wire_export_encode(e, text(it->path, it->path_len, path),
				   it->group ? text(it->group, it->group_len, group) : NULL);
	}
	wire_export_end_encode(e);
}

struct mountents {
	size_t count;
	struct wire_mountent items[MAX_ITEMS];
};

static int decode_mountents(struct wire_dec *d, void *o)
{
	struct mountents *m = o;
	int more;

	m->count = 0;
	while ((more = wire_mountent_next(d, &m->items[m->count])) > 0)
		if (++m->count == MAX_ITEMS)
			return -E2BIG;
	return more;
}

static void encode_mountents(struct wire_enc *e, const void *o)
{
	const struct mountents *m = o;
	char host[64], path[64];

	for (size_t i = 0; i < m->count; i++)
		wire_mountent_encode(e, text(m->items[i].host, m->items[i].host_len, host),
				     text(m->items[i].path, m->items[i].path_len, path));
	wire_mountent_end_encode(e);
}

static void mnt_args(const void *o)
{
	cr_assert_str_eq((const char *)o, "hello");
}

static void mnt_ok(const void *o)
{
	const struct wire_mnt_res *r = o;

	cr_assert_eq(r->status, 0);
	cr_assert_eq(r->fh.len, 5);
	cr_assert_eq(r->nflavors, 2);
	cr_assert_eq(r->flavors[0], 1);
	cr_assert_eq(r->flavors[1], 390003);
}

static void mnt_ok_generated(const void *o)
{
	const mountres3_ok *r = &((const mountres3 *)o)->mountres3_u.mountinfo;

	cr_assert_eq(r->fhandle.fhandle3_len, 5);
	cr_assert_eq(r->auth_flavors.auth_flavors_len, 2);
	cr_assert_eq(r->auth_flavors.auth_flavors_val[1], 390003);
}

static void mnt_denied(const void *o)
{
	cr_assert_eq(((const struct wire_mnt_res *)o)->status, 13);
}

static void exports_two(const void *o)
{
	const struct exports *x = o;

	cr_assert_eq(x->count, 2);
	cr_assert_eq(x->items[0].path_len, 5);
	cr_assert_arr_eq(x->items[0].path, "hello", 5);
	cr_assert_eq(x->items[0].ngroups, 1);
	cr_assert_eq(x->items[0].group_len, 1);
	cr_assert_eq(x->items[0].group[0], 'a');
	cr_assert_eq(x->items[1].ngroups, 0);
	cr_assert_null(x->items[1].group);
}

static void exports_none(const void *o)
{
	cr_assert_eq(((const struct exports *)o)->count, 0);
}

static void mountents_one(const void *o)
{
	const struct mountents *m = o;

	cr_assert_eq(m->count, 1);
	cr_assert_eq(m->items[0].host_len, 1);
	cr_assert_eq(m->items[0].path_len, 5);
	cr_assert_arr_eq(m->items[0].path, "hello", 5);
}

#define MNT_OK OK3 FH5 "00000002 00000001 0005f373"

static const struct wire_case rows[] = {
	ROW("MNT args", mnt_args, mnt_args, NAME_HELLO),
	ROW("MNT ok", mnt_res, mnt_ok, MNT_OK),
	CASE_ROW("MNT ok, generated", mountres3, mnt_ok_generated, MNT_OK),
	ROW("MNT denied", mnt_res, mnt_denied, "0000000d"),
	ROW("EXPORT two", exports, exports_two, YES NAME_HELLO YES NAME_A NO YES NAME_A NO NO),
	ROW("EXPORT none", exports, exports_none, NO),
	ROW("DUMP one", mountents, mountents_one, YES NAME_A NAME_HELLO NO),
};

const struct wire_case_list cases_mount = {rows, sizeof(rows) / sizeof(rows[0])};

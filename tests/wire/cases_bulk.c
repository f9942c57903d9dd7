/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_bulk.c - READ, WRITE, READLINK, SYMLINK, with their data in the stream and without.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cases.h"
#include "pieces.h"

/* The codecs that take no flag. */
#define PLAIN(type, fn)                                                                            \
	static int decode_##type(struct wire_dec *d, void *o)                                      \
	{                                                                                          \
		return wire_##fn##_decode(d, o);                                                   \
	}                                                                                          \
	static void encode_##type(struct wire_enc *e, const void *o)                               \
	{                                                                                          \
		wire_##fn##_encode(e, o);                                                          \
	}
/* Those that are told whether the bulk data was removed. */
#define BULK(type, fn, removed)                                                                    \
	static int decode_##type(struct wire_dec *d, void *o)                                      \
	{                                                                                          \
		return wire_##fn##_decode(d, o, removed);                                          \
	}                                                                                          \
	static void encode_##type(struct wire_enc *e, const void *o)                               \
	{                                                                                          \
		wire_##fn##_encode(e, o, removed);                                                 \
	}
#define ROW(name, type, check, hex)                                                                \
	{                                                                                          \
		name, hex, decode_##type, encode_##type, NULL, check                               \
	}

PLAIN(read_args, read_args)
PLAIN(write_res, write_res)
BULK(read_res, read_res, false)
BULK(read_res_removed, read_res, true)
BULK(write_args, write_args, false)
BULK(write_args_removed, write_args, true)
BULK(readlink_res, readlink_res, false)
BULK(readlink_res_removed, readlink_res, true)
BULK(symlink_args, symlink_args, false)
BULK(symlink_args_removed, symlink_args, true)

static void check_fh5(const struct wire_fh *fh)
{
	cr_assert_eq(fh->len, 5);
	cr_assert_arr_eq(fh->data, "\x01\x02\x03\x04\x05", 5);
}

static void check_attr(const struct wire_post_attr *p)
{
	const struct wire_attr *a = &p->attr;

	cr_assert(p->present);
	cr_assert_eq(a->type, 1);
	cr_assert_eq(a->mode, 0644);
	cr_assert_eq(a->nlink, 1);
	cr_assert_eq(a->uid, 1000);
	cr_assert_eq(a->gid, 100);
	cr_assert_eq(a->size, UINT64_C(0x100000002));
	cr_assert_eq(a->used, 4096);
	cr_assert_eq(a->rdev_major, 8);
	cr_assert_eq(a->rdev_minor, 1);
	cr_assert_eq(a->fsid, UINT64_C(0x1122334455667788));
	cr_assert_eq(a->fileid, 42);
	cr_assert_eq(a->atime.sec, 0x5f000001);
	cr_assert_eq(a->atime.nsec, 1);
	cr_assert_eq(a->mtime.sec, 0x5f000002);
	cr_assert_eq(a->mtime.nsec, 2);
	cr_assert_eq(a->ctime.sec, 0x5f000003);
	cr_assert_eq(a->ctime.nsec, 500000000);
}

static void check_wcc(const struct wire_wcc *w)
{
	cr_assert(w->before.present);
	cr_assert_eq(w->before.size, 1024);
	cr_assert_eq(w->before.mtime.sec, 0x5f000010);
	cr_assert_eq(w->before.ctime.sec, 0x5f000011);
	cr_assert_eq(w->before.ctime.nsec, 7);
	check_attr(&w->after);
}

static void read_args(const void *o)
{
	const struct wire_read_args *a = o;

	check_fh5(&a->fh);
	cr_assert_eq(a->offset, UINT64_C(0x80000000));
	cr_assert_eq(a->count, 0x40000);
}

static void read_five(const void *o)
{
	const struct wire_read_res *r = o;

	cr_assert_eq(r->status, 0);
	check_attr(&r->attr);
	cr_assert_eq(r->count, 5);
	cr_assert(r->eof);
	cr_assert_eq(r->data_len, 5);
	cr_assert_arr_eq(r->data, "hello", 5);
}

static void read_nothing(const void *o)
{
	const struct wire_read_res *r = o;

	cr_assert_not(r->attr.present);
	cr_assert_eq(r->count, 0);
	cr_assert(r->eof);
	cr_assert_eq(r->data_len, 0);
}

static void read_elsewhere(const void *o)
{
	const struct wire_read_res *r = o;

	check_attr(&r->attr);
	cr_assert_eq(r->count, 0x10001);
	cr_assert_not(r->eof);
	cr_assert_eq(r->data_len, 0x10001);
	cr_assert_null(r->data);
}

static void read_denied(const void *o)
{
	const struct wire_read_res *r = o;

	cr_assert_eq(r->status, 13);
	check_attr(&r->attr);
	cr_assert_eq(r->data_len, 0);
}

static void write_five(const void *o)
{
	const struct wire_write_args *a = o;

	check_fh5(&a->fh);
	cr_assert_eq(a->offset, 1);
	cr_assert_eq(a->count, 5);
	cr_assert_eq(a->stable, WIRE_FILE_SYNC);
	cr_assert_eq(a->data_len, 5);
	cr_assert_arr_eq(a->data, "hello", 5);
}

static void write_elsewhere(const void *o)
{
	const struct wire_write_args *a = o;

	cr_assert_eq(a->offset, UINT64_C(0xffffffffffff0000));
	cr_assert_eq(a->data_len, 0xfffd);
	cr_assert_eq(a->stable, WIRE_UNSTABLE);
	cr_assert_null(a->data);
}

static void write_ok(const void *o)
{
	const struct wire_write_res *r = o;

	check_wcc(&r->wcc);
	cr_assert_eq(r->count, 4096);
	cr_assert_eq(r->committed, WIRE_DATA_SYNC);
	cr_assert_arr_eq(r->verf, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
}

static void write_full(const void *o)
{
	const struct wire_write_res *r = o;

	cr_assert_eq(r->status, 28);
	cr_assert_not(r->wcc.before.present);
	cr_assert_not(r->wcc.after.present);
}

static void readlink_ok(const void *o)
{
	const struct wire_readlink_res *r = o;

	check_attr(&r->attr);
	cr_assert_eq(r->target_len, 7);
	cr_assert_arr_eq(r->target, "../a/b\0", 7);
}

static void readlink_elsewhere(const void *o)
{
	const struct wire_readlink_res *r = o;

	cr_assert_eq(r->target_len, 4096);
	cr_assert_null(r->target);
}

static void readlink_inval(const void *o)
{
	cr_assert_eq(((const struct wire_readlink_res *)o)->status, 22);
}

static void check_symlink(const struct wire_symlink_args *a)
{
	check_fh5(&a->dir);
	cr_assert_eq(a->name_len, 5);
	cr_assert_arr_eq(a->name, "hello", 5);
	cr_assert(a->attr.set_mode);
	cr_assert_eq(a->attr.mode, 0777);
	cr_assert(a->attr.set_uid);
	cr_assert_eq(a->attr.uid, 1000);
	cr_assert_not(a->attr.set_gid);
	cr_assert(a->attr.set_size);
	cr_assert_eq(a->attr.size, 8192);
	cr_assert_eq(a->attr.set_atime, WIRE_SET_TO_CLIENT_TIME);
	cr_assert_eq(a->attr.atime.sec, 0x5f000020);
	cr_assert_eq(a->attr.atime.nsec, 1);
	cr_assert_eq(a->attr.set_mtime, WIRE_SET_TO_SERVER_TIME);
}

static void symlink_args(const void *o)
{
	const struct wire_symlink_args *a = o;

	check_symlink(a);
	cr_assert_eq(a->target_len, 1);
	cr_assert_eq(a->target[0], 'a');
}

static void symlink_elsewhere(const void *o)
{
	const struct wire_symlink_args *a = o;

	check_symlink(a);
	cr_assert_eq(a->target_len, 1001);
	cr_assert_null(a->target);
}

static const struct wire_case rows[] = {
	ROW("READ args", read_args, read_args, FH5 "00000000 80000000 00040000"),
	ROW("READ ok", read_res, read_five, OK3 POST_ATTR "00000005" YES NAME_HELLO),
	ROW("READ at the end", read_res, read_nothing, OK3 NO "00000000" YES "00000000"),
	ROW("READ by chunk", read_res_removed, read_elsewhere,
	    OK3 POST_ATTR "00010001" NO "00010001"),
	ROW("READ denied", read_res, read_denied, "0000000d" POST_ATTR),
	ROW("READ denied, chunk unused", read_res_removed, read_denied, "0000000d" POST_ATTR),
	ROW("WRITE args", write_args, write_five,
	    FH5 "00000000 00000001 00000005 00000002" NAME_HELLO),
	ROW("WRITE by chunk", write_args_removed, write_elsewhere,
	    FH5 "ffffffff ffff0000 0000fffd 00000000 0000fffd"),
	ROW("WRITE ok", write_res, write_ok, OK3 WCC "00001000 00000001" VERF),
	ROW("WRITE disk full", write_res, write_full, "0000001c" WCC_NONE),
	ROW("READLINK ok", readlink_res, readlink_ok, OK3 POST_ATTR "00000007 2e2e2f61 2f620000"),
	ROW("READLINK by chunk", readlink_res_removed, readlink_elsewhere, OK3 NO "00001000"),
	ROW("READLINK of no link", readlink_res, readlink_inval, "00000016" NO),
	ROW("SYMLINK args", symlink_args, symlink_args, FH5 NAME_HELLO SATTR NAME_A),
	ROW("SYMLINK by chunk", symlink_args_removed, symlink_elsewhere,
	    FH5 NAME_HELLO SATTR "000003e9"),
};

const struct wire_case_list cases_bulk = {rows, sizeof(rows) / sizeof(rows[0])};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_nfs3_rest.c - FSSTAT, FSINFO, PATHCONF, COMMIT, by generated codecs.
 */
#include <criterion/criterion.h>

#include "cases.h"
#include "pieces.h"
#include "wire/nfs3_xdr.h"

CASE_XDR(FSSTAT3args)
CASE_XDR(FSSTAT3res)
CASE_XDR(FSINFO3args)
CASE_XDR(FSINFO3res)
CASE_XDR(PATHCONF3args)
CASE_XDR(PATHCONF3res)
CASE_XDR(COMMIT3args)
CASE_XDR(COMMIT3res)

static void root_args(const void *o)
{
	const FSSTAT3args *a = o;

	cr_assert_eq(a->fsroot.data.data_len, 4);
	cr_assert_arr_eq(a->fsroot.data.data_val, "\xa1\xb2\xc3\xd4", 4);
}

static void fsstat_ok(const void *o)
{
	const FSSTAT3resok *r = &((const FSSTAT3res *)o)->FSSTAT3res_u.resok;

	cr_assert(r->obj_attributes.attributes_follow);
	cr_assert_eq(r->obj_attributes.post_op_attr_u.attributes.fileid, 42);
	cr_assert_eq(r->tbytes, UINT64_C(1) << 40);
	cr_assert_eq(r->fbytes, UINT64_C(1) << 39);
	cr_assert_eq(r->abytes, UINT64_C(1) << 38);
	cr_assert_eq(r->tfiles, 1000);
	cr_assert_eq(r->ffiles, 999);
	cr_assert_eq(r->afiles, 998);
	cr_assert_eq(r->invarsec, 5);
}

static void fsstat_fail(const void *o)
{
	const FSSTAT3res *r = o;

	cr_assert_eq(r->status, NFS3ERR_BADHANDLE);
	cr_assert_not(r->FSSTAT3res_u.resfail.obj_attributes.attributes_follow);
}

static void fsinfo_ok(const void *o)
{
	const FSINFO3resok *r = &((const FSINFO3res *)o)->FSINFO3res_u.resok;

	cr_assert_not(r->obj_attributes.attributes_follow);
	cr_assert_eq(r->rtmax, 1 << 20);
	cr_assert_eq(r->rtpref, 1 << 18);
	cr_assert_eq(r->rtmult, 4096);
	cr_assert_eq(r->wtmax, 1 << 19);
	cr_assert_eq(r->wtpref, 1 << 17);
	cr_assert_eq(r->wtmult, 512);
	cr_assert_eq(r->dtpref, 1 << 16);
	cr_assert_eq(r->maxfilesize, INT64_MAX);
	cr_assert_eq(r->time_delta.seconds, 0);
	cr_assert_eq(r->time_delta.nseconds, 1);
	cr_assert_eq(r->properties, FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME);
}

static void pathconf_ok(const void *o)
{
	const PATHCONF3resok *r = &((const PATHCONF3res *)o)->PATHCONF3res_u.resok;

	cr_assert_eq(r->linkmax, 32000);
	cr_assert_eq(r->name_max, 255);
	cr_assert(r->no_trunc);
	cr_assert_not(r->chown_restricted);
	cr_assert_not(r->case_insensitive);
	cr_assert(r->case_preserving);
}

static void commit_args(const void *o)
{
	const COMMIT3args *a = o;

	cr_assert_eq(a->file.data.data_len, 5);
	cr_assert_eq(a->offset, UINT64_C(0x8000000000000001));
	cr_assert_eq(a->count, 0x10000);
}

static void commit_ok(const void *o)
{
	const COMMIT3resok *r = &((const COMMIT3res *)o)->COMMIT3res_u.resok;

	cr_assert(r->file_wcc.before.attributes_follow);
	cr_assert(r->file_wcc.after.attributes_follow);
	cr_assert_arr_eq(r->verf, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
}

static void commit_io(const void *o)
{
	cr_assert_eq(((const COMMIT3res *)o)->status, NFS3ERR_IO);
}

static const struct wire_case rows[] = {
	CASE_ROW("FSSTAT args", FSSTAT3args, root_args, FH),
	CASE_ROW("FSSTAT ok", FSSTAT3res, fsstat_ok,
		 OK3 POST_ATTR "00000100 00000000 00000080 00000000 00000040 00000000 "
			       "00000000 000003e8 00000000 000003e7 00000000 000003e6 00000005"),
	CASE_ROW("FSSTAT bad handle", FSSTAT3res, fsstat_fail, "00002711" NO),
	CASE_ROW("FSINFO args", FSINFO3args, root_args, FH),
	CASE_ROW("FSINFO ok", FSINFO3res, fsinfo_ok,
		 OK3 NO "00100000 00040000 00001000 00080000 00020000 00000200 00010000 "
			"7fffffff ffffffff 00000000 00000001 0000001b"),
	CASE_ROW("PATHCONF args", PATHCONF3args, root_args, FH),
	CASE_ROW("PATHCONF ok", PATHCONF3res, pathconf_ok,
		 OK3 POST_ATTR "00007d00 000000ff" YES NO NO YES),
	CASE_ROW("COMMIT args", COMMIT3args, commit_args, FH5 "80000000 00000001 00010000"),
	CASE_ROW("COMMIT ok", COMMIT3res, commit_ok, OK3 WCC VERF),
	CASE_ROW("COMMIT i/o error", COMMIT3res, commit_io, "00000005" WCC_NONE),
};

const struct wire_case_list cases_nfs3_rest = {rows, sizeof(rows) / sizeof(rows[0])};

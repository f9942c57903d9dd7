/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_nfs3_names.c - procedures that name things: GETATTR to RENAME and LINK, by generated
 * codecs.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cases.h"
#include "pieces.h"
#include "wire/nfs3_xdr.h"

CASE_XDR(GETATTR3args)
CASE_XDR(GETATTR3res)
CASE_XDR(SETATTR3args)
CASE_XDR(SETATTR3res)
CASE_XDR(LOOKUP3args)
CASE_XDR(LOOKUP3res)
CASE_XDR(ACCESS3args)
CASE_XDR(ACCESS3res)
CASE_XDR(READLINK3args)
CASE_XDR(CREATE3args)
CASE_XDR(CREATE3res)
CASE_XDR(MKDIR3args)
CASE_XDR(MKDIR3res)
CASE_XDR(SYMLINK3res)
CASE_XDR(MKNOD3args)
CASE_XDR(MKNOD3res)
CASE_XDR(REMOVE3args)
CASE_XDR(REMOVE3res)
CASE_XDR(RMDIR3args)
CASE_XDR(RMDIR3res)
CASE_XDR(RENAME3args)
CASE_XDR(RENAME3res)
CASE_XDR(LINK3args)
CASE_XDR(LINK3res)

static void check_fh(const nfs_fh3 *fh)
{
	cr_assert_eq(fh->data.data_len, 4);
	cr_assert_arr_eq(fh->data.data_val, "\xa1\xb2\xc3\xd4", 4);
}

static void check_fh5(const nfs_fh3 *fh)
{
	cr_assert_eq(fh->data.data_len, 5);
	cr_assert_arr_eq(fh->data.data_val, "\x01\x02\x03\x04\x05", 5);
}

static void check_name(const filename3 *name, const char *text)
{
	cr_assert_eq(name->filename3_len, strlen(text));
	cr_assert_arr_eq(name->filename3_val, text, strlen(text));
}

static void check_attr(const fattr3 *a)
{
	cr_assert_eq(a->type, NF3REG);
	cr_assert_eq(a->mode, 0644);
	cr_assert_eq(a->nlink, 1);
	cr_assert_eq(a->uid, 1000);
	cr_assert_eq(a->gid, 100);
	cr_assert_eq(a->size, UINT64_C(0x100000002));
	cr_assert_eq(a->used, 4096);
	cr_assert_eq(a->rdev.specdata1, 8);
	cr_assert_eq(a->rdev.specdata2, 1);
	cr_assert_eq(a->fsid, UINT64_C(0x1122334455667788));
	cr_assert_eq(a->fileid, 42);
	cr_assert_eq(a->atime.seconds, 0x5f000001);
	cr_assert_eq(a->atime.nseconds, 1);
	cr_assert_eq(a->mtime.seconds, 0x5f000002);
	cr_assert_eq(a->mtime.nseconds, 2);
	cr_assert_eq(a->ctime.seconds, 0x5f000003);
	cr_assert_eq(a->ctime.nseconds, 500000000);
}

static void check_post(const post_op_attr *a)
{
	cr_assert(a->attributes_follow);
	check_attr(&a->post_op_attr_u.attributes);
}

static void check_wcc(const wcc_data *w)
{
	cr_assert(w->before.attributes_follow);
	cr_assert_eq(w->before.pre_op_attr_u.attributes.size, 1024);
	cr_assert_eq(w->before.pre_op_attr_u.attributes.mtime.seconds, 0x5f000010);
	cr_assert_eq(w->before.pre_op_attr_u.attributes.ctime.nseconds, 7);
	check_post(&w->after);
}

static void check_no_wcc(const wcc_data *w)
{
	cr_assert_not(w->before.attributes_follow);
	cr_assert_not(w->after.attributes_follow);
}

static void check_sattr(const sattr3 *s)
{
	cr_assert(s->mode.set_it);
	cr_assert_eq(s->mode.set_mode3_u.mode, 0777);
	cr_assert(s->uid.set_it);
	cr_assert_eq(s->uid.set_uid3_u.uid, 1000);
	cr_assert_not(s->gid.set_it);
	cr_assert(s->size.set_it);
	cr_assert_eq(s->size.set_size3_u.size, 8192);
	cr_assert_eq(s->atime.set_it, SET_TO_CLIENT_TIME);
	cr_assert_eq(s->atime.set_atime_u.atime.seconds, 0x5f000020);
	cr_assert_eq(s->mtime.set_it, SET_TO_SERVER_TIME);
}

static void getattr_args(const void *o)
{
	check_fh(&((const GETATTR3args *)o)->object);
}

static void getattr_ok(const void *o)
{
	const GETATTR3res *r = o;

	cr_assert_eq(r->status, NFS3_OK);
	check_attr(&r->GETATTR3res_u.resok.obj_attributes);
}

static void getattr_stale(const void *o)
{
	cr_assert_eq(((const GETATTR3res *)o)->status, NFS3ERR_STALE);
}

static void setattr_args(const void *o)
{
	const SETATTR3args *a = o;

	check_fh5(&a->object);
	check_sattr(&a->new_attributes);
	cr_assert(a->guard.check);
	cr_assert_eq(a->guard.sattrguard3_u.obj_ctime.seconds, 0x5f000030);
}

static void setattr_ok(const void *o)
{
	const SETATTR3res *r = o;

	cr_assert_eq(r->status, NFS3_OK);
	check_wcc(&r->SETATTR3res_u.resok.obj_wcc);
}

static void setattr_not_sync(const void *o)
{
	const SETATTR3res *r = o;

	cr_assert_eq(r->status, NFS3ERR_NOT_SYNC);
	check_no_wcc(&r->SETATTR3res_u.resfail.obj_wcc);
}

static void lookup_args(const void *o)
{
	const LOOKUP3args *a = o;

	check_fh(&a->what.dir);
	check_name(&a->what.name, "hello");
}

static void lookup_ok(const void *o)
{
	const LOOKUP3resok *r = &((const LOOKUP3res *)o)->LOOKUP3res_u.resok;

	check_fh5(&r->object);
	check_post(&r->obj_attributes);
	cr_assert_not(r->dir_attributes.attributes_follow);
}

static void lookup_noent(const void *o)
{
	const LOOKUP3res *r = o;

	cr_assert_eq(r->status, NFS3ERR_NOENT);
	check_post(&r->LOOKUP3res_u.resfail.dir_attributes);
}

static void access_args(const void *o)
{
	const ACCESS3args *a = o;

	check_fh(&a->object);
	cr_assert_eq(a->access, ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_EXECUTE);
}

static void access_ok(const void *o)
{
	const ACCESS3resok *r = &((const ACCESS3res *)o)->ACCESS3res_u.resok;

	check_post(&r->obj_attributes);
	cr_assert_eq(r->access, ACCESS3_READ);
}

static void readlink_args(const void *o)
{
	check_fh5(&((const READLINK3args *)o)->symlink);
}

static void create_guarded(const void *o)
{
	const CREATE3args *a = o;

	check_fh(&a->where.dir);
	check_name(&a->where.name, "a");
	cr_assert_eq(a->how.mode, GUARDED);
	check_sattr(&a->how.createhow3_u.obj_attributes);
}

static void create_exclusive(const void *o)
{
	const CREATE3args *a = o;

	cr_assert_eq(a->how.mode, EXCLUSIVE);
	cr_assert_arr_eq(a->how.createhow3_u.verf, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
}

/* CREATE, MKDIR, SYMLINK and MKNOD answer alike. */
static void create_ok(const void *o)
{
	const CREATE3resok *r = &((const CREATE3res *)o)->CREATE3res_u.resok;

	cr_assert(r->obj.handle_follows);
	check_fh5(&r->obj.post_op_fh3_u.handle);
	check_post(&r->obj_attributes);
	check_wcc(&r->dir_wcc);
}

static void create_exist(const void *o)
{
	const CREATE3res *r = o;

	cr_assert_eq(r->status, NFS3ERR_EXIST);
	check_wcc(&r->CREATE3res_u.resfail.dir_wcc);
}

static void mkdir_args(const void *o)
{
	const MKDIR3args *a = o;

	check_fh(&a->where.dir);
	check_name(&a->where.name, "hello");
	cr_assert_not(a->attributes.mode.set_it);
	cr_assert_eq(a->attributes.mtime.set_it, DONT_CHANGE);
}

static void created_nameless(const void *o)
{
	const MKDIR3resok *r = &((const MKDIR3res *)o)->MKDIR3res_u.resok;

	cr_assert_not(r->obj.handle_follows);
	cr_assert_not(r->obj_attributes.attributes_follow);
	check_no_wcc(&r->dir_wcc);
}

static void mknod_device(const void *o)
{
	const MKNOD3args *a = o;

	check_name(&a->where.name, "a");
	cr_assert_eq(a->what.type, NF3BLK);
	check_sattr(&a->what.mknoddata3_u.device.dev_attributes);
	cr_assert_eq(a->what.mknoddata3_u.device.spec.specdata1, 8);
	cr_assert_eq(a->what.mknoddata3_u.device.spec.specdata2, 17);
}

static void mknod_fifo(const void *o)
{
	const MKNOD3args *a = o;

	cr_assert_eq(a->what.type, NF3FIFO);
	check_sattr(&a->what.mknoddata3_u.pipe_attributes);
}

static void remove_args(const void *o)
{
	const REMOVE3args *a = o;

	check_fh(&a->object.dir);
	check_name(&a->object.name, "hello");
}

static void remove_ok(const void *o)
{
	check_wcc(&((const REMOVE3res *)o)->REMOVE3res_u.resok.dir_wcc);
}

static void rmdir_notempty(const void *o)
{
	const RMDIR3res *r = o;

	cr_assert_eq(r->status, NFS3ERR_NOTEMPTY);
	check_no_wcc(&r->RMDIR3res_u.resfail.dir_wcc);
}

static void rename_args(const void *o)
{
	const RENAME3args *a = o;

	check_fh(&a->from.dir);
	check_name(&a->from.name, "a");
	check_fh5(&a->to.dir);
	check_name(&a->to.name, "hello");
}

static void rename_ok(const void *o)
{
	const RENAME3resok *r = &((const RENAME3res *)o)->RENAME3res_u.resok;

	check_wcc(&r->fromdir_wcc);
	check_no_wcc(&r->todir_wcc);
}

static void link_args(const void *o)
{
	const LINK3args *a = o;

	check_fh5(&a->file);
	check_fh(&a->link.dir);
	check_name(&a->link.name, "a");
}

static void link_ok(const void *o)
{
	const LINK3resok *r = &((const LINK3res *)o)->LINK3res_u.resok;

	check_post(&r->file_attributes);
	check_wcc(&r->linkdir_wcc);
}

static const struct wire_case rows[] = {
	CASE_ROW("GETATTR args", GETATTR3args, getattr_args, FH),
	CASE_ROW("GETATTR ok", GETATTR3res, getattr_ok, OK3 ATTR),
	CASE_ROW("GETATTR stale", GETATTR3res, getattr_stale, "00000046"),
	CASE_ROW("SETATTR args", SETATTR3args, setattr_args, FH5 SATTR YES "5f000030 00000009"),
	CASE_ROW("SETATTR ok", SETATTR3res, setattr_ok, OK3 WCC),
	CASE_ROW("SETATTR not sync", SETATTR3res, setattr_not_sync, "00002712" WCC_NONE),
	CASE_ROW("LOOKUP args", LOOKUP3args, lookup_args, FH NAME_HELLO),
	CASE_ROW("LOOKUP ok", LOOKUP3res, lookup_ok, OK3 FH5 POST_ATTR NO),
	CASE_ROW("LOOKUP no entry", LOOKUP3res, lookup_noent, "00000002" POST_ATTR),
	CASE_ROW("ACCESS args", ACCESS3args, access_args, FH "00000023"),
	CASE_ROW("ACCESS ok", ACCESS3res, access_ok, OK3 POST_ATTR "00000001"),
	CASE_ROW("READLINK args", READLINK3args, readlink_args, FH5),
	CASE_ROW("CREATE guarded", CREATE3args, create_guarded, FH NAME_A "00000001" SATTR),
	CASE_ROW("CREATE exclusive", CREATE3args, create_exclusive, FH NAME_A "00000002" VERF),
	CASE_ROW("CREATE ok", CREATE3res, create_ok, OK3 YES FH5 POST_ATTR WCC),
	CASE_ROW("CREATE exists", CREATE3res, create_exist, "00000011" WCC),
	CASE_ROW("MKDIR args", MKDIR3args, mkdir_args, FH NAME_HELLO SATTR_NONE),
	CASE_ROW("MKDIR ok", MKDIR3res, created_nameless, OK3 NO NO WCC_NONE),
	CASE_ROW("SYMLINK ok", SYMLINK3res, create_ok, OK3 YES FH5 POST_ATTR WCC),
	CASE_ROW("MKNOD device", MKNOD3args, mknod_device,
		 FH NAME_A "00000003" SATTR "00000008 00000011"),
	CASE_ROW("MKNOD fifo", MKNOD3args, mknod_fifo, FH NAME_A "00000007" SATTR),
	CASE_ROW("MKNOD ok", MKNOD3res, created_nameless, OK3 NO NO WCC_NONE),
	CASE_ROW("REMOVE args", REMOVE3args, remove_args, FH NAME_HELLO),
	CASE_ROW("REMOVE ok", REMOVE3res, remove_ok, OK3 WCC),
	CASE_ROW("RMDIR args", RMDIR3args, remove_args, FH NAME_HELLO),
	CASE_ROW("RMDIR not empty", RMDIR3res, rmdir_notempty, "00000042" WCC_NONE),
	CASE_ROW("RENAME args", RENAME3args, rename_args, FH NAME_A FH5 NAME_HELLO),
	CASE_ROW("RENAME ok", RENAME3res, rename_ok, OK3 WCC WCC_NONE),
	CASE_ROW("LINK args", LINK3args, link_args, FH5 FH NAME_A),
	CASE_ROW("LINK ok", LINK3res, link_ok, OK3 POST_ATTR WCC),
};

const struct wire_case_list cases_nfs3_names = {rows, sizeof(rows) / sizeof(rows[0])};

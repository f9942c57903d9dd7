/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_attr.c - GETATTR, SETATTR, ACCESS, and what the server says of its file system.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/server/double.h"
#include "tools/nfsrdmad/null.h"

static uint32_t setattr(struct fixture *f, const struct wire_fh *fh, const struct wire_sattr *sattr,
			const struct wire_time *guard)
{
	struct wire_enc *e = fixture_args(f);

	wire_put_fh(e, fh);
	wire_put_sattr(e, sattr);
	wire_put_bool(e, guard);
	if (guard) {
		wire_put_u32(e, guard->sec);
		wire_put_u32(e, guard->nsec);
	}
	return fixture_call(f, WIRE_NFS3_SETATTR);
}

Test(server_attr, tells_what_stat_tells)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_attr attr;
	struct wire_fh fh;
	struct stat st;

	cr_assert_eq(fixture_create(f, &f->root, "file", 04751, &fh), NFS3_OK);
	server_as_self(f->w);
	cr_assert_eq(truncate(fixture_path(f, "file"), 123456), 0);
	cr_assert_eq(chmod(fixture_path(f, "file"), 04751), 0);
	cr_assert_eq(stat(fixture_path(f, "file"), &st), 0);
	cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
	cr_expect_eq(attr.type, NF3REG);
	cr_expect_eq(attr.mode, 04751);
	cr_expect_eq(attr.nlink, 1);
	cr_expect_eq(attr.uid, st.st_uid);
	cr_expect_eq(attr.gid, st.st_gid);
	cr_expect_eq(attr.size, 123456);
	cr_expect_eq(attr.used, (uint64_t)st.st_blocks * 512);
	cr_expect_eq(attr.fileid, st.st_ino);
	cr_expect_eq(attr.mtime.sec, (uint32_t)st.st_mtim.tv_sec);
	cr_expect_eq(attr.mtime.nsec, (uint32_t)st.st_mtim.tv_nsec);
	cr_expect_eq(attr.fsid, f->srv->exports.list[0].fsid);
	cr_assert_eq(fixture_getattr(f, &f->root, &attr), NFS3_OK);
	cr_expect_eq(attr.type, NF3DIR);
	fixture_close(f, false);
}

Test(server_attr, setattr_sets_each)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_sattr mode = {.set_mode = true, .mode = 0640};
	struct wire_sattr size = {.set_size = true, .size = 4097};
	struct wire_sattr times = {.set_atime = WIRE_SET_TO_CLIENT_TIME,
				   .set_mtime = WIRE_SET_TO_CLIENT_TIME,
				   .atime = {1000, 1},
				   .mtime = {2000, 999999999}};
	struct wire_sattr now = {.set_mtime = WIRE_SET_TO_SERVER_TIME};
	struct wire_attr attr;
	struct wire_wcc wcc;
	struct wire_fh fh;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &fh), NFS3_OK);
	cr_assert_eq(setattr(f, &fh, &mode, NULL), NFS3_OK);
	wire_get_wcc(&f->res, &wcc);
	cr_assert(wcc.before.present && wcc.after.present);
	cr_expect_eq(wcc.after.attr.mode, 0640);
	cr_assert_eq(setattr(f, &fh, &size, NULL), NFS3_OK);
	wire_get_wcc(&f->res, &wcc);
	cr_expect_eq(wcc.before.size, 0);
	cr_expect_eq(wcc.after.attr.size, 4097);
	cr_assert_eq(setattr(f, &fh, &times, NULL), NFS3_OK);
	cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
	cr_expect_eq(attr.atime.sec, 1000);
	cr_expect_eq(attr.mtime.sec, 2000);
	cr_expect_eq(attr.mtime.nsec, 999999999);
	cr_assert_eq(setattr(f, &fh, &now, NULL), NFS3_OK);
	cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
	cr_expect_eq(attr.atime.sec, 1000);
	cr_expect_gt(attr.mtime.sec, 1600000000);
	fixture_close(f, false);
}

Test(server_attr, setattr_refuses_what_cannot_be)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_sattr huge = {.set_size = true, .size = UINT64_C(1) << 63};
	struct wire_sattr size = {.set_size = true, .size = 1};
	struct wire_sattr bad_time = {.set_mtime = WIRE_SET_TO_CLIENT_TIME,
				      .mtime = {1, 1000000000}};
	struct wire_sattr now_by_trick = {.set_mtime = WIRE_SET_TO_CLIENT_TIME,
					  .mtime = {1, UTIME_NOW}};
	struct wire_sattr chown = {.set_uid = true, .uid = 4242};
	struct wire_fh fh;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &fh), NFS3_OK);
	cr_expect_eq(setattr(f, &fh, &huge, NULL), NFS3ERR_INVAL);
	cr_expect_eq(setattr(f, &fh, &bad_time, NULL), NFS3ERR_INVAL);
	cr_expect_eq(setattr(f, &fh, &now_by_trick, NULL), NFS3ERR_INVAL);
	cr_expect_eq(setattr(f, &f->root, &size, NULL), NFS3ERR_INVAL);
	cr_expect_eq(setattr(f, &fh, &chown, NULL), NFS3ERR_PERM);
	fixture_close(f, false);
}

Test(server_attr, a_guard_that_does_not_match_stops_it)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_sattr mode = {.set_mode = true, .mode = 0640};
	struct wire_time guard;
	struct wire_attr attr;
	struct wire_fh fh;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &fh), NFS3_OK);
	cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
	guard = attr.ctime;
	guard.nsec ^= 1;
	cr_expect_eq(setattr(f, &fh, &mode, &guard), NFS3ERR_NOT_SYNC);
	cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
	cr_expect_eq(attr.mode, 0600);
	cr_expect_eq(setattr(f, &fh, &mode, &attr.ctime), NFS3_OK);
	fixture_close(f, false);
}

Test(server_attr, a_read_only_server_changes_nothing)
{
	struct fixture *f = fixture_open(FIXTURE_RO, NULL);
	struct wire_sattr mode = {.set_mode = true, .mode = 0640};
	struct wire_write_res w;
	struct wire_fh fh, dir;
	uint32_t bits;
	struct wire_post_attr post;

	fixture_file(f, "file", "text");
	cr_assert_eq(mkdir(fixture_path(f, "dir"), 0777), 0);
	cr_assert_eq(fixture_lookup(f, &f->root, "file", &fh), NFS3_OK);
	cr_assert_eq(fixture_lookup(f, &f->root, "dir", &dir), NFS3_OK);
	cr_expect_eq(setattr(f, &fh, &mode, NULL), NFS3ERR_ROFS);
	cr_expect_eq(fixture_write(f, &fh, 0, "x", 1, WIRE_UNSTABLE, &w), NFS3ERR_ROFS);
	cr_expect_eq(fixture_create(f, &f->root, "new", 0666, NULL), NFS3ERR_ROFS);
	cr_expect_eq(fixture_mkdir(f, &f->root, "newd", 0777, NULL), NFS3ERR_ROFS);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &f->root, "file"), NFS3ERR_ROFS);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, &f->root, "dir"), NFS3ERR_ROFS);
	cr_expect_eq(fixture_rename(f, &f->root, "file", &dir, "file"), NFS3ERR_ROFS);
	wire_put_fh(fixture_args(f), &dir);
	wire_put_u32(&f->args, 0x3f);
	cr_assert_eq(fixture_call(f, WIRE_NFS3_ACCESS), NFS3_OK);
	wire_get_post_attr(&f->res, &post);
	bits = wire_get_u32(&f->res);
	cr_expect_eq(bits, ACCESS3_READ | ACCESS3_LOOKUP);
	fixture_close(f, false);
}

Test(server_attr, access_bits_follow_kind_and_question)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_post_attr post;
	struct wire_fh file;
	static const struct {
		bool dir;
		uint32_t ask, expect;
	} cases[] = {
		{true, 0x3f,
		 ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE},
		{true, ACCESS3_DELETE, ACCESS3_DELETE},
		{true, 0, 0},
		{false, 0x3f, ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND},
		{false, ACCESS3_EXECUTE, 0},
	};

	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &file), NFS3_OK);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		wire_put_fh(fixture_args(f), cases[i].dir ? &f->root : &file);
		wire_put_u32(&f->args, cases[i].ask);
		cr_assert_eq(fixture_call(f, WIRE_NFS3_ACCESS), NFS3_OK);
		wire_get_post_attr(&f->res, &post);
		cr_expect(post.present);
		cr_expect_eq(wire_get_u32(&f->res), cases[i].expect, "case %zu", i);
	}
	fixture_close(f, false);
}

Test(server_attr, fsinfo_fsstat_pathconf_make_sense)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_post_attr post;
	uint64_t total, avail;

	wire_put_fh(fixture_args(f), &f->root);
	cr_assert_eq(fixture_call(f, WIRE_NFS3_FSINFO), NFS3_OK);
	wire_get_post_attr(&f->res, &post);
	cr_expect_eq(wire_get_u32(&f->res), 1 << 20);
	wire_get_fixed(&f->res, 4 * 6); /* to maxfilesize */
	cr_expect_eq(wire_get_u64(&f->res), INT64_MAX);
	wire_get_u64(&f->res);
	cr_expect_eq(wire_get_u32(&f->res), 0x1b);
	cr_expect(!f->res.bad && wire_dec_left(&f->res) == 0);

	wire_put_fh(fixture_args(f), &f->root);
	cr_assert_eq(fixture_call(f, WIRE_NFS3_FSSTAT), NFS3_OK);
	wire_get_post_attr(&f->res, &post);
	total = wire_get_u64(&f->res);
	wire_get_u64(&f->res);
	avail = wire_get_u64(&f->res);
	cr_expect(total > avail && avail > 0);
	wire_get_fixed(&f->res, 3 * 8 + 4);
	cr_expect(!f->res.bad && wire_dec_left(&f->res) == 0);

	wire_put_fh(fixture_args(f), &f->root);
	cr_assert_eq(fixture_call(f, WIRE_NFS3_PATHCONF), NFS3_OK);
	wire_get_post_attr(&f->res, &post);
	wire_get_u32(&f->res);
	cr_expect_eq(wire_get_u32(&f->res), 255);
	wire_get_fixed(&f->res, 4 * 4);
	cr_expect(!f->res.bad && wire_dec_left(&f->res) == 0);
	fixture_close(f, false);
}

Test(server_attr, short_arguments_are_garbage)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);
	struct wire_fh null_root;

	server_null_root(f->srv, &null_root);
	for (uint32_t proc = 1; proc < WIRE_NFS3_PROC_COUNT; proc++) {
		/* nothing at all; half a handle; for most, a handle alone */
		fixture_args(f);
		fixture_call(f, proc);
		cr_expect(f->refused && f->error.stat == WIRE_GARBAGE_ARGS, "proc %u", proc);
		wire_put_u32(fixture_args(f), 32);
		wire_put_u64(&f->args, 0);
		fixture_call(f, proc);
		cr_expect(f->refused && f->error.stat == WIRE_GARBAGE_ARGS, "proc %u", proc);
		if (proc == WIRE_NFS3_GETATTR || proc == WIRE_NFS3_READLINK ||
		    (proc >= WIRE_NFS3_FSSTAT && proc <= WIRE_NFS3_PATHCONF))
			continue;
		wire_put_fh(fixture_args(f), &f->root);
		fixture_call(f, proc);
		cr_expect(f->refused && f->error.stat == WIRE_GARBAGE_ARGS, "proc %u", proc);
	}
	fixture_close(f, false);
}

Test(server_attr, unknown_programs_versions_procedures_and_flavors_are_told_apart)
{
	struct fixture *f = fixture_open(0, NULL);

	fixture_args(f);
	fixture_call_bare(f, 0);
	cr_expect(f->reply);
	fixture_call_bare(f, 22);
	cr_expect(f->refused && f->error.stat == WIRE_PROC_UNAVAIL);
	f->vers = 4;
	fixture_call_bare(f, 0);
	cr_expect(f->refused && f->error.stat == WIRE_PROG_MISMATCH && f->error.low == 3 &&
		  f->error.high == 3);
	f->vers = 3;
	f->prog = 100227;
	fixture_call_bare(f, 0);
	cr_expect(f->refused && f->error.stat == WIRE_PROG_UNAVAIL);
	fixture_close(f, false);
}

Test(server_attr, a_peer_that_is_not_allowed_is_denied)
{
	struct fixture *f = fixture_open(0, NULL);
	struct util_err err;

	cr_assert_eq(server_exports_allow(&f->srv->exports, "10.0.0.0/8", &err), 0);
	cr_expect_eq(fixture_getattr(f, &f->root, NULL), UINT32_MAX);
	cr_expect(f->refused && f->error.denied && f->error.auth_stat == WIRE_AUTH_TOOWEAK);
	f->prog = WIRE_MOUNT_PROG;
	wire_mnt_args_encode(fixture_args(f), "/export");
	cr_expect_eq(fixture_call(f, WIRE_MOUNT_MNT), 13); /* MNT3ERR_ACCES */
	fixture_close(f, false);
}

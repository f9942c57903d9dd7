/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dirs.c - names: LOOKUP, CREATE and its kin, REMOVE, RMDIR, RENAME, LINK.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/server/double.h"
#include "tools/nfsrdmad/null.h"

static void put_name_call(struct fixture *f, const struct wire_fh *dir, const void *name,
			  size_t len)
{
	struct wire_enc *e = fixture_args(f);

	wire_put_fh(e, dir);
	wire_put_opaque(e, name, len);
}

static uint32_t exclusive(struct fixture *f, const char *name, uint64_t verf)
{
	put_name_call(f, &f->root, name, strlen(name));
	wire_put_u32(&f->args, EXCLUSIVE);
	wire_put_u64(&f->args, verf);
	return fixture_call(f, WIRE_NFS3_CREATE);
}

static uint32_t create(struct fixture *f, const char *name, uint32_t how,
		       const struct wire_sattr *sattr)
{
	put_name_call(f, &f->root, name, strlen(name));
	wire_put_u32(&f->args, how);
	wire_put_sattr(&f->args, sattr);
	return fixture_call(f, WIRE_NFS3_CREATE);
}

static uint32_t symlink_call(struct fixture *f, const char *name, const void *target, size_t len)
{
	struct wire_sattr sattr = {.set_mode = true, .mode = 0777};

	put_name_call(f, &f->root, name, strlen(name));
	wire_put_sattr(&f->args, &sattr);
	if (f->rdma) {
		wire_put_u32(&f->args, (uint32_t)len);
		f->bulk = target;
		f->bulk_len = len;
	} else {
		wire_put_opaque(&f->args, target, len);
	}
	return fixture_call(f, WIRE_NFS3_SYMLINK);
}

static uint32_t mknod_call(struct fixture *f, const char *name, uint32_t type, uint32_t major,
			   uint32_t minor)
{
	struct wire_sattr sattr = {.set_mode = true, .mode = 0640};

	put_name_call(f, &f->root, name, strlen(name));
	wire_put_u32(&f->args, type);
	if (type != NF3REG && type != NF3DIR && type != NF3LNK)
		wire_put_sattr(&f->args, &sattr);
	if (type == NF3CHR || type == NF3BLK) {
		wire_put_u32(&f->args, major);
		wire_put_u32(&f->args, minor);
	}
	return fixture_call(f, WIRE_NFS3_MKNOD);
}

static uint32_t link_call(struct fixture *f, const struct wire_fh *fh, const struct wire_fh *dir,
			  const char *name)
{
	wire_put_fh(fixture_args(f), fh);
	wire_put_fh(&f->args, dir);
	wire_put_opaque(&f->args, name, strlen(name));
	return fixture_call(f, WIRE_NFS3_LINK);
}

/* ---- bad names, for every procedure that takes one --------------------------------------- */

Test(server_dirs, bad_names_are_refused_by_every_procedure)
{
	static const struct {
		uint32_t proc;
		uint32_t empty, slash, nul, too_long, dot, dotdot;
	} cases[] = {
		{WIRE_NFS3_LOOKUP, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_NAMETOOLONG,
		 NFS3_OK, NFS3_OK},
		{WIRE_NFS3_CREATE, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_NAMETOOLONG,
		 NFS3ERR_EXIST, NFS3ERR_EXIST},
		{WIRE_NFS3_MKDIR, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_NAMETOOLONG,
		 NFS3ERR_EXIST, NFS3ERR_EXIST},
		{WIRE_NFS3_SYMLINK, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_ACCES,
		 NFS3ERR_NAMETOOLONG, NFS3ERR_EXIST, NFS3ERR_EXIST},
		{WIRE_NFS3_MKNOD, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_NAMETOOLONG,
		 NFS3ERR_EXIST, NFS3ERR_EXIST},
		{WIRE_NFS3_REMOVE, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_NAMETOOLONG,
		 NFS3ERR_ACCES, NFS3ERR_ACCES},
		{WIRE_NFS3_RMDIR, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_ACCES, NFS3ERR_NAMETOOLONG,
		 NFS3ERR_INVAL, NFS3ERR_EXIST},
	};
	struct fixture *f = fixture_open(0, NULL);
	struct wire_sattr sattr = {.set_mode = true, .mode = 0777};
	char name[300];

	memset(name, 'x', sizeof(name));
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		const struct {
			const char *name;
			size_t len;
			uint32_t expect;
		} names[] = {
			{"", 0, cases[i].empty},	{"a/b", 3, cases[i].slash},
			{"..\0x", 4, cases[i].nul},	{"/", 1, cases[i].slash},
			{name, 256, cases[i].too_long}, {name, 300, cases[i].too_long},
			{".", 1, cases[i].dot},		{"..", 2, cases[i].dotdot},
		};

		for (size_t j = 0; j < UTIL_ARRAY_SIZE(names); j++) {
			put_name_call(f, &f->root, names[j].name, names[j].len);
			if (cases[i].proc == WIRE_NFS3_CREATE)
				wire_put_u32(&f->args, UNCHECKED);
			if (cases[i].proc == WIRE_NFS3_MKNOD)
				wire_put_u32(&f->args, NF3FIFO);
			wire_put_sattr(&f->args, &sattr);
			if (cases[i].proc == WIRE_NFS3_SYMLINK)
				wire_put_opaque(&f->args, "target", 6);
			cr_expect_eq(fixture_call(f, cases[i].proc), names[j].expect,
				     "%s, name %zu: %s", wire_nfs3_proc_name(cases[i].proc), j,
				     wire_nfs3_status_name(f->status));
		}
	}
	cr_expect_eq(fixture_rename(f, &f->root, ".", &f->root, "x"), NFS3ERR_INVAL);
	cr_expect_eq(fixture_rename(f, &f->root, "x", &f->root, ".."), NFS3ERR_INVAL);
	cr_expect_eq(fixture_rename(f, &f->root, "x/y", &f->root, "z"), NFS3ERR_ACCES);
	cr_expect_eq(link_call(f, &f->root, &f->root, ".."), NFS3ERR_EXIST);
	fixture_close(f, false);
}

Test(server_dirs, a_name_of_255_bytes_works)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_fh fh;
	char name[256];

	memset(name, 'x', 255);
	name[255] = '\0';
	cr_assert_eq(fixture_create(f, &f->root, name, 0600, &fh), NFS3_OK);
	cr_expect_eq(fixture_lookup(f, &f->root, name, &fh), NFS3_OK);
	fixture_close(f, false);
}

Test(server_dirs, lookup_tells_what_is_wrong)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_post_attr post;
	struct wire_fh file;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &file), NFS3_OK);
	cr_expect_eq(fixture_lookup(f, &f->root, "none", NULL), NFS3ERR_NOENT);
	wire_get_post_attr(&f->res, &post);
	cr_expect(post.present && post.attr.type == NF3DIR && !f->res.bad);
	cr_expect_eq(fixture_lookup(f, &file, "x", NULL), NFS3ERR_NOTDIR);
	fixture_close(f, false);
}

/* ---- CREATE ----------------------------------------------------------------------------- */

Test(server_dirs, create_knows_its_three_ways)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_sattr sattr = {.set_mode = true, .mode = 0644, .set_size = true, .size = 10};
	struct wire_sattr trunc = {.set_size = true, .size = 0, .set_mode = true, .mode = 0777};
	struct wire_attr attr;
	struct wire_fh fh, again;

	cr_assert_eq(create(f, "file", GUARDED, &sattr), NFS3_OK);
	cr_assert(fixture_made(f, &fh, &attr));
	cr_expect_eq(attr.size, 10);
	cr_expect_eq(attr.mode, 0644);
	cr_expect_eq(create(f, "file", GUARDED, &sattr), NFS3ERR_EXIST);
	/* unchecked takes what is there, and only its size changes */
	cr_assert_eq(create(f, "file", UNCHECKED, &trunc), NFS3_OK);
	cr_assert(fixture_made(f, &again, &attr));
	cr_expect(again.len == fh.len && !memcmp(again.data, fh.data, fh.len));
	cr_expect_eq(attr.size, 0);
	cr_expect_eq(attr.mode, 0644);
	cr_expect_eq(fixture_mkdir(f, &f->root, "dir", 0777, NULL), NFS3_OK);
	cr_expect_eq(create(f, "dir", UNCHECKED, &trunc), NFS3ERR_EXIST);
	fixture_close(f, false);
}

Test(server_dirs, exclusive_create_succeeds_again_for_its_verifier_only)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_fh fh, again;
	const uint64_t verf = UINT64_C(0xfedcba9876543210);

	cr_assert_eq(exclusive(f, "file", verf), NFS3_OK);
	cr_assert(fixture_made(f, &fh, NULL));
	cr_assert_eq(exclusive(f, "file", verf), NFS3_OK);
	cr_assert(fixture_made(f, &again, NULL));
	cr_expect(again.len == fh.len && !memcmp(again.data, fh.data, fh.len));
	cr_expect_eq(exclusive(f, "file", verf + 1), NFS3ERR_EXIST);
	cr_expect_eq(exclusive(f, "file", verf ^ (UINT64_C(1) << 40)), NFS3ERR_EXIST);
	fixture_file(f, "other", "");
	cr_expect_eq(exclusive(f, "other", verf), NFS3ERR_EXIST);
	fixture_close(f, false);
}

Test(server_dirs, a_file_made_read_only_can_be_written_by_its_maker)
{
	static const unsigned flags[] = {0, FIXTURE_OWN_USER};

	for (size_t i = 0; i < 2; i++) {
		struct fixture *f = fixture_open(flags[i], NULL);
		struct wire_write_res w;
		struct wire_fh fh;

		cr_assert_eq(fixture_create(f, &f->root, "file", 0444, &fh), NFS3_OK);
		cr_expect_eq(fixture_write(f, &fh, 0, "data", 4, WIRE_UNSTABLE, &w), NFS3_OK);
		fixture_close(f, false);
	}
}

/* ---- SYMLINK, READLINK, MKNOD ------------------------------------------------------------ */

Test(server_dirs, a_link_keeps_its_target_to_the_byte)
{
	struct fixture *f = fixture_open(0, NULL);
	static const char target[] = "../../etc/passwd\xff and more";

	for (int rdma = 0; rdma < 2; rdma++) {
		struct wire_readlink_res res;
		struct wire_attr attr;
		struct wire_fh fh;

		f->rdma = rdma;
		cr_assert_eq(symlink_call(f, rdma ? "b" : "a", target, sizeof(target) - 1),
			     NFS3_OK);
		cr_assert(fixture_made(f, &fh, &attr));
		cr_expect_eq(attr.type, NF3LNK);
		wire_put_fh(fixture_args(f), &fh);
		fixture_call_bare(f, WIRE_NFS3_READLINK);
		cr_assert_eq(wire_readlink_res_decode(&f->res, &res, false), 0);
		cr_expect_eq(res.status, NFS3_OK);
		cr_expect_eq(res.target_len, sizeof(target) - 1);
		cr_expect_arr_eq(res.target, target, sizeof(target) - 1);
	}
	f->rdma = false;
	cr_expect_eq(symlink_call(f, "c", "a\0b", 3), NFS3ERR_ACCES);
	cr_expect_eq(symlink_call(f, "c", "", 0), NFS3ERR_ACCES);
	wire_put_fh(fixture_args(f), &f->root);
	cr_expect_eq(fixture_call(f, WIRE_NFS3_READLINK), NFS3ERR_INVAL);
	fixture_close(f, false);
}

Test(server_dirs, mknod_makes_what_may_be_made)
{
	struct fixture *f = fixture_open(FIXTURE_NO_SQUASH, NULL);
	struct wire_attr attr;
	struct wire_fh fh;

	cr_assert_eq(mknod_call(f, "fifo", NF3FIFO, 0, 0), NFS3_OK);
	cr_assert(fixture_made(f, &fh, &attr));
	cr_expect_eq(attr.type, NF3FIFO);
	cr_expect_eq(attr.mode, 0640);
	cr_assert_eq(mknod_call(f, "sock", NF3SOCK, 0, 0), NFS3_OK);
	cr_expect_eq(mknod_call(f, "reg", NF3REG, 0, 0), NFS3ERR_BADTYPE);
	cr_expect_eq(mknod_call(f, "dir", NF3DIR, 0, 0), NFS3ERR_BADTYPE);
	cr_expect_eq(mknod_call(f, "nul", NF3CHR, 1, 3), NFS3ERR_ACCES);
	if (geteuid() == 0) {
		f->uid = f->gid = 0;
		cr_expect_eq(mknod_call(f, "nul", NF3CHR, 1, 3), NFS3_OK);
		cr_assert(fixture_made(f, &fh, &attr));
		cr_expect(attr.type == NF3CHR && attr.rdev_major == 1 && attr.rdev_minor == 3);
	}
	fixture_close(f, false);
}

Test(server_dirs, what_is_no_regular_file_is_not_opened)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh fh;

	cr_assert_eq(mknod_call(f, "fifo", NF3FIFO, 0, 0), NFS3_OK);
	cr_assert(fixture_made(f, &fh, NULL));
	cr_expect_eq(fixture_read(f, &fh, 0, 10, &r), NFS3ERR_INVAL);
	cr_expect_eq(fixture_write(f, &fh, 0, "x", 1, WIRE_FILE_SYNC, &w), NFS3ERR_INVAL);
	cr_expect_eq(fixture_read(f, &f->root, 0, 10, &r), NFS3ERR_INVAL);
	cr_expect_eq(fixture_write(f, &f->root, 0, "x", 1, WIRE_FILE_SYNC, &w), NFS3ERR_INVAL);
	fixture_close(f, false);
}

/* ---- REMOVE, RMDIR, RENAME, LINK --------------------------------------------------------- */

Test(server_dirs, removing_tells_what_is_wrong)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_wcc wcc;
	struct wire_fh dir, file;

	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0777, &dir), NFS3_OK);
	cr_assert_eq(fixture_create(f, &dir, "file", 0600, &file), NFS3_OK);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &f->root, "none"), NFS3ERR_NOENT);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, &f->root, "dir"), NFS3ERR_NOTEMPTY);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, &dir, "file"), NFS3ERR_NOTDIR);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &f->root, "dir"), NFS3ERR_ACCES);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &file, "x"), NFS3ERR_NOTDIR);
	cr_assert_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &dir, "file"), NFS3_OK);
	wire_get_wcc(&f->res, &wcc);
	cr_expect(wcc.before.present && wcc.after.present);
	cr_expect(wcc.before.mtime.sec < wcc.after.attr.mtime.sec ||
		  wcc.before.mtime.nsec != wcc.after.attr.mtime.nsec);
	cr_assert_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, &f->root, "dir"), NFS3_OK);
	fixture_close(f, false);
}

Test(server_dirs, a_removed_file_gives_its_space_back_at_once)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_write_res w;
	struct wire_fh fh;
	unsigned fds = server_objects_fds(f->srv->objects);

	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &fh), NFS3_OK);
	cr_assert_eq(fixture_write(f, &fh, 0, "x", 1, WIRE_UNSTABLE, &w), NFS3_OK);
	cr_assert_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &f->root, "file"), NFS3_OK);
	/* the root's descriptor for reading stays: it was synced */
	cr_expect_leq(server_objects_fds(f->srv->objects), fds + 1);
	fixture_close(f, false);
}

Test(server_dirs, rename_moves_replaces_and_refuses)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);
	struct wire_fh a, b, one, two, got, null_root;
	struct wire_wcc wcc, wcc2;

	server_null_root(f->srv, &null_root);
	cr_assert_eq(fixture_mkdir(f, &f->root, "a", 0777, &a), NFS3_OK);
	cr_assert_eq(fixture_mkdir(f, &f->root, "b", 0777, &b), NFS3_OK);
	cr_assert_eq(fixture_create(f, &a, "one", 0600, &one), NFS3_OK);
	cr_assert_eq(fixture_create(f, &b, "two", 0600, &two), NFS3_OK);
	cr_assert_eq(fixture_rename(f, &a, "one", &b, "two"), NFS3_OK);
	wire_get_wcc(&f->res, &wcc);
	wire_get_wcc(&f->res, &wcc2);
	cr_expect(wcc.before.present && wcc.after.present && wcc2.before.present &&
		  wcc2.after.present && !f->res.bad);
	cr_assert_eq(fixture_lookup(f, &b, "two", &got), NFS3_OK);
	cr_expect(got.len == one.len && !memcmp(got.data, one.data, got.len));
	cr_expect_eq(fixture_getattr(f, &two, NULL), NFS3ERR_STALE);
	cr_expect_eq(fixture_lookup(f, &a, "one", NULL), NFS3ERR_NOENT);

	cr_expect_eq(fixture_rename(f, &a, "none", &b, "x"), NFS3ERR_NOENT);
	cr_expect_eq(fixture_rename(f, &f->root, "a", &b, "two"), NFS3ERR_NOTDIR);
	cr_expect_eq(fixture_rename(f, &b, "two", &f->root, "a"), NFS3ERR_ISDIR);
	cr_expect_eq(fixture_rename(f, &f->root, "a", &f->root, "b"), NFS3ERR_NOTEMPTY);
	cr_expect_eq(fixture_rename(f, &f->root, "b", &b, "c"), NFS3ERR_INVAL);
	cr_expect_eq(fixture_rename(f, &one, "x", &b, "c"), NFS3ERR_NOTDIR);
	cr_expect_eq(fixture_rename(f, &b, "two", &b, "two"), NFS3_OK);
	fixture_close(f, false);
}

Test(server_dirs, link_adds_a_name)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_fh dir, file, got;
	struct wire_post_attr post;

	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0777, &dir), NFS3_OK);
	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &file), NFS3_OK);
	cr_assert_eq(link_call(f, &file, &dir, "other"), NFS3_OK);
	wire_get_post_attr(&f->res, &post);
	cr_expect(post.present && post.attr.nlink == 2);
	cr_assert_eq(fixture_lookup(f, &dir, "other", &got), NFS3_OK);
	cr_expect(got.len == file.len && !memcmp(got.data, file.data, got.len),
		  "one object, one handle");
	cr_expect_eq(link_call(f, &file, &dir, "other"), NFS3ERR_EXIST);
	cr_expect_eq(link_call(f, &dir, &f->root, "x"), NFS3ERR_INVAL);
	cr_expect_eq(link_call(f, &file, &file, "x"), NFS3ERR_NOTDIR);
	/* the first name goes, the object stays */
	cr_assert_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &f->root, "file"), NFS3_OK);
	usleep(150 * 1000);
	cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3_OK);
	fixture_close(f, false);
}

Test(server_dirs, nothing_is_renamed_or_linked_between_exports)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);
	struct wire_fh file, null_root;

	server_null_root(f->srv, &null_root);
	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &file), NFS3_OK);
	cr_expect_neq(fixture_rename(f, &f->root, "file", &null_root, "x"), NFS3_OK);
	cr_expect_neq(fixture_rename(f, &null_root, "x", &f->root, "file"), NFS3_OK);
	cr_expect_neq(link_call(f, &file, &null_root, "x"), NFS3_OK);
	cr_expect_eq(fixture_lookup(f, &f->root, "file", NULL), NFS3_OK);
	fixture_close(f, false);
}

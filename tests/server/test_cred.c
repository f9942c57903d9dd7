/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cred.c - the server acts as its callers: who may do what, judged by the kernel.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/server/double.h"

#define ROOT_ONLY()                                                                                \
	do {                                                                                       \
		if (!server_cred_privileged())                                                     \
			cr_skip_test("acting as others needs root");                               \
	} while (0)

static void as(struct fixture *f, uint32_t uid, uint32_t gid)
{
	f->uid = uid;
	f->gid = gid;
	f->ngroups = 0;
	f->auth_none = false;
}

Test(server_cred, root_becomes_nobody_unless_told_otherwise)
{
	struct wire_rpc_call call = {.flavor = WIRE_AUTH_SYS,
				     .has_cred = true,
				     .cred = {.uid = 0, .gid = 0, .ngroups = 2, .groups = {0, 5}}};
	struct server_cred cred;

	server_cred_from_call(&cred, &call, true);
	cr_expect_eq(cred.uid, SERVER_NOBODY);
	cr_expect_eq(cred.gid, SERVER_NOBODY);
	cr_expect_eq(cred.groups[0], SERVER_NOBODY);
	cr_expect_eq(cred.groups[1], 5);
	server_cred_from_call(&cred, &call, false);
	cr_expect_eq(cred.uid, 0);
	cr_expect_eq(cred.groups[0], 0);
	call.has_cred = false;
	server_cred_from_call(&cred, &call, false);
	cr_expect_eq(cred.uid, SERVER_NOBODY);
	cr_expect_eq(cred.gid, SERVER_NOBODY);
	cr_expect_eq(cred.ngroups, 0);
}

/* Every mode bit against owner, group, supplementary group, other, squashed root and root. */
Test(server_cred, the_matrix_of_modes_and_callers)
{
	static const struct {
		uint32_t uid, gid, extra; /* extra 0: none */
		unsigned shift;		  /* which three bits apply */
		bool owner;
	} callers[] = {
		{1000, 9, 0, 6, true},	{1001, 1000, 0, 3, false}, {1001, 9, 1000, 3, false},
		{1001, 9, 0, 0, false}, {0, 0, 0, 0, false},
	};
	struct fixture *f;
	struct wire_fh fh;

	ROOT_ONLY();
	f = fixture_open(0, NULL);
	as(f, 1000, 1000);
	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &fh), NFS3_OK);
	for (uint32_t mode = 0; mode < 01000; mode += mode < 8 ? 1 : 9) {
		server_as_self(f->w);
		cr_assert_eq(chmod(fixture_path(f, "file"), mode), 0);
		for (size_t i = 0; i < UTIL_ARRAY_SIZE(callers); i++) {
			unsigned bits = mode >> callers[i].shift & 7;
			struct wire_post_attr post;
			struct wire_write_res w;
			struct wire_read_res r;
			uint32_t access;

			as(f, callers[i].uid, callers[i].gid);
			if (callers[i].extra) {
				f->ngroups = 1;
				f->groups[0] = callers[i].extra;
			}
			/* the owner may whatever the mode; execute permission lets one read */
			cr_expect_eq(fixture_read(f, &fh, 0, 1, &r),
				     callers[i].owner || bits & 5 ? NFS3_OK : NFS3ERR_ACCES,
				     "mode %o caller %zu", mode, i);
			cr_expect_eq(fixture_write(f, &fh, 0, "x", 1, WIRE_UNSTABLE, &w),
				     callers[i].owner || bits & 2 ? NFS3_OK : NFS3ERR_ACCES,
				     "mode %o caller %zu", mode, i);
			wire_put_fh(fixture_args(f), &fh);
			wire_put_u32(&f->args, 0x3f);
			cr_assert_eq(fixture_call(f, WIRE_NFS3_ACCESS), NFS3_OK);
			wire_get_post_attr(&f->res, &post);
			access = wire_get_u32(&f->res);
			cr_expect_eq(access,
				     (bits & 4 ? ACCESS3_READ : 0) |
					     (bits & 2 ? ACCESS3_MODIFY | ACCESS3_EXTEND : 0) |
					     (bits & 1 ? ACCESS3_EXECUTE : 0),
				     "mode %o caller %zu", mode, i);
		}
	}
	fixture_close(f, false);
}

Test(server_cred, folders_are_searched_and_changed_as_the_caller)
{
	struct fixture *f;
	struct wire_fh dir, fh;

	ROOT_ONLY();
	f = fixture_open(0, NULL);
	as(f, 1000, 1000);
	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0700, &dir), NFS3_OK);
	cr_assert_eq(fixture_create(f, &dir, "file", 0666, &fh), NFS3_OK);
	as(f, 1001, 1001);
	cr_expect_eq(fixture_lookup(f, &dir, "file", NULL), NFS3ERR_ACCES);
	cr_expect_eq(fixture_lookup(f, &dir, "none", NULL), NFS3ERR_ACCES);
	cr_expect_eq(fixture_lookup(f, &dir, "..", NULL), NFS3ERR_ACCES);
	cr_expect_eq(fixture_create(f, &dir, "new", 0666, NULL), NFS3ERR_ACCES);
	cr_expect_eq(fixture_mkdir(f, &dir, "new", 0777, NULL), NFS3ERR_ACCES);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &dir, "file"), NFS3ERR_ACCES);
	cr_expect_eq(fixture_rename(f, &dir, "file", &f->root, "file"), NFS3ERR_ACCES);
	/* but a handle he has, he may use as the file's mode says */
	cr_expect_eq(fixture_getattr(f, &fh, NULL), NFS3_OK);
	as(f, 0, 0);
	cr_expect_eq(fixture_lookup(f, &dir, "file", NULL), NFS3ERR_ACCES, "root is squashed");
	fixture_close(f, false);
}

Test(server_cred, what_is_made_belongs_to_the_caller)
{
	struct fixture *f;
	struct wire_sattr sattr = {.set_mode = true, .mode = 0644, .set_uid = true, .uid = 1};
	struct wire_attr attr;
	struct wire_fh fh, dir;

	ROOT_ONLY();
	f = fixture_open(0, NULL);
	as(f, 1234, 4321);
	/* an owner sent along is ignored, unless root sends it */
	wire_put_fh(fixture_args(f), &f->root);
	wire_put_opaque(&f->args, "file", 4);
	wire_put_u32(&f->args, GUARDED);
	wire_put_sattr(&f->args, &sattr);
	cr_assert_eq(fixture_call(f, WIRE_NFS3_CREATE), NFS3_OK);
	cr_assert(fixture_made(f, &fh, &attr));
	cr_expect_eq(attr.uid, 1234);
	cr_expect_eq(attr.gid, 4321);
	as(f, 0, 0);
	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0755, &dir), NFS3_OK);
	cr_assert_eq(fixture_getattr(f, &dir, &attr), NFS3_OK);
	cr_expect_eq(attr.uid, SERVER_NOBODY);
	fixture_close(f, false);
}

Test(server_cred, root_is_root_where_it_is_not_squashed)
{
	struct fixture *f;
	struct wire_sattr sattr = {.set_mode = true, .mode = 0600, .set_uid = true, .uid = 77};
	struct wire_attr attr;
	struct wire_fh fh, dir;

	ROOT_ONLY();
	f = fixture_open(FIXTURE_NO_SQUASH, NULL);
	as(f, 1000, 1000);
	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0700, &dir), NFS3_OK);
	as(f, 0, 0);
	wire_put_fh(fixture_args(f), &dir);
	wire_put_opaque(&f->args, "file", 4);
	wire_put_u32(&f->args, GUARDED);
	wire_put_sattr(&f->args, &sattr);
	cr_assert_eq(fixture_call(f, WIRE_NFS3_CREATE), NFS3_OK);
	cr_assert(fixture_made(f, &fh, &attr));
	cr_expect_eq(attr.uid, 77);
	fixture_close(f, false);
}

Test(server_cred, taking_permission_away_works_at_once)
{
	struct fixture *f;
	struct wire_sattr none = {.set_mode = true, .mode = 0600};
	struct wire_read_res r;
	struct wire_fh fh;

	ROOT_ONLY();
	f = fixture_open(0, NULL);
	as(f, 1000, 1000);
	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	as(f, 1001, 1001);
	cr_assert_eq(fixture_read(f, &fh, 0, 1, &r), NFS3_OK);
	as(f, 1000, 1000);
	wire_put_fh(fixture_args(f), &fh);
	wire_put_sattr(&f->args, &none);
	wire_put_bool(&f->args, false);
	cr_assert_eq(fixture_call(f, WIRE_NFS3_SETATTR), NFS3_OK);
	as(f, 1001, 1001);
	cr_expect_eq(fixture_read(f, &fh, 0, 1, &r), NFS3ERR_ACCES);
	fixture_close(f, false);
}

Test(server_cred, writing_as_another_strips_set_user_id)
{
	struct fixture *f;
	struct wire_write_res w;
	struct wire_attr attr;
	struct wire_fh fh;

	ROOT_ONLY();
	f = fixture_open(0, NULL);
	fixture_file(f, "file", "");
	cr_assert_eq(chmod(fixture_path(f, "file"), 06777), 0);
	as(f, 1001, 1001);
	cr_assert_eq(fixture_lookup(f, &f->root, "file", &fh), NFS3_OK);
	cr_assert_eq(fixture_write(f, &fh, 0, "evil", 4, WIRE_UNSTABLE, &w), NFS3_OK);
	cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
	cr_expect_eq(attr.mode, 0777);
	fixture_close(f, false);
}

Test(server_cred, a_sticky_folder_protects_its_files)
{
	struct fixture *f;
	struct wire_fh dir;

	ROOT_ONLY();
	f = fixture_open(0, NULL);
	as(f, 1000, 1000);
	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 01777, &dir), NFS3_OK);
	cr_assert_eq(fixture_create(f, &dir, "file", 0666, NULL), NFS3_OK);
	as(f, 1001, 1001);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &dir, "file"), NFS3ERR_ACCES);
	cr_expect_eq(fixture_rename(f, &dir, "file", &dir, "mine"), NFS3ERR_ACCES);
	fixture_close(f, false);
}

Test(server_cred, an_id_the_kernel_has_not_is_refused)
{
	struct fixture *f;

	ROOT_ONLY();
	f = fixture_open(0, NULL);
	as(f, UINT32_MAX, 1);
	cr_expect_eq(fixture_lookup(f, &f->root, "x", NULL), NFS3ERR_ACCES);
	as(f, 1, UINT32_MAX);
	cr_expect_eq(fixture_create(f, &f->root, "x", 0666, NULL), NFS3ERR_ACCES);
	/* and the thread is in nobody's skin afterwards */
	as(f, 1000, 1000);
	cr_expect_eq(fixture_create(f, &f->root, "y", 0666, NULL), NFS3_OK);
	server_as_self(f->w);
	cr_expect_eq(setfsuid((uid_t)-1), 0);
	fixture_close(f, false);
}

/* RDMA devices refuse a thread that ever changed its credentials: with them, another one does. */
Test(server_cred, apart_from_its_worker_it_acts_as_callers_and_the_worker_never_does)
{
	for (unsigned no_uring = 0; no_uring < 2; no_uring++) {
		struct wire_write_res wrote;
		struct wire_read_res got;
		struct fixture *f;
		struct wire_fh fh;
		struct stat st;

		ROOT_ONLY();
		f = fixture_open(FIXTURE_APART | (no_uring ? FIXTURE_NO_URING : 0), NULL);
		as(f, 1000, 1000);
		cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &fh), NFS3_OK);
		cr_expect_eq(setfsuid((uid_t)-1), 0,
			     "the worker's thread took the caller's identity");
		cr_assert_eq(fixture_write(f, &fh, 0, "apart", 5, WIRE_FILE_SYNC, &wrote), NFS3_OK);
		cr_assert_eq(fixture_read(f, &fh, 0, 100, &got), NFS3_OK);
		cr_expect_eq(got.count, 5);
		cr_assert_eq(stat(fixture_path(f, "file"), &st), 0);
		cr_expect_eq(st.st_uid, 1000);
		as(f, 1001, 1001);
		cr_expect_eq(fixture_read(f, &fh, 0, 100, &got), NFS3ERR_ACCES);
		cr_expect_eq(fixture_lookup(f, &f->root, "none", NULL), NFS3ERR_NOENT);
		cr_expect_eq(setfsuid((uid_t)-1), 0);
		fixture_close(f, false);
	}
}

/* In a child that is a real other user, without capabilities. */
Test(server_cred, unprivileged_it_acts_as_its_own_user)
{
	int status;
	pid_t pid;

	ROOT_ONLY();
	pid = fork();
	if (pid == 0) {
		struct fixture *f;
		struct wire_write_res w;
		struct wire_read_res r;
		struct wire_attr attr;
		struct wire_fh fh;

		cr_assert(setgid(65533) == 0 && setuid(65533) == 0);
		setenv("TMPDIR", "/tmp", 1);
		f = fixture_open(0, NULL);
		cr_assert(!f->srv->privileged);
		cr_assert(!f->srv->exports.list[0].kernel_handles);
		as(f, 4711, 4711);
		cr_assert_eq(fixture_create(f, &f->root, "file", 0640, &fh), NFS3_OK);
		cr_assert_eq(fixture_write(f, &fh, 0, "data", 4, WIRE_FILE_SYNC, &w), NFS3_OK);
		cr_assert_eq(fixture_read(f, &fh, 0, 4, &r), NFS3_OK);
		cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
		cr_assert_eq(attr.uid, 65533);
		fixture_close(f, false);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

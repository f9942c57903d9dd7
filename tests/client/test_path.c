/* SPDX-License-Identifier: BSD-2-Clause */
/* test_path.c - walking: links, dots, slashes, loops, limits. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"

#define TIMEOUT .timeout = 60

static struct fake_nfs *f;
static struct nfsrdma *mount;

static void setup(void)
{
	f = fake_start();
	fake_dir(f, "/a");
	fake_dir(f, "/a/b");
	fake_dir(f, "/a/b/c");
	fake_file(f, "/a/b/c/file", 3);
	fake_file(f, "/top", 1);
	fake_link(f, "/rel", "a/b");
	fake_link(f, "/abs", "/a/b/c/file");
	fake_link(f, "/a/up", "../a/./b//c");
	fake_link(f, "/a/b/over", "../../../../../top");
	fake_link(f, "/dangling", "a/nothing");
	fake_link(f, "/self", "self");
	fake_link(f, "/ping", "pong");
	fake_link(f, "/pong", "ping");
	fake_link(f, "/slash", "a/");
	mount = fake_mount(f, "");
}

static void teardown(void)
{
	nfsrdma_umount(mount);
	fake_stop(f);
}

TestSuite(client_path, .init = setup, .fini = teardown, .timeout = 60);

/* The size of what path names, or -errno: files here differ in size. */
static int64_t size_of(const char *path)
{
	struct stat st;
	int err = nfsrdma_stat(mount, path, &st);

	return err ? err : S_ISDIR(st.st_mode) ? 0 : st.st_size;
}

Test(client_path, plain_paths)
{
	cr_assert_eq(size_of("/a/b/c/file"), 3);
	cr_assert_eq(size_of("a/b/c/file"), 3);
	cr_assert_eq(size_of("//a///b/c//file"), 3);
	cr_assert_eq(size_of("/"), 0);
	cr_assert_eq(size_of("."), 0);
	cr_assert_eq(size_of("a/."), 0);
	cr_assert_eq(size_of("./a/./b/./c/./file"), 3);
	cr_assert_eq(size_of(""), -ENOENT);
	cr_assert_eq(size_of("/a/x"), -ENOENT);
	cr_assert_eq(size_of("/x/y"), -ENOENT);
	cr_assert_eq(size_of("/top/x"), -ENOTDIR);
	cr_assert_eq(size_of("/top/.."), -ENOTDIR);
	cr_assert_eq(size_of("/top/."), -ENOTDIR);
}

Test(client_path, dot_dot_stops_at_the_root)
{
	cr_assert_eq(size_of("/../../top"), 1);
	cr_assert_eq(size_of("a/../top"), 1);
	cr_assert_eq(size_of("a/b/c/../../../top"), 1);
	cr_assert_eq(size_of("a/b/../../../../../../top"), 1);
	cr_assert_eq(size_of(".."), 0);
}

Test(client_path, links_in_the_middle_and_at_the_end)
{
	cr_assert_eq(size_of("rel/c/file"), 3);
	cr_assert_eq(size_of("abs"), 3);
	cr_assert_eq(size_of("a/up/file"), 3);
	cr_assert_eq(size_of("a/b/over"), 1);
	cr_assert_eq(size_of("rel/over"), 1);
	cr_assert_eq(size_of("slash/b/c/file"), 3);
	cr_assert_eq(size_of("dangling"), -ENOENT);
	cr_assert_eq(size_of("abs/x"), -ENOTDIR);
}

Test(client_path, dot_dot_after_a_link_is_the_targets_parent)
{
	cr_assert_eq(size_of("rel/../../top"), 1); /* a/b/../../top */
	cr_assert_eq(size_of("rel/../b/c/file"), 3);
	cr_assert_eq(size_of("a/up/../c/file"), 3);
}

Test(client_path, loops_end)
{
	cr_assert_eq(size_of("self"), -ELOOP);
	cr_assert_eq(size_of("ping"), -ELOOP);
	cr_assert_eq(size_of("self/x"), -ELOOP);
}

Test(client_path, forty_links_are_fine_and_one_more_is_not)
{
	char path[16], target[16];

	fake_file(f, "/l0", 77);
	for (int i = 1; i <= 41; i++) {
		snprintf(path, sizeof(path), "/l%d", i);
		snprintf(target, sizeof(target), "l%d", i - 1);
		fake_link(f, path, target);
	}
	cr_assert_eq(size_of("l40"), 77);
	cr_assert_eq(size_of("l41"), -ELOOP);
}

Test(client_path, a_slash_at_the_end_asks_for_a_directory)
{
	struct nfsrdma_file *file;
	struct stat st;

	cr_assert_eq(size_of("a/"), 0);
	cr_assert_eq(size_of("top/"), -ENOTDIR);
	cr_assert_eq(size_of("abs/"), -ENOTDIR);
	cr_assert_eq(nfsrdma_lstat(mount, "rel/", &st), 0);
	cr_assert(S_ISDIR(st.st_mode));
	cr_assert_eq(nfsrdma_lstat(mount, "rel", &st), 0);
	cr_assert(S_ISLNK(st.st_mode));
	cr_assert_eq(st.st_size, 3);
	cr_assert_eq(nfsrdma_mkdir(mount, "new/", 0755), 0);
	cr_assert_eq(nfsrdma_open(mount, &file, "newfile/", O_CREAT | O_WRONLY, 0644), -EISDIR);
	cr_assert_eq(nfsrdma_unlink(mount, "top/"), -ENOTDIR);
	cr_assert_eq(nfsrdma_rmdir(mount, "new/"), 0);
	cr_assert_eq(nfsrdma_symlink(mount, "x", "sym/"), -ENOENT);
}

Test(client_path, long_names_are_refused_without_asking)
{
	char name[300];
	unsigned before = fake_calls(f, WIRE_NFS3_LOOKUP);

	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	cr_assert_eq(size_of(name), -ENAMETOOLONG);
	cr_assert_eq(nfsrdma_mkdir(mount, name, 0755), -ENAMETOOLONG);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_LOOKUP), before);
	name[255] = '\0';
	cr_assert_eq(size_of(name), -ENOENT);
	cr_assert_eq(nfsrdma_mkdir(mount, name, 0755), 0);
	cr_assert_eq(size_of(name), 0);
}

Test(client_path, long_paths_are_refused_and_deep_ones_walked)
{
	static char path[10000];
	size_t len = 0;

	while (len < 4096 - 7)
		len += (size_t)sprintf(path + len, "a/../");
	strcpy(path + len, "top");
	cr_assert_eq(size_of(path), 1);
	while (len < 5000)
		len += (size_t)sprintf(path + len, "a/../");
	cr_assert_eq(size_of(path), -ENAMETOOLONG);
}

Test(client_path, links_that_grow_without_end_are_stopped)
{
	static char target[4000];

	/* each round puts 1300 names in front of the rest */
	for (size_t i = 0; i < 1300; i++)
		memcpy(target + i * 3, "./.", 3);
	strcpy(target + 3897, "/x/y");
	memcpy(target, "x/.", 3);
	fake_link(f, "/grow", target);
	fake_link(f, "/x", "grow/z");
	cr_assert_lt(size_of("grow"), 0);
}

Test(client_path, nofollow_meets_the_link)
{
	struct nfsrdma_file *file;
	char target[64];

	cr_assert_eq(nfsrdma_open(mount, &file, "abs", O_RDONLY | O_NOFOLLOW, 0), -ELOOP);
	cr_assert_eq(nfsrdma_open(mount, &file, "rel/c/file", O_RDONLY | O_NOFOLLOW, 0), 0);
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert_eq(nfsrdma_readlink(mount, "rel", target, sizeof(target)), 3);
	cr_assert_str_eq(target, "a/b");
	cr_assert_eq(nfsrdma_readlink(mount, "rel", target, 3), -ENAMETOOLONG);
	cr_assert_eq(nfsrdma_readlink(mount, "top", target, sizeof(target)), -EINVAL);
	cr_assert_eq(nfsrdma_readlink(mount, "none", target, sizeof(target)), -ENOENT);
}

Test(client_path, creating_through_a_dangling_link_makes_its_target)
{
	struct nfsrdma_file *file;

	cr_assert_eq(nfsrdma_open(mount, &file, "dangling", O_CREAT | O_WRONLY, 0600), 0, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert(fake_exists(f, "/a/nothing"));
	cr_assert_eq(nfsrdma_open(mount, &file, "rel", O_CREAT | O_EXCL | O_WRONLY, 0600), -EEXIST);
	cr_assert_eq(nfsrdma_open(mount, &file, "self", O_CREAT | O_EXCL | O_WRONLY, 0600),
		     -EEXIST);
	cr_assert_eq(nfsrdma_open(mount, &file, "self", O_CREAT | O_WRONLY, 0600), -ELOOP);
}

Test(client_path, servers_that_leave_attributes_out_are_asked_for_them)
{
	fake_rule(f, WIRE_NFS3_LOOKUP, 0, UINT32_MAX, FAKE_NO_ATTR, 0);
	cr_assert_eq(size_of("rel/c/file"), 3);
	cr_assert_eq(size_of("abs"), 3);
	cr_assert_eq(size_of("self"), -ELOOP);
}

Test(client_path, a_stale_handle_in_the_middle_starts_the_walk_over)
{
	fake_rule(f, WIRE_NFS3_LOOKUP, 2, 1, FAKE_STATUS, 70);
	cr_assert_eq(size_of("a/b/c/file"), 3);
	fake_rule(f, WIRE_NFS3_LOOKUP, 0, UINT32_MAX, FAKE_STATUS, 70);
	cr_assert_eq(size_of("a/b/c/file"), -ESTALE);
}

Test(client_path, impossible_link_targets_are_errors)
{
	fake_rule(f, WIRE_NFS3_READLINK, 0, 1, FAKE_CUT_REPLY, 95);
	cr_assert_eq(size_of("rel"), -EIO);
	fake_rule(f, WIRE_NFS3_READLINK, 0, 1, FAKE_CUT_REPLY, 98);
	cr_assert_eq(size_of("rel"), -EIO);
	cr_assert_eq(size_of("rel"), 0);
}

Test(client_path, access_asks_the_server)
{
	cr_assert_eq(nfsrdma_access(mount, "top", F_OK), 0);
	cr_assert_eq(nfsrdma_access(mount, "top", R_OK | W_OK), 0);
	cr_assert_eq(nfsrdma_access(mount, "none", F_OK), -ENOENT);
	cr_assert_eq(nfsrdma_access(mount, "top", 64), -EINVAL);
	fake_deny(f, "/top");
	cr_assert_eq(nfsrdma_access(mount, "top", F_OK), 0);
	cr_assert_eq(nfsrdma_access(mount, "top", R_OK), -EACCES);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* test_name.c - making and removing names, attributes, and what a replay means. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"

static struct fake_nfs *f;
static struct nfsrdma *mount;

static void setup(void)
{
	f = fake_start();
	fake_dir(f, "/dir");
	fake_file(f, "/file", 10);
	mount = fake_mount(f, "");
}

static void teardown(void)
{
	nfsrdma_umount(mount);
	fake_stop(f);
}

TestSuite(client_name, .init = setup, .fini = teardown, .timeout = 60);

static mode_t mode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(nfsrdma_lstat(mount, path, &st), 0, "%s", nfsrdma_strerror_last());
	return st.st_mode;
}

Test(client_name, makes_and_removes_every_kind)
{
	char target[16];
	struct stat a, b;

	cr_assert_eq(nfsrdma_mkdir(mount, "dir/sub", 0751), 0);
	cr_assert_eq(mode_of("dir/sub"), (mode_t)(S_IFDIR | 0751));
	cr_assert_eq(nfsrdma_mkdir(mount, "dir/sub", 0751), -EEXIST);
	cr_assert_eq(nfsrdma_rmdir(mount, "dir"), -ENOTEMPTY);
	cr_assert_eq(nfsrdma_symlink(mount, "to", "dir/sym"), 0);
	cr_assert_eq(nfsrdma_readlink(mount, "dir/sym", target, sizeof(target)), 2);
	cr_assert_str_eq(target, "to");
	cr_assert_eq(nfsrdma_link(mount, "file", "dir/hard"), 0);
	cr_assert_eq(nfsrdma_stat(mount, "file", &a), 0);
	cr_assert_eq(nfsrdma_stat(mount, "dir/hard", &b), 0);
	cr_assert_eq(a.st_ino, b.st_ino);
	cr_assert_eq(b.st_nlink, 2u);
	cr_assert_eq(nfsrdma_mknod(mount, "dir/fifo", S_IFIFO | 0600, 0), 0);
	cr_assert_eq(mode_of("dir/fifo"), (mode_t)(S_IFIFO | 0600));
	cr_assert_eq(nfsrdma_mknod(mount, "dir/reg", S_IFREG | 0640, 0), 0);
	cr_assert_eq(mode_of("dir/reg"), (mode_t)(S_IFREG | 0640));
	cr_assert_eq(nfsrdma_mknod(mount, "dir/reg", S_IFREG | 0640, 0), -EEXIST);
	cr_assert_eq(nfsrdma_mknod(mount, "dir/bad", S_IFDIR | 0640, 0), -EINVAL);
	cr_assert_eq(nfsrdma_unlink(mount, "dir/sub"), -EISDIR);
	cr_assert_eq(nfsrdma_rmdir(mount, "dir/reg"), -ENOTDIR);
	cr_assert_eq(nfsrdma_unlink(mount, "dir/hard"), 0);
	cr_assert_eq(nfsrdma_unlink(mount, "dir/hard"), -ENOENT);
	cr_assert_eq(nfsrdma_rmdir(mount, "dir/sub"), 0);
}

Test(client_name, names_that_cannot_be_changed_are_refused)
{
	cr_assert_eq(nfsrdma_mkdir(mount, "/", 0755), -EEXIST);
	cr_assert_eq(nfsrdma_mkdir(mount, "dir/.", 0755), -EEXIST);
	cr_assert_eq(nfsrdma_rmdir(mount, "/"), -EBUSY);
	cr_assert_eq(nfsrdma_rmdir(mount, "dir/."), -EINVAL);
	cr_assert_eq(nfsrdma_rmdir(mount, "dir/.."), -ENOTEMPTY);
	cr_assert_eq(nfsrdma_unlink(mount, ".."), -EISDIR);
	cr_assert_eq(nfsrdma_rename(mount, "/", "x"), -EBUSY);
	cr_assert_eq(nfsrdma_rename(mount, "file", "dir/.."), -EBUSY);
	cr_assert_eq(nfsrdma_symlink(mount, "", "x"), -ENOENT);
}

Test(client_name, renames_within_and_across)
{
	cr_assert_eq(nfsrdma_rename(mount, "file", "dir/moved"), 0);
	cr_assert(fake_exists(f, "/dir/moved"));
	cr_assert(!fake_exists(f, "/file"));
	cr_assert_eq(nfsrdma_rename(mount, "none", "x"), -ENOENT);
	cr_assert_eq(nfsrdma_rename(mount, "dir/moved", "x/"), -ENOTDIR);
	cr_assert_eq(nfsrdma_rename(mount, "dir/", "dir2/"), 0);
	cr_assert(fake_exists(f, "/dir2/moved"));
}

Test(client_name, attributes_are_set_one_by_one)
{
	struct timespec times[2] = {{5, 6}, {0, UTIME_OMIT}};
	struct timespec far[2] = {{-1, 0}, {0, UTIME_OMIT}};
	struct stat st;

	cr_assert_eq(nfsrdma_chmod(mount, "file", S_IFREG | 04711), 0);
	cr_assert_eq(nfsrdma_chown(mount, "file", 5, (gid_t)-1), 0);
	cr_assert_eq(nfsrdma_chown(mount, "file", (uid_t)-1, 6), 0);
	cr_assert_eq(nfsrdma_utimens(mount, "file", times), 0);
	cr_assert_eq(nfsrdma_truncate(mount, "file", 4), 0);
	cr_assert_eq(nfsrdma_stat(mount, "file", &st), 0);
	cr_assert_eq(st.st_mode, (mode_t)(S_IFREG | 04711));
	cr_assert_eq(st.st_uid, 5u);
	cr_assert_eq(st.st_gid, 6u);
	cr_assert_eq(st.st_atim.tv_sec, 5);
	cr_assert_eq(st.st_atim.tv_nsec, 6);
	cr_assert_eq(st.st_size, 4);
	cr_assert_eq(nfsrdma_utimens(mount, "file", far), -EINVAL);
	cr_assert_eq(nfsrdma_utimens(mount, "file", NULL), 0);
	cr_assert_eq(nfsrdma_truncate(mount, "file", UINT64_MAX), -EINVAL);
	cr_assert_eq(nfsrdma_chmod(mount, "none", 0), -ENOENT);
}

Test(client_name, statfs_tells_what_the_server_tells)
{
	struct nfsrdma_statfs fs;

	cr_assert_eq(nfsrdma_statfs(mount, "/", &fs), 0, "%s", nfsrdma_strerror_last());
	cr_assert_eq(fs.total_bytes, 1000u);
	cr_assert_eq(fs.avail_bytes, 3000u);
	cr_assert_eq(fs.avail_files, 6000u);
	cr_assert_eq(fs.name_max, 255u);
	cr_assert_eq(fs.link_max, 32000u);
}

Test(client_name, open_keeps_what_open_promises)
{
	struct nfsrdma_file *file;

	cr_assert_eq(nfsrdma_open(mount, &file, "none", O_RDONLY, 0), -ENOENT);
	cr_assert_eq(nfsrdma_open(mount, &file, "dir", O_WRONLY, 0), -EISDIR);
	cr_assert_eq(nfsrdma_open(mount, &file, "dir", O_RDONLY | O_CREAT, 0), -EISDIR);
	cr_assert_eq(nfsrdma_open(mount, &file, "file", O_RDONLY | O_DIRECTORY, 0), -ENOTDIR);
	cr_assert_eq(nfsrdma_open(mount, &file, "file", O_CREAT | O_EXCL | O_RDWR, 0), -EEXIST);
	cr_assert_eq(nfsrdma_open(mount, &file, "file", O_ACCMODE, 0), -EINVAL);
	cr_assert_eq(nfsrdma_open(mount, &file, "dir", O_RDONLY | O_DIRECTORY, 0), 0);
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert_eq(nfsrdma_open(mount, &file, "file", O_WRONLY | O_TRUNC, 0), 0);
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert_eq(fake_size(f, "/file"), 0u);
	cr_assert_eq(nfsrdma_open(mount, &file, "excl", O_CREAT | O_EXCL | O_RDWR, 0604), 0);
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert_eq(mode_of("excl"), (mode_t)(S_IFREG | 0604));
	fake_deny(f, "/file");
	cr_assert_eq(nfsrdma_open(mount, &file, "file", O_RDONLY, 0), -EACCES);
	cr_assert_eq(nfsrdma_open(mount, &file, "fifo", O_RDONLY, 0), -ENOENT);
	cr_assert_eq(nfsrdma_mknod(mount, "fifo", S_IFIFO | 0600, 0), 0);
	cr_assert_eq(nfsrdma_open(mount, &file, "fifo", O_RDONLY, 0), -ENXIO);
}

Test(client_name, exclusive_create_falls_back_where_it_is_not_known)
{
	struct nfsrdma_file *file;

	fake_rule(f, WIRE_NFS3_CREATE, 0, 1, FAKE_STATUS, 10004);
	cr_assert_eq(nfsrdma_open(mount, &file, "new", O_CREAT | O_EXCL | O_RDWR, 0640), 0);
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert_eq(mode_of("new"), (mode_t)(S_IFREG | 0640));
}

Test(client_name, a_server_that_gives_no_handle_is_asked_for_it)
{
	struct nfsrdma_file *file;

	fake_rule(f, WIRE_NFS3_CREATE, 0, 1, FAKE_NO_ATTR, 0);
	cr_assert_eq(nfsrdma_open(mount, &file, "new", O_CREAT | O_RDWR, 0640), 0, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_pwrite_copy(file, "hi", 2, 0), 2);
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert(fake_holds(f, "/new", 0, "hi", 2, true));
}

Test(client_name, a_read_only_mount_changes_nothing)
{
	struct nfsrdma *ro = fake_mount(f, "ro");
	struct nfsrdma_file *file;

	cr_assert_eq(nfsrdma_mkdir(ro, "x", 0755), -EROFS);
	cr_assert_eq(nfsrdma_unlink(ro, "file"), -EROFS);
	cr_assert_eq(nfsrdma_rename(ro, "file", "x"), -EROFS);
	cr_assert_eq(nfsrdma_symlink(ro, "file", "x"), -EROFS);
	cr_assert_eq(nfsrdma_link(ro, "file", "x"), -EROFS);
	cr_assert_eq(nfsrdma_chmod(ro, "file", 0), -EROFS);
	cr_assert_eq(nfsrdma_truncate(ro, "file", 0), -EROFS);
	cr_assert_eq(nfsrdma_access(ro, "file", W_OK), -EROFS);
	cr_assert_eq(nfsrdma_open(ro, &file, "x", O_CREAT | O_RDONLY, 0), -EROFS);
	cr_assert_eq(nfsrdma_open(ro, &file, "file", O_RDWR, 0), -EROFS);
	cr_assert_eq(nfsrdma_open(ro, &file, "file", O_RDONLY, 0), 0);
	cr_assert_eq(nfsrdma_close(file), 0);
	nfsrdma_umount(ro);
	cr_assert_eq(fake_size(f, "/file"), 10u);
}

/* ---- replays: the server did it, and the answer was lost ---------------------------------- */

static void lose_answer(uint32_t proc)
{
	fake_rule(f, proc, 0, 1, FAKE_RUN_AND_CUT, 0);
}

Test(client_name, a_lost_answer_to_making_is_not_exists)
{
	char target[16];

	lose_answer(WIRE_NFS3_MKDIR);
	cr_assert_eq(nfsrdma_mkdir(mount, "d", 0755), 0, "%s", nfsrdma_strerror_last());
	cr_assert_eq(fake_calls(f, WIRE_NFS3_MKDIR), 2u);
	lose_answer(WIRE_NFS3_SYMLINK);
	cr_assert_eq(nfsrdma_symlink(mount, "to", "s"), 0, "%s", nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_readlink(mount, "s", target, sizeof(target)), 2);
	lose_answer(WIRE_NFS3_LINK);
	cr_assert_eq(nfsrdma_link(mount, "file", "l"), 0, "%s", nfsrdma_strerror_last());
	lose_answer(WIRE_NFS3_MKNOD);
	cr_assert_eq(nfsrdma_mknod(mount, "p", S_IFIFO | 0600, 0), 0, "%s",
		     nfsrdma_strerror_last());
}

Test(client_name, a_lost_answer_to_creating_is_not_exists)
{
	struct nfsrdma_file *file;

	lose_answer(WIRE_NFS3_CREATE);
	cr_assert_eq(nfsrdma_open(mount, &file, "x", O_CREAT | O_EXCL | O_RDWR, 0644), 0, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_close(file), 0);
	lose_answer(WIRE_NFS3_CREATE);
	cr_assert_eq(nfsrdma_open(mount, &file, "y", O_CREAT | O_RDWR, 0644), 0);
	cr_assert_eq(nfsrdma_close(file), 0);
	lose_answer(WIRE_NFS3_CREATE);
	cr_assert_eq(nfsrdma_mknod(mount, "z", S_IFREG | 0600, 0), 0, "%s",
		     nfsrdma_strerror_last());
}

Test(client_name, a_lost_answer_to_removing_is_not_missing)
{
	lose_answer(WIRE_NFS3_REMOVE);
	cr_assert_eq(nfsrdma_unlink(mount, "file"), 0, "%s", nfsrdma_strerror_last());
	lose_answer(WIRE_NFS3_RMDIR);
	cr_assert_eq(nfsrdma_rmdir(mount, "dir"), 0, "%s", nfsrdma_strerror_last());
}

Test(client_name, a_lost_answer_to_renaming_is_not_missing)
{
	lose_answer(WIRE_NFS3_RENAME);
	cr_assert_eq(nfsrdma_rename(mount, "file", "dir/f"), 0, "%s", nfsrdma_strerror_last());
	cr_assert(fake_exists(f, "/dir/f"));
}

Test(client_name, a_call_that_never_ran_fails_as_it_should)
{
	fake_rule(f, WIRE_NFS3_MKDIR, 0, 1, FAKE_CUT, 0);
	cr_assert_eq(nfsrdma_mkdir(mount, "file", 0755), -EEXIST); /* there, but no directory */
	fake_rule(f, WIRE_NFS3_RENAME, 0, 1, FAKE_CUT, 0);
	cr_assert_eq(nfsrdma_rename(mount, "none", "alsonone"), -ENOENT);
	fake_rule(f, WIRE_NFS3_SYMLINK, 0, 1, FAKE_CUT, 0);
	cr_assert_eq(nfsrdma_symlink(mount, "to", "file"), -EEXIST);
	fake_rule(f, WIRE_NFS3_LINK, 0, 1, FAKE_CUT, 0);
	cr_assert_eq(nfsrdma_link(mount, "file", "dir"), -EEXIST);
}

Test(client_name, malformed_replies_fail_their_call_and_only_that)
{
	static const uint32_t procs[] = {WIRE_NFS3_LOOKUP, WIRE_NFS3_GETATTR, WIRE_NFS3_ACCESS};
	struct stat st;

	for (size_t i = 0; i < 3; i++) {
		for (unsigned len = 0; len < 100; len += 12) {
			fake_rule(f, procs[i], 0, 1, FAKE_CUT_REPLY, len);
			if (i == 0)
				cr_assert_eq(nfsrdma_stat(mount, "file", &st), -EIO, "%u", len);
			else if (i == 1 && len < 88)
				cr_assert_eq(nfsrdma_stat(mount, "/", &st), -EIO, "%u", len);
			else if (len < 96)
				cr_assert_eq(nfsrdma_access(mount, "file", R_OK), -EIO);
			if (i == 2 && len >= 84)
				break;
		}
	}
	cr_assert_eq(nfsrdma_stat(mount, "file", &st), 0);
}

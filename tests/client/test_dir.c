/* SPDX-License-Identifier: BSD-2-Clause */
/* test_dir.c - listing: pages, servers without READDIRPLUS, hostile and broken replies, a million.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"

#define TIMEOUT .timeout = 60

static struct fake_nfs *f;
static struct nfsrdma *mount;

static void setup(void)
{
	char path[32];

	f = fake_start();
	fake_dir(f, "/d");
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "/d/file%d", i);
		fake_file(f, path, (uint64_t)i + 1);
	}
	mount = fake_mount(f, "");
}

static void teardown(void)
{
	nfsrdma_umount(mount);
	fake_stop(f);
}

TestSuite(client_dir, .init = setup, .fini = teardown, .timeout = 60);

static struct nfsrdma_dir *open_dir(struct nfsrdma *m, const char *path)
{
	struct nfsrdma_dir *dir = NULL;

	cr_assert_eq(nfsrdma_opendir(m, &dir, path), 0, "%s", nfsrdma_strerror_last());
	return dir;
}

/* Read the rest of dir into seen[], counting each of "file0".."file199"; returns what ended it. */
static int read_all(struct nfsrdma_dir *dir, unsigned seen[200])
{
	struct nfsrdma_dirent ent;
	int got;

	while ((got = nfsrdma_readdir(dir, &ent)) == 1) {
		int n = -1;

		cr_assert_eq(sscanf(ent.name, "file%d", &n), 1, "%s", ent.name);
		cr_assert(n >= 0 && n < 200);
		seen[n]++;
		if (ent.has_stat)
			cr_assert_eq(ent.st.st_size, n + 1);
	}
	return got;
}

static void assert_each_once(const unsigned seen[200])
{
	for (int i = 0; i < 200; i++)
		cr_assert_eq(seen[i], 1u, "file%d: %u times", i, seen[i]);
}

static void list_once(struct nfsrdma *m)
{
	struct nfsrdma_dir *dir = open_dir(m, "/d");
	unsigned seen[200] = {0};

	cr_assert_eq(read_all(dir, seen), 0, "%s", nfsrdma_strerror_last());
	assert_each_once(seen);
	nfsrdma_closedir(dir);
}

Test(client_dir, lists_every_entry_once_over_many_pages)
{
	list_once(mount);
	cr_assert_gt(fake_calls(f, WIRE_NFS3_READDIRPLUS), 5u);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_READDIR), 0u);
}

Test(client_dir, attributes_come_with_the_names)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	struct nfsrdma_dirent ent;

	cr_assert_eq(nfsrdma_readdir(dir, &ent), 1);
	cr_assert(ent.has_stat);
	cr_assert_eq(ent.st.st_ino, ent.fileid);
	cr_assert(S_ISREG(ent.st.st_mode));
	nfsrdma_closedir(dir);
}

Test(client_dir, entries_without_attributes_are_not_zeros)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	struct nfsrdma_dirent ent;
	unsigned seen[200] = {0};

	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, UINT32_MAX, FAKE_NO_ATTR, 0);
	cr_assert_eq(nfsrdma_readdir(dir, &ent), 1);
	cr_assert(!ent.has_stat);
	nfsrdma_rewinddir(dir);
	cr_assert_eq(read_all(dir, seen), 0);
	assert_each_once(seen);
	nfsrdma_closedir(dir);
}

Test(client_dir, readdir_serves_where_readdirplus_is_unknown)
{
	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, UINT32_MAX, FAKE_STATUS, 10004);
	list_once(mount);
	list_once(mount);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_READDIRPLUS), 1u);
}

Test(client_dir, nordirplus_never_asks_for_it)
{
	struct nfsrdma *m = fake_mount(f, "nordirplus");

	list_once(m);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_READDIRPLUS), 0u);
	nfsrdma_umount(m);
}

Test(client_dir, too_small_a_page_is_made_larger)
{
	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, 2, FAKE_STATUS, 10005);
	list_once(mount);
	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, UINT32_MAX, FAKE_STATUS, 10005);
	{
		struct nfsrdma_dir *dir = open_dir(mount, "/d");
		struct nfsrdma_dirent ent;

		cr_assert_lt(nfsrdma_readdir(dir, &ent), 0);
		nfsrdma_closedir(dir);
	}
}

Test(client_dir, an_empty_page_without_an_end_is_asked_again_once)
{
	fake_rule(f, WIRE_NFS3_READDIRPLUS, 1, 1, FAKE_EMPTY, 0);
	list_once(mount);
}

Test(client_dir, empty_pages_for_ever_are_an_error)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	struct nfsrdma_dirent ent;

	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, UINT32_MAX, FAKE_EMPTY, 0);
	cr_assert_eq(nfsrdma_readdir(dir, &ent), -EIO);
	cr_assert_lt(fake_calls(f, WIRE_NFS3_READDIRPLUS), 5u);
	nfsrdma_closedir(dir);
}

Test(client_dir, pages_that_break_off_lose_nothing)
{
	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, 3, FAKE_NO_END, 0);
	list_once(mount);
	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, 1, FAKE_CUT_REPLY, 1000);
	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, 1, FAKE_CUT_REPLY, 2001);
	list_once(mount);
}

Test(client_dir, a_head_that_breaks_off_is_an_error)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	struct nfsrdma_dirent ent;

	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, UINT32_MAX, FAKE_CUT_REPLY, 10);
	cr_assert_eq(nfsrdma_readdir(dir, &ent), -EIO);
	nfsrdma_closedir(dir);
}

Test(client_dir, cookies_in_a_circle_end)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	struct nfsrdma_dirent ent;
	unsigned n = 0;
	int got;

	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, UINT32_MAX, FAKE_SAME_COOKIE, 50);
	while ((got = nfsrdma_readdir(dir, &ent)) == 1)
		cr_assert_lt(++n, 10000u);
	cr_assert_eq(got, -ELOOP);
	nfsrdma_closedir(dir);
}

Test(client_dir, impossible_names_are_errors)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	struct nfsrdma_dirent ent;

	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, 1, FAKE_BAD_NAME, 0);
	cr_assert_eq(nfsrdma_readdir(dir, &ent), -EIO);
	nfsrdma_closedir(dir);
}

Test(client_dir, a_bad_cookie_starts_over_without_telling_twice)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	unsigned seen[200] = {0};

	fake_rule(f, WIRE_NFS3_READDIRPLUS, 2, 1, FAKE_STATUS, 10003);
	cr_assert_eq(read_all(dir, seen), 0, "%s", nfsrdma_strerror_last());
	assert_each_once(seen);
	nfsrdma_closedir(dir);
}

Test(client_dir, a_bad_cookie_after_the_last_name_went_counts)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	struct nfsrdma_dirent ent;
	unsigned seen[200] = {0};
	char path[64];

	/* read exactly to the end of the second page, then lose the last name told */
	for (unsigned pages = 0; pages < 2 || fake_calls(f, WIRE_NFS3_READDIRPLUS) < 3;) {
		int n;

		cr_assert_eq(nfsrdma_readdir(dir, &ent), 1);
		sscanf(ent.name, "file%d", &n);
		seen[n]++;
		pages = fake_calls(f, WIRE_NFS3_READDIRPLUS);
	}
	snprintf(path, sizeof(path), "/d/%s", ent.name);
	fake_remove(f, path);
	fake_rule(f, WIRE_NFS3_READDIRPLUS, 0, 1, FAKE_STATUS, 10003);
	cr_assert_eq(read_all(dir, seen), 0, "%s", nfsrdma_strerror_last());
	for (int i = 0; i < 200; i++)
		cr_assert_leq(seen[i], 1u, "file%d told twice", i);
	nfsrdma_closedir(dir);
}

Test(client_dir, bad_cookies_for_ever_are_an_error)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	unsigned seen[200] = {0};

	fake_rule(f, WIRE_NFS3_READDIRPLUS, 1, UINT32_MAX, FAKE_STATUS, 10003);
	cr_assert_eq(read_all(dir, seen), -EIO);
	cr_assert(strstr(nfsrdma_strerror_last(), "BAD_COOKIE"));
	nfsrdma_closedir(dir);
}

Test(client_dir, entries_may_come_and_go_while_listing)
{
	struct nfsrdma_dir *dir = open_dir(mount, "/d");
	struct nfsrdma_dirent ent;
	unsigned seen[200] = {0};

	cr_assert_eq(nfsrdma_readdir(dir, &ent), 1);
	fake_remove(f, "/d/file199");
	fake_file(f, "/d/file199", 200);
	nfsrdma_rewinddir(dir);
	cr_assert_eq(read_all(dir, seen), 0);
	assert_each_once(seen);
	nfsrdma_closedir(dir);
}

Test(client_dir, only_directories_open)
{
	struct nfsrdma_dir *dir;

	cr_assert_eq(nfsrdma_opendir(mount, &dir, "/d/file0"), -ENOTDIR);
	cr_assert_eq(nfsrdma_opendir(mount, &dir, "/none"), -ENOENT);
}

Test(client_dir, an_empty_directory_has_an_end)
{
	struct nfsrdma_dir *dir;
	struct nfsrdma_dirent ent;

	fake_dir(f, "/empty");
	dir = open_dir(mount, "/empty");
	cr_assert_eq(nfsrdma_readdir(dir, &ent), 0);
	cr_assert_eq(nfsrdma_readdir(dir, &ent), 0);
	nfsrdma_closedir(dir);
}

Test(client_dir, a_million_entries_take_no_more_memory_than_a_page)
{
	const uint64_t n = 1000000;
	struct nfsrdma_dirent ent;
	struct nfsrdma_dir *dir;
	struct mallinfo2 before, after;
	struct nfsrdma *m;
	uint64_t count = 0;
	int got;

	fake_set_sizes(f, 65536, 65536, 65536);
	fake_big_dir(f, "/big", n);
	m = fake_mount(f, "nordirplus");
	dir = open_dir(m, "/big");
	cr_assert_eq(nfsrdma_readdir(dir, &ent), 1);
	before = mallinfo2();
	for (count = 1; (got = nfsrdma_readdir(dir, &ent)) == 1; count++)
		if (count % 99991 == 0)
			cr_assert_eq(ent.fileid, 1000000 + count);
	after = mallinfo2();
	cr_assert_eq(got, 0, "%s", nfsrdma_strerror_last());
	cr_assert_eq(count, n);
	cr_assert_lt(after.uordblks, before.uordblks + 8 * 1024 * 1024);
	nfsrdma_closedir(dir);
	nfsrdma_umount(m);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_readdir.c - READDIR and READDIRPLUS.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/server/double.h"

struct listing {
	unsigned entries, replies, with_attr, with_fh;
	uint64_t cookie;
	uint8_t verf[8];
	uint32_t dircount, maxcount;
	bool eof;
	uint8_t seen[8192];
	uint64_t dot, dotdot;
};

static uint32_t readdir_once(struct fixture *f, const struct wire_fh *dir, bool plus,
			     struct listing *l)
{
	struct wire_readdir_args a = {
		.dir = *dir, .cookie = l->cookie, .dircount = l->dircount, .maxcount = l->maxcount};
	struct wire_readdir_head head;
	struct wire_dirent ent;
	int ret;

	memcpy(a.verf, l->verf, 8);
	wire_readdir_args_encode(fixture_args(f), &a, plus);
	fixture_call_bare(f, plus ? WIRE_NFS3_READDIRPLUS : WIRE_NFS3_READDIR);
	cr_assert(f->reply);
	cr_assert_eq(wire_readdir_head_decode(&f->res, &head), 0);
	if (head.status)
		return head.status;
	cr_expect(head.attr.present);
	/* the result, without the status word, is no longer than the client said */
	cr_expect_leq(f->reply_len - WIRE_RPC_REPLY_LEN - 4, l->maxcount);
	memcpy(l->verf, head.verf, 8);
	l->replies++;
	while ((ret = wire_dirent_next(&f->res, &ent, plus, &l->eof)) == 1) {
		unsigned n;
		char name[256];

		memcpy(name, ent.name, ent.name_len);
		name[ent.name_len] = '\0';
		if (!strcmp(name, "."))
			l->dot = ent.fileid;
		else if (!strcmp(name, ".."))
			l->dotdot = ent.fileid;
		else if (sscanf(name, "f%u", &n) == 1)
			l->seen[n]++;
		l->with_attr += ent.attr.present;
		l->with_fh += ent.has_fh;
		l->entries++;
		l->cookie = ent.cookie;
	}
	cr_assert_eq(ret, 0);
	return NFS3_OK;
}

static void readdir_all(struct fixture *f, const struct wire_fh *dir, bool plus, struct listing *l)
{
	while (!l->eof) {
		unsigned before = l->entries;

		cr_assert_eq(readdir_once(f, dir, plus, l), NFS3_OK);
		cr_assert(l->eof || l->entries > before, "a reply without entries or an end");
	}
}

static void many_files(struct fixture *f, unsigned count)
{
	char name[32];

	server_as_self(f->w);
	for (unsigned i = 0; i < count; i++) {
		int fd;

		snprintf(name, sizeof(name), "f%u", i);
		fd = open(fixture_path(f, name), O_CREAT | O_WRONLY, 0644);
		cr_assert(fd >= 0);
		close(fd);
	}
}

static void expect_each_once(const struct listing *l, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		cr_expect_eq(l->seen[i], 1, "f%u was listed %u times", i, l->seen[i]);
	cr_expect_eq(l->entries, count + 2);
}

Test(server_readdir, lists_each_entry_once_whatever_the_counts)
{
	static const struct {
		bool plus;
		uint32_t dircount, maxcount;
	} cases[] = {
		{false, 0, 512},     {false, 0, 4096},	   {false, 0, 65536},	{true, 512, 1024},
		{true, 4096, 32768}, {true, 32768, 65536}, {true, 64, 1048576}, {true, 0, 8192},
	};
	struct fixture *f = fixture_open(0, NULL);
	struct stat st;

	many_files(f, 700);
	cr_assert_eq(stat(fixture_path(f, ""), &st), 0);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct listing l = {.dircount = cases[i].dircount, .maxcount = cases[i].maxcount};

		readdir_all(f, &f->root, cases[i].plus, &l);
		expect_each_once(&l, 700);
		cr_expect_eq(l.dot, st.st_ino);
		cr_expect_eq(l.dotdot, st.st_ino, "above the root there is only the root");
		if (cases[i].plus) {
			cr_expect_eq(l.with_attr, 701, "all but ..");
			cr_expect_eq(l.with_fh, 701);
		}
	}
	fixture_close(f, false);
}

Test(server_readdir, dircount_bounds_a_reply)
{
	struct fixture *f = fixture_open(0, NULL);
	struct listing l = {.dircount = 400, .maxcount = 65536};

	many_files(f, 100);
	cr_assert_eq(readdir_once(f, &f->root, true, &l), NFS3_OK);
	/* an entry's id, name and cookie are 24 to 28 bytes and the word that says it follows */
	cr_expect(l.entries >= 400 / 32 && l.entries <= 400 / 24, "%u entries", l.entries);
	fixture_close(f, false);
}

Test(server_readdir, a_count_too_small_for_one_entry_is_told)
{
	struct fixture *f = fixture_open(0, NULL);
	struct listing l = {.maxcount = 100};

	cr_expect_eq(readdir_once(f, &f->root, false, &l), NFS3ERR_TOOSMALL);
	l.maxcount = 0;
	cr_expect_eq(readdir_once(f, &f->root, true, &l), NFS3ERR_TOOSMALL);
	fixture_close(f, false);
}

Test(server_readdir, goes_on_over_removals_and_a_restart)
{
	struct fixture *f = fixture_open(0, NULL);
	struct listing l = {.maxcount = 2048};
	char folder[128], name[32];
	struct wire_fh root = f->root;

	many_files(f, 300);
	cr_assert_eq(readdir_once(f, &root, false, &l), NFS3_OK);
	cr_assert(!l.eof);
	/* what was listed goes away */
	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		if (l.seen[i])
			cr_assert_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &root, name), NFS3_OK);
	}
	snprintf(folder, sizeof(folder), "%s", f->dir);
	fixture_close(f, true);
	f = fixture_open(0, folder);
	readdir_all(f, &root, false, &l);
	expect_each_once(&l, 300);
	fixture_close(f, false);
}

Test(server_readdir, a_verifier_of_another_folder_is_refused)
{
	struct fixture *f = fixture_open(0, NULL);
	struct listing l = {.maxcount = 1024}, other;
	struct wire_fh dir;

	many_files(f, 100);
	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0777, &dir), NFS3_OK);
	cr_assert_eq(readdir_once(f, &f->root, false, &l), NFS3_OK);
	other = l;
	cr_expect_eq(readdir_once(f, &dir, false, &other), NFS3ERR_BAD_COOKIE);
	other = l;
	other.verf[3] ^= 1;
	cr_expect_eq(readdir_once(f, &f->root, false, &other), NFS3ERR_BAD_COOKIE);
	other = l;
	other.cookie = UINT64_MAX;
	cr_expect_eq(readdir_once(f, &f->root, false, &other), NFS3ERR_BAD_COOKIE);
	fixture_close(f, false);
}

Test(server_readdir, needs_a_folder_one_may_read)
{
	struct fixture *f = fixture_open(0, NULL);
	struct listing l = {.maxcount = 4096, .dircount = 4096};
	struct wire_fh file, dir;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0600, &file), NFS3_OK);
	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0300, &dir), NFS3_OK);
	cr_expect_eq(readdir_once(f, &file, false, &l), NFS3ERR_NOTDIR);
	if (geteuid() == 0 || f->srv->privileged)
		cr_expect_eq(readdir_once(f, &dir, true, &l), NFS3ERR_ACCES);
	fixture_close(f, false);
}

Test(server_readdir, handles_of_readdirplus_are_those_of_lookup)
{
	static const unsigned flags[] = {0, FIXTURE_WALK};

	for (size_t i = 0; i < 2; i++) {
		struct fixture *f = fixture_open(flags[i], NULL);
		struct wire_readdir_args a = {.dir = f->root, .dircount = 4096, .maxcount = 8192};
		struct wire_readdir_head head;
		struct wire_fh fh, listed = {.len = 0};
		struct wire_dirent ent;
		bool eof;

		fixture_file(f, "file", "text");
		wire_readdir_args_encode(fixture_args(f), &a, true);
		fixture_call_bare(f, WIRE_NFS3_READDIRPLUS);
		cr_assert_eq(wire_readdir_head_decode(&f->res, &head), 0);
		while (wire_dirent_next(&f->res, &ent, true, &eof) == 1)
			if (ent.name_len == 4)
				listed = ent.fh;
		cr_assert_eq(fixture_getattr(f, &listed, NULL), NFS3_OK);
		cr_assert_eq(fixture_lookup(f, &f->root, "file", &fh), NFS3_OK);
		cr_expect(fh.len == listed.len && !memcmp(fh.data, listed.data, fh.len));
		fixture_close(f, false);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_race.c - somebody changes the export behind the server's back while it serves.
 *
 * Another process puts links and folders in each other's place as fast as it can.  Whatever the
 * server answers, nothing outside the export may be seen or changed.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/server/double.h"

#define ROUNDS 4000

struct paths {
	char outside[192], name[192], aside[192], link[192];
};

static void paths_init(struct fixture *f, struct paths *p)
{
	snprintf(p->outside, sizeof(p->outside), "%s/outside", f->dir);
	snprintf(p->name, sizeof(p->name), "%s/victim", f->export_dir);
	snprintf(p->aside, sizeof(p->aside), "%s/aside", f->export_dir);
	snprintf(p->link, sizeof(p->link), "%s/link", f->export_dir);
}

/* victim is now a folder of the export, now a link to the outside one. */
static void swap_links(const struct paths *p)
{
	for (;;) {
		rename(p->name, p->aside);
		rename(p->link, p->name);
		rename(p->name, p->link);
		rename(p->aside, p->name);
	}
}

/* victim is now inside the export, now outside of it. */
static void move_out(const struct paths *p)
{
	char out[256];

	snprintf(out, sizeof(out), "%s/victim", p->outside);
	for (;;) {
		rename(p->name, out);
		rename(out, p->name);
	}
}

static pid_t start(void (*fn)(const struct paths *p), const struct paths *p)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		fn(p);
	}
	return pid;
}

static void stop(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static unsigned entries(const char *dir)
{
	char command[256];
	unsigned n = 0;
	FILE *p;

	snprintf(command, sizeof(command), "ls -A '%s' | grep -vx -e victim -e secret | wc -l",
		 dir);
	p = popen(command, "r");
	cr_assert(p && fscanf(p, "%u", &n) == 1);
	pclose(p);
	return n;
}

Test(server_race, a_link_put_in_a_folders_place_leads_nowhere)
{
	static const unsigned flags[] = {0, FIXTURE_WALK};

	for (size_t i = 0; i < 2; i++) {
		struct fixture *f = fixture_open(flags[i], NULL);
		struct wire_attr attr;
		struct wire_fh fh, made;
		struct paths p;
		struct stat outside;
		unsigned found = 0;
		uint64_t deadline_ns;
		pid_t pid;

		paths_init(f, &p);
		cr_assert(mkdir(p.outside, 0777) == 0 && mkdir(p.name, 0777) == 0);
		cr_assert(symlink(p.outside, p.link) == 0 && stat(p.outside, &outside) == 0);
		pid = start(swap_links, &p);
		deadline_ns = util_clock_ns() + 20 * UTIL_NS_PER_S;
		for (int round = 0; round < ROUNDS || (!found && util_clock_ns() < deadline_ns);
		     round++) {
			if (fixture_lookup(f, &f->root, "victim", &fh))
				continue;
			if (!fixture_getattr(f, &fh, &attr)) {
				cr_assert_neq(attr.fileid, outside.st_ino);
				found += attr.type == NF3LNK;
			}
			if (!fixture_create(f, &fh, "evil", 0666, &made))
				fixture_name_call(f, WIRE_NFS3_REMOVE, &fh, "evil");
		}
		stop(pid);
		cr_expect_eq(entries(p.outside), 0);
		cr_expect_gt(found, 0, "the race was never run");
		fixture_close(f, false);
	}
}

/* A folder above is renamed to and fro, inside the export. */
static void rename_inside(const struct paths *p)
{
	for (;;) {
		rename(p->name, p->aside);
		rename(p->aside, p->name);
	}
}

Test(server_race, renaming_folders_inside_makes_no_handle_stale)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_fh dir, file;
	struct paths p;
	unsigned stale = 0;
	pid_t pid;

	paths_init(f, &p);
	cr_assert_eq(fixture_mkdir(f, &f->root, "victim", 0777, &dir), NFS3_OK);
	cr_assert_eq(fixture_create(f, &dir, "file", 0666, &file), NFS3_OK);
	server_as_self(f->w);
	f->srv->proof_ns = 0; /* prove each time */
	pid = start(rename_inside, &p);
	for (int round = 0; round < ROUNDS; round++) {
		stale += fixture_getattr(f, &file, NULL) != NFS3_OK;
		stale += fixture_getattr(f, &dir, NULL) != NFS3_OK;
	}
	stop(pid);
	cr_expect_eq(stale, 0, "%u of %u were stale", stale, 2 * ROUNDS);
	fixture_close(f, false);
}

Test(server_race, a_folder_moved_out_is_left_alone_soon)
{
	static const unsigned flags[] = {0, FIXTURE_WALK};

	for (size_t i = 0; i < 2; i++) {
		struct fixture *f = fixture_open(flags[i], NULL);
		struct wire_fh fh, secret, up;
		struct wire_attr attr;
		struct stat outside;
		struct paths p;
		char file[256];
		unsigned ok = 0;
		uint64_t deadline_ns;
		pid_t pid;

		paths_init(f, &p);
		cr_assert(mkdir(p.outside, 0777) == 0 && stat(p.outside, &outside) == 0);
		snprintf(file, sizeof(file), "%s/secret", p.outside);
		cr_assert(close(open(file, O_CREAT | O_WRONLY, 0666)) == 0);
		cr_assert_eq(fixture_mkdir(f, &f->root, "victim", 0777, &fh), NFS3_OK);
		server_as_self(f->w);
		pid = start(move_out, &p);
		deadline_ns = util_clock_ns() + 20 * UTIL_NS_PER_S;
		for (int round = 0; round < ROUNDS || (!ok && util_clock_ns() < deadline_ns);
		     round++) {
			/* ".." of a folder that may be outside must never be what is outside */
			if (fixture_lookup(f, &fh, "..", &up))
				continue;
			ok++;
			if (!fixture_getattr(f, &up, &attr))
				cr_assert_neq(attr.fileid, outside.st_ino);
			cr_assert_neq(fixture_lookup(f, &up, "secret", &secret), NFS3_OK);
		}
		stop(pid);
		cr_expect_gt(ok, 0);
		fixture_close(f, false);
	}
}

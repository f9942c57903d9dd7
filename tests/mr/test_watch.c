/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mr/watch.h"
#include "tests/mr/fake.h"

static char folder[64];

static void folder_make(void)
{
	snprintf(folder, sizeof(folder), "/tmp/nfsrdma-watch.XXXXXX");
	cr_assert(mkdtemp(folder));
}

static void folder_remove(void)
{
	DIR *list = opendir(folder);
	struct dirent *entry;

	while (list && (entry = readdir(list)))
		unlinkat(dirfd(list), entry->d_name, 0);
	closedir(list);
	rmdir(folder);
}

TestSuite(mr_watch, .init = folder_make, .fini = folder_remove);

struct seen {
	unsigned count;
	struct mr_watch_info info;
	struct mr_ledger_snapshot snap;
};

static void see(void *arg, const struct mr_watch_info *info, const struct mr_ledger_snapshot *snap)
{
	struct seen *seen = arg;

	seen->count++;
	seen->info = *info;
	seen->snap = *snap;
}

static struct seen look(int pid)
{
	struct seen seen = {0};
	struct util_err err = {0};
	int n = mr_watch_each(folder, pid, see, &seen, &err);

	cr_assert_eq(n, (int)seen.count, "%d: %s", n, err.what);
	return seen;
}

/* The file says what the ledger says, field by field. */
static void check_alike(struct mr_ledger *ledger)
{
	struct seen seen = look(getpid());
	struct mr_ledger_snapshot snap;
	const char *name;
	uint64_t here, there;

	mr_ledger_read(ledger, &snap);
	cr_assert_eq(seen.count, 1);
	cr_assert(seen.info.alive);
	cr_assert_eq(seen.info.pid, getpid());
	for (unsigned i = 0; (name = mr_ledger_field(&snap, i, &here)); i++) {
		mr_ledger_field(&seen.snap, i, &there);
		cr_assert_eq(here, there, "%s: %lu here, %lu in the file", name,
			     (unsigned long)here, (unsigned long)there);
	}
}

static void *take_and_give(void *arg)
{
	struct mr_lease *lease;

	for (unsigned i = 0; i < 100; i++) {
		cr_assert_eq(mr_lease_take(arg, MR_KIND_READ, 4096, &lease, NULL), 0);
		mr_lease_give(lease);
	}
	return NULL;
}

Test(mr_watch, the_file_says_what_the_ledger_says_at_every_step)
{
	struct fake_provider fake;
	struct mr_ledger ledger;
	struct mr_pool_params params = {.ledger_parent = &ledger};
	struct mr_lease *lease[3];
	struct mr_pool *pool[2];
	pthread_t thread;

	fake_provider_init(&fake);
	mr_ledger_init(&ledger, NULL);
	cr_assert_eq(mr_watch_open(&ledger, folder, NULL), 0);
	check_alike(&ledger);
	pool[0] = fake_pool(&fake.p, &params);
	params.mode = MR_MODE_PER_IO;
	pool[1] = fake_pool(&fake.p, &params);
	check_alike(&ledger);
	for (unsigned i = 0; i < 3; i++) {
		mr_lease_take(pool[0], MR_KIND_READ, 4096u << 4 * i, &lease[i], NULL);
		check_alike(&ledger);
	}
	cr_assert_eq(look(0).snap.leases_now, 3);
	pthread_create(&thread, NULL, take_and_give, pool[0]);
	pthread_join(thread, NULL);
	check_alike(&ledger);
	pthread_create(&thread, NULL, take_and_give, pool[1]);
	pthread_join(thread, NULL);
	check_alike(&ledger);
	for (unsigned i = 0; i < 3; i++)
		mr_lease_give(lease[i]);
	mr_pool_destroy(pool[0]);
	check_alike(&ledger);
	mr_pool_destroy(pool[1]);
	check_alike(&ledger);
	cr_assert_eq(look(0).snap.leases_taken, 203);
	mr_watch_close(&ledger);
	cr_assert_eq(look(0).count, 0);
}

Test(mr_watch, leases_beyond_the_lanes_are_in_the_ledger_all_the_same)
{
	struct fake_provider fake;
	struct mr_ledger ledger;
	struct mr_pool_params params = {.ledger_parent = &ledger};
	struct mr_pool *pools[MR_WATCH_LANES];
	struct mr_ledger_snapshot snap;

	fake_provider_init(&fake);
	mr_ledger_init(&ledger, NULL);
	cr_assert_eq(mr_watch_open(&ledger, folder, NULL), 0);
	for (unsigned i = 0; i < MR_WATCH_LANES; i++)
		pools[i] = fake_pool(&fake.p, &params);
	take_and_give(pools[MR_WATCH_LANES - 1]);
	mr_ledger_read(&ledger, &snap);
	cr_assert_eq(snap.leases_taken, 100);
	cr_assert_eq(look(0).snap.leases_taken, 0);
	for (unsigned i = 0; i < MR_WATCH_LANES; i++)
		mr_pool_destroy(pools[i]);
	check_alike(&ledger);
	mr_watch_close(&ledger);
	mr_ledger_read(&ledger, &snap);
	cr_assert_eq(snap.leases_taken, 100, "the counters outlive the file");
}

Test(mr_watch, the_file_is_the_users_alone)
{
	struct mr_ledger ledger;
	char path[128];
	struct stat st;

	mr_ledger_init(&ledger, NULL);
	umask(0);
	snprintf(path, sizeof(path), "%s/new", folder);
	cr_assert_eq(mr_watch_open(&ledger, path, NULL), 0, "the folder is made");
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/new/%d.0", folder, getpid());
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	mr_watch_close(&ledger);
	cr_assert_eq(stat(path, &st), -1);
	snprintf(path, sizeof(path), "%s/new", folder);
	rmdir(path);
}

Test(mr_watch, a_folder_open_to_others_is_refused_with_the_remedy)
{
	struct mr_ledger ledger;
	struct util_err err = {0};

	mr_ledger_init(&ledger, NULL);
	chmod(folder, 0770);
	cr_assert_eq(mr_watch_open(&ledger, folder, &err), -EPERM);
	cr_assert(strstr(err.hint, "chmod 700"));
	cr_assert_eq(mr_watch_open(&ledger, "/nowhere/at/all", &err), -ENOENT);
	mr_watch_close(&ledger);
}

Test(mr_watch, each_ledger_of_a_process_has_its_file)
{
	struct mr_ledger ledger[3];

	for (unsigned i = 0; i < 3; i++) {
		mr_ledger_init(&ledger[i], NULL);
		cr_assert_eq(mr_watch_open(&ledger[i], folder, NULL), 0);
	}
	cr_assert_eq(look(getpid()).count, 3);
	cr_assert_eq(look(getpid() + 1).count, 0);
	for (unsigned i = 0; i < 3; i++)
		mr_watch_close(&ledger[i]);
}

Test(mr_watch, what_a_killed_process_left_can_be_read_until_the_next_one_sweeps_it_up)
{
	struct mr_ledger ledger;
	pid_t child = fork();
	int status;

	if (!child) {
		mr_ledger_init(&ledger, NULL);
		if (!mr_watch_open(&ledger, folder, NULL)) {
			MR_LEDGER_ADD(&ledger, bounces, 7);
			raise(SIGKILL);
		}
		_exit(1);
	}
	waitpid(child, &status, 0);
	cr_assert(WIFSIGNALED(status));
	cr_assert_eq(look(child).count, 1);
	cr_assert_not(look(child).info.alive);
	cr_assert_eq(look(child).snap.bounces, 7);
	mr_ledger_init(&ledger, NULL);
	cr_assert_eq(mr_watch_open(&ledger, folder, NULL), 0);
	cr_assert_eq(look(child).count, 0);
	cr_assert_eq(look(0).count, 1);
	mr_watch_close(&ledger);
}

/* ---- files that are not what they should be --------------------------------------------- */

static void put(const char *name, const void *data, size_t len)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	cr_assert_eq(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* A sound file of this process. */
static struct mr_watch_file *sample(void)
{
	static struct mr_watch_file file;
	struct mr_ledger ledger;

	mr_ledger_init(&ledger, NULL);
	cr_assert_eq(mr_watch_open(&ledger, folder, NULL), 0);
	MR_LEDGER_ADD(&ledger, bounces, 5);
	MR_LEDGER_ADD(&ledger, registrations, 6);
	memcpy(&file, ledger.watch->file, sizeof(file));
	mr_watch_close(&ledger);
	return &file;
}

Test(mr_watch, wild_numbers_in_a_file_are_no_way_out_of_it)
{
	static const size_t at[] = {
		offsetof(struct mr_watch_head, size),	   offsetof(struct mr_watch_head, fields),
		offsetof(struct mr_watch_head, name_size), offsetof(struct mr_watch_head, names_at),
		offsetof(struct mr_watch_head, values_at), offsetof(struct mr_watch_head, lanes),
		offsetof(struct mr_watch_head, lanes_at),
	};
	static const uint32_t wild[] = {UINT32_MAX, UINT32_MAX - 7, 1u << 31, 100000, 20000, 0, 1};
	struct mr_watch_file *good = sample(), bad;

	put("1.0", good, sizeof(*good));
	cr_assert_eq(look(0).count, 1);
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(at); i++) {
		for (unsigned j = 0; j < UTIL_ARRAY_SIZE(wild); j++) {
			bad = *good;
			memcpy((char *)&bad + at[i], &wild[j], sizeof(wild[j]));
			put("1.0", &bad, sizeof(bad));
			look(0); /* the sanitizers watch */
		}
	}
	bad = *good;
	bad.head.fields = UINT32_MAX / 8;
	put("1.0", &bad, sizeof(bad));
	cr_assert_eq(look(0).count, 0);
	bad = *good;
	bad.head.sequence = 1;
	put("1.0", &bad, sizeof(bad));
	cr_assert_eq(look(0).count, 0, "its pool never ends");
}

Test(mr_watch, short_files_and_other_files_are_passed_over)
{
	struct mr_watch_file *good = sample();
	char path[128];

	for (size_t len = 0; len < sizeof(*good); len += 999) {
		put("1.0", good, len);
		cr_assert_eq(look(0).count, 0, "%zu bytes", len);
	}
	put("1.0", good, sizeof(*good));
	put("readme", good, sizeof(*good));
	put("x.0", good, sizeof(*good));
	snprintf(path, sizeof(path), "%s/3.0", folder);
	cr_assert_eq(symlink("1.0", path), 0);
	cr_assert_eq(look(0).count, 1);
}

Test(mr_watch, fields_go_by_their_names)
{
	struct mr_watch_file *file = sample();
	struct seen seen;

	for (unsigned i = 0; i < MR_WATCH_FIELDS; i++)
		if (!strcmp(file->names[i], "bounces"))
			strcpy(file->names[i], "leaps");
	put("1.0", file, sizeof(*file));
	seen = look(0);
	cr_assert_eq(seen.count, 1);
	cr_assert_eq(seen.snap.bounces, 0);
	cr_assert_eq(seen.snap.registrations, 6);
}

Test(mr_watch, no_folder_is_nobody_to_watch)
{
	struct seen seen = {0};

	cr_assert_eq(mr_watch_each("/nowhere/at/all", 0, see, &seen, NULL), 0);
}

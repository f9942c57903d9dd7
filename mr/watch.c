/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.c - a ledger that others can look at while it is kept: the owner's side of watch.h.
 *
 * Normal operation.  Opening makes the file, gives it its whole size in advance (a full file system
 * is an error now and not a signal later), maps it, and moves the ledger's counters there.  From
 * then on whatever changes the ledger changes the file: no copying, no thread, no system call.
 * Closing moves the counters back and removes the file.
 *
 * A process that cannot have such a file does without: nothing depends on it.
 *
 * The folder is the user's own or none at all.  What others could write to, /tmp say, is no place
 * for a file that is mapped writable.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mr/watch.h"

#define SERIALS 1000 /* ledgers of one process */

/* ---- the folder --------------------------------------------------------------------------- */

int mr_watch_dir(char *buf, size_t len, struct util_err *err)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int n;

	if (runtime && runtime[0] == '/')
		n = snprintf(buf, len, "%s/nfsrdma", runtime);
	else
		n = snprintf(buf, len, "/run/user/%u/nfsrdma", (unsigned)geteuid());
	if (n > 0 && (size_t)n < len)
		return 0;
	return util_err_set(err, -ENAMETOOLONG, "XDG_RUNTIME_DIR is too long");
}

/* The folder, ours and closed to others; made where its parent is there.  A descriptor. */
static int folder_open(const char *path, struct util_err *err)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST)
		goto err_errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		goto err_errno;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	close(fd);
	util_err_set(err, -EPERM, "%s belongs to somebody else or is open to others", path);
	util_err_hint(err, "chmod 700 it, or set XDG_RUNTIME_DIR to a folder of yours");
	return -EPERM;

err_errno:
	fd = -errno;
	util_err_set(err, fd, "%s: %s", path, strerror(-fd));
	util_err_hint(err, "XDG_RUNTIME_DIR names the folder for such files");
	return fd;
}

/* "PID.N" */
static bool is_watch_name(const char *name)
{
	size_t pid = strspn(name, "0123456789");

	return pid && name[pid] == '.' && name[pid + 1] &&
	       !name[pid + 1 + strspn(name + pid + 1, "0123456789")];
}

/* Remove what killed processes left. */
static void sweep(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!list) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((entry = readdir(list))) {
		int fd;

		if (!is_watch_name(entry->d_name))
			continue;
		fd = openat(dir, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!flock(fd, LOCK_EX | LOCK_NB))
			unlinkat(dir, entry->d_name, 0);
		close(fd);
	}
	closedir(list);
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Locked, and still there: a sweep between its creation and the lock would have removed it. */
static bool lock_it(int fd)
{
	struct stat st;

	return !flock(fd, LOCK_EX) && !fstat(fd, &st) && st.st_nlink > 0;
}

/* The first name that is free. */
static int file_create(struct mr_watch *watch, struct util_err *err)
{
	int code = -EEXIST;

	for (unsigned i = 0; code == -EEXIST && i < SERIALS; i++) {
		snprintf(watch->name, sizeof(watch->name), "%d.%u", (int)getpid(), i);
		watch->fd = openat(watch->dir, watch->name,
				   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (watch->fd < 0) {
			code = -errno;
			continue;
		}
		if (lock_it(watch->fd))
			return 0;
		close(watch->fd);
	}
	return util_err_set(err, code, "create %s: %s", watch->name, strerror(-code));
}

static int file_map(struct mr_watch *watch, struct util_err *err)
{
	int code = -posix_fallocate(watch->fd, 0, sizeof(*watch->file));
	void *map = MAP_FAILED;

	if (!code) {
		map = mmap(NULL, sizeof(*watch->file), PROT_READ | PROT_WRITE, MAP_SHARED,
			   watch->fd, 0);
		code = map == MAP_FAILED ? -errno : 0;
	}
	if (code)
		return util_err_set(err, code, "map %s: %s", watch->name, strerror(-code));
	watch->file = map;
	return 0;
}

static void program_name(char *name, size_t size)
{
	FILE *comm = fopen("/proc/self/comm", "re");

	if (!comm)
		return;
	if (fgets(name, (int)size, comm))
		name[strcspn(name, "\n")] = '\0';
	fclose(comm);
}

static void head_fill(struct mr_watch_file *file)
{
	static const char names[][MR_WATCH_NAME_SIZE] = {
#define MR_WATCH_NAME(name) #name,
		MR_LEDGER_FIELDS(MR_WATCH_NAME)
#undef MR_WATCH_NAME
	};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	memcpy(file->names, names, sizeof(names));
	file->head.size = sizeof(*file);
	file->head.pid = (uint32_t)getpid();
	file->head.fields = MR_WATCH_FIELDS;
	file->head.name_size = MR_WATCH_NAME_SIZE;
	file->head.names_at = offsetof(struct mr_watch_file, names);
	file->head.values_at = offsetof(struct mr_watch_file, counters);
	file->head.lanes = MR_WATCH_LANES;
	file->head.lanes_at = offsetof(struct mr_watch_file, lanes);
	file->head.started_ns = (uint64_t)now.tv_sec * UTIL_NS_PER_S + (uint64_t)now.tv_nsec;
	program_name(file->head.name, sizeof(file->head.name));
	/* ORDER: who sees the magic sees the rest. */
	atomic_thread_fence(memory_order_release);
	memcpy(file->head.magic, MR_WATCH_MAGIC, sizeof(file->head.magic));
}

/* ---- open and close ----------------------------------------------------------------------- */

int mr_watch_open(struct mr_ledger *ledger, const char *dir, struct util_err *err)
{
	struct mr_watch *watch = calloc(1, sizeof(*watch));
	char path[512];
	int ret = 0;

	assert(!ledger->parent && !ledger->watch && util_list_empty(&ledger->sources));
	if (!watch)
		return util_err_set(err, -ENOMEM, "no memory to watch a ledger");
	if (!dir)
		ret = mr_watch_dir(path, sizeof(path), err);
	if (ret)
		goto err_free;
	ret = watch->dir = folder_open(dir ? dir : path, err);
	if (ret < 0)
		goto err_free;
	sweep(watch->dir);
	ret = file_create(watch, err);
	if (ret)
		goto err_dir;
	ret = file_map(watch, err);
	if (ret)
		goto err_file;
	watch->file->counters = ledger->own;
	ledger->now = &watch->file->counters;
	ledger->watch = watch;
	head_fill(watch->file);
	return 0;

err_file:
	unlinkat(watch->dir, watch->name, 0);
	close(watch->fd);
err_dir:
	close(watch->dir);
err_free:
	free(watch);
	return ret;
}

void mr_watch_close(struct mr_ledger *ledger)
{
	struct mr_watch *watch = ledger->watch;

	if (!watch)
		return;
	assert(util_list_empty(&ledger->sources));
	ledger->own = watch->file->counters;
	ledger->now = &ledger->own;
	ledger->watch = NULL;
	/* A child that forked off while the ledger was kept leaves the file to its parent. */
	if (watch->file->head.pid == (uint32_t)getpid())
		unlinkat(watch->dir, watch->name, 0);
	munmap(watch->file, sizeof(*watch->file));
	close(watch->fd);
	close(watch->dir);
	free(watch);
}

/* ---- lanes -------------------------------------------------------------------------------- */

struct mr_lane *mr_lane_take(struct mr_ledger *ledger, struct mr_lane *own, bool reuses)
{
	struct mr_lane *lane = own;

	while (ledger->parent)
		ledger = ledger->parent;
	for (unsigned i = 0; ledger->watch && i < MR_WATCH_LANES && lane == own; i++) {
		struct mr_lane *free_one = &ledger->watch->file->lanes[i];
		uint64_t unused = 0;

		if (atomic_compare_exchange_strong(&free_one->flags, &unused, MR_LANE_USED))
			lane = free_one;
	}
	atomic_store(&lane->flags, MR_LANE_USED | (reuses ? MR_LANE_REUSES : 0));
	return lane;
}

void mr_lane_give(struct mr_lane *lane)
{
	atomic_store(&lane->taken, 0);
	atomic_store(&lane->given, 0);
	atomic_store(&lane->fresh, 0);
	atomic_store(&lane->flags, 0);
}

void mr_watch_move(struct mr_ledger *ledger)
{
	if (ledger->watch)
		atomic_fetch_add(&ledger->watch->file->head.sequence, 1);
}

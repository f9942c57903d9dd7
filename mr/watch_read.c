/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch_read.c - look at other processes' ledgers: the reader's side of watch.h.
 *
 * The file belongs to a process that goes on writing, or has been killed, or is of another version
 * of the library.  So it is copied with read(2), which cannot fault, every offset in it is held
 * against the copy's length, and counters are found by their names: a field we do not know is
 * passed over, one it does not know is 0.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mr/watch.h"

#define SIZE_MAX_READ (1u << 20)
#define TRIES 100 /* a pool's end takes microseconds */

/* n items of size from at on lie within the file. */
static bool within(const struct mr_watch_head *head, uint32_t at, uint32_t n, size_t size)
{
	return at <= head->size && n <= (head->size - at) / size && at % sizeof(uint64_t) == 0;
}

static bool sound(const struct mr_watch_head *head, size_t len)
{
	return len >= sizeof(*head) && !memcmp(head->magic, MR_WATCH_MAGIC, sizeof(head->magic)) &&
	       head->size <= len && head->name_size > 0 && head->name_size <= 256 &&
	       within(head, head->names_at, head->fields, head->name_size) &&
	       within(head, head->values_at, head->fields, sizeof(uint64_t)) &&
	       within(head, head->lanes_at, head->lanes, sizeof(struct mr_lane));
}

/* A copy of the whole file no pool's end fell into.  The caller frees it. */
static int copy_file(int fd, void **copyp, size_t *lenp)
{
	const off_t at = offsetof(struct mr_watch_head, sequence);
	struct stat st;
	char *copy;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct mr_watch_head) ||
	    st.st_size > (off_t)SIZE_MAX_READ)
		return -EINVAL;
	copy = malloc((size_t)st.st_size);
	if (!copy)
		return -ENOMEM;
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t before = 1, after = 0;

		if (pread(fd, &before, sizeof(before), at) != (ssize_t)sizeof(before) ||
		    pread(fd, copy, (size_t)st.st_size, 0) != st.st_size ||
		    pread(fd, &after, sizeof(after), at) != (ssize_t)sizeof(after))
			break;
		if (before != after || before % 2)
			continue;
		*copyp = copy;
		*lenp = (size_t)st.st_size;
		return 0;
	}
	free(copy);
	return -EAGAIN;
}

static void add_lanes(const struct mr_lane *lane, uint32_t n, struct mr_ledger_snapshot *snap)
{
	uint64_t taken = 0, given = 0, reuses = 0;

	for (; n; n--, lane++) {
		if (!(lane->flags & MR_LANE_USED))
			continue;
		taken += lane->taken;
		given += lane->given;
		if (lane->flags & MR_LANE_REUSES)
			reuses += lane->taken - lane->fresh;
	}
	snap->leases_taken += taken;
	snap->leases_given += given;
	snap->leases_now += taken > given ? taken - given : 0;
	snap->iova_reuses += reuses <= taken ? reuses : 0;
}

static void decode(const char *copy, struct mr_watch_info *info, struct mr_ledger_snapshot *snap)
{
	const struct mr_watch_head *head = (const void *)copy;
	char name[257];

	memset(snap, 0, sizeof(*snap));
	for (uint32_t i = 0; i < head->fields; i++) {
		uint64_t *value;

		memcpy(name, copy + head->names_at + (size_t)i * head->name_size, head->name_size);
		name[head->name_size] = '\0';
		value = mr_ledger_find(snap, name);
		if (value)
			memcpy(value, copy + head->values_at + i * sizeof(*value), sizeof(*value));
	}
	add_lanes((const void *)(copy + head->lanes_at), head->lanes, snap);
	info->pid = (int)head->pid;
	info->started_ns = head->started_ns;
	snprintf(info->name, sizeof(info->name), "%.*s", (int)sizeof(head->name), head->name);
}

static int read_at(int dir, const char *name, struct mr_watch_info *info,
		   struct mr_ledger_snapshot *snap)
{
	void *copy = NULL;
	size_t len = 0;
	int fd, ret;

	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = copy_file(fd, &copy, &len);
	if (!ret && !sound(copy, len))
		ret = -EINVAL;
	if (!ret) {
		decode(copy, info, snap);
		info->alive = flock(fd, LOCK_SH | LOCK_NB) != 0;
	}
	free(copy);
	close(fd);
	return ret;
}

/* Is name "PID.N" of the pid that is asked for? */
static bool wanted(const char *name, int pid)
{
	char *end;
	long its = strtol(name, &end, 10);

	return name[0] >= '0' && name[0] <= '9' && *end == '.' && (!pid || its == pid);
}

static int open_folder(const char *dir, struct util_err *err)
{
	char path[512];
	int fd, ret = 0;

	if (!dir)
		ret = mr_watch_dir(path, sizeof(path), err);
	if (ret)
		return ret;
	fd = open(dir ? dir : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	ret = -errno;
	util_err_set(err, ret, "%s: %s", dir ? dir : path, strerror(errno));
	util_err_hint(err, "processes that use the library keep their ledger there, if "
			   "XDG_RUNTIME_DIR is set alike for them");
	return ret;
}

int mr_watch_each(const char *dir, int pid, mr_watch_fn *fn, void *arg, struct util_err *err)
{
	int fd = open_folder(dir, err), count = 0;
	struct mr_ledger_snapshot snap;
	struct mr_watch_info info;
	struct dirent *entry;
	DIR *list;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	list = fdopendir(fd);
	if (!list) {
		close(fd);
		return util_err_set(err, -ENOMEM, "no memory to read a folder");
	}
	while ((entry = readdir(list))) {
		if (!wanted(entry->d_name, pid) || read_at(fd, entry->d_name, &info, &snap))
			continue;
		count++;
		fn(arg, &info, &snap);
	}
	closedir(list);
	return count;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.c - the kernel's IOMMU maps and unmaps, counted by the kernel itself.
 *
 * The events iommu:map and iommu:unmap fire once per range that a driver maps or unmaps.  A
 * histogram trigger counts them where they happen, so nothing is copied out and none is lost.  It
 * sits in a tracing instance of our own, which does not disturb what others trace and is removed at
 * the end. The counts are the machine's: maps happen in interrupts and kernel threads, so no
 * process can be told from another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iommu-aware/internal.h"

static const char iommu_trace_trigger[] = "hist:keys=size";

struct iommu_trace {
	char dir[IOMMU_PATH_MAX];
};

static int iommu_trace_event(const struct iommu_trace *t, const char *event)
{
	char path[IOMMU_PATH_MAX + 64];
	ssize_t n;
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/events/iommu/%s/trigger", t->dir, event);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, iommu_trace_trigger, sizeof(iommu_trace_trigger) - 1);
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Where tracefs is mounted, "" nowhere. */
static const char *iommu_trace_mount(const char *root)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[IOMMU_PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%.200s%s/instances", root ? root : "", places[i]);
		if (!stat(path, &st) || errno == EACCES)
			return places[i];
	}
	return "";
}

static int iommu_trace_not_mounted(const char *root, struct util_err *err)
{
	char known[4096];

	if (iommu_read_bytes(known, sizeof(known), root, "/proc/filesystems") > 0 &&
	    !strstr(known, "tracefs")) {
		util_err_set(err, -ENOENT, "this kernel has no tracefs");
		util_err_hint(err, "it was built without CONFIG_TRACING");
	} else {
		util_err_set(err, -ENOENT, "tracefs is not mounted");
		util_err_hint(err, "mount -t tracefs nodev /sys/kernel/tracing (as root)");
	}
	return -ENOENT;
}

static int iommu_trace_refused(int code, struct util_err *err)
{
	util_err_set(err, code, "trace maps and unmaps: %s", strerror(-code));
	if (code == -EACCES)
		util_err_hint(err, "tracing is root's");
	else if (code == -EPERM)
		util_err_hint(err, "the kernel is locked down, or this is a container");
	else if (code == -EROFS)
		util_err_hint(err, "a container's tracefs is read-only: run it outside");
	return code;
}

/* Does the kernel have the events, and a way to count them?  Looked at before anything is made. */
static int iommu_trace_able(const char *tracing, struct util_err *err)
{
	char path[IOMMU_PATH_MAX + 64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/events/iommu/map", tracing);
	if (stat(path, &st)) {
		if (errno != ENOENT)
			return iommu_trace_refused(-errno, err);
		util_err_set(err, -ENOENT, "this kernel has no trace events of IOMMU maps");
		util_err_hint(err, "it was built without IOMMU drivers (CONFIG_IOMMU_API)");
		return -ENOENT;
	}
	snprintf(path, sizeof(path), "%s/events/iommu/map/hist", tracing);
	if (stat(path, &st)) {
		if (errno != ENOENT)
			return iommu_trace_refused(-errno, err);
		util_err_set(err, -ENOENT, "this kernel cannot count its trace events");
		util_err_hint(err, "it was built without CONFIG_HIST_TRIGGERS");
		return -ENOENT;
	}
	return 0;
}

/* The instance.  One of our name is left over from a process that was killed and had our number. */
static int iommu_trace_make(const char *dir)
{
	if (!mkdir(dir, 0700))
		return 0;
	if (errno == EEXIST && !rmdir(dir) && !mkdir(dir, 0700))
		return 0;
	return -errno;
}

int iommu_trace_open(struct iommu_trace **tracep, const char *root, struct util_err *err)
{
	const char *mount = iommu_trace_mount(root);
	char tracing[IOMMU_PATH_MAX / 2];
	struct iommu_trace *t;
	int ret;

	if (!mount[0])
		return iommu_trace_not_mounted(root, err);
	snprintf(tracing, sizeof(tracing), "%.200s%s", root ? root : "", mount);
	ret = iommu_trace_able(tracing, err);
	if (ret)
		return ret;
	t = calloc(1, sizeof(*t));
	if (!t)
		return util_err_set(err, -ENOMEM, "out of memory");
	snprintf(t->dir, sizeof(t->dir), "%s/instances/nfsrdma-iommu-%d", tracing, (int)getpid());
	ret = iommu_trace_make(t->dir);
	if (ret) {
		free(t);
		return iommu_trace_refused(ret, err);
	}
	ret = iommu_trace_event(t, "map");
	if (!ret)
		ret = iommu_trace_event(t, "unmap");
	if (ret) {
		util_err_set(err, ret, "count iommu:map and iommu:unmap: %s", strerror(-ret));
		util_err_hint(err, "the kernel refuses the trigger \"%s\"", iommu_trace_trigger);
		iommu_trace_close(t);
		return ret;
	}
	*tracep = t;
	return 0;
}

void iommu_trace_close(struct iommu_trace *t)
{
	if (!t)
		return;
	/* Its triggers go with it. */
	rmdir(t->dir);
	free(t);
}

/*
 * The last lines of hist: "Totals:", "    Hits: 123", "    Entries: 4", "    Dropped: 0".  One
 * bucket per size: the file is short, but it is read to its end however long it is.
 */
static uint64_t iommu_trace_hits(const struct iommu_trace *t, const char *event)
{
	char path[IOMMU_PATH_MAX + 64], line[256];
	uint64_t hits = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/events/iommu/%s/hist", t->dir, event);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		iommu_text_number(line + strspn(line, " "), "Hits:", 10, &hits);
	if (f)
		fclose(f);
	return hits;
}

void iommu_trace_read(const struct iommu_trace *t, struct iommu_trace_counts *counts)
{
	counts->maps = iommu_trace_hits(t, "map");
	counts->unmaps = iommu_trace_hits(t, "unmap");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client_posix.c - plain system calls on a local folder: what the machine does without NFS, or
 * with a kernel mount.
 *
 * The calls are synchronous: submit() queues a record and wait() carries it out, so completions
 * never come from inside submit().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/child.h"

struct bench_site {
	const struct bench_options *opts;
	int dir;
};

struct posix_queued {
	struct bench_slot *slot;
	uint64_t off;
	unsigned index;
	bool write;
};

struct bench_io {
	struct bench_site *site;
	int fd;
	char *memory;		    /* depth records */
	struct posix_queued *queue; /* ring of depth */
	unsigned head, queued;
};

static size_t posix_bytes(const struct bench_io *io)
{
	return (size_t)io->site->opts->record * io->site->opts->depth;
}

static int posix_failed(struct util_err *err, const char *what, const char *name)
{
	int code = -errno;

	return util_err_set(err, code, "%s %s: %s", what, name, strerror(-code));
}

static int posix_site_open(struct bench_site **sitep, const struct bench_options *opts,
			   const struct bench_place *place, struct util_err *err)
{
	struct bench_site *site = calloc(1, sizeof(*site));

	if (!site)
		return util_err_set(err, -ENOMEM, "no memory");
	site->opts = opts;
	site->dir = open(place->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (site->dir < 0) {
		free(site);
		return posix_failed(err, "open", place->target);
	}
	*sitep = site;
	return 0;
}

static void posix_site_close(struct bench_site *site)
{
	close(site->dir);
	free(site);
}

static int posix_io_open(struct bench_io **iop, struct bench_site *site, struct util_err *err)
{
	struct bench_io *io = calloc(1, sizeof(*io));

	if (!io)
		return util_err_set(err, -ENOMEM, "no memory");
	io->site = site;
	io->fd = -1;
	io->queue = calloc(site->opts->depth, sizeof(*io->queue));
	io->memory = mmap(NULL, posix_bytes(io), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!io->queue || io->memory == MAP_FAILED) {
		free(io->queue);
		free(io);
		return util_err_set(err, -ENOMEM, "no memory for buffers");
	}
	*iop = io;
	return 0;
}

static void posix_io_close(struct bench_io *io)
{
	munmap(io->memory, posix_bytes(io));
	free(io->queue);
	free(io);
}

static int posix_buffers_get(struct bench_io *io, bool write, void **addr, struct util_err *err)
{
	(void)write;
	(void)err;
	for (unsigned i = 0; i < io->site->opts->depth; i++)
		addr[i] = io->memory + i * io->site->opts->record;
	return 0;
}

static void posix_buffers_put(struct bench_io *io)
{
	(void)io;
}

static int posix_file_open(struct bench_io *io, const char *name, enum bench_open how,
			   struct util_err *err)
{
	const struct bench_options *opts = io->site->opts;
	int flags = (how == BENCH_OPEN_READ ? O_RDONLY : O_RDWR) | O_CLOEXEC;

	if (how == BENCH_OPEN_CREATE)
		flags |= O_CREAT | O_TRUNC;
	if (opts->o_sync)
		flags |= O_SYNC;
	if (opts->direct)
		flags |= O_DIRECT;
	io->fd = openat(io->site->dir, name, flags, 0644);
	return io->fd < 0 ? posix_failed(err, "open", name) : 0;
}

static int posix_file_sync(struct bench_io *io, struct util_err *err)
{
	return fsync(io->fd) ? posix_failed(err, "fsync", "the file") : 0;
}

static int posix_file_close(struct bench_io *io, struct util_err *err)
{
	int ret = close(io->fd);

	io->fd = -1;
	return ret ? posix_failed(err, "close", "the file") : 0;
}

static int posix_file_remove(struct bench_io *io, const char *name, struct util_err *err)
{
	return unlinkat(io->site->dir, name, 0) ? posix_failed(err, "remove", name) : 0;
}

static int posix_submit(struct bench_io *io, struct bench_slot *slot, unsigned index, bool write,
			uint64_t off)
{
	unsigned depth = io->site->opts->depth;

	if (io->queued == depth)
		return -ENOBUFS;
	io->queue[(io->head + io->queued++) % depth] =
		(struct posix_queued){.slot = slot, .off = off, .index = index, .write = write};
	return 0;
}

static ssize_t posix_transfer(struct bench_io *io, const struct posix_queued *q)
{
	size_t len = io->site->opts->record, done = 0;
	char *buf = io->memory + q->index * len;

	while (done < len) {
		off_t off = (off_t)(q->off + done);
		ssize_t n = q->write ? pwrite(io->fd, buf + done, len - done, off)
				     : pread(io->fd, buf + done, len - done, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int posix_wait(struct bench_io *io, struct util_err *err)
{
	struct posix_queued q;

	(void)err;
	if (!io->queued)
		return 0;
	q = io->queue[io->head];
	io->head = (io->head + 1) % io->site->opts->depth;
	io->queued--;
	bench_slot_done(q.slot, posix_transfer(io, &q));
	return 0;
}

static bool posix_counters(struct bench_io *io, struct bench_counters *counters)
{
	(void)io;
	(void)counters;
	return false;
}

static bool posix_info(struct bench_io *io, struct nfsrdma_info *info)
{
	(void)io;
	(void)info;
	return false;
}

static const struct bench_client_ops posix_client_ops = {
	.name = "posix",
	.site_open = posix_site_open,
	.site_close = posix_site_close,
	.io_open = posix_io_open,
	.io_close = posix_io_close,
	.buffers_get = posix_buffers_get,
	.buffers_put = posix_buffers_put,
	.file_open = posix_file_open,
	.file_sync = posix_file_sync,
	.file_close = posix_file_close,
	.file_remove = posix_file_remove,
	.submit = posix_submit,
	.wait = posix_wait,
	.counters = posix_counters,
	.info = posix_info,
};

const struct bench_client_ops *bench_client_posix(void)
{
	return &posix_client_ops;
}

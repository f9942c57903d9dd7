/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client_posix.c - plain system calls on a local folder: what the machine does without NFS, or
 * with a kernel mount.
 *
 * One record at a time is moved by pread and pwrite, as iozone does; completions never come from
 * inside submit(), so a call is kept until wait() carries it out.  At a depth beyond one an
 * io_uring keeps the records outstanding, so that a kernel mount is measured at the same depth as
 * the library.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/child.h"

struct bench_site {
	const struct bench_options *opts;
	int dir;
};

struct bench_io {
	struct bench_site *site;
	int fd;
	struct bench_memory memory;
	/* depth 1 */
	struct bench_request kept;
	bool keeping;
	/* more */
	struct io_uring ring;
	bool ringed;
	unsigned outstanding;
};

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
	int ret = 0;

	if (!io)
		return util_err_set(err, -ENOMEM, "no memory");
	io->site = site;
	io->fd = -1;
	if (site->opts->depth > 1)
		ret = io_uring_queue_init(site->opts->depth, &io->ring, 0);
	if (ret) {
		free(io);
		util_err_set(err, ret, "io_uring for a depth beyond 1: %s", strerror(-ret));
		util_err_hint(err, "system calls alone have no depth: --depth 1");
		return ret;
	}
	io->ringed = site->opts->depth > 1;
	*iop = io;
	return 0;
}

static void posix_io_close(struct bench_io *io)
{
	if (io->ringed)
		io_uring_queue_exit(&io->ring);
	bench_memory_put(&io->memory);
	free(io);
}

static int posix_buffers_get(struct bench_io *io, unsigned count, size_t len, bool write,
			     void **addr, struct util_err *err)
{
	(void)write;
	return bench_memory_get(&io->memory, count, len, addr, err);
}

static void posix_buffers_put(struct bench_io *io)
{
	bench_memory_put(&io->memory);
}

static int posix_file_open(struct bench_io *io, const char *name, enum bench_open how,
			   struct util_err *err)
{
	const struct bench_options *opts = io->site->opts;
	int flags = (how == BENCH_OPEN_READ ? O_RDONLY : O_RDWR) | O_CLOEXEC;

	if (how == BENCH_OPEN_CREATE)
		flags |= O_CREAT | (opts->no_truncate ? 0 : O_TRUNC);
	if (opts->o_sync)
		flags |= O_SYNC;
	if (opts->o_dsync)
		flags |= O_DSYNC;
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

static int posix_submit(struct bench_io *io, const struct bench_request *rq)
{
	char *buf = bench_memory_at(&io->memory, rq->buffer);
	struct io_uring_sqe *sqe;

	if (!io->ringed) {
		io->kept = *rq;
		io->keeping = true;
		return 0;
	}
	sqe = io_uring_get_sqe(&io->ring);
	if (!sqe)
		return -ENOBUFS;
	if (rq->write)
		io_uring_prep_write(sqe, io->fd, buf, (unsigned)rq->len, rq->off);
	else
		io_uring_prep_read(sqe, io->fd, buf, (unsigned)rq->len, rq->off);
	io_uring_sqe_set_data(sqe, rq->slot);
	io->outstanding++;
	return 0;
}

static ssize_t posix_transfer(struct bench_io *io, const struct bench_request *rq)
{
	char *buf = bench_memory_at(&io->memory, rq->buffer);
	size_t done = 0;

	while (done < rq->len) {
		off_t off = (off_t)(rq->off + done);
		ssize_t n = rq->write ? pwrite(io->fd, buf + done, rq->len - done, off)
				      : pread(io->fd, buf + done, rq->len - done, off);

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

/* Submit what is waiting to be, then whatever has completed. */
static int posix_wait_ring(struct bench_io *io, int timeout_ms, struct util_err *err)
{
	int limit = timeout_ms < 0 || timeout_ms > BENCH_WAIT_MS ? BENCH_WAIT_MS : timeout_ms;
	struct __kernel_timespec ts = {.tv_sec = limit / 1000,
				       .tv_nsec = limit % 1000 * (long)UTIL_NS_PER_MS};
	struct io_uring_cqe *cqe = NULL;
	int ret = io_uring_submit_and_wait_timeout(&io->ring, &cqe, 1, &ts, NULL);

	if (ret < 0 && ret != -ETIME && ret != -EINTR)
		return util_err_set(err, ret, "io_uring: %s", strerror(-ret));
	while (io->outstanding && !io_uring_peek_cqe(&io->ring, &cqe)) {
		struct bench_slot *slot = io_uring_cqe_get_data(cqe);
		ssize_t n = cqe->res;

		io_uring_cqe_seen(&io->ring, cqe);
		io->outstanding--;
		bench_slot_done(slot, n);
	}
	return 0;
}

static int posix_wait(struct bench_io *io, int timeout_ms, struct util_err *err)
{
	if (io->ringed)
		return posix_wait_ring(io, timeout_ms, err);
	if (!io->keeping)
		return 0;
	io->keeping = false;
	bench_slot_done(io->kept.slot, posix_transfer(io, &io->kept));
	return 0;
}

static ssize_t posix_vector(struct bench_io *io, const struct bench_request *rq, unsigned pieces)
{
	char *buf = bench_memory_at(&io->memory, rq->buffer);
	size_t piece = rq->len / pieces;
	struct iovec iov[16];
	ssize_t n;

	for (unsigned i = 0; i < pieces; i++)
		iov[i] = (struct iovec){.iov_base = buf + i * piece, .iov_len = piece};
	n = rq->write ? pwritev(io->fd, iov, (int)pieces, (off_t)rq->off)
		      : preadv(io->fd, iov, (int)pieces, (off_t)rq->off);
	return n < 0 ? -errno : n;
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
	.vectors = true,
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
	.vector = posix_vector,
	.counters = posix_counters,
	.info = posix_info,
};

const struct bench_client_ops *bench_client_posix(void)
{
	return &posix_client_ops;
}

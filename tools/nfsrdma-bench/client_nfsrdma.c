/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client_nfsrdma.c - our own library does the I/O: a mount per child, all in one context.
 *
 * With --shared there is one mount for all, driven in turn: whoever waits and finds nobody at the
 * mount's descriptor sits down there, without the lock, so that others can submit; what completes
 * is laid into its owner's tray and taken out by the owner itself.
 *
 * A record goes from or to a registered buffer, one per slot, taken before the clock starts and
 * given back after the file is closed: until then a buffer still holds what was written from it,
 * as nfsrdma.h asks of unstable writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/child.h"

struct bench_site {
	const struct bench_options *opts;
	const struct bench_place *place;
	struct nfsrdma_ctx *ctx;
	/* --shared */
	pthread_mutex_t lock; /* of the mount and of all trays; not taken without --shared */
	pthread_cond_t moved; /* something completed, or the watcher left */
	struct nfsrdma *mount;
	unsigned users;
	struct bench_io *watcher; /* who waits at the descriptor, without the lock */
	int wake_fd;		  /* eventfd: the watcher's tray was filled by somebody else */
};

struct own_done {
	struct bench_slot *slot;
	ssize_t n;
};

struct bench_io {
	struct bench_site *site;
	struct nfsrdma *mount;
	struct nfsrdma_file *file;
	struct nfsrdma_buf **bufs; /* NULL: none */
	unsigned nbufs;
	struct own_call *calls; /* one per slot */
	struct own_done *tray;	/* --shared: completions, depth of them */
	unsigned laid;
};

/* What the library hands back: whose, and which slot. */
struct own_call {
	struct bench_io *io;
	struct bench_slot *slot;
};

static void own_lock(struct bench_io *io)
{
	if (io->site->opts->shared)
		pthread_mutex_lock(&io->site->lock);
}

static void own_unlock(struct bench_io *io)
{
	if (io->site->opts->shared)
		pthread_mutex_unlock(&io->site->lock);
}

/* The library has the words; they are this thread's. */
static int own_failed(struct util_err *err, int code)
{
	util_err_set(err, code, "%s", nfsrdma_strerror_last());
	util_err_hint(err, "%s", nfsrdma_hint_last());
	return code;
}

static int own_site_open(struct bench_site **sitep, const struct bench_options *opts,
			 const struct bench_place *place, struct util_err *err)
{
	struct bench_site *site = calloc(1, sizeof(*site));
	int ret;

	if (!site)
		return util_err_set(err, -ENOMEM, "no memory");
	site->opts = opts;
	site->place = place;
	pthread_mutex_init(&site->lock, NULL);
	pthread_cond_init(&site->moved, NULL);
	site->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = site->wake_fd < 0 ? -errno : nfsrdma_ctx_create(&site->ctx);
	if (ret) {
		if (site->wake_fd >= 0)
			close(site->wake_fd);
		free(site);
		return own_failed(err, ret);
	}
	*sitep = site;
	return 0;
}

static void own_site_close(struct bench_site *site)
{
	nfsrdma_ctx_destroy(site->ctx);
	close(site->wake_fd);
	pthread_cond_destroy(&site->moved);
	pthread_mutex_destroy(&site->lock);
	free(site);
}

/* The site's only mount, or one more. */
static int own_mount(struct bench_io *io)
{
	struct nfsrdma_options options = NFSRDMA_OPTIONS_INIT;
	struct bench_site *site = io->site;
	bool first = !site->opts->shared || !site->users;
	int ret = 0;

	options.ctx = site->ctx;
	options.opts = site->place->opts;
	if (first)
		ret = nfsrdma_mount(&io->mount, site->place->target, &options);
	if (ret || !site->opts->shared)
		return ret;
	if (first)
		site->mount = io->mount;
	io->mount = site->mount;
	site->users++;
	return 0;
}

static void own_io_free(struct bench_io *io)
{
	free(io->calls);
	free(io->tray);
	free(io);
}

static int own_io_open(struct bench_io **iop, struct bench_site *site, struct util_err *err)
{
	struct bench_io *io = calloc(1, sizeof(*io));
	int ret = -ENOMEM;

	if (!io)
		return util_err_set(err, -ENOMEM, "no memory");
	io->site = site;
	io->calls = calloc(site->opts->depth, sizeof(*io->calls));
	io->tray = calloc(site->opts->depth, sizeof(*io->tray));
	if (io->calls && io->tray) {
		own_lock(io);
		ret = own_mount(io);
		own_unlock(io);
	}
	if (ret) {
		own_failed(err, ret);
		own_io_free(io);
		return ret;
	}
	*iop = io;
	return 0;
}

static void own_io_close(struct bench_io *io)
{
	bool last;

	own_lock(io);
	last = !io->site->opts->shared || !--io->site->users;
	if (last)
		nfsrdma_umount(io->mount);
	own_unlock(io);
	free(io->bufs);
	own_io_free(io);
}

static void own_buffers_put(struct bench_io *io)
{
	own_lock(io);
	for (unsigned i = 0; i < io->nbufs; i++)
		nfsrdma_buf_put(io->bufs[i]);
	own_unlock(io);
	free(io->bufs);
	io->bufs = NULL;
	io->nbufs = 0;
}

static int own_buffers_get(struct bench_io *io, unsigned count, size_t len, bool write, void **addr,
			   struct util_err *err)
{
	int flags = write ? NFSRDMA_BUF_WRITE : NFSRDMA_BUF_READ, ret = 0;

	io->bufs = calloc(count, sizeof(struct nfsrdma_buf *));
	if (!io->bufs)
		return util_err_set(err, -ENOMEM, "no memory");
	own_lock(io);
	for (; io->nbufs < count && !ret; io->nbufs += !ret) {
		ret = nfsrdma_buf_get(io->mount, &io->bufs[io->nbufs], len, flags);
		if (!ret)
			addr[io->nbufs] = nfsrdma_buf_addr(io->bufs[io->nbufs]);
	}
	own_unlock(io);
	if (ret) {
		own_failed(err, ret);
		own_buffers_put(io);
	}
	return ret;
}

static int own_file_open(struct bench_io *io, const char *name, enum bench_open how,
			 struct util_err *err)
{
	int flags = how == BENCH_OPEN_READ ? O_RDONLY : O_RDWR, ret;

	if (how == BENCH_OPEN_CREATE)
		flags |= O_CREAT | (io->site->opts->no_truncate ? 0 : O_TRUNC);
	if (io->site->opts->o_sync)
		flags |= O_SYNC;
	if (io->site->opts->o_dsync)
		flags |= O_DSYNC;
	own_lock(io);
	ret = nfsrdma_open(io->mount, &io->file, name, flags, 0644);
	own_unlock(io);
	return ret ? own_failed(err, ret) : 0;
}

static int own_file_sync(struct bench_io *io, struct util_err *err)
{
	int ret;

	own_lock(io);
	ret = nfsrdma_fsync(io->file);
	own_unlock(io);
	return ret ? own_failed(err, ret) : 0;
}

static int own_file_close(struct bench_io *io, struct util_err *err)
{
	int ret;

	own_lock(io);
	ret = nfsrdma_close(io->file);
	own_unlock(io);
	io->file = NULL;
	return ret ? own_failed(err, ret) : 0;
}

static int own_file_remove(struct bench_io *io, const char *name, struct util_err *err)
{
	int ret;

	own_lock(io);
	ret = nfsrdma_unlink(io->mount, name);
	own_unlock(io);
	return ret ? own_failed(err, ret) : 0;
}

static void own_io_done(void *arg, ssize_t n)
{
	struct own_call *call = arg;
	struct bench_io *io = call->io;

	if (!io->site->opts->shared)
		bench_slot_done(call->slot, n);
	else
		io->tray[io->laid++] = (struct own_done){.slot = call->slot, .n = n};
}

static int own_submit(struct bench_io *io, const struct bench_request *rq)
{
	struct own_call *call = &io->calls[rq->slot->index];
	struct nfsrdma_buf *buf = io->bufs[rq->buffer];
	int ret;

	*call = (struct own_call){.io = io, .slot = rq->slot};
	own_lock(io);
	if (rq->write)
		ret = nfsrdma_pwrite_async(io->file, buf, 0, rq->len, rq->off, own_io_done, call);
	else
		ret = nfsrdma_pread_async(io->file, buf, 0, rq->len, rq->off, own_io_done, call);
	own_unlock(io);
	return ret;
}

/* Sit down at the descriptor.  The lock is held on entry and on return. */
static void own_watch(struct bench_io *io, int timeout_ms)
{
	struct bench_site *site = io->site;
	struct pollfd pfd[2] = {{.fd = nfsrdma_fd(site->mount), .events = POLLIN},
				{.fd = site->wake_fd, .events = POLLIN}};
	eventfd_t ignored;

	site->watcher = io;
	pthread_mutex_unlock(&site->lock);
	poll(pfd, 2, timeout_ms);
	pthread_mutex_lock(&site->lock);
	site->watcher = NULL;
	eventfd_read(site->wake_fd, &ignored);
}

/* Somebody else sits there and will say when something moved. */
static void own_queue_up(struct bench_site *site, int timeout_ms)
{
	struct timespec ts;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &ts);
	ns = (uint64_t)ts.tv_nsec + (uint64_t)timeout_ms * UTIL_NS_PER_MS;
	ts.tv_sec += (time_t)(ns / UTIL_NS_PER_S);
	ts.tv_nsec = (long)(ns % UTIL_NS_PER_S);
	pthread_cond_timedwait(&site->moved, &site->lock, &ts);
}

static int own_wait_shared(struct bench_io *io, int timeout_ms)
{
	struct bench_site *site = io->site;
	int ret;

	pthread_mutex_lock(&site->lock);
	/* Twice: what was submitted is sent, then what has come meanwhile is taken. */
	ret = nfsrdma_process(site->mount, 0);
	if (ret >= 0 && !io->laid && timeout_ms) {
		if (site->watcher)
			own_queue_up(site, timeout_ms);
		else
			own_watch(io, timeout_ms);
		ret = nfsrdma_process(site->mount, 0);
	}
	if (site->watcher && site->watcher->laid)
		eventfd_write(site->wake_fd, 1);
	pthread_cond_broadcast(&site->moved);
	pthread_mutex_unlock(&site->lock);
	return ret < 0 && ret != -EINTR ? ret : 0;
}

/* Out of the tray, without the lock: each may submit the next record. */
static void own_take(struct bench_io *io)
{
	for (;;) {
		struct own_done done = {NULL, 0};

		pthread_mutex_lock(&io->site->lock);
		if (io->laid)
			done = io->tray[--io->laid];
		pthread_mutex_unlock(&io->site->lock);
		if (!done.slot)
			return;
		bench_slot_done(done.slot, done.n);
	}
}

static int own_wait(struct bench_io *io, int timeout_ms, struct util_err *err)
{
	int limit = timeout_ms < 0 || timeout_ms > BENCH_WAIT_MS ? BENCH_WAIT_MS : timeout_ms;
	int ret;

	if (io->site->opts->shared) {
		ret = own_wait_shared(io, limit);
		if (!ret)
			own_take(io);
	} else {
		ret = nfsrdma_process(io->mount, limit);
	}
	return ret < 0 && ret != -EINTR ? own_failed(err, ret) : 0;
}

static ssize_t own_vector(struct bench_io *io, const struct bench_request *rq, unsigned pieces)
{
	struct nfsrdma_iov iov[16];
	size_t piece = rq->len / pieces;
	ssize_t n;

	for (unsigned i = 0; i < pieces; i++)
		iov[i] = (struct nfsrdma_iov){
			.buf = io->bufs[rq->buffer], .buf_off = i * piece, .len = piece};
	own_lock(io);
	n = rq->write ? nfsrdma_pwritev(io->file, iov, (int)pieces, rq->off)
		      : nfsrdma_preadv(io->file, iov, (int)pieces, rq->off);
	own_unlock(io);
	return n;
}

static void own_count_ledger(void *arg, const char *name, uint64_t value)
{
	struct bench_counters *counters = arg;

	for (unsigned i = 0; i < BENCH_LEDGER_FIELDS; i++)
		if (!strcmp(name, bench_ledger_name(i)))
			counters->ledger[i] = value;
}

static void own_count_transport(void *arg, const char *name, uint64_t value)
{
	struct bench_counters *counters = arg;

	for (unsigned i = 0; i < BENCH_TRANSPORT_FIELDS; i++)
		if (!strcmp(name, bench_transport_name(i)))
			counters->transport[i] = value;
}

static bool own_counters(struct bench_io *io, struct bench_counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	own_lock(io);
	nfsrdma_stats(io->mount, NFSRDMA_STATS_LEDGER, own_count_ledger, counters);
	nfsrdma_stats(io->mount, NFSRDMA_STATS_TRANSPORT, own_count_transport, counters);
	own_unlock(io);
	return true;
}

static bool own_io_info(struct bench_io *io, struct nfsrdma_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return nfsrdma_info(io->mount, info) == 0;
}

static const struct bench_client_ops own_client_ops = {
	.name = "nfsrdma",
	.vectors = true,
	.site_open = own_site_open,
	.site_close = own_site_close,
	.io_open = own_io_open,
	.io_close = own_io_close,
	.buffers_get = own_buffers_get,
	.buffers_put = own_buffers_put,
	.file_open = own_file_open,
	.file_sync = own_file_sync,
	.file_close = own_file_close,
	.file_remove = own_file_remove,
	.submit = own_submit,
	.wait = own_wait,
	.vector = own_vector,
	.counters = own_counters,
	.info = own_io_info,
};

const struct bench_client_ops *bench_client_nfsrdma(void)
{
	return &own_client_ops;
}

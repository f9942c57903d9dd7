/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client_libnfs.c - libnfs does the I/O over TCP: the baseline ours is compared with.
 *
 * libnfs hands what it read to the callback in memory of its own; its synchronous calls copy it to
 * the caller's, and so do we, because a program wants its data where it asked for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include <nfsc/libnfs.h>

#include "tools/nfsrdma-bench/child.h"

struct bench_site {
	const struct bench_options *opts;
	const struct bench_place *place;
};

struct libnfs_call {
	struct bench_io *io;
	struct bench_slot *slot;
	char *buf;
	bool write;
};

struct bench_io {
	struct bench_site *site;
	struct nfs_context *nfs;
	struct nfsfh *fh;
	struct bench_memory memory;
	struct libnfs_call *calls; /* one per slot */
	unsigned outstanding, done;
};

static int libnfs_failed(struct bench_io *io, struct util_err *err, const char *what, int code)
{
	const char *words = nfs_get_error(io->nfs);

	return util_err_set(err, code < 0 ? code : -EIO, "libnfs: %s: %s", what,
			    words ? words : strerror(code < 0 ? -code : EIO));
}

static int libnfs_site_open(struct bench_site **sitep, const struct bench_options *opts,
			    const struct bench_place *place, struct util_err *err)
{
	struct bench_site *site = calloc(1, sizeof(*site));

	if (!site)
		return util_err_set(err, -ENOMEM, "no memory");
	site->opts = opts;
	site->place = place;
	*sitep = site;
	return 0;
}

static void libnfs_site_close(struct bench_site *site)
{
	free(site);
}

/* SERVER:/DIR and the ports as libnfs's URL; its mount wants server and path apart. */
static int libnfs_mount(struct bench_io *io, struct util_err *err)
{
	const struct bench_place *place = io->site->place;
	const char *path = strstr(place->target, ":/");
	struct nfs_url *parsed;
	char url[1400], ports[64] = "";
	int ret;

	if (!path)
		return util_err_set(err, -EINVAL, "%s is not SERVER:/DIR", place->target);
	if (place->nfs_port)
		snprintf(ports, sizeof(ports), "?nfsport=%u&mountport=%u", place->nfs_port,
			 place->mount_port ? place->mount_port : place->nfs_port);
	snprintf(url, sizeof(url), "nfs://%.*s%s%s", (int)(path - place->target), place->target,
		 path + 1, ports);
	parsed = nfs_parse_url_dir(io->nfs, url);
	if (!parsed)
		return libnfs_failed(io, err, url, -EINVAL);
	ret = nfs_mount(io->nfs, parsed->server, parsed->path);
	nfs_destroy_url(parsed);
	return ret ? libnfs_failed(io, err, "mount", ret) : 0;
}

static void libnfs_io_free(struct bench_io *io)
{
	if (io->nfs)
		nfs_destroy_context(io->nfs);
	bench_memory_put(&io->memory);
	free(io->calls);
	free(io);
}

static int libnfs_io_open(struct bench_io **iop, struct bench_site *site, struct util_err *err)
{
	struct bench_io *io = calloc(1, sizeof(*io));
	int ret;

	if (!io)
		return util_err_set(err, -ENOMEM, "no memory");
	io->site = site;
	io->nfs = nfs_init_context();
	io->calls = calloc(site->opts->depth, sizeof(*io->calls));
	if (!io->nfs || !io->calls) {
		libnfs_io_free(io);
		return util_err_set(err, -ENOMEM, "no memory");
	}
	ret = libnfs_mount(io, err);
	if (ret) {
		libnfs_io_free(io);
		return ret;
	}
	*iop = io;
	return 0;
}

static void libnfs_io_close(struct bench_io *io)
{
	/* A server that owes answers will not answer this either. */
	if (!io->outstanding)
		nfs_umount(io->nfs);
	libnfs_io_free(io);
}

static int libnfs_buffers_get(struct bench_io *io, unsigned count, size_t len, bool write,
			      void **addr, struct util_err *err)
{
	(void)write;
	return bench_memory_get(&io->memory, count, len, addr, err);
}

static void libnfs_buffers_put(struct bench_io *io)
{
	bench_memory_put(&io->memory);
}

static int libnfs_file_open(struct bench_io *io, const char *name, enum bench_open how,
			    struct util_err *err)
{
	int flags = how == BENCH_OPEN_READ ? O_RDONLY : O_RDWR, ret;
	char path[310];

	snprintf(path, sizeof(path), "/%s", name);
	if (how == BENCH_OPEN_CREATE)
		flags |= O_CREAT | (io->site->opts->no_truncate ? 0 : O_TRUNC);
	if (io->site->opts->o_sync || io->site->opts->o_dsync)
		flags |= O_SYNC;
	ret = nfs_open2(io->nfs, path, flags, 0644, &io->fh);
	return ret ? libnfs_failed(io, err, "open", ret) : 0;
}

static int libnfs_file_sync(struct bench_io *io, struct util_err *err)
{
	int ret = nfs_fsync(io->nfs, io->fh);

	return ret ? libnfs_failed(io, err, "fsync", ret) : 0;
}

static int libnfs_file_close(struct bench_io *io, struct util_err *err)
{
	int ret = nfs_close(io->nfs, io->fh);

	io->fh = NULL;
	return ret ? libnfs_failed(io, err, "close", ret) : 0;
}

static int libnfs_file_remove(struct bench_io *io, const char *name, struct util_err *err)
{
	char path[310];
	int ret;

	snprintf(path, sizeof(path), "/%s", name);
	ret = nfs_unlink(io->nfs, path);
	return ret ? libnfs_failed(io, err, "remove", ret) : 0;
}

static void libnfs_done(int status, struct nfs_context *nfs, void *data, void *arg)
{
	struct libnfs_call *call = arg;

	(void)nfs;
	call->io->outstanding--;
	call->io->done++;
	if (!call->write && status > 0)
		memcpy(call->buf, data, (size_t)status);
	bench_slot_done(call->slot, status);
}

static int libnfs_submit(struct bench_io *io, const struct bench_request *rq)
{
	struct libnfs_call *call = &io->calls[rq->slot->index];
	char *buf = bench_memory_at(&io->memory, rq->buffer);
	int ret;

	*call = (struct libnfs_call){.io = io, .slot = rq->slot, .buf = buf, .write = rq->write};
	if (rq->write)
		ret = nfs_pwrite_async(io->nfs, io->fh, rq->off, rq->len, buf, libnfs_done, call);
	else
		ret = nfs_pread_async(io->nfs, io->fh, rq->off, rq->len, libnfs_done, call);
	if (!ret)
		io->outstanding++;
	return ret;
}

static int libnfs_wait(struct bench_io *io, int timeout_ms, struct util_err *err)
{
	int limit = timeout_ms < 0 || timeout_ms > BENCH_WAIT_MS ? BENCH_WAIT_MS : timeout_ms;
	struct pollfd pfd = {.fd = nfs_get_fd(io->nfs)};
	int ready;

	io->done = 0;
	do {
		pfd.events = (short)nfs_which_events(io->nfs);
		ready = poll(&pfd, 1, limit);
		if (ready < 0 && errno != EINTR)
			return util_err_set(err, -errno, "libnfs: poll: %s", strerror(errno));
		if (ready > 0 && nfs_service(io->nfs, pfd.revents) < 0)
			return libnfs_failed(io, err, "service", -EIO);
	} while (ready > 0 && io->outstanding && !io->done);
	return 0;
}

static bool libnfs_counters(struct bench_io *io, struct bench_counters *counters)
{
	(void)io;
	(void)counters;
	return false;
}

static bool libnfs_info(struct bench_io *io, struct nfsrdma_info *info)
{
	(void)io;
	(void)info;
	return false;
}

static const struct bench_client_ops libnfs_client_ops = {
	.name = "libnfs",
	.site_open = libnfs_site_open,
	.site_close = libnfs_site_close,
	.io_open = libnfs_io_open,
	.io_close = libnfs_io_close,
	.buffers_get = libnfs_buffers_get,
	.buffers_put = libnfs_buffers_put,
	.file_open = libnfs_file_open,
	.file_sync = libnfs_file_sync,
	.file_close = libnfs_file_close,
	.file_remove = libnfs_file_remove,
	.submit = libnfs_submit,
	.wait = libnfs_wait,
	.counters = libnfs_counters,
	.info = libnfs_info,
};

const struct bench_client_ops *bench_client_libnfs(void)
{
	return &libnfs_client_ops;
}

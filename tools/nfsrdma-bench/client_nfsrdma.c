/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client_nfsrdma.c - our own library does the I/O: a mount per child, all in one context.
 *
 * A record goes from or to a registered buffer, one per slot, taken before the clock starts and
 * given back after the file is closed: until then a buffer still holds what was written from it,
 * as nfsrdma.h asks of unstable writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/child.h"

struct bench_site {
	const struct bench_options *opts;
	const struct bench_place *place;
	struct nfsrdma_ctx *ctx;
};

struct bench_io {
	struct bench_site *site;
	struct nfsrdma *mount;
	struct nfsrdma_file *file;
	struct nfsrdma_buf **bufs; /* one per slot, NULL: none */
};

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
	ret = nfsrdma_ctx_create(&site->ctx);
	if (ret) {
		free(site);
		return own_failed(err, ret);
	}
	*sitep = site;
	return 0;
}

static void own_site_close(struct bench_site *site)
{
	nfsrdma_ctx_destroy(site->ctx);
	free(site);
}

static int own_io_open(struct bench_io **iop, struct bench_site *site, struct util_err *err)
{
	struct nfsrdma_options options = NFSRDMA_OPTIONS_INIT;
	struct bench_io *io = calloc(1, sizeof(*io));
	int ret;

	if (!io)
		return util_err_set(err, -ENOMEM, "no memory");
	options.ctx = site->ctx;
	options.opts = site->place->opts;
	io->site = site;
	io->bufs = calloc(site->opts->depth, sizeof(*io->bufs));
	ret = io->bufs ? nfsrdma_mount(&io->mount, site->place->target, &options) : -ENOMEM;
	if (ret) {
		own_failed(err, ret);
		free(io->bufs);
		free(io);
		return ret;
	}
	*iop = io;
	return 0;
}

static void own_io_close(struct bench_io *io)
{
	nfsrdma_umount(io->mount);
	free(io->bufs);
	free(io);
}

static void own_buffers_put(struct bench_io *io)
{
	for (unsigned i = 0; i < io->site->opts->depth; i++) {
		nfsrdma_buf_put(io->bufs[i]);
		io->bufs[i] = NULL;
	}
}

static int own_buffers_get(struct bench_io *io, bool write, void **addr, struct util_err *err)
{
	int flags = write ? NFSRDMA_BUF_WRITE : NFSRDMA_BUF_READ;

	for (unsigned i = 0; i < io->site->opts->depth; i++) {
		int ret = nfsrdma_buf_get(io->mount, &io->bufs[i], io->site->opts->record, flags);

		if (ret) {
			own_failed(err, ret);
			own_buffers_put(io);
			return ret;
		}
		addr[i] = nfsrdma_buf_addr(io->bufs[i]);
	}
	return 0;
}

static int own_file_open(struct bench_io *io, const char *name, enum bench_open how,
			 struct util_err *err)
{
	int flags = how == BENCH_OPEN_READ ? O_RDONLY : O_RDWR, ret;

	if (how == BENCH_OPEN_CREATE)
		flags |= O_CREAT | O_TRUNC;
	if (io->site->opts->o_sync)
		flags |= O_SYNC;
	ret = nfsrdma_open(io->mount, &io->file, name, flags, 0644);
	return ret ? own_failed(err, ret) : 0;
}

static int own_file_sync(struct bench_io *io, struct util_err *err)
{
	int ret = nfsrdma_fsync(io->file);

	return ret ? own_failed(err, ret) : 0;
}

static int own_file_close(struct bench_io *io, struct util_err *err)
{
	int ret = nfsrdma_close(io->file);

	io->file = NULL;
	return ret ? own_failed(err, ret) : 0;
}

static int own_file_remove(struct bench_io *io, const char *name, struct util_err *err)
{
	int ret = nfsrdma_unlink(io->mount, name);

	return ret ? own_failed(err, ret) : 0;
}

static void own_io_done(void *arg, ssize_t n)
{
	bench_slot_done(arg, n);
}

static int own_submit(struct bench_io *io, struct bench_slot *slot, unsigned index, bool write,
		      uint64_t off)
{
	size_t len = io->site->opts->record;

	if (write)
		return nfsrdma_pwrite_async(io->file, io->bufs[index], 0, len, off, own_io_done,
					    slot);
	return nfsrdma_pread_async(io->file, io->bufs[index], 0, len, off, own_io_done, slot);
}

static int own_wait(struct bench_io *io, struct util_err *err)
{
	int ret = nfsrdma_process(io->mount, -1);

	return ret < 0 && ret != -EINTR ? own_failed(err, ret) : 0;
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
	nfsrdma_stats(io->mount, NFSRDMA_STATS_LEDGER, own_count_ledger, counters);
	nfsrdma_stats(io->mount, NFSRDMA_STATS_TRANSPORT, own_count_transport, counters);
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
	.counters = own_counters,
	.info = own_io_info,
};

const struct bench_client_ops *bench_client_nfsrdma(void)
{
	return &own_client_ops;
}

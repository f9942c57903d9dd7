/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io.c - bulk I/O: one request of the caller's as many READs or WRITEs side by side.
 *
 * Normal operation.  client_io_issue() cuts [next, end) into chunks of rsize or wsize and starts
 * them until the window is full; each chunk that ends issues more.  Chunks come back in any order.
 * The request is over when nothing is in flight and next has met end.
 *
 * Ends.  end starts as the length asked for and only ever falls: to where a chunk met end of file
 * or an error.  Of several the lowest wins, since what the caller is told is how far contiguous
 * good bytes reach.  An error beyond the first byte is thus a short count; the caller's next call
 * starts at the trouble and gets the error itself.
 *
 * Memory.  A chunk of a registered buffer goes straight from or to it.  Ordinary memory goes
 * through a staging buffer per chunk, except to tcp reads, which need no registration, and in the
 * modes that register memory of others (mr=cache, mr=per-io): there a chunk borrows the memory,
 * unless it cannot be pinned or has to be remembered for a COMMIT.  When no
 * staging is to be had the request starves: it is put on mount->starved, and goes on when a chunk
 * or a COMMIT has given some back. It fails only when there is nothing to wait for.
 *
 * Steady state allocates nothing: requests, chunks, ranges and staging come from free lists.
 */
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

#define STAGING_WINDOW (8u << 20) /* bytes of staging one request keeps in flight */
#define POOL_SLAB_OBJECTS 32

/* ---- free lists -------------------------------------------------------------------------- */

struct slab {
	struct util_list node;
	max_align_t objects[];
};

void client_pools_init(struct nfsrdma *mount)
{
	util_list_init(&mount->free_chunks);
	util_list_init(&mount->free_ios);
	util_list_init(&mount->free_ranges);
	util_list_init(&mount->free_staging);
	util_list_init(&mount->slabs);
}

void client_pools_free(struct nfsrdma *mount)
{
	struct util_list *node;

	while ((node = util_list_pop(&mount->slabs)))
		free(UTIL_LIST_ENTRY(node, struct slab, node));
}

void *client_pool_take(struct nfsrdma *mount, struct util_list *list, size_t size)
{
	size_t step = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t);
	struct slab *slab;

	if (util_list_empty(list)) {
		slab = calloc(1, sizeof(*slab) + step * POOL_SLAB_OBJECTS * sizeof(max_align_t));
		if (!slab)
			return NULL;
		util_list_add(&mount->slabs, &slab->node);
		for (size_t i = 0; i < POOL_SLAB_OBJECTS; i++)
			util_list_add(list, (struct util_list *)(void *)&slab->objects[i * step]);
	}
	return util_list_pop(list);
}

struct client_io *client_io_get(struct nfsrdma_file *file, enum client_io_kind kind)
{
	struct client_io *io = client_pool_take(file->mount, &file->mount->free_ios, sizeof(*io));

	if (!io)
		return NULL;
	memset(io, 0, offsetof(struct client_io, err));
	util_err_clear(&io->err);
	util_list_init(&io->node);
	util_list_init(&io->file_node);
	io->file = file;
	io->kind = kind;
	file->ios++;
	return io;
}

/* ---- where the bytes are ------------------------------------------------------------------ */

static unsigned segs_of_iov(const struct client_io *io, size_t pos, uint32_t *lenp,
			    struct transport_seg *segs)
{
	uint32_t left = *lenp;
	unsigned n = 0;

	for (int i = 0; i < io->iovcnt && left && n < TRANSPORT_MAX_SEGS; i++) {
		const struct nfsrdma_iov *iov = &io->iov[i];
		size_t part;

		if (pos >= iov->len) {
			pos -= iov->len;
			continue;
		}
		part = iov->len - pos;
		if (part > left)
			part = left;
		segs[n].addr = (char *)iov->buf->lease->addr + iov->buf_off + pos;
		segs[n].len = part;
		segs[n++].lease = iov->buf->lease;
		left -= (uint32_t)part;
		pos = 0;
	}
	*lenp -= left;
	return n;
}

unsigned client_io_segs(const struct client_io *io, const struct client_chunk *chunk, size_t pos,
			uint32_t *lenp, struct transport_seg *segs)
{
	if (!io->mem)
		return segs_of_iov(io, pos, lenp, segs);
	if (chunk->staging) {
		segs[0].addr = (char *)chunk->staging->lease->addr + (pos - chunk->pos);
		segs[0].lease = chunk->staging->lease;
	} else {
		segs[0].addr = io->mem + pos;
		segs[0].lease = NULL;
	}
	segs[0].len = *lenp;
	return 1;
}

/* ---- chunks ------------------------------------------------------------------------------- */

static bool needs_staging(const struct client_io *io)
{
	if (!io->mem)
		return false;
	if (io->file->mount->proto != CLIENT_PROTO_TCP)
		return true;
	/* tcp takes any memory; an unstable write must outlive the caller's */
	return io->kind == CLIENT_IO_WRITE && io->stable == WIRE_UNSTABLE;
}

static bool may_borrow(const struct client_io *io)
{
	struct nfsrdma *mount = io->file->mount;
	enum mr_mode mode = mr_pool_mode(transport_client_pool(mount->conn[0]));

	if (mount->proto == CLIENT_PROTO_TCP || (mode != MR_MODE_CACHE && mode != MR_MODE_PER_IO))
		return false;
	return io->kind == CLIENT_IO_READ || io->stable != WIRE_UNSTABLE;
}

/* The caller's own memory as the chunk's buffer.  false: through staging, then. */
static bool chunk_borrow(struct client_io *io, struct client_chunk *chunk)
{
	bool write = io->kind == CLIENT_IO_WRITE;

	return may_borrow(io) &&
	       client_staging_borrow(io->file->mount, io->mem + chunk->pos, chunk->len,
				     write ? NFSRDMA_BUF_WRITE : NFSRDMA_BUF_READ,
				     &chunk->staging) == 0;
}

/*
 * Staging for the chunk.  -EAGAIN: some will come back; -ENOMEM: none will, words in mount->err.
 */
static int chunk_stage(struct client_io *io, struct client_chunk *chunk)
{
	struct nfsrdma *mount = io->file->mount;
	bool write = io->kind == CLIENT_IO_WRITE;
	int err;

	if (chunk_borrow(io, chunk)) {
		mount->staging_out++;
		return 0;
	}
	if (write && mount->dirty >= mount->dirty_max) {
		client_commit_all(mount);
		return -EAGAIN;
	}
	err = client_staging_get(mount, chunk->len, write ? NFSRDMA_BUF_WRITE : NFSRDMA_BUF_READ,
				 &chunk->staging);
	if (err == -ENOMEM && mount->dirty) {
		client_commit_all(mount);
		return -EAGAIN;
	}
	if (err == -ENOMEM && mount->staging_out)
		return -EAGAIN;
	if (err)
		return err;
	mount->staging_out++;
	if (write)
		memcpy(chunk->staging->lease->addr, io->mem + chunk->pos, chunk->len);
	return 0;
}

static void chunk_put(struct client_chunk *chunk)
{
	struct nfsrdma *mount = chunk->io->file->mount;

	if (chunk->staging) {
		mount->staging_out--;
		client_buf_disown(chunk->staging);
	}
	util_list_push(&mount->free_chunks, &chunk->op.node);
}

static enum wire_stable chunk_stable(struct client_io *io)
{
	if (io->stable != WIRE_UNSTABLE || io->mem || client_unstable_room(io->file))
		return io->stable;
	return WIRE_FILE_SYNC;
}

static size_t io_window(const struct client_io *io)
{
	const struct nfsrdma *mount = io->file->mount;
	size_t size = io->kind == CLIENT_IO_READ ? mount->rsize : mount->wsize;
	size_t window = mount->window;

	if (needs_staging(io) && window > STAGING_WINDOW / size)
		window = STAGING_WINDOW / size;
	return window ? window : 1;
}

static void chunk_init(struct client_io *io, struct client_chunk *chunk)
{
	struct nfsrdma *mount = io->file->mount;
	bool write = io->kind == CLIENT_IO_WRITE;
	size_t size = write ? mount->wsize : mount->rsize;

	client_op_init(&chunk->op, mount, write ? WIRE_NFS3_WRITE : WIRE_NFS3_READ,
		       write ? &client_write_ops : &client_read_ops);
	chunk->io = io;
	chunk->pos = io->next;
	chunk->len = (uint32_t)(io->end - io->next < size ? io->end - io->next : size);
	chunk->got = 0;
	chunk->staging = NULL;
	if (!io->mem) {
		struct transport_seg segs[TRANSPORT_MAX_SEGS];

		client_io_segs(io, chunk, chunk->pos, &chunk->len, segs);
	}
	chunk->stable = write ? chunk_stable(io) : WIRE_UNSTABLE;
}

/* Start the next chunk.  -EAGAIN: not now; else the io failed there, words in mount->err. */
static int io_start_chunk(struct client_io *io)
{
	struct nfsrdma *mount = io->file->mount;
	struct client_chunk *chunk;
	int err = 0;

	if (mount->closing)
		return client_error(mount, -ECANCELED, "the mount was taken down");
	if (io->kind == CLIENT_IO_WRITE && io->file->rewriting && !io->rewrite)
		return -EAGAIN;
	chunk = client_pool_take(mount, &mount->free_chunks, sizeof(*chunk));
	if (!chunk)
		return client_error(mount, -ENOMEM, "out of memory");
	chunk_init(io, chunk);
	if (needs_staging(io))
		err = chunk_stage(io, chunk);
	if (!err) {
		err = client_op_start(&chunk->op);
		if (err)
			mount->err = chunk->op.err;
	}
	if (err) {
		chunk_put(chunk);
		return err;
	}
	io->next += chunk->len;
	io->inflight++;
	return 0;
}

void client_io_limit(struct client_io *io, size_t pos, const struct util_err *err, uint32_t status)
{
	if (pos >= io->end)
		return;
	io->end = pos;
	io->nfs_status = status;
	io->err.code = 0;
	if (err)
		io->err = *err;
}

void client_io_issue(struct client_io *io)
{
	struct nfsrdma *mount = io->file->mount;
	size_t window = io_window(io);
	int err = 0;

	util_list_del(&io->node);
	while (!err && io->next < io->end && io->inflight < window)
		err = io_start_chunk(io);
	if (err == -EAGAIN) {
		util_list_add(&mount->starved, &io->node);
		return;
	}
	if (err) {
		mount->err.code = err;
		client_io_limit(io, io->next, &mount->err, 0);
	}
	if (!io->inflight && io->next >= io->end)
		client_io_finish(io);
}

void client_io_unstarve(struct nfsrdma *mount)
{
	struct util_list batch, *node;

	if (util_list_empty(&mount->starved))
		return;
	util_list_init(&batch);
	util_list_splice(&batch, &mount->starved);
	while ((node = util_list_pop(&batch)))
		client_io_issue(UTIL_LIST_ENTRY(node, struct client_io, node));
}

void client_chunk_again(struct client_chunk *chunk)
{
	if (client_op_start(&chunk->op))
		client_chunk_end(chunk, &chunk->op.err, 0);
}

void client_chunk_end(struct client_chunk *chunk, const struct util_err *err, uint32_t status)
{
	struct client_io *io = chunk->io;
	struct nfsrdma_file *file = io->file;

	if (err)
		client_io_limit(io, chunk->pos + chunk->got, err, status);
	chunk_put(chunk);
	io->inflight--;
	if (file->rewriting && !io->rewrite)
		client_rewrite_kick(file);
	client_io_issue(io);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void io_result(struct client_io *io)
{
	if (io->kind == CLIENT_IO_SYNC)
		io->result = io->err.code;
	else
		io->result = io->end ? (ssize_t)io->end : io->err.code;
}

void client_io_finish(struct client_io *io)
{
	struct nfsrdma_file *file = io->file;
	struct nfsrdma *mount = file->mount;

	io_result(io);
	util_list_del(&io->node);
	util_list_del(&io->file_node);
	if (io->kind == CLIENT_IO_WRITE && !io->rewrite && !util_list_empty(&file->syncs))
		client_commit_kick(file);
	if (!io->done && !io->internal_done)
		io->finished = true; /* somebody waits, and completes it */
	else if (io->submitting || !mount->in_progress)
		util_list_add(&mount->ready, &io->node);
	else
		client_io_complete(io);
}

void client_io_complete(struct client_io *io)
{
	struct nfsrdma_file *file = io->file;
	struct nfsrdma *mount = file->mount;
	nfsrdma_done *done = io->done;
	void *arg = io->arg;
	ssize_t result = io->result;

	for (int i = 0; i < io->iovcnt; i++)
		client_buf_release(io->iov[i].buf);
	if (io->internal_done)
		io->internal_done(io);
	if (done && result < 0)
		client_fail((int)result,
			    io->kind == CLIENT_IO_READ	  ? "read"
			    : io->kind == CLIENT_IO_WRITE ? "write"
							  : "fsync",
			    file->path, &io->err, io->nfs_status);
	file->ios--;
	util_list_push(&mount->free_ios, &io->node);
	if (done)
		client_callback(mount, done, arg, result);
}

ssize_t client_io_wait(struct client_io *io)
{
	struct nfsrdma *mount = io->file->mount;
	ssize_t result;

	while (!io->finished)
		client_drive(mount, -1);
	result = io->result;
	if (result < 0) {
		mount->err = io->err;
		mount->nfs_status = io->nfs_status;
	}
	client_io_complete(io);
	return result;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commit.c - COMMIT (RFC 1813 section 3.3.21), fsync, and writing again what a server lost.
 *
 * A round.  An fsync waits until the writes submitted before it were answered, then joins the next
 * COMMIT; one COMMIT of the whole file serves all that are ready.  While it runs, what it covers is
 * file->committing, and what is written meanwhile gathers in file->now.  A range whose verifier is
 * COMMIT's is safe.  One with another was written to an earlier life of the server:
 *
 *   still in its buffer   it is written again, FILE_SYNC, so that no second COMMIT is needed;
 *   else                  the round ends with -EIO and the bytes' place.
 *
 * Rewriting.  Ordinary writes of the file stand still meanwhile, and those in flight are let come
 * to rest first, since they may be newer than what is written again; where they are, they have cut
 * the range.
 *
 * A COMMIT or a rewrite that fails keeps everything remembered: calling fsync again tries again.
 * What is lost for good is told once.
 *
 * Background rounds, when much is remembered, differ in nothing but that nobody waits; their error
 * is the next fsync's.
 */
#include <inttypes.h>
#include <string.h>

#include "client/internal.h"

/* status, wcc, verifier */
#define COMMIT_REPLY_MAX 128

static struct nfsrdma_file *file_of(struct client_op *op)
{
	return UTIL_CONTAINER_OF(op, struct nfsrdma_file, commit);
}

static void round_fail(struct nfsrdma_file *file, const struct util_err *err, uint32_t status)
{
	if (file->sync_err.code)
		return; /* the first cause stands */
	file->sync_err = *err;
	file->sync_status = status;
}

/* Everybody who joined gets the round's outcome; with nobody, an error waits for the next. */
static void round_end(struct nfsrdma_file *file)
{
	struct util_list joined, *node;
	struct util_err err = file->sync_err;
	uint32_t status = file->sync_status;

	file->commit_running = file->rewriting = false;
	util_list_init(&joined);
	UTIL_LIST_FOR_EACH_SAFE (pos, &file->syncs) {
		if (UTIL_LIST_ENTRY(pos, struct client_io, node)->joined) {
			util_list_del(pos);
			util_list_add(&joined, pos);
		}
	}
	if (!util_list_empty(&joined))
		util_err_clear(&file->sync_err);
	while ((node = util_list_pop(&joined))) {
		struct client_io *io = UTIL_LIST_ENTRY(node, struct client_io, node);

		io->err = err;
		io->nfs_status = status;
		client_io_finish(io);
	}
}

static void round_canceled(struct nfsrdma_file *file)
{
	struct util_err err;

	util_err_set(&err, -ECANCELED, "the mount was taken down");
	round_fail(file, &err, 0);
}

static void lost_words(struct nfsrdma_file *file, uint64_t start, uint64_t end)
{
	struct util_err err;

	util_err_set(&err, -EIO,
		     "the server restarted and lost bytes %" PRIu64 " to %" PRIu64
		     ", which are in no buffer any more",
		     start, end - 1);
	util_err_hint(&err, "write them again; keep buffers unchanged until nfsrdma_fsync() "
			    "returns, or mount with write=filesync");
	round_fail(file, &err, 0);
}

/* ---- rewriting ---------------------------------------------------------------------------- */

/* All are through; those that failed stay remembered, with the old verifier. */
static void rewrite_end(struct nfsrdma_file *file)
{
	if (file->mount->closing)
		client_unstable_drop(file, &file->committing);
	client_unstable_move(&file->now, &file->committing);
	round_end(file);
}

static void rewrite_done(struct client_io *io)
{
	struct nfsrdma_file *file = io->file;

	if (io->result == (ssize_t)io->len) {
		client_range_drop(file, &file->committing, io->arg);
	} else {
		if (!io->err.code)
			util_err_set(&io->err, -EIO,
				     "writing again after the server's restart stopped short");
		round_fail(file, &io->err, io->nfs_status);
	}
	if (--file->rewrites)
		return;
	rewrite_end(file);
	client_commit_kick(file);
}

static bool rewrite_start(struct nfsrdma_file *file, struct client_range *range)
{
	struct client_io *io;

	if (!client_range_intact(range) || !client_buf_hold(range->buf))
		return false;
	io = client_io_get(file, CLIENT_IO_WRITE);
	if (!io) {
		client_buf_release(range->buf);
		return false;
	}
	io->rewrite = true;
	io->stable = WIRE_FILE_SYNC;
	io->one = (struct nfsrdma_iov){range->buf, range->buf_off, range->len};
	io->iov = &io->one;
	io->iovcnt = 1;
	io->off = range->off;
	io->len = io->end = range->len;
	io->internal_done = rewrite_done;
	io->arg = range; /* stands still: writes wait, and so do truncations */
	io->submitting = true;
	client_io_issue(io);
	io->submitting = false;
	return true;
}

void client_rewrite_kick(struct nfsrdma_file *file)
{
	if (!file->rewriting || file->rewrites)
		return;
	if (file->mount->closing) {
		round_canceled(file);
		rewrite_end(file);
		return;
	}
	UTIL_LIST_FOR_EACH (node, &file->writes)
		if (UTIL_LIST_ENTRY(node, struct client_io, file_node)->inflight)
			return;
	file->rewrites = 1; /* ours, until all are started */
	UTIL_LIST_FOR_EACH_SAFE (node, &file->committing.held) {
		struct client_range *range = UTIL_LIST_ENTRY(node, struct client_range, node);

		file->rewrites++;
		if (rewrite_start(file, range))
			continue;
		file->rewrites--;
		lost_words(file, range->off, range->off + range->len);
		client_range_drop(file, &file->committing, range);
	}
	if (!--file->rewrites)
		rewrite_end(file);
}

void client_rewrite_wait(struct nfsrdma *mount, const struct wire_fh *fh)
{
	struct util_list *node = mount->files.next;

	while (node != &mount->files) {
		struct nfsrdma_file *file = UTIL_LIST_ENTRY(node, struct nfsrdma_file, node);

		node = node->next;
		if (!client_file_is(file, fh))
			continue;
		while (file->rewriting)
			client_drive(mount, -1);
	}
}

/* ---- COMMIT ------------------------------------------------------------------------------- */

static void commit_prepare(struct client_op *op, struct transport_call *call)
{
	wire_put_fh(&call->args, &file_of(op)->fh);
	wire_put_u64(&call->args, 0);
	wire_put_u32(&call->args, 0); /* count 0: to the end of the file */
	call->reply_max = COMMIT_REPLY_MAX;
}

static int commit_reply(struct client_op *op, struct transport_call *call)
{
	struct wire_dec *d = &call->results;
	struct wire_wcc wcc;
	const uint8_t *verf;

	op->status = wire_get_u32(d);
	wire_get_wcc(d, &wcc);
	if (!op->status) {
		verf = wire_get_fixed(d, sizeof(file_of(op)->commit_verf));
		if (verf)
			memcpy(file_of(op)->commit_verf, verf, sizeof(file_of(op)->commit_verf));
	}
	return d->bad ? -EBADMSG : 0;
}

/* Let go of what the server has made safe; tell of what is lost. */
static void commit_settle(struct nfsrdma_file *file)
{
	struct client_unstable *u = &file->committing;

	client_unstable_sweep(file, u);
	UTIL_LIST_FOR_EACH_SAFE (node, &u->held) {
		struct client_range *range = UTIL_LIST_ENTRY(node, struct client_range, node);

		if (!memcmp(range->verf, file->commit_verf, sizeof(range->verf)))
			client_range_drop(file, u, range);
	}
	for (unsigned i = 0; i < u->nlost; i++)
		if (memcmp(u->lost[i].verf, file->commit_verf, sizeof(u->lost[i].verf)) != 0)
			lost_words(file, u->lost[i].start, u->lost[i].end);
	u->nlost = 0;
}

static void commit_done(struct client_op *op)
{
	struct nfsrdma_file *file = file_of(op);
	struct nfsrdma *mount = file->mount;

	if (client_op_result(op)) {
		round_fail(file, &mount->err, mount->nfs_status);
		client_unstable_move(&file->now, &file->committing);
		client_unstable_shed(file, &file->now);
		round_end(file);
	} else {
		commit_settle(file);
		if (!file->committing.nheld) {
			round_end(file);
		} else {
			util_log(&mount->log, UTIL_LOG_WARN,
				 "%s: the server restarted; writing %u ranges again", file->path,
				 file->committing.nheld);
			file->rewriting = true;
			client_rewrite_kick(file);
		}
	}
	client_commit_kick(file);
}

static const struct client_op_ops commit_ops = {
	.prepare = commit_prepare,
	.reply = commit_reply,
	.done = commit_done,
};

/* Mark the fsyncs that wait for nothing but a COMMIT. */
static bool round_join(struct nfsrdma_file *file)
{
	uint64_t oldest = UINT64_MAX;
	bool any = false;

	if (!util_list_empty(&file->writes))
		oldest = UTIL_LIST_ENTRY(file->writes.next, struct client_io, file_node)->seq;
	UTIL_LIST_FOR_EACH (node, &file->syncs) {
		struct client_io *io = UTIL_LIST_ENTRY(node, struct client_io, node);

		io->joined = io->seq < oldest;
		any |= io->joined;
	}
	return any;
}

void client_commit_kick(struct nfsrdma_file *file)
{
	while (!file->commit_running) {
		bool wanted = file->commit_wanted && !file->mount->closing;

		if (!round_join(file) && !wanted)
			return;
		file->commit_wanted = false;
		file->commit_running = true;
		if (file->mount->closing)
			round_canceled(file);
		if (file->mount->closing || client_unstable_empty(&file->now)) {
			round_end(file);
			continue;
		}
		client_unstable_move(&file->committing, &file->now);
		client_op_init(&file->commit, file->mount, WIRE_NFS3_COMMIT, &commit_ops);
		if (!client_op_start(&file->commit))
			return;
		round_fail(file, &file->commit.err, 0);
		client_unstable_move(&file->now, &file->committing);
		round_end(file);
	}
}

void client_commit_background(struct nfsrdma_file *file)
{
	if (file->commit_running || file->commit_wanted)
		return;
	file->commit_wanted = true;
	client_commit_kick(file);
}

void client_commit_all(struct nfsrdma *mount)
{
	UTIL_LIST_FOR_EACH (node, &mount->files) {
		struct nfsrdma_file *file = UTIL_LIST_ENTRY(node, struct nfsrdma_file, node);

		if (file->now.nheld)
			client_commit_background(file);
	}
}

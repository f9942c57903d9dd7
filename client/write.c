/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write.c - WRITE (RFC 1813 section 3.3.7), one chunk of a request.
 *
 * The server may take fewer bytes than it was given (the chunk sends the rest), never more, and
 * not none.  It says how safe they are: at least as safe as was asked for, or its answer is a lie
 * that must not become a promise of ours.  Bytes that are only in its memory are remembered
 * (unstable.c) with the verifier that tells one life of the server from the next.
 */
#include <string.h>

#include "client/internal.h"

/* status, wcc, count, committed, verifier: 4 + 116 + 4 + 4 + 8 */
#define WRITE_REPLY_MAX 136

static struct client_chunk *chunk_of(struct client_op *op)
{
	return UTIL_CONTAINER_OF(op, struct client_chunk, op);
}

static void write_prepare(struct client_op *op, struct transport_call *call)
{
	struct client_chunk *chunk = chunk_of(op);
	struct client_io *io = chunk->io;
	uint32_t len = chunk->len - chunk->got;
	struct transport_seg segs[TRANSPORT_MAX_SEGS];
	unsigned nsegs = client_io_segs(io, chunk, chunk->pos + chunk->got, &len, segs);
	struct wire_write_args args = {
		.fh = io->file->fh,
		.offset = io->off + chunk->pos + chunk->got,
		.count = len,
		.stable = chunk->stable,
		.data_len = len,
	};

	wire_write_args_encode(&call->args, &args, true);
	transport_call_data_here(call, segs, nsegs, len);
	call->reply_max = WRITE_REPLY_MAX;
}

static int write_reply(struct client_op *op, struct transport_call *call)
{
	struct client_chunk *chunk = chunk_of(op);
	struct wire_write_res res;

	if (wire_write_res_decode(&call->results, &res))
		return -EBADMSG;
	op->status = res.status;
	if (res.status)
		return 0;
	if (res.count > call->data_len || res.committed > WIRE_FILE_SYNC)
		return -EBADMSG;
	chunk->count = res.count;
	chunk->committed = res.committed;
	memcpy(chunk->verf, res.verf, sizeof(chunk->verf));
	return 0;
}

static void write_done(struct client_op *op)
{
	struct client_chunk *chunk = chunk_of(op);
	struct nfsrdma *mount = op->mount;

	if (client_op_result(op)) {
		client_chunk_end(chunk, &mount->err, mount->nfs_status);
		return;
	}
	if (!chunk->count) {
		client_error(mount, -EIO, "the server takes no data and does not say why");
		client_chunk_end(chunk, &mount->err, 0);
		return;
	}
	if (chunk->stable != WIRE_UNSTABLE && chunk->committed < chunk->stable) {
		client_error(mount, -EIO, "the server did not make a synchronous write stable");
		client_chunk_end(chunk, &mount->err, 0);
		return;
	}
	client_unstable_wrote(chunk, chunk->count);
	chunk->got += chunk->count;
	if (chunk->got == chunk->len)
		client_chunk_end(chunk, NULL, 0);
	else
		client_chunk_again(chunk);
}

const struct client_op_ops client_write_ops = {
	.prepare = write_prepare,
	.reply = write_reply,
	.done = write_done,
};

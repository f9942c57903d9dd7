/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read.c - READ (RFC 1813 section 3.3.6), one chunk of a request.
 *
 * A server may give fewer bytes than were asked for without meaning end of file: the chunk asks for
 * the rest.  It may not give more, nor none without saying eof; nor may the length of the data
 * differ from the count beside it.  On RDMA the data was placed by the peer, and the count is held
 * against what arrived there.
 */
#include <string.h>

#include "client/internal.h"

/* status, attributes, count, eof, length word: 4 + 88 + 4 + 4 + 4 */
#define READ_REPLY_MAX 104

static struct client_chunk *chunk_of(struct client_op *op)
{
	return UTIL_CONTAINER_OF(op, struct client_chunk, op);
}

static void read_prepare(struct client_op *op, struct transport_call *call)
{
	struct client_chunk *chunk = chunk_of(op);
	struct client_io *io = chunk->io;
	struct wire_read_args args = {
		.fh = io->file->fh,
		.offset = io->off + chunk->pos + chunk->got,
		.count = chunk->len - chunk->got,
	};

	wire_read_args_encode(&call->args, &args);
	call->sink_nsegs =
		client_io_segs(io, chunk, chunk->pos + chunk->got, &args.count, call->sink);
	call->sink_len = args.count;
	call->find_data = wire_read_res_find_data;
	call->reply_max = READ_REPLY_MAX;
}

/* Data that came inside the message although there was room for it elsewhere. */
static void read_scatter(const struct transport_call *call, const uint8_t *data, size_t len)
{
	for (unsigned i = 0; i < call->sink_nsegs && len; i++) {
		size_t part = call->sink[i].len < len ? call->sink[i].len : len;

		memcpy(call->sink[i].addr, data, part);
		data += part;
		len -= part;
	}
}

static int read_reply(struct client_op *op, struct transport_call *call)
{
	struct client_chunk *chunk = chunk_of(op);
	struct wire_read_res res;

	if (wire_read_res_decode(&call->results, &res, call->data_sunk))
		return -EBADMSG;
	op->status = res.status;
	if (res.status)
		return 0;
	if (res.count > call->sink_len || res.count != res.data_len)
		return -EBADMSG;
	if (call->data_sunk ? call->data_received < res.count : !res.data && res.count)
		return -EBADMSG;
	if (!call->data_sunk)
		read_scatter(call, res.data, res.count);
	chunk->count = res.count;
	chunk->eof = res.eof;
	return 0;
}

static void read_done(struct client_op *op)
{
	struct client_chunk *chunk = chunk_of(op);
	struct client_io *io = chunk->io;
	struct nfsrdma *mount = op->mount;

	if (client_op_result(op)) {
		client_chunk_end(chunk, &mount->err, mount->nfs_status);
		return;
	}
	if (chunk->staging && chunk->count && chunk->staging->lease->addr != io->mem + chunk->pos)
		memcpy(io->mem + chunk->pos + chunk->got,
		       (char *)chunk->staging->lease->addr + chunk->got, chunk->count);
	chunk->got += chunk->count;
	if (chunk->eof)
		client_io_limit(io, chunk->pos + chunk->got, NULL, 0);
	if (chunk->eof || chunk->got == chunk->len || chunk->pos + chunk->got >= io->end) {
		client_chunk_end(chunk, NULL, 0);
		return;
	}
	if (!chunk->count) {
		client_error(mount, -EIO, "the server sends neither data nor end of file");
		client_chunk_end(chunk, &mount->err, 0);
		return;
	}
	client_chunk_again(chunk);
}

const struct client_op_ops client_read_ops = {
	.prepare = read_prepare,
	.reply = read_reply,
	.done = read_done,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder_send.c - a reply becomes RDMA Writes and a Send.
 *
 * Normal operation.  begin() gives the service a buffer: the call's own for what fits inline, a
 * lease for what can only go through the reply chunk.  reply() settles how the message travels,
 *
 *     bulk result and a write chunk    RDMA Writes into it, the rest inline
 *     it all fits inline               RDMA_MSG
 *     else, with a reply chunk         RDMA Writes into that, RDMA_NOMSG
 *     else                             RDMA_ERROR, ERR_CHUNK: the client offered too little
 *
 * and returns every chunk of the call with the lengths written, zero where nothing was (RFC 8166
 * section 4.3).  The Writes and the Send are one chain: one doorbell for each RPC.  A reply is
 * inline whenever it fits, even if the client offered a reply chunk: a Send costs less than a Write
 * and a Send.
 *
 * Order.  The call's receive buffer is posted again before the reply leaves, since the reply gives
 * the client a credit (RFC 8166 section 3.3.1).  What the send queue still reads, the inline buffer
 * and the leases, passes to the queue's entry and comes back with its completion.
 *
 * Backpressure.  When the send queue or the device's reads are full, calls wait in one list in
 * order of arrival, whether they have reads or a reply to post; completions serve it.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rpcrdma/responder.h"
#include "wire/wire.h"

/* ---- the service's side ----------------------------------------------------------------- */

static size_t header_len(const struct rpcrdma_sreq *req)
{
	size_t len = RPCRDMA_HEADER_MIN;

	if (req->has_write)
		len += 8 + (size_t)req->write.nsegs * RPCRDMA_SEGMENT_LEN;
	if (req->has_reply)
		len += 4 + (size_t)req->reply.nsegs * RPCRDMA_SEGMENT_LEN;
	return len;
}

static int request_begin(struct transport_request *treq, size_t max)
{
	struct rpcrdma_sreq *req = rpcrdma_sreq_of(treq);
	size_t len = WIRE_RPC_REPLY_LEN + max;
	uint8_t *buf = req->out;
	int err;

	if (max > treq->reply_room)
		return -EMSGSIZE;
	if (len > req->conn->send_size - header_len(req)) {
		/* A service may change its mind about the size. */
		mr_lease_give(req->results_lease);
		req->results_lease = NULL;
		if (!req->conn->conn)
			return -ENOMEM;
		err = mr_lease_take(req->conn->scq->pool, MR_KIND_SOURCE, len, &req->results_lease,
				    NULL);
		if (err)
			return -ENOMEM;
		buf = req->results_lease->addr;
	}
	wire_enc_init(&treq->results, buf, len);
	wire_rpc_reply_encode(&treq->results, req->xid);
	return 0;
}

static void *request_buffer(struct transport_request *treq, size_t len)
{
	struct rpcrdma_sreq *req = rpcrdma_sreq_of(treq);

	if (!req->conn->conn || len == 0)
		return NULL;
	mr_lease_give(req->reply_data_lease);
	req->reply_data_lease = NULL;
	if (mr_lease_take(req->conn->scq->pool, MR_KIND_SOURCE, len, &req->reply_data_lease, NULL))
		return NULL;
	return req->reply_data_lease->addr;
}

/* ---- what a reply looks like ------------------------------------------------------------ */

static size_t padded(size_t len)
{
	return len + WIRE_PAD(len);
}

/* The RPC message with the bulk result at its place. */
static void write_message(uint8_t *out, const struct transport_request *treq, bool with_data)
{
	size_t len = wire_enc_len(&treq->results);
	size_t head = with_data ? treq->reply_data_pos : len;

	memcpy(out, treq->results.start, head);
	if (!with_data)
		return;
	out += head;
	memcpy(out, treq->reply_data, treq->reply_data_len);
	out += treq->reply_data_len;
	memset(out, 0, WIRE_PAD(treq->reply_data_len));
	out += WIRE_PAD(treq->reply_data_len);
	memcpy(out, treq->results.start + head, len - head);
}

static size_t message_len(const struct rpcrdma_sreq *req)
{
	const struct transport_request *treq = &req->rl.req;
	size_t len = wire_enc_len(&treq->results);

	if (treq->reply_data_len > 0 && !req->data_by_chunk)
		len += padded(treq->reply_data_len);
	return len;
}

/* The whole message must lie in one lease to be written into the reply chunk. */
static int make_long_reply(struct rpcrdma_sreq *req)
{
	struct transport_request *treq = &req->rl.req;
	bool with_data = treq->reply_data_len > 0 && !req->data_by_chunk;
	size_t len = message_len(req);
	struct mr_lease *lease;

	if (!req->has_reply || len > rpcrdma_chunk_len(&req->reply))
		return -EMSGSIZE;
	req->long_reply = true;
	if (req->results_lease && !with_data)
		return 0;
	if (mr_lease_take(req->conn->scq->pool, MR_KIND_SOURCE, len, &lease, NULL))
		return -ENOMEM;
	write_message(lease->addr, treq, with_data);
	wire_enc_init(&treq->results, lease->addr, len);
	treq->results.p += len;
	mr_lease_give(req->results_lease);
	req->results_lease = lease;
	if (with_data) {
		treq->reply_data_len = 0;
		mr_lease_give(req->reply_data_lease);
		req->reply_data_lease = NULL;
	}
	return 0;
}

/* Settle how the reply travels; the error to answer with instead, 0: none. */
static enum rpcrdma_errcode settle(struct rpcrdma_sreq *req)
{
	struct transport_request *treq = &req->rl.req;

	if (treq->results.overflow || treq->reply_data_pos > wire_enc_len(&treq->results) ||
	    (treq->reply_data_len > 0 &&
	     (!req->reply_data_lease || treq->reply_data_len > req->reply_data_lease->len)))
		return RPCRDMA_ERR_CHUNK;
	if (treq->reply_data_len > 0 && req->has_write && req->write.nsegs > 0) {
		if (treq->reply_data_len > rpcrdma_chunk_len(&req->write))
			return RPCRDMA_ERR_CHUNK;
		req->data_by_chunk = true;
	}
	if (header_len(req) + message_len(req) <= req->conn->send_size)
		return 0;
	return make_long_reply(req) ? RPCRDMA_ERR_CHUNK : 0;
}

/* ---- posting ---------------------------------------------------------------------------- */

/* Set a returned chunk's lengths to what len bytes fill. */
static void fill_lengths(struct rpcrdma_chunk *chunk, size_t len)
{
	for (uint32_t i = 0; i < chunk->nsegs; i++) {
		if (chunk->seg[i].length > len)
			chunk->seg[i].length = (uint32_t)len;
		len -= chunk->seg[i].length;
	}
}

/* RDMA Writes that fill the chunk (whose lengths are final) from the lease; returns how many. */
static uint32_t add_writes(const struct rpcrdma_conn *conn, uint32_t n,
			   const struct rpcrdma_chunk *chunk, const struct mr_lease *lease)
{
	struct rpcrdma_scq *scq = conn->scq;
	uint64_t max = scq->domain->attr.max_msg;
	size_t off = 0;

	for (uint32_t i = 0; i < chunk->nsegs; i++) {
		const struct rpcrdma_segment *seg = &chunk->seg[i];
		uint32_t done = 0;

		while (done < seg->length) {
			uint32_t piece = seg->length - done;

			if (piece > max)
				piece = (uint32_t)max;
			if (n + 1 >= conn->max_chain)
				return UINT32_MAX;
			scq->sge[n] = (struct fabric_sge){
				.ptr = (uint8_t *)lease->addr + off,
				.iova = lease->iova + off,
				.len = piece,
				.lkey = lease->lkey,
			};
			scq->wr[n] = (struct fabric_wr){
				.op = FABRIC_OP_WRITE, .nsge = 1, .sge = &scq->sge[n]};
			scq->wr[n].u.remote.iova = seg->offset + done;
			scq->wr[n].u.remote.rkey = seg->handle;
			n++;
			done += piece;
			off += piece;
		}
	}
	return n;
}

/* The Writes of this reply; returns how many, UINT32_MAX: more than a chain holds. */
static uint32_t build_writes(struct rpcrdma_sreq *req)
{
	struct transport_request *treq = &req->rl.req;
	uint32_t n = 0;

	if (req->has_write)
		fill_lengths(&req->write, req->data_by_chunk ? treq->reply_data_len : 0);
	if (req->has_reply)
		fill_lengths(&req->reply, req->long_reply ? wire_enc_len(&treq->results) : 0);
	if (req->data_by_chunk)
		n = add_writes(req->conn, n, &req->write, req->reply_data_lease);
	if (req->long_reply && n != UINT32_MAX)
		n = add_writes(req->conn, n, &req->reply, req->results_lease);
	return n;
}

static void fill_header(const struct rpcrdma_sreq *req, struct rpcrdma_header *h)
{
	h->xid = req->xid;
	h->credits = req->conn->credits;
	h->nreads = h->nwrites = 0;
	h->has_reply = false;
	if (req->error) {
		h->proc = RPCRDMA_ERROR;
		h->error = req->error;
		h->vers_low = h->vers_high = RPCRDMA_VERSION;
		return;
	}
	h->proc = req->long_reply ? RPCRDMA_NOMSG : RPCRDMA_MSG;
	if (req->has_write)
		h->write[h->nwrites++] = req->write;
	h->has_reply = req->has_reply;
	if (req->has_reply)
		h->reply = req->reply;
}

/* The Send behind n Writes, in an inline buffer. */
static void build_send(struct rpcrdma_sreq *req, uint32_t n, struct rpcrdma_posted *posted)
{
	struct rpcrdma_conn *conn = req->conn;
	struct rpcrdma_scq *scq = conn->scq;
	uint8_t *out = rpcrdma_buffers_addr(&conn->sends, posted->buffer);
	struct fabric_wr *wr = &scq->wr[n];
	bool signal, leases = req->data_by_chunk || req->long_reply;
	size_t len;

	fill_header(req, &scq->header);
	len = (size_t)rpcrdma_header_encode(&scq->header, out, conn->send_size);
	if (!req->error && !req->long_reply) {
		write_message(out + len, &req->rl.req,
			      !req->data_by_chunk && req->rl.req.reply_data_len);
		len += message_len(req);
	}
	scq->sge[n] = rpcrdma_buffers_sge(&conn->sends, posted->buffer, 0, (uint32_t)len);
	*wr = (struct fabric_wr){.op = FABRIC_OP_SEND, .nsge = 1, .sge = &scq->sge[n]};
	if (req->has_inv && !req->error) {
		wr->op = FABRIC_OP_SEND_INV;
		wr->u.inv_rkey = req->inv_rkey;
	}
	wr->wr_id = rpcrdma_sendq_push(&conn->sendq, posted, n + 1, leases, &signal);
	wr->flags = signal ? FABRIC_WR_SIGNALED : 0;
	for (uint32_t i = 0; i < n; i++)
		scq->wr[i].next = &scq->wr[i + 1];
}

/* What is still being read passes to the send queue's entry; the call is over. */
static void hand_over(struct rpcrdma_sreq *req, struct rpcrdma_posted *posted)
{
	if (req->data_by_chunk) {
		posted->lease[0] = req->reply_data_lease;
		req->reply_data_lease = NULL;
	}
	if (req->long_reply) {
		posted->lease[1] = req->results_lease;
		req->results_lease = NULL;
	}
}

/* false: there is no room now. */
static bool post_reply(struct rpcrdma_sreq *req)
{
	struct rpcrdma_conn *conn = req->conn;
	struct rpcrdma_posted *posted;
	uint32_t n;

	if (conn->sends.nfree == 0 || rpcrdma_sendq_room(&conn->sendq) < conn->max_chain)
		return false;
	n = build_writes(req);
	if (n == UINT32_MAX) {
		req->error = RPCRDMA_ERR_CHUNK;
		req->data_by_chunk = req->long_reply = false;
		n = 0;
	}
	posted = &conn->posted[conn->sends.free[--conn->sends.nfree]];
	build_send(req, n, posted);
	hand_over(req, posted);
	/* ORDER: the receive for the call this reply allows comes before the reply. */
	rpcrdma_sreq_give_recv(req);
	rpcrdma_conn_refill(conn);
	rpcrdma_conn_post(conn, conn->scq->wr);
	rpcrdma_sreq_give(req);
	return true;
}

void rpcrdma_conn_serve_waiting(struct rpcrdma_conn *conn)
{
	while (!conn->dropping && !util_list_empty(&conn->waiting)) {
		struct util_list *node = conn->waiting.next;
		struct rpcrdma_sreq *req = UTIL_LIST_ENTRY(node, struct rpcrdma_sreq, node);
		bool posted;

		util_list_del(node);
		if (req->state == RPCRDMA_SREQ_READING)
			posted = rpcrdma_sreq_post_reads(req);
		else
			posted = post_reply(req);
		if (!posted) {
			util_list_push(&conn->waiting, node);
			return;
		}
	}
}

void rpcrdma_sreq_wait(struct rpcrdma_sreq *req)
{
	util_list_add(&req->conn->waiting, &req->node);
	rpcrdma_conn_serve_waiting(req->conn);
}

/* ---- answers ---------------------------------------------------------------------------- */

/* The call's arguments are not needed any more. */
static void answer(struct rpcrdma_sreq *req)
{
	mr_lease_give(req->data_lease);
	req->data_lease = NULL;
	if (!req->conn->conn) {
		rpcrdma_sreq_give(req);
		return;
	}
	req->state = RPCRDMA_SREQ_REPLY;
	rpcrdma_sreq_wait(req);
}

void rpcrdma_sreq_refuse(struct rpcrdma_sreq *req, enum rpcrdma_errcode error)
{
	req->error = error;
	req->data_by_chunk = req->long_reply = false;
	answer(req);
}

static void request_reply(struct transport_request *treq)
{
	struct rpcrdma_sreq *req = rpcrdma_sreq_of(treq);

	req->error = req->conn->conn ? settle(req) : 0;
	if (req->error)
		rpcrdma_sreq_refuse(req, req->error);
	else
		answer(req);
}

static void request_reply_error(struct transport_request *treq, const struct wire_rpc_error *error)
{
	struct rpcrdma_sreq *req = rpcrdma_sreq_of(treq);

	treq->reply_data_len = 0;
	wire_enc_init(&treq->results, req->out, req->conn->send_size);
	wire_rpc_error_encode(&treq->results, req->xid, error);
	answer(req);
}

static void request_drop(struct transport_request *treq)
{
	rpcrdma_sreq_give(rpcrdma_sreq_of(treq));
}

const struct transport_responder_ops rpcrdma_responder_ops = {
	.begin = request_begin,
	.buffer = request_buffer,
	.reply = request_reply,
	.reply_error = request_reply_error,
	.drop = request_drop,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder_recv.c - a received message becomes a call.
 *
 * Normal operation.  The transport header is decoded and its chunk lists are checked; what a call
 * may carry is little, since NFSv3 has one eligible argument and one eligible result (RFC 8267):
 *
 *     RDMA_MSG     any number of read list entries, all with one position inside the message
 *     RDMA_NOMSG   entries with position 0, which are the message, and perhaps entries with one
 * other both         at most one write chunk and a reply chunk
 *
 * Without read chunks the call is dispatched from the receive buffer, which stays its own until the
 * answer is there; with some, they are pulled first (responder_read.c).
 *
 * Hostile messages.  One without the four fixed words cannot be answered and is dropped; another
 * version gets ERR_VERS; lists that are malformed, too long, contradictory or beyond max_data get
 * ERR_CHUNK (RFC 8166 section 4.5); errors are never answered with errors.  A client with more
 * calls in hand than it was granted is dropped (section 3.3.1).
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rpcrdma/responder.h"
#include "wire/wire.h"

/* xid, type, RPC version, program, version, procedure; then two opaque_auth of at most 400 bytes.
 */
#define RPC_CALL_FIXED 24
#define RPC_AUTH_MAX 400

/* ---- the RPC header, as far as a position needs it -------------------------------------- */

/* Length of the opaque_auth at off (RFC 5531 section 8.2), 0 when it is malformed or cut short. */
static size_t auth_len(const uint8_t *msg, size_t len, size_t off)
{
	uint32_t body;

	if (len < off || len - off < 8)
		return 0;
	body = util_get_be32(msg + off + 4);
	if (body > RPC_AUTH_MAX || len - off - 8 < body + WIRE_PAD(body))
		return 0;
	return 8 + body + WIRE_PAD(body);
}

/* Where the arguments begin, 0 when the header is no good. */
static size_t args_offset(const uint8_t *msg, size_t len)
{
	size_t cred = auth_len(msg, len, RPC_CALL_FIXED);
	size_t verf = cred ? auth_len(msg, len, RPC_CALL_FIXED + cred) : 0;

	return verf ? RPC_CALL_FIXED + cred + verf : 0;
}

/* ---- chunk lists ------------------------------------------------------------------------ */

/*
 * Sort the read list's lengths by what they are.  -EBADMSG: positions that make no sense here;
 * -E2BIG: more than we take.
 */
static int measure_reads(struct rpcrdma_sreq *req, bool nomsg, size_t max_data)
{
	uint64_t call_len = 0, data_len = 0;
	uint32_t position = 0;

	for (uint32_t i = 0; i < req->nreads; i++) {
		const struct rpcrdma_read *r = &req->read[i];

		if (r->seg.offset + r->seg.length < r->seg.offset)
			return -EBADMSG;
		if (r->position == 0) {
			call_len += r->seg.length;
			continue;
		}
		if ((position != 0 && r->position != position) || r->position % 4 != 0)
			return -EBADMSG;
		position = r->position;
		data_len += r->seg.length;
	}
	if (nomsg != (call_len > 0))
		return -EBADMSG;
	if (data_len > (uint64_t)max_data + 3 || call_len > (uint64_t)max_data + RPCRDMA_CALL_SLACK)
		return -E2BIG;
	req->call_len = call_len;
	req->data_len = data_len;
	return 0;
}

/* Does a chunk's segment run past the end of the address space? */
static bool chunk_sane(const struct rpcrdma_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->nsegs; i++) {
		if (chunk->seg[i].offset + chunk->seg[i].length < chunk->seg[i].offset)
			return false;
	}
	return true;
}

static void note_rkey(struct rpcrdma_sreq *req, uint32_t rkey, bool *differ)
{
	if (req->has_inv && req->inv_rkey != rkey)
		*differ = true;
	req->has_inv = true;
	req->inv_rkey = rkey;
}

/*
 * The reply can invalidate one key.  As the kernel's server does: when all segments of the call
 * share one, that one; otherwise the client does it all itself.
 */
static void choose_rkey(struct rpcrdma_sreq *req)
{
	bool differ = false;

	for (uint32_t i = 0; i < req->nreads; i++)
		note_rkey(req, req->read[i].seg.handle, &differ);
	for (uint32_t i = 0; req->has_write && i < req->write.nsegs; i++)
		note_rkey(req, req->write.seg[i].handle, &differ);
	for (uint32_t i = 0; req->has_reply && i < req->reply.nsegs; i++)
		note_rkey(req, req->reply.seg[i].handle, &differ);
	if (differ || !req->conn->remote_invalidation)
		req->has_inv = false;
}

/* Take the lists over from the decoded header. */
static int take_lists(struct rpcrdma_sreq *req, const struct rpcrdma_header *h, size_t max_data)
{
	int err;

	req->nreads = h->nreads;
	memcpy(req->read, h->read, h->nreads * sizeof(h->read[0]));
	err = measure_reads(req, h->proc == RPCRDMA_NOMSG, max_data);
	if (err)
		return err;
	if (h->nwrites > 1)
		return -EBADMSG;
	req->has_write = h->nwrites == 1;
	if (req->has_write)
		req->write = h->write[0];
	req->has_reply = h->has_reply;
	if (req->has_reply)
		req->reply = h->reply;
	if ((req->has_write && !chunk_sane(&req->write)) ||
	    (req->has_reply && !chunk_sane(&req->reply)))
		return -EBADMSG;
	choose_rkey(req);
	return 0;
}

/* ---- dispatch --------------------------------------------------------------------------- */

/* The position of the data chunk's entries, 0 when there are none. */
static uint32_t data_position(const struct rpcrdma_sreq *req)
{
	for (uint32_t i = 0; i < req->nreads; i++) {
		if (req->read[i].position != 0)
			return req->read[i].position;
	}
	return 0;
}

/*
 * Does the data chunk's position lie behind a length word of the arguments and within the message?
 * A bad RPC header passes: the core answers for those.
 */
static bool position_sane(const struct rpcrdma_sreq *req)
{
	size_t position = data_position(req);
	size_t args = args_offset(req->msg, req->msg_len);

	return position == 0 || args == 0 || (position >= args + 4 && position <= req->msg_len);
}

/*
 * The data chunk was taken out of the stream behind its length word (RFC 8166 section 3.4.5).  A
 * client may have put the XDR padding into the chunk; the word says how much of it is data.
 */
static void place_data(struct rpcrdma_sreq *req)
{
	struct transport_request *treq = &req->rl.req;
	size_t position = data_position(req);
	size_t args = args_offset(req->msg, req->msg_len);
	uint32_t word;

	if (!req->data_lease || args == 0)
		return;
	word = util_get_be32(req->msg + position - 4);
	treq->data = req->data_lease->addr;
	treq->data_len = req->data_len;
	if (word <= req->data_len && req->data_len - word < 4)
		treq->data_len = word;
	treq->data_args_pos = position - args;
}

static size_t clamp_len(uint64_t len)
{
	return len > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)len;
}

/* What the reply may be: the returned lists cost inline room. */
static void fill_rooms(struct rpcrdma_sreq *req)
{
	struct transport_request *treq = &req->rl.req;
	size_t header = RPCRDMA_HEADER_MIN, room;
	size_t max = mr_pool_max_lease(req->conn->scq->pool);

	if (req->has_write)
		header += 8 + (size_t)req->write.nsegs * RPCRDMA_SEGMENT_LEN;
	if (req->has_reply)
		header += 4 + (size_t)req->reply.nsegs * RPCRDMA_SEGMENT_LEN;
	room = req->conn->send_size - header;
	if (req->has_reply && rpcrdma_chunk_len(&req->reply) > room) {
		room = clamp_len(rpcrdma_chunk_len(&req->reply));
		room = room < max ? room : max;
	}
	treq->reply_room = room > WIRE_RPC_REPLY_LEN ? room - WIRE_RPC_REPLY_LEN : 0;
	treq->sink_room = req->has_write ? clamp_len(rpcrdma_chunk_len(&req->write)) : 0;
}

/* A long call lies in memory the peer may be able to write: parse a copy. */
static int take_long_call(struct rpcrdma_sreq *req)
{
	if (req->call_len > req->call_buf_len) {
		uint8_t *bigger = realloc(req->call_buf, req->call_len);

		if (!bigger)
			return -ENOMEM;
		req->call_buf = bigger;
		req->call_buf_len = req->call_len;
	}
	memcpy(req->call_buf, req->call_lease->addr, req->call_len);
	mr_lease_give(req->call_lease);
	req->call_lease = NULL;
	req->msg = req->call_buf;
	req->msg_len = req->call_len;
	return 0;
}

void rpcrdma_sreq_dispatch(struct rpcrdma_sreq *req)
{
	struct transport_request *treq = &req->rl.req;
	struct rpcrdma_conn *conn = req->conn;
	struct transport_worker *worker = rpcrdma_scq_worker(conn->scq);

	memset(treq, 0, sizeof(*treq));
	util_list_init(&treq->node);
	treq->worker = worker;
	treq->peer = &conn->peer;
	treq->rdma = true;
	if (req->call_lease && take_long_call(req)) {
		rpcrdma_conn_drop(conn, "no memory for a long call");
		rpcrdma_sreq_give(req);
		return;
	}
	if (!position_sane(req)) {
		rpcrdma_sreq_refuse(req, RPCRDMA_ERR_CHUNK);
		return;
	}
	place_data(req);
	fill_rooms(req);
	req->state = RPCRDMA_SREQ_SERVICE;
	transport_server_request(worker, treq, req->msg, req->msg_len);
}

/* ---- receive ---------------------------------------------------------------------------- */

/* Is this a message to be answered at all?  Errors and what RFC 8166 section 4.6 retired are not.
 */
static bool answerable(const struct rpcrdma_header *h)
{
	return h->vers != RPCRDMA_VERSION || (h->proc != RPCRDMA_ERROR && h->proc != RPCRDMA_DONE);
}

static void take_call(struct rpcrdma_sreq *req, uint8_t *buf, size_t len, ssize_t header_len)
{
	const struct transport_server_params *params =
		transport_worker_params(rpcrdma_scq_worker(req->conn->scq));
	const struct rpcrdma_header *h = &req->conn->scq->header;

	if (header_len == -EPROTONOSUPPORT) {
		rpcrdma_sreq_refuse(req, RPCRDMA_ERR_VERS);
		return;
	}
	if (header_len < 0 || take_lists(req, h, params->max_data)) {
		req->has_write = req->has_reply = req->has_inv = false;
		rpcrdma_sreq_refuse(req, RPCRDMA_ERR_CHUNK);
		return;
	}
	req->msg = buf + header_len;
	req->msg_len = len - (size_t)header_len;
	if (h->proc == RPCRDMA_MSG && !position_sane(req))
		rpcrdma_sreq_refuse(req, RPCRDMA_ERR_CHUNK);
	else if (req->call_len + req->data_len > 0)
		rpcrdma_sreq_pull(req);
	else
		rpcrdma_sreq_dispatch(req);
}

void rpcrdma_responder_receive(struct rpcrdma_conn *conn, uint32_t recv, size_t len)
{
	struct rpcrdma_header *h = &conn->scq->header;
	uint8_t *buf = rpcrdma_recvq_take(&conn->recvq, recv);
	ssize_t header_len = rpcrdma_header_decode(h, buf, len);
	struct rpcrdma_sreq *req;

	if (conn->dropping || header_len == -ENODATA || !answerable(h)) {
		rpcrdma_recvq_give(&conn->recvq, recv);
		return;
	}
	if (conn->in_hand == conn->credits) {
		rpcrdma_recvq_give(&conn->recvq, recv);
		rpcrdma_conn_drop(conn, "it exceeded its credits");
		return;
	}
	req = rpcrdma_sreq_take(conn);
	req->xid = h->xid;
	req->has_recv = true;
	req->recv = recv;
	take_call(req, buf, len, header_len);
}

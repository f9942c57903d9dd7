/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requester_recv.c - a message of the responder becomes a reply.
 *
 * Normal operation.  The header is decoded, the call found by its XID, the returned chunks are
 * compared with the offered ones.  Then the peer's access is ended (requester_close.c), which in
 * most modes takes no time.  After that bulk data that came inline is moved to its sink, the call's
 * leases and slot are released, and the core decodes the rest and runs done().
 *
 * A long reply is copied out of its lease first: the peer keeps the key in pool mode, and what is
 * parsed must not change under the parser.  The copy goes to one buffer of the link that grows to
 * the largest reply ever seen and then stays.
 *
 * Trust.  Every field is the peer's.  A message without a usable header or of an unknown XID is
 * dropped and its receive posted again (RFC 8166 section 4.5); a reply that contradicts its call
 * fails that call with -EIO and says why.  Neither ends the connection.  Credits are taken from
 * every message that has them (section 4.2.3); a grant of 0 would stop us for ever and counts as 1,
 * one beyond our slots as all of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rpcrdma/requester.h"
#include "wire/wire.h"

/* ---- verdicts --------------------------------------------------------------------------- */

/* The call ends without a result, once the peer reaches nothing of it any more. */
static void fail_call(struct rpcrdma_req *req, const struct util_err *err)
{
	req->reply.failed = true;
	if (req->call)
		req->call->err = *err;
}

static int bad_reply(const struct rpcrdma_link *link, struct util_err *err, const char *what)
{
	return util_err_set(err, -EIO, "%s sent a bad reply: %s", link->link.client->params.server,
			    what);
}

static void fail_by_error(const struct rpcrdma_link *link, struct rpcrdma_req *req)
{
	const struct rpcrdma_header *h = &link->header;
	const char *server = link->link.client->params.server;
	struct util_err err = {0};

	if (h->error == RPCRDMA_ERR_VERS) {
		util_err_set(&err, -EPROTONOSUPPORT,
			     "%s speaks RPC-over-RDMA versions %u to %u, not 1", server,
			     h->vers_low, h->vers_high);
	} else {
		util_err_set(&err, -EIO, "%s refused the call's chunks (ERR_CHUNK)", server);
		util_err_hint(&err, "the server may not support %s; see its log",
			      req->reply_way == RPCRDMA_REPLY_CHUNK ? "long replies"
								    : "long calls or these chunks");
	}
	fail_call(req, &err);
}

/* ---- returned chunks -------------------------------------------------------------------- */

/*
 * A returned chunk is the offered one with the lengths that were written (RFC 8166 section 4.3.2),
 * filled from the front.  Sets *lenp to the sum.  A segment that was not used may come back as
 * zeros.
 */
static int check_chunk(const struct rpcrdma_chunk *offered, const struct rpcrdma_chunk *got,
		       size_t *lenp)
{
	bool full = true;
	size_t len = 0;

	if (got->nsegs != offered->nsegs)
		return -EBADMSG;
	for (uint32_t i = 0; i < got->nsegs; i++) {
		const struct rpcrdma_segment *o = &offered->seg[i], *g = &got->seg[i];

		if (g->length == 0) {
			full = false;
			continue;
		}
		if (!full || g->handle != o->handle || g->offset != o->offset ||
		    g->length > o->length)
			return -EBADMSG;
		full = g->length == o->length;
		len += g->length;
	}
	*lenp = len;
	return 0;
}

/* The lists of the reply against those of the call; the bytes written into each chunk. */
static int check_lists(const struct rpcrdma_link *link, const struct rpcrdma_req *req,
		       size_t *written, size_t *reply_len, struct util_err *err)
{
	const struct rpcrdma_header *h = &link->header;

	*written = *reply_len = 0;
	if (h->nreads > 0)
		return bad_reply(link, err, "it has a read list");
	if (h->nwrites > 1)
		return bad_reply(link, err, "it has more than one write chunk");
	if (h->nwrites == 1 && (req->reply_way != RPCRDMA_REPLY_WRITE_CHUNK ||
				check_chunk(&req->offered, &h->write[0], written)))
		return bad_reply(link, err, "its write chunk is not the one offered");
	if (h->has_reply && (req->reply_way != RPCRDMA_REPLY_CHUNK ||
			     check_chunk(&req->offered, &h->reply, reply_len)))
		return bad_reply(link, err, "its reply chunk is not the one offered");
	if (h->proc == RPCRDMA_NOMSG && !h->has_reply)
		return bad_reply(link, err, "RDMA_NOMSG without a reply chunk");
	if (h->proc == RPCRDMA_NOMSG && *reply_len == 0)
		return bad_reply(link, err, "its reply chunk is empty");
	return 0;
}

/* ---- bulk results ----------------------------------------------------------------------- */

static void copy_to_sink(const struct transport_call *call, const uint8_t *data, size_t len)
{
	for (unsigned i = 0; len > 0; i++) {
		size_t piece = len < call->sink[i].len ? len : call->sink[i].len;

		memcpy(call->sink[i].addr, data, piece);
		data += piece;
		len -= piece;
	}
}

/* len bytes of bulk data lie in the message at data: to the sink with them, and out of the message.
 */
static void take_inline(struct transport_call *call, uint8_t *data, size_t len, uint8_t *msg,
			size_t *msg_len)
{
	size_t after = *msg_len - (size_t)(data - msg) - len;
	size_t pad = WIRE_PAD(len) < after ? WIRE_PAD(len) : after;

	copy_to_sink(call, data, len);
	memmove(data, data + len + pad, after - pad);
	*msg_len -= len + pad;
}

/*
 * A reply to a call with a sink: what became of the bulk data?  written bytes came by write chunk.
 * The length the results state must agree with what was moved; a server that wrote the XDR padding
 * too is forgiven.
 */
static int settle_sink(const struct rpcrdma_link *link, struct transport_call *call, uint8_t *msg,
		       size_t *msg_len, size_t written, struct util_err *err)
{
	struct wire_rpc_error rpc_error;
	struct wire_dec d;
	size_t len = 0, left;
	uint32_t xid;
	ssize_t at;

	wire_dec_init(&d, msg, *msg_len);
	if (wire_rpc_reply_decode(&d, &xid, &rpc_error))
		return 0; /* no results; the core says what is wrong */
	left = wire_dec_left(&d);
	at = call->find_data(d.p, left, &len);
	if (at == -ENODATA)
		return 0;
	if (at < 0 || (size_t)at > left)
		return bad_reply(link, err, "its results are malformed");
	if (len > call->sink_len)
		return bad_reply(link, err, "it has more data than was asked for");
	if (written == 0 && len > 0) {
		if (len > left - (size_t)at)
			return bad_reply(link, err, "its data is missing");
		take_inline(call, msg + (d.p - msg) + at, len, msg, msg_len);
	} else if (written < len || written - len > WIRE_PAD(len)) {
		return bad_reply(link, err, "the data written is not as long as it says");
	}
	call->data_received = len;
	call->data_sunk = true;
	return 0;
}

/* ---- replies ---------------------------------------------------------------------------- */

/* A copy nobody else can change.  NULL: no memory. */
static uint8_t *copy_out(struct rpcrdma_link *link, const void *from, size_t len)
{
	if (len > link->scratch_len) {
		uint8_t *bigger = realloc(link->scratch, len);

		if (!bigger)
			return NULL;
		link->scratch = bigger;
		link->scratch_len = len;
	}
	memcpy(link->scratch, from, len);
	return link->scratch;
}

/* What its transport header says about the reply, held against the call. */
static void judge_reply(struct rpcrdma_link *link, struct rpcrdma_req *req, uint8_t *msg,
			size_t msg_len)
{
	struct rpcrdma_reply *reply = &req->reply;
	size_t reply_len;
	struct util_err err;

	rpcrdma_err_start(&err);
	if (check_lists(link, req, &reply->written, &reply_len, &err)) {
		fail_call(req, &err);
		return;
	}
	reply->nomsg = link->header.proc == RPCRDMA_NOMSG;
	reply->msg = reply->nomsg ? req->reply_lease->addr : msg;
	reply->msg_len = reply->nomsg ? reply_len : msg_len;
}

/* The message itself: bulk data to its place, the rest to the core. */
static int take_reply(struct rpcrdma_link *link, struct transport_call *call,
		      struct rpcrdma_reply *reply, struct util_err *err)
{
	if (reply->nomsg) {
		reply->msg = copy_out(link, reply->msg, reply->msg_len);
		if (!reply->msg)
			return util_err_set(err, -ENOMEM,
					    "a long reply of %zu bytes: out of memory",
					    reply->msg_len);
	}
	if (call->sink_len == 0)
		return 0;
	return settle_sink(link, call, reply->msg, &reply->msg_len, reply->written, err);
}

void rpcrdma_link_conclude(struct rpcrdma_link *link, struct rpcrdma_req *req)
{
	struct transport_call *call = req->call;
	struct rpcrdma_reply reply = req->reply;
	struct util_err err;
	int code = 0;

	rpcrdma_err_start(&err);
	if (call && reply.failed)
		err = call->err;
	else if (call)
		code = take_reply(link, call, &reply, &err);
	rpcrdma_req_release(link, req);
	if (!call)
		return;
	if (reply.failed || code)
		transport_client_fail(call, &err);
	else
		transport_client_reply(call, reply.msg, reply.msg_len);
}

static struct rpcrdma_req *find_req(struct rpcrdma_link *link, uint32_t xid)
{
	struct transport_call *call = transport_client_find(link->link.client, xid);

	if (call)
		return call->link_priv;
	UTIL_LIST_FOR_EACH (node, &link->abandoned) {
		struct rpcrdma_req *req = UTIL_LIST_ENTRY(node, struct rpcrdma_req, node);

		if (req->xid == xid && !req->closing)
			return req;
	}
	return NULL;
}

bool rpcrdma_link_receive(struct rpcrdma_link *link, uint8_t *buf, const struct fabric_wc *wc)
{
	struct rpcrdma_header *h = &link->header;
	size_t len = wc->byte_len;
	ssize_t header_len = rpcrdma_header_decode(h, buf, len);
	struct rpcrdma_req *req;
	struct util_err err;

	rpcrdma_err_start(&err);
	if (header_len == -ENODATA)
		return false;
	req = find_req(link, h->xid);
	if (!req)
		return false;
	link->credits = h->credits == 0 ? 1 : h->credits;
	if (link->credits > link->slots)
		link->credits = link->slots;
	req->reply = (struct rpcrdma_reply){.buffer = (uint32_t)wc->wr_id};
	if (header_len < 0) {
		bad_reply(link, &err,
			  header_len == -EPROTONOSUPPORT ? "it is of another RPC-over-RDMA version"
							 : "its transport header is malformed");
		fail_call(req, &err);
	} else if (h->proc == RPCRDMA_ERROR) {
		fail_by_error(link, req);
	} else if (h->proc == RPCRDMA_MSG || h->proc == RPCRDMA_NOMSG) {
		judge_reply(link, req, buf + header_len, len - (size_t)header_len);
	} else {
		bad_reply(link, &err, "it is no RPC reply");
		fail_call(req, &err);
	}
	if (rpcrdma_req_close(link, req, wc))
		return true;
	rpcrdma_link_conclude(link, req);
	return false;
}

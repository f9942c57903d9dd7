/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requester_send.c - a queued call becomes a Send.
 *
 * Normal operation.  flush() takes calls from the front of the core's queue while there are
 * credits. For each, plan.c decides how it travels; then the transport header and the message (with
 * what is copied into it) are written into an inline buffer, chunks are named by the keys of the
 * grants that mr opens for them, and the binds these may ask for and the Send are added to the
 * chain.  A chain is posted with one doorbell; only then do its calls count as sent.
 *
 * What a grant costs depends on the mode (mr.h): in pool mode nothing at all.  A long call or a
 * long reply takes a lease of the same pool.
 *
 * Credits.  inflight counts calls in the peer's hands, abandoned ones included: the peer still owes
 * their replies.  It never exceeds credits (RFC 8166 section 3.3.1), and receives for all of them
 * and for the refill batch are posted before the Send that needs them.
 *
 * Recovery.  A chain that could not be posted ends the connection; disconnect() puts everything
 * back, and the calls are still in the queue.
 */
#include <errno.h>

#include "transport/rpcrdma/requester.h"
#include "wire/wire.h"

/* ---- pieces of bulk memory -------------------------------------------------------------- */

/* Pieces that hold the first len bytes. */
static unsigned segs_used(const struct transport_seg *segs, unsigned nsegs, size_t len)
{
	unsigned used = 0;

	while (used < nsegs && len > 0) {
		len -= len < segs[used].len ? len : segs[used].len;
		used++;
	}
	return used;
}

static bool segs_leased(const struct transport_seg *segs, unsigned nsegs)
{
	for (unsigned i = 0; i < nsegs; i++) {
		if (!segs[i].lease)
			return false;
	}
	return true;
}

/* The peer may reach exactly what lies in the lease, for what the lease is for. */
static bool seg_valid(const struct rpcrdma_link *link, const struct transport_seg *seg,
		      enum mr_kind kind)
{
	const struct mr_lease *lease = seg->lease;
	size_t off;

	if (!lease)
		return true;
	if (lease->pool != link->site->pool || seg->len > UINT32_MAX ||
	    (lease->kind != kind && lease->kind != MR_KIND_BOTH))
		return false;
	off = (size_t)((const uint8_t *)seg->addr - (const uint8_t *)lease->addr);
	return off <= lease->size && seg->len <= lease->size - off;
}

static bool segs_valid(const struct rpcrdma_link *link, const struct transport_seg *segs,
		       unsigned nsegs, size_t len, enum mr_kind kind)
{
	unsigned used = segs_used(segs, nsegs, len);

	for (unsigned i = 0; i < used; i++) {
		if (!seg_valid(link, &segs[i], kind))
			return false;
	}
	return segs_leased(segs, used) || len <= RPCRDMA_BARE_MAX;
}

int rpcrdma_link_check_call(struct transport_link *tlink, const struct transport_call *call)
{
	const struct rpcrdma_link *link = rpcrdma_link_of(tlink);

	if (!segs_valid(link, call->data, call->data_nsegs, call->data_len, MR_KIND_WRITE) ||
	    !segs_valid(link, call->sink, call->sink_nsegs, call->sink_len, MR_KIND_READ) ||
	    call->data_pos % 4 != 0)
		return -EINVAL;
	if (call->reply_max > mr_pool_max_lease(link->site->pool))
		return -EMSGSIZE;
	return 0;
}

/* ---- the chain -------------------------------------------------------------------------- */

struct fabric_wr *rpcrdma_chain_add(struct rpcrdma_link *link)
{
	struct fabric_wr *wr = &link->wr[link->nwr];

	if (link->nwr > 0)
		link->wr[link->nwr - 1].next = wr;
	link->nwr++;
	wr->next = NULL;
	return wr;
}

/* NB: the wr_id is none of the send queue's entries: only an entry's last request retires it. */
void rpcrdma_chain_op(struct rpcrdma_link *link, const struct mr_op *op)
{
	struct fabric_wr *wr = rpcrdma_chain_add(link);

	wr->wr_id = UINT64_MAX;
	wr->flags = 0;
	wr->nsge = 0;
	if (op->kind == MR_OP_INVALIDATE) {
		wr->op = FABRIC_OP_LOCAL_INV;
		wr->u.inv_rkey = op->rkey;
		return;
	}
	wr->op = FABRIC_OP_BIND;
	wr->u.bind.window = op->window;
	wr->u.bind.reg = op->reg;
	wr->u.bind.iova = op->iova;
	wr->u.bind.len = op->len;
	wr->u.bind.access = op->access;
}

/* ---- what the peer may reach ------------------------------------------------------------ */

/* A grant for one piece, in front of the call's others; its segment in *out. */
static int expose(struct rpcrdma_link *link, struct rpcrdma_req *req,
		  const struct transport_seg *seg, enum mr_kind kind, struct rpcrdma_segment *out,
		  struct util_err *err)
{
	struct mr_grant *grant;
	int code = mr_grant_open(link->binder, seg->lease, seg->addr, seg->len, kind, &grant, err);

	if (code < 0)
		return code;
	grant->next = req->grants;
	req->grants = grant;
	if (code)
		rpcrdma_chain_op(link, &grant->op);
	out->handle = grant->rkey;
	out->length = grant->len;
	out->offset = grant->iova;
	return 0;
}

/* len bytes of the pieces as segments; returns how many, or -errno. */
static int expose_segs(struct rpcrdma_link *link, struct rpcrdma_req *req,
		       const struct transport_seg *segs, unsigned used, size_t len,
		       enum mr_kind kind, struct rpcrdma_segment *out, struct util_err *err)
{
	for (unsigned i = 0; i < used; i++) {
		struct transport_seg piece = segs[i];
		int code;

		if (piece.len > len)
			piece.len = len;
		len -= piece.len;
		code = expose(link, req, &piece, kind, &out[i], err);
		if (code)
			return code;
	}
	return (int)used;
}

static int expose_lease(struct rpcrdma_link *link, struct rpcrdma_req *req, struct mr_lease *lease,
			struct rpcrdma_segment *out, struct util_err *err)
{
	struct transport_seg seg = {.addr = lease->addr, .len = lease->len, .lease = lease};

	return expose(link, req, &seg, lease->kind, out, err);
}

/* ---- one call --------------------------------------------------------------------------- */

static void plan_call(const struct rpcrdma_link *link, const struct transport_call *call,
		      struct rpcrdma_plan *plan)
{
	struct rpcrdma_plan_in in = {
		.msg_len = call->msg_len,
		.data_len = call->data_len,
		.data_nsegs = segs_used(call->data, call->data_nsegs, call->data_len),
		.sink_len = call->sink_len,
		.sink_nsegs = segs_used(call->sink, call->sink_nsegs, call->sink_len),
		.reply_max = call->reply_max,
		.send_threshold = link->send_threshold,
		.recv_threshold = link->recv_threshold,
	};

	in.data_leased = segs_leased(call->data, in.data_nsegs);
	in.sink_leased = segs_leased(call->sink, in.sink_nsegs);
	rpcrdma_plan(plan, &in);
}

/* The leases of the link's own that this plan needs. */
static int take_leases(struct rpcrdma_link *link, const struct rpcrdma_plan *plan,
		       struct rpcrdma_req *req, struct util_err *err)
{
	struct mr_pool *pool = link->site->pool;
	int code;

	if (plan->long_call) {
		code = mr_lease_take(pool, MR_KIND_WRITE, plan->message_len, &req->msg_lease, err);
		if (code)
			return code;
	}
	if (plan->reply_len_max == 0)
		return 0;
	code = mr_lease_take(pool, MR_KIND_READ, plan->reply_len_max, &req->reply_lease, err);
	if (code) {
		mr_lease_give(req->msg_lease);
		req->msg_lease = NULL;
	}
	return code;
}

static int fill_reads(struct rpcrdma_link *link, const struct transport_call *call,
		      const struct rpcrdma_plan *plan, struct rpcrdma_req *req,
		      struct util_err *err)
{
	struct rpcrdma_header *h = &link->header;
	struct rpcrdma_segment segs[RPCRDMA_MAX_SEGS];
	int n;

	if (plan->long_call) {
		h->read[h->nreads].position = 0;
		n = expose_lease(link, req, req->msg_lease, &h->read[h->nreads++].seg, err);
		if (n < 0)
			return n;
	}
	if (plan->data != RPCRDMA_DATA_CHUNK)
		return 0;
	n = expose_segs(link, req, call->data,
			segs_used(call->data, call->data_nsegs, call->data_len), call->data_len,
			MR_KIND_WRITE, segs, err);
	for (int i = 0; i < n; i++) {
		h->read[h->nreads].position = (uint32_t)call->data_pos;
		h->read[h->nreads++].seg = segs[i];
	}
	return n < 0 ? n : 0;
}

static int fill_writes(struct rpcrdma_link *link, const struct transport_call *call,
		       const struct rpcrdma_plan *plan, struct rpcrdma_req *req,
		       struct util_err *err)
{
	struct rpcrdma_header *h = &link->header;
	int n;

	if (plan->reply == RPCRDMA_REPLY_WRITE_CHUNK) {
		n = expose_segs(link, req, call->sink,
				segs_used(call->sink, call->sink_nsegs, call->sink_len),
				call->sink_len, MR_KIND_READ, req->offered.seg, err);
		if (n < 0)
			return n;
		req->offered.nsegs = (uint32_t)n;
		h->write[h->nwrites++] = req->offered;
	} else if (plan->reply == RPCRDMA_REPLY_CHUNK) {
		n = expose_lease(link, req, req->reply_lease, &req->offered.seg[0], err);
		if (n < 0)
			return n;
		req->offered.nsegs = 1;
		h->reply = req->offered;
		h->has_reply = true;
	}
	return 0;
}

static int fill_header(struct rpcrdma_link *link, const struct transport_call *call,
		       const struct rpcrdma_plan *plan, struct rpcrdma_req *req,
		       struct util_err *err)
{
	struct rpcrdma_header *h = &link->header;
	int code;

	h->xid = call->xid;
	h->credits = link->slots;
	h->proc = plan->long_call ? RPCRDMA_NOMSG : RPCRDMA_MSG;
	h->nreads = h->nwrites = 0;
	h->has_reply = false;
	req->offered.nsegs = 0;
	code = fill_reads(link, call, plan, req, err);
	if (!code)
		code = fill_writes(link, call, plan, req, err);
	req->reply_way = plan->reply;
	req->exposed = plan->data == RPCRDMA_DATA_CHUNK || plan->reply == RPCRDMA_REPLY_WRITE_CHUNK;
	return code;
}

/* The RPC message, with the bulk argument at its place if it is copied. */
static void write_message(uint8_t *out, const struct transport_call *call, bool with_data)
{
	size_t head = with_data ? call->data_pos : call->msg_len;
	size_t left = call->data_len;

	memcpy(out, call->msg, head);
	out += head;
	if (!with_data)
		return;
	for (unsigned i = 0; left > 0; i++) {
		size_t piece = left < call->data[i].len ? left : call->data[i].len;

		memcpy(out, call->data[i].addr, piece);
		out += piece;
		left -= piece;
	}
	memset(out, 0, WIRE_PAD(call->data_len));
	out += WIRE_PAD(call->data_len);
	memcpy(out, call->msg + head, call->msg_len - head);
}

/* The Send behind the call's nops binds. */
static void fill_send(struct rpcrdma_link *link, unsigned n, unsigned nops, uint32_t buffer,
		      size_t len)
{
	struct fabric_wr *wr = rpcrdma_chain_add(link);
	bool signal;

	link->sge[n] = rpcrdma_buffers_sge(&link->sends, buffer, 0, (uint32_t)len);
	wr->op = FABRIC_OP_SEND;
	wr->nsge = 1;
	wr->sge = &link->sge[n];
	wr->wr_id = rpcrdma_sendq_push(&link->sendq, rpcrdma_owner_buffer(buffer), nops + 1, false,
				       &signal);
	wr->flags = (signal ? FABRIC_WR_SIGNALED : 0) |
		    (len <= link->max_inline ? FABRIC_WR_INLINE : 0);
}

/* The call was not sent after all: nothing of it is in the chain or in the peer's reach. */
static void unprepare(struct rpcrdma_link *link, struct rpcrdma_req *req, unsigned nwr)
{
	link->nwr = nwr;
	if (nwr > 0)
		link->wr[nwr - 1].next = NULL;
	while (req->grants) {
		struct mr_grant *grant = req->grants;

		req->grants = grant->next;
		mr_grant_end(link->binder, grant);
	}
	mr_lease_give(req->msg_lease);
	mr_lease_give(req->reply_lease);
	req->msg_lease = req->reply_lease = NULL;
}

/*
 * Add call to the chain as its n-th.  -ENOMEM, -ENOSPC: no lease or grant to be had, nothing is
 * changed.
 */
static int prepare(struct rpcrdma_link *link, struct transport_call *call, unsigned n,
		   struct util_err *err)
{
	struct rpcrdma_req *req = UTIL_LIST_ENTRY(link->free_reqs.next, struct rpcrdma_req, node);
	unsigned nwr = link->nwr;
	struct rpcrdma_plan plan;
	uint32_t buffer;
	uint8_t *out;
	ssize_t header_len;
	int code;

	plan_call(link, call, &plan);
	code = take_leases(link, &plan, req, err);
	if (code)
		return code;
	code = fill_header(link, call, &plan, req, err);
	if (code) {
		unprepare(link, req, nwr);
		return code;
	}
	buffer = link->sends.free[--link->sends.nfree];
	out = rpcrdma_buffers_addr(&link->sends, buffer);
	header_len = rpcrdma_header_encode(&link->header, out, link->send_threshold);
	if (plan.long_call)
		write_message(req->msg_lease->addr, call, plan.data == RPCRDMA_DATA_INLINE);
	else
		write_message(out + header_len, call, plan.data == RPCRDMA_DATA_INLINE);
	util_list_del(&req->node);
	req->used = true;
	req->call = call;
	req->xid = call->xid;
	call->link_priv = req;
	link->inflight++;
	link->batch[n] = req;
	rpcrdma_req_expect(link, req, true);
	fill_send(link, n, link->nwr - nwr, buffer,
		  (size_t)header_len + (plan.long_call ? 0 : plan.message_len));
	return 0;
}

/* ---- chains ----------------------------------------------------------------------------- */

/* May one more call be sent? */
static bool sendable(struct rpcrdma_link *link)
{
	if (link->inflight >= link->credits) {
		link->link.client->counters.credit_waits++;
		return false;
	}
	return link->sends.nfree > 0 && rpcrdma_sendq_room(&link->sendq) >= link->call_wr;
}

/* Calls in flight will give back what is short; without any, waiting would be for ever. */
static bool worth_waiting(const struct rpcrdma_link *link, int code)
{
	return (code == -ENOMEM || code == -ENOSPC) && link->inflight > 0;
}

/*
 * Make a chain from the front of the queue.  Returns its calls; *more says whether another one may
 * follow at once.
 */
static unsigned gather(struct rpcrdma_link *link, bool *more)
{
	struct transport_client *client = link->link.client;
	unsigned n = 0;

	*more = false;
	link->nwr = 0;
	UTIL_LIST_FOR_EACH_SAFE (node, &client->queue) {
		struct transport_call *call = UTIL_LIST_ENTRY(node, struct transport_call, node);
		struct util_err err;
		int code;

		rpcrdma_err_start(&err);
		if (n == RPCRDMA_BATCH || link->nwr + link->call_wr > RPCRDMA_CHAIN) {
			*more = true;
			break;
		}
		if (!sendable(link))
			break;
		code = prepare(link, call, n, &err);
		if (code == 0) {
			n++;
			continue;
		}
		if (worth_waiting(link, code))
			break;
		transport_client_fail(call, &err);
	}
	return n;
}

/* Receives for every call in flight come first; the fabric takes a chain of them at little cost. */
int rpcrdma_link_refill(struct rpcrdma_link *link)
{
	if (link->recvq.posted >= link->inflight && link->recvq.npending < link->refill)
		return 0;
	return rpcrdma_recvq_post(&link->recvq, link->conn);
}

int rpcrdma_link_flush(struct transport_link *tlink)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);
	bool more = true;
	unsigned n;
	int err;

	while (more) {
		n = gather(link, &more);
		if (n == 0)
			break;
		err = rpcrdma_link_refill(link);
		if (err == 0)
			err = link->ops->post_send(link->conn, link->wr);
		if (err)
			return util_err_set(&tlink->client->last_err, err,
					    "%s: the connection takes no more sends (%s)",
					    tlink->client->params.server, strerror(-err));
		for (unsigned i = 0; i < n; i++)
			transport_client_sent(link->batch[i]->call);
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requester.c - the RPC-over-RDMA link of a client (RFC 8166): device, connection, events.
 *
 * Normal operation.  create() finds the device that routes to the server and takes a reference to
 * the (device, server) pair's domain and pool; a completion queue and all inline buffers are made
 * once and outlive connections.  connect() posts the receives and starts; ESTABLISHED carries the
 * server's private data (RFC 8797), from which the inline thresholds of the connection follow. From
 * then on process() takes completions: receives become replies (requester_recv.c), signalled sends
 * give their inline buffers back.
 *
 * A call's memory.  Bulk memory is the caller's; leases for long calls and long replies are the
 * link's, held by the call's rpcrdma_req.  Both are in the peer's reach from the Send until the
 * reply, or until conn_destroy() has returned.  How far that reach goes is the mode's affair: every
 * piece has a grant (mr.h), whose bind, where it takes one, goes out with the Send, and whose
 * invalidation is waited for before the reply is handed over (requester_close.c).
 *
 * Recovery.  The end of a connection is reported once, by DISCONNECTED, after all flushed
 * completions; the link then says link_down() and the core calls disconnect(), which destroys the
 * connection and so ends every access before any lease is given back or any call sent again.  The
 * connection is not repaired in any other way.
 *
 * An abandoned call whose own bulk memory is in a chunk takes the connection with it: done() hands
 * that memory back to its owner, who is free to reuse it, and only the end of the queue pair ends
 * the peer's access.  One that exposes nothing but the link's leases lets the connection live; the
 * leases stay in quarantine until the reply comes.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "transport/rpcrdma/private.h"
#include "transport/rpcrdma/requester.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- slots ------------------------------------------------------------------------------ */

/* Tell the fabric what the peer will fill, or (expect: false) that it is over. */
void rpcrdma_req_expect(struct rpcrdma_link *link, struct rpcrdma_req *req, bool expect)
{
	const struct rpcrdma_chunk *chunk = &req->offered;

	if (!link->ops->conn_expect || !link->conn)
		return;
	for (uint32_t i = 0; i < chunk->nsegs; i++) {
		const struct rpcrdma_segment *seg = &chunk->seg[i];

		if (expect)
			link->ops->conn_expect(link->conn, seg->offset, seg->length);
		else
			link->ops->conn_unexpect(link->conn, seg->offset);
	}
}

void rpcrdma_req_release(struct rpcrdma_link *link, struct rpcrdma_req *req)
{
	rpcrdma_req_expect(link, req, false);
	while (req->grants) {
		struct mr_grant *grant = req->grants;

		req->grants = grant->next;
		mr_grant_end(link->binder, grant);
	}
	mr_lease_give(req->msg_lease);
	mr_lease_give(req->reply_lease);
	req->msg_lease = req->reply_lease = NULL;
	util_list_del(&req->close_node);
	req->closing = false;
	if (req->call)
		req->call->link_priv = NULL;
	req->call = NULL;
	req->used = false;
	util_list_del(&req->node);
	util_list_push(&link->free_reqs, &req->node);
	link->inflight--;
}

static int slots_create(struct rpcrdma_link *link)
{
	util_list_init(&link->free_reqs);
	util_list_init(&link->abandoned);
	util_list_init(&link->closing);
	link->reqs = calloc(link->slots, sizeof(*link->reqs));
	if (!link->reqs)
		return -ENOMEM;
	for (uint32_t i = 0; i < link->slots; i++) {
		util_list_init(&link->reqs[i].close_node);
		util_list_add(&link->free_reqs, &link->reqs[i].node);
	}
	return 0;
}

static void link_abandon(struct transport_link *tlink, struct transport_call *call)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);
	struct rpcrdma_req *req = call->link_priv;
	struct util_err err = {0};

	if (!req)
		return;
	call->link_priv = NULL;
	req->call = NULL;
	util_list_add(&link->abandoned, &req->node);
	if (req->msg_lease)
		mr_lease_quarantine(req->msg_lease);
	if (req->reply_lease)
		mr_lease_quarantine(req->reply_lease);
	if (!req->exposed)
		return;
	util_err_set(
		&err, -ECONNABORTED,
		"connection to %s dropped: a call was canceled whose memory the server can reach",
		tlink->client->params.server);
	transport_client_link_down(tlink->client, &err);
}

/* ---- create and destroy ----------------------------------------------------------------- */

/* A bind, a Send and an invalidation per call where windows are used; else the Send alone. */
static uint32_t wr_per_call(const struct rpcrdma_link *link)
{
	return mr_pool_mode(link->site->pool) == MR_MODE_WINDOW ? 3 : 1;
}

/* Room for all calls, and for twice the largest (see sendq.c). */
static uint32_t send_depth(const struct rpcrdma_link *link)
{
	uint32_t depth = wr_per_call(link) * (link->slots + link->refill);

	return depth < 2 * link->call_wr ? 2 * link->call_wr : depth;
}

static int queues_create(struct rpcrdma_link *link, struct util_err *err)
{
	uint32_t depth = link->slots + link->refill;
	struct mr_pool *pool = link->site->pool;
	int code;

	code = mr_binder_create(&link->binder, pool, link->slots, err);
	if (code)
		return code;
	link->call_wr = 1 + mr_binder_ops(link->binder, RPCRDMA_PIECES);
	code = rpcrdma_recvq_create(&link->recvq, pool, depth, link->inline_size, err);
	if (code)
		goto err_binder;
	code = rpcrdma_buffers_create(&link->sends, pool, depth, link->inline_size, err);
	if (code)
		goto err_recvq;
	code = rpcrdma_sendq_init(&link->sendq, depth + link->slots, send_depth(link),
				  link->slots / 8);
	if (code) {
		util_err_set(err, code, "send queue: out of memory");
		goto err_sends;
	}
	code = slots_create(link);
	if (code) {
		util_err_set(err, code, "%u slots: out of memory", link->slots);
		goto err_sendq;
	}
	return 0;

err_sendq:
	rpcrdma_sendq_free(&link->sendq);
err_sends:
	rpcrdma_buffers_destroy(&link->sends);
err_recvq:
	rpcrdma_recvq_destroy(&link->recvq);
err_binder:
	mr_binder_destroy(link->binder);
	return code;
}

static void queues_destroy(struct rpcrdma_link *link)
{
	free(link->reqs);
	free(link->scratch);
	rpcrdma_sendq_free(&link->sendq);
	rpcrdma_buffers_destroy(&link->sends);
	rpcrdma_recvq_destroy(&link->recvq);
	mr_binder_destroy(link->binder);
}

static int link_create(struct transport_client *client, struct transport_link **linkp,
		       struct util_err *err)
{
	struct rpcrdma_link *link = calloc(1, sizeof(*link));
	const struct fabric_attr *attr;
	int code;

	if (!link)
		return util_err_set(err, -ENOMEM, "out of memory");
	link->link.ops = &rpcrdma_link_ops;
	link->link.client = client;
	link->ops = client->fabric_ops;
	link->clock_ns = util_clock_ns;
	code = transport_site_get(client->ctx, link->ops, &client->params, &link->site, err);
	if (code)
		goto err_free;
	attr = &link->site->domain->attr;
	rpcrdma_link_batching(link, mr_pool_batching(link->site->pool));
	link->inline_size = rpcrdma_inline_size(client->params.inline_size);
	link->slots = rpcrdma_fit_credits(
		client->params.slots,
		min_u32(attr->max_recv_wr, attr->max_send_wr / wr_per_call(link)));
	link->refill = rpcrdma_refill(link->slots);
	link->max_inline = min_u32(attr->max_inline, link->inline_size);
	code = queues_create(link, err);
	if (code)
		goto err_site;
	code = link->ops->cq_create(link->site->domain,
				    link->slots + link->refill + link->sendq.max_wr, &link->cq,
				    err);
	if (code)
		goto err_queues;
	*linkp = &link->link;
	return 0;

err_queues:
	queues_destroy(link);
err_site:
	transport_site_put(client->ctx, link->site);
err_free:
	free(link);
	return code;
}

static void link_disconnect(struct transport_link *tlink);

static void link_destroy(struct transport_link *tlink)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);

	link_disconnect(tlink);
	link->ops->cq_destroy(link->cq);
	queues_destroy(link);
	transport_site_put(tlink->client->ctx, link->site);
	free(link);
}

/* ---- connection ------------------------------------------------------------------------- */

static void fill_conn_params(struct rpcrdma_link *link, struct fabric_conn_params *p)
{
	const struct transport_client *client = link->link.client;
	struct rpcrdma_private private = {
		.send_size = link->inline_size,
		.recv_size = link->inline_size,
		/* A peer that invalidated a slab's key would end all calls that use it. */
		.remote_invalidation = mr_binder_all_windows(link->binder),
	};

	p->context = link;
	p->max_send_wr = link->sendq.max_wr;
	p->max_recv_wr = link->slots + link->refill;
	p->max_sge = 1;
	p->max_inline = link->max_inline;
	rpcrdma_private_encode(&private, p->private_data);
	p->private_len = RPCRDMA_PRIVATE_LEN;
	p->peer = client->params.addr;
	p->peer_len = client->params.addr_len;
	p->resvport = client->params.resvport;
	p->timeout_ms = client->params.connect_timeout_ms;
}

static int link_connect(struct transport_link *tlink, struct util_err *err)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);
	struct transport_client *client = tlink->client;
	struct fabric_conn_params params = {0};
	int code = -EADDRINUSE;

	fill_conn_params(link, &params);
	util_err_clear(&link->why);
	if (client->local.ss_family) {
		params.local = client->local;
		params.local_len = client->local_len;
		code = link->ops->conn_connect(link->cq, &params, &link->conn, err);
		params.local.ss_family = 0;
		params.local_len = 0;
	}
	/* The old port may be taken or the old address gone; any other will do. */
	if (code == -EADDRINUSE || code == -EADDRNOTAVAIL)
		code = link->ops->conn_connect(link->cq, &params, &link->conn, err);
	if (code) {
		link->conn = NULL;
		return code;
	}
	link->credits = 1;
	code = rpcrdma_recvq_post(&link->recvq, link->conn);
	if (code) {
		link_disconnect(tlink);
		return util_err_set(err, code, "post receives: %s", strerror(-code));
	}
	return 0;
}

static void link_disconnect(struct transport_link *tlink)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);

	if (link->conn)
		link->ops->conn_destroy(link->conn);
	link->conn = NULL;
	link->up = false;
	mr_binder_reset(link->binder);
	/* ORDER: only now is nobody left who could touch what is given back here. */
	for (uint32_t i = 0; i < link->slots; i++) {
		if (link->reqs[i].used)
			rpcrdma_req_release(link, &link->reqs[i]);
	}
	link->closing_wr = 0;
	link->held_since_ns = 0;
	rpcrdma_sendq_reset(&link->sendq);
	rpcrdma_buffers_reset(&link->sends);
	rpcrdma_recvq_reset(&link->recvq);
	link->credits = 1;
}

/* ---- events ----------------------------------------------------------------------------- */

static void on_established(struct rpcrdma_link *link)
{
	struct transport_client *client = link->link.client;
	struct rpcrdma_private peer;

	link->peer_private = rpcrdma_private_decode(&peer, link->conn->peer_private,
						    link->conn->peer_private_len);
	link->send_threshold = rpcrdma_inline_threshold(link->inline_size, peer.recv_size);
	link->recv_threshold = rpcrdma_inline_threshold(peer.send_size, link->inline_size);
	link->peer_invalidates = peer.remote_invalidation;
	link->up = true;
	client->local = link->conn->local;
	client->local_len = sizeof(client->local);
	transport_client_link_up(client);
}

static void on_disconnected(struct rpcrdma_link *link)
{
	const struct util_err *err = NULL;

	if (link->conn->err.code)
		err = &link->conn->err;
	else if (link->why.code)
		err = &link->why;
	link->up = false;
	transport_client_link_down(link->link.client, err);
}

/* Remember the first completion error; DISCONNECTED follows and tells the core. */
static void note_error(struct rpcrdma_link *link, const struct fabric_wc *wc)
{
	if (wc->status == FABRIC_WC_FLUSHED || link->why.code)
		return;
	util_err_set(&link->why, -EIO, "connection to %s: %s", link->link.client->params.server,
		     fabric_wc_status_name(wc->status));
	util_err_hint(&link->why, "%s", fabric_wc_status_hint(wc->status));
}

static void on_send(struct rpcrdma_link *link, const struct fabric_wc *wc)
{
	bool good = wc->status == FABRIC_WC_OK;
	void *owner;

	if (!good)
		note_error(link, wc);
	while (rpcrdma_sendq_retire(&link->sendq, wc->wr_id, &owner)) {
		uint32_t i = (uint32_t)((uintptr_t)owner >> 1);

		if (!((uintptr_t)owner & 1))
			link->sends.free[link->sends.nfree++] = i;
		else if (good) /* else only the connection's end is sure to end the access */
			rpcrdma_req_closed(link, &link->reqs[i]);
	}
}

static void on_recv(struct rpcrdma_link *link, const struct fabric_wc *wc)
{
	uint32_t i = (uint32_t)wc->wr_id;
	uint8_t *buf = rpcrdma_recvq_take(&link->recvq, i);
	bool held = false;

	link->uninvited = wc->status == FABRIC_WC_OK && wc->invalidated;
	if (wc->status != FABRIC_WC_OK)
		note_error(link, wc);
	else
		held = rpcrdma_link_receive(link, buf, wc);
	if (!held)
		rpcrdma_recvq_give(&link->recvq, i);
	if (link->uninvited) {
		/* Not a window of the call it answers: it may have been another call's. */
		struct util_err err = {0};

		util_err_set(&err, -EPROTO, "%s invalidated a key it was not offered for that",
			     link->link.client->params.server);
		transport_client_link_down(link->link.client, &err);
	}
}

static void on_completion(struct rpcrdma_link *link, const struct fabric_wc *wc)
{
	switch (wc->type) {
	case FABRIC_WC_RECV:
		on_recv(link, wc);
		break;
	case FABRIC_WC_SEND:
		on_send(link, wc);
		break;
	case FABRIC_EV_ESTABLISHED:
		on_established(link);
		break;
	case FABRIC_EV_DISCONNECTED:
		on_disconnected(link);
		break;
	}
}

static void link_process(struct transport_link *tlink)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);
	struct fabric_wc wc[RPCRDMA_POLL];
	int n, posted;

	do {
		n = link->ops->cq_poll(link->cq, wc, RPCRDMA_POLL);
		for (int i = 0; i < n; i++)
			on_completion(link, &wc[i]);
		posted = rpcrdma_link_invalidate(link, n == RPCRDMA_POLL);
	} while (n == RPCRDMA_POLL || posted > 0);
	/* Messages that answer nothing use up receives too. */
	if (link->up && (posted < 0 || rpcrdma_link_refill(link)))
		on_disconnected(link);
}

static int link_wait(struct transport_link *tlink, int timeout_ms)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);

	return link->ops->cq_wait(link->cq, timeout_ms);
}

static int link_fd(struct transport_link *tlink, uint32_t *events)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);

	*events = EPOLLIN;
	return link->ops->cq_fd(link->cq);
}

static int link_arm(struct transport_link *tlink)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);

	return link->ops->cq_arm(link->cq);
}

static uint64_t link_deadline(struct transport_link *tlink)
{
	struct rpcrdma_link *link = rpcrdma_link_of(tlink);

	return link->ops->cq_deadline(link->cq);
}

/* ---- facts ------------------------------------------------------------------------------ */

static void link_counters(const struct transport_link *tlink, struct transport_counters *counters)
{
	const struct rpcrdma_link *link = rpcrdma_link_of(tlink);
	struct fabric_counters f = {0};

	link->ops->cq_counters(link->cq, &f);
	counters->doorbells = f.doorbells;
	counters->progress_sends = f.progress_sends;
	counters->receive_calls = f.receive_calls;
	counters->completions_signalled = f.completions_signalled;
	counters->bytes_sent = f.bytes_sent;
	counters->bytes_received = f.bytes_received;
}

static struct mr_pool *link_pool(struct transport_link *tlink)
{
	return rpcrdma_link_of(tlink)->site->pool;
}

static const struct fabric_attr *link_attr(const struct transport_link *tlink)
{
	return &rpcrdma_link_of(tlink)->site->domain->attr;
}

static const char *link_fabric_name(const struct transport_link *tlink)
{
	return rpcrdma_link_of(tlink)->ops->name;
}

static int link_agreed(const struct transport_link *tlink, struct transport_agreed *agreed)
{
	const struct rpcrdma_link *link = rpcrdma_link_of(tlink);

	if (!link->up)
		return -ENOTCONN;
	*agreed = (struct transport_agreed){
		.private_data = link->peer_private,
		.peer_invalidates = link->peer_invalidates,
		.send_size = link->send_threshold,
		.recv_size = link->recv_threshold,
		.credits = link->credits,
	};
	return 0;
}

const struct transport_link_ops rpcrdma_link_ops = {
	.name = "rpcrdma",
	.create = link_create,
	.destroy = link_destroy,
	.connect = link_connect,
	.disconnect = link_disconnect,
	.flush = rpcrdma_link_flush,
	.process = link_process,
	.wait = link_wait,
	.fd = link_fd,
	.arm = link_arm,
	.deadline = link_deadline,
	.abandon = link_abandon,
	.check_call = rpcrdma_link_check_call,
	.counters = link_counters,
	.pool = link_pool,
	.attr = link_attr,
	.fabric_name = link_fabric_name,
	.agreed = link_agreed,
};

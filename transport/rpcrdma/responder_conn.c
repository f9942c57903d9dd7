/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder_conn.c - one connection of the server: its memory and its end.
 *
 * All memory is made when the connection is: receives for every credit and a refill batch, send
 * buffers, a struct rpcrdma_sreq for every credit.  A call holds one from its receive until its
 * reply is posted; what must outlive that (the inline buffer, sources of RDMA Writes) passes to the
 * send queue's entry.
 *
 * The end.  After DISCONNECTED (or to forestall it) conn_destroy() ends the peer's access and all
 * work requests; only then are leases and buffers given back.  Calls the service still holds keep
 * the struct alive, without a fabric connection; their answers go nowhere, and the last one frees
 * it.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rpcrdma/private.h"
#include "transport/rpcrdma/responder.h"

#define CREDITS_DEFAULT 128
#define SEND_WR_WANTED 1024

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- calls ------------------------------------------------------------------------------ */

struct rpcrdma_sreq *rpcrdma_sreq_take(struct rpcrdma_conn *conn)
{
	struct util_list *node = util_list_pop(&conn->free_reqs);
	struct rpcrdma_sreq *req = UTIL_LIST_ENTRY(node, struct rpcrdma_sreq, node);

	conn->in_hand++;
	req->nreads = req->next_read = req->next_off = req->reads_out = 0;
	req->has_write = req->has_reply = req->has_inv = false;
	req->call_len = req->data_len = 0;
	req->error = 0;
	req->data_by_chunk = req->long_reply = false;
	return req;
}

void rpcrdma_sreq_give_recv(struct rpcrdma_sreq *req)
{
	if (req->has_recv)
		rpcrdma_recvq_give(&req->conn->recvq, req->recv);
	req->has_recv = false;
}

static void give_lease(struct mr_lease **lease)
{
	mr_lease_give(*lease);
	*lease = NULL;
}

/* Long calls are rare; a buffer of ordinary size is kept for the next one. */
static void trim_call_buf(struct rpcrdma_sreq *req)
{
	if (req->call_buf_len <= 65536)
		return;
	free(req->call_buf);
	req->call_buf = NULL;
	req->call_buf_len = 0;
}

static void conn_free(struct rpcrdma_conn *conn);

void rpcrdma_sreq_give(struct rpcrdma_sreq *req)
{
	struct rpcrdma_conn *conn = req->conn;

	give_lease(&req->call_lease);
	give_lease(&req->data_lease);
	give_lease(&req->results_lease);
	give_lease(&req->reply_data_lease);
	rpcrdma_sreq_give_recv(req);
	trim_call_buf(req);
	req->state = RPCRDMA_SREQ_FREE;
	util_list_del(&req->node);
	util_list_push(&conn->free_reqs, &req->node);
	conn->in_hand--;
	if (!conn->conn && conn->in_hand == 0)
		conn_free(conn);
}

/* ---- create ----------------------------------------------------------------------------- */

/* The limits of a connection: what is granted, and what the device's queues hold. */
struct limits {
	uint32_t credits, refill, max_wr;
};

static struct limits choose_limits(const struct transport_server_params *params,
				   const struct fabric_attr *attr)
{
	uint32_t wish = params->credits ? params->credits : CREDITS_DEFAULT;
	struct limits l;

	l.credits = rpcrdma_fit_credits(wish, attr->max_recv_wr);
	l.refill = rpcrdma_refill(l.credits);
	l.max_wr = min_u32(attr->max_send_wr, SEND_WR_WANTED);
	return l;
}

uint32_t rpcrdma_conn_depth_of(const struct transport_server_params *params,
			       const struct fabric_attr *attr)
{
	struct limits l = choose_limits(params, attr);

	return l.credits + l.refill + l.max_wr;
}

static void choose_sizes(struct rpcrdma_conn *conn, const struct fabric_request *freq)
{
	const struct transport_server_params *params =
		transport_worker_params(rpcrdma_scq_worker(conn->scq));
	const struct fabric_attr *attr = &freq->domain->attr;
	struct limits l = choose_limits(params, attr);
	struct rpcrdma_private peer;

	rpcrdma_private_decode(&peer, freq->peer_private, freq->peer_private_len);
	conn->remote_invalidation = peer.remote_invalidation;
	conn->recv_size = rpcrdma_inline_size(params->inline_size);
	conn->send_size = rpcrdma_inline_threshold(conn->recv_size, peer.recv_size);
	conn->credits = l.credits;
	conn->refill = l.refill;
	conn->nsends = l.credits + l.refill;
	conn->max_wr = l.max_wr;
	conn->max_chain = min_u32(conn->max_wr / 2, RPCRDMA_CHAIN_MAX);
	conn->max_reads = attr->max_rd_atomic ? attr->max_rd_atomic : 1;
	conn->depth = rpcrdma_conn_depth_of(params, attr);
}

static int create_reqs(struct rpcrdma_conn *conn)
{
	conn->posted = calloc(conn->nsends, sizeof(*conn->posted));
	conn->reqs = calloc(conn->credits, sizeof(*conn->reqs));
	conn->outs = calloc(conn->credits, conn->send_size);
	if (!conn->posted || !conn->reqs || !conn->outs)
		return -ENOMEM;
	for (uint32_t i = 0; i < conn->nsends; i++)
		conn->posted[i].buffer = i;
	for (uint32_t i = 0; i < conn->credits; i++) {
		struct rpcrdma_sreq *req = &conn->reqs[i];

		req->rl.ops = &rpcrdma_responder_ops;
		req->conn = conn;
		req->reading.reader = req;
		req->out = conn->outs + (size_t)i * conn->send_size;
		util_list_add(&conn->free_reqs, &req->node);
	}
	return rpcrdma_sendq_init(&conn->sendq, conn->nsends + conn->credits, conn->max_wr,
				  conn->credits / 8);
}

int rpcrdma_conn_create(struct rpcrdma_conn **connp, struct rpcrdma_scq *scq,
			const struct fabric_request *freq, struct util_err *err)
{
	struct rpcrdma_conn *conn = calloc(1, sizeof(*conn));
	int code;

	if (!conn)
		return util_err_set(err, -ENOMEM, "accept: out of memory");
	conn->scq = scq;
	conn->peer = freq->peer;
	util_list_init(&conn->node);
	util_list_init(&conn->free_reqs);
	util_list_init(&conn->waiting);
	choose_sizes(conn, freq);
	code = rpcrdma_recvq_create(&conn->recvq, scq->pool, conn->credits + conn->refill,
				    conn->recv_size, err);
	if (code)
		goto err_free;
	code = rpcrdma_buffers_create(&conn->sends, scq->pool, conn->nsends, conn->send_size, err);
	if (code)
		goto err_free;
	code = create_reqs(conn);
	if (code) {
		util_err_set(err, code, "accept: out of memory");
		goto err_free;
	}
	util_list_add(&scq->conns, &conn->node);
	scq->used += conn->depth;
	*connp = conn;
	return 0;

err_free:
	conn_free(conn);
	return code;
}

void rpcrdma_conn_params(const struct rpcrdma_conn *conn, struct fabric_conn_params *params)
{
	struct rpcrdma_private private = {
		.send_size = conn->recv_size,
		.recv_size = conn->recv_size,
		/* Keys of ours are never in a message: there is nothing to invalidate. */
		.remote_invalidation = false,
	};

	*params = (struct fabric_conn_params){
		.context = (void *)conn,
		.max_send_wr = conn->max_wr,
		.max_recv_wr = conn->credits + conn->refill,
		.max_sge = 1,
		.private_len = RPCRDMA_PRIVATE_LEN,
	};
	rpcrdma_private_encode(&private, params->private_data);
}

/* ---- the end ---------------------------------------------------------------------------- */

static void conn_free(struct rpcrdma_conn *conn)
{
	util_list_del(&conn->node);
	for (uint32_t i = 0; conn->reqs && i < conn->credits; i++)
		free(conn->reqs[i].call_buf);
	rpcrdma_sendq_free(&conn->sendq);
	rpcrdma_buffers_destroy(&conn->sends);
	rpcrdma_recvq_destroy(&conn->recvq);
	free(conn->outs);
	free(conn->reqs);
	free(conn->posted);
	free(conn);
}

void rpcrdma_conn_drop(struct rpcrdma_conn *conn, const char *why)
{
	const struct transport_server_params *params =
		transport_worker_params(rpcrdma_scq_worker(conn->scq));

	if (conn->dropping || !conn->conn)
		return;
	conn->dropping = true;
	util_log(params->log, UTIL_LOG_WARN, "client dropped: %s", why);
	conn->scq->ops->conn_disconnect(conn->conn);
}

/* The queue is polled until it is empty, or armed, after every post: the fabric may gather them. */
void rpcrdma_conn_post(struct rpcrdma_conn *conn, struct fabric_wr *chain)
{
	struct fabric_wr *last = chain;

	while (last->next)
		last = last->next;
	last->flags |= FABRIC_WR_MORE;
	conn->scq->touched = true;
	if (conn->scq->ops->post_send(conn->conn, chain))
		rpcrdma_conn_drop(conn, "the connection takes no more work");
}

void rpcrdma_conn_refill(struct rpcrdma_conn *conn)
{
	if (conn->dropping || conn->recvq.npending < conn->refill)
		return;
	conn->scq->touched = true;
	if (rpcrdma_recvq_post(&conn->recvq, conn->conn))
		rpcrdma_conn_drop(conn, "the connection takes no more receives");
}

/* Nothing of the connection is in the fabric's hands any more. */
static void release_posted(struct rpcrdma_conn *conn)
{
	for (uint32_t i = 0; i < conn->nsends; i++) {
		give_lease(&conn->posted[i].lease[0]);
		give_lease(&conn->posted[i].lease[1]);
	}
}

void rpcrdma_conn_gone(struct rpcrdma_conn *conn)
{
	bool idle = conn->in_hand == 0;

	if (conn->conn)
		conn->scq->ops->conn_destroy(conn->conn);
	conn->conn = NULL;
	conn->scq->used -= conn->depth;
	util_list_del(&conn->node);
	release_posted(conn);
	if (idle) {
		conn_free(conn);
		return;
	}
	/* The last call given frees the connection; hold one back until the loop is through. */
	conn->in_hand++;
	for (uint32_t i = 0; i < conn->credits; i++) {
		struct rpcrdma_sreq *req = &conn->reqs[i];

		if (req->state == RPCRDMA_SREQ_READING || req->state == RPCRDMA_SREQ_REPLY)
			rpcrdma_sreq_give(req);
	}
	conn->in_hand--;
	if (conn->in_hand == 0)
		conn_free(conn);
}

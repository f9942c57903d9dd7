/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder_read.c - the chunks of a call's read list are pulled by RDMA Read.
 *
 * Each of the two possible chunks goes to one lease, so that every work request needs a single
 * local piece, whatever the device's limit for reads is.  A segment longer than the device's
 * longest message is split.  No more reads are outstanding on a connection than the device (and its
 * peer) takes; the rest follow as these complete, in order of arrival.
 *
 * Pool memory may run out: the budget is the user's, and clients may have many calls under way.  A
 * call that finds none starves until leases come back, first come first served; the client only
 * sees a slow server.
 *
 * Only the last request of a chain is signalled.  Its completion says that all of the chain's data
 * is in memory; the call is dispatched when none is left, never before.
 */
#include <errno.h>

#include "transport/rpcrdma/responder.h"

static int take_leases(struct rpcrdma_sreq *req)
{
	struct mr_pool *pool = req->conn->scq->pool;
	int err;

	if (req->call_len > 0) {
		err = mr_lease_take(pool, MR_KIND_SINK, req->call_len, &req->call_lease, NULL);
		if (err)
			return err;
	}
	if (req->data_len == 0)
		return 0;
	err = mr_lease_take(pool, MR_KIND_SINK, req->data_len, &req->data_lease, NULL);
	if (err) {
		/* Two calls that hold one lease each would wait for each other. */
		mr_lease_give(req->call_lease);
		req->call_lease = NULL;
	}
	return err;
}

static void try_pull(struct rpcrdma_sreq *req)
{
	int err = take_leases(req);

	if (err == 0)
		rpcrdma_sreq_wait(req);
	else if (err == -ENOMEM)
		util_list_add(&req->conn->scq->starved, &req->node);
	else
		rpcrdma_sreq_refuse(req, RPCRDMA_ERR_CHUNK);
}

void rpcrdma_sreq_pull(struct rpcrdma_sreq *req)
{
	req->state = RPCRDMA_SREQ_READING;
	try_pull(req);
}

void rpcrdma_scq_feed_starved(struct rpcrdma_scq *scq)
{
	struct util_list again = UTIL_LIST_INIT(again);
	struct util_list *node;

	util_list_splice(&again, &scq->starved);
	while ((node = util_list_pop(&again))) {
		try_pull(UTIL_LIST_ENTRY(node, struct rpcrdma_sreq, node));
		/* One that starves on goes first next time, and so do those behind it. */
		if (!util_list_empty(&scq->starved))
			break;
	}
	util_list_splice(&scq->starved, &again);
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Where in its lease the next byte of the current entry goes. */
static size_t sink_offset(const struct rpcrdma_sreq *req)
{
	bool call = req->read[req->next_read].position == 0;
	size_t off = req->next_off;

	for (uint32_t i = 0; i < req->next_read; i++) {
		if ((req->read[i].position == 0) == call)
			off += req->read[i].seg.length;
	}
	return off;
}

static void skip_empty(struct rpcrdma_sreq *req)
{
	while (req->next_read < req->nreads &&
	       req->next_off == req->read[req->next_read].seg.length) {
		req->next_read++;
		req->next_off = 0;
	}
}

/* Make one work request of the next piece. */
static void next_piece(struct rpcrdma_sreq *req, struct fabric_wr *wr, struct fabric_sge *sge)
{
	const struct rpcrdma_segment *seg = &req->read[req->next_read].seg;
	const struct mr_lease *lease =
		req->read[req->next_read].position == 0 ? req->call_lease : req->data_lease;
	uint64_t max = req->conn->scq->domain->attr.max_msg;
	uint32_t piece = seg->length - req->next_off;
	size_t off = sink_offset(req);

	if (piece > max)
		piece = (uint32_t)max;
	*sge = (struct fabric_sge){
		.ptr = (uint8_t *)lease->addr + off,
		.iova = lease->iova + off,
		.len = piece,
		.lkey = lease->lkey,
	};
	*wr = (struct fabric_wr){.op = FABRIC_OP_READ, .nsge = 1, .sge = sge};
	wr->u.remote.iova = seg->offset + req->next_off;
	wr->u.remote.rkey = seg->handle;
	req->next_off += piece;
	skip_empty(req);
}

bool rpcrdma_sreq_post_reads(struct rpcrdma_sreq *req)
{
	struct rpcrdma_conn *conn = req->conn;
	struct rpcrdma_scq *scq = conn->scq;
	uint32_t max = min_u32(conn->max_reads - conn->reads_out, conn->max_chain), n = 0;
	bool signal;

	max = min_u32(max, rpcrdma_sendq_room(&conn->sendq));
	if (max == 0)
		return false;
	for (skip_empty(req); n < max && req->next_read < req->nreads; n++) {
		next_piece(req, &scq->wr[n], &scq->sge[n]);
		if (n > 0)
			scq->wr[n - 1].next = &scq->wr[n];
	}
	scq->wr[n - 1].flags = FABRIC_WR_SIGNALED;
	scq->wr[n - 1].wr_id = rpcrdma_sendq_push(&conn->sendq, &req->reading, n, true, &signal);
	req->reads_out = n;
	conn->reads_out += n;
	rpcrdma_conn_post(conn, scq->wr);
	return true;
}

void rpcrdma_sreq_reads_done(struct rpcrdma_sreq *req)
{
	struct rpcrdma_conn *conn = req->conn;

	conn->reads_out -= req->reads_out;
	req->reads_out = 0;
	if (conn->dropping)
		return; /* given back when the connection is gone */
	if (req->next_read < req->nreads)
		rpcrdma_sreq_wait(req);
	else
		rpcrdma_sreq_dispatch(req);
}

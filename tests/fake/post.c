/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * post.c - work requests of the fake, and the rules they must keep.
 *
 * Sends and RDMA Writes are carried out when they are posted; RDMA Reads when their poster next
 * polls, so that data read before the completion is missing. Completions come in order, one that is
 * held or reads that are outstanding hold those behind them.
 *
 * Memory that belongs to the fabric is watched: send memory by a hash taken at the post and
 * compared when the completion that covers it is handed out; receive buffers are overwritten when
 * posted.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/fake/internal.h"

#define RECV_FILL 0xee
#define READ_FILL 0xdd

static uint64_t hash_pieces(const struct fake_wr *w)
{
	uint64_t hash = UINT64_C(1469598103934665603);

	for (uint32_t i = 0; i < w->wr.nsge; i++) {
		const uint8_t *p = w->sge[i].ptr;

		for (uint32_t k = 0; k < w->sge[i].len; k += k < 4096 ? 1 : 61)
			hash = (hash ^ p[k]) * UINT64_C(1099511628211);
	}
	return hash;
}

void fake_retire_sends(struct fake_conn *c, uint64_t wr_id)
{
	bool last = false;

	while (!last && !util_list_empty(&c->sq)) {
		struct fake_wr *w = UTIL_LIST_ENTRY(c->sq.next, struct fake_wr, node);

		last = (w->wr.flags & FABRIC_WR_SIGNALED || w->failed) && w->wr.wr_id == wr_id;
		if (w->wr.op != FABRIC_OP_READ && !(w->wr.flags & FABRIC_WR_INLINE) &&
		    hash_pieces(w) != w->hash)
			fake_violate("memory of work request %llu changed before its completion",
				     (unsigned long long)w->wr.wr_id);
		if (c->advanced == &w->node)
			c->advanced = &c->sq;
		util_list_del(&w->node);
		c->sq_used--;
		free(w);
	}
}

/* ---- rules ------------------------------------------------------------------------------ */

static void check_local(const struct fake_conn *c, const struct fabric_sge *sge, unsigned access)
{
	const struct fabric_domain *domain = c->conn.cq->domain;

	if (!fake_world.setup.lkeys || sge->len == 0)
		return;
	if (fake_region_find(domain->provider, sge->lkey, sge->iova, sge->len, access) != sge->ptr)
		fake_violate("a local piece of %u bytes is not in the region of its lkey",
			     sge->len);
}

static void check_wr(const struct fake_conn *c, const struct fabric_wr *wr)
{
	const struct fabric_attr *attr = &c->conn.cq->domain->attr;
	uint32_t max_sge = c->params.max_sge;
	uint64_t total = 0;

	if (wr->op == FABRIC_OP_READ)
		max_sge = attr->max_read_sge;
	if (wr->nsge > max_sge || wr->nsge > 32)
		fake_violate("%u pieces, %u allowed", wr->nsge, max_sge);
	for (uint32_t i = 0; i < wr->nsge; i++) {
		check_local(c, &wr->sge[i], wr->op == FABRIC_OP_READ ? MR_ACCESS_READ_SINK : 0);
		total += wr->sge[i].len;
	}
	if (total > attr->max_msg)
		fake_violate("a message of %llu bytes", (unsigned long long)total);
	if (wr->flags & FABRIC_WR_INLINE && total > c->params.max_inline)
		fake_violate("%llu bytes inline", (unsigned long long)total);
	if ((wr->op == FABRIC_OP_BIND || wr->op == FABRIC_OP_LOCAL_INV) &&
	    !fake_world.setup.max_windows)
		fake_violate("a window request without windows");
}

/* ---- delivery --------------------------------------------------------------------------- */

static void gather(uint8_t *to, const struct fabric_sge *sge, uint32_t nsge)
{
	for (uint32_t i = 0; i < nsge; i++) {
		memcpy(to, sge[i].ptr, sge[i].len);
		to += sge[i].len;
	}
}

static size_t total_len(const struct fabric_sge *sge, uint32_t nsge)
{
	size_t len = 0;

	for (uint32_t i = 0; i < nsge; i++)
		len += sge[i].len;
	return len;
}

static void deliver_raw(struct fake_conn *c, const struct fabric_sge *sge, uint32_t nsge,
			const uint32_t *inv_rkey)
{
	size_t len = total_len(sge, nsge);
	struct fake_msg *m = calloc(1, sizeof(*m) + len);

	m->len = len;
	m->inv = inv_rkey;
	m->inv_rkey = inv_rkey ? *inv_rkey : 0;
	gather(m->bytes, sge, nsge);
	util_list_add(&c->msgs, &m->node);
}

static void complete_recv(struct fake_conn *c, struct fake_rr *rr, enum fabric_wc_status status,
			  size_t len, const uint32_t *inv_rkey)
{
	struct fabric_wc wc = {
		.conn = &c->conn,
		.wr_id = rr->recv.wr_id,
		.type = FABRIC_WC_RECV,
		.status = status,
		.byte_len = (uint32_t)len,
		.invalidated = inv_rkey,
		.invalidated_rkey = inv_rkey ? *inv_rkey : 0,
	};

	util_list_del(&rr->node);
	c->rq_used--;
	free(rr);
	fake_cq_add((struct fake_cq *)c->conn.cq, &wc);
}

enum fabric_wc_status fake_deliver(struct fake_conn *c, const struct fabric_sge *sge, uint32_t nsge,
				   const uint32_t *inv_rkey)
{
	size_t len = total_len(sge, nsge);
	struct fake_rr *rr;

	if (c->raw) {
		deliver_raw(c, sge, nsge, inv_rkey);
		return FABRIC_WC_OK;
	}
	if (util_list_empty(&c->rq))
		return FABRIC_WC_RNR;
	rr = UTIL_LIST_ENTRY(c->rq.next, struct fake_rr, node);
	if (len > rr->recv.sge.len) {
		complete_recv(c, rr, FABRIC_WC_LENGTH, 0, NULL);
		return FABRIC_WC_REMOTE_ERROR;
	}
	if (inv_rkey)
		fake_remote_inv(c, *inv_rkey);
	gather(rr->recv.sge.ptr, sge, nsge);
	complete_recv(c, rr, FABRIC_WC_OK, len, inv_rkey);
	return FABRIC_WC_OK;
}

static enum fabric_wc_status execute_rdma(struct fake_conn *c, struct fake_wr *w)
{
	bool read = w->wr.op == FABRIC_OP_READ;
	size_t len = total_len(w->sge, w->wr.nsge);
	uint8_t *remote = fake_reach(c->other, w->wr.u.remote.rkey, w->wr.u.remote.iova, len,
				     read ? MR_ACCESS_REMOTE_READ : MR_ACCESS_REMOTE_WRITE);

	if (!remote)
		return FABRIC_WC_REMOTE_ACCESS;
	for (uint32_t i = 0; i < w->wr.nsge; i++) {
		if (read)
			memcpy(w->sge[i].ptr, remote, w->sge[i].len);
		else
			memcpy(remote, w->sge[i].ptr, w->sge[i].len);
		remote += w->sge[i].len;
	}
	return FABRIC_WC_OK;
}

static void execute(struct fake_conn *c, struct fake_wr *w)
{
	w->executed = true;
	if (!c->other || c->over || c->broken) {
		w->status = FABRIC_WC_FLUSHED;
		w->failed = true;
		return;
	}
	if (w->wr.op == FABRIC_OP_READ || w->wr.op == FABRIC_OP_WRITE) {
		w->status = execute_rdma(c, w);
	} else if (w->wr.op == FABRIC_OP_BIND) {
		w->status = fake_bind(c, &w->wr);
	} else if (w->wr.op == FABRIC_OP_LOCAL_INV) {
		w->status = fake_local_inv(c, w->wr.u.inv_rkey);
	} else if (fake_world.fail_send) {
		fake_world.fail_send = false;
		w->status = fake_world.fail_status;
	} else {
		w->status = fake_deliver(c->other, w->sge, w->wr.nsge,
					 w->wr.op == FABRIC_OP_SEND_INV ? &w->wr.u.inv_rkey : NULL);
		if (w->status == FABRIC_WC_RNR)
			fake_violate("a Send found no receive posted");
	}
	w->failed = w->status != FABRIC_WC_OK;
	c->broken |= w->failed;
}

/* ---- the send queue --------------------------------------------------------------------- */

static void complete_send(struct fake_conn *c, const struct fake_wr *w,
			  enum fabric_wc_status status)
{
	struct fabric_wc wc = {
		.conn = &c->conn, .wr_id = w->wr.wr_id, .type = FABRIC_WC_SEND, .status = status};

	if (w->wr.flags & FABRIC_WR_SIGNALED) {
		((struct fake_cq *)c->conn.cq)->counters.completions_signalled++;
		fake_world.seen.signalled++;
	}
	fake_cq_add((struct fake_cq *)c->conn.cq, &wc);
}

void fake_conn_advance(struct fake_conn *c)
{
	if (fake_world.hold_sends || c->over)
		return;
	while (c->advanced != c->sq.prev) {
		struct fake_wr *w = UTIL_LIST_ENTRY(c->advanced->next, struct fake_wr, node);

		if (!w->executed)
			execute(c, w);
		if (w->wr.op == FABRIC_OP_READ)
			c->reads_out--;
		c->advanced = &w->node;
		if (w->failed) {
			complete_send(c, w, w->status);
			fake_conn_end(c, fabric_wc_status_name(w->status));
			return;
		}
		if (w->wr.flags & FABRIC_WR_SIGNALED)
			complete_send(c, w, FABRIC_WC_OK);
	}
}

/* The connection is over: what was not complete is flushed. */
void fake_conn_flush(struct fake_conn *c)
{
	struct util_list *pos = c->advanced;

	while (pos != c->sq.prev) {
		struct fake_wr *w = UTIL_LIST_ENTRY(pos->next, struct fake_wr, node);

		pos = &w->node;
		w->failed = true;
		complete_send(c, w, FABRIC_WC_FLUSHED);
	}
	c->advanced = pos;
	c->reads_out = 0;
	while (!util_list_empty(&c->rq))
		complete_recv(c, UTIL_LIST_ENTRY(c->rq.next, struct fake_rr, node),
			      FABRIC_WC_FLUSHED, 0, NULL);
}

static void queue_wr(struct fake_conn *c, const struct fabric_wr *wr)
{
	struct fake_wr *w = calloc(1, sizeof(*w));

	w->wr = *wr;
	if (wr->nsge)
		memcpy(w->sge, wr->sge, wr->nsge * sizeof(*wr->sge));
	w->hash = hash_pieces(w);
	util_list_add(&c->sq, &w->node);
	if (++c->sq_used > c->params.max_send_wr)
		fake_violate("send queue overrun: %u of %u", c->sq_used, c->params.max_send_wr);
	if (wr->op == FABRIC_OP_READ) {
		for (uint32_t i = 0; i < wr->nsge; i++)
			memset(wr->sge[i].ptr, READ_FILL, wr->sge[i].len);
		fake_world.seen.reads++;
		if (++c->reads_out > fake_world.seen.reads_out_max)
			fake_world.seen.reads_out_max = c->reads_out;
		return;
	}
	fake_world.seen.sends += wr->op == FABRIC_OP_SEND;
	fake_world.seen.send_invs += wr->op == FABRIC_OP_SEND_INV;
	fake_world.seen.writes += wr->op == FABRIC_OP_WRITE;
	/* A Send must not overtake Reads it was fenced against; ours never are, so it goes at once.
	 */
	execute(c, w);
}

int fake_post_send(struct fabric_conn *conn, struct fabric_wr *chain)
{
	struct fake_conn *c = (struct fake_conn *)conn;
	int err;

	fake_lock();
	err = fake_may_fail();
	if (err == 0 && (c->over || conn->state != FABRIC_CONN_ESTABLISHED)) {
		if (!c->over)
			fake_violate("a send before the connection was established");
		err = -ENOTCONN;
	}
	if (err) {
		fake_unlock();
		return err;
	}
	((struct fake_cq *)conn->cq)->counters.doorbells++;
	fake_world.seen.doorbells++;
	for (; chain; chain = chain->next) {
		check_wr(c, chain);
		queue_wr(c, chain);
	}
	fake_cq_signal((struct fake_cq *)conn->cq);
	fake_unlock();
	return 0;
}

int fake_post_recv(struct fabric_conn *conn, struct fabric_recv *chain)
{
	struct fake_conn *c = (struct fake_conn *)conn;
	int err;

	fake_lock();
	err = fake_may_fail();
	if (err == 0 && c->over)
		err = -ENOTCONN;
	for (; err == 0 && chain; chain = chain->next) {
		struct fake_rr *rr = calloc(1, sizeof(*rr));

		check_local(c, &chain->sge, MR_ACCESS_LOCAL_WRITE);
		memset(chain->sge.ptr, RECV_FILL, chain->sge.len);
		rr->recv = *chain;
		util_list_add(&c->rq, &rr->node);
		if (++c->rq_used > c->params.max_recv_wr)
			fake_violate("receive queue overrun: %u of %u", c->rq_used,
				     c->params.max_recv_wr);
	}
	fake_world.seen.recv_chains++;
	fake_unlock();
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * post.c - chains of work requests, translated and posted with one doorbell.
 *
 * A chain is checked whole before anything is posted, so that -EINVAL and -ENOMEM mean that nothing
 * was.  Should the device nevertheless take only a part, nothing can be taken back: the connection
 * is ended, the chain counts as posted, and what the device did not take completes as flushed.
 *
 * Selective signalling.  The caller says which completions it wants.  A queue of unsignalled
 * requests could fill up with nothing to tell that it has drained, so the device is asked for a
 * completion at least every half queue; such a completion frees room and is not passed on.
 */
#include <errno.h>

#include "transport/verbs/internal.h"

/* Is wr within what the queue pair takes? */
static bool send_valid(const struct verbs_conn *conn, const struct fabric_wr *wr)
{
	const struct fabric_attr *attr = &conn->base.cq->domain->attr;
	uint64_t total = 0;

	if (wr->nsge > conn->params.max_sge ||
	    (wr->op == FABRIC_OP_READ && wr->nsge > attr->max_read_sge))
		return false;
	for (uint32_t i = 0; i < wr->nsge; i++)
		total += wr->sge[i].len;
	if (total > attr->max_msg || ((wr->flags & FABRIC_WR_INLINE) && total > conn->max_inline))
		return false;
	switch (wr->op) {
	case FABRIC_OP_SEND:
	case FABRIC_OP_SEND_INV:
	case FABRIC_OP_WRITE:
	case FABRIC_OP_READ:
	case FABRIC_OP_LOCAL_INV:
		return true;
	case FABRIC_OP_BIND:
		return wr->u.bind.window && wr->u.bind.window->priv &&
		       ((struct verbs_window *)wr->u.bind.window->priv)->mw && wr->u.bind.reg &&
		       wr->u.bind.reg->priv;
	}
	return false;
}

static unsigned send_flags(unsigned flags)
{
	return (flags & FABRIC_WR_SIGNALED ? IBV_SEND_SIGNALED : 0) |
	       (flags & FABRIC_WR_FENCE ? IBV_SEND_FENCE : 0) |
	       (flags & FABRIC_WR_INLINE ? IBV_SEND_INLINE : 0) |
	       (flags & FABRIC_WR_SOLICITED ? IBV_SEND_SOLICITED : 0);
}

static void fill_bind(struct ibv_send_wr *out, const struct fabric_wr *wr)
{
	out->opcode = IBV_WR_BIND_MW;
	out->bind_mw.mw = ((struct verbs_window *)wr->u.bind.window->priv)->mw;
	out->bind_mw.rkey = ibv_inc_rkey(wr->u.bind.window->rkey);
	out->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = wr->u.bind.reg->priv,
		.addr = wr->u.bind.iova,
		.length = wr->u.bind.len,
		.mw_access_flags = verbs_access_flags(wr->u.bind.access, false) &
				   (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE),
	};
}

/* The part of a request that depends on what it does. */
static void fill_op(struct ibv_send_wr *out, const struct fabric_wr *wr, bool send_inv)
{
	switch (wr->op) {
	case FABRIC_OP_SEND:
		out->opcode = IBV_WR_SEND;
		break;
	case FABRIC_OP_SEND_INV:
		/* The peer asked to be spared an invalidation; a device that cannot leaves it to
		 * it. */
		out->opcode = send_inv ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
		out->invalidate_rkey = wr->u.inv_rkey;
		/* QUIRK(siw): its library takes the key to invalidate from here. */
		out->wr.rdma.rkey = wr->u.inv_rkey;
		break;
	case FABRIC_OP_WRITE:
		out->opcode = IBV_WR_RDMA_WRITE;
		out->wr.rdma.remote_addr = wr->u.remote.iova;
		out->wr.rdma.rkey = wr->u.remote.rkey;
		break;
	case FABRIC_OP_READ:
		out->opcode = IBV_WR_RDMA_READ;
		out->wr.rdma.remote_addr = wr->u.remote.iova;
		out->wr.rdma.rkey = wr->u.remote.rkey;
		break;
	case FABRIC_OP_BIND:
		fill_bind(out, wr);
		break;
	case FABRIC_OP_LOCAL_INV:
		out->opcode = IBV_WR_LOCAL_INV;
		out->invalidate_rkey = wr->u.inv_rkey;
		break;
	}
}

/* SGEs of wr into sges; returns the bytes they name. */
static uint64_t fill_sges(struct ibv_sge *sges, const struct fabric_wr *wr)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < wr->nsge; i++) {
		const struct fabric_sge *sge = &wr->sge[i];

		/* Inline data is read by this process, everything else by the device. */
		sges[i].addr = wr->flags & FABRIC_WR_INLINE ? (uintptr_t)sge->ptr : sge->iova;
		sges[i].length = sge->len;
		sges[i].lkey = sge->lkey;
		total += sge->len;
	}
	return total;
}

static void fill_send(struct verbs_conn *conn, const struct fabric_wr *wr, struct ibv_send_wr *out,
		      struct ibv_sge *sges)
{
	struct verbs_cq *cq = verbs_conn_cq(conn);
	bool signaled = wr->flags & FABRIC_WR_SIGNALED;

	*out = (struct ibv_send_wr){
		.wr_id = verbs_ring_push(&conn->sends, wr->wr_id, signaled),
		.sg_list = sges,
		.num_sge = (int)wr->nsge,
		.send_flags = send_flags(wr->flags),
	};
	fill_op(out, wr, verbs_conn_domain(conn)->send_inv);
	conn->unsignaled++;
	if (conn->unsignaled >= (conn->sends.depth + 1) / 2)
		out->send_flags |= IBV_SEND_SIGNALED;
	if (out->send_flags & IBV_SEND_SIGNALED)
		conn->unsignaled = 0;
	cq->counters.completions_signalled += signaled;
	if (wr->op == FABRIC_OP_READ)
		fill_sges(sges, wr);
	else
		cq->counters.bytes_sent += fill_sges(sges, wr);
}

/* What ibv_post_* returns is a positive errno; siw's library returns negative ones too. */
static int post_errno(int ret)
{
	return ret > 0 ? -ret : ret;
}

/* The keys the windows have once the chain is the device's, and whose they are. */
static void rekey_windows(struct verbs_conn *conn, struct fabric_wr *chain)
{
	for (struct fabric_wr *wr = chain; wr; wr = wr->next) {
		struct verbs_window *window;

		if (wr->op != FABRIC_OP_BIND)
			continue;
		window = wr->u.bind.window->priv;
		util_list_del(&window->node);
		util_list_add(&conn->windows, &window->node);
		wr->u.bind.window->rkey = ibv_inc_rkey(wr->u.bind.window->rkey);
		/* QUIRK(rxe): its library takes the key to be replaced from here at the next bind.
		 */
		window->mw->rkey = wr->u.bind.window->rkey;
	}
}

static void end_after_partial_post(struct verbs_conn *conn, int ret)
{
	struct util_err err;
	char text[VERBS_ADDR_TEXT];

	util_err_set(&err, ret, "connection to %s: the device refused a work request: %s",
		     verbs_addr_text((struct sockaddr *)&conn->base.peer, text, sizeof(text)),
		     strerror(-ret));
	util_err_hint(&err, "%s", verbs_errno_hint(ret));
	verbs_conn_end(conn, &err);
}

int verbs_post_send(struct fabric_conn *base, struct fabric_wr *chain)
{
	struct verbs_conn *conn = verbs_conn(base);
	struct verbs_cq *cq = verbs_conn_cq(conn);
	uint32_t before = conn->sends.head, unsignaled = conn->unsignaled, count = 0;
	struct ibv_send_wr *wrs = cq->send_wrs, *bad = NULL;
	uint64_t sent = cq->counters.bytes_sent, asked = cq->counters.completions_signalled;
	int ret;

	if (conn->stage != VERBS_ESTABLISHED)
		return -ENOTCONN;
	for (const struct fabric_wr *wr = chain; wr; wr = wr->next, count++)
		if (!send_valid(conn, wr))
			return -EINVAL;
	if (count == 0)
		return 0;
	if (count > verbs_ring_room(&conn->sends))
		return -ENOMEM;
	count = 0;
	for (const struct fabric_wr *wr = chain; wr; wr = wr->next, count++) {
		fill_send(conn, wr, &wrs[count], &cq->send_sges[count * cq->sge_room]);
		if (count)
			wrs[count - 1].next = &wrs[count];
	}
	cq->counters.doorbells++;
	ret = ibv_post_send(conn->id->qp, wrs, &bad);
	if (ret && bad == wrs) {
		conn->sends.head = before;
		conn->unsignaled = unsignaled;
		cq->counters.bytes_sent = sent;
		cq->counters.completions_signalled = asked;
		return post_errno(ret);
	}
	rekey_windows(conn, chain);
	if (ret)
		end_after_partial_post(conn, post_errno(ret));
	return 0;
}

static void fill_recv(struct ibv_recv_wr *out, struct ibv_sge *sge, const struct fabric_recv *recv,
		      uint32_t position)
{
	*sge = (struct ibv_sge){
		.addr = recv->sge.iova,
		.length = recv->sge.len,
		.lkey = recv->sge.lkey,
	};
	*out = (struct ibv_recv_wr){
		.wr_id = VERBS_WR_RECV | position,
		.sg_list = sge,
		.num_sge = 1,
	};
}

/*
 * Post recvs, which stand in the ring from position on.  0, or -errno with the first refused
 * request's index in *takenp.
 */
static int post_recvs(struct verbs_conn *conn, const struct fabric_recv *recv, uint32_t position,
		      uint32_t *takenp)
{
	struct verbs_cq *cq = verbs_conn_cq(conn);
	struct ibv_recv_wr *bad = NULL;
	uint32_t count = 0;
	int ret;

	for (; recv; recv = recv->next, count++) {
		fill_recv(&cq->recv_wrs[count], &cq->recv_sges[count], recv, position + count);
		if (count)
			cq->recv_wrs[count - 1].next = &cq->recv_wrs[count];
	}
	*takenp = count;
	if (count == 0)
		return 0;
	ret = ibv_post_recv(conn->id->qp, cq->recv_wrs, &bad);
	if (!ret)
		return 0;
	*takenp = bad ? (uint32_t)(bad - cq->recv_wrs) : 0;
	return post_errno(ret);
}

/* There is no queue pair yet: keep a copy. */
static void keep_early(struct verbs_conn *conn, const struct fabric_recv *chain)
{
	for (; chain; chain = chain->next) {
		struct fabric_recv *copy = &conn->early[conn->nearly];

		*copy = *chain;
		copy->next = NULL;
		if (conn->nearly)
			conn->early[conn->nearly - 1].next = copy;
		conn->nearly++;
		verbs_ring_push(&conn->recvs, chain->wr_id, true);
	}
}

int verbs_post_early(struct verbs_conn *conn)
{
	uint32_t taken;

	if (!conn->nearly)
		return 0;
	conn->nearly = 0;
	return post_recvs(conn, conn->early, conn->recvs.tail, &taken);
}

int verbs_post_recv(struct fabric_conn *base, struct fabric_recv *chain)
{
	struct verbs_conn *conn = verbs_conn(base);
	uint32_t count = 0, taken, position = conn->recvs.head;
	int ret;

	if (conn->stage >= VERBS_ENDING)
		return -ENOTCONN;
	for (const struct fabric_recv *recv = chain; recv; recv = recv->next)
		count++;
	if (count > verbs_ring_room(&conn->recvs))
		return -ENOMEM;
	if (!conn->id->qp) {
		keep_early(conn, chain);
		return 0;
	}
	for (const struct fabric_recv *recv = chain; recv; recv = recv->next)
		verbs_ring_push(&conn->recvs, recv->wr_id, true);
	ret = post_recvs(conn, chain, position, &taken);
	if (ret && taken == 0) {
		conn->recvs.head = position;
		return ret;
	}
	if (ret)
		end_after_partial_post(conn, ret);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * post.c - take work requests from the caller.
 *
 * A chain is checked whole, then copied into the queue's slots (the caller's structures are his
 * again when post returns), then one call of the transmitter sends what it can: one doorbell per
 * chain, or for several small ones whose poster said that more follow.
 */
#include <errno.h>

#include "transport/iwarp/internal.h"

/* Payloads of one message: the message offset and the length of a Read are 32 bits. */
#define MESSAGE_MAX (UINT64_C(1) << 31)

static int check_sges(const struct iwarp_conn *conn, const struct fabric_wr *wr)
{
	uint64_t total = 0;

	if (wr->nsge > conn->params.max_sge)
		return -EINVAL;
	for (uint32_t i = 0; i < wr->nsge; i++)
		total += wr->sge[i].len;
	if (total > MESSAGE_MAX)
		return -EINVAL;
	if ((wr->flags & FABRIC_WR_INLINE) && total > conn->params.max_inline)
		return -EINVAL;
	return 0;
}

static int check_bind(const struct iwarp_conn *conn, const struct fabric_wr *wr)
{
	const struct mr_registration *reg = wr->u.bind.reg;
	struct iwarp_mem mem;
	uint64_t off;

	if (!wr->u.bind.window || !wr->u.bind.window->priv || !reg || !reg->priv)
		return -EINVAL;
	if (wr->u.bind.access & ~(unsigned)(MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE))
		return -EINVAL;
	off = wr->u.bind.iova - reg->iova;
	if (wr->u.bind.iova < reg->iova || off > reg->len || wr->u.bind.len > reg->len - off)
		return -EINVAL;
	if (!iwarp_stags_lookup(conn->fabric->stags, reg->rkey, &mem))
		return -EINVAL;
	return mem.rights & IWARP_RIGHT_BIND && mem.domain == conn->cq->domain ? 0 : -EINVAL;
}

static int check_wr(const struct iwarp_conn *conn, const struct fabric_wr *wr)
{
	switch (wr->op) {
	case FABRIC_OP_SEND:
	case FABRIC_OP_SEND_INV:
	case FABRIC_OP_WRITE:
		return check_sges(conn, wr);
	case FABRIC_OP_READ:
		if (wr->nsge != 1 || !conn->ord || (wr->flags & FABRIC_WR_INLINE))
			return -EINVAL;
		return check_sges(conn, wr);
	case FABRIC_OP_BIND:
		return check_bind(conn, wr);
	case FABRIC_OP_LOCAL_INV:
		return 0;
	}
	return -EINVAL;
}

/* Copy inline bytes behind the slot's SGEs and point the first SGE there. */
static void take_inline(const struct iwarp_conn *conn, struct iwarp_swr *swr,
			const struct fabric_wr *wr)
{
	uint8_t *room = (uint8_t *)(swr->sge + conn->params.max_sge), *p = room;

	for (uint32_t i = 0; i < wr->nsge; i++) {
		if (wr->sge[i].len)
			memcpy(p, wr->sge[i].ptr, wr->sge[i].len);
		p += wr->sge[i].len;
	}
	swr->nsge = 1;
	swr->sge[0] = (struct fabric_sge){.ptr = room, .len = (uint32_t)(p - room)};
}

static void take_bind(struct iwarp_conn *conn, struct iwarp_swr *swr, const struct fabric_wr *wr)
{
	const struct mr_registration *reg = wr->u.bind.reg;
	unsigned access = wr->u.bind.access;

	swr->window = wr->u.bind.window->priv;
	swr->mem = (struct iwarp_mem){
		.base = (uint8_t *)reg->addr + (wr->u.bind.iova - reg->iova),
		.bus = iwarp_region_bus(reg) + (wr->u.bind.iova - reg->iova),
		.iova = wr->u.bind.iova,
		.len = wr->u.bind.len,
		.rights = (access & MR_ACCESS_REMOTE_READ ? IWARP_RIGHT_READ : 0) |
			  (access & MR_ACCESS_REMOTE_WRITE ? IWARP_RIGHT_WRITE : 0),
		.domain = conn->cq->domain,
		.conn = conn->serial,
		.parent = reg->rkey,
		.window = swr->window,
	};
	wr->u.bind.window->rkey = swr->bind_stag;
}

static void take_wr(struct iwarp_conn *conn, struct iwarp_swr *swr, const struct fabric_wr *wr)
{
	uint32_t bind_stag = swr->bind_stag;

	*swr = (struct iwarp_swr){
		.wr_id = wr->wr_id,
		.op = (uint8_t)wr->op,
		.flags = (uint8_t)wr->flags,
		.nsge = wr->nsge,
		.bind_stag = bind_stag,
	};
	for (uint32_t i = 0; i < wr->nsge; i++)
		swr->len += wr->sge[i].len;
	if (wr->flags & FABRIC_WR_INLINE)
		take_inline(conn, swr, wr);
	else if (wr->nsge)
		memcpy(swr->sge, wr->sge, wr->nsge * sizeof(*wr->sge));
	if (wr->op == FABRIC_OP_WRITE || wr->op == FABRIC_OP_READ) {
		swr->remote_iova = wr->u.remote.iova;
		swr->remote_rkey = wr->u.remote.rkey;
	} else if (wr->op == FABRIC_OP_SEND_INV || wr->op == FABRIC_OP_LOCAL_INV) {
		swr->remote_rkey = wr->u.inv_rkey;
	} else if (wr->op == FABRIC_OP_BIND) {
		take_bind(conn, swr, wr);
	}
}

/* The key the caller was told the bind would give, or a fresh one. */
static int bind_key(struct iwarp_conn *conn, const struct fabric_wr *wr, uint32_t *stagp)
{
	*stagp = iwarp_window_take_key(wr->u.bind.window->priv);
	return *stagp ? 0 : iwarp_stags_reserve(conn->fabric->stags, stagp);
}

/* Keys for the chain's binds, so that nothing can fail once the first is queued. */
static int reserve_keys(struct iwarp_conn *conn, const struct fabric_wr *chain)
{
	uint32_t at = conn->sq.tail;
	int err;

	for (const struct fabric_wr *wr = chain; wr; wr = wr->next, at++) {
		struct iwarp_swr *swr = iwarp_sq_slot(&conn->sq, at);

		swr->bind_stag = 0;
		if (wr->op != FABRIC_OP_BIND)
			continue;
		err = bind_key(conn, wr, &swr->bind_stag);
		if (err)
			goto give_back;
	}
	return 0;

give_back:
	while (at-- != conn->sq.tail) {
		struct iwarp_swr *swr = iwarp_sq_slot(&conn->sq, at);

		if (swr->bind_stag)
			iwarp_stags_remove(conn->fabric->stags, swr->bind_stag);
	}
	return err;
}

/*
 * -ENOTCONN not established (any more); -EINVAL malformed; -ENOMEM queue full or no key for a bind.
 * Nothing is posted then.  Errors of the connection come as completions, not from here.
 */
int iwarp_post_send(struct fabric_conn *base, struct fabric_wr *chain)
{
	struct iwarp_conn *conn = iwarp_conn_of(base);
	struct iwarp_sq *sq = &conn->sq;
	uint32_t n = 0, room = sq->mask + 1 - (sq->tail - sq->head);
	bool more = false;
	uint64_t len = 0;
	int err;

	if (conn->phase != IWARP_RUNNING)
		return -ENOTCONN;
	for (const struct fabric_wr *wr = chain; wr; wr = wr->next) {
		err = check_wr(conn, wr);
		if (err)
			return err;
		if (++n > room)
			return -ENOMEM;
	}
	err = reserve_keys(conn, chain);
	if (err)
		return -ENOMEM;
	for (const struct fabric_wr *wr = chain; wr; wr = wr->next) {
		struct iwarp_swr *swr = iwarp_sq_slot(sq, sq->tail++);

		take_wr(conn, swr, wr);
		len += wr->op == FABRIC_OP_READ ? 0 : swr->len;
		more = wr->flags & FABRIC_WR_MORE;
	}
	if (!more || !iwarp_cq_defer(conn, n, len))
		iwarp_cq_ring(conn);
	return 0;
}

int iwarp_post_recv(struct fabric_conn *base, struct fabric_recv *chain)
{
	struct iwarp_conn *conn = iwarp_conn_of(base);
	struct iwarp_rq *rq = &conn->rq;
	uint32_t n = 0, room = rq->mask + 1 - (rq->tail - rq->head);

	if (conn->base.state == FABRIC_CONN_CLOSED)
		return -ENOTCONN;
	for (const struct fabric_recv *recv = chain; recv; recv = recv->next)
		if (++n > room)
			return -ENOMEM;
	for (const struct fabric_recv *recv = chain; recv; recv = recv->next) {
		rq->slots[rq->tail++ & rq->mask] = (struct iwarp_rwr){
			.wr_id = recv->wr_id,
			.sge = recv->sge,
		};
	}
	return 0;
}

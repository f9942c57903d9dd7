/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buffers.c - inline buffers and the receive queue.
 *
 * Inline messages live in memory no peer can reach: one mr_local per queue, registered (for the
 * device alone) where the provider needs it, cut into buffers of the inline size.  Nothing is
 * allocated after creation.
 *
 * Receives go back in chains: whoever drives the connection posts what is pending when enough of it
 * has come together or when credits demand it (see the callers), so that refilling costs a fraction
 * of a call into the fabric per message.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rpcrdma/buffers.h"

int rpcrdma_buffers_create(struct rpcrdma_buffers *b, struct mr_pool *pool, uint32_t count,
			   uint32_t size, struct util_err *err)
{
	int code;

	b->free = calloc(count, sizeof(*b->free));
	if (!b->free)
		return util_err_set(err, -ENOMEM, "inline buffers: out of memory");
	code = mr_local_create(&b->local, mr_pool_provider(pool), (size_t)count * size,
			       mr_pool_ledger(pool), err);
	if (code) {
		free(b->free);
		b->free = NULL;
		return code;
	}
	b->size = size;
	b->count = count;
	rpcrdma_buffers_reset(b);
	return 0;
}

void rpcrdma_buffers_destroy(struct rpcrdma_buffers *b)
{
	if (!b->free)
		return;
	mr_local_destroy(&b->local);
	free(b->free);
	b->free = NULL;
}

void rpcrdma_buffers_reset(struct rpcrdma_buffers *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		b->free[i] = b->count - 1 - i;
	b->nfree = b->count;
}

#define REFILL_MIN 4
#define REFILL_MAX 32

uint32_t rpcrdma_refill(uint32_t credits)
{
	if (credits / 4 < REFILL_MIN)
		return REFILL_MIN;
	return credits / 4 < REFILL_MAX ? credits / 4 : REFILL_MAX;
}

uint32_t rpcrdma_fit_credits(uint32_t wish, uint32_t max_wr)
{
	uint32_t credits = wish < max_wr ? wish : max_wr;

	while (credits > 1 && credits + rpcrdma_refill(credits) > max_wr)
		credits--;
	return credits;
}

int rpcrdma_recvq_create(struct rpcrdma_recvq *q, struct mr_pool *pool, uint32_t count,
			 uint32_t size, struct util_err *err)
{
	int code;

	q->wr = calloc(count, sizeof(*q->wr));
	if (!q->wr)
		return util_err_set(err, -ENOMEM, "receive queue: out of memory");
	code = rpcrdma_buffers_create(&q->buffers, pool, count, size, err);
	if (code) {
		free(q->wr);
		q->wr = NULL;
		return code;
	}
	for (uint32_t i = 0; i < count; i++) {
		q->wr[i].wr_id = i;
		q->wr[i].sge = rpcrdma_buffers_sge(&q->buffers, i, 0, size);
	}
	rpcrdma_recvq_reset(q);
	return 0;
}

void rpcrdma_recvq_destroy(struct rpcrdma_recvq *q)
{
	if (!q->wr)
		return;
	rpcrdma_buffers_destroy(&q->buffers);
	free(q->wr);
	q->wr = NULL;
}

void rpcrdma_recvq_reset(struct rpcrdma_recvq *q)
{
	uint32_t count = q->buffers.count;

	for (uint32_t i = 0; i < count; i++)
		q->wr[i].next = i + 1 < count ? &q->wr[i + 1] : NULL;
	q->pending = &q->wr[0];
	q->pending_last = &q->wr[count - 1];
	q->npending = count;
	q->posted = 0;
}

uint8_t *rpcrdma_recvq_take(struct rpcrdma_recvq *q, uint32_t i)
{
	q->posted--;
	return rpcrdma_buffers_addr(&q->buffers, i);
}

void rpcrdma_recvq_give(struct rpcrdma_recvq *q, uint32_t i)
{
	struct fabric_recv *wr = &q->wr[i];

	wr->next = NULL;
	if (q->pending)
		q->pending_last->next = wr;
	else
		q->pending = wr;
	q->pending_last = wr;
	q->npending++;
}

int rpcrdma_recvq_post(struct rpcrdma_recvq *q, struct fabric_conn *conn)
{
	int err;

	if (!q->pending)
		return 0;
	err = conn->cq->domain->fabric->ops->post_recv(conn, q->pending);
	if (err)
		return err;
	q->posted += q->npending;
	q->pending = q->pending_last = NULL;
	q->npending = 0;
	return 0;
}

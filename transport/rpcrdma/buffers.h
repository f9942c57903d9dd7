/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buffers.h - inline buffers: equal pieces of one mr_local, and the receive queue over them.
 */
#ifndef NFSRDMA_RPCRDMA_BUFFERS_H
#define NFSRDMA_RPCRDMA_BUFFERS_H

#include "mr/mr.h"
#include "transport/fabric/fabric.h"

/* count buffers of size bytes; free ones on a stack, so that the warm one is taken first. */
struct rpcrdma_buffers {
	struct mr_local local;
	uint32_t size, count;
	uint32_t *free, nfree;
};

int rpcrdma_buffers_create(struct rpcrdma_buffers *b, struct mr_pool *pool, uint32_t count,
			   uint32_t size, struct util_err *err);
/* Legal on zeroed memory. */
void rpcrdma_buffers_destroy(struct rpcrdma_buffers *b);
/* All buffers are free again: the connection is gone. */
void rpcrdma_buffers_reset(struct rpcrdma_buffers *b);

static inline uint8_t *rpcrdma_buffers_addr(const struct rpcrdma_buffers *b, uint32_t i)
{
	return (uint8_t *)b->local.addr + (size_t)i * b->size;
}

/* len bytes from off in buffer i. */
static inline struct fabric_sge rpcrdma_buffers_sge(const struct rpcrdma_buffers *b, uint32_t i,
						    uint32_t off, uint32_t len)
{
	size_t at = (size_t)i * b->size + off;

	return (struct fabric_sge){
		.ptr = (uint8_t *)b->local.addr + at,
		.iova = b->local.reg.iova + at,
		.len = len,
		.lkey = b->local.reg.lkey,
	};
}

/* Receives posted beyond the credits, so that refilling can wait until a chain is worth it. */
uint32_t rpcrdma_refill(uint32_t credits);
/* The most credits up to wish for which a receive queue of max_wr is enough, refill included. */
uint32_t rpcrdma_fit_credits(uint32_t wish, uint32_t max_wr);

/*
 * The receive queue.  A buffer is posted (the fabric's), in use (its message is being looked at) or
 * pending (due to be posted again).
 */
struct rpcrdma_recvq {
	struct rpcrdma_buffers buffers;
	struct fabric_recv *wr; /* one for each buffer, for good */
	struct fabric_recv *pending, *pending_last;
	uint32_t npending, posted;
};

int rpcrdma_recvq_create(struct rpcrdma_recvq *q, struct mr_pool *pool, uint32_t count,
			 uint32_t size, struct util_err *err);
/* Legal on zeroed memory. */
void rpcrdma_recvq_destroy(struct rpcrdma_recvq *q);
/* Everything is pending: there is no connection, or a new one. */
void rpcrdma_recvq_reset(struct rpcrdma_recvq *q);
/* A receive completed: the buffer is in use by the caller. */
uint8_t *rpcrdma_recvq_take(struct rpcrdma_recvq *q, uint32_t i);
/* Its message is done with. */
void rpcrdma_recvq_give(struct rpcrdma_recvq *q, uint32_t i);
/* Post all that is pending in one chain.  -errno: nothing was posted. */
int rpcrdma_recvq_post(struct rpcrdma_recvq *q, struct fabric_conn *conn);

#endif

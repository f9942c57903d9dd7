/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sendq.c - selective signalling, for both roles.
 *
 * An entry is a chain of work requests posted together and done with together: a Send, or RDMA
 * Writes and their Send.  Only the last request of an entry may be signalled.  A signalled
 * completion retires its entry and all before it, since a send queue completes in order; so most
 * entries need none of their own, and a reply costs half the completions it would.
 *
 * What may not happen is a queue full of silent entries: nothing would ever retire.  Hence an entry
 * is signalled when it is the interval-th since the last one, or when half of the ring's entries or
 * half of the work requests are silent.  Whoever finds no room for an entry of at most max_wr / 2
 * requests then knows that a completion is on its way.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rpcrdma/sendq.h"

int rpcrdma_sendq_init(struct rpcrdma_sendq *q, uint32_t max_entries, uint32_t max_wr,
		       uint32_t interval)
{
	uint32_t size = 2;

	while (size < max_entries)
		size *= 2;
	q->entry = calloc(size, sizeof(*q->entry));
	if (!q->entry)
		return -ENOMEM;
	q->mask = size - 1;
	q->max_wr = max_wr;
	q->interval = interval ? interval : 1;
	rpcrdma_sendq_reset(q);
	return 0;
}

void rpcrdma_sendq_free(struct rpcrdma_sendq *q)
{
	free(q->entry);
	q->entry = NULL;
}

void rpcrdma_sendq_reset(struct rpcrdma_sendq *q)
{
	q->head = q->tail = 0;
	q->used_wr = 0;
	q->quiet = q->quiet_wr = 0;
}

uint32_t rpcrdma_sendq_room(const struct rpcrdma_sendq *q)
{
	if (q->tail - q->head > q->mask)
		return 0;
	return q->max_wr - q->used_wr;
}

uint64_t rpcrdma_sendq_push(struct rpcrdma_sendq *q, void *owner, uint32_t nwr, bool want_signal,
			    bool *signal)
{
	struct rpcrdma_sendq_entry *e = &q->entry[q->tail & q->mask];

	e->owner = owner;
	e->nwr = nwr;
	q->used_wr += nwr;
	q->quiet++;
	q->quiet_wr += nwr;
	*signal = want_signal || q->quiet >= q->interval || q->quiet > q->mask / 2 ||
		  q->quiet_wr >= q->max_wr / 2;
	if (*signal)
		q->quiet = q->quiet_wr = 0;
	return q->tail++;
}

bool rpcrdma_sendq_retire(struct rpcrdma_sendq *q, uint64_t wr_id, void **owner)
{
	struct rpcrdma_sendq_entry *e = &q->entry[q->head & q->mask];

	/* wr_id is within [head, tail) exactly when its distance from head is below the length. */
	if (wr_id > UINT32_MAX || (uint32_t)wr_id - q->head >= q->tail - q->head)
		return false;
	q->used_wr -= e->nwr;
	q->head++;
	*owner = e->owner;
	return true;
}

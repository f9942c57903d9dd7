/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sendq.h - what stands in a connection's send queue, and when it is to be signalled.
 */
#ifndef NFSRDMA_RPCRDMA_SENDQ_H
#define NFSRDMA_RPCRDMA_SENDQ_H

#include <stdbool.h>
#include <stdint.h>

struct rpcrdma_sendq_entry {
	void *owner; /* the caller's, handed back when the entry is retired */
	uint32_t nwr;
};

struct rpcrdma_sendq {
	struct rpcrdma_sendq_entry *entry; /* ring */
	uint32_t mask;			   /* ring size - 1 */
	uint32_t head, tail;		   /* free-running: oldest entry, next entry */
	uint32_t max_wr, used_wr;	   /* work requests the queue holds, and holds now */
	uint32_t interval;		   /* signal at least every so many entries */
	uint32_t quiet, quiet_wr;	   /* entries and work requests since the last signal */
};

/* max_entries may stand in the queue at once, in at most max_wr work requests; both at least 2.
 * -ENOMEM. */
int rpcrdma_sendq_init(struct rpcrdma_sendq *q, uint32_t max_entries, uint32_t max_wr,
		       uint32_t interval);
void rpcrdma_sendq_free(struct rpcrdma_sendq *q);
/* Forget everything: the connection is gone. */
void rpcrdma_sendq_reset(struct rpcrdma_sendq *q);
/* How many work requests one more entry may have now; 0: there is no room. */
uint32_t rpcrdma_sendq_room(const struct rpcrdma_sendq *q);
/*
 * Note an entry about to be posted; there must be room.  Returns the wr_id of its last work
 * request and in *signal whether that one is to be signalled (always when the caller wants it).
 */
uint64_t rpcrdma_sendq_push(struct rpcrdma_sendq *q, void *owner, uint32_t nwr, bool want_signal,
			    bool *signal);
/*
 * A completion with wr_id came: take the oldest entry it covers off the queue.  true: *owner is
 * that entry's; call again.  false: none is left (or wr_id is none of ours).
 */
bool rpcrdma_sendq_retire(struct rpcrdma_sendq *q, uint64_t wr_id, void **owner);

#endif

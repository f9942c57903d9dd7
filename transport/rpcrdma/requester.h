/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requester.h - private to the requester's files.
 *
 *     requester.c        the link: device, connection, events; what the core calls
 *     requester_send.c   a queued call becomes a Send
 *     requester_recv.c   a Send of the peer becomes a reply
 *     requester_close.c  the peer's access ends, then the call
 */
#ifndef NFSRDMA_RPCRDMA_REQUESTER_H
#define NFSRDMA_RPCRDMA_REQUESTER_H

#include "transport/rpc/link.h"
#include "transport/rpcrdma/buffers.h"
#include "transport/rpcrdma/header.h"
#include "transport/rpcrdma/plan.h"
#include "transport/rpcrdma/sendq.h"

/* Calls, and work requests, of one chain: what one doorbell sends at most. */
#define RPCRDMA_BATCH 32
#define RPCRDMA_CHAIN 128
/* Completions taken at once. */
#define RPCRDMA_POLL 32
/* Pieces of memory one call may expose: bulk data both ways and a long call. */
#define RPCRDMA_PIECES (2 * RPCRDMA_MAX_SEGS + 1)

/* A reply that has been checked as far as its transport header goes. */
struct rpcrdma_reply {
	bool failed; /* the call's err says why */
	bool nomsg;  /* the message is in the reply chunk */
	uint8_t *msg;
	size_t msg_len;
	size_t written;	 /* bytes in the write chunk */
	uint32_t buffer; /* the receive buffer msg lies in */
};

/*
 * A call in the peer's hands, from its Send to its reply or to the end of the connection.  It
 * outlives an abandoned call, because the peer may still reach the leases.
 */
struct rpcrdma_req {
	struct util_list node;	     /* free, or abandoned */
	struct util_list close_node; /* link->closing: its invalidations are to be posted */
	struct transport_call *call; /* NULL: free or abandoned */
	uint32_t xid;
	bool used;
	bool exposed; /* the caller's own bulk memory is in a chunk */
	enum rpcrdma_reply_way reply_way;
	struct rpcrdma_chunk offered; /* the write chunk or the reply chunk */
	struct mr_lease *msg_lease, *reply_lease;
	struct mr_grant *grants; /* what the peer may reach */
	/* The verdict on the reply, kept while the peer's access is being ended. */
	bool closing;
	unsigned ninv; /* invalidations it takes */
	struct rpcrdma_reply reply;
};

struct rpcrdma_link {
	struct transport_link link; /* first */
	struct transport_site *site;
	const struct fabric_ops *ops;
	struct fabric_cq *cq;
	struct fabric_conn *conn; /* NULL: none */
	bool up;		  /* established */
	/* sizes, fixed for the life of the link */
	uint32_t inline_size; /* ours, each way */
	uint32_t slots;	      /* calls in the peer's hands at most */
	uint32_t refill;      /* pending receives that are worth a chain */
	uint32_t max_inline;  /* bytes of a FABRIC_WR_INLINE send */
	/* the connection's */
	uint32_t send_threshold, recv_threshold;
	uint32_t credits, inflight;
	bool peer_private, peer_invalidates;
	struct util_err why; /* the first completion error, in words */
	/* memory */
	struct rpcrdma_recvq recvq;
	struct rpcrdma_buffers sends;
	struct rpcrdma_sendq sendq;
	struct rpcrdma_req *reqs; /* slots of them */
	struct util_list free_reqs, abandoned, closing;
	unsigned closing_wr;	/* invalidations of those in closing */
	unsigned chain_most;	/* of them behind one doorbell, */
	uint64_t hold_ns;	/* and how long they may wait for more: the policy's */
	uint64_t held_since_ns; /* since when they wait for more to come, 0: they do not */
	uint64_t (*clock_ns)(void);
	struct mr_binder *binder;
	unsigned call_wr; /* work requests one call may take */
	bool uninvited;	  /* the peer invalidated a key that was not the call's */
	uint8_t *scratch; /* a long reply is copied here before it is decoded */
	size_t scratch_len;
	/* work areas, so that neither path allocates */
	struct rpcrdma_header header;
	struct fabric_wr wr[RPCRDMA_CHAIN];
	unsigned nwr;
	struct fabric_sge sge[RPCRDMA_BATCH];
	struct rpcrdma_req *batch[RPCRDMA_BATCH];
};

static inline struct rpcrdma_link *rpcrdma_link_of(const struct transport_link *link)
{
	return UTIL_CONTAINER_OF(link, struct rpcrdma_link, link);
}

/* Words for a failure that will most likely not happen: not worth clearing 460 bytes each call. */
static inline void rpcrdma_err_start(struct util_err *err)
{
	err->code = 0;
	err->what[0] = err->hint[0] = '\0';
}

/*
 * Owners of the send queue's entries: an inline buffer to give back, or a call whose invalidations
 * the entry is.
 */
static inline void *rpcrdma_owner_buffer(uint32_t buffer)
{
	return (void *)((uintptr_t)buffer << 1);
}

static inline void *rpcrdma_owner_req(const struct rpcrdma_link *link,
				      const struct rpcrdma_req *req)
{
	return (void *)((uintptr_t)(req - link->reqs) << 1 | 1);
}

/* ---- requester.c */
/* The peer is done with the call: leases go back, the slot is free. */
void rpcrdma_req_release(struct rpcrdma_link *link, struct rpcrdma_req *req);
void rpcrdma_req_expect(struct rpcrdma_link *link, struct rpcrdma_req *req, bool expect);

/* ---- requester_send.c */
int rpcrdma_link_check_call(struct transport_link *link, const struct transport_call *call);
int rpcrdma_link_flush(struct transport_link *link);
/* Post the pending receives if they are needed or worth a chain. */
int rpcrdma_link_refill(struct rpcrdma_link *link);

/* Add a work request to the chain in link->wr. */
struct fabric_wr *rpcrdma_chain_add(struct rpcrdma_link *link);
void rpcrdma_chain_op(struct rpcrdma_link *link, const struct mr_op *op);

/* ---- requester_recv.c */
/* The message of wc lies at buf, the receive buffer wc->wr_id.  false: it has been dealt with;
 * true: the buffer is needed until the call's invalidations are complete. */
bool rpcrdma_link_receive(struct rpcrdma_link *link, uint8_t *buf, const struct fabric_wc *wc);
/* The peer reaches nothing of the call any more: hand the reply over, give everything back. */
void rpcrdma_link_conclude(struct rpcrdma_link *link, struct rpcrdma_req *req);

/* ---- requester_close.c */
void rpcrdma_link_batching(struct rpcrdma_link *link, const struct iommu_batching *batching);
/* A reply came: end what the peer may still reach.  false: nothing is left to be done; true: the
 * call is closing, and concluded when its invalidations have completed. */
bool rpcrdma_req_close(struct rpcrdma_link *link, struct rpcrdma_req *req,
		       const struct fabric_wc *wc);
/* Post the invalidations of all calls that are closing in one chain: how many, or -errno.  more:
 * further completions are there already; then they may wait for a bounded while, and it is 0. */
int rpcrdma_link_invalidate(struct rpcrdma_link *link, bool more);
/* A call's invalidations have completed. */
void rpcrdma_req_closed(struct rpcrdma_link *link, struct rpcrdma_req *req);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - how one call and its reply travel: inline, in chunks, or whole by chunk (pure).
 */
#ifndef NFSRDMA_RPCRDMA_PLAN_H
#define NFSRDMA_RPCRDMA_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bulk memory without a lease travels inline or through a lease of the link; no more than this. */
#define RPCRDMA_BARE_MAX 4096
/* The longest verifier a reply may carry (RFC 5531 section 8.2); reply chunks leave room for it. */
#define RPCRDMA_VERIFIER_MAX 400

/* What is known about a call. */
struct rpcrdma_plan_in {
	size_t msg_len;	     /* RPC message without bulk data, bytes */
	size_t data_len;     /* bulk argument, 0: none */
	unsigned data_nsegs; /* pieces it lies in */
	bool data_leased;    /* all of them registered */
	size_t sink_len;     /* room for the bulk result, 0: none */
	unsigned sink_nsegs;
	bool sink_leased;
	size_t reply_max; /* worst case of the results without bulk data */
	/* thresholds, header included: requester to responder and back */
	uint32_t send_threshold, recv_threshold;
};

enum rpcrdma_data_way {
	RPCRDMA_DATA_NONE,
	RPCRDMA_DATA_INLINE, /* copied into the message, with its XDR padding */
	RPCRDMA_DATA_CHUNK,  /* a read chunk at its position in the message */
};

enum rpcrdma_reply_way {
	RPCRDMA_REPLY_INLINE,
	RPCRDMA_REPLY_WRITE_CHUNK, /* the bulk result by write chunk, the rest inline */
	RPCRDMA_REPLY_CHUNK,	   /* the whole reply through the reply chunk */
};

struct rpcrdma_plan {
	bool long_call; /* RDMA_NOMSG: the message is a position-zero read chunk */
	enum rpcrdma_data_way data;
	enum rpcrdma_reply_way reply;
	size_t header_len;
	size_t message_len;   /* of the RPC message, with data that is copied into it */
	size_t reply_len_max; /* length of the reply chunk to offer, 0: none */
};

/* Never fails for at most RPCRDMA_MAX_SEGS pieces and thresholds of at least 1024. */
void rpcrdma_plan(struct rpcrdma_plan *plan, const struct rpcrdma_plan_in *in);

#endif

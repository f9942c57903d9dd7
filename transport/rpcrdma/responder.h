/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder.h - private to the responder's files.
 *
 *     responder.c        a worker's completion queues: adopt, poll, stop
 *     responder_conn.c   one connection: its memory, its end
 *     responder_recv.c   a message becomes a call: lists checked, hostile ones refused
 *     responder_read.c   read chunks are pulled
 *     responder_send.c   a reply becomes RDMA Writes and a Send
 *
 * Everything of a connection runs on its worker's thread.
 */
#ifndef NFSRDMA_RPCRDMA_RESPONDER_H
#define NFSRDMA_RPCRDMA_RESPONDER_H

#include "transport/rpc/link.h"
#include "transport/rpcrdma/buffers.h"
#include "transport/rpcrdma/header.h"
#include "transport/rpcrdma/sendq.h"

/* Work requests of one chain: 16 segments in each of two chunks, some of them split, and a Send. */
#define RPCRDMA_CHAIN_MAX 64
/* A long call may carry this much beside its data. */
#define RPCRDMA_CALL_SLACK 8192

struct rpcrdma_worker;
struct rpcrdma_conn;

/* A completion queue, the device and the pool behind it. */
struct rpcrdma_scq {
	struct util_list node; /* worker's */
	struct rpcrdma_worker *worker;
	const struct fabric_ops *ops;
	struct fabric_domain *domain; /* held by the cq */
	struct fabric_cq *cq;
	struct mr_pool *pool;
	struct util_list conns;
	struct util_list starved; /* calls that wait for pool memory to pull their chunks to */
	uint32_t depth, used;	  /* completions it can hold, and those its connections may cause */
	bool more;		  /* stopped polling for fairness, there may be more */
	bool touched;		  /* work was posted since the queue ran dry: arm it again */
	uint64_t retry_ns;	  /* when the starved are tried again */
	/* work areas */
	struct rpcrdma_header header;
	struct fabric_wr wr[RPCRDMA_CHAIN_MAX];
	struct fabric_sge sge[RPCRDMA_CHAIN_MAX];
};

/* What stands in the send queue, and what its completion gives back. */
struct rpcrdma_posted {
	struct rpcrdma_sreq *reader; /* a chain of RDMA Reads for this call; NULL: a reply */
	uint32_t buffer;	     /* reply: the inline buffer */
	struct mr_lease *lease[2];   /* reply: sources of RDMA Writes */
};

enum rpcrdma_sreq_state {
	RPCRDMA_SREQ_FREE,
	RPCRDMA_SREQ_READING, /* its read chunks are being pulled */
	RPCRDMA_SREQ_SERVICE, /* dispatched; the service answers when it likes */
	RPCRDMA_SREQ_REPLY,   /* answered; waits for room in the send queue */
};

/* One call in hand, from its receive until its reply is posted. */
struct rpcrdma_sreq {
	struct transport_request_link rl; /* first */
	struct rpcrdma_conn *conn;
	struct util_list node; /* free or waiting */
	enum rpcrdma_sreq_state state;
	uint32_t xid;
	bool has_recv;
	uint32_t recv; /* the receive buffer its message lies in */
	uint8_t *msg;  /* the call message (in that buffer or in call_buf) */
	size_t msg_len;
	/* the call's chunks */
	uint32_t nreads;
	struct rpcrdma_read read[RPCRDMA_MAX_READS];
	bool has_write, has_reply;
	struct rpcrdma_chunk write, reply;
	bool has_inv;
	uint32_t inv_rkey; /* to invalidate with the reply */
	/* pulling */
	struct rpcrdma_posted reading;
	uint32_t next_read;	   /* entry, and ... */
	uint32_t next_off;	   /* ... offset in it, to be posted next */
	uint32_t reads_out;	   /* posted and not complete */
	size_t call_len, data_len; /* of the position-zero chunk and of the other */
	struct mr_lease *call_lease, *data_lease;
	uint8_t *call_buf; /* private copy of a long call */
	size_t call_buf_len;
	/* answering */
	uint8_t *out;			/* send_size bytes for results that go inline */
	struct mr_lease *results_lease; /* results too long for that */
	struct mr_lease *reply_data_lease;
	uint32_t error; /* enum rpcrdma_errcode instead of a reply, 0: none */
	bool data_by_chunk, long_reply;
};

struct rpcrdma_conn {
	struct util_list node; /* scq's */
	struct rpcrdma_scq *scq;
	struct fabric_conn *conn; /* NULL: gone, but the service still holds calls */
	struct sockaddr_storage peer;
	bool dropping;		  /* we have ended it; DISCONNECTED is due */
	bool remote_invalidation; /* the client understands Send with Invalidate */
	uint32_t recv_size;	  /* of our receives */
	uint32_t send_size;	  /* longest inline reply, header included */
	uint32_t credits, in_hand;
	uint32_t refill; /* pending receives worth a chain */
	uint32_t depth;	 /* of scq->used, this connection's */
	uint32_t reads_out, max_reads;
	uint32_t max_wr, max_chain;
	uint32_t nsends;
	struct rpcrdma_recvq recvq;
	struct rpcrdma_buffers sends;
	struct rpcrdma_posted *posted; /* one for each send buffer */
	struct rpcrdma_sendq sendq;
	struct rpcrdma_sreq *reqs;
	uint8_t *outs;
	struct util_list free_reqs;
	struct util_list waiting; /* calls to pull and replies to send, in order */
};

static inline struct rpcrdma_sreq *rpcrdma_sreq_of(struct transport_request *req)
{
	return UTIL_CONTAINER_OF(req, struct rpcrdma_sreq, rl.req);
}

/* ---- responder.c */
struct transport_worker *rpcrdma_scq_worker(const struct rpcrdma_scq *scq);

/* ---- responder_conn.c */
/* Memory for a connection whose request is req; nothing is posted yet. */
int rpcrdma_conn_create(struct rpcrdma_conn **connp, struct rpcrdma_scq *scq,
			const struct fabric_request *req, struct util_err *err);
/* Completions a connection on such a device may cause at once. */
uint32_t rpcrdma_conn_depth_of(const struct transport_server_params *params,
			       const struct fabric_attr *attr);
void rpcrdma_conn_params(const struct rpcrdma_conn *conn, struct fabric_conn_params *params);
/* End it: DISCONNECTED will follow. why is logged. */
void rpcrdma_conn_drop(struct rpcrdma_conn *conn, const char *why);
/* Post a chain; the connection is dropped if that fails. */
void rpcrdma_conn_post(struct rpcrdma_conn *conn, struct fabric_wr *chain);
/* Post the pending receives when they are worth a chain. */
void rpcrdma_conn_refill(struct rpcrdma_conn *conn);
/* The fabric's connection is over (or never was).  Frees it all unless the service holds calls. */
void rpcrdma_conn_gone(struct rpcrdma_conn *conn);
/* A free call; there is one whenever in_hand < credits. */
struct rpcrdma_sreq *rpcrdma_sreq_take(struct rpcrdma_conn *conn);
/* The call is over: everything it still holds goes back.  May free the connection. */
void rpcrdma_sreq_give(struct rpcrdma_sreq *req);
/* Its message is not needed any more: the receive buffer may be posted again. */
void rpcrdma_sreq_give_recv(struct rpcrdma_sreq *req);

/* ---- responder_recv.c */
void rpcrdma_responder_receive(struct rpcrdma_conn *conn, uint32_t recv, size_t len);
/* All read chunks are here (or there are none): to the service. */
void rpcrdma_sreq_dispatch(struct rpcrdma_sreq *req);

/* ---- responder_read.c */
/* Begin. */
void rpcrdma_sreq_pull(struct rpcrdma_sreq *req);
/* Leases may have come back: try again for the calls that starve. */
void rpcrdma_scq_feed_starved(struct rpcrdma_scq *scq);
/* Post what there is room for; false: nothing could be posted now. */
bool rpcrdma_sreq_post_reads(struct rpcrdma_sreq *req);
/* A chain of them completed. */
void rpcrdma_sreq_reads_done(struct rpcrdma_sreq *req);

/* ---- responder_send.c */
extern const struct transport_responder_ops rpcrdma_responder_ops;
/* Answer with RDMA_ERROR. */
void rpcrdma_sreq_refuse(struct rpcrdma_sreq *req, enum rpcrdma_errcode error);
/* Reads to post or a reply to send: now if it is req's turn and there is room, else later. */
void rpcrdma_sreq_wait(struct rpcrdma_sreq *req);
/* There may be room in the send queue: serve those that wait. */
void rpcrdma_conn_serve_waiting(struct rpcrdma_conn *conn);

#endif

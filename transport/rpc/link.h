/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.h - private to transport/: what the RPC core and its two links (tcp/, rpcrdma/) ask of
 * each other, on both sides.
 *
 * Requester.  The core (rpc/client.c) owns calls: XIDs, the queue of calls to send, the table of calls
 * awaiting replies, time-outs, reconnect with back-off, replay.  A link owns one connection at a
 * time: it frames, it moves, it finds the call of a reply by XID, it gives memory to the peer
 * and takes it back.
 *
 * Life of a call: QUEUED -> (link sends) SENT -> DONE.  A lost connection puts SENT calls back at
 * the front of the queue in order of their first sending, same XID, marked replayed.
 */
#ifndef NFSRDMA_TRANSPORT_LINK_H
#define NFSRDMA_TRANSPORT_LINK_H

#include "transport/transport.h"

enum transport_call_state {
	TRANSPORT_CALL_IDLE,
	TRANSPORT_CALL_QUEUED,
	TRANSPORT_CALL_SENT,
	TRANSPORT_CALL_FINISHING, /* the reply is here, the link still ends the peer's access */
	TRANSPORT_CALL_CANCELED,  /* done() is due or was run; the link may still hold leases */
	TRANSPORT_CALL_DONE,
};

struct transport_link {
	const struct transport_link_ops *ops;
	struct transport_client *client;
};

struct transport_link_ops {
	const char *name; /* "tcp", "rpcrdma" */
	/* Blocking, once: find the device, domain and pool.  No connection yet. */
	int (*create)(struct transport_client *client, struct transport_link **linkp,
		      struct util_err *err);
	void (*destroy)(struct transport_link *link);
	/* Start one attempt; transport_client_link_up() or _link_down() follows from process(),
	 * not from inside.  -errno: could not even start (err set). */
	int (*connect)(struct transport_link *link, struct util_err *err);
	/* Drop the connection at once.  When it returns, no peer reaches any call's memory, all
	 * leases the link took are back, SENT calls are the core's.  No link_down() follows. */
	void (*disconnect)(struct transport_link *link);
	/* Send calls from the front of client->queue while credits or the socket allow, moving each to
	 * client->sent (transport_client_sent()); at most one doorbell.  0 or -errno: the
	 * connection is broken (err in client->last_err). */
	int (*flush)(struct transport_link *link);
	/* Receive and complete.  Never blocks. */
	int (*process)(struct transport_link *link);
	int (*wait)(struct transport_link *link, int timeout_ms);
	/* Level-triggered readiness for the client's epoll; arm returns 1 when process is needed now. */
	int (*fd)(struct transport_link *link);
	int (*arm)(struct transport_link *link);
	uint64_t (*deadline)(struct transport_link *link); /* ns, 0 none */
	/* A call in SENT is abandoned (cancelled, soft timeout with the connection kept: tcp only).  The
	 * link keeps what the peer may touch in quarantine until the reply or the end. */
	void (*abandon)(struct transport_link *link, struct transport_call *call);
	/* Is a bulk segment without a lease acceptable? tcp: yes. */
	int (*check_call)(struct transport_link *link, const struct transport_call *call);
	void (*counters)(const struct transport_link *link, struct transport_counters *counters);
	struct mr_pool *(*pool)(struct transport_link *link);
	const struct fabric_attr *(*attr)(const struct transport_link *link);
	const char *(*fabric_name)(const struct transport_link *link);
	/* rpcrdma: nothing is sent twice on a live connection, a time-out drops it; tcp: likewise
	 * by default, as the kernel does for NFSv3 over TCP after a major time-out. */
	bool timeout_drops;
};

extern const struct transport_link_ops tcp_link_ops;
extern const struct transport_link_ops rpcrdma_link_ops;

/* ---- what the core offers to requester links -------------------------------------------- */

struct transport_client {
	struct transport_ctx *ctx;
	struct transport_client_params params;
	struct transport_link *link;
	struct util_list queue;       /* QUEUED, in sending order */
	struct util_list sent;        /* SENT, in sending order */
	struct util_list finished;    /* DONE, callbacks due */
	unsigned outstanding;         /* submitted, done() not yet run */
	struct util_err last_err;
	struct transport_counters counters; /* rpcs, credit_waits, retransmits, reconnects: the core's */
	struct sockaddr_storage local;      /* address of the last good connection, reused */
	void *core;                   /* rpc/client.c's private part */
};

void transport_client_link_up(struct transport_client *client);
/* err may be NULL: the peer closed. */
void transport_client_link_down(struct transport_client *client, const struct util_err *err);
/* Call of this xid in SENT, or NULL (unknown: drop the message, keep the connection). */
struct transport_call *transport_client_find(struct transport_client *client, uint32_t xid);
/* queue -> sent; stamps times, counts, computes the time-out. */
void transport_client_sent(struct transport_call *call);
/*
 * A whole reply message (from its xid on) for call lies at msg; bulk data, if data_sunk, has been
 * taken out or was copied.  Decodes the RPC reply header and runs call->done() at once, then frees
 * nothing: msg stays the link's.  A bad header fails the call with -EIO.
 */
void transport_client_reply(struct transport_call *call, const uint8_t *msg, size_t len);
/* Fail one call without a reply (RDMA_ERROR, bad chunks). err gives code and words. */
void transport_client_fail(struct transport_call *call, const struct util_err *err);

/* Opened fabrics and (device, server) pairs, shared in the ctx. */
struct transport_site {            /* one protection domain and pool */
	const struct fabric_ops *ops;
	struct fabric_domain *domain;
	struct mr_pool *pool;
	/* the ctx's: key, references, list node */
	struct util_list node;
	unsigned refs;
	struct sockaddr_storage server;
	struct mr_pool_params pool_params;
};
int transport_site_get(struct transport_ctx *ctx, const struct fabric_ops *ops,
		       const struct transport_client_params *params, struct transport_site **sitep,
		       struct util_err *err);
void transport_site_put(struct transport_ctx *ctx, struct transport_site *site);
/* The pool of tcp mounts to this server (plain provider). */
int transport_plain_pool_get(struct transport_ctx *ctx, const struct transport_client_params *params,
			     struct mr_pool **poolp, struct util_err *err);
void transport_plain_pool_put(struct transport_ctx *ctx, struct mr_pool *pool);

/* ---- responder: worker loop and connections --------------------------------------------- */

/* What a connection implements so that transport_request_*() can be generic. */
struct transport_responder_ops {
	int (*begin)(struct transport_request *req, size_t max);
	void *(*buffer)(struct transport_request *req, size_t len);
	void (*reply)(struct transport_request *req);
	void (*reply_error)(struct transport_request *req, const struct wire_rpc_error *error);
	void (*drop)(struct transport_request *req);
};

/* Links embed a transport_request in their own request: ops found through this wrapper. */
struct transport_request_link {
	struct transport_request req; /* first */
	const struct transport_responder_ops *ops;
};

/* Hand a whole call to the service: decodes the RPC header (answers RPC_MISMATCH, AUTH errors, garbage itself).
 * msg/len: the call message from its xid on, read chunk data removed; req->data* and rooms are set. */
void transport_server_request(struct transport_worker *worker, struct transport_request *req,
			      const uint8_t *msg, size_t len);

const struct transport_server_params *transport_worker_params(const struct transport_worker *w);
struct transport_server *transport_worker_server(const struct transport_worker *w);
/* Stop watching fd. */
void transport_worker_unwatch(struct transport_worker *w, int fd);
/* Ask to be woken at deadline_ns even without events: fn(arg) is asked each round for its deadline. */
void transport_worker_timer(struct transport_worker *w, uint64_t (*deadline)(void *arg),
			    void (*fire)(void *arg), void *arg);
/* Run fn(arg) soon on that worker's thread, from any thread. -ENOMEM. */
int transport_worker_post(struct transport_worker *w, void (*fn)(struct transport_worker *w, void *arg),
			  void *arg);

/* Links' side: the core gives new connections to a worker. Called on that worker's thread. */
int tcp_responder_adopt(struct transport_worker *w, int fd);       /* takes fd over */
void tcp_responder_stop(struct transport_worker *w);               /* close all */
int rpcrdma_responder_adopt(struct transport_worker *w, const struct fabric_ops *ops,
			    struct fabric_request *req);            /* takes req over */
void rpcrdma_responder_stop(struct transport_worker *w);
/* Where links keep their per-worker state. */
void **transport_worker_link_slot(struct transport_worker *w, unsigned which); /* 0 tcp, 1 rpcrdma */
/* One pool per (domain) of the server, shared by workers. */
int transport_server_pool(struct transport_server *s, struct fabric_domain *domain,
			  struct mr_pool **poolp, struct util_err *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.h - private to transport/: what the RPC core and its two links (tcp/, rpcrdma/) ask of
 * each other, on both sides.
 *
 * Requester.  The core (rpc/client.c) owns calls: XIDs, the queue of calls to send, the table of
 * calls awaiting replies, time-outs, reconnect with back-off, replay.  A link owns one connection
 * at a time: it frames, it moves, it finds the call of a reply by XID, it gives memory to the peer
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
	const char *name; /* "tcp", "udp", "rpcrdma" */
	/* Blocking, once: find the device, domain and pool.  No connection yet. */
	int (*create)(struct transport_client *client, struct transport_link **linkp,
		      struct util_err *err);
	void (*destroy)(struct transport_link *link);
	/* Start one attempt, bound to client->local if that is set (else any or a reserved port);
	 * transport_client_link_up() or _link_down() follows from process(), not from inside.  The
	 * link's own deadline() bounds the attempt (params.connect_timeout_ms).  -errno: could not
	 * even start (err set). */
	int (*connect)(struct transport_link *link, struct util_err *err);
	/* Drop the connection at once.  When it returns, no peer reaches any call's memory, all
	 * leases the link took are back, SENT and FINISHING calls are the core's (link_priv is
	 * void).  No link_down() follows.  Legal in every state.  Never called from inside the
	 * link's own process() or flush(): the core waits until they have returned. */
	void (*disconnect)(struct transport_link *link);
	/* Send calls from the front of client->queue while credits or the socket allow, moving each
	 * to client->sent (transport_client_sent()); at most one doorbell per batch.  Only called
	 * while the link is up.  0 or -errno: the connection is broken (words in client->last_err;
	 * the core then calls disconnect()). */
	int (*flush)(struct transport_link *link);
	/* Receive and complete.  Never blocks.  Connected or connecting. */
	void (*process)(struct transport_link *link);
	/* Sleep until process() may have something to do: 0, -ETIME, -EINTR. */
	int (*wait)(struct transport_link *link, int timeout_ms);
	/* What the client's epoll is to watch now (level-triggered) and for which EPOLL events; may
	 * change with every process, flush and connect; -1: nothing. */
	int (*fd)(struct transport_link *link, uint32_t *events);
	/* Before somebody sleeps on that fd: 1 when process is needed now. */
	int (*arm)(struct transport_link *link);
	uint64_t (*deadline)(struct transport_link *link); /* ns, 0 none */
	/* A call in SENT or FINISHING is abandoned (cancelled, or past its deadline).  When this
	 * returns the link has no pointer to the call any more: it may be reused at once.  The link
	 * keeps what the peer may touch in quarantine, under the XID, until the reply or the end.
	 */
	void (*abandon)(struct transport_link *link, struct transport_call *call);
	/* Is a bulk segment without a lease acceptable? tcp: yes. */
	int (*check_call)(struct transport_link *link, const struct transport_call *call);
	void (*counters)(const struct transport_link *link, struct transport_counters *counters);
	struct mr_pool *(*pool)(struct transport_link *link);
	const struct fabric_attr *(*attr)(const struct transport_link *link);
	const char *(*fabric_name)(const struct transport_link *link);
	int (*agreed)(const struct transport_link *link, struct transport_agreed *agreed);
};

extern const struct transport_link_ops tcp_link_ops;
extern const struct transport_link_ops tcp_datagram_link_ops;
extern const struct transport_link_ops rpcrdma_link_ops;

/* ---- what the core offers to requester links -------------------------------------------- */

/* The public face of rpc/internal.h's struct transport_core, whose first member it is. */
struct transport_client {
	struct transport_ctx *ctx;
	struct transport_client_params params;
	const struct fabric_ops *fabric_ops; /* to use; chosen before link create; NULL on tcp */
	struct transport_link *link;
	struct util_list queue;	   /* QUEUED, in sending order */
	struct util_list sent;	   /* SENT, in sending order */
	struct util_list finished; /* DONE, callbacks due */
	unsigned outstanding;	   /* submitted, done() not yet run */
	unsigned nsent;		   /* on sent */
	struct util_err last_err;
	struct transport_counters
		counters;	       /* rpcs, credit_waits, retransmits, reconnects: the core's */
	struct sockaddr_storage local; /* of the last good connection, reused; set by the link
					* before link_up, ss_family 0: none yet */
	socklen_t local_len;
};

void transport_client_link_up(struct transport_client *client);
/*
 * The connection is gone or could not be made.  err may be NULL: the peer closed.  Only notes it:
 * the link returns from process() soon, then the core calls disconnect() and takes SENT calls
 * back.  Nothing is sent twice on a live connection: a call that times out has the core call
 * disconnect(), on both links.
 */
void transport_client_link_down(struct transport_client *client, const struct util_err *err);
/* Call of this xid in SENT, or NULL (unknown: drop the message, keep the connection). */
struct transport_call *transport_client_find(struct transport_client *client, uint32_t xid);
/* queue -> sent; stamps times, counts, computes the time-out.  At the first byte that leaves. */
void transport_client_sent(struct transport_call *call);
/*
 * A whole reply message (from its xid on) for call lies at msg; bulk data, if data_sunk, has been
 * taken out or was copied.  Decodes the RPC reply header and runs call->done() at once, then frees
 * nothing: msg stays the link's.  A bad header fails the call with -EIO.  The link has let go of
 * the call before: done() may put it, submit others, cancel others.  Only from process().
 */
void transport_client_reply(struct transport_call *call, const uint8_t *msg, size_t len);
/* Fail one call without a reply (RDMA_ERROR, bad chunks). err gives code and words; done() runs
 * later from transport_client_process(). */
void transport_client_fail(struct transport_call *call, const struct util_err *err);

/* Opened fabrics and (device, server) pairs, shared in the ctx. */
struct transport_site { /* one protection domain and pool */
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
int transport_plain_pool_get(struct transport_ctx *ctx,
			     const struct transport_client_params *params, struct mr_pool **poolp,
			     struct util_err *err);
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

/* Hand a whole call to the service (a stopping server drops it): decodes the RPC header (answers
 * RPC_MISMATCH, AUTH errors, garbage itself). msg/len: the call message from its xid on, read chunk
 * data removed; req->data* and rooms are set. */
void transport_server_request(struct transport_worker *worker, struct transport_request *req,
			      const uint8_t *msg, size_t len);

const struct transport_server_params *transport_worker_params(const struct transport_worker *w);
struct transport_server *transport_worker_server(const struct transport_worker *w);
/* As transport_worker_watch, for any EPOLL events (level-triggered); again for the same fd: change
 * them. */
int transport_worker_watch_events(struct transport_worker *w, int fd, uint32_t events,
				  void (*ready)(void *arg, uint32_t events), void *arg);
/* Stop watching fd (before it is closed); ready() does not run any more. */
void transport_worker_unwatch(struct transport_worker *w, int fd);
/* Ask to be woken even without events: deadline(arg) (ns, 0: none) is asked each round, fire(arg)
 * runs when it has passed.  For the worker's life.  -ENOMEM. */
int transport_worker_timer(struct transport_worker *w, uint64_t (*deadline)(void *arg),
			   void (*fire)(void *arg), void *arg);
/* Run fn(arg) soon on that worker's thread, from any thread. -ENOMEM. */
int transport_worker_post(struct transport_worker *w,
			  void (*fn)(struct transport_worker *w, void *arg), void *arg);

/*
 * Links' side: the core gives new connections to a worker.  Called on that worker's thread.  Each
 * adopted connection counts against max_connections until the link says it is gone.
 */
void transport_worker_conn_closed(struct transport_worker *w);
/* On failure too, what they were given is taken over (closed, rejected) and counted as gone. */
int tcp_responder_adopt(struct transport_worker *w, int fd, const struct sockaddr_storage *peer);
void tcp_responder_stop(struct transport_worker *w); /* close all */
/* Are there replies that have not left yet? */
bool tcp_responder_busy(struct transport_worker *w);
int rpcrdma_responder_adopt(struct transport_worker *w, const struct fabric_ops *ops,
			    struct fabric_request *req);
void rpcrdma_responder_stop(struct transport_worker *w);
/* Where links keep their per-worker state. */
void **transport_worker_link_slot(struct transport_worker *w,
				  unsigned which); /* 0 tcp, 1 rpcrdma */
/* One pool per (domain) of the server, shared by workers. */
int transport_server_pool(struct transport_server *s, struct fabric_domain *domain,
			  struct mr_pool **poolp, struct util_err *err);

#endif

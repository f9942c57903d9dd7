/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transport.h - ONC RPC over TCP (record marking) or RPC-over-RDMA, both roles.
 *
 * Requester: a *client* is one connection to one server, re-made when it breaks; *calls* are
 * submitted, and their done callback runs exactly once from transport_process().
 *
 * Responder: a *server* has workers, one per thread, each an event loop that owns its connections;
 * the service's dispatch is called with whole requests and answers now or later.
 *
 * Nothing here knows NFS: bulk data is whatever the caller says is DDP-eligible.
 */
#ifndef NFSRDMA_TRANSPORT_H
#define NFSRDMA_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "mr/mr.h"
#include "transport/fabric/fabric.h"
#include "util/util.h"
#include "wire/wire.h"

/* ---- context: what mounts share --------------------------------------------------------- */

/* UDP: small calls only, one datagram each way. */
enum transport_proto { TRANSPORT_TCP, TRANSPORT_RDMA, TRANSPORT_UDP };
enum transport_fabric { TRANSPORT_FABRIC_AUTO, TRANSPORT_FABRIC_VERBS, TRANSPORT_FABRIC_IWARP };

/*
 * Owns opened fabrics and, per (device, server), one protection domain and one pool.
 * Thread-safe.  Reference counted by its clients.
 */
struct transport_ctx;

int transport_ctx_create(struct transport_ctx **ctxp, const struct util_log *log);
void transport_ctx_get(struct transport_ctx *ctx);
void transport_ctx_put(struct transport_ctx *ctx);
/* The process's ledger (parent of the pools'). */
struct mr_ledger *transport_ctx_ledger(struct transport_ctx *ctx);

/* ---- requester -------------------------------------------------------------------------- */

struct transport_client_params {
	enum transport_proto proto;
	enum transport_fabric fabric;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	char server[128];            /* as the user named it, for messages */
	bool resvport;
	/* RDMA; 0 means default */
	uint32_t inline_size;        /* threshold offered each way, 1024..65536, default 4096 */
	uint32_t slots;              /* credits asked for and calls in flight, 1..16384, default 128 (tcp: calls in flight) */
	enum fabric_crc crc;
	bool no_io_uring;
	struct iommu_sw_options iommu; /* of the iwarp fabric */
	struct mr_pool_params pool;
	/* time-outs */
	uint32_t timeo_ms;           /* a call's first time-out, default 60000 */
	uint32_t retrans;            /* soft: give up after this many, default 2 */
	bool soft;                   /* else calls wait for ever */
	int connect_timeout_ms;      /* one attempt, default 10000 */
	const struct util_log *log;
	const struct fabric_ops *fabric_ops; /* NULL; else use this one whatever fabric says (tests) */
};

struct transport_client;

/*
 * Create and connect, blocking at most connect_timeout_ms (one attempt per fabric; the caller
 * loops for retry=).  On failure err has the line for the user; with fabric auto, both attempts.
 */
int transport_client_create(struct transport_client **clientp, struct transport_ctx *ctx,
			    const struct transport_client_params *params, struct util_err *err);
/* Calls not done complete with -ECANCELED first. */
void transport_client_destroy(struct transport_client *client);

/* The pool calls' bulk memory must come from (on tcp: a plain one). */
struct mr_pool *transport_client_pool(struct transport_client *client);
/* "tcp", "iwarp", "verbs" */
const char *transport_client_fabric(const struct transport_client *client);
/* Device facts; NULL on tcp. */
const struct fabric_attr *transport_client_attr(const struct transport_client *client);
const struct sockaddr_storage *transport_client_local(const struct transport_client *client);

/* What the connection's two ends agreed on, for doctor and reports. */
struct transport_agreed {
	bool private_data;           /* the server sent RFC 8797's */
	bool peer_invalidates;       /* and said that it understands remote invalidation */
	uint32_t send_size, recv_size; /* inline thresholds in bytes */
	uint32_t credits;            /* the last grant; 1 before the first reply */
};

/* 0; -EOPNOTSUPP on tcp, -ENOTCONN while the connection is down. */
int transport_client_agreed(const struct transport_client *client, struct transport_agreed *agreed);

struct transport_counters {
	uint64_t rpcs, doorbells, progress_sends, receive_calls, completions_signalled, credit_waits, retransmits,
		reconnects, bytes_sent, bytes_received;
};

void transport_client_counters(const struct transport_client *client,
			       struct transport_counters *counters);

/* A piece of bulk memory.  On RDMA it must lie within lease. */
struct transport_seg {
	void *addr;
	size_t len;
	struct mr_lease *lease;     /* NULL: plain memory (tcp, or small enough to go inline) */
};

#define TRANSPORT_MAX_SEGS 16
/* RPC header (AUTH_SYS with 16 groups and a 64-byte machine name: 24 + 8 + 4+68+8+4+64 + 8) and
 * the largest arguments without bulk data (two handles of 64 and two names of 255 and attributes). */
#define TRANSPORT_MSG_MAX 1536

struct transport_call {
	/* ---- the caller's, from transport_call_get() to submit */
	uint32_t prog, vers, proc;
	struct wire_enc args;        /* write arguments here, *without* bulk data; header is there already */
	/* DDP-eligible argument (WRITE data, SYMLINK target): its bytes stand at the end of what
	 * args holds when data_nsegs is set, or at data_pos.  Its XDR length word is in args. */
	struct transport_seg data[TRANSPORT_MAX_SEGS];
	unsigned data_nsegs;
	size_t data_len;             /* bytes, without XDR round-up */
	size_t data_pos;             /* offset in args' buffer where the data belongs; set by transport_call_data_here() */
	/* DDP-eligible result (READ data): where it goes. */
	struct transport_seg sink[TRANSPORT_MAX_SEGS];
	unsigned sink_nsegs;
	size_t sink_len;             /* room in bytes */
	/*
	 * Tells where the bulk data starts in a reply that has it inline (tcp, small rdma replies):
	 * given the first len bytes of the RPC *results* (after the reply header), return the
	 * offset of the data's first byte and its length in *data_len; -EAGAIN: more bytes needed;
	 * -ENODATA: this reply carries no data (an error status): parse as it stands;
	 * -EBADMSG.  Needed when sink_nsegs > 0.
	 */
	ssize_t (*find_data)(const uint8_t *results, size_t len, size_t *data_len);
	size_t reply_max;            /* worst case of the results in bytes, without bulk data */
	bool idempotent;             /* informational: for the caller's handling of replays */
	uint64_t deadline_ns;        /* absolute end whatever the mount's mode, 0: none */
	void (*done)(struct transport_call *call);
	void *arg;
	/* ---- valid in done() */
	int status;                  /* 0: accepted reply in results; else -errno (below) */
	struct wire_dec results;     /* after the RPC reply header; bulk data taken out if data_received > 0
	                              * or sunk; valid only during done() */
	size_t data_received;        /* bytes placed in sink */
	bool data_sunk;              /* the bulk data was taken out of results (even 0 bytes) */
	bool replayed;               /* was sent more than once: a non-idempotent call may have run twice */
	uint32_t xid;
	struct util_err err;         /* words for a failed status */
	/* ---- the transport's */
	struct transport_client *client;
	struct util_list node;
	struct transport_call *hash_next; /* same bucket of the XID table */
	uint64_t sent_ns;            /* first sending */
	uint64_t timeout_ns;         /* this sending's time-out, 0: none */
	uint64_t end_ns;             /* deadline_ns or the soft mount's patience, 0: none */
	unsigned sends;              /* how often it was sent */
	unsigned timeouts;           /* how often a sending timed out */
	uint8_t state;               /* enum transport_call_state */
	struct mr_lease *msg_lease, *reply_lease; /* long call, long reply */
	void *link_priv;             /* tcp's or rpcrdma's */
	size_t msg_len;              /* bytes of msg, set by submit */
	uint8_t mark[4];             /* tcp: the record mark, sent in one piece with msg */
	uint8_t msg[TRANSPORT_MSG_MAX]; /* args.start: RPC header, then arguments */
};

/*
 * A call with its RPC header encoded and args ready.  From a free list: no malloc in the steady
 * state.  cred NULL: AUTH_NONE.  -ENOMEM.
 */
int transport_call_get(struct transport_client *client, uint32_t prog, uint32_t vers,
		       uint32_t proc, const struct wire_cred *cred, struct transport_call **callp);
/* Only before submit or from/after done. */
void transport_call_put(struct transport_call *call);
/* The bulk argument belongs at the present end of args. */
void transport_call_data_here(struct transport_call *call, const struct transport_seg *segs,
			      unsigned nsegs, size_t len);
/*
 * Hand over.  0: done() will run once, never from inside submit.  Sent at once if a credit is
 * free, except inside transport_process(), where what callbacks submit is gathered and posted
 * with one doorbell at its end.  -EMSGSIZE: args overflowed; -EINVAL: bulk memory without a lease where one
 * is needed; -ESHUTDOWN.
 * done()'s status: 0; -EIO protocol error (err says which); -ETIMEDOUT (soft); -ECANCELED;
 * -EACCES / -EPERM auth errors; -EPROTONOSUPPORT program or version unavailable; -EOPNOTSUPP
 * procedure unavailable; -EREMOTEIO garbage args or system error at the server.
 */
int transport_call_submit(struct transport_call *call);
/* The caller loses interest: done(-ECANCELED) runs from the next process; leases stay quarantined
 * inside the transport until the reply arrives or the connection is gone. */
void transport_call_cancel(struct transport_call *call);

/* Receive, run callbacks, time out, reconnect, flush.  Returns calls completed.  Never blocks. */
int transport_client_process(struct transport_client *client);
/* Sleep until there is something to process; at most timeout_ms (-1 for ever). 0, -ETIME, -EINTR. */
int transport_client_wait(struct transport_client *client, int timeout_ms);
/* An epoll descriptor that also covers timers and connection events.  Level: readable = process.  Always
 * the same; ask again before sleeping on it after a transport_client_wait() or _fd_done(). */
int transport_client_fd(struct transport_client *client);
/* Nobody sleeps on the descriptor until it is asked for again: no more system calls to keep it right. */
void transport_client_fd_done(struct transport_client *client);
unsigned transport_client_outstanding(const struct transport_client *client);
/* For the faults tests and doctor: cut the connection as if the network had. */
void transport_client_break(struct transport_client *client);

/* ---- rpcbind (RFC 1833) through our own client, bounded ---------------------------------- */

/* Port of (prog, vers, "tcp"/"rdma"...) at addr's host; 0 in *portp when not registered.
 * -ECONNREFUSED / -ETIMEDOUT when rpcbind does not answer within timeout_ms. */
int transport_rpcbind_getport(struct transport_ctx *ctx, const struct sockaddr *addr, socklen_t len,
			      uint32_t prog, uint32_t vers, const char *netid, int timeout_ms,
			      uint16_t *portp, struct util_err *err);
/* Register / remove with the local rpcbind. */
int transport_rpcbind_set(struct transport_ctx *ctx, uint32_t prog, uint32_t vers,
			  const char *netid, uint16_t port, int timeout_ms);
int transport_rpcbind_unset(struct transport_ctx *ctx, uint32_t prog, uint32_t vers,
			    const char *netid, int timeout_ms);

/* ---- responder -------------------------------------------------------------------------- */

struct transport_server;
struct transport_worker;

/*
 * One request, from dispatch to transport_request_reply() (exactly once, on the same worker's thread, now or later).
 */
struct transport_request {
	struct transport_worker *worker;
	const struct sockaddr_storage *peer;
	bool rdma;                    /* which transport it came over */
	struct wire_rpc_call call;    /* decoded RPC header */
	struct wire_dec args;         /* after the header; a read chunk's data is taken out */
	/* The read chunk's data (WRITE, SYMLINK by RDMA), already pulled; NULL when inline. */
	void *data;
	size_t data_len;
	size_t data_args_pos;         /* offset in the args stream where it stood */
	/* The client's room for a bulk result (write chunk); 0: none offered: data goes inline. */
	size_t sink_room;
	/* Room for results without bulk data: inline or the reply chunk. */
	size_t reply_room;
	/* ---- the service fills */
	struct wire_enc results;      /* after transport_request_begin(); the reply header is there already */
	void *reply_data;             /* bulk result; from transport_request_buffer() */
	size_t reply_data_len;
	size_t reply_data_pos;        /* offset in results' buffer where it belongs when it goes inline */
	void *service_priv;           /* the service's */
	struct util_list node;        /* the service's while it holds the request */
};

/*
 * Make room for results (without bulk data) of up to max bytes and write the accepted-reply header.
 * -ENOMEM, -EMSGSIZE when the client gave no room for it (reply is then transport_request_reply_error).
 */
int transport_request_begin(struct transport_request *req, size_t max);
/* A buffer of len bytes fit to be the bulk result (RDMA Write source); the request's until it is
 * answered and sent. NULL: no memory. */
void *transport_request_buffer(struct transport_request *req, size_t len);
/* Send what results and reply_data hold. */
void transport_request_reply(struct transport_request *req);
/* Accepted with an error status (PROG_UNAVAIL, PROC_UNAVAIL, GARBAGE_ARGS, SYSTEM_ERR...) or denied. */
void transport_request_reply_error(struct transport_request *req, const struct wire_rpc_error *error);
/* No answer at all (a duplicate in progress). */
void transport_request_drop(struct transport_request *req);
/* The whole reply message, from its xid on, as it will be sent (for a duplicate-request cache):
 * results.start up to results.p, between filling results and reply(); bulk data is apart. */

struct transport_service {
	/* Called on the worker's thread.  Takes the request over. */
	void (*dispatch)(void *arg, struct transport_request *req);
	/* Per-worker set-up and tear-down, on the worker's thread. May be NULL.  worker_stop comes before
	 * the connections are closed: whatever the service still holds it answers or drops there. */
	int (*worker_start)(void *arg, struct transport_worker *worker);
	void (*worker_stop)(void *arg, struct transport_worker *worker);
	void *arg;
};

struct transport_server_params {
	const struct transport_service *service;
	unsigned threads;             /* 0: one per CPU */
	struct sockaddr_storage listen[4]; /* addresses without ports */
	socklen_t listen_len[4];
	unsigned nlisten;
	int tcp_port;                 /* -1: none, 0: any free */
	int rdma_port;                /* verbs listens here if a device is there, iwarp otherwise or too */
	int iwarp_port;               /* -1: as rdma_port */
	bool fabric_verbs, fabric_iwarp;
	const struct fabric_ops *fabric_ops; /* NULL; else listen on this one too, at rdma_port (tests) */
	uint32_t inline_size;         /* default 4096 */
	uint32_t credits;             /* granted per connection, default 128 */
	size_t max_data;              /* largest bulk argument or result, default 1 MiB */
	unsigned max_connections;     /* default 4096 */
	enum fabric_crc crc;
	bool no_io_uring;
	struct mr_pool_params pool;
	const struct util_log *log;
};

/* Listening sockets are bound when this returns; threads run from transport_server_start(). */
int transport_server_create(struct transport_server **serverp,
			    const struct transport_server_params *params, struct util_err *err);
int transport_server_start(struct transport_server *server);
/* Stop accepting, answer what is in hand (bounded), close, join.  From another thread than workers. */
void transport_server_stop(struct transport_server *server);
void transport_server_destroy(struct transport_server *server);
uint16_t transport_server_tcp_port(const struct transport_server *server);
uint16_t transport_server_rdma_port(const struct transport_server *server);
/* Does it listen by this fabric (not AUTO)? */
bool transport_server_listens(const struct transport_server *server, enum transport_fabric fabric);
struct mr_ledger *transport_server_ledger(struct transport_server *server);

/* Per-worker hooks for the service (its file ring): called when fd is readable. */
int transport_worker_watch(struct transport_worker *worker, int fd, void (*ready)(void *arg), void *arg);
/* Run fn(arg) each time before the worker sleeps (batched submission). -ENOMEM. */
int transport_worker_before_sleep(struct transport_worker *worker, void (*fn)(void *arg), void *arg);
/* The worker must not sleep this round: there is more to do (from a before_sleep hook or elsewhere). */
void transport_worker_again(struct transport_worker *worker);
unsigned transport_worker_index(const struct transport_worker *worker);
void *transport_worker_priv(const struct transport_worker *worker);
void transport_worker_set_priv(struct transport_worker *worker, void *priv);

#endif

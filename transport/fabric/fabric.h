/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric.h - what RPC-over-RDMA needs of an RDMA device, shaped like verbs.
 *
 * Three implementations: verbs/ (libibverbs + librdmacm), iwarp/ (a software RNIC in this
 * process on a TCP socket) and the tests' scripted fake.
 *
 * Objects
 *   fabric    one opened implementation with its options
 *   domain    a protection domain on one device: where memory is registered (mr_provider)
 *   cq        a completion queue *and what drives it*: the io_uring or the completion channel.
 *             One thread at a time uses a cq and the connections attached to it.
 *   conn      one reliable connection (RC queue pair), attached to one cq for its whole life
 *   listener  produces requests; a request is accepted on any cq of its domain, by any thread
 *
 * Progress.  Nothing happens behind the caller's back: on iwarp, placing what the peer writes and
 * answering what it reads happens inside cq_poll() and cq_wait().
 *
 * Ownership.  From a successful post until its completion (or conn_destroy) the memory named by
 * the SGEs belongs to the fabric.  The wr and sge structures are the caller's again when post
 * returns.
 *
 * Order.  Completions of a connection's send queue come in posting order; an unsignalled
 * work request is complete when a later signalled one is.  Receives complete in order.  Work
 * requests of a chain execute in order, except that RDMA Reads may still run when later work
 * requests start: FABRIC_WR_FENCE on a later one waits for them.
 *
 * End of a connection.  Whatever ends it, every outstanding *receive and signalled or failed send*
 * completes with FABRIC_WC_FLUSHED or its own error first, then one FABRIC_EV_DISCONNECTED comes,
 * then nothing more.  conn_destroy() is legal in every state; afterwards the peer and the device
 * reach nothing through this connection, windows bound on it are invalid, and no completion of it
 * is delivered any more.
 *
 * Errors are 0 or -errno everywhere; dialects are translated in the implementation.
 */
#ifndef NFSRDMA_FABRIC_H
#define NFSRDMA_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "iommu-aware/iommu.h"
#include "mr/mr.h"
#include "util/util.h"

struct fabric_ops;

enum fabric_crc { FABRIC_CRC_AUTO, FABRIC_CRC_ON, FABRIC_CRC_OFF };

struct fabric_options {
	enum fabric_crc crc;       /* iwarp: auto = off on loopback, else on */
	bool no_io_uring;          /* iwarp: use plain sockets and mlock (also chosen where io_uring is forbidden) */
	struct iommu_sw_options iommu; /* iwarp: the software IOMMU it sits behind */
	const struct util_log *log;
};

/* Implementations embed these as their first member. */
struct fabric {
	const struct fabric_ops *ops;
};

/* What the device can, after adaptation. */
struct fabric_attr {
	char device[64];           /* "mlx4_0", "rxe0", "iwarp" */
	uint32_t max_sge;          /* of sends and receives */
	uint32_t max_read_sge;     /* of RDMA Reads, at least 1 */
	uint32_t max_inline;       /* bytes a FABRIC_WR_INLINE send may carry */
	uint32_t max_send_wr, max_recv_wr;
	uint32_t max_rd_atomic;    /* RDMA Reads outstanding each way */
	uint64_t max_msg;          /* longest message of one work request */
	bool windows;              /* type-2 memory windows */
	bool region_addresses;     /* regions may have addresses of our choice; else peers see the
				    * process's own */
	uint64_t link_bps;         /* port rate, 0 unknown */
	int numa_node;             /* -1 unknown */
};

struct fabric_domain {
	struct fabric *fabric;
	struct mr_provider *provider;
	struct fabric_attr attr;
};

struct fabric_cq {
	struct fabric_domain *domain;
};

enum fabric_conn_state {
	FABRIC_CONN_CONNECTING,
	FABRIC_CONN_ESTABLISHED,
	FABRIC_CONN_CLOSED,        /* FABRIC_EV_DISCONNECTED delivered or due */
};

#define FABRIC_PRIVATE_MAX 56      /* what RDMA-CM over IB leaves to a connection request */

struct fabric_conn {
	struct fabric_cq *cq;
	void *context;             /* the owner's, set from the parameters */
	enum fabric_conn_state state;
	uint8_t peer_private[256]; /* valid once established (or in a request) */
	uint16_t peer_private_len;
	struct sockaddr_storage local, peer;
	struct util_err err;       /* why it ended: words, cause, hint */
};

struct fabric_conn_params {
	void *context;
	uint32_t max_send_wr, max_recv_wr;  /* queue depths wanted; -EINVAL above attr */
	uint32_t max_sge;
	uint32_t max_inline;
	uint8_t private_data[FABRIC_PRIVATE_MAX];
	uint16_t private_len;
	/* connect only */
	struct sockaddr_storage peer;
	socklen_t peer_len;
	struct sockaddr_storage local;      /* ss_family 0: any; else bind (same port on reconnect) */
	socklen_t local_len;
	bool resvport;                      /* bind a port below 1024 */
	int timeout_ms;                     /* of the connection set-up, 0: 10 s */
	/* iwarp: the peer is known to take FPDUs beyond the MSS ("peer=large"); never set blindly */
	bool large_fpdu;
};

/* ---- work requests ---------------------------------------------------------------------- */

/*
 * ptr is the process address (iwarp copies from it); iova the region address (what a device
 * wants).  For local buffers both come from the mr_local/mr_lease.
 */
struct fabric_sge {
	void *ptr;
	uint64_t iova;
	uint32_t len;
	uint32_t lkey;
};

enum fabric_op {
	FABRIC_OP_SEND,
	FABRIC_OP_SEND_INV,        /* and invalidate the peer's inv_rkey */
	FABRIC_OP_WRITE,
	FABRIC_OP_READ,
	FABRIC_OP_BIND,            /* type-2 window */
	FABRIC_OP_LOCAL_INV,
};

enum fabric_wr_flags {
	FABRIC_WR_SIGNALED = 1,
	FABRIC_WR_FENCE = 2,
	FABRIC_WR_INLINE = 4,      /* copy at post time; total at most attr.max_inline */
	FABRIC_WR_SOLICITED = 8,
	/* On the last of a chain, a hint: its doorbell may ring together with that of the next
	 * post.  The caller soon polls the cq until it is empty, which rings what is left. */
	FABRIC_WR_MORE = 16,
};

struct fabric_wr {
	struct fabric_wr *next;
	uint64_t wr_id;
	enum fabric_op op;
	unsigned flags;
	uint32_t nsge;
	const struct fabric_sge *sge;
	union {
		struct {
			uint64_t iova;
			uint32_t rkey;
		} remote;                   /* WRITE, READ */
		uint32_t inv_rkey;          /* SEND_INV, LOCAL_INV */
		struct {
			struct mr_window *window;   /* its rkey is updated when post returns */
			const struct mr_registration *reg;
			uint64_t iova;              /* within reg */
			uint64_t len;
			unsigned access;            /* REMOTE_READ and/or REMOTE_WRITE */
		} bind;
	} u;
};

struct fabric_recv {
	struct fabric_recv *next;
	uint64_t wr_id;
	struct fabric_sge sge;
};

enum fabric_wc_status {
	FABRIC_WC_OK,
	FABRIC_WC_FLUSHED,         /* the connection ended before it was carried out */
	FABRIC_WC_LENGTH,          /* local length error: the peer sent more than the receive holds */
	FABRIC_WC_LOCAL_PROTECTION,
	FABRIC_WC_REMOTE_ACCESS,   /* the peer refused key, bounds or right */
	FABRIC_WC_REMOTE_ERROR,
	FABRIC_WC_RETRY,           /* transport retries exhausted */
	FABRIC_WC_RNR,             /* peer had no receive posted */
	FABRIC_WC_OTHER,
};

/* "remote access error" ... */
const char *fabric_wc_status_name(enum fabric_wc_status status);
/* The likely cause and a hint, in words. */
const char *fabric_wc_status_hint(enum fabric_wc_status status);

enum fabric_wc_type {
	FABRIC_WC_SEND,            /* any work request of the send queue */
	FABRIC_WC_RECV,
	FABRIC_EV_ESTABLISHED,     /* peer_private is valid, sends may be posted (receives earlier) */
	FABRIC_EV_DISCONNECTED,    /* last word; conn->err says why (code 0: orderly) */
};

struct fabric_wc {
	struct fabric_conn *conn;
	uint64_t wr_id;            /* SEND, RECV */
	enum fabric_wc_type type;
	enum fabric_wc_status status;
	uint32_t byte_len;         /* RECV */
	bool invalidated;          /* RECV: the peer invalidated invalidated_rkey */
	uint32_t invalidated_rkey;
};

struct fabric_listener {
	struct fabric *fabric;
};

/* A connection request.  Ends in accept or reject. */
struct fabric_request {
	struct fabric_domain *domain;  /* referenced by the request, and lives until listener_close at least */
	uint8_t peer_private[256];
	uint16_t peer_private_len;
	struct sockaddr_storage local, peer;
};

/* Transport counters of one cq, witnessed by strace in the tests. */
struct fabric_counters {
	uint64_t doorbells;        /* post_send calls that submitted; on iwarp one system call each */
	uint64_t progress_sends;   /* iwarp: sending system calls outside post_send: what the peer
				    * reads, what the socket had no room for (a NIC's own work) */
	uint64_t receive_calls;    /* system calls made to receive or poll */
	uint64_t completions_signalled;
	uint64_t bytes_sent, bytes_received; /* payload and headers on the connection */
};

struct fabric_ops {
	const char *name;          /* "iwarp", "verbs", "fake" */

	int (*open)(struct fabric **fabricp, const struct fabric_options *opts,
		    struct util_err *err);
	void (*close)(struct fabric *fabric);

	/*
	 * Find the device that routes to peer and take a reference to a (new or shared) domain
	 * on it.  Blocks up to timeout_ms.  -ENODEV no device routes there, -ETIMEDOUT,
	 * -ENETUNREACH.  share: NULL opens a new domain (one per (device, server) is the caller's
	 * rule).
	 */
	int (*domain_open)(struct fabric *fabric, const struct sockaddr *peer, socklen_t peer_len,
			   int timeout_ms, struct fabric_domain **domainp, struct util_err *err);
	void (*domain_put)(struct fabric_domain *domain);

	/* Holds a reference to the domain until cq_destroy.  depth: completions of all its connections
	 * that may be outstanding together. */
	int (*cq_create)(struct fabric_domain *domain, uint32_t depth, struct fabric_cq **cqp,
			 struct util_err *err);
	/* All its connections must be destroyed. */
	void (*cq_destroy)(struct fabric_cq *cq);
	/* Make progress, return up to max completions and events; 0 when there are none. */
	int (*cq_poll)(struct fabric_cq *cq, struct fabric_wc *wc, int max);
	/* The fd becomes readable when cq_poll would return something, provided cq_arm() returned 0
	 * after the last empty poll.  cq_arm returns 1 when something came in meanwhile: poll again. */
	int (*cq_fd)(struct fabric_cq *cq);
	int (*cq_arm)(struct fabric_cq *cq);
	/* Sleep until cq_poll may return something, at most timeout_ms (-1: for ever); the cheapest
	 * way for a thread that waits for this cq alone.  0, or -ETIME, -EINTR. */
	int (*cq_wait)(struct fabric_cq *cq, int timeout_ms);
	/* Next moment the cq needs cq_poll even without events (timers), CLOCK_MONOTONIC ns, 0: none */
	uint64_t (*cq_deadline)(struct fabric_cq *cq);
	void (*cq_counters)(const struct fabric_cq *cq, struct fabric_counters *counters);

	/* Start connecting; FABRIC_EV_ESTABLISHED or FABRIC_EV_DISCONNECTED follows from cq_poll.
	 * Receives may be posted at once. */
	int (*conn_connect)(struct fabric_cq *cq, const struct fabric_conn_params *params,
			    struct fabric_conn **connp, struct util_err *err);
	/* Consumes the request on success; receives may be posted before the peer hears of it:
	 * the reply leaves with conn_start(). */
	int (*conn_accept)(struct fabric_cq *cq, struct fabric_request *req,
			   const struct fabric_conn_params *params, struct fabric_conn **connp,
			   struct util_err *err);
	/* After conn_accept and the first post_recv: tell the peer.  ESTABLISHED follows. */
	int (*conn_start)(struct fabric_conn *conn);
	void (*request_reject)(struct fabric_request *req);
	/* Begin an orderly end; DISCONNECTED follows.  Idempotent. */
	void (*conn_disconnect)(struct fabric_conn *conn);
	void (*conn_destroy)(struct fabric_conn *conn);

	/*
	 * A hint, NULL where a device has no use for it: until conn_unexpect() the peer is to fill
	 * [iova, iova + len), region addresses, from its beginning, with one RDMA Write, and
	 * nobody reads beyond what it says it wrote: a fabric in software may let other bytes of
	 * the connection come to lie there.
	 */
	void (*conn_expect)(struct fabric_conn *conn, uint64_t iova, uint32_t len);
	void (*conn_unexpect)(struct fabric_conn *conn, uint64_t iova);

	/* One doorbell for the whole chain.  -ENOMEM queue full (nothing posted), -ENOTCONN,
	 * -EINVAL a malformed request (nothing posted). */
	int (*post_send)(struct fabric_conn *conn, struct fabric_wr *chain);
	int (*post_recv)(struct fabric_conn *conn, struct fabric_recv *chain);

	/* Port 0 picks one; the address bound is in *bound.  -EADDRINUSE, -EACCES, -ENODEV. */
	int (*listen)(struct fabric *fabric, const struct sockaddr *addr, socklen_t len,
		      struct sockaddr_storage *bound, struct fabric_listener **listenerp,
		      struct util_err *err);
	int (*listener_fd)(struct fabric_listener *listener);
	/* Non-blocking: a complete request, or -EAGAIN.  Bounds how many half-open ones it keeps
	 * and for how long. */
	int (*listener_poll)(struct fabric_listener *listener, struct fabric_request **reqp);
	uint64_t (*listener_deadline)(struct fabric_listener *listener);
	void (*listener_close)(struct fabric_listener *listener);
};

extern const struct fabric_ops iwarp_fabric_ops;
extern const struct fabric_ops verbs_fabric_ops;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder.h - what the files of transport/tcp share about the responder's side.
 */
#ifndef NFSRDMA_TCP_RESPONDER_H
#define NFSRDMA_TCP_RESPONDER_H

#include "transport/rpc/link.h"
#include "transport/tcp/stream.h"

/* ---- cache.c: buffers by size class, reused without malloc ------------------------------- */

#define TCP_CACHE_CLASSES 4

struct tcp_cache {
	size_t size[TCP_CACHE_CLASSES]; /* ascending, multiples of the page size */
	void *free[TCP_CACHE_CLASSES];	/* chained through their first bytes */
	size_t cached, limit;		/* bytes on the chains, and where to stop */
	size_t out;			/* bytes handed out */
};

/* A buffer and what it really holds. */
struct tcp_buf {
	uint8_t *p;
	size_t size;
};

void tcp_cache_init(struct tcp_cache *cache, size_t max);
void tcp_cache_free(struct tcp_cache *cache);
/* Page-aligned, at least len bytes. -ENOMEM, -EMSGSIZE (len above max). */
int tcp_cache_take(struct tcp_cache *cache, size_t len, struct tcp_buf *buf);
/* buf->p NULL is fine; clears *buf. */
void tcp_cache_give(struct tcp_cache *cache, struct tcp_buf *buf);

/* ---- per worker ------------------------------------------------------------------------- */

struct tcp_worker {
	struct transport_worker *worker;
	size_t record_max; /* longest call taken: max_data + what surrounds it */
	size_t data_max;   /* longest bulk result */
	struct tcp_cache cache;
	struct util_list conns;
	struct util_list dirty;	    /* connections with replies to send or requests to go on with */
	struct util_list idle_reqs; /* request objects to be reused */
	struct util_list
		lingering;  /* connections that are closed but whose requests are not back */
	bool hooked, timed; /* before_sleep hook and timer are in place */
	uint64_t check_ns;  /* next look at idle and stuck connections, 0: there are none */
};

/* ---- connections: responder.c ------------------------------------------------------------ */

struct tcp_conn {
	struct util_list node;
	struct util_list dirty_node;
	struct tcp_worker *tw;
	int fd; /* -1: closed, waits for its requests */
	struct sockaddr_storage peer;
	uint32_t events; /* what the worker watches for */
	/* receiving */
	struct tcp_stream in;
	struct tcp_request *req; /* whose record is coming in */
	bool large;		 /* the last record was large: read little ahead */
	bool paused;		 /* too much in hand: reading stops */
	/* sending */
	struct util_list out; /* replies, oldest first */
	size_t out_bytes;     /* all of them, what has left of the first included */
	size_t out_off;	      /* bytes of the first that have left */
	bool blocked;	      /* wait for EPOLLOUT */
	unsigned inflight;    /* requests dispatched, reply not yet on out */
	uint64_t active_ns;   /* last time something came or went */
	uint64_t record_ns;   /* when the unfinished record began, 0: none */
};

/* There is something to send, or room again to go on reading: look before the worker sleeps. */
void tcp_conn_dirty(struct tcp_conn *conn);
/* A request of this connection has been freed. */
void tcp_conn_request_gone(struct tcp_conn *conn);

/* ---- requests: request.c ---------------------------------------------------------------- */

#define TCP_REQUEST_MSG 2048	 /* calls up to this length need no buffer of their own */
#define TCP_REQUEST_RESULTS 1024 /* results likewise */

struct tcp_request {
	struct transport_request_link rl; /* first */
	struct util_list node;		  /* idle_reqs or conn->out */
	struct tcp_conn *conn;
	struct tcp_buf msg_buf; /* p NULL: msg is in small_msg */
	uint8_t *msg;
	size_t msg_len, msg_size;
	struct tcp_buf results_buf, data_buf;
	uint8_t *frame;			      /* mark, then results */
	size_t frame_len, data_len, data_pos; /* of the reply; data_pos counts from the frame */
	uint8_t small_msg[TCP_REQUEST_MSG];
	uint8_t small_frame[TCP_MARK_LEN + TCP_REQUEST_RESULTS];
};

/* For a record of at least len bytes. */
int tcp_request_get(struct tcp_conn *conn, size_t len, struct tcp_request **reqp);
/* Room for len more bytes of the record. */
int tcp_request_reserve(struct tcp_request *req, size_t len);
void tcp_request_put(struct tcp_request *req);
/* The whole record is there: to the service. */
void tcp_request_dispatch(struct tcp_request *req);
/* Pieces of the reply, less its first skip bytes, into iov (room for TCP_REPLY_IOVS). */
#define TCP_REPLY_IOVS 4
int tcp_request_iov(const struct tcp_request *req, size_t skip, struct iovec *iov);
size_t tcp_request_reply_len(const struct tcp_request *req);

#endif

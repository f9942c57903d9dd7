/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h - private to the fake's files. */
#ifndef NFSRDMA_TESTS_FAKE_INTERNAL_H
#define NFSRDMA_TESTS_FAKE_INTERNAL_H

#include <pthread.h>

#include "tests/fake/fake.h"

#define FAKE_VIOLATIONS 16

/* A registration. */
struct fake_region {
	struct util_list node;
	const void *owner; /* its domain or raw peer: keys are good there only */
	uint8_t *addr;
	uint64_t iova;
	size_t len;
	uint32_t key;
	unsigned access;
};

/* A memory window. */
struct fake_window {
	struct util_list node;
	const void *owner;	/* its domain */
	uint32_t key;		/* of the last bind */
	struct fake_conn *conn; /* NULL: not bound */
	const struct fake_region *region;
	uint8_t *addr;
	uint64_t iova;
	size_t len;
	unsigned access;
};

struct fake_domain {
	struct fabric_domain domain; /* first */
	struct mr_provider provider;
	unsigned refs;
};

struct fake_cq {
	struct fabric_cq cq;   /* first */
	struct util_list node; /* the world's */
	struct util_list wcs, conns;
	uint32_t depth, held;
	int event_fd;
	struct fabric_counters counters;
};

struct fake_wc {
	struct util_list node;
	struct fabric_wc wc;
};

/* A posted work request, until its completion was handed out. */
struct fake_wr {
	struct util_list node;
	struct fabric_wr wr;
	struct fabric_sge sge[32];
	bool executed, failed;
	enum fabric_wc_status status;
	uint64_t hash; /* of the local pieces when posted */
};

struct fake_rr {
	struct util_list node;
	struct fabric_recv recv;
};

/* A message for a raw peer. */
struct fake_msg {
	struct util_list node;
	size_t len;
	bool inv;
	uint32_t inv_rkey;
	uint8_t bytes[];
};

/* One end of a connection; a raw peer's has no cq. */
struct fake_conn {
	struct fabric_conn conn; /* first */
	struct util_list node;	 /* cq's */
	struct fake_conn *other; /* NULL: not there (yet), or gone */
	const void *owner;	 /* of its keys */
	bool raw, started;
	bool broken; /* a work request failed: those behind it are flushed */
	bool over;   /* DISCONNECTED was queued */
	struct fabric_conn_params params;
	struct util_list sq, rq;
	struct util_list
		*advanced; /* the last work request whose completion is queued or not due */
	uint32_t sq_used, rq_used, reads_out;
	/* raw */
	struct util_list msgs;
	bool inv;
	uint32_t inv_rkey;
};

struct fake_peer {
	struct fake_conn conn;
};

struct fake_request {
	struct fabric_request req; /* first */
	struct util_list node;
	struct fake_conn *from;
};

struct fake_listen {
	struct fabric_listener listener; /* first */
	struct util_list node, requests;
	struct fake_domain *domain;
	uint16_t port;
	int event_fd;
	/* raw: no requests, peers are made at once */
	bool raw;
	struct util_list peers; /* not fetched yet, by their conn's node */
	uint8_t private[FABRIC_PRIVATE_MAX];
	size_t private_len;
};

struct fake_world {
	pthread_mutex_t lock;
	struct fake_setup setup;
	char violation[FAKE_VIOLATIONS][160];
	unsigned nviolations, objects;
	unsigned fail_at, fail_calls;
	int fail_err;
	bool hold_sends, refuse, fail_send;
	enum fabric_wc_status fail_status;
	struct fake_seen seen;
	struct util_list regions, windows, listens, cqs;
	struct util_list
		fetched; /* requests taken from their listener, neither accepted nor rejected */
	uint32_t next_key;
	uint16_t next_port;
};

extern struct fake_world fake_world;

static inline void fake_lock(void)
{
	pthread_mutex_lock(&fake_world.lock);
}

static inline void fake_unlock(void)
{
	pthread_mutex_unlock(&fake_world.lock);
}

/* All of these with the lock held. */
void fake_violate(const char *fmt, ...) UTIL_PRINTF(1, 2);
/* Is this the call the script wants to fail? 0 or -errno. */
int fake_may_fail(void);
void fake_signal(int event_fd);
void fake_cq_signal(struct fake_cq *cq);
void fake_cq_add(struct fake_cq *cq, const struct fabric_wc *wc);
void fake_domain_release(struct fake_domain *domain);

/* mr.c */
void fake_provider_init(struct mr_provider *p, const struct fake_setup *setup);
struct fake_region *fake_region_add(const void *owner, void *addr, size_t len, unsigned access);
/* Process address of [iova, iova+len) if key of owner grants access, else NULL. */
uint8_t *fake_region_find(const void *owner, uint32_t key, uint64_t iova, size_t len,
			  unsigned access);
/* The same of a key that c's peer uses: a region's or a window's. */
uint8_t *fake_reach(const struct fake_conn *c, uint32_t key, uint64_t iova, size_t len,
		    unsigned access);

/* window.c: operations of the provider, which lock by themselves, */
int fake_window_alloc(struct mr_provider *p, struct mr_window *window);
void fake_window_free(struct mr_provider *p, struct mr_window *window);
int fake_window_next_key(struct mr_provider *p, struct mr_window *window, uint32_t *rkeyp);
/* and what happens to windows on connections */
enum fabric_wc_status fake_bind(struct fake_conn *c, const struct fabric_wr *wr);
enum fabric_wc_status fake_local_inv(struct fake_conn *c, uint32_t key);
/* c's peer invalidates key; one that is no window's is passed on all the same. */
void fake_remote_inv(struct fake_conn *c, uint32_t key);
void fake_windows_drop(struct fake_conn *c);
/* r is about to go. */
void fake_windows_over(const struct fake_region *r);
uint8_t *fake_window_find(const struct fake_conn *c, uint32_t key, uint64_t iova, size_t len,
			  unsigned access);

/* conn.c */
void fake_conn_init(struct fake_conn *c, const void *owner);
struct fake_listen *fake_listen_find(uint16_t port);
/* The end is gone: none of these requests names it any more. */
void fake_requests_forget(struct util_list *requests, const struct fake_conn *from);
uint16_t fake_port_of(const struct sockaddr_storage *addr);
/* Queue a connection request at the listener. */
void fake_request_add(struct fake_listen *l, struct fake_conn *from);
/* Both are up: tell those with a cq. */
void fake_establish(struct fake_conn *a, struct fake_conn *b);
/* It is over for both ends; why NULL: orderly. */
void fake_conn_end(struct fake_conn *c, const char *why);
void fake_conn_detach(struct fake_conn *c);

/* conn.c: the operations of the table in fake.c */
int fake_conn_connect(struct fabric_cq *cq, const struct fabric_conn_params *params,
		      struct fabric_conn **connp, struct util_err *err);
int fake_conn_accept(struct fabric_cq *cq, struct fabric_request *req,
		     const struct fabric_conn_params *params, struct fabric_conn **connp,
		     struct util_err *err);
int fake_conn_start(struct fabric_conn *conn);
void fake_request_reject(struct fabric_request *req);
void fake_conn_disconnect(struct fabric_conn *conn);
void fake_conn_destroy(struct fabric_conn *conn);

/* listen.c */
int fake_listen_open(struct fabric *fabric, const struct sockaddr *addr, socklen_t len,
		     struct sockaddr_storage *bound, struct fabric_listener **listenerp,
		     struct util_err *err);
int fake_listener_fd(struct fabric_listener *listener);
int fake_listener_poll(struct fabric_listener *listener, struct fabric_request **reqp);
uint64_t fake_listener_deadline(struct fabric_listener *listener);
void fake_listener_close(struct fabric_listener *listener);
struct fake_listen *fake_listen_add(uint16_t port);
struct fake_domain *fake_domain_create(struct fabric *fabric);

/* peer.c */
struct fake_peer *fake_peer_create(const void *private, size_t len);
/* A connection to a raw listener. */
void fake_raw_establish(struct fake_listen *l, struct fake_conn *from);

/* post.c */
/* A send completion was handed out: memory of its work request and all before is the poster's
 * again. */
void fake_retire_sends(struct fake_conn *c, uint64_t wr_id);
int fake_post_send(struct fabric_conn *conn, struct fabric_wr *chain);
int fake_post_recv(struct fabric_conn *conn, struct fabric_recv *chain);
/* Carry out what stands in the send queue, complete what may complete. */
void fake_conn_advance(struct fake_conn *c);
void fake_conn_flush(struct fake_conn *c);
/* A Send of len bytes arrives at c: FABRIC_WC_OK or what the sender gets. */
enum fabric_wc_status fake_deliver(struct fake_conn *c, const struct fabric_sge *sge, uint32_t nsge,
				   const uint32_t *inv_rkey);

#endif

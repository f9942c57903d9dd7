/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - the verbs fabric: RC queue pairs through libibverbs and librdmacm.
 *
 * Objects
 *   fabric    the responder's shared domains; nothing else is global
 *   domain    one protection domain of our own on one device.  An *anchor* cm id keeps the device
 *             context that librdmacm opened alive for as long as the domain lives.
 *   cq        what drives connections: a completion channel, a CM event channel and the device's
 * own events behind one epoll descriptor.  It is *not* an ibv_cq. conn      a cm id, a queue pair
 * and one ibv_cq of exactly the queue pair's depth
 *
 * Why an ibv_cq per connection.  It cannot overflow whatever the number of connections, no
 * completion outlives its connection, and a connection's end needs no search in a shared queue.
 * Polling stays cheap because only *hot* connections are polled; those that were quiet when the
 * cq was last armed are cold until the completion channel names them.
 *
 * Rings.  Each connection remembers the work requests it has posted, in order, in two rings (sends
 * and receives).  The device is given ring positions as wr_id.  From the rings come the caller's
 * wr_id, the free room, what completes silently, and, once the queue pair is gone, the flushed
 * completions of what the device did not report any more.  So the end of a connection needs
 * nobody's cooperation: error state, drain, destroy, report the rest as flushed.
 *
 * Stages of a connection
 *
 *   connect:  ADDRESS -> ROUTE -> CONNECTING -> ESTABLISHED -> ENDING -> ENDED
 *   accept:   ACCEPTED -> STARTING ---------/
 *
 * Every stage may go to ENDING.  ENDED means that the device and CM objects are gone and
 * FABRIC_EV_DISCONNECTED has been delivered.
 *
 * Threads.  A cq and its connections belong to one thread at a time.  Listeners have their own
 * event channel.  Shared are the domains' reference counts and the fabric's list (lock).
 */
#ifndef NFSRDMA_VERBS_INTERNAL_H
#define NFSRDMA_VERBS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "iommu-aware/iommu.h"
#include "mr/mr.h"
#include "transport/fabric/fabric.h"
#include "util/util.h"

/* ---- limits.c: what a device says, made into what we use (pure) -------------------------- */

enum verbs_quirk {
	/* The address a peer names must be the process address; reg_mr_iova's is ignored. */
	VERBS_QUIRK_FORCES_VA = 1,
	/* A received Send with Invalidate is flagged with the kernel's bit 2, not IBV_WC_WITH_INV.
	 */
	VERBS_QUIRK_INV_FLAG = 2,
	/* A software device: optional access flags mean nothing to it. */
	VERBS_QUIRK_SOFTWARE = 4,
};

unsigned verbs_quirks(const struct ibv_device_attr *dev);
uint64_t verbs_link_bps(uint8_t active_width, uint8_t active_speed);
void verbs_limits(struct fabric_attr *attr, const struct ibv_device_attr *dev,
		  const struct ibv_port_attr *port);
/* Can this device fault in what a peer reads and writes (on-demand paging on an RC queue pair)? */
bool verbs_has_odp(struct ibv_context *verbs);
unsigned verbs_access_flags(unsigned access, bool iwarp);

/* ---- errors.c: their dialects in our words (pure) ---------------------------------------- */

enum fabric_wc_status verbs_wc_status(enum ibv_wc_status status);
int verbs_wc_errno(enum ibv_wc_status status);
/* "10.0.0.1 port 20049", "[fe80::1] port 20049" */
const char *verbs_addr_text(const struct sockaddr *addr, char *buf, size_t len);
#define VERBS_ADDR_TEXT 80
/* Words for a CM event that ended an attempt or a connection; returns the code. */
int verbs_cm_event_err(struct util_err *err, enum rdma_cm_event_type event, int status, bool iwarp,
		       const struct sockaddr *peer);
/* What to do about an errno, or "". */
const char *verbs_errno_hint(int code);
void verbs_wc_err(struct util_err *err, const struct ibv_wc *wc, const struct sockaddr *peer);

/* ---- objects ----------------------------------------------------------------------------- */

struct verbs_fabric {
	struct fabric base;
	const struct util_log *log;
	pthread_mutex_t lock;	 /* protects served */
	struct util_list served; /* the responder's domains, one per device, weakly held */
};

struct verbs_domain {
	struct fabric_domain base;
	struct mr_provider provider;
	struct verbs_fabric *fabric;
	struct ibv_context *verbs; /* librdmacm's; alive while anchor is bound */
	struct ibv_pd *pd;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *anchor;
	struct iommu_space *space; /* region addresses; NULL where they are process addresses */
	unsigned quirks;
	bool iwarp;
	bool send_inv;	       /* the device can Send with Invalidate */
	atomic_uint vector;    /* spreads connections over completion vectors */
	unsigned refs;	       /* under fabric->lock */
	struct util_list node; /* in fabric->served, or self-linked */
};

struct verbs_cq {
	struct fabric_cq base;
	int epoll_fd;
	struct ibv_comp_channel *completions;
	struct rdma_event_channel *events;
	struct util_list conns;	  /* all */
	struct util_list hot;	  /* to be polled */
	struct util_list waiting; /* have a deadline */
	bool slept;		  /* armed since the channels were last looked at */
	struct util_ticker ticker;
	unsigned polls;		  /* since the clock was last read for look_ns */
	uint64_t look_ns;	  /* look at the channels again at this time */
	unsigned narmed;	  /* connections whose ibv_cq owes us an event */
	struct fabric_counters counters;
	/* Scratch to translate chains into; as deep as the deepest connection. */
	struct ibv_send_wr *send_wrs;
	struct ibv_recv_wr *recv_wrs;
	struct ibv_sge *send_sges, *recv_sges;
	uint32_t send_room, recv_room, sge_room;
};

/* One posted work request. */
struct verbs_slot {
	uint64_t wr_id;
	bool signaled; /* the caller wants its completion */
};

struct verbs_ring {
	struct verbs_slot *slots;
	uint32_t mask;	     /* slots - 1, slots a power of two */
	uint32_t depth;	     /* work requests at most */
	uint32_t head, tail; /* free running; head - tail are posted and not complete */
};

static inline uint32_t verbs_ring_used(const struct verbs_ring *ring)
{
	return ring->head - ring->tail;
}

static inline uint32_t verbs_ring_room(const struct verbs_ring *ring)
{
	return ring->depth - verbs_ring_used(ring);
}

int verbs_ring_init(struct verbs_ring *ring, uint32_t depth);
void verbs_ring_fini(struct verbs_ring *ring);
uint32_t verbs_ring_push(struct verbs_ring *ring, uint64_t wr_id, bool signaled);
bool verbs_ring_retire(struct verbs_ring *ring, uint32_t position, struct verbs_slot *slot);
bool verbs_ring_pop(struct verbs_ring *ring, struct verbs_slot *slot);

/* Of the wr_id the device sees: which ring. */
#define VERBS_WR_RECV (UINT64_C(1) << 32)

enum verbs_stage {
	VERBS_ADDRESS,
	VERBS_ROUTE,
	VERBS_CONNECTING,
	VERBS_ACCEPTED,
	VERBS_STARTING,
	VERBS_ESTABLISHED,
	VERBS_ENDING,
	VERBS_ENDED,
};

/* A memory window: what mr_window.priv points to. */
struct verbs_window {
	struct util_list
		node; /* in the windows of the connection it was last bound on, or self-linked */
	struct ibv_mw *mw; /* NULL: gone with that connection */
};

struct verbs_conn {
	struct fabric_conn base;
	enum verbs_stage stage;
	struct fabric_conn_params params;
	struct rdma_cm_id *id;
	struct ibv_cq *ibcq;
	struct rdma_conn_param accept; /* what the peer asked for; responder only */
	bool goodbye;		       /* we ended it ourselves */
	bool tell_established;	       /* FABRIC_EV_ESTABLISHED is due */
	bool armed;		       /* the ibv_cq owes us an event */
	bool peeked;		       /* peek holds a completion found while arming */
	struct ibv_wc peek;
	uint64_t deadline_ns; /* of the set-up, 0: none */
	uint32_t unsignaled;  /* sends since the last the device was to signal */
	uint32_t max_inline;  /* what the queue pair got */
	struct verbs_ring sends, recvs;
	struct fabric_recv *early; /* posted before there was a queue pair */
	uint32_t nearly;
	struct util_list node;	  /* in cq->conns */
	struct util_list hot;	  /* in cq->hot, or self-linked */
	struct util_list waiting; /* in cq->waiting, or self-linked */
	struct util_list windows; /* last bound here */
};

struct verbs_request {
	struct fabric_request base;
	struct rdma_cm_id *id;
	struct rdma_conn_param param; /* without private data */
};

static inline struct verbs_fabric *verbs_fabric(struct fabric *fabric)
{
	return UTIL_CONTAINER_OF(fabric, struct verbs_fabric, base);
}

static inline struct verbs_domain *verbs_domain(struct fabric_domain *domain)
{
	return UTIL_CONTAINER_OF(domain, struct verbs_domain, base);
}

static inline struct verbs_cq *verbs_cq(struct fabric_cq *cq)
{
	return UTIL_CONTAINER_OF(cq, struct verbs_cq, base);
}

static inline struct verbs_conn *verbs_conn(struct fabric_conn *conn)
{
	return UTIL_CONTAINER_OF(conn, struct verbs_conn, base);
}

static inline struct verbs_cq *verbs_conn_cq(const struct verbs_conn *conn)
{
	return verbs_cq(conn->base.cq);
}

/* Its event was read, or will not come any more. */
static inline void verbs_conn_disarm(struct verbs_conn *conn)
{
	if (conn->armed)
		verbs_conn_cq(conn)->narmed--;
	conn->armed = false;
}

static inline struct verbs_domain *verbs_conn_domain(const struct verbs_conn *conn)
{
	return verbs_domain(conn->base.cq->domain);
}

/* ---- device.c ---------------------------------------------------------------------------- */

/* Are there any RDMA devices and a CM to reach them?  Without, librdmacm must not be called. */
int verbs_device_present(struct util_err *err);
/* Fill the domain's attributes, quirks and provider limits from its device. */
int verbs_device_query(struct verbs_domain *domain, uint8_t port, struct util_err *err);
/* A CM event channel whose descriptor does not block. */
int verbs_channel_open(struct rdma_event_channel **channelp, struct util_err *err);

/* ---- events.c ---------------------------------------------------------------------------- */

/* Make the context's asynchronous events readable without blocking. */
int verbs_events_open(struct ibv_context *verbs);
/* Say those that lie there in the log.  -errno: they can no longer be read. */
int verbs_events_take(const struct verbs_domain *domain);
/* The connection ended by silence: is its own port down? */
void verbs_events_explain(const struct verbs_conn *conn, struct util_err *err);

/* ---- domain.c ---------------------------------------------------------------------------- */

int verbs_domain_open(struct fabric *fabric, const struct sockaddr *peer, socklen_t peer_len,
		      int timeout_ms, struct fabric_domain **domainp, struct util_err *err);
void verbs_domain_put(struct fabric_domain *domain);
/* The responder's domain on the device a request came in on; takes a reference. */
int verbs_domain_serve(struct verbs_fabric *fabric, struct rdma_cm_id *id,
		       struct verbs_domain **domainp, struct util_err *err);

/* ---- provider.c -------------------------------------------------------------------------- */

/* Region addresses: [1 TiB, 64 TiB), which no process address of x86-64 or arm64 looks like. */
#define VERBS_SPACE_BASE (UINT64_C(1) << 40)
#define VERBS_SPACE_LIMIT (UINT64_C(1) << 46)

void verbs_provider_init(struct verbs_domain *domain, const struct ibv_device_attr *dev);

/* ---- cq.c -------------------------------------------------------------------------------- */

int verbs_cq_create(struct fabric_domain *domain, uint32_t depth, struct fabric_cq **cqp,
		    struct util_err *err);
void verbs_cq_destroy(struct fabric_cq *cq);
int verbs_cq_poll(struct fabric_cq *cq, struct fabric_wc *wc, int max);
int verbs_cq_fd(struct fabric_cq *cq);
int verbs_cq_arm(struct fabric_cq *cq);
int verbs_cq_wait(struct fabric_cq *cq, int timeout_ms);
uint64_t verbs_cq_deadline(struct fabric_cq *cq);
void verbs_cq_counters(const struct fabric_cq *cq, struct fabric_counters *counters);
/* Make the scratch deep enough for such a connection. */
int verbs_cq_reserve(struct verbs_cq *cq, uint32_t sends, uint32_t recvs, uint32_t sges);

/* ---- conn.c ------------------------------------------------------------------------------ */

int verbs_conn_new(struct verbs_cq *cq, const struct fabric_conn_params *params,
		   struct verbs_conn **connp, struct util_err *err);
int verbs_conn_make_qp(struct verbs_conn *conn, struct util_err *err);
void verbs_conn_heat(struct verbs_conn *conn);
void verbs_conn_set_deadline(struct verbs_conn *conn, int timeout_ms);
void verbs_conn_established(struct verbs_conn *conn);
/* Destroy the queue pair, completion queue and cm id; the device touches nothing any more. */
void verbs_conn_release(struct verbs_conn *conn);
/* The connection is over; err (NULL or code 0: orderly) says why, the first reason counts. */
void verbs_conn_end(struct verbs_conn *conn, const struct util_err *err);
void verbs_conn_disconnect(struct fabric_conn *conn);
void verbs_conn_destroy(struct fabric_conn *conn);

/* ---- collect.c: completions -------------------------------------------------------------- */

/* Up to max completions and events of one connection. */
int verbs_conn_collect(struct verbs_conn *conn, struct fabric_wc *wc, int max);
/* Is something there that collect would return?  Looks at the ibv_cq. */
bool verbs_conn_peek(struct verbs_conn *conn);

/* ---- connect.c, listen.c ----------------------------------------------------------------- */

int verbs_conn_connect(struct fabric_cq *cq, const struct fabric_conn_params *params,
		       struct fabric_conn **connp, struct util_err *err);
/* Take and carry out the CM events that lie in the cq's channel. */
void verbs_connect_events(struct verbs_cq *cq);
void verbs_conn_param_fill(const struct verbs_conn *conn, struct rdma_conn_param *param);

int verbs_listen(struct fabric *fabric, const struct sockaddr *addr, socklen_t len,
		 struct sockaddr_storage *bound, struct fabric_listener **listenerp,
		 struct util_err *err);
int verbs_listener_fd(struct fabric_listener *listener);
int verbs_listener_poll(struct fabric_listener *listener, struct fabric_request **reqp);
uint64_t verbs_listener_deadline(struct fabric_listener *listener);
void verbs_listener_close(struct fabric_listener *listener);
int verbs_conn_accept(struct fabric_cq *cq, struct fabric_request *req,
		      const struct fabric_conn_params *params, struct fabric_conn **connp,
		      struct util_err *err);
int verbs_conn_start(struct fabric_conn *conn);
void verbs_request_reject(struct fabric_request *req);

/* ---- post.c ------------------------------------------------------------------------------ */

int verbs_post_send(struct fabric_conn *conn, struct fabric_wr *chain);
int verbs_post_recv(struct fabric_conn *conn, struct fabric_recv *chain);
/* The queue pair has come: hand it the receives that waited for it. */
int verbs_post_early(struct verbs_conn *conn);

#endif

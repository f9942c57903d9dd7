/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - the software RNIC's objects, shared by the files of this folder.
 *
 *   fabric.c    the ops table, fabric and domain
 *   provider.c  memory registration and windows     stag.c  the key table     pin.c, lock.c  pins
 *   cq.c        completion queue, timers, harvest   sock_uring.c, sock_plain.c  what drives it
 *   startup.c   connecting, the MPA handshake       listen.c  listeners and half-open connections
 *   conn.c      a connection's life and end         post.c  posting work requests
 *   tx.c        work requests to FPDUs to the socket
 *   rx.c        the socket to FPDUs to memory       message.c  what a whole FPDU means
 *   scatter.c   one read for several FPDUs          translate.c  through the software IOMMU
 *   mpa.c, ddp.c, terminate.c, crc_*.c  pure codecs
 *
 * Threads: a cq and its connections belong to one thread at a time; the fabric, its key table and
 * its pinner are shared and lock themselves.
 */
#ifndef IWARP_INTERNAL_H
#define IWARP_INTERNAL_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "iommu-aware/iommu.h"
#include "transport/fabric/fabric.h"
#include "transport/iwarp/ddp.h"
#include "transport/iwarp/mpa.h"
#include "transport/iwarp/pin.h"
#include "transport/iwarp/stag.h"
#include "util/util.h"

#define IWARP_MAX_SGE 16u
#define IWARP_MAX_INLINE 512u
#define IWARP_MAX_WR 65536u
#define IWARP_RD_MAX 64u	/* IRD and ORD offered */
#define IWARP_RD_REVISION_1 16u /* what a revision 1 peer, which cannot say, is held to */
#define IWARP_CONNECT_TIMEOUT_MS 10000
#define IWARP_CLOSE_MS 1000 /* orderly close: how long the peer may take */
#define IWARP_LINGER_MS                                                                            \
	250 /* after a Terminate: how long we read on so that no RST overtakes it                  \
	     */

/* Our own FPDUs towards ourselves: 1023 cache lines of payload after a tagged header, so that
 * pieces of a large message start on cache lines, with 2 + 14 + 65472 a multiple of four. */
#define IWARP_ULPDU_OURS (IWARP_DDP_TAGGED_LEN + 65472u)
#define IWARP_ULPDU_LARGE 65000u /* taken by siw, by option only */

/* ---- fabric and domain ------------------------------------------------------------------ */

struct iwarp_fabric {
	struct fabric base;
	struct fabric_options opts;
	bool uring; /* io_uring may be used for sockets */
	struct iwarp_stags *stags;
	struct iwarp_pinner *pinner;
	_Atomic uint64_t last_serial; /* of connections */
};

struct iwarp_domain {
	struct fabric_domain base;
	struct mr_provider provider;
	struct iwarp_fabric *fabric;
	struct iommu_space *space; /* region addresses */
	struct iommu_sw *iommu;	   /* what it sits behind, NULL: nothing */
	_Atomic unsigned refs;
};

struct iwarp_window {
	struct iwarp_domain *domain;
	uint32_t stag;	       /* bound under this key, 0: not bound */
	uint32_t next_stag;    /* reserved for the next bind, 0: none yet */
	struct util_list node; /* conn->windows while bound */
};

void iwarp_provider_init(struct iwarp_domain *domain);
int iwarp_domain_create(struct iwarp_fabric *fabric, struct iwarp_domain **domainp,
			struct util_err *err);
void iwarp_domain_get(struct iwarp_domain *domain);
void iwarp_domain_put(struct iwarp_domain *domain);
/* Where the IOMMU has mapped a registration; 0 without one. */
uint64_t iwarp_region_bus(const struct mr_registration *reg);
/* Make stag name the window's new range; ends what it named before. */
void iwarp_window_bind(struct iwarp_window *window, uint32_t stag, const struct iwarp_mem *mem);
/* The key reserved for the window's next bind, which is posted now; 0: none was. */
uint32_t iwarp_window_take_key(struct iwarp_window *window);
void iwarp_window_forgo_key(struct iwarp_window *window);
/* The window's key ends, now. */
void iwarp_window_unbind(struct iwarp_window *window);

/* ---- queues ----------------------------------------------------------------------------- */

enum iwarp_swr_state {
	IWARP_SWR_QUEUED,
	IWARP_SWR_BUILDING, /* some of its segments are in the outgoing batch */
	IWARP_SWR_BUILT,    /* all of them; done when the socket has taken byte number end */
	IWARP_SWR_READING,  /* a Read Request that is out */
	IWARP_SWR_DONE,
};

/* A work request of the send queue; sge[] and inline bytes follow it in its slot. */
struct iwarp_swr {
	uint64_t wr_id;
	uint64_t end;
	uint64_t len;	      /* bytes its SGEs name */
	uint64_t received;    /* READ: bytes of the response placed */
	uint64_t remote_iova; /* WRITE, READ */
	uint32_t remote_rkey; /* WRITE, READ: the buffer; SEND_INV, LOCAL_INV: the key to end */
	struct iwarp_window *window; /* BIND */
	struct iwarp_mem mem;	     /* BIND: what the window will name */
	uint32_t bind_stag;	     /* BIND: under which key */
	uint8_t op, flags, state, status;
	uint32_t nsge;
	struct fabric_sge sge[];
};

struct iwarp_sq {
	uint8_t *slots;
	size_t stride;
	uint32_t mask;
	uint32_t head; /* oldest not yet harvested */
	uint32_t sent; /* oldest not known to be out */
	uint32_t next; /* first not yet started */
	uint32_t tail;
	uint32_t reads;	     /* Read Requests started and not answered in full */
	uint32_t read_first; /* the oldest of them */
};

struct iwarp_rwr {
	uint64_t wr_id;
	struct fabric_sge sge;
	uint32_t byte_len;
	uint32_t invalidated_rkey;
	bool invalidated;
	uint8_t status;
};

struct iwarp_rq {
	struct iwarp_rwr *slots;
	uint32_t mask;
	uint32_t head; /* oldest not yet harvested */
	uint32_t fill; /* the one the next or current message goes to */
	uint32_t tail;
};

/* A Read Request of the peer we are answering. */
struct iwarp_response {
	struct iwarp_read_request request;
	uint64_t end; /* set when built: the stream byte after its last */
};

struct iwarp_responses {
	struct iwarp_response slots[IWARP_RD_MAX];
	uint32_t head, next, tail;
};

/* ---- receiving -------------------------------------------------------------------------- */

#define IWARP_STAGE_SIZE 65536u
#define IWARP_CONTROL_MAX 64u /* payload of Read Requests and Terminates we look at */
#define IWARP_DIRECT_MIN                                                                           \
	2048u /* payload smaller than this goes through the stage: a copy is cheaper than a call */
#define IWARP_EXPECTED_MAX 128u
#define IWARP_SCATTER_MAX 64u /* FPDUs foreseen in one read */

enum iwarp_rx_state { IWARP_RX_HEADER, IWARP_RX_PAYLOAD, IWARP_RX_TRAILER };

struct iwarp_range {
	uint64_t iova;
	uint32_t len;
};

/* A read that takes the rest of a payload, FPDUs foreseen behind it, and what follows them. */
struct iwarp_scatter {
	struct iovec iov[2 * IWARP_SCATTER_MAX + 2];
	uint32_t niov;
	uint32_t n;			 /* FPDUs foreseen */
	uint32_t len[IWARP_SCATTER_MAX]; /* their payloads */
	uint32_t gap;			 /* bytes between two payloads: trailer and header */
	uint64_t behind;		 /* bytes of the message that follow those */
	uint8_t *dest;			 /* where the first of them goes */
	size_t spilled;			 /* bytes that were something else and lie in rx.spill */
	struct iwarp_hold hold;
	bool held;
};

struct iwarp_rx {
	uint8_t *in; /* the stage or the spill: bytes [head, tail) have come and are not looked at
		      * yet */
	uint32_t head, tail;
	uint8_t *stage; /* what reads fill */
	uint8_t *spill; /* what a scatter read took for something else; NULL until it happens */
	uint32_t wary;	/* reads that will not foresee anything */
	uint32_t nexpected;
	struct iwarp_range expected[IWARP_EXPECTED_MAX];
	enum iwarp_rx_state state;
	struct iwarp_ddp ddp;		      /* the current FPDU's header */
	uint8_t header[IWARP_DDP_HEADER_MAX]; /* the same, raw */
	uint8_t header_len;
	uint16_t ulpdu_len;
	uint32_t left; /* payload bytes still to come */
	uint32_t payload_len;
	uint32_t pad;
	uint32_t crc;
	uint8_t *dest;	  /* where the next payload byte goes; NULL: nowhere */
	bool dest_remote; /* dest is memory a key names: hold it before touching */
	unsigned dest_right;
	enum iwarp_fault fault; /* found in the header, reported once the CRC holds */
	uint8_t control[IWARP_CONTROL_MAX];
	uint32_t msn[IWARP_QN_COUNT]; /* of the message expected */
	uint32_t message_off;	      /* bytes of the current Send so far */
	uint8_t message_opcode;
	uint8_t bulk;	 /* payloads have been large lately: keep stage reads short */
	bool any;	 /* a byte has come since the handshake */
	bool first_done; /* a whole FPDU has come */
};

/* ---- sending ---------------------------------------------------------------------------- */

#define IWARP_TX_FPDUS 240u
#define IWARP_TX_IOVS 768u
/* length 2, untagged header 18, read request 28 or terminate 52, pad 3, CRC 4 */
#define IWARP_TX_META_MAX 80u
#define IWARP_TX_META (IWARP_TX_FPDUS * 64u)
#define IWARP_TX_AHEAD (1u << 20)     /* bytes built and not yet taken by the socket */
#define IWARP_TX_AHEAD_CRC (1u << 18) /* the same where building means reading it all */

enum iwarp_tx_kind { IWARP_TX_NONE, IWARP_TX_SWR, IWARP_TX_RESPONSE };

struct iwarp_tx {
	/* the outgoing batch: iov[iov_first..iov_count) is unsent; headers and trailers lie in meta
	 */
	struct iovec iov[IWARP_TX_IOVS + 2]; /* the slack is for a Terminate */
	uint32_t iov_first, iov_count;
	uint8_t meta[IWARP_TX_META + IWARP_TX_META_MAX];
	uint32_t meta_len;
	uint64_t fpdu_end[IWARP_TX_FPDUS + 1]; /* stream byte after each FPDU of the batch */
	uint32_t fpdu_first, fpdu_count;
	uint64_t batch_begin; /* stream byte the batch begins with */
	uint64_t built, sent; /* stream bytes since the handshake */
	/* the message being cut into segments */
	enum iwarp_tx_kind kind;
	struct iwarp_swr *swr;
	struct iwarp_response *response;
	uint64_t off; /* payload bytes of it built */
	uint32_t sge, sge_off;
	uint32_t msn[IWARP_QN_COUNT];
	uint32_t max_ulpdu;
	bool turn;    /* whose turn it is: responses (true) or the send queue */
	bool blocked; /* the socket is full: wait until it says otherwise */
	bool nudged;
};

/* ---- connection ------------------------------------------------------------------------- */

enum iwarp_phase {
	IWARP_CONNECTING, /* TCP */
	IWARP_HANDSHAKE,  /* initiator: request sent, reply awaited */
	IWARP_ACCEPTED,	  /* responder: conn_start() awaited */
	IWARP_RUNNING,
	IWARP_DRAINING, /* disconnect: sending what was posted */
	IWARP_CLOSING,	/* our side is shut down: reading and dropping until the peer's is */
	IWARP_ENDED,	/* no socket any more */
};

/* What a socket backend keeps per connection. */
struct iwarp_sock {
	int fd;
	bool rx_ready;	   /* reading may give something */
	bool rx_armed;	   /* uring: an asynchronous request for the receive side is out */
	uint32_t rx_asked; /* uring: bytes that request may put into the stage */
	bool tx_armed;	   /* uring: a poll for writability is out */
	bool attached;
	bool shut;     /* the peer has hung up, or worse */
	int rx_result; /* uring: what a receive said then */
};

struct iwarp_conn {
	struct fabric_conn base;
	struct iwarp_cq *cq;
	struct iwarp_fabric *fabric;
	uint64_t serial;
	enum iwarp_phase phase;
	struct iwarp_sock sock;
	struct fabric_conn_params params;
	bool initiator;
	bool crc;
	bool ours; /* the peer is one of us */
	bool event_established, event_disconnected;
	bool over; /* FABRIC_EV_DISCONNECTED was delivered */
	uint32_t ird, ord;
	uint8_t revision;
	bool reply_enhanced, reply_mark; /* responder: shape of the reply */
	bool reply_rtr_write, reply_rtr_read, reply_p2p;
	uint64_t deadline_ns;	      /* set-up, close; 0 none */
	uint64_t nudge_ns;	      /* when to nudge a silent peer; 0 never */
	struct util_list node;	      /* cq->conns */
	struct util_list active_node; /* cq->active: may make progress without waiting */
	struct util_list done_node;   /* cq->done: has completions or events */
	struct util_list unrung_node; /* cq->unrung: posted with FABRIC_WR_MORE */
	uint32_t unrung, unrung_len;  /* work requests and their bytes since the last doorbell */
	struct util_list timed_node;  /* cq->timed: deadline_ns or nudge_ns set */
	struct util_list windows;     /* bound on this connection */
	struct iwarp_sq sq;
	struct iwarp_rq rq;
	struct iwarp_responses responses;
	struct iommu_sw_fault iommu_fault; /* right 0: none */
	struct iommu_sw_last iommu_read_last, iommu_write_last;
	struct iwarp_rx rx;
	struct iwarp_tx tx;
};

/* ---- completion queue and sockets ------------------------------------------------------- */

struct iwarp_cq;

/*
 * What drives the sockets.  send and recv never sleep and return bytes, 0 at end of file, or
 * -errno; the other calls tell when to try again by setting rx_ready, clearing tx.blocked and
 * putting the connection on cq->active.
 */
struct iwarp_sock_ops {
	const char *name;
	int (*open)(struct iwarp_cq *cq, uint32_t depth, struct util_err *err);
	void (*close)(struct iwarp_cq *cq);
	/* Start watching conn->sock.fd. */
	int (*attach)(struct iwarp_conn *conn);
	/* On return nothing refers to the connection or its memory any more.  The fd stays open. */
	void (*detach)(struct iwarp_conn *conn);
	ssize_t (*send)(struct iwarp_conn *conn, struct msghdr *msg);
	ssize_t (*recv)(struct iwarp_conn *conn, struct msghdr *msg);
	/* recv said -EAGAIN (or came back short): tell when there is more. */
	void (*want_rx)(struct iwarp_conn *conn);
	/* send said -EAGAIN or took less: tell when there is room. */
	void (*want_tx)(struct iwarp_conn *conn);
	/* Take notice of what happened, without sleeping. */
	void (*poll)(struct iwarp_cq *cq);
	/* The same after sleeping until something happened: 0, -ETIME, -EINTR. */
	int (*wait)(struct iwarp_cq *cq, int timeout_ms);
	int (*fd)(struct iwarp_cq *cq);
	/* Make fd() tell; true when something has happened meanwhile. */
	bool (*arm)(struct iwarp_cq *cq);
};

extern const struct iwarp_sock_ops iwarp_sock_plain;
extern const struct iwarp_sock_ops iwarp_sock_uring;

struct iwarp_cq {
	struct fabric_cq base;
	struct iwarp_domain *domain;
	const struct iwarp_sock_ops *sock;
	void *driver; /* the backend's */
	struct util_list conns, active, done, timed, unrung;
	unsigned busy_polls; /* polls since the backend was asked last */
	bool ringing;        /* inside post_send, nothing sent yet */
	struct fabric_counters counters;
};

static inline struct iwarp_cq *iwarp_cq_of(const struct fabric_cq *cq)
{
	return UTIL_CONTAINER_OF(cq, struct iwarp_cq, base);
}

static inline struct iwarp_conn *iwarp_conn_of(const struct fabric_conn *conn)
{
	return UTIL_CONTAINER_OF(conn, struct iwarp_conn, base);
}

static inline struct iwarp_domain *iwarp_domain_of(const struct fabric_domain *domain)
{
	return UTIL_CONTAINER_OF(domain, struct iwarp_domain, base);
}

static inline struct iwarp_swr *iwarp_sq_slot(const struct iwarp_sq *sq, uint32_t i)
{
	return (struct iwarp_swr *)(void *)(sq->slots + (size_t)(i & sq->mask) * sq->stride);
}

/* cq.c */
int iwarp_cq_create(struct fabric_domain *domain, uint32_t depth, struct fabric_cq **cqp,
		    struct util_err *err);
void iwarp_cq_destroy(struct fabric_cq *cq);
int iwarp_cq_poll(struct fabric_cq *cq, struct fabric_wc *wc, int max);
int iwarp_cq_fd(struct fabric_cq *cq);
int iwarp_cq_arm(struct fabric_cq *cq);
int iwarp_cq_wait(struct fabric_cq *cq, int timeout_ms);
uint64_t iwarp_cq_deadline(struct fabric_cq *cq);
void iwarp_cq_counters(const struct fabric_cq *cq, struct fabric_counters *counters);
/* The connection may make progress: look at it in the next poll. */
void iwarp_cq_activate(struct iwarp_conn *conn);
void iwarp_cq_count_send(struct iwarp_cq *cq);
/* The chain just queued may wait for the next one's doorbell; false: no, there is enough. */
bool iwarp_cq_defer(struct iwarp_conn *conn, uint32_t n, uint64_t len);
/* The doorbell of what was queued. */
void iwarp_cq_ring(struct iwarp_conn *conn);
/* The connection has something for the caller. */
void iwarp_cq_announce(struct iwarp_conn *conn);
/* deadline_ns or nudge_ns changed. */
void iwarp_cq_retime(struct iwarp_conn *conn);

/* conn.c */
int iwarp_conn_create(struct iwarp_cq *cq, const struct fabric_conn_params *params,
		      struct iwarp_conn **connp, struct util_err *err);
void iwarp_conn_disconnect(struct fabric_conn *conn);
void iwarp_conn_destroy(struct fabric_conn *conn);
/* Look after one connection; called for those on cq->active. */
void iwarp_conn_progress(struct iwarp_conn *conn);
/* A deadline or the nudge may be due. */
void iwarp_conn_timer(struct iwarp_conn *conn, uint64_t now_ns);
/* Handshake done, sends may go. */
void iwarp_conn_established(struct iwarp_conn *conn);
/* The peer broke a rule: tell it by Terminate, then close.  detail goes into conn->err. */
void iwarp_conn_fault(struct iwarp_conn *conn, enum iwarp_fault fault, const char *detail);
/* The connection is gone: flush everything.  base.err is set by the caller before. */
void iwarp_conn_end(struct iwarp_conn *conn);
/* Set base.err (first cause wins) and end. */
void iwarp_conn_fail(struct iwarp_conn *conn, int code, const char *fmt, ...) UTIL_PRINTF(3, 4);
/* The peer's end of file at a message boundary, or our own drained queue: orderly end. */
void iwarp_conn_close(struct iwarp_conn *conn);
/* Completions and events of one connection into wc; the number written. */
int iwarp_conn_harvest(struct iwarp_conn *conn, struct fabric_wc *wc, int max);
void iwarp_conn_flush(struct iwarp_conn *conn);
/* A work request failed at our end: it completes with status, the connection ends. */
void iwarp_conn_local_error(struct iwarp_conn *conn, struct iwarp_swr *swr,
			    enum fabric_wc_status status, const char *detail);

/* startup.c */
int iwarp_conn_connect(struct fabric_cq *cq, const struct fabric_conn_params *params,
		       struct fabric_conn **connp, struct util_err *err);
int iwarp_conn_accept(struct fabric_cq *cq, struct fabric_request *req,
		      const struct fabric_conn_params *params, struct fabric_conn **connp,
		      struct util_err *err);
int iwarp_conn_start(struct fabric_conn *conn);
void iwarp_startup_progress(struct iwarp_conn *conn);
void iwarp_startup_timeout(struct iwarp_conn *conn);
bool iwarp_wants_crc(const struct iwarp_fabric *fabric, const struct sockaddr_storage *local,
		     const struct sockaddr_storage *peer);
void iwarp_socket_tune(int fd);
/* "10.0.0.1 port 20049"; returns buf. */
const char *iwarp_addr_text(const struct sockaddr_storage *addr, char *buf, size_t len);

/* listen.c */
struct iwarp_request {
	struct fabric_request base;
	struct iwarp_fabric *fabric;
	int fd;
	bool crc, enhanced, peer_to_peer, rtr_write, rtr_read;
	uint8_t revision;
	uint16_t ird, ord;
	uint16_t mark; /* the peer's longest ULPDU if it is one of us */
	/* bytes read so far */
	uint8_t frame[IWARP_MPA_FRAME_MAX];
	size_t frame_len;
	uint64_t deadline_ns;
	struct util_list node;
};

int iwarp_listen(struct fabric *fabric, const struct sockaddr *addr, socklen_t len,
		 struct sockaddr_storage *bound, struct fabric_listener **listenerp,
		 struct util_err *err);
int iwarp_listener_fd(struct fabric_listener *listener);
int iwarp_listener_poll(struct fabric_listener *listener, struct fabric_request **reqp);
uint64_t iwarp_listener_deadline(struct fabric_listener *listener);
void iwarp_listener_close(struct fabric_listener *listener);
void iwarp_request_reject(struct fabric_request *req);

/* post.c */
int iwarp_post_send(struct fabric_conn *conn, struct fabric_wr *chain);
int iwarp_post_recv(struct fabric_conn *conn, struct fabric_recv *chain);

/* tx.c */
/* Send what can be sent.  May end the connection. */
void iwarp_tx_progress(struct iwarp_conn *conn);
/* True when everything posted and every response is out. */
bool iwarp_tx_idle(const struct iwarp_conn *conn);
/* Finish the FPDU that is half out and append a Terminate, as far as one call takes it. */
void iwarp_tx_terminate(struct iwarp_conn *conn, const struct iwarp_terminate *term);
/* A zero-length RDMA Write, where nothing else is on its way. */
void iwarp_tx_nudge(struct iwarp_conn *conn);

/* translate.c */
/* iwarp_stags_hold(), and then hold->ptr is what the IOMMU says of the first len bytes. */
enum iwarp_denial iwarp_hold_to_read(struct iwarp_conn *conn, const struct iwarp_access *access,
				     uint64_t len, struct iwarp_hold *hold);
enum iwarp_denial iwarp_hold_to_write(struct iwarp_conn *conn, const struct iwarp_access *access,
				      uint64_t len, struct iwarp_hold *hold);
/* What the IOMMU refused, in words; NULL: it refused nothing.  Returns buf. */
const char *iwarp_iommu_fault_text(const struct iwarp_conn *conn, char *buf, size_t len);

/* rx.c */
/* Receive and act on what has come.  May end the connection. */
void iwarp_rx_progress(struct iwarp_conn *conn);
/* Read one piece into the stage: bytes, 0 at end of file, -errno. */
ssize_t iwarp_rx_fill_stage(struct iwarp_conn *conn);
/* How many bytes a read into the stage should ask for now. */
uint32_t iwarp_rx_stage_want(struct iwarp_conn *conn);

/* scatter.c */
/* See conn_expect() and conn_unexpect() in fabric.h. */
void iwarp_expect(struct fabric_conn *conn, uint64_t iova, uint32_t len);
void iwarp_unexpect(struct fabric_conn *conn, uint64_t iova);
/* Lay out a read for the payload in hand and hold its memory; lookahead: bytes to let into the stage
 * behind it.  False: the memory was withdrawn. */
bool iwarp_scatter_plan(struct iwarp_conn *conn, struct iwarp_scatter *sc, uint32_t lookahead);
/* n bytes came behind the payload in hand: what was not foreseen goes to the spill.  -ENOMEM. */
int iwarp_scatter_check(struct iwarp_conn *conn, struct iwarp_scatter *sc, size_t n);

/* message.c */
/* The header in conn->rx.ddp is decoded: say where its payload goes. */
enum iwarp_fault iwarp_message_begin(struct iwarp_conn *conn);
/* Payload and CRC of the FPDU are there. */
enum iwarp_fault iwarp_message_end(struct iwarp_conn *conn);
/* The segment broke a rule: mark what it was meant for, terminate. */
void iwarp_message_fault(struct iwarp_conn *conn, enum iwarp_fault fault);
/* Hold len bytes at to, of which the first touched are translated. */
enum iwarp_denial iwarp_message_hold(struct iwarp_conn *conn, uint64_t to, uint64_t len,
				     uint64_t touched, struct iwarp_hold *hold);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * evil.h - a responder played by hand on a real fabric, in the client's thread: it answers as it
 * likes, and reads and writes wherever its keys let it.
 */
#ifndef NFSRDMA_TESTS_RPCRDMA_EVIL_H
#define NFSRDMA_TESTS_RPCRDMA_EVIL_H

#include "tests/rpcrdma/harness.h"

#define EVIL_BUFFERS 64
#define EVIL_SIZE 4096

struct evil {
	const struct fabric_ops *ops;
	struct fabric *fabric;
	struct fabric_domain *domain;
	struct fabric_listener *listener;
	struct fabric_cq *cq;
	struct fabric_conn *conn;
	struct mr_registration inbox, outbox, data; /* outbox: messages; data: for RDMA */
	uint8_t *memory;			    /* of all three */
	uint16_t port;
	bool established, down;
	unsigned sent, completed;
	enum fabric_wc_status status; /* of the last completion of a send that was not OK */
	/* messages that came, not looked at yet */
	uint32_t pending[EVIL_BUFFERS], len[EVIL_BUFFERS];
	unsigned first, last;
	/* the call last taken */
	struct rpcrdma_header h;
	bool may_invalidate; /* the client offered it */
};

struct evil_options {
	enum mr_mode mode;
	uint32_t slots;
	bool soft;	     /* calls give up after a few hundred milliseconds */
	uint64_t max_pinned; /* 0: 32 MiB */
};

/* Both ends: the responder, and a client connected to it. */
struct evil_scene {
	struct evil evil;
	struct transport_ctx *ctx;
	struct transport_client *client;
	struct mr_pool *pool;
};

/* Skips the test where the fabric or the mode is not to be had. */
void evil_open(struct evil_scene *s, const struct evil_options *opts);
void evil_close(struct evil_scene *s);
struct mr_lease *evil_lease(struct evil_scene *s, enum mr_kind kind, size_t len);
/* The client came back: take its new connection. */
void evil_reaccept(struct evil_scene *s);

/*
 * QUIRK(rxe): the kernel's software device holds an access through a window against the window's
 * key and right and against the bounds of the region below, but not against the window's own (Linux
 * 6.1).  false: so it is here.
 */
bool evil_bounds_windows(void);

/* Look at what happened on the responder's side, without waiting. */
void evil_poll(struct evil *e);
/* Drive both ends until a call has come; it is in e->h. */
void evil_expect_call(struct evil_scene *s);
/* Drive both ends until n calls are done. */
void evil_drive(struct evil_scene *s, const struct outcome *o, unsigned n);

/*
 * RDMA into the client's memory, waited for; len at most EVIL_SIZE.  true: it was carried out as
 * far as this side can tell; false: the connection ended over it.
 */
bool evil_write(struct evil_scene *s, uint32_t rkey, uint64_t offset, uint8_t byte, uint32_t len);
/* The same the other way; what came is at evil_bytes(). */
bool evil_read(struct evil_scene *s, uint32_t rkey, uint64_t offset, uint32_t len);
const uint8_t *evil_bytes(const struct evil *e);

/* Answer the call last taken with words of results; inv: invalidate that key, 0: none. */
void evil_answer(struct evil_scene *s, const uint32_t *words, unsigned n, uint32_t inv);

#endif

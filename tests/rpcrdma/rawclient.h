/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawclient.h - a server of ours and a requester played by hand.  The server runs on its own
 * thread; waiting for it is bounded.
 */
#ifndef NFSRDMA_TESTS_RPCRDMA_RAWCLIENT_H
#define NFSRDMA_TESTS_RPCRDMA_RAWCLIENT_H

#include "tests/rpcrdma/harness.h"

#define RAW_MEM (2 << 20)

struct raw {
	struct server server;
	struct fake_peer *peer;
	/* what the server may reach */
	uint8_t *mem;
	uint32_t rkey, rkey2; /* two keys for the same memory */
	uint64_t iova, iova2;
	/* the call being built */
	struct rpcrdma_header h;
	uint8_t msg[65536];
	struct wire_enc e;
	/* the reply last taken */
	uint8_t bytes[65536];
	ssize_t len;
	struct rpcrdma_header r;
	uint8_t *reply;
	size_t reply_len;
};

struct raw_options {
	bool no_private, remote_invalidation;
	uint32_t credits, inline_kib; /* ours; default 4 */
	size_t max_pinned, max_data;
};

void raw_open(struct raw *c, const struct raw_options *opts);
void raw_close(struct raw *c);
/* Another connection to the same server. */
void raw_connect(struct raw *c, const struct raw_options *opts);

/* Begin a call: a transport header without chunks, an RPC header; arguments go to c->e. */
void raw_call(struct raw *c, uint32_t xid, uint32_t proc);
/* Segments of c->mem, by the first key. */
void raw_add_read(struct raw *c, uint32_t position, uint32_t off, uint32_t len);
void raw_add_write(struct raw *c, uint32_t off, uint32_t len);
void raw_add_reply(struct raw *c, uint32_t off, uint32_t len);
void raw_send(struct raw *c);
void raw_send_bytes(struct raw *c, const void *bytes, size_t len);
/* Wait for a message; false: the connection ended, or ten seconds passed. */
bool raw_next(struct raw *c);
/* The message is an accepted reply to xid; returns its results. */
struct wire_dec raw_expect(struct raw *c, uint32_t xid);
void raw_expect_error(struct raw *c, uint32_t xid, uint32_t code);
/* A NULL call is answered. */
void raw_still_works(struct raw *c);
/* The server ended the connection. */
void raw_expect_dropped(struct raw *c);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig.h - a client of ours and a responder played by hand, in one thread.
 */
#ifndef NFSRDMA_TESTS_RPCRDMA_RIG_H
#define NFSRDMA_TESTS_RPCRDMA_RIG_H

#include "tests/rpcrdma/harness.h"
#include "transport/rpcrdma/requester.h"

struct rig_options {
	bool no_private; /* the responder has no private data */
	bool no_poison;
	uint32_t slots, timeo_ms;
	uint32_t windows; /* mr=window, with a device that has so many */
};

struct rig {
	struct fake_listen *listen;
	struct fake_peer *peer;
	struct transport_ctx *ctx;
	struct transport_client *client;
	/* the call last taken */
	uint8_t bytes[65536];
	struct rpcrdma_header h;
	uint8_t *msg;
	size_t msg_len;
};

void rig_open(struct rig *r, const struct rig_options *opts);
void rig_close(struct rig *r);
void rig_close_with(struct rig *r, struct mr_lease *lease);
/* The client came back: take its new connection. */
void rig_reaccept(struct rig *r);
/* The client's link, for what only its insides tell. */
struct rpcrdma_link *rig_link(struct rig *r);
struct mr_lease *rig_lease(struct rig *r, enum mr_kind kind, size_t len);

/* Take the next call; false: there is none. */
bool rig_next_call(struct rig *r);
void rig_expect_call(struct rig *r);

/* Send a transport header and n bytes behind it. */
void rig_send(struct rig *r, const struct rpcrdma_header *h, const void *msg, size_t len);
/* An accepted RPC reply header into buf, returns where results go. */
uint8_t *rig_accepted(uint8_t *buf, uint32_t xid);
/* The reply's header for the call last taken: its write list and reply chunk as they stand in r->h.
 */
void rig_header(const struct rig *r, struct rpcrdma_header *h, uint32_t proc);

/* Answers to the call last taken.  The plain one has three words of results: 1, 2, 3. */
void rig_answer(struct rig *r, uint32_t credits);
void rig_answer_xid(struct rig *r, uint32_t xid, uint32_t credits);
void rig_answer_inv(struct rig *r, uint32_t credits, uint32_t rkey);
/* GET: len bytes, in the message when data is given. */
void rig_answer_get(struct rig *r, uint32_t len, const void *data);
/* GET: a status without data. */
void rig_answer_none(struct rig *r);
/* LONG, through the reply chunk. */
void rig_answer_long(struct rig *r, uint32_t len, uint32_t seed);

int rig_read_segment(struct rig *r, const struct rpcrdma_segment *seg, void *buf);
int rig_write_segment(struct rig *r, const struct rpcrdma_segment *seg, const void *buf,
		      size_t len);

#endif

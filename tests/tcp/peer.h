/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.h - the far end of a TCP connection, by hand: the test plays the server, byte by byte, on
 * the same thread as the client under test.
 */
#ifndef NFSRDMA_TESTS_TCP_PEER_H
#define NFSRDMA_TESTS_TCP_PEER_H

#include "tests/rpc/echo.h"

struct peer {
	struct transport_ctx *ctx;
	struct transport_client *client;
	int listen_fd, fd;
	uint16_t port;
};

/* Listen, connect a client with params (may be NULL), accept it. */
void peer_start(struct peer *peer, const struct transport_client_params *params);
void peer_stop(struct peer *peer);
/* Take the next connection (the client is driven meanwhile). */
void peer_accept(struct peer *peer);
void peer_close(struct peer *peer);
/* What the client has counted. */
struct transport_counters peer_counters(const struct peer *peer);

/* One whole record from the client, without its mark: its length. */
size_t peer_read_call(struct peer *peer, uint8_t *buf, size_t size);
/* The XID of the next record, which is thrown away. */
uint32_t peer_read_xid(struct peer *peer);
void peer_write(struct peer *peer, const void *p, size_t len);
/* The answer to an ECHO_TEXT. */
void peer_reply(struct peer *peer, uint32_t xid, const char *text);
/* Let the client take what was just written. */
void peer_deliver(struct peer *peer);

/* Replies, as records: their length with the mark. */
size_t reply_text(uint8_t *buf, uint32_t xid, const char *text);
/* As ECHO_READ answers: status 0, length, data, padding; then tail_words words more. */
size_t reply_read(uint8_t *buf, uint32_t xid, size_t len, uint32_t seed, unsigned tail_words);
/* Cut the record of len bytes at buf (one fragment) into fragments of at most piece bytes. */
size_t refragment(uint8_t *out, const uint8_t *buf, size_t len, size_t piece);

#endif

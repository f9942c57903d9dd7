/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - the connection's private data (RFC 8797): inline sizes and remote invalidation.
 */
#ifndef NFSRDMA_RPCRDMA_PRIVATE_H
#define NFSRDMA_RPCRDMA_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPCRDMA_PRIVATE_LEN 8
#define RPCRDMA_INLINE_MIN 1024	 /* what a peer that says nothing takes */
#define RPCRDMA_INLINE_MAX 65536 /* ours; the format reaches to 256 KiB */
#define RPCRDMA_INLINE_DEFAULT 4096

struct rpcrdma_private {
	uint32_t send_size, recv_size; /* bytes, of inline messages; encoded in whole KiB */
	bool remote_invalidation;      /* the sender understands SEND WITH INVALIDATE */
};

/* Sizes are cut to whole KiB and into the format's range. */
void rpcrdma_private_encode(const struct rpcrdma_private *p, uint8_t buf[RPCRDMA_PRIVATE_LEN]);
/*
 * What the peer can do.  Data that is absent, short, foreign or of another version: the defaults,
 * and false.
 */
bool rpcrdma_private_decode(struct rpcrdma_private *p, const uint8_t *buf, size_t len);
/* A wish in bytes made one the format can say: whole KiB in [1024, 65536]; 0 is the default. */
uint32_t rpcrdma_inline_size(uint32_t wish);
/* The threshold of one direction: the smaller of what one sends and the other receives. */
uint32_t rpcrdma_inline_threshold(uint32_t send_size, uint32_t recv_size);

#endif

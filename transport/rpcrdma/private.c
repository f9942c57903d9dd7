/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.c - private data of RPC-over-RDMA connections (RFC 8797 section 4).
 *
 * Eight bytes travel with the connection request and with its answer:
 *
 *     f6 ab 0e 18 | version 1 | flags | send size | receive size
 *
 * where a size byte s means (s + 1) * 1024 bytes.  Fabrics may pad private data, so more bytes than
 * eight are fine.  A peer that sends something else speaks plain RFC 8166: 1024 bytes each way and
 * no remote invalidation.
 */
#include <string.h>

#include "transport/rpcrdma/private.h"
#include "util/util.h"

#define PRIVATE_MAGIC UINT32_C(0xf6ab0e18)
#define PRIVATE_VERSION 1
#define PRIVATE_REMOTE_INVALIDATION 0x01
#define PRIVATE_SIZE_MAX (256 * 1024)

static uint8_t encode_size(uint32_t bytes)
{
	if (bytes < RPCRDMA_INLINE_MIN)
		bytes = RPCRDMA_INLINE_MIN;
	if (bytes > PRIVATE_SIZE_MAX)
		bytes = PRIVATE_SIZE_MAX;
	return (uint8_t)(bytes / 1024 - 1);
}

static uint32_t decode_size(uint8_t byte)
{
	return ((uint32_t)byte + 1) * 1024;
}

void rpcrdma_private_encode(const struct rpcrdma_private *p, uint8_t buf[RPCRDMA_PRIVATE_LEN])
{
	util_put_be32(buf, PRIVATE_MAGIC);
	buf[4] = PRIVATE_VERSION;
	buf[5] = p->remote_invalidation ? PRIVATE_REMOTE_INVALIDATION : 0;
	buf[6] = encode_size(p->send_size);
	buf[7] = encode_size(p->recv_size);
}

bool rpcrdma_private_decode(struct rpcrdma_private *p, const uint8_t *buf, size_t len)
{
	p->send_size = RPCRDMA_INLINE_MIN;
	p->recv_size = RPCRDMA_INLINE_MIN;
	p->remote_invalidation = false;
	if (len < RPCRDMA_PRIVATE_LEN || util_get_be32(buf) != PRIVATE_MAGIC ||
	    buf[4] != PRIVATE_VERSION)
		return false;
	p->remote_invalidation = buf[5] & PRIVATE_REMOTE_INVALIDATION;
	p->send_size = decode_size(buf[6]);
	p->recv_size = decode_size(buf[7]);
	return true;
}

uint32_t rpcrdma_inline_size(uint32_t wish)
{
	if (wish == 0)
		return RPCRDMA_INLINE_DEFAULT;
	if (wish < RPCRDMA_INLINE_MIN)
		return RPCRDMA_INLINE_MIN;
	if (wish > RPCRDMA_INLINE_MAX)
		return RPCRDMA_INLINE_MAX;
	return wish & ~UINT32_C(1023);
}

uint32_t rpcrdma_inline_threshold(uint32_t send_size, uint32_t recv_size)
{
	return send_size < recv_size ? send_size : recv_size;
}

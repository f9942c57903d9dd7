/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_rpcrdma_private.c - private data of a connection, as a peer or something quite different
 * sent it.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transport/rpcrdma/private.h"

FUZZ_TARGET(rpcrdma_private)
{
	uint8_t buf[RPCRDMA_PRIVATE_LEN];
	struct rpcrdma_private p, again;

	rpcrdma_private_decode(&p, data, size);
	FUZZ_CHECK(p.send_size >= RPCRDMA_INLINE_MIN && p.send_size <= 256 * 1024);
	FUZZ_CHECK(p.recv_size >= RPCRDMA_INLINE_MIN && p.recv_size <= 256 * 1024);
	rpcrdma_private_encode(&p, buf);
	rpcrdma_private_decode(&again, buf, sizeof(buf));
	FUZZ_CHECK(again.send_size == p.send_size && again.recv_size == p.recv_size &&
		   again.remote_invalidation == p.remote_invalidation);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_rpcrdma_header.c - the transport header of RPC-over-RDMA, as either side gets it from the
 * other.
 *
 * What decodes encodes to the same bytes: the header has one spelling only.
 */
#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transport/rpcrdma/header.h"

static void check_limits(const struct rpcrdma_header *h)
{
	FUZZ_CHECK(h->nreads <= RPCRDMA_MAX_READS);
	FUZZ_CHECK(h->nwrites <= RPCRDMA_MAX_WRITES);
	for (uint32_t i = 0; i < h->nwrites; i++) {
		FUZZ_CHECK(h->write[i].nsegs <= RPCRDMA_MAX_SEGS);
		FUZZ_CHECK(rpcrdma_chunk_len(&h->write[i]) <= (uint64_t)RPCRDMA_MAX_SEGS << 32);
	}
	FUZZ_CHECK(!h->has_reply || h->reply.nsegs <= RPCRDMA_MAX_SEGS);
}

FUZZ_TARGET(rpcrdma_header)
{
	struct rpcrdma_header h;
	uint8_t again[RPCRDMA_HEADER_MAX];
	ssize_t len = rpcrdma_header_decode(&h, data, size);

	if (len < 0) {
		FUZZ_CHECK(len == -ENODATA || len == -EPROTONOSUPPORT || len == -EBADMSG ||
			   len == -E2BIG);
		FUZZ_CHECK((len == -ENODATA) == (size < RPCRDMA_FIXED_LEN));
		return 0;
	}
	FUZZ_CHECK((size_t)len <= size);
	if (h.proc == RPCRDMA_DONE)
		return 0; /* never sent, so it has no encoding */
	if (h.proc != RPCRDMA_ERROR)
		check_limits(&h);
	FUZZ_CHECK(rpcrdma_header_len(&h) == (size_t)len);
	FUZZ_CHECK(rpcrdma_header_encode(&h, again, sizeof(again)) == len);
	FUZZ_CHECK(memcmp(again, data, (size_t)len) == 0);
	return 0;
}

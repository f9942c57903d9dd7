/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.c - the chunk policy of the requester.
 *
 * Which data may be moved by chunk at all is the caller's knowledge (RFC 8267: WRITE's data and
 * SYMLINK's target as arguments, READ's data and READLINK's target as results; they come as "data"
 * and "sink").  Here only sizes decide:
 *
 *   - what fits inline goes inline: a copy of a few KiB costs less than the extra round trip of an
 *     RDMA Read, or than a segment that both sides must handle;
 *   - a bulk argument that does not fit becomes a read chunk; when the message itself does not fit
 *     either, the message becomes a position-zero read chunk (a long call);
 *   - a bulk result that does not fit gets a write chunk; any other long reply a reply chunk. Never
 *     both: the kernel's server is not known to see them together.
 *
 * Two facts keep the arithmetic short.  Chunks never contain XDR round-up (RFC 8166 sections 3.4.5
 * and 3.4.6), copied data always does.  And the largest header, a long call with 16 data segments
 * and a write chunk of 16, is 28 + 17 * 24 + 8 + 16 * 16 = 700 bytes, below any threshold.
 */
#include "transport/rpcrdma/header.h"
#include "transport/rpcrdma/plan.h"
#include "wire/wire.h"

static size_t padded(size_t len)
{
	return len + WIRE_PAD(len);
}

/* Choose the reply's way; returns the header bytes it costs the call. */
static size_t plan_reply(struct rpcrdma_plan *plan, const struct rpcrdma_plan_in *in)
{
	size_t results = WIRE_RPC_REPLY_LEN + in->reply_max;
	size_t bulk = padded(in->sink_len);
	size_t write_list = 8 + (size_t)in->sink_nsegs * RPCRDMA_SEGMENT_LEN;

	plan->reply_len_max = 0;
	if (RPCRDMA_HEADER_MIN + results + bulk <= in->recv_threshold) {
		plan->reply = RPCRDMA_REPLY_INLINE;
		return 0;
	}
	if (in->sink_len && in->sink_leased &&
	    RPCRDMA_HEADER_MIN + write_list + results <= in->recv_threshold) {
		plan->reply = RPCRDMA_REPLY_WRITE_CHUNK;
		return write_list;
	}
	plan->reply = RPCRDMA_REPLY_CHUNK;
	plan->reply_len_max = results + RPCRDMA_VERIFIER_MAX + bulk;
	return 4 + RPCRDMA_SEGMENT_LEN;
}

void rpcrdma_plan(struct rpcrdma_plan *plan, const struct rpcrdma_plan_in *in)
{
	size_t header = RPCRDMA_HEADER_MIN + plan_reply(plan, in);
	size_t whole = in->msg_len + padded(in->data_len);
	size_t read_list = (size_t)in->data_nsegs * RPCRDMA_READ_LEN;

	plan->long_call = false;
	plan->data = in->data_len ? RPCRDMA_DATA_INLINE : RPCRDMA_DATA_NONE;
	plan->message_len = whole;
	plan->header_len = header;
	if (header + whole <= in->send_threshold)
		return;
	if (in->data_len && in->data_leased) {
		plan->data = RPCRDMA_DATA_CHUNK;
		plan->message_len = in->msg_len;
		plan->header_len = header + read_list;
		if (plan->header_len + in->msg_len <= in->send_threshold)
			return;
	}
	plan->long_call = true;
	plan->header_len += RPCRDMA_READ_LEN;
}

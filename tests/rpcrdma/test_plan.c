/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of transport/rpcrdma/plan.c as a table.  The edges are worked out in the comments: a header
 * of 28 bytes, 24 per read entry, 8 + 16 per write chunk segment, 20 for a reply chunk, 24 of RPC
 * reply.
 */
#include <criterion/criterion.h>

#include "transport/rpcrdma/header.h"
#include "transport/rpcrdma/plan.h"

struct row {
	const char *what;
	struct rpcrdma_plan_in in;
	struct rpcrdma_plan want;
};

#define SMALL .send_threshold = 1024, .recv_threshold = 1024
#define USUAL .send_threshold = 4096, .recv_threshold = 4096

static const struct row rows[] = {
	{"a small call goes inline",
	 {.msg_len = 120, .reply_max = 112, USUAL},
	 {.header_len = 28, .message_len = 120}},
	{"996 bytes just fit into 1024",
	 {.msg_len = 996, .reply_max = 112, SMALL},
	 {.header_len = 28, .message_len = 996}},
	{"1000 bytes are a long call",
	 {.msg_len = 1000, .reply_max = 112, SMALL},
	 {.long_call = true, .header_len = 52, .message_len = 1000}},
	{"data that fits with its padding goes inline: 28 + 160 + 3908 = 4096",
	 {.msg_len = 160,
	  .data_len = 3905,
	  .data_nsegs = 1,
	  .data_leased = true,
	  .reply_max = 112,
	  USUAL},
	 {.data = RPCRDMA_DATA_INLINE, .header_len = 28, .message_len = 4068}},
	{"one byte more is a read chunk",
	 {.msg_len = 160,
	  .data_len = 3909,
	  .data_nsegs = 1,
	  .data_leased = true,
	  .reply_max = 112,
	  USUAL},
	 {.data = RPCRDMA_DATA_CHUNK, .header_len = 52, .message_len = 160}},
	{"each piece is a read entry",
	 {.msg_len = 160,
	  .data_len = 1 << 20,
	  .data_nsegs = 16,
	  .data_leased = true,
	  .reply_max = 112,
	  SMALL},
	 {.data = RPCRDMA_DATA_CHUNK, .header_len = 28 + 16 * 24, .message_len = 160}},
	{"a message that does not fit beside its read chunk becomes a long call with both",
	 {.msg_len = 700,
	  .data_len = 1 << 20,
	  .data_nsegs = 16,
	  .data_leased = true,
	  .reply_max = 112,
	  SMALL},
	 {.long_call = true,
	  .data = RPCRDMA_DATA_CHUNK,
	  .header_len = 28 + 17 * 24,
	  .message_len = 700}},
	{"data without a lease that does not fit goes into the long call",
	 {.msg_len = 500, .data_len = 1022, .data_nsegs = 1, .reply_max = 112, SMALL},
	 {.long_call = true, .data = RPCRDMA_DATA_INLINE, .header_len = 52, .message_len = 1524}},
	{"a small READ comes inline: 28 + 24 + 128 + 3916 = 4096",
	 {.msg_len = 140,
	  .sink_len = 3914,
	  .sink_nsegs = 1,
	  .sink_leased = true,
	  .reply_max = 128,
	  USUAL},
	 {.header_len = 28, .message_len = 140}},
	{"a larger one by write chunk",
	 {.msg_len = 140,
	  .sink_len = 3917,
	  .sink_nsegs = 1,
	  .sink_leased = true,
	  .reply_max = 128,
	  USUAL},
	 {.reply = RPCRDMA_REPLY_WRITE_CHUNK, .header_len = 28 + 8 + 16, .message_len = 140}},
	{"of as many segments as pieces",
	 {.msg_len = 140,
	  .sink_len = 1 << 20,
	  .sink_nsegs = 16,
	  .sink_leased = true,
	  .reply_max = 128,
	  SMALL},
	 {.reply = RPCRDMA_REPLY_WRITE_CHUNK, .header_len = 28 + 8 + 256, .message_len = 140}},
	{"a sink without a lease needs a reply chunk when it is too large",
	 {.msg_len = 140, .sink_len = 1001, .sink_nsegs = 1, .reply_max = 128, SMALL},
	 {.reply = RPCRDMA_REPLY_CHUNK,
	  .header_len = 48,
	  .message_len = 140,
	  .reply_len_max = 24 + 128 + 400 + 1004}},
	{"READDIR: 28 + 24 + 972 = 1024 still fits",
	 {.msg_len = 140, .reply_max = 972, SMALL},
	 {.header_len = 28, .message_len = 140}},
	{"and then a reply chunk",
	 {.msg_len = 140, .reply_max = 976, SMALL},
	 {.reply = RPCRDMA_REPLY_CHUNK,
	  .header_len = 48,
	  .message_len = 140,
	  .reply_len_max = 24 + 976 + 400}},
	{"a reply chunk can push the message out of the inline range",
	 {.msg_len = 980, .reply_max = 32768, SMALL},
	 {.long_call = true,
	  .reply = RPCRDMA_REPLY_CHUNK,
	  .header_len = 72,
	  .message_len = 980,
	  .reply_len_max = 24 + 32768 + 400}},
	{"never a write list and a reply chunk: long results take the bulk with them",
	 {.msg_len = 140,
	  .sink_len = 8192,
	  .sink_nsegs = 1,
	  .sink_leased = true,
	  .reply_max = 2000,
	  SMALL},
	 {.reply = RPCRDMA_REPLY_CHUNK,
	  .header_len = 48,
	  .message_len = 140,
	  .reply_len_max = 24 + 2000 + 400 + 8192}},
};

Test(rpcrdma_plan, chooses_as_the_table_says)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct rpcrdma_plan plan;

		memset(&plan, 0xa5, sizeof(plan));
		rpcrdma_plan(&plan, &r->in);
		cr_expect_eq(plan.long_call, r->want.long_call, "%s: long_call", r->what);
		cr_expect_eq(plan.data, r->want.data, "%s: data %d", r->what, plan.data);
		cr_expect_eq(plan.reply, r->want.reply, "%s: reply %d", r->what, plan.reply);
		cr_expect_eq(plan.header_len, r->want.header_len, "%s: header %zu", r->what,
			     plan.header_len);
		cr_expect_eq(plan.message_len, r->want.message_len, "%s: message %zu", r->what,
			     plan.message_len);
		cr_expect_eq(plan.reply_len_max, r->want.reply_len_max, "%s: reply chunk %zu",
			     r->what, plan.reply_len_max);
	}
}

/* Sweep sizes around the thresholds: whatever the plan, what is sent fits, and the reply has room.
 */
Test(rpcrdma_plan, always_fits_what_it_plans)
{
	static const uint32_t thresholds[] = {1024, 4096, 65536};
	static const size_t sizes[] = {0, 1, 3, 500, 972, 1000, 1024, 3900, 4096, 70000, 1 << 20};
	static const size_t n = sizeof(sizes) / sizeof(sizes[0]);

	for (size_t i = 0; i < 3 * 3 * n * n * n * 2; i++) {
		struct rpcrdma_plan_in in = {.send_threshold = thresholds[i % 3],
					     .recv_threshold = thresholds[i / 3 % 3],
					     .reply_max = sizes[i / 9 % n],
					     .data_len = sizes[i / 9 / n % n],
					     .sink_len = sizes[i / 9 / n / n % n],
					     .msg_len = 40 + i % 1400 / 4 * 4};
		bool leased = i / 9 / n / n / n;
		struct rpcrdma_plan plan;
		size_t reply;

		in.data_leased = in.sink_leased = leased;
		in.data_nsegs = in.data_len ? RPCRDMA_MAX_SEGS : 0;
		in.sink_nsegs = in.sink_len ? RPCRDMA_MAX_SEGS : 0;
		rpcrdma_plan(&plan, &in);
		cr_assert_leq(plan.header_len + (plan.long_call ? 0 : plan.message_len),
			      in.send_threshold);
		reply = 24 + in.reply_max;
		if (plan.reply != RPCRDMA_REPLY_WRITE_CHUNK)
			reply += (in.sink_len + 3) & ~(size_t)3;
		if (plan.reply == RPCRDMA_REPLY_CHUNK)
			cr_assert_geq(plan.reply_len_max, reply);
		else
			cr_assert_leq(28 + reply, in.recv_threshold);
	}
}

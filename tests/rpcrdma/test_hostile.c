/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile calls: refused with ERR_CHUNK, or dropped, and the connection serves the next call.
 */
#include <stdlib.h>

#include "tests/rpcrdma/rawclient.h"

struct hostile {
	const char *what;
	void (*build)(struct raw *c);
};

static void put(struct raw *c, uint32_t proc, uint32_t len)
{
	raw_call(c, 1, proc);
	wire_put_u32(&c->e, 3);
	wire_put_u32(&c->e, len);
}

static void two_positions(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_read(c, 48, 0, 4000);
	raw_add_read(c, 44, 4000, 4000);
}

static void odd_position(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_read(c, 46, 0, 8000);
}

static void position_beyond(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_read(c, 52, 0, 8000);
}

static void position_far_beyond(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_read(c, 0xfffffffc, 0, 8000);
}

static void position_in_header(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_read(c, 40, 0, 8000);
}

static void zero_in_msg(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_read(c, 0, 0, 8000);
}

static void nomsg_without_zero(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	c->h.proc = RPCRDMA_NOMSG;
	raw_add_read(c, 48, 0, 8000);
}

static void nomsg_without_reads(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	c->h.proc = RPCRDMA_NOMSG;
}

static void nomsg_of_nothing(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	c->h.proc = RPCRDMA_NOMSG;
	raw_add_read(c, 0, 0, 0);
}

static void too_much_data(struct raw *c)
{
	put(c, PROC_PUT, 1 << 20);
	raw_add_read(c, 48, 0, (1 << 20) + 4);
}

static void wild_lengths(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	for (int i = 0; i < 16; i++)
		raw_add_read(c, 48, 0, 0xffffffff);
}

static void too_long_call(struct raw *c)
{
	put(c, PROC_TEXT, 8000);
	c->h.proc = RPCRDMA_NOMSG;
	raw_add_read(c, 0, 0, (1 << 20) + 8193);
}

static void read_wraps(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_read(c, 48, 0, 8000);
	c->h.read[0].seg.offset = UINT64_MAX - 100;
}

static void write_wraps(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_write(c, 0, 8000);
	c->h.write[0].seg[0].offset = UINT64_MAX - 100;
}

static void reply_wraps(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	raw_add_reply(c, 0, 8000);
	c->h.reply.seg[0].offset = UINT64_MAX - 100;
}

static void two_write_chunks(struct raw *c)
{
	put(c, PROC_GET, 8000);
	raw_add_write(c, 0, 8000);
	c->h.write[1] = c->h.write[0];
	c->h.nwrites = 2;
}

static void msgp(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	c->h.proc = RPCRDMA_MSGP;
}

static void unknown_procedure(struct raw *c)
{
	put(c, PROC_PUT, 8000);
	c->h.proc = 77;
}

static const struct hostile hostiles[] = {
	{"data at two positions", two_positions},
	{"a position between words", odd_position},
	{"a position behind the message", position_beyond},
	{"a position far behind it", position_far_beyond},
	{"a position inside the RPC header", position_in_header},
	{"position zero in RDMA_MSG", zero_in_msg},
	{"RDMA_NOMSG without position zero", nomsg_without_zero},
	{"RDMA_NOMSG without a read list", nomsg_without_reads},
	{"RDMA_NOMSG of nothing", nomsg_of_nothing},
	{"more data than is allowed", too_much_data},
	{"64 GiB of data", wild_lengths},
	{"a call longer than is allowed", too_long_call},
	{"a read segment that wraps", read_wraps},
	{"a write segment that wraps", write_wraps},
	{"a reply segment that wraps", reply_wraps},
	{"two write chunks", two_write_chunks},
	{"RDMA_MSGP", msgp},
	{"an unknown procedure", unknown_procedure},
};

Test(rpcrdma_hostile, lists_that_make_no_sense_get_err_chunk)
{
	struct fake_seen seen;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	fill(c.mem, RAW_MEM, 3);
	for (size_t i = 0; i < sizeof(hostiles) / sizeof(hostiles[0]); i++) {
		hostiles[i].build(&c);
		raw_send(&c);
		cr_assert(raw_next(&c), "%s: no answer", hostiles[i].what);
		cr_assert_eq(c.r.proc, RPCRDMA_ERROR, "%s: %s", hostiles[i].what,
			     rpcrdma_proc_name(c.r.proc));
		cr_assert_eq(c.r.error, RPCRDMA_ERR_CHUNK, "%s", hostiles[i].what);
		raw_still_works(&c);
	}
	fake_seen(&seen);
	cr_assert_eq(seen.reads, 0);
	raw_close(&c);
}

Test(rpcrdma_hostile, counts_beyond_the_bytes_or_the_limits_get_err_chunk)
{
	static const struct {
		uint32_t at, word;
	} cases[] = {
		{16, 2}, {20, 0xffffffff}, {24, 3}, {16, 1}, {20, 1}, {24, 1}, {16, 0x80000001},
	};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[28] = {0};

		util_put_be32(bytes, 50 + (uint32_t)i);
		util_put_be32(bytes + 4, 1);
		util_put_be32(bytes + cases[i].at, cases[i].word);
		raw_send_bytes(&c, bytes, sizeof(bytes));
		raw_expect_error(&c, 50 + (uint32_t)i, RPCRDMA_ERR_CHUNK);
	}
	raw_still_works(&c);
	raw_close(&c);
}

Test(rpcrdma_hostile, more_entries_than_any_call_needs_get_err_chunk)
{
	uint8_t bytes[16 + 100 * 24 + 12] = {0};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	util_put_be32(bytes, 5);
	util_put_be32(bytes + 4, 1);
	for (size_t i = 0; i < 100; i++)
		util_put_be32(bytes + 16 + i * 24, 1);
	raw_send_bytes(&c, bytes, sizeof(bytes));
	raw_expect_error(&c, 5, RPCRDMA_ERR_CHUNK);
	raw_still_works(&c);
	raw_close(&c);
}

Test(rpcrdma_hostile, what_cannot_or_must_not_be_answered_is_dropped_for_ever)
{
	uint8_t bytes[28] = {0};
	struct raw_options opts = {.credits = 2};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	util_put_be32(bytes + 4, 1);
	for (unsigned i = 0; i < 60; i++) {
		raw_send_bytes(&c, bytes, i % 16); /* no whole fixed header */
		util_put_be32(bytes + 12, RPCRDMA_ERROR);
		util_put_be32(bytes + 16, 1 + i % 3);
		raw_send_bytes(&c, bytes, 28);
		util_put_be32(bytes + 12, RPCRDMA_DONE);
		raw_send_bytes(&c, bytes, 28);
	}
	raw_still_works(&c); /* the first message that comes back is its answer */
	raw_close(&c);
}

Test(rpcrdma_hostile, broken_rpc_messages_are_dropped_or_answered_but_never_dispatched)
{
	static const size_t cuts[] = {0, 4, 8, 20, 24, 28, 36, 39};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		raw_call(&c, 1, PROC_NULL);
		c.e.p = c.msg + cuts[i];
		raw_send(&c);
	}
	raw_call(&c, 2, PROC_NULL);
	raw_send(&c);
	do
		cr_assert(raw_next(&c));
	while (c.r.xid == 1);
	cr_assert_eq(c.r.xid, 2);
	cr_assert_eq(c.server.dispatched, 1);
	raw_close(&c);
}

/* Random bytes with a plausible beginning: nothing but an answer, silence or the end may follow. */
Test(rpcrdma_hostile, random_messages_leave_the_server_alive)
{
	struct raw_options opts = {0};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	srandom(7);
	for (unsigned i = 0; i < 3000; i++) {
		uint8_t bytes[256];
		size_t len = (size_t)random() % sizeof(bytes);
		ssize_t n;

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = random() % 4 ? 0 : (uint8_t)random();
		util_put_be32(bytes + 4, 1);
		util_put_be32(bytes + 12, (uint32_t)random() % 5);
		for (size_t k = 16; k < sizeof(bytes); k += 4)
			util_put_be32(bytes + k, (uint32_t)random() % 3);
		n = fake_peer_send(c.peer, bytes, len);
		while (fake_peer_recv(c.peer, c.bytes, sizeof(c.bytes)) >= 0)
			;
		if (n == -ENOTCONN) {
			fake_peer_destroy(c.peer);
			raw_connect(&c, &opts);
		}
	}
	fake_peer_destroy(c.peer);
	raw_connect(&c, &opts);
	raw_still_works(&c);
	raw_close(&c);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the responder against a requester played by hand: what it accepts, what it returns, byte
 * by byte and chunk by chunk.  Hostile calls are test_hostile.c's.
 */
#include <stdlib.h>

#include "tests/rpcrdma/rawclient.h"

/* ---- connection and inline -------------------------------------------------------------- */

Test(rpcrdma_responder, answers_private_data_with_its_own)
{
	static const uint8_t want[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};
	uint8_t private[64];
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	cr_assert_eq(fake_peer_private(c.peer, private, sizeof(private)), sizeof(want));
	cr_assert_arr_eq(private, want, sizeof(want));
	raw_close(&c);
}

Test(rpcrdma_responder, answers_a_null_call_byte_for_byte)
{
	static const uint8_t want[] = {
		0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, /* 7 credits, MSG */
		0,    0,    0,	  0,	0, 0, 0, 0, 0, 0, 0, 0,		    /* no chunks */
		0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1, 0, 0, 0, 0,		    /* REPLY, accepted */
		0,    0,    0,	  0,	0, 0, 0, 0, 0, 0, 0, 0,		    /* AUTH_NONE, SUCCESS */
	};
	struct raw_options opts = {.credits = 7};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	raw_call(&c, 0x12345678, PROC_NULL);
	raw_send(&c);
	cr_assert(raw_next(&c));
	cr_assert_eq(c.len, (ssize_t)sizeof(want));
	cr_assert_arr_eq(c.bytes, want, sizeof(want));
	raw_close(&c);
}

Test(rpcrdma_responder, another_version_is_told_which_one_it_speaks)
{
	static const uint8_t call[28] = {0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 1};
	static const uint8_t want[] = {
		0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 128, 0, 0, 0, 4, /* RDMA_ERROR */
		0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1,		  /* ERR_VERS, 1 to 1 */
	};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	raw_send_bytes(&c, call, sizeof(call));
	cr_assert(raw_next(&c));
	cr_assert_eq(c.len, (ssize_t)sizeof(want));
	cr_assert_arr_eq(c.bytes, want, sizeof(want));
	raw_still_works(&c);
	raw_close(&c);
}

Test(rpcrdma_responder, an_rpc_error_returns_the_chunks_unused)
{
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	raw_call(&c, 5, 99);
	raw_add_write(&c, 0, 8192);
	raw_add_reply(&c, 8192, 4096);
	raw_send(&c);
	cr_assert(raw_next(&c));
	cr_assert_eq(c.r.proc, RPCRDMA_MSG);
	cr_assert_eq(util_get_be32(c.reply + 20), WIRE_PROC_UNAVAIL);
	cr_assert_eq(c.r.nwrites, 1);
	cr_assert_eq(c.r.write[0].nsegs, 1);
	cr_assert_eq(c.r.write[0].seg[0].handle, c.rkey);
	cr_assert_eq(c.r.write[0].seg[0].length, 0);
	cr_assert(c.r.has_reply);
	cr_assert_eq(c.r.reply.seg[0].length, 0);
	raw_close(&c);
}

/* ---- arguments by read chunk ------------------------------------------------------------ */

static void put_args(struct raw *c, uint32_t seed, uint32_t len)
{
	wire_put_u32(&c->e, seed);
	wire_put_u32(&c->e, len);
}

static void expect_put(struct raw *c, uint32_t xid, uint32_t len)
{
	struct wire_dec d = raw_expect(c, xid);

	cr_assert_eq(wire_get_u32(&d), 1, "the data was wrong");
	cr_assert_eq(wire_get_u32(&d), len);
}

Test(rpcrdma_responder, pulls_data_from_as_many_segments_as_there_are)
{
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	fill(c.mem, 100000, 3);
	raw_call(&c, 1, PROC_PUT);
	put_args(&c, 3, 100000);
	for (uint32_t off = 0, i = 1; i <= 16; i++) {
		uint32_t len = i == 16 ? 100000 - off : i * 500;

		raw_add_read(&c, 48, off, len);
		off += len;
	}
	raw_send(&c);
	expect_put(&c, 1, 100000);
	raw_close(&c);
}

Test(rpcrdma_responder, keeps_to_the_devices_reads_and_message_length)
{
	struct fake_setup setup;
	struct fake_seen seen;
	struct raw c;

	fake_setup_default(&setup);
	setup.attr.max_rd_atomic = 2;
	setup.attr.max_msg = 10000;
	fake_reset(&setup);
	raw_open(&c, NULL);
	fill(c.mem, 100001, 3);
	for (uint32_t xid = 1; xid <= 8; xid++) {
		raw_call(&c, xid, PROC_PUT);
		put_args(&c, 3, 100001);
		raw_add_read(&c, 48, 0, 60000);
		raw_add_read(&c, 48, 60000, 0); /* an empty segment is none */
		raw_add_read(&c, 48, 60000, 40001);
		raw_send(&c);
	}
	for (uint32_t xid = 1; xid <= 8; xid++)
		expect_put(&c, xid, 100001);
	fake_seen(&seen);
	cr_assert_eq(seen.reads, 8 * (6 + 5));
	cr_assert_leq(seen.reads_out_max, 2);
	raw_close(&c);
}

Test(rpcrdma_responder, padding_in_the_chunk_is_not_data)
{
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	fill(c.mem, 5001, 8);
	raw_call(&c, 1, PROC_PUT);
	put_args(&c, 8, 5001);
	raw_add_read(&c, 48, 0, 5004);
	raw_send(&c);
	expect_put(&c, 1, 5001);
	raw_close(&c);
}

/* The message built so far becomes a position-zero chunk at off. */
static void make_long(struct raw *c, uint32_t off)
{
	uint32_t len = (uint32_t)wire_enc_len(&c->e);

	memcpy(c->mem + off, c->msg, len);
	c->h.proc = RPCRDMA_NOMSG;
	raw_add_read(c, 0, off, len / 2);
	raw_add_read(c, 0, off + len / 2, len - len / 2);
}

Test(rpcrdma_responder, takes_a_long_call_in_two_segments)
{
	uint8_t *p;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	raw_call(&c, 1, PROC_TEXT);
	put_args(&c, 6, 60000);
	p = wire_put_space(&c.e, 60000);
	fill(p, 60000, 6);
	make_long(&c, 1 << 20);
	raw_send(&c);
	expect_put(&c, 1, 60000);
	raw_close(&c);
}

Test(rpcrdma_responder, takes_a_long_call_with_a_data_chunk_beside_it)
{
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	fill(c.mem, 70000, 9);
	raw_call(&c, 1, PROC_PUT);
	put_args(&c, 9, 70000);
	raw_add_read(&c, 48, 0, 35000);
	make_long(&c, 1 << 20);
	raw_add_read(&c, 48, 35000, 35000);
	raw_send(&c);
	expect_put(&c, 1, 70000);
	raw_close(&c);
}

Test(rpcrdma_responder, calls_starve_in_turn_when_pool_memory_is_short_and_all_are_served)
{
	struct raw_options opts = {.max_pinned = 4 << 20};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	fill(c.mem, 1 << 20, 3);
	for (uint32_t xid = 1; xid <= 24; xid++) {
		raw_call(&c, xid, PROC_PUT);
		put_args(&c, 3, 1 << 20);
		raw_add_read(&c, 48, 0, 1 << 20);
		if (xid % 3 == 0)
			make_long(&c, (1 << 20) + xid * 64); /* two leases */
		raw_send(&c);
	}
	for (uint32_t xid = 1; xid <= 24; xid++)
		expect_put(&c, xid, 1 << 20);
	raw_close(&c);
}

/* ---- results ---------------------------------------------------------------------------- */

static void get_args(struct raw *c, uint32_t xid, uint32_t len, uint32_t seed)
{
	raw_call(c, xid, PROC_GET);
	wire_put_u32(&c->e, len);
	wire_put_u32(&c->e, seed);
}

static void expect_get(struct raw *c, uint32_t xid, uint32_t len)
{
	struct wire_dec d = raw_expect(c, xid);

	cr_assert_eq(wire_get_u32(&d), 0);
	cr_assert_eq(wire_get_u32(&d), len);
	cr_assert_eq(wire_dec_left(&d), 0);
}

Test(rpcrdma_responder, fills_the_write_chunk_in_order_and_says_how_far)
{
	struct fake_seen seen;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	get_args(&c, 1, 10000, 4);
	raw_add_write(&c, 20000, 3000);
	raw_add_write(&c, 0, 8000);
	raw_add_write(&c, 10000, 500);
	raw_send(&c);
	expect_get(&c, 1, 10000);
	cr_assert_eq(c.r.write[0].nsegs, 3);
	cr_assert_eq(c.r.write[0].seg[0].length, 3000);
	cr_assert_eq(c.r.write[0].seg[1].length, 7000);
	cr_assert_eq(c.r.write[0].seg[2].length, 0);
	cr_assert_eq(c.r.write[0].seg[2].offset, c.iova + 10000);
	memmove(c.mem + 23000, c.mem, 7000);
	cr_assert(check(c.mem + 20000, 10000, 4));
	fake_seen(&seen);
	cr_assert_eq(seen.writes, 2);
	cr_assert_eq(seen.doorbells, 1);
	raw_close(&c);
}

Test(rpcrdma_responder, never_writes_padding)
{
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	c.mem[5001] = 0x99;
	get_args(&c, 1, 5001, 4);
	raw_add_write(&c, 0, 8192);
	raw_send(&c);
	expect_get(&c, 1, 5001);
	cr_assert_eq(c.r.write[0].seg[0].length, 5001);
	cr_assert(check(c.mem, 5001, 4));
	cr_assert_eq(c.mem[5001], 0x99);
	raw_close(&c);
}

Test(rpcrdma_responder, data_without_a_chunk_goes_inline_padded)
{
	struct wire_dec d;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	get_args(&c, 1, 1001, 4);
	raw_send(&c);
	d = raw_expect(&c, 1);
	cr_assert_eq(c.r.nwrites, 0);
	cr_assert_eq(wire_dec_left(&d), 8 + 1004);
	cr_assert(check(d.p + 8, 1001, 4));
	cr_assert_arr_eq(d.p + 8 + 1001, "\0\0", 3);
	raw_close(&c);
}

Test(rpcrdma_responder, a_result_without_data_leaves_the_write_chunk_unused)
{
	struct wire_dec d;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	raw_call(&c, 1, PROC_NONE);
	raw_add_write(&c, 0, 8192);
	raw_add_write(&c, 8192, 8192);
	raw_send(&c);
	d = raw_expect(&c, 1);
	cr_assert_eq(wire_get_u32(&d), 5);
	cr_assert_eq(c.r.nwrites, 1);
	cr_assert_eq(rpcrdma_chunk_len(&c.r.write[0]), 0);
	cr_assert_eq(c.r.write[0].nsegs, 2);
	raw_close(&c);
}

static void long_args(struct raw *c, uint32_t xid, uint32_t len, uint32_t seed)
{
	raw_call(c, xid, PROC_LONG);
	wire_put_u32(&c->e, len);
	wire_put_u32(&c->e, seed);
}

Test(rpcrdma_responder, a_reply_that_fits_is_inline_even_with_a_reply_chunk)
{
	struct wire_dec d;
	struct fake_seen seen;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	long_args(&c, 1, 1000, 2);
	raw_add_reply(&c, 0, 65536);
	raw_send(&c);
	d = raw_expect(&c, 1);
	cr_assert_eq(c.r.proc, RPCRDMA_MSG);
	cr_assert_eq(wire_get_u32(&d), 1000);
	cr_assert(check(d.p, 1000, 2));
	cr_assert(c.r.has_reply);
	cr_assert_eq(c.r.reply.seg[0].length, 0);
	fake_seen(&seen);
	cr_assert_eq(seen.writes, 0);
	raw_close(&c);
}

Test(rpcrdma_responder, a_long_reply_goes_through_the_reply_chunk)
{
	struct wire_dec d;
	struct fake_seen seen;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	long_args(&c, 1, 20000, 2);
	raw_add_reply(&c, 0, 10000);
	raw_add_reply(&c, 10000, 20000);
	raw_send(&c);
	d = raw_expect(&c, 1);
	cr_assert_eq(c.r.proc, RPCRDMA_NOMSG);
	cr_assert_eq(c.r.reply.seg[0].length, 10000);
	cr_assert_eq(c.r.reply.seg[1].length, 28 + 20000 - 10000);
	cr_assert_eq(wire_get_u32(&d), 20000);
	cr_assert(check(d.p, 20000, 2));
	fake_seen(&seen);
	cr_assert_eq(seen.doorbells, 1);
	raw_close(&c);
}

Test(rpcrdma_responder, data_without_a_write_chunk_may_go_through_the_reply_chunk)
{
	struct wire_dec d;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	get_args(&c, 1, 20001, 2);
	raw_add_reply(&c, 0, 40000);
	raw_send(&c);
	d = raw_expect(&c, 1);
	cr_assert_eq(c.r.proc, RPCRDMA_NOMSG);
	cr_assert_eq(wire_get_u32(&d), 0);
	cr_assert_eq(wire_get_u32(&d), 20001);
	cr_assert_eq(wire_dec_left(&d), 20004);
	cr_assert(check(d.p, 20001, 2));
	raw_close(&c);
}

Test(rpcrdma_responder, the_clients_inline_size_is_honoured)
{
	struct raw_options opts = {.inline_kib = 1};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	/* 28 + 20 + 24 + 4 + 948 = 1024 */
	long_args(&c, 1, 948, 2);
	raw_add_reply(&c, 0, 65536);
	raw_send(&c);
	raw_expect(&c, 1);
	cr_assert_eq(c.r.proc, RPCRDMA_MSG);
	cr_assert_eq(c.len, 1024);
	long_args(&c, 2, 952, 2);
	raw_add_reply(&c, 0, 65536);
	raw_send(&c);
	raw_expect(&c, 2);
	cr_assert_eq(c.r.proc, RPCRDMA_NOMSG);
	raw_close(&c);
}

Test(rpcrdma_responder, chunks_too_small_for_the_result_get_err_chunk)
{
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	get_args(&c, 1, 5000, 4);
	raw_add_write(&c, 0, 4999);
	raw_send(&c);
	raw_expect_error(&c, 1, RPCRDMA_ERR_CHUNK);
	get_args(&c, 2, 5000, 4); /* neither chunk nor inline room */
	raw_send(&c);
	raw_expect_error(&c, 2, RPCRDMA_ERR_CHUNK);
	get_args(&c, 3, 5000, 4);
	raw_add_reply(&c, 0, 5000);
	raw_send(&c);
	raw_expect_error(&c, 3, RPCRDMA_ERR_CHUNK);
	raw_still_works(&c);
	raw_close(&c);
}

/* ---- remote invalidation ---------------------------------------------------------------- */

Test(rpcrdma_responder, invalidates_the_one_key_of_a_call_for_a_client_that_understands)
{
	struct raw_options opts = {.remote_invalidation = true};
	uint32_t rkey;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	get_args(&c, 1, 5000, 4);
	raw_add_write(&c, 0, 2500);
	raw_add_write(&c, 2500, 2500);
	raw_send(&c);
	expect_get(&c, 1, 5000);
	cr_assert(fake_peer_invalidated(c.peer, &rkey));
	cr_assert_eq(rkey, c.rkey);
	/* two keys: the client does it itself */
	get_args(&c, 2, 5000, 4);
	raw_add_write(&c, 0, 2500);
	raw_add_write(&c, 2500, 2500);
	c.h.write[0].seg[1].handle = c.rkey2;
	c.h.write[0].seg[1].offset += c.iova2 - c.iova;
	raw_send(&c);
	expect_get(&c, 2, 5000);
	cr_assert_not(fake_peer_invalidated(c.peer, &rkey));
	/* no chunks: nothing to invalidate */
	raw_still_works(&c);
	cr_assert_not(fake_peer_invalidated(c.peer, &rkey));
	raw_close(&c);
}

Test(rpcrdma_responder, invalidates_nothing_unasked)
{
	uint32_t rkey;
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	get_args(&c, 1, 5000, 4);
	raw_add_write(&c, 0, 5000);
	raw_send(&c);
	expect_get(&c, 1, 5000);
	cr_assert_not(fake_peer_invalidated(c.peer, &rkey));
	raw_close(&c);
}

/* ---- credits and ends ------------------------------------------------------------------- */

Test(rpcrdma_responder, as_many_calls_as_credits_may_be_in_hand_and_one_more_ends_it)
{
	struct raw_options opts = {.credits = 4};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	for (uint32_t xid = 1; xid <= 5; xid++) {
		raw_call(&c, xid, PROC_HOLD);
		raw_send(&c);
	}
	raw_expect_dropped(&c);
	cr_assert_eq(c.server.dispatched, 4);
	raw_close(&c);
}

Test(rpcrdma_responder, answered_calls_give_their_credit_back_for_ever)
{
	struct raw_options opts = {.credits = 2};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	for (uint32_t xid = 1; xid <= 300; xid++) {
		raw_call(&c, xid, PROC_NULL);
		raw_send(&c);
		raw_expect(&c, xid);
		cr_assert_eq(c.r.credits, 2);
	}
	raw_close(&c);
}

Test(rpcrdma_responder, answers_for_a_connection_that_is_gone_go_nowhere)
{
	struct raw_options opts = {0};
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, &opts);
	for (uint32_t xid = 1; xid <= 10; xid++) {
		raw_call(&c, xid, PROC_HOLD);
		raw_send(&c);
	}
	while (c.server.dispatched < 10)
		;
	fake_peer_destroy(c.peer);
	raw_connect(&c, &opts);
	c.server.release = true;
	raw_still_works(&c);
	raw_close(&c);
}

Test(rpcrdma_responder, a_stopping_server_lets_go_of_calls_it_holds)
{
	struct raw c;

	fake_reset(NULL);
	raw_open(&c, NULL);
	raw_call(&c, 1, PROC_HOLD);
	raw_send(&c);
	while (c.server.dispatched < 1)
		;
	fake_peer_destroy(c.peer);
	c.peer = NULL;
	raw_close(&c);
}

Test(rpcrdma_responder, a_key_the_client_does_not_have_ends_its_connection_only)
{
	struct raw_options opts = {0};
	struct raw c, other;

	fake_reset(NULL);
	raw_open(&c, &opts);
	other = c;
	raw_connect(&other, &opts);
	raw_call(&c, 1, PROC_PUT);
	put_args(&c, 1, 5000);
	raw_add_read(&c, 48, 0, 5000);
	c.h.read[0].seg.handle ^= 1;
	raw_send(&c);
	raw_expect_dropped(&c);
	cr_assert_eq(c.server.dispatched, 0);
	raw_still_works(&other);
	get_args(&other, 2, 5000, 4);
	raw_add_write(&other, 0, 5000);
	other.h.write[0].seg[0].handle ^= 1;
	raw_send(&other);
	raw_expect_dropped(&other);
	fake_peer_destroy(other.peer);
	raw_close(&c);
}

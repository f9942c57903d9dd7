/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the requester link against a responder played by hand: credits, doorbells, chunks, and
 * what happens to calls and leases when connections end.  Bad replies are test_replies.c's.
 */
#include <stdlib.h>

#include "tests/rpcrdma/rig.h"

/* ---- connection ------------------------------------------------------------------------- */

Test(rpcrdma_requester, offers_its_inline_sizes_and_no_remote_invalidation)
{
	static const uint8_t want[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};
	uint8_t private[64];
	struct rig r;

	rig_open(&r, NULL);
	cr_assert_eq(fake_peer_private(r.peer, private, sizeof(private)), sizeof(want));
	cr_assert_arr_eq(private, want, sizeof(want));
	rig_close(&r);
}

Test(rpcrdma_requester, sends_a_call_byte_for_byte)
{
	static const uint8_t want[] = {
		0,    0, 0, 0,	  0, 0, 0, 1, 0, 0, 0, 128,
		0,    0, 0, 0,				  /* xid, version, credits, MSG */
		0,    0, 0, 0,	  0, 0, 0, 0, 0, 0, 0, 0, /* no chunks */
		0,    0, 0, 0,	  0, 0, 0, 0, 0, 0, 0, 2, /* xid, CALL, RPC version 2 */
		0x20, 0, 1, 0x23, 0, 0, 0, 1, 0, 0, 0, 0, /* program, version, procedure */
		0,    0, 0, 0,	  0, 0, 0, 0, 0, 0, 0, 0,
		0,    0, 0, 0, /* AUTH_NONE twice */
	};
	struct outcome o = {0};
	struct transport_call *call;
	uint8_t bytes[4096];
	uint8_t expect[sizeof(want)];
	struct rig r;

	rig_open(&r, NULL);
	call = call_null(r.client, &o, PROC_NULL);
	memcpy(expect, want, sizeof(want));
	util_put_be32(expect, call->xid);
	util_put_be32(expect + 28, call->xid);
	submit(call);
	cr_assert_eq(fake_peer_recv(r.peer, bytes, sizeof(bytes)), (ssize_t)sizeof(want));
	cr_assert_arr_eq(bytes, expect, sizeof(want));
	rig_close(&r);
}

Test(rpcrdma_requester, a_server_without_private_data_gets_1024_bytes)
{
	struct rig_options opts = {.no_private = true};
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, &opts);
	submit(call_text(r.client, &o, 1000, 1));
	rig_expect_call(&r);
	cr_assert_eq(r.h.proc, RPCRDMA_NOMSG);
	cr_assert_eq(r.msg_len, 0);
	cr_assert_eq(r.h.nreads, 1);
	cr_assert_eq(r.h.read[0].position, 0);
	cr_assert_eq(r.h.read[0].seg.length, 1048);
	rig_close(&r);
}

/* ---- credits ---------------------------------------------------------------------------- */

static unsigned calls_seen(struct rig *r)
{
	unsigned n = 0;

	while (rig_next_call(r))
		n++;
	return n;
}

static void submit_n(struct rig *r, struct outcome *o, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		submit(call_null(r->client, o, PROC_NULL));
}

Test(rpcrdma_requester, has_one_credit_until_the_first_reply_then_the_grant)
{
	struct transport_counters c;
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, NULL);
	submit_n(&r, &o, 10);
	cr_assert_eq(calls_seen(&r), 1);
	transport_client_counters(r.client, &c);
	cr_assert_gt(c.credit_waits, 0);
	rig_answer(&r, 3);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	cr_assert_eq(calls_seen(&r), 3);
	rig_close(&r);
}

Test(rpcrdma_requester, a_grant_of_zero_counts_as_one)
{
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, NULL);
	submit_n(&r, &o, 3);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(calls_seen(&r), 1);
		rig_answer(&r, 0);
		transport_client_process(r.client);
	}
	cr_assert_eq(o.done, 3);
	rig_close(&r);
}

Test(rpcrdma_requester, a_huge_grant_is_cut_to_the_slots)
{
	struct rig_options opts = {.slots = 4};
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, &opts);
	submit_n(&r, &o, 20);
	cr_assert_eq(calls_seen(&r), 1);
	cr_assert_eq(r.h.credits, 4);
	rig_answer(&r, 0xffffffff);
	transport_client_process(r.client);
	cr_assert_eq(calls_seen(&r), 4);
	rig_close(&r);
}

Test(rpcrdma_requester, a_shrunken_grant_is_kept_from_then_on)
{
	uint32_t xids[8];
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, NULL);
	submit_n(&r, &o, 20);
	rig_expect_call(&r);
	rig_answer(&r, 4);
	transport_client_process(r.client);
	for (unsigned i = 0; i < 4; i++) {
		rig_expect_call(&r);
		xids[i] = r.h.xid;
	}
	/* Four are in flight; with two credits the next goes when only one is left. */
	for (unsigned i = 0; i < 2; i++) {
		rig_answer_xid(&r, xids[i], 2);
		transport_client_process(r.client);
		cr_assert_eq(calls_seen(&r), 0);
	}
	rig_answer_xid(&r, xids[2], 2);
	transport_client_process(r.client);
	cr_assert_eq(calls_seen(&r), 1);
	rig_close(&r);
}

Test(rpcrdma_requester, receives_for_every_credit_and_more_are_always_posted)
{
	struct rig_options opts = {.slots = 32};
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, &opts);
	for (unsigned i = 0; i < 200; i++) {
		submit_n(&r, &o, 1);
		rig_expect_call(&r);
		cr_assert_geq(fake_peer_receives(r.peer), 32);
		rig_answer(&r, 32);
		transport_client_process(r.client);
	}
	cr_assert_eq(o.done, 200);
	rig_close(&r);
}

/* ---- doorbells and completions ---------------------------------------------------------- */

static void grant(struct rig *r, struct outcome *o, uint32_t credits)
{
	submit_n(r, o, 1);
	rig_expect_call(r);
	rig_answer(r, credits);
	transport_client_process(r->client);
}

Test(rpcrdma_requester, what_waited_for_credits_leaves_by_one_doorbell)
{
	struct fake_seen before, after;
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, NULL);
	submit_n(&r, &o, 21);
	rig_expect_call(&r);
	fake_seen(&before);
	rig_answer(&r, 64);
	transport_client_process(r.client);
	fake_seen(&after);
	cr_assert_eq(after.sends - before.sends, 20);
	cr_assert_eq(after.doorbells - before.doorbells, 1);
	rig_close(&r);
}

Test(rpcrdma_requester, signals_few_sends_and_reuses_no_buffer_early)
{
	struct fake_seen before, after;
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, NULL);
	grant(&r, &o, 128);
	fake_seen(&before);
	for (unsigned i = 0; i < 320; i++)
		grant(&r, &o, 128);
	fake_seen(&after);
	cr_assert_eq(after.sends - before.sends, 320);
	cr_assert_eq(after.signalled - before.signalled, 320 / 16);
	rig_close(&r); /* the fake compared every buffer with what was posted */
}

Test(rpcrdma_requester, goes_on_when_late_send_completions_come)
{
	struct rig_options opts = {.slots = 8};
	struct outcome o = {0};
	unsigned before;
	struct rig r;

	rig_open(&r, &opts);
	grant(&r, &o, 8);
	fake_hold_sends(true);
	submit_n(&r, &o, 100);
	while (rig_next_call(&r)) {
		rig_answer(&r, 8);
		transport_client_process(r.client);
	}
	before = o.done;
	cr_assert_lt(before, 101); /* it ran out of send buffers */
	fake_hold_sends(false);
	transport_client_process(r.client);
	while (rig_next_call(&r)) {
		rig_answer(&r, 8);
		transport_client_process(r.client);
	}
	cr_assert_eq(o.done, 101);
	rig_close(&r);
}

/* ---- bulk data -------------------------------------------------------------------------- */

Test(rpcrdma_requester, small_data_goes_inline_padded)
{
	struct rig_options opts = {.slots = 1};
	struct outcome o = {0};
	uint8_t mem[16];
	struct rig r;

	rig_open(&r, &opts);
	/* leaves its bytes in the buffer the next call is sent from */
	submit(call_put(r.client, &o, NULL, mem, 8, 9));
	rig_expect_call(&r);
	rig_answer(&r, 1);
	transport_client_process(r.client);
	submit(call_put(r.client, &o, NULL, mem, 5, 9));
	rig_expect_call(&r);
	cr_assert_eq(r.h.nreads, 0);
	cr_assert_eq(r.msg_len, 40 + 8 + 8);
	cr_assert(check(r.msg + 48, 5, 9));
	cr_assert_arr_eq(r.msg + 53, "\0\0", 3);
	rig_close(&r);
}

Test(rpcrdma_requester, large_data_is_a_read_chunk_at_its_position_without_padding)
{
	struct outcome o = {0};
	struct mr_lease *lease;
	uint8_t copy[65537];
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_WRITE, 1 << 17);
	submit(call_put(r.client, &o, lease, (uint8_t *)lease->addr + 100, 65537, 4));
	rig_expect_call(&r);
	cr_assert_eq(r.h.nreads, 1);
	cr_assert_eq(r.h.read[0].position, 48);
	cr_assert_eq(r.h.read[0].seg.length, 65537);
	cr_assert_eq(r.h.read[0].seg.offset, lease->iova + 100);
	cr_assert_eq(r.msg_len, 48);
	cr_assert_eq(rig_read_segment(&r, &r.h.read[0].seg, copy), 0);
	cr_assert(check(copy, 65537, 4));
	cr_assert_eq(fake_peer_write(r.peer, lease->rkey, lease->iova, copy, 1), -EACCES);
	rig_answer(&r, 1);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	mr_lease_give(lease);
	rig_close(&r);
}

Test(rpcrdma_requester, pieces_become_segments_and_unused_ones_do_not)
{
	struct outcome o = {0};
	struct transport_call *call;
	struct mr_lease *lease;
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_WRITE, 40000);
	call = call_put(r.client, &o, lease, lease->addr, 20000, 4);
	for (unsigned i = 0; i < 4; i++)
		call->data[i] =
			(struct transport_seg){(uint8_t *)lease->addr + i * 8000, 8000, lease};
	call->data_nsegs = 4;
	submit(call);
	rig_expect_call(&r);
	cr_assert_eq(r.h.nreads, 3);
	cr_assert_eq(r.h.read[1].seg.offset, lease->iova + 8000);
	cr_assert_eq(r.h.read[2].seg.length, 4000);
	cr_assert_eq(r.h.read[2].position, 48);
	rig_close_with(&r, lease);
}

Test(rpcrdma_requester, memory_outside_its_lease_or_of_the_wrong_kind_is_refused)
{
	struct outcome o = {0};
	struct mr_lease *w, *rd;
	struct transport_call *call;
	uint8_t plain[8192];
	struct rig r;

	rig_open(&r, NULL);
	w = rig_lease(&r, MR_KIND_WRITE, 8192);
	rd = rig_lease(&r, MR_KIND_READ, 8192);
	call = call_put(r.client, &o, w, w->addr, 8192, 1);
	call->data[0].addr = (uint8_t *)w->addr - 1;
	cr_assert_eq(transport_call_submit(call), -EINVAL);
	call->data[0].addr = (uint8_t *)w->addr + w->size - 8191;
	cr_assert_eq(transport_call_submit(call), -EINVAL);
	call->data[0] = (struct transport_seg){rd->addr, 8192, rd};
	cr_assert_eq(transport_call_submit(call), -EINVAL);
	call->data[0] = (struct transport_seg){plain, 8192, NULL};
	cr_assert_eq(transport_call_submit(call), -EINVAL);
	transport_call_put(call);
	call = call_get(r.client, &o, w, w->addr, 8192, 1);
	cr_assert_eq(transport_call_submit(call), -EINVAL);
	transport_call_put(call);
	cr_assert_eq(o.done, 0);
	mr_lease_give(rd);
	rig_close_with(&r, w);
}

Test(rpcrdma_requester, data_written_by_chunk_is_in_the_sink)
{
	struct outcome o = {0};
	struct mr_lease *lease;
	uint8_t data[8192];
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_READ, 8192);
	submit(call_get(r.client, &o, lease, lease->addr, 8192, 7));
	rig_expect_call(&r);
	cr_assert_eq(r.h.nwrites, 1);
	cr_assert_not(r.h.has_reply);
	cr_assert_eq(r.h.write[0].nsegs, 1);
	cr_assert_eq(r.h.write[0].seg[0].length, 8192);
	fill(data, 5000, 7);
	cr_assert_eq(rig_write_segment(&r, &r.h.write[0].seg[0], data, 5000), 0);
	r.h.write[0].seg[0].length = 5000;
	rig_answer_get(&r, 5000, NULL);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	cr_assert_eq(o.failed + o.wrong, 0, "%s", o.err.what);
	cr_assert_eq(o.received, 5000);
	rig_close_with(&r, lease);
}

Test(rpcrdma_requester, data_that_comes_inline_is_moved_to_the_sink)
{
	struct outcome o = {0};
	struct mr_lease *lease;
	uint8_t data[1000];
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_READ, 8192);
	fill(data, 1000, 3);
	/* asked for inline */
	submit(call_get(r.client, &o, lease, lease->addr, 1000, 3));
	rig_expect_call(&r);
	cr_assert_eq(r.h.nwrites, 0);
	rig_answer_get(&r, 999, data);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	cr_assert_eq(o.received, 999);
	/* inline although a chunk was offered */
	submit(call_get(r.client, &o, lease, lease->addr, 8192, 3));
	rig_expect_call(&r);
	cr_assert_eq(r.h.nwrites, 1);
	r.h.write[0].seg[0].length = 0;
	rig_answer_get(&r, 1000, data);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 2);
	cr_assert_eq(o.failed + o.wrong, 0, "%s", o.err.what);
	cr_assert_eq(o.received, 1000);
	rig_close_with(&r, lease);
}

/* ---- long replies ----------------------------------------------------------------------- */

struct hostile {
	struct rig *rig;
	struct rpcrdma_segment seg;
	unsigned done;
	bool intact;
};

/* The server writes to the reply chunk again while the client decodes. */
static void done_hostile(struct transport_call *call)
{
	struct hostile *h = call->arg;
	uint8_t junk[64];

	memset(junk, 0x77, sizeof(junk));
	rig_write_segment(h->rig, &h->seg, junk, sizeof(junk));
	wire_get_u32(&call->results);
	h->intact = call->status == 0 && check(call->results.p, 6000, 2);
	h->done++;
	transport_call_put(call);
}

Test(rpcrdma_requester, a_long_reply_cannot_change_while_it_is_decoded)
{
	struct hostile h = {0};
	struct outcome unused = {0};
	struct transport_call *call;
	struct rig_options opts = {.no_poison = true}; /* the server does touch given memory */
	struct rig r;

	rig_open(&r, &opts);
	call = call_long(r.client, &unused, 6000, 2);
	call->done = done_hostile;
	call->arg = &h;
	h.rig = &r;
	submit(call);
	rig_expect_call(&r);
	cr_assert(r.h.has_reply);
	cr_assert_eq(r.h.nwrites, 0);
	h.seg = r.h.reply.seg[0];
	rig_answer_long(&r, 6000, 2);
	transport_client_process(r.client);
	cr_assert_eq(h.done, 1);
	cr_assert(h.intact);
	rig_close(&r);
}

/* ---- the end of connections ------------------------------------------------------------- */

Test(rpcrdma_requester, calls_in_flight_are_sent_again_with_their_xids)
{
	struct outcome o = {0};
	uint32_t first, second;
	struct rig r;

	rig_open(&r, NULL);
	grant(&r, &o, 16);
	submit_n(&r, &o, 2);
	rig_expect_call(&r);
	first = r.h.xid;
	rig_expect_call(&r);
	second = r.h.xid;
	fake_peer_disconnect(r.peer);
	transport_client_process(r.client);
	rig_reaccept(&r);
	rig_expect_call(&r);
	cr_assert_eq(r.h.xid, first);
	cr_assert_not(rig_next_call(&r)); /* one credit again */
	rig_answer(&r, 16);
	transport_client_process(r.client);
	cr_assert(o.replayed);
	rig_expect_call(&r);
	cr_assert_eq(r.h.xid, second);
	rig_answer(&r, 16);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 3);
	cr_assert_eq(o.failed, 0);
	rig_close(&r);
}

Test(rpcrdma_requester, a_time_out_ends_the_servers_access_before_anything_is_sent_again)
{
	struct rig_options opts = {.timeo_ms = 30};
	struct rpcrdma_segment seg;
	struct fake_peer *old;
	struct mr_lease *lease;
	struct outcome o = {0};
	uint64_t end_ns;
	uint32_t xid;
	struct rig r;

	rig_open(&r, &opts);
	lease = rig_lease(&r, MR_KIND_READ, 8192);
	submit(call_get(r.client, &o, lease, lease->addr, 8192, 1));
	rig_expect_call(&r);
	xid = r.h.xid;
	seg = r.h.write[0].seg[0];
	old = r.peer;
	end_ns = util_clock_ns() + 5 * UTIL_NS_PER_S;
	while (!(r.peer = fake_raw_accept(r.listen)) && util_clock_ns() < end_ns) {
		transport_client_wait(r.client, 50);
		transport_client_process(r.client);
	}
	cr_assert(r.peer);
	cr_assert_eq(fake_peer_write(old, seg.handle, seg.offset, "x", 1), -ENOTCONN);
	transport_client_process(r.client);
	rig_expect_call(&r);
	cr_assert_eq(r.h.xid, xid);
	r.h.write[0].seg[0].length = 0;
	rig_answer_none(&r);
	cr_assert(drive(r.client, &o, 1));
	cr_assert(o.replayed);
	fake_peer_destroy(old);
	rig_close_with(&r, lease);
}

Test(rpcrdma_requester, a_completion_error_is_told_in_words_and_the_call_sent_again)
{
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, NULL);
	fake_fail_next_send(FABRIC_WC_RETRY);
	submit_n(&r, &o, 1);
	transport_client_process(r.client);
	cr_assert(strstr(r.client->last_err.what, "retries exhausted") != NULL, "%s",
		  r.client->last_err.what);
	rig_reaccept(&r);
	rig_expect_call(&r);
	rig_answer(&r, 1);
	cr_assert(drive(r.client, &o, 1));
	cr_assert_eq(o.failed, 0);
	rig_close(&r);
}

Test(rpcrdma_requester, an_invalidation_nobody_offered_ends_the_connection)
{
	struct outcome o = {0};
	struct rig r;

	rig_open(&r, NULL);
	submit_n(&r, &o, 1);
	rig_expect_call(&r);
	rig_answer_inv(&r, 1, 0x1234);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	cr_assert_eq(fake_peer_send(r.peer, "x", 1), -ENOTCONN);
	rig_close(&r);
}

/* ---- canceled calls --------------------------------------------------------------------- */

static uint64_t quarantined(struct rig *r)
{
	struct mr_ledger_snapshot snap;

	mr_ledger_read(mr_pool_ledger(transport_client_pool(r->client)), &snap);
	return snap.quarantined_now;
}

Test(rpcrdma_requester, a_canceled_call_with_its_memory_exposed_takes_the_connection_along)
{
	struct outcome o = {0};
	struct transport_call *call;
	struct mr_lease *lease;
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_READ, 8192);
	call = call_get(r.client, &o, lease, lease->addr, 8192, 1);
	submit(call);
	rig_expect_call(&r);
	transport_call_cancel(call);
	/* before done() has run, access has ended */
	cr_assert_eq(o.done, 0);
	cr_assert_eq(fake_peer_write(r.peer, lease->rkey, lease->iova, "x", 1), -ENOTCONN);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	cr_assert_eq(o.status, -ECANCELED);
	rig_close_with(&r, lease);
}

Test(rpcrdma_requester, the_links_own_leases_of_a_canceled_call_wait_for_its_reply)
{
	struct outcome o = {0};
	struct transport_call *call;
	struct rig r;

	rig_open(&r, NULL);
	call = call_long(r.client, &o, 6000, 2);
	submit(call);
	rig_expect_call(&r);
	transport_call_cancel(call);
	transport_client_process(r.client);
	cr_assert_eq(o.status, -ECANCELED);
	cr_assert_eq(quarantined(&r), 1);
	/* It still holds the only credit. */
	submit_n(&r, &o, 1);
	cr_assert_eq(calls_seen(&r), 0);
	rig_answer_long(&r, 6000, 2);
	transport_client_process(r.client);
	cr_assert_eq(quarantined(&r), 0);
	cr_assert_eq(o.done, 1);
	cr_assert_eq(calls_seen(&r), 1);
	rig_close(&r);
}

Test(rpcrdma_requester, quarantined_leases_come_back_when_the_connection_ends)
{
	struct outcome o = {0};
	struct transport_call *call;
	struct rig r;

	rig_open(&r, NULL);
	call = call_long(r.client, &o, 6000, 2);
	submit(call);
	rig_expect_call(&r);
	transport_call_cancel(call);
	transport_client_process(r.client);
	cr_assert_eq(quarantined(&r), 1);
	fake_peer_disconnect(r.peer);
	transport_client_process(r.client);
	cr_assert_eq(quarantined(&r), 0);
	rig_close(&r);
}

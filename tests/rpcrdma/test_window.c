/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Window mode against a responder played by hand: which invalidations share a doorbell, how long
 * they may wait for each other on a scripted clock, and what few windows do to calls.
 */
#include <stdlib.h>

#include "iommu-aware/iommu.h"
#include "tests/rpcrdma/rig.h"

#define LEN 8192u
#define MANY 100u

TestSuite(rpcrdma_window, .timeout = 60);

/* Each look at the clock moves it by a step. */
static uint64_t clock_now, clock_step;
static unsigned clock_looks;

static uint64_t scripted_clock(void)
{
	clock_looks++;
	clock_now += clock_step;
	return clock_now;
}

static struct mr_ledger_snapshot ledger(struct rig *r)
{
	struct mr_ledger_snapshot snap;

	mr_ledger_read(mr_pool_ledger(transport_client_pool(r->client)), &snap);
	return snap;
}

/* Open, with a credit for every slot. */
static void window_open(struct rig *r, struct outcome *o, uint32_t windows, uint64_t step_ns)
{
	struct rig_options opts = {.windows = windows, .slots = 128};

	rig_open(r, &opts);
	clock_now = 1;
	clock_step = step_ns;
	clock_looks = 0;
	rig_link(r)->clock_ns = scripted_clock;
	submit(call_null(r->client, o, PROC_NULL));
	rig_expect_call(r);
	rig_answer(r, 128);
	cr_assert(drive(r->client, o, 1));
}

/* A READ into npieces pieces of the lease. */
static struct transport_call *read_call(struct rig *r, struct outcome *o, struct mr_lease *lease,
					unsigned npieces)
{
	struct transport_call *call = call_get(r->client, o, lease, lease->addr, LEN, 1);

	for (unsigned i = 0; i < npieces; i++)
		call->sink[i] = (struct transport_seg){
			.addr = (uint8_t *)lease->addr + i * (LEN / npieces),
			.len = LEN / npieces,
			.lease = lease,
		};
	call->sink_nsegs = npieces;
	return call;
}

/* n READs, all answered before the client looks; then it looks once. */
static void answer_at_once(struct rig *r, struct outcome *o, struct mr_lease *lease, unsigned n,
			   unsigned npieces)
{
	unsigned before = o->done;

	for (unsigned i = 0; i < n; i++)
		submit(read_call(r, o, lease, npieces));
	for (unsigned i = 0; i < n; i++) {
		rig_expect_call(r);
		rig_answer_none(r);
	}
	transport_client_process(r->client);
	cr_assert_eq(o->done, before + n, "%u of %u", o->done - before, n);
	cr_assert_eq(o->failed, 0, "%s", o->err.what);
}

Test(rpcrdma_window, invalidations_of_full_rounds_share_one_doorbell)
{
	struct outcome o = {0};
	struct mr_ledger_snapshot snap;
	struct mr_lease *lease;
	struct rig r;

	window_open(&r, &o, 1000, 0);
	lease = rig_lease(&r, MR_KIND_READ, LEN);
	answer_at_once(&r, &o, lease, MANY, 1);
	snap = ledger(&r);
	cr_expect_eq(snap.invalidations_local, MANY);
	cr_expect_eq(snap.invalidation_batches, 1);
	cr_expect_eq(snap.invalidation_batches_more, 1, "the histogram knows its size");
	rig_close_with(&r, lease);
}

/* Three full rounds and a rest of four replies; the clock is looked at after each full one. */
Test(rpcrdma_window, no_invalidation_waits_longer_than_the_bound)
{
	static const struct {
		uint64_t step_us;
		unsigned batches;
	} cases[] = {
		{0, 1},	  {20, 1}, /* 0, 20, 40: within 50 */
		{30, 2},	   /* 0, 30, 60: out with the third */
		{49, 2},	   /* 0, 49, 98: likewise */
		{50, 2},	   /* 0, 50: out with the second */
		{999, 2},	   /* no round waits for more than one other */
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct outcome o = {0};
		struct mr_lease *lease;
		struct rig r;

		window_open(&r, &o, 1000, cases[i].step_us * 1000);
		lease = rig_lease(&r, MR_KIND_READ, LEN);
		answer_at_once(&r, &o, lease, MANY, 1);
		cr_expect_eq(ledger(&r).invalidation_batches, cases[i].batches,
			     "%lu us a round: %lu batches", (unsigned long)cases[i].step_us,
			     (unsigned long)ledger(&r).invalidation_batches);
		cr_expect_eq(ledger(&r).invalidations_local, MANY);
		rig_close_with(&r, lease);
	}
}

Test(rpcrdma_window, the_policy_sets_how_many_share_a_doorbell_and_how_long_they_wait)
{
	static const struct {
		unsigned most;
		uint64_t hold_ns;
		unsigned batches;
	} cases[] = {
		{128, 50000, 1}, /* a software device's */
		{128, 0, 4},	 /* each round by itself */
		{64, 50000, 2},	 /* a NIC's: two rounds, then the rest */
		{10, 50000, 10}, /* less than a round brings */
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct iommu_batching batching = {cases[i].most, cases[i].hold_ns, ""};
		const struct iommu_batching *policy;
		struct outcome o = {0};
		struct mr_lease *lease;
		struct rig r;

		window_open(&r, &o, 1000, 1000);
		policy = mr_pool_batching(transport_client_pool(r.client));
		cr_expect_eq(rig_link(&r)->hold_ns, policy->hold_ns);
		cr_expect_eq(rig_link(&r)->chain_most, policy->most);
		rpcrdma_link_batching(rig_link(&r), &batching);
		lease = rig_lease(&r, MR_KIND_READ, LEN);
		answer_at_once(&r, &o, lease, MANY, 1);
		cr_expect_eq(ledger(&r).invalidation_batches, cases[i].batches, "case %zu: %lu", i,
			     (unsigned long)ledger(&r).invalidation_batches);
		cr_expect_eq(ledger(&r).invalidations_local, MANY);
		rig_close_with(&r, lease);
	}
}

Test(rpcrdma_window, a_full_chain_waits_for_no_more)
{
	struct outcome o = {0};
	struct mr_lease *lease;
	struct rig r;

	window_open(&r, &o, 1000, 0);
	lease = rig_lease(&r, MR_KIND_READ, LEN);
	answer_at_once(&r, &o, lease, MANY, 2);
	cr_expect_eq(ledger(&r).invalidations_local, 2 * MANY);
	cr_expect_eq(ledger(&r).invalidation_batches, 2, "two rounds of 64, then the rest");
	rig_close_with(&r, lease);
}

Test(rpcrdma_window, a_reply_that_comes_alone_waits_for_nothing)
{
	struct outcome o = {0};
	struct mr_lease *lease;
	struct rig r;

	window_open(&r, &o, 1000, 0);
	lease = rig_lease(&r, MR_KIND_READ, LEN);
	for (unsigned i = 0; i < 3; i++)
		answer_at_once(&r, &o, lease, 1, 1);
	cr_expect_eq(ledger(&r).invalidation_batches_1, 3);
	cr_expect_eq(clock_looks, 0);
	rig_close_with(&r, lease);
}

Test(rpcrdma_window, what_the_server_invalidated_is_off_the_chain)
{
	struct outcome o = {0};
	struct mr_ledger_snapshot snap;
	struct mr_lease *lease;
	struct rig r;

	window_open(&r, &o, 1000, 0);
	lease = rig_lease(&r, MR_KIND_READ, LEN);
	for (unsigned pieces = 1; pieces <= 4; pieces *= 2) {
		submit(read_call(&r, &o, lease, pieces));
		rig_expect_call(&r);
		rig_answer_inv(&r, 128, r.h.write[0].seg[pieces - 1].handle);
		transport_client_process(r.client);
		cr_assert_eq(o.failed, 0, "%s", o.err.what);
	}
	snap = ledger(&r);
	cr_expect_eq(snap.invalidations_remote, 3);
	cr_expect_eq(snap.invalidations_local, 0 + 1 + 3);
	cr_expect_eq(snap.invalidation_batches, 2);
	cr_expect_eq(snap.windows_now, 0);
	rig_close_with(&r, lease);
}

/* Three windows, calls of two: the second is short of one, and must leave nothing of itself in the
 * chain that carries the first. */
Test(rpcrdma_window, few_windows_make_calls_wait_for_each_other)
{
	struct outcome o = {0};
	struct mr_lease *lease;
	struct rig r;

	window_open(&r, &o, 3, 0);
	lease = rig_lease(&r, MR_KIND_READ, LEN);
	for (unsigned i = 0; i < 6; i++)
		submit(read_call(&r, &o, lease, 2));
	for (unsigned i = 0; i < 6; i++) {
		rig_expect_call(&r);
		cr_assert_eq(r.h.write[0].nsegs, 2);
		cr_assert_not(rig_next_call(&r), "a call was sent without its windows");
		rig_answer_none(&r);
		transport_client_process(r.client);
	}
	cr_assert_eq(o.done, 7);
	cr_assert_eq(o.failed, 0, "%s", o.err.what);
	cr_expect_eq(ledger(&r).windows_now, 0);
	rig_close_with(&r, lease);
}

/* The peer is kept out of what was bound, before, after, and beside it. */
Test(rpcrdma_window, a_window_is_open_from_the_call_to_its_reply)
{
	struct outcome o = {0};
	struct rpcrdma_segment seg;
	struct mr_lease *lease;
	uint8_t byte = 7;
	struct rig r;

	window_open(&r, &o, 1000, 0);
	lease = rig_lease(&r, MR_KIND_READ, LEN);
	submit(read_call(&r, &o, lease, 1));
	rig_expect_call(&r);
	seg = r.h.write[0].seg[0];
	cr_expect_eq(fake_peer_write(r.peer, seg.handle, seg.offset, &byte, 1), 0);
	cr_expect_eq(fake_peer_write(r.peer, seg.handle, seg.offset + LEN, &byte, 1), -EACCES);
	cr_expect_eq(fake_peer_read(r.peer, seg.handle, seg.offset, &byte, 1), -EACCES);
	rig_answer_none(&r);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 2);
	cr_expect_eq(fake_peer_write(r.peer, seg.handle, seg.offset, &byte, 1), -EACCES);
	rig_close_with(&r, lease);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a hostile server reaches, mode by mode, on the software RNIC.  docs/memory.md has the table
 * these tests prove; the same responder can be played on any fabric (evil.h).
 */
#include <stdlib.h>

#include "tests/rpcrdma/evil.h"

TestSuite(rpcrdma_security, .timeout = 30);

#define LEN 65536u

static const uint32_t get_words[] = {0, LEN}, put_words[] = {1, LEN};

static bool untouched(const struct mr_lease *lease, uint8_t byte)
{
	const uint8_t *p = lease->addr;

	for (size_t i = 0; i < lease->len; i++)
		if (p[i] != byte)
			return false;
	return true;
}

/* A READ that was answered with LEN bytes by RDMA Write; its segment.  inv: by Send with Invalidate
 */
static struct rpcrdma_segment one_read(struct evil_scene *s, struct outcome *o,
				       struct mr_lease *lease, bool inv)
{
	struct rpcrdma_segment seg;

	submit(call_get(s->client, o, lease, lease->addr, LEN, 1));
	evil_expect_call(s);
	seg = s->evil.h.write[0].seg[0];
	cr_assert_eq(seg.length, LEN);
	for (uint32_t at = 0; at < LEN; at += EVIL_SIZE)
		cr_assert(evil_write(s, seg.handle, seg.offset + at, 0x22, EVIL_SIZE));
	evil_answer(s, get_words, 2, inv ? seg.handle : 0);
	evil_drive(s, o, o->done + 1);
	cr_assert_eq(o->failed, 0, "%s", o->err.what);
	cr_assert(untouched(lease, 0x22), "the data is there");
	return seg;
}

static struct rpcrdma_segment one_write(struct evil_scene *s, struct outcome *o,
					struct mr_lease *lease, bool inv)
{
	struct rpcrdma_segment seg;

	submit(call_put(s->client, o, lease, lease->addr, LEN, 1));
	evil_expect_call(s);
	seg = s->evil.h.read[0].seg;
	cr_assert_eq(seg.length, LEN);
	cr_assert(evil_read(s, seg.handle, seg.offset, EVIL_SIZE));
	cr_assert(!memcmp(evil_bytes(&s->evil), lease->addr, EVIL_SIZE));
	evil_answer(s, put_words, 2, inv ? seg.handle : 0);
	evil_drive(s, o, o->done + 1);
	cr_assert_eq(o->failed, 0, "%s", o->err.what);
	return seg;
}

static void old_read_key_is_dead(enum mr_mode mode, bool inv)
{
	struct outcome o = {0};
	struct evil_scene s;
	struct mr_lease *lease;
	struct rpcrdma_segment seg;

	evil_open(&s, &(struct evil_options){.mode = mode});
	lease = evil_lease(&s, MR_KIND_READ, LEN);
	seg = one_read(&s, &o, lease, inv);
	cr_expect_not(evil_write(&s, seg.handle, seg.offset, 0x66, EVIL_SIZE),
		      "the old key is refused");
	cr_expect(untouched(lease, 0x22));
	mr_lease_give(lease);
	evil_close(&s);
}

static void old_write_key_is_dead(enum mr_mode mode, bool inv)
{
	struct outcome o = {0};
	struct evil_scene s;
	struct mr_lease *lease;
	struct rpcrdma_segment seg;

	evil_open(&s, &(struct evil_options){.mode = mode});
	lease = evil_lease(&s, MR_KIND_WRITE, LEN);
	seg = one_write(&s, &o, lease, inv);
	memset(lease->addr, 0x77, LEN);
	cr_expect_not(evil_read(&s, seg.handle, seg.offset, EVIL_SIZE), "the old key is refused");
	for (size_t i = 0; i < EVIL_SIZE; i++)
		cr_expect_neq(evil_bytes(&s.evil)[i], 0x77);
	mr_lease_give(lease);
	evil_close(&s);
}

Test(rpcrdma_security, a_window_is_shut_after_a_read_that_was_answered_plainly)
{
	old_read_key_is_dead(MR_MODE_WINDOW, false);
}

Test(rpcrdma_security, a_window_is_shut_after_a_read_whose_key_the_server_invalidated)
{
	old_read_key_is_dead(MR_MODE_WINDOW, true);
}

Test(rpcrdma_security, a_window_is_shut_after_a_write_that_was_answered_plainly)
{
	old_write_key_is_dead(MR_MODE_WINDOW, false);
}

Test(rpcrdma_security, a_window_is_shut_after_a_write_whose_key_the_server_invalidated)
{
	old_write_key_is_dead(MR_MODE_WINDOW, true);
}

Test(rpcrdma_security, a_registration_per_io_is_gone_after_the_io)
{
	old_read_key_is_dead(MR_MODE_PER_IO, false);
	old_write_key_is_dead(MR_MODE_PER_IO, false);
}

struct attempt {
	bool read;
	int64_t offset; /* from where the segment begins */
	uint32_t len;
	bool allowed;
};

/* What the key of a READ under way lets a server do, beside what it is for. */
static void during_a_read(enum mr_mode mode, const struct attempt *attempt)
{
	struct outcome o = {0};
	struct evil_scene s;
	struct mr_lease *lease, *other;
	struct rpcrdma_segment seg;
	struct transport_call *call;
	uint64_t at;
	bool done;

	evil_open(&s, &(struct evil_options){.mode = mode});
	lease = evil_lease(&s, MR_KIND_READ, LEN);
	other = evil_lease(&s, MR_KIND_READ, LEN);
	call = call_get(s.client, &o, lease, lease->addr, LEN, 1);
	submit(call);
	evil_expect_call(&s);
	seg = s.evil.h.write[0].seg[0];
	at = seg.offset + (uint64_t)attempt->offset;
	done = attempt->read ? evil_read(&s, seg.handle, at, attempt->len)
			     : evil_write(&s, seg.handle, at, 0x66, attempt->len);
	cr_expect_eq(done, attempt->allowed, "%s %s of %u at %lld", mr_mode_name(mode),
		     attempt->read ? "read" : "write", attempt->len, (long long)attempt->offset);
	if (!attempt->allowed)
		cr_expect(untouched(other, 0x11) && untouched(lease, 0x11));
	transport_call_cancel(call);
	evil_drive(&s, &o, 1);
	mr_lease_give(lease);
	mr_lease_give(other);
	evil_close(&s);
}

Test(rpcrdma_security, a_key_of_one_call_reaches_its_piece_and_for_its_purpose)
{
	static const struct attempt attempts[] = {
		{false, 0, 64, true},	      {false, LEN - 64, 64, true}, {false, -64, 64, false},
		{false, LEN - 32, 64, false}, {false, LEN, 64, false},	   {true, 0, 64, false},
		{false, 1 << 20, 64, false},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(attempts); i++) {
		bool beyond = !attempts[i].allowed && !attempts[i].read;

		if (!beyond || evil_bounds_windows())
			during_a_read(MR_MODE_WINDOW, &attempts[i]);
		during_a_read(MR_MODE_PER_IO, &attempts[i]);
	}
}

/* The pool's key is a slab's: as far as the slab reaches, and its right, but not a byte beyond. */
Test(rpcrdma_security, a_pool_key_reaches_its_slab_with_its_right_and_nothing_else)
{
	struct outcome o = {0};
	struct evil_scene s;
	struct mr_lease *lease, *other, *secret;
	struct rpcrdma_segment seg;

	evil_open(&s, &(struct evil_options){.mode = MR_MODE_POOL});
	lease = evil_lease(&s, MR_KIND_READ, LEN);
	other = evil_lease(&s, MR_KIND_READ, LEN);
	secret = evil_lease(&s, MR_KIND_WRITE, LEN);
	seg = one_read(&s, &o, lease, false);
	cr_assert_eq(other->rkey, lease->rkey, "one slab");
	cr_assert_neq(secret->rkey, lease->rkey, "another right, another slab");
	cr_expect(evil_write(&s, seg.handle, other->iova, 0x66, EVIL_SIZE), "as documented");
	cr_expect_not(evil_read(&s, seg.handle, seg.offset, 64), "a READ target is not readable");
	cr_expect(untouched(secret, 0x11));
	mr_lease_give(lease);
	mr_lease_give(other);
	mr_lease_give(secret);
	evil_close(&s);
}

Test(rpcrdma_security, a_pool_key_does_not_reach_beyond_its_slab)
{
	struct outcome o = {0};
	struct evil_scene s;
	struct mr_lease *lease, *secret;
	struct rpcrdma_segment seg;

	evil_open(&s, &(struct evil_options){.mode = MR_MODE_POOL});
	lease = evil_lease(&s, MR_KIND_READ, LEN);
	secret = evil_lease(&s, MR_KIND_WRITE, LEN);
	seg = one_read(&s, &o, lease, false);
	cr_expect_not(evil_write(&s, seg.handle, secret->iova, 0x66, 64));
	cr_expect(untouched(secret, 0x11));
	mr_lease_give(lease);
	mr_lease_give(secret);
	evil_close(&s);
}

/* The buffer of a call that timed out goes to somebody else; the server then answers after all. */
static void late_write(enum mr_mode mode)
{
	struct outcome o = {0};
	struct evil_scene s;
	struct mr_lease *lease, *next;
	struct rpcrdma_segment seg;

	evil_open(&s, &(struct evil_options){.mode = mode, .soft = true});
	lease = evil_lease(&s, MR_KIND_READ, LEN);
	submit(call_get(s.client, &o, lease, lease->addr, LEN, 1));
	evil_expect_call(&s);
	seg = s.evil.h.write[0].seg[0];
	for (uint64_t end = util_clock_ns() + 5 * UTIL_NS_PER_S;
	     o.done < 1 && util_clock_ns() < end;) {
		transport_client_wait(s.client, 50);
		transport_client_process(s.client);
	}
	cr_assert_eq(o.status, -ETIMEDOUT, "%d after %u done: %s", o.status, o.done, o.err.what);
	mr_lease_give(lease);
	next = evil_lease(&s, MR_KIND_READ, LEN);
	cr_assert_eq(next->addr, lease->addr, "the same memory, lent to another");
	evil_write(&s, seg.handle, seg.offset, 0x66, EVIL_SIZE);
	cr_expect(untouched(next, 0x11), "%s", mr_mode_name(mode));
	mr_lease_give(next);
	evil_close(&s);
}

Test(rpcrdma_security, a_late_write_for_a_call_that_timed_out_lands_nowhere)
{
	late_write(MR_MODE_POOL);
	late_write(MR_MODE_WINDOW);
	late_write(MR_MODE_PER_IO);
	late_write(MR_MODE_CACHE);
}

Test(rpcrdma_security, remote_invalidation_is_offered_in_window_mode_alone)
{
	for (unsigned mode = 0; mode < MR_MODE_ODP; mode++) {
		struct evil_scene s;

		evil_open(&s, &(struct evil_options){.mode = (enum mr_mode)mode});
		cr_expect_eq(s.evil.may_invalidate, mode == MR_MODE_WINDOW, "%s",
			     mr_mode_name((enum mr_mode)mode));
		evil_close(&s);
	}
}

Test(rpcrdma_security, keys_of_successive_calls_do_not_come_back_soon)
{
	enum { CALLS = 600 };
	static uint32_t keys[CALLS];
	struct outcome o = {0};
	struct evil_scene s;
	struct mr_lease *lease;

	evil_open(&s, &(struct evil_options){.mode = MR_MODE_WINDOW});
	lease = evil_lease(&s, MR_KIND_READ, LEN);
	for (unsigned i = 0; i < CALLS; i++) {
		submit(call_get(s.client, &o, lease, lease->addr, LEN, 1));
		evil_expect_call(&s);
		keys[i] = s.evil.h.write[0].seg[0].handle;
		for (unsigned k = 0; k < i; k++)
			cr_assert_neq(keys[i], keys[k], "call %u has the key of call %u", i, k);
		evil_answer(&s, (uint32_t[]){5}, 1, i % 2 ? keys[i] : 0);
		evil_drive(&s, &o, i + 1);
	}
	mr_lease_give(lease);
	evil_close(&s);
}

Test(rpcrdma_security, a_server_that_invalidates_another_calls_key_loses_the_connection)
{
	struct outcome o = {0};
	struct evil_scene s;
	struct mr_lease *a, *b;
	struct rpcrdma_header first;
	uint32_t other;

	evil_open(&s, &(struct evil_options){.mode = MR_MODE_WINDOW, .soft = true});
	a = evil_lease(&s, MR_KIND_READ, LEN);
	b = evil_lease(&s, MR_KIND_READ, LEN);
	submit(call_null(s.client, &o, PROC_NULL)); /* for credits */
	evil_expect_call(&s);
	evil_answer(&s, put_words, 2, 0);
	evil_drive(&s, &o, 1);
	submit(call_get(s.client, &o, a, a->addr, LEN, 1));
	submit(call_get(s.client, &o, b, b->addr, LEN, 2));
	evil_expect_call(&s);
	first = s.evil.h;
	evil_expect_call(&s);
	other = s.evil.h.write[0].seg[0].handle;
	s.evil.h = first;
	evil_answer(&s, (uint32_t[]){5}, 1, other);
	for (unsigned i = 0; i < 1000 && !s.evil.down; i++) {
		transport_client_process(s.client);
		transport_client_wait(s.client, 2);
		evil_poll(&s.evil);
	}
	cr_expect(s.evil.down, "the connection is gone");
	evil_drive(&s, &o, 3);
	mr_lease_give(a);
	mr_lease_give(b);
	evil_close(&s);
}

/* Many plain answers at once: their invalidations share doorbells. */
Test(rpcrdma_security, invalidations_of_answers_that_come_together_go_out_together)
{
	enum { CALLS = 16 };
	struct mr_ledger_snapshot snap;
	struct rpcrdma_header h[CALLS];
	struct mr_lease *lease[CALLS];
	struct outcome o = {0};
	struct evil_scene s;

	evil_open(&s, &(struct evil_options){.mode = MR_MODE_WINDOW});
	lease[0] = evil_lease(&s, MR_KIND_READ, LEN);
	one_read(&s, &o, lease[0], false); /* credits */
	mr_lease_give(lease[0]);
	for (unsigned i = 0; i < CALLS; i++) {
		lease[i] = evil_lease(&s, MR_KIND_READ, LEN);
		submit(call_get(s.client, &o, lease[i], lease[i]->addr, LEN, i));
	}
	for (unsigned i = 0; i < CALLS; i++) {
		evil_expect_call(&s);
		h[i] = s.evil.h;
	}
	for (unsigned i = 0; i < CALLS; i++) {
		s.evil.h = h[i];
		evil_answer(&s, (uint32_t[]){5}, 1, 0);
	}
	evil_drive(&s, &o, 1 + CALLS);
	cr_assert_eq(o.failed, 0, "%s", o.err.what);
	mr_ledger_read(mr_pool_ledger(s.pool), &snap);
	cr_assert_eq(snap.windows_bound, 1 + CALLS);
	cr_assert_eq(snap.invalidations_local, 1 + CALLS);
	cr_assert_eq(snap.windows_now, 0);
	cr_assert_lt(snap.invalidation_batches, 1 + CALLS, "some went together");
	cr_assert_eq(snap.invalidation_batches_1 + snap.invalidation_batches_2 +
			     snap.invalidation_batches_4 + snap.invalidation_batches_8 +
			     snap.invalidation_batches_16 + snap.invalidation_batches_32 +
			     snap.invalidation_batches_more,
		     snap.invalidation_batches);
	for (unsigned i = 0; i < CALLS; i++)
		mr_lease_give(lease[i]);
	evil_close(&s);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ends of one connection in one process: everything the fabric promises when nothing goes
 * wrong. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/iwarp/pair.h"
#include "util/util.h"

/* Every way the data path can be set up. */
static const struct pair_options ways[] = {
	{.crc = FABRIC_CRC_OFF},
	{.crc = FABRIC_CRC_ON},
	{.crc = FABRIC_CRC_OFF, .plain = true},
	{.crc = FABRIC_CRC_ON, .plain = true},
	{.crc = FABRIC_CRC_OFF, .mss = 1448},
	{.crc = FABRIC_CRC_ON, .mss = 536, .plain = true},
	{.crc = FABRIC_CRC_OFF, .ipv6 = true},
};

#define FOR_EACH_WAY(opts)                                                                         \
	for (const struct pair_options *opts = ways; opts < ways + UTIL_ARRAY_SIZE(ways); opts++)

static void expect_ok(struct fabric_wc wc, enum fabric_wc_type type, uint64_t wr_id)
{
	cr_assert_eq(wc.type, type, "type %d: %s", wc.type, wc.conn->err.what);
	cr_assert_eq(wc.status, FABRIC_WC_OK, "status %d: %s", wc.status, wc.conn->err.what);
	cr_assert_eq(wc.wr_id, wr_id);
}

Test(iwarp_loop, private_data_reaches_the_other_end_without_our_mark)
{
	struct pair_options opts = {.private = {"from the client", "from the server"}};
	struct pair pair;

	pair_open(&pair, &opts);
	cr_expect_eq(pair.end[1].conn->peer_private_len, 15);
	cr_expect_arr_eq(pair.end[1].conn->peer_private, "from the client", 15);
	cr_expect_eq(pair.end[0].conn->peer_private_len, 15);
	cr_expect_arr_eq(pair.end[0].conn->peer_private, "from the server", 15);
	pair_close(&pair);
}

Test(iwarp_loop, send_arrives_in_the_posted_receive)
{
	FOR_EACH_WAY(opts)
	{
		struct pair pair;
		struct memory from, to;
		struct fabric_sge sge;
		struct fabric_wc wc;

		pair_open(&pair, opts);
		memory_open(&from, &pair, 0, 65536, 0);
		memory_open(&to, &pair, 1, 65536, 0);
		memory_fill(&from, 7);
		pair_recv(&pair, 1, &to, 0, 65536, 5);
		sge = memory_sge(&from, 0, 50001);
		cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_SEND, &sge, 0, 0, 0, 9), 0);
		expect_ok(pair_next(&pair, 0), FABRIC_WC_SEND, 9);
		wc = pair_next(&pair, 1);
		expect_ok(wc, FABRIC_WC_RECV, 5);
		cr_assert_eq(wc.byte_len, 50001);
		cr_assert(!wc.invalidated);
		cr_assert(memory_is_filled(&to, 0, 50001, 7));
		memory_close(&from);
		memory_close(&to);
		pair_close(&pair);
	}
}

static uint64_t doorbells(struct pair *pair, int e)
{
	struct fabric_counters counters;

	pair->ops->cq_counters(pair->end[e].cq, &counters);
	return counters.doorbells;
}

Test(iwarp_loop, sends_with_more_to_follow_share_a_doorbell_and_are_not_left_lying)
{
	enum { SMALL = 100, COUNT = 8 };

	FOR_EACH_WAY(opts)
	{
		struct pair pair;
		struct memory note, inbox;
		struct fabric_sge sge;
		uint64_t before;

		pair_open(&pair, opts);
		memory_open(&note, &pair, 0, 65536, 0);
		memory_open(&inbox, &pair, 1, 65536, 0);
		memory_fill(&note, 5);
		sge = memory_sge(&note, 0, SMALL);
		before = doorbells(&pair, 0);
		for (unsigned i = 0; i < COUNT; i++) {
			pair_recv(&pair, 1, &inbox, i * SMALL, SMALL, i);
			cr_assert_eq(
				pair_post(&pair, 0, FABRIC_OP_SEND, &sge, 0, 0, FABRIC_WR_MORE, i),
				0);
		}
		cr_assert_eq(doorbells(&pair, 0), before);
		for (unsigned i = 0; i < COUNT; i++)
			expect_ok(pair_next_of(&pair, 1, FABRIC_WC_RECV), FABRIC_WC_RECV, i);
		for (unsigned i = 0; i < COUNT; i++)
			cr_assert_eq(memcmp(inbox.ptr + i * SMALL, note.ptr, SMALL), 0);
		cr_assert_eq(doorbells(&pair, 0), before + 1);
		/* Enough to be worth one by itself, and one without more to follow. */
		pair_recv(&pair, 1, &inbox, 0, 65536, 20);
		pair_recv(&pair, 1, &inbox, 0, SMALL, 21);
		sge = memory_sge(&note, 0, 65536);
		cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_SEND, &sge, 0, 0, FABRIC_WR_MORE, 20),
			     0);
		cr_assert_eq(doorbells(&pair, 0), before + 2);
		sge = memory_sge(&note, 0, SMALL);
		expect_ok(pair_next_of(&pair, 1, FABRIC_WC_RECV), FABRIC_WC_RECV, 20);
		cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_SEND, &sge, 0, 0, 0, 21), 0);
		cr_assert_eq(doorbells(&pair, 0), before + 3);
		expect_ok(pair_next_of(&pair, 1, FABRIC_WC_RECV), FABRIC_WC_RECV, 21);
		memory_close(&note);
		memory_close(&inbox);
		pair_close(&pair);
	}
}

/* Who posts and then sleeps, by either way of sleeping, sleeps with nothing left unsent. */
Test(iwarp_loop, waiting_and_arming_ring_for_what_has_more_to_follow)
{
	FOR_EACH_WAY(opts)
	{
		struct pair pair;
		struct memory note, inbox;
		struct fabric_sge sge;
		uint64_t before;

		pair_open(&pair, opts);
		memory_open(&note, &pair, 0, 4096, 0);
		memory_open(&inbox, &pair, 1, 4096, 0);
		sge = memory_sge(&note, 0, 100);
		for (unsigned i = 0; i < 2; i++) {
			pair_recv(&pair, 1, &inbox, 0, 4096, i);
			before = doorbells(&pair, 0);
			cr_assert_eq(
				pair_post(&pair, 0, FABRIC_OP_SEND, &sge, 0, 0, FABRIC_WR_MORE, i),
				0);
			if (i == 0)
				pair.ops->cq_wait(pair.end[0].cq, 0);
			else
				pair.ops->cq_arm(pair.end[0].cq);
			cr_assert_eq(doorbells(&pair, 0), before + 1);
			expect_ok(pair_next_of(&pair, 1, FABRIC_WC_RECV), FABRIC_WC_RECV, i);
		}
		memory_close(&note);
		memory_close(&inbox);
		pair_close(&pair);
	}
}

Test(iwarp_loop, write_lands_before_the_send_behind_it_and_costs_one_doorbell)
{
	FOR_EACH_WAY(opts)
	{
		struct pair pair;
		struct memory data, region, note, inbox;
		struct fabric_sge sge[2];
		struct fabric_counters before, after;
		struct fabric_wr send = {.wr_id = 2,
					 .op = FABRIC_OP_SEND,
					 .nsge = 1,
					 .flags = FABRIC_WR_SIGNALED | FABRIC_WR_SOLICITED};
		struct fabric_wr write = {
			.wr_id = 1, .op = FABRIC_OP_WRITE, .nsge = 1, .next = &send};

		pair_open(&pair, opts);
		memory_open(&data, &pair, 0, 32768, 0);
		memory_open(&note, &pair, 0, 4096, 0);
		memory_open(&region, &pair, 1, 65536, MR_ACCESS_REMOTE_WRITE);
		memory_open(&inbox, &pair, 1, 4096, 0);
		memory_fill(&data, 3);
		memory_fill(&note, 4);
		pair_recv(&pair, 1, &inbox, 0, 4096, 1);
		sge[0] = memory_sge(&data, 0, 32768);
		sge[1] = memory_sge(&note, 0, 100);
		write.sge = &sge[0];
		write.u.remote.iova = region.reg.iova + 1000;
		write.u.remote.rkey = region.reg.rkey;
		send.sge = &sge[1];
		pair.ops->cq_counters(pair.end[0].cq, &before);
		cr_assert_eq(pair.ops->post_send(pair.end[0].conn, &write), 0);
		pair.ops->cq_counters(pair.end[0].cq, &after);
		cr_assert_eq(after.doorbells, before.doorbells + 1);
		expect_ok(pair_next(&pair, 1), FABRIC_WC_RECV, 1);
		cr_assert(memory_is_filled(&region, 1000, 32768, 3));
		cr_assert(memory_is_filled(&inbox, 0, 100, 4));
		cr_assert_eq(region.ptr[999], 0);
		cr_assert_eq(region.ptr[1000 + 32768], 0);
		expect_ok(pair_next(&pair, 0), FABRIC_WC_SEND, 2);
		memory_close(&data);
		memory_close(&note);
		memory_close(&region);
		memory_close(&inbox);
		pair_close(&pair);
	}
}

/* The responder may only send once it has heard the initiator (RFC 5044). */
static void break_the_ice(struct pair *pair)
{
	struct memory m;
	struct fabric_sge sge;

	memory_open(&m, pair, 1, 4096, 0);
	pair_recv(pair, 1, &m, 0, 4096, 77);
	sge = memory_sge(&m, 0, 0);
	cr_assert_eq(pair_post(pair, 0, FABRIC_OP_SEND, &sge, 0, 0, 0, 76), 0);
	expect_ok(pair_next(pair, 1), FABRIC_WC_RECV, 77);
	expect_ok(pair_next(pair, 0), FABRIC_WC_SEND, 76);
	memory_close(&m);
}

Test(iwarp_loop, read_brings_the_peers_memory)
{
	FOR_EACH_WAY(opts)
	{
		for (int e = 0; e < 2; e++) {
			struct pair pair;
			struct memory source, sink;
			struct fabric_sge sge;

			pair_open(&pair, opts);
			break_the_ice(&pair);
			memory_open(&source, &pair, !e, 1 << 20, MR_ACCESS_REMOTE_READ);
			memory_open(&sink, &pair, e, 1 << 20, MR_ACCESS_READ_SINK);
			memory_fill(&source, 9);
			sge = memory_sge(&sink, 0, (1 << 20) - 3);
			cr_assert_eq(pair_post(&pair, e, FABRIC_OP_READ, &sge, source.reg.iova,
					       source.reg.rkey, 0, 3),
				     0);
			expect_ok(pair_next(&pair, e), FABRIC_WC_SEND, 3);
			cr_assert(memory_is_filled(&sink, 0, (1 << 20) - 3, 9));
			cr_assert_eq(sink.ptr[(1 << 20) - 1], 0);
			memory_close(&source);
			memory_close(&sink);
			pair_close(&pair);
		}
	}
}

Test(iwarp_loop, more_reads_than_the_peer_takes_are_queued_and_complete_in_order)
{
	FOR_EACH_WAY(opts)
	{
		struct pair_options deep = *opts;
		struct pair pair;
		struct memory source, sink;

		deep.depth = 256;
		pair_open(&pair, &deep);
		memory_open(&source, &pair, 1, 256 * 1024, MR_ACCESS_REMOTE_READ);
		memory_open(&sink, &pair, 0, 256 * 1024, MR_ACCESS_READ_SINK);
		memory_fill(&source, 1);
		for (unsigned i = 0; i < 200; i++) {
			struct fabric_sge sge = memory_sge(&sink, i * 1000, 1000);

			cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_READ, &sge,
					       source.reg.iova + i * 1000, source.reg.rkey, 0, i),
				     0);
		}
		for (unsigned i = 0; i < 200; i++)
			expect_ok(pair_next(&pair, 0), FABRIC_WC_SEND, i);
		cr_assert(memory_is_filled(&sink, 0, 200000, 1));
		memory_close(&source);
		memory_close(&sink);
		pair_close(&pair);
	}
}

Test(iwarp_loop, fenced_send_waits_for_the_reads_before_it)
{
	FOR_EACH_WAY(opts)
	{
		struct pair pair;
		struct memory source, sink, inbox;
		struct fabric_sge sge, empty = {0};

		pair_open(&pair, opts);
		memory_open(&source, &pair, 1, 1 << 20, MR_ACCESS_REMOTE_READ);
		memory_open(&sink, &pair, 0, 1 << 20, MR_ACCESS_READ_SINK);
		memory_open(&inbox, &pair, 1, 4096, 0);
		memory_fill(&source, 5);
		pair_recv(&pair, 1, &inbox, 0, 4096, 1);
		sge = memory_sge(&sink, 0, 1 << 20);
		cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_READ, &sge, source.reg.iova,
				       source.reg.rkey, 0, 1),
			     0);
		cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_SEND, &empty, 0, 0, FABRIC_WR_FENCE, 2),
			     0);
		expect_ok(pair_next(&pair, 1), FABRIC_WC_RECV, 1);
		cr_assert(memory_is_filled(&sink, 0, 1 << 20, 5));
		expect_ok(pair_next(&pair, 0), FABRIC_WC_SEND, 1);
		expect_ok(pair_next(&pair, 0), FABRIC_WC_SEND, 2);
		memory_close(&source);
		memory_close(&sink);
		memory_close(&inbox);
		pair_close(&pair);
	}
}

/* Bind window over all of m at end e. */
static int bind_window(struct pair *pair, int e, struct mr_window *w, const struct memory *m,
		       unsigned access)
{
	struct fabric_wr wr = {
		.wr_id = 100,
		.op = FABRIC_OP_BIND,
		.flags = FABRIC_WR_SIGNALED,
		.u.bind = {.window = w,
			   .reg = &m->reg,
			   .iova = m->reg.iova,
			   .len = m->len,
			   .access = access},
	};

	return pair->ops->post_send(pair->end[e].conn, &wr);
}

Test(iwarp_loop, window_grants_access_until_the_peer_invalidates_it)
{
	FOR_EACH_WAY(opts)
	{
		struct pair pair;
		struct memory region, data, inbox;
		struct mr_window w;
		struct fabric_sge sge;
		struct fabric_wc wc;
		struct mr_provider *p;
		uint32_t first;

		pair_open(&pair, opts);
		break_the_ice(&pair);
		p = pair.end[0].domain->provider;
		memory_open(&region, &pair, 0, 8192, MR_ACCESS_WINDOW_BIND | MR_ACCESS_LOCAL_WRITE);
		memory_open(&inbox, &pair, 0, 4096, 0);
		memory_open(&data, &pair, 1, 8192, 0);
		memory_fill(&data, 2);
		cr_assert_eq(p->ops->window_alloc(p, &w), 0);
		cr_assert_eq(bind_window(&pair, 0, &w, &region, MR_ACCESS_REMOTE_WRITE), 0);
		cr_assert_neq(w.rkey, 0);
		cr_assert_neq(w.rkey, region.reg.rkey);
		expect_ok(pair_next(&pair, 0), FABRIC_WC_SEND, 100);
		first = w.rkey;
		pair_recv(&pair, 0, &inbox, 0, 4096, 1);
		sge = memory_sge(&data, 0, 8192);
		cr_assert_eq(
			pair_post(&pair, 1, FABRIC_OP_WRITE, &sge, region.reg.iova, w.rkey, 0, 1),
			0);
		sge.len = 10;
		cr_assert_eq(pair_post(&pair, 1, FABRIC_OP_SEND_INV, &sge, 0, w.rkey, 0, 2), 0);
		wc = pair_next(&pair, 0);
		expect_ok(wc, FABRIC_WC_RECV, 1);
		cr_assert(wc.invalidated);
		cr_assert_eq(wc.invalidated_rkey, first);
		cr_assert(memory_is_filled(&region, 0, 8192, 2));
		/* a new bind has a new key; the old one is dead */
		cr_assert_eq(bind_window(&pair, 0, &w, &region, MR_ACCESS_REMOTE_WRITE), 0);
		cr_assert_neq(w.rkey, first);
		cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_LOCAL_INV, NULL, 0, w.rkey, 0, 101), 0);
		expect_ok(pair_next(&pair, 0), FABRIC_WC_SEND, 100);
		expect_ok(pair_next(&pair, 0), FABRIC_WC_SEND, 101);
		p->ops->window_free(p, &w);
		memory_close(&region);
		memory_close(&inbox);
		memory_close(&data);
		pair_close(&pair);
	}
}

Test(iwarp_loop, inline_send_may_reuse_its_memory_at_once)
{
	struct pair_options opts = {0};
	struct pair pair;
	struct memory inbox;
	char text[] = "inline bytes";
	struct fabric_sge sge = {.ptr = text, .len = sizeof(text)};

	pair_open(&pair, &opts);
	memory_open(&inbox, &pair, 1, 4096, 0);
	pair_recv(&pair, 1, &inbox, 0, 4096, 1);
	cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_SEND, &sge, 0, 0, FABRIC_WR_INLINE, 1), 0);
	memset(text, 'x', sizeof(text));
	expect_ok(pair_next(&pair, 1), FABRIC_WC_RECV, 1);
	cr_assert_str_eq((char *)inbox.ptr, "inline bytes");
	memory_close(&inbox);
	pair_close(&pair);
}

/* 100000 messages both ways: sizes and kinds at random, contents checked. */
static void storm(const struct pair_options *opts, unsigned count)
{
	enum { SLOT = 9000, SLOTS = 32 };
	struct pair_options deep = *opts;
	struct pair pair;
	struct memory from[2], to[2];
	unsigned sent[2] = {0}, completed[2] = {0}, received[2] = {0}, posted[2] = {0};
	uint32_t size[2][SLOTS];

	deep.depth = SLOTS;
	pair_open(&pair, &deep);
	for (int e = 0; e < 2; e++) {
		memory_open(&from[e], &pair, e, SLOT * SLOTS, 0);
		memory_open(&to[e], &pair, e, SLOT * SLOTS, 0);
		for (; posted[e] < SLOTS; posted[e]++)
			pair_recv(&pair, e, &to[e], posted[e] * SLOT, SLOT, posted[e]);
	}
	while (received[0] < count || received[1] < count) {
		for (int e = 0; e < 2; e++) {
			while (sent[e] < count && sent[e] - completed[e] < SLOTS &&
			       sent[e] - received[!e] < SLOTS) {
				unsigned slot = sent[e] % SLOTS;
				uint32_t len =
					(uint32_t)(random() % 3 ? random() % 300 : random() % SLOT);
				struct fabric_sge sge = memory_sge(&from[e], slot * SLOT, len);

				memset(from[e].ptr + slot * SLOT, (int)(sent[e] * 7 + (unsigned)e),
				       len);
				size[e][slot] = len;
				cr_assert_eq(
					pair_post(&pair, e, FABRIC_OP_SEND, &sge, 0, 0, 0, sent[e]),
					0);
				sent[e]++;
			}
		}
		pair_turn(&pair);
		for (int e = 0; e < 2; e++) {
			while (pair.end[e].first != pair.end[e].last) {
				struct fabric_wc wc = pair_next(&pair, e);
				unsigned n = received[e], slot = n % SLOTS;
				const uint8_t *p = to[e].ptr + slot * SLOT;

				if (wc.type == FABRIC_WC_SEND) {
					expect_ok(wc, FABRIC_WC_SEND, completed[e]++);
					continue;
				}
				expect_ok(wc, FABRIC_WC_RECV, slot);
				cr_assert_eq(wc.byte_len, size[!e][slot]);
				for (uint32_t i = 0; i < wc.byte_len; i++)
					cr_assert_eq(p[i], (uint8_t)(n * 7 + (unsigned)!e));
				received[e]++;
				pair_recv(&pair, e, &to[e], slot * SLOT, SLOT, slot);
			}
		}
	}
	for (int e = 0; e < 2; e++) {
		memory_close(&from[e]);
		memory_close(&to[e]);
	}
	pair_close(&pair);
}

Test(iwarp_loop, a_hundred_thousand_messages_arrive_whole_and_in_order, .timeout = 60)
{
	FOR_EACH_WAY(opts)
	storm(opts, 100000 / 2 / UTIL_ARRAY_SIZE(ways) + 1);
}

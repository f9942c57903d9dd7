/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends over the iwarp fabric on loopback: real MPA, DDP and RDMAP, two threads, real sockets.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "tests/fake/alloc.h"
#include "tests/rpcrdma/harness.h"

struct e2e {
	struct server server;
	struct transport_ctx *ctx;
	struct transport_client *client;
	struct mr_pool *pool;
};

struct variant {
	uint32_t slots, credits, client_inline, server_inline;
	enum fabric_crc crc;
	bool no_io_uring;
	enum mr_mode mode;
};

static void e2e_open(struct e2e *e, const struct variant *v)
{
	struct transport_server_params sp = {.fabric_iwarp = true,
					     .credits = v->credits,
					     .inline_size = v->server_inline,
					     .crc = v->crc,
					     .no_io_uring = v->no_io_uring};
	struct transport_client_params cp;

	server_start(&e->server, &sp);
	cr_assert_eq(transport_ctx_create(&e->ctx, NULL), 0);
	client_params(&cp, e->server.port);
	cp.fabric_ops = NULL;
	cp.fabric = TRANSPORT_FABRIC_IWARP;
	cp.slots = v->slots;
	cp.inline_size = v->client_inline;
	cp.crc = v->crc;
	cp.no_io_uring = v->no_io_uring;
	cp.pool.mode = v->mode;
	e->client = client_open(e->ctx, e->server.port, &cp);
	e->pool = transport_client_pool(e->client);
}

static void e2e_close(struct e2e *e)
{
	transport_client_destroy(e->client);
	transport_ctx_put(e->ctx);
	server_stop(&e->server);
}

static void one(struct e2e *e, struct transport_call *call, struct outcome *o)
{
	submit(call);
	cr_assert(drive(e->client, o, o->done + 1));
	cr_assert_eq(o->failed, 0, "%d %s", o->status, o->err.what);
	cr_assert_eq(o->wrong, 0);
}

static void every_way(const struct variant *v)
{
	static const size_t sizes[] = {1, 4, 943, 1000, 3950, 4050, 4096, 65536, 262144, 1 << 20};
	struct mr_lease *put, *get;
	struct outcome o = {0};
	struct e2e e;

	e2e_open(&e, v);
	cr_assert_eq(mr_lease_take(e.pool, MR_KIND_WRITE, 1 << 20, &put, NULL), 0);
	cr_assert_eq(mr_lease_take(e.pool, MR_KIND_READ, 1 << 20, &get, NULL), 0);
	one(&e, call_null(e.client, &o, PROC_NULL), &o);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = sizes[i];

		one(&e, call_put(e.client, &o, put, put->addr, len, (uint32_t)i), &o);
		one(&e, call_get(e.client, &o, get, get->addr, len, (uint32_t)i), &o);
		cr_assert_eq(o.received, len);
		one(&e, call_long(e.client, &o, (uint32_t)len & ~3u, (uint32_t)i), &o);
		if (len <= 1200)
			one(&e, call_text(e.client, &o, (uint32_t)len, (uint32_t)i), &o);
	}
	mr_lease_give(put);
	mr_lease_give(get);
	e2e_close(&e);
}

Test(rpcrdma_iwarp, every_way_arrives_with_usual_sizes)
{
	every_way(&(struct variant){.slots = 128, .credits = 128});
}

Test(rpcrdma_iwarp, every_way_arrives_with_one_credit_and_small_inline)
{
	every_way(&(struct variant){1, 1, 1024, 1024, FABRIC_CRC_AUTO, false, MR_MODE_POOL});
}

Test(rpcrdma_iwarp, every_way_arrives_with_crc)
{
	every_way(&(struct variant){16, 8, 4096, 1024, FABRIC_CRC_ON, false, MR_MODE_POOL});
}

Test(rpcrdma_iwarp, every_way_arrives_without_io_uring)
{
	every_way(&(struct variant){16, 128, 4096, 4096, FABRIC_CRC_AUTO, true, MR_MODE_POOL});
}

Test(rpcrdma_iwarp, every_way_arrives_in_window_mode)
{
	every_way(&(struct variant){.slots = 128, .credits = 128, .mode = MR_MODE_WINDOW});
	every_way(&(struct variant){1, 1, 1024, 1024, FABRIC_CRC_ON, true, MR_MODE_WINDOW});
}

Test(rpcrdma_iwarp, every_way_arrives_registered_per_io)
{
	every_way(&(struct variant){.slots = 128, .credits = 128, .mode = MR_MODE_PER_IO});
	every_way(&(struct variant){1, 1, 1024, 1024, FABRIC_CRC_ON, true, MR_MODE_PER_IO});
}

/* ---- the steady state ------------------------------------------------------------------- */

#define DEPTH_MAX 32

/* Bulk memory for depth calls each way. */
struct bulk {
	struct mr_lease *put[DEPTH_MAX], *get[DEPTH_MAX];
	unsigned depth;
	size_t len;
};

static void bulk_take(struct bulk *b, struct e2e *e, unsigned depth, size_t len)
{
	b->depth = depth;
	b->len = len;
	for (unsigned i = 0; i < depth; i++) {
		cr_assert_eq(mr_lease_take(e->pool, MR_KIND_WRITE, len, &b->put[i], NULL), 0);
		cr_assert_eq(mr_lease_take(e->pool, MR_KIND_READ, len, &b->get[i], NULL), 0);
	}
}

static void bulk_give(struct bulk *b)
{
	for (unsigned i = 0; i < b->depth; i++) {
		mr_lease_give(b->put[i]);
		mr_lease_give(b->get[i]);
	}
}

static struct transport_call *make(struct e2e *e, struct bulk *b, struct outcome *o, uint32_t proc,
				   unsigned i)
{
	if (proc == PROC_PUT)
		return call_put(e->client, o, b->put[i], b->put[i]->addr, b->len, i);
	if (proc == PROC_GET)
		return call_get(e->client, o, b->get[i], b->get[i]->addr, b->len, i);
	return call_null(e->client, o, PROC_NULL);
}

/* rounds times depth calls of proc, as many at once as there is bulk memory. */
static void volume(struct e2e *e, struct bulk *b, uint32_t proc, unsigned rounds)
{
	struct outcome o = {0};

	for (unsigned r = 1; r <= rounds; r++) {
		for (unsigned i = 0; i < b->depth; i++)
			submit(make(e, b, &o, proc, i));
		cr_assert(drive(e->client, &o, r * b->depth));
	}
	cr_assert_eq(o.failed, 0, "%s", o.err.what);
	cr_assert_eq(o.wrong, 0);
}

static uint64_t registrations(struct e2e *e)
{
	struct mr_ledger_snapshot client, server;

	mr_ledger_read(transport_ctx_ledger(e->ctx), &client);
	mr_ledger_read(transport_server_ledger(e->server.server), &server);
	return client.registrations + server.registrations;
}

/*
 * Doorbells per call in thousandths, at most, over rounds.  The pools grow until they have seen the
 * most that was ever at once, which is a matter of luck with the scheduler; after that nothing is
 * registered, and one of these rounds has to be after that.
 */
static uint64_t doorbells(struct e2e *e, struct bulk *b, uint32_t proc)
{
	struct transport_counters before, after;
	uint64_t regs, each, most = 0;
	bool grew = true;

	volume(e, b, proc, 3); /* warm */
	for (int round = 0; round < 20 && grew; round++) {
		regs = registrations(e);
		transport_client_counters(e->client, &before);
		volume(e, b, proc, 100 / b->depth + 1);
		transport_client_counters(e->client, &after);
		each = (after.doorbells - before.doorbells) * 1000 / (after.rpcs - before.rpcs);
		most = each > most ? each : most;
		grew = registrations(e) != regs;
	}
	cr_assert(!grew);
	return most;
}

static void one_doorbell(enum mr_mode mode)
{
	static const unsigned depths[] = {1, 8, DEPTH_MAX};
	static const size_t lens[] = {100, 5000, 131072};
	struct bulk b;
	struct e2e e;

	e2e_open(&e, &(struct variant){.slots = 128, .credits = 128, .mode = mode});
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(depths) * UTIL_ARRAY_SIZE(lens); i++) {
		bulk_take(&b, &e, depths[i / 3], lens[i % 3]);
		cr_assert_leq(doorbells(&e, &b, PROC_NULL), 1000);
		cr_assert_leq(doorbells(&e, &b, PROC_GET), 1000);
		cr_assert_leq(doorbells(&e, &b, PROC_PUT), 1000);
		bulk_give(&b);
	}
	e2e_close(&e);
}

Test(rpcrdma_iwarp, a_call_costs_one_doorbell_and_no_registration_at_any_depth)
{
	one_doorbell(MR_MODE_POOL);
}

Test(rpcrdma_iwarp, a_call_costs_one_doorbell_and_no_registration_in_window_mode)
{
	one_doorbell(MR_MODE_WINDOW);
}

static void steady(enum mr_mode mode)
{
	static const uint32_t procs[] = {PROC_NULL, PROC_PUT, PROC_GET};
	unsigned before = 0;
	struct bulk b;
	struct e2e e;

	e2e_open(&e, &(struct variant){.slots = 128, .credits = 128, .mode = mode});
	bulk_take(&b, &e, 16, 65536);
	cr_assert_gt(alloc_count(), 0, "the counter counts");
	/* How many are out together depends on timing: the free lists fill in a few rounds. */
	for (unsigned i = 0; i < 20; i++) {
		before = alloc_count();
		for (unsigned k = 0; k < 3; k++)
			volume(&e, &b, procs[k], 10);
		if (alloc_count() == before)
			break;
	}
	cr_assert_eq(alloc_count(), before);
	bulk_give(&b);
	e2e_close(&e);
}

Test(rpcrdma_iwarp, neither_side_allocates_in_the_steady_state)
{
	steady(MR_MODE_POOL);
}

Test(rpcrdma_iwarp, neither_side_allocates_in_the_steady_state_of_window_mode)
{
	steady(MR_MODE_WINDOW);
}

/* What a mode books for n calls each way, once everything is warm. */
static struct mr_ledger_snapshot booked(enum mr_mode mode, unsigned n)
{
	struct mr_ledger_snapshot before, after, d = {0};
	struct bulk b;
	struct e2e e;

	e2e_open(&e, &(struct variant){.slots = 128, .credits = 128, .mode = mode});
	bulk_take(&b, &e, 4, 65536);
	volume(&e, &b, PROC_PUT, 3);
	volume(&e, &b, PROC_GET, 3);
	mr_ledger_read(transport_ctx_ledger(e.ctx), &before);
	volume(&e, &b, PROC_PUT, n / 4);
	volume(&e, &b, PROC_GET, n / 4);
	mr_ledger_read(transport_ctx_ledger(e.ctx), &after);
	d.registrations = after.registrations - before.registrations;
	d.deregistrations = after.deregistrations - before.deregistrations;
	d.windows_bound = after.windows_bound - before.windows_bound;
	d.invalidations_local = after.invalidations_local - before.invalidations_local;
	d.invalidations_remote = after.invalidations_remote - before.invalidations_remote;
	d.windows_now = after.windows_now;
	bulk_give(&b);
	e2e_close(&e);
	return d;
}

Test(rpcrdma_iwarp, a_mode_books_what_it_does_and_nothing_else)
{
	struct mr_ledger_snapshot pool = booked(MR_MODE_POOL, 40);
	struct mr_ledger_snapshot window = booked(MR_MODE_WINDOW, 40);
	struct mr_ledger_snapshot per_io = booked(MR_MODE_PER_IO, 40);

	cr_expect_eq(pool.registrations + pool.deregistrations, 0);
	cr_expect_eq(pool.windows_bound + pool.invalidations_local + pool.invalidations_remote, 0);
	cr_expect_eq(window.registrations + window.deregistrations, 0);
	cr_expect_eq(window.windows_bound, 80);
	/* Ours is a server that takes up the offer. */
	cr_expect_eq(window.invalidations_remote, 80);
	cr_expect_eq(window.invalidations_local, 0);
	cr_expect_eq(window.windows_now, 0);
	cr_expect_eq(per_io.registrations, 80);
	cr_expect_eq(per_io.deregistrations, 80);
	cr_expect_eq(per_io.windows_bound, 0);
}

Test(rpcrdma_iwarp, sixty_five_thousand_calls_pass)
{
	struct outcome o = {0};
	unsigned submitted = 0;
	struct e2e e;

	e2e_open(&e, &(struct variant){.slots = 128, .credits = 100});
	while (submitted < 65536) {
		for (unsigned i = 0; i < 256; i++, submitted++)
			submit(call_null(e.client, &o, PROC_NULL));
		cr_assert(drive(e.client, &o, submitted));
	}
	cr_assert_eq(o.failed, 0);
	e2e_close(&e);
}

/* ---- ends ------------------------------------------------------------------------------- */

static void cuts(enum mr_mode mode)
{
	struct outcome o = {0};
	struct mr_lease *put;
	struct e2e e;

	e2e_open(&e, &(struct variant){.slots = 32, .credits = 32, .mode = mode});
	cr_assert_eq(mr_lease_take(e.pool, MR_KIND_WRITE, 65536, &put, NULL), 0);
	for (unsigned round = 1; round <= 20; round++) {
		for (unsigned i = 0; i < 10; i++) {
			submit(call_put(e.client, &o, put, put->addr, 65536, 1));
			submit(call_null(e.client, &o, PROC_NULL));
		}
		cr_assert(drive(e.client, &o, round * 20 - 20 + round % 20));
		transport_client_break(e.client);
		cr_assert(drive(e.client, &o, round * 20));
	}
	cr_assert_eq(o.failed, 0, "%s", o.err.what);
	cr_assert_eq(o.wrong, 0);
	mr_lease_give(put);
	e2e_close(&e);
}

Test(rpcrdma_iwarp, cut_connections_are_made_again_and_lose_nothing)
{
	cuts(MR_MODE_POOL);
}

Test(rpcrdma_iwarp, cut_connections_lose_nothing_in_window_and_per_io_mode)
{
	cuts(MR_MODE_WINDOW);
	cuts(MR_MODE_PER_IO);
}

Test(rpcrdma_iwarp, a_server_that_comes_back_is_found_again)
{
	struct transport_server_params sp = {.fabric_iwarp = true};
	struct outcome o = {0};
	struct e2e e;
	uint16_t port;

	e2e_open(&e, &(struct variant){.slots = 32, .credits = 32});
	one(&e, call_null(e.client, &o, PROC_NULL), &o);
	port = e.server.port;
	server_stop(&e.server);
	submit(call_null(e.client, &o, PROC_NULL));
	transport_client_process(e.client);
	sp.rdma_port = port;
	server_start(&e.server, &sp);
	cr_assert(drive(e.client, &o, 2));
	cr_assert_eq(o.failed, 0, "%s", o.err.what);
	e2e_close(&e);
}

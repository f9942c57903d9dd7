/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends over the iwarp fabric on loopback: real MPA, DDP and RDMAP, two threads, real sockets.
 */
#include <arpa/inet.h>
#include <stdlib.h>

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
	every_way(&(struct variant){1, 1, 1024, 1024, FABRIC_CRC_AUTO, false});
}

Test(rpcrdma_iwarp, every_way_arrives_with_crc)
{
	every_way(&(struct variant){16, 8, 4096, 1024, FABRIC_CRC_ON, false});
}

Test(rpcrdma_iwarp, every_way_arrives_without_io_uring)
{
	every_way(&(struct variant){16, 128, 4096, 4096, FABRIC_CRC_AUTO, true});
}

/* ---- volume ----------------------------------------------------------------------------- */

/* Keep depth calls of each kind under way until n of all are done. */
static void volume(struct e2e *e, unsigned depth, unsigned n, size_t len)
{
	struct mr_lease *put[32], *get[32];
	struct outcome o = {0};
	unsigned submitted = 0;

	for (unsigned i = 0; i < depth; i++) {
		cr_assert_eq(mr_lease_take(e->pool, MR_KIND_WRITE, len, &put[i], NULL), 0);
		cr_assert_eq(mr_lease_take(e->pool, MR_KIND_READ, len, &get[i], NULL), 0);
	}
	while (submitted < n) {
		for (unsigned i = 0; i < depth; i++) {
			submit(call_put(e->client, &o, put[i], put[i]->addr, len, i));
			submit(call_get(e->client, &o, get[i], get[i]->addr, len, i));
			submit(call_null(e->client, &o, PROC_NULL));
			submitted += 3;
		}
		cr_assert(drive(e->client, &o, submitted));
		cr_assert_eq(o.failed, 0, "%s", o.err.what);
		cr_assert_eq(o.wrong, 0);
	}
	for (unsigned i = 0; i < depth; i++) {
		mr_lease_give(put[i]);
		mr_lease_give(get[i]);
	}
}

/* In the steady state nothing is registered and a call costs at most one doorbell. */
static void expect_steady(struct e2e *e, unsigned depth, size_t len)
{
	struct transport_counters before, after;
	struct mr_ledger_snapshot l0, l1;
	struct mr_ledger *ledgers[] = {transport_ctx_ledger(e->ctx),
				       transport_server_ledger(e->server.server)};
	uint64_t regs[2];

	volume(e, depth, 6 * depth, len);
	for (int i = 0; i < 2; i++) {
		mr_ledger_read(ledgers[i], &l0);
		regs[i] = l0.registrations;
	}
	transport_client_counters(e->client, &before);
	volume(e, depth, 300, len);
	transport_client_counters(e->client, &after);
	for (int i = 0; i < 2; i++) {
		mr_ledger_read(ledgers[i], &l1);
		cr_assert_eq(l1.registrations, regs[i]);
	}
	/* Read responses to a server that pulls are extra sends of the fabric's own. */
	cr_log_info("%lu rpcs, %lu doorbells", after.rpcs - before.rpcs,
		    after.doorbells - before.doorbells);
	cr_assert_leq(after.doorbells - before.doorbells, 2 * (after.rpcs - before.rpcs));
}

Test(rpcrdma_iwarp, many_calls_at_every_depth_are_right_and_register_nothing)
{
	static const unsigned depths[] = {1, 8, 32};
	static const size_t lens[] = {100, 5000, 262144};
	struct e2e e;

	e2e_open(&e, &(struct variant){.slots = 128, .credits = 128});
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++) {
			if (depths[i] * lens[k] <= 4 << 20)
				expect_steady(&e, depths[i], lens[k]);
		}
	}
	e2e_close(&e);
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

Test(rpcrdma_iwarp, cut_connections_are_made_again_and_lose_nothing)
{
	struct outcome o = {0};
	struct mr_lease *put;
	struct e2e e;

	e2e_open(&e, &(struct variant){.slots = 32, .credits = 32});
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

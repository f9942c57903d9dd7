/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends over the fake fabric: the requester link under the real core, the responder in a real
 * server, every way a call and its reply can travel.
 */
#include <stdlib.h>

#include "tests/rpcrdma/harness.h"

struct pair {
	struct server server;
	struct transport_ctx *ctx;
	struct transport_client *client;
	struct mr_pool *pool;
};

static void pair_open(struct pair *p, uint32_t slots, uint32_t credits, uint32_t client_inline,
		      uint32_t server_inline)
{
	struct transport_server_params sp = {.credits = credits, .inline_size = server_inline};
	struct transport_client_params cp;

	server_start(&p->server, &sp);
	cr_assert_eq(transport_ctx_create(&p->ctx, NULL), 0);
	client_params(&cp, p->server.port);
	cp.slots = slots;
	cp.inline_size = client_inline;
	p->client = client_open(p->ctx, p->server.port, &cp);
	p->pool = transport_client_pool(p->client);
}

static void pair_close(struct pair *p)
{
	transport_client_destroy(p->client);
	transport_ctx_put(p->ctx);
	server_stop(&p->server);
	fake_expect_clean(true);
}

static struct mr_lease *lease_take(struct pair *p, enum mr_kind kind, size_t len)
{
	struct util_err err = {0};
	struct mr_lease *lease;

	cr_assert_eq(mr_lease_take(p->pool, kind, len, &lease, &err), 0, "%s", err.what);
	return lease;
}

static void one(struct pair *p, struct transport_call *call, struct outcome *o)
{
	submit(call);
	cr_assert(drive(p->client, o, o->done + 1));
	cr_assert_eq(o->failed, 0, "%d %s", o->status, o->err.what);
	cr_assert_eq(o->wrong, 0);
}

/* Everything once, in sizes around every threshold. */
static void every_way(struct pair *p)
{
	static const size_t sizes[] = {1,    3,	   4,	 500,  900,  940,   944,   960,	   1000,
				       3900, 3950, 4000, 4050, 4096, 65536, 65537, 1 << 20};
	struct mr_lease *put = lease_take(p, MR_KIND_WRITE, 1 << 20);
	struct mr_lease *get = lease_take(p, MR_KIND_READ, 1 << 20);
	struct outcome o = {0};

	one(p, call_null(p->client, &o, PROC_NULL), &o);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = sizes[i];

		one(p, call_put(p->client, &o, put, put->addr, len, (uint32_t)i), &o);
		one(p, call_get(p->client, &o, get, get->addr, len, (uint32_t)i), &o);
		cr_assert_eq(o.received, len);
		one(p, call_long(p->client, &o, (uint32_t)len & ~3u, (uint32_t)i), &o);
		if (len <= 1200)
			one(p, call_text(p->client, &o, (uint32_t)len, (uint32_t)i), &o);
	}
	mr_lease_give(put);
	mr_lease_give(get);
}

Test(rpcrdma_pair, every_way_arrives_with_small_inline_and_one_credit)
{
	struct pair p;

	fake_reset(NULL);
	pair_open(&p, 1, 1, 1024, 1024);
	every_way(&p);
	pair_close(&p);
}

Test(rpcrdma_pair, every_way_arrives_with_usual_sizes)
{
	struct pair p;

	fake_reset(NULL);
	pair_open(&p, 128, 128, 4096, 4096);
	every_way(&p);
	pair_close(&p);
}

Test(rpcrdma_pair, inline_sizes_may_differ)
{
	struct pair p;

	fake_reset(NULL);
	pair_open(&p, 16, 8, 4096, 1024);
	every_way(&p);
	pair_close(&p);
	fake_reset(NULL);
	pair_open(&p, 16, 64, 1024, 65536);
	every_way(&p);
	pair_close(&p);
}

Test(rpcrdma_pair, a_device_with_small_limits_is_enough)
{
	struct fake_setup setup;
	struct pair p;

	fake_setup_default(&setup);
	setup.attr.max_sge = 1;
	setup.attr.max_send_wr = 64;
	setup.attr.max_recv_wr = 32;
	setup.attr.max_rd_atomic = 1;
	setup.attr.max_msg = 65536;
	setup.attr.max_inline = 200;
	fake_reset(&setup);
	pair_open(&p, 128, 128, 4096, 4096);
	every_way(&p);
	pair_close(&p);
}

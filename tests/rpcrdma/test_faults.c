/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults: every call into the fabric and the memory provider fails once, the n-th for every n;
 * links are cut at every message.  What is left behind afterwards is nothing.
 */
#include <stdlib.h>

#include "tests/rpcrdma/harness.h"

/* Everything that takes a different path once; calls may fail, but all come to an end. */
static void work(struct transport_client *client)
{
	struct mr_pool *pool = transport_client_pool(client);
	struct mr_lease *put = NULL, *get = NULL;
	struct outcome o = {0};
	unsigned n = 0;

	if (mr_lease_take(pool, MR_KIND_WRITE, 16384, &put, NULL) == 0) {
		submit(call_put(client, &o, put, put->addr, 9000, 1));
		n++;
	}
	if (mr_lease_take(pool, MR_KIND_READ, 16384, &get, NULL) == 0) {
		submit(call_get(client, &o, get, get->addr, 9000, 1));
		n++;
	}
	submit(call_null(client, &o, PROC_NULL));
	submit(call_long(client, &o, 6000, 1));
	submit(call_text(client, &o, 1200, 1));
	n += 3;
	cr_assert(drive(client, &o, n), "%u of %u calls done", o.done, n);
	cr_assert_eq(o.wrong, 0);
	mr_lease_give(put);
	mr_lease_give(get);
}

static void expect_empty(struct mr_ledger *ledger)
{
	struct mr_ledger_snapshot s;

	mr_ledger_read(ledger, &s);
	cr_assert_eq(s.leases_now, 0);
	cr_assert_eq(s.quarantined_now, 0);
	cr_assert_eq(s.bytes_registered_now, 0);
	cr_assert_eq(s.pages_charged_now, 0);
	cr_assert_eq(s.registrations, s.deregistrations);
	cr_assert_eq(s.windows_now, 0);
	cr_assert_eq(s.windows_bound,
		     s.invalidations_local + s.invalidations_remote + s.windows_dropped);
}

static void soft_params(struct transport_client_params *p, uint16_t port)
{
	client_params(p, port);
	p->slots = 8;
	p->inline_size = 1024;
	p->soft = true;
	p->timeo_ms = 300;
	p->retrans = 1;
	p->connect_timeout_ms = 2000;
}

/* One life of a client, with the n-th call failing; false: there was no n-th. */
static bool fail_one(uint16_t port, enum mr_mode mode, unsigned n, int err)
{
	struct transport_client_params params;
	struct transport_client *client;
	struct transport_ctx *ctx;
	struct util_err words = {0};
	bool reached;

	cr_assert_eq(transport_ctx_create(&ctx, NULL), 0);
	soft_params(&params, port);
	params.pool.mode = mode;
	fake_fail_nth(n, err);
	if (transport_client_create(&client, ctx, &params, &words) == 0) {
		work(client);
		transport_client_destroy(client);
	} else {
		cr_assert(fake_fail_reached(), "%s", words.what);
		cr_assert_neq(words.code, 0);
	}
	reached = fake_fail_reached();
	fake_fail_nth(0, 0);
	expect_empty(transport_ctx_ledger(ctx));
	transport_ctx_put(ctx);
	return reached;
}

static void fail_every(enum mr_mode mode, int err)
{
	struct transport_server_params sp = {.credits = 8, .inline_size = 1024};
	struct fake_setup setup;
	struct server server;
	unsigned n = 1;

	fake_setup_default(&setup);
	setup.max_windows = mode == MR_MODE_WINDOW ? 64 : 0;
	fake_reset(&setup);
	server_start(&server, &sp);
	while (fail_one(server.port, mode, n, err))
		n++;
	cr_assert_gt(n, 20);
	server_stop(&server);
	fake_expect_clean(true);
}

Test(rpcrdma_faults, every_call_into_the_fabric_may_fail)
{
	fail_every(MR_MODE_POOL, -EIO);
}

Test(rpcrdma_faults, every_call_into_the_fabric_may_run_out_of_memory)
{
	fail_every(MR_MODE_POOL, -ENOMEM);
}

/* Posts of binds and invalidations, windows, their keys. */
Test(rpcrdma_faults, every_call_into_the_fabric_may_fail_in_window_mode, .timeout = 60)
{
	fail_every(MR_MODE_WINDOW, -EIO);
	fail_every(MR_MODE_WINDOW, -ENOSPC);
}

Test(rpcrdma_faults, every_registration_for_a_call_may_fail)
{
	fail_every(MR_MODE_PER_IO, -ENOMEM);
	fail_every(MR_MODE_CACHE, -ENOMEM);
}

Test(rpcrdma_faults, a_server_that_cannot_listen_or_open_says_so)
{
	struct transport_service service = {0};
	struct transport_server_params sp = {.service = &service,
					     .threads = 1,
					     .tcp_port = -1,
					     .iwarp_port = -1,
					     .fabric_ops = &fake_fabric_ops};

	for (unsigned n = 1;; n++) {
		struct transport_server *server;
		struct util_err err = {0};
		bool reached;

		fake_reset(NULL);
		fake_fail_nth(n, -EIO);
		if (transport_server_create(&server, &sp, &err) == 0)
			transport_server_destroy(server);
		else
			cr_assert_neq(err.code, 0);
		reached = fake_fail_reached();
		fake_fail_nth(0, 0);
		fake_expect_clean(true);
		if (!reached)
			break;
	}
}

Test(rpcrdma_faults, a_link_cut_again_and_again_loses_no_call)
{
	struct transport_server_params sp = {.credits = 16};
	struct transport_client_params cp;
	struct transport_client *client;
	struct transport_ctx *ctx;
	struct mr_lease *put[8], *get[8];
	struct server server;
	struct outcome o = {0};
	unsigned submitted = 0;

	fake_reset(NULL);
	server_start(&server, &sp);
	cr_assert_eq(transport_ctx_create(&ctx, NULL), 0);
	client_params(&cp, server.port);
	client = client_open(ctx, server.port, &cp);
	for (int i = 0; i < 8; i++) {
		struct mr_pool *pool = transport_client_pool(client);

		cr_assert_eq(mr_lease_take(pool, MR_KIND_WRITE, 20000, &put[i], NULL), 0);
		cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 20000, &get[i], NULL), 0);
	}
	for (unsigned round = 0; round < 25; round++) {
		for (unsigned i = 0; i < 8; i++) {
			submit(call_put(client, &o, put[i], put[i]->addr, 20000, i + 1));
			submit(call_get(client, &o, get[i], get[i]->addr, 20000, i + 1));
			submit(call_long(client, &o, 6000, i));
			submitted += 3;
		}
		/* Cut when a part of them, another one each round, is done. */
		cr_assert(drive(client, &o, submitted - 24 + round % 24));
		fake_cut_all();
		cr_assert(drive(client, &o, submitted));
	}
	cr_assert_eq(o.failed, 0, "%s", o.err.what);
	cr_assert_eq(o.wrong, 0);
	for (int i = 0; i < 8; i++) {
		mr_lease_give(put[i]);
		mr_lease_give(get[i]);
	}
	transport_client_destroy(client);
	transport_ctx_put(ctx);
	server_stop(&server);
	fake_expect_clean(true);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the steady state may not do: allocate.  Client's and server's threads are counted alike. */
#include <criterion/criterion.h>

#include "tests/fake/alloc.h"
#include "tests/rpc/echo.h"

TestSuite(rpc_steady, .timeout = 60);

enum { DEPTH = 16, LEN = 256 << 10 };

static uint8_t bufs[DEPTH][LEN];

/* One round: DEPTH calls of each kind outstanding together. */
static void one_round(struct transport_client *client)
{
	static const size_t lens[] = {100, 4096, 65536, LEN};
	struct echo_wait wait = {0};
	unsigned n = 0;

	for (size_t l = 0; l < UTIL_ARRAY_SIZE(lens); l++) {
		for (unsigned i = 0; i < DEPTH; i++)
			transport_call_submit(echo_read(client, &wait, bufs[i], lens[l], i));
		cr_assert(echo_drive(client, &wait, n += DEPTH));
		for (unsigned i = 0; i < DEPTH; i++) {
			echo_fill(bufs[i], lens[l], i);
			transport_call_submit(echo_write(client, &wait, bufs[i], lens[l], i));
		}
		cr_assert(echo_drive(client, &wait, n += DEPTH));
	}
	cr_assert(!wait.bad && wait.failed == 0, "%s", wait.err.what);
}

Test(rpc_steady, neither_client_nor_server_allocates)
{
	struct transport_client *client;
	struct transport_ctx *ctx;
	struct util_err err = {0};
	struct echo echo;
	unsigned before = 0;

	cr_assert_eq(transport_ctx_create(&ctx, NULL), 0);
	echo_start(&echo, 1, NULL);
	cr_assert_eq(echo_connect(&client, ctx, transport_server_tcp_port(echo.server), NULL, &err),
		     0, "%s", err.what);
	cr_assert_geq(transport_client_fd(client), 0);
	cr_assert_gt(alloc_count(), 0, "the counter counts");
	/* How many buffers are out together depends on timing: the caches fill in a few rounds. */
	for (int i = 0; i < 20; i++) {
		before = alloc_count();
		for (int k = 0; k < 4; k++)
			one_round(client);
		if (alloc_count() == before)
			break;
	}
	cr_assert_eq(alloc_count(), before, "%u allocations", alloc_count() - before);
	transport_client_destroy(client);
	echo_stop(&echo);
	transport_ctx_put(ctx);
}

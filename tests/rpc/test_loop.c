/* SPDX-License-Identifier: BSD-2-Clause */
/* The requester and the responder together, over TCP on loopback. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/rpc/echo.h"

static struct transport_ctx *ctx;
static struct echo echo;
static struct transport_client *client;

static void start(void)
{
	struct util_err err = {0};

	cr_assert_eq(transport_ctx_create(&ctx, NULL), 0);
	echo_start(&echo, 2, NULL);
	cr_assert_eq(echo_connect(&client, ctx, transport_server_tcp_port(echo.server), NULL, &err),
		     0, "%s", err.what);
}

static void stop(void)
{
	transport_client_destroy(client);
	echo_stop(&echo);
	transport_ctx_put(ctx);
}

TestSuite(rpc_loop, .init = start, .fini = stop, .timeout = 30);

Test(rpc_loop, a_call_is_answered)
{
	struct echo_wait wait = {0};

	cr_assert_eq(transport_call_submit(echo_text(client, &wait, "hello")), 0);
	cr_assert_eq(transport_client_outstanding(client), 1);
	cr_assert(echo_drive(client, &wait, 1));
	cr_assert_eq(wait.failed, 0, "%s", wait.err.what);
	cr_assert(!wait.bad);
	cr_assert_eq(transport_client_outstanding(client), 0);
}

Test(rpc_loop, bulk_data_of_every_size_arrives_both_ways)
{
	static const size_t sizes[] = {0,    1,	    2,	   3,	  4,	 5,	 511,	  2000,
				       4096, 16383, 16384, 65535, 65536, 262144, 1000001, 1048576};
	uint8_t *buf = malloc(1 << 20);
	struct echo_wait wait = {0};
	unsigned n = 0;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(sizes); i++) {
		memset(buf, 0xee, 1 << 20);
		cr_assert_eq(
			transport_call_submit(echo_read(client, &wait, buf, sizes[i], (uint32_t)i)),
			0);
		cr_assert(echo_drive(client, &wait, ++n));
		cr_assert(!wait.bad && wait.failed == 0, "read of %zu: %s", sizes[i],
			  wait.err.what);
		echo_fill(buf, sizes[i], 77);
		cr_assert_eq(transport_call_submit(echo_write(client, &wait, buf, sizes[i], 77)),
			     0);
		cr_assert(echo_drive(client, &wait, ++n));
		cr_assert(!wait.bad && wait.failed == 0, "write of %zu: %s", sizes[i],
			  wait.err.what);
	}
	free(buf);
}

Test(rpc_loop, a_thousand_calls_are_outstanding_on_one_thread)
{
	enum { N = 1000, LEN = 4096 };
	uint8_t *buf = malloc((size_t)N * LEN);
	struct echo_wait wait = {0};

	for (unsigned i = 0; i < N; i++)
		cr_assert_eq(transport_call_submit(
				     echo_read(client, &wait, buf + (size_t)i * LEN, LEN, i)),
			     0);
	cr_assert_eq(transport_client_outstanding(client), N);
	cr_assert(echo_drive(client, &wait, N));
	cr_assert(!wait.bad && wait.failed == 0, "%s", wait.err.what);
	free(buf);
}

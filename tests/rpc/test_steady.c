/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the steady state may not do: allocate.  The binary is linked with --wrap for the allocator's
 * functions, so that every call out of our objects, client's and server's threads alike, is
 * counted.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/rpc/echo.h"

static atomic_uint allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
int __real_posix_memalign(void **p, size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_realloc(p, size);
}

int __wrap_posix_memalign(void **p, size_t align, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_posix_memalign(p, align, size);
}

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
	cr_assert_gt(allocations, 0, "the counter counts");
	/* How many buffers are out together depends on timing: the caches fill in a few rounds. */
	for (int i = 0; i < 20; i++) {
		before = allocations;
		for (int k = 0; k < 4; k++)
			one_round(client);
		if (allocations == before)
			break;
	}
	cr_assert_eq(allocations, before, "%u allocations", allocations - before);
	transport_client_destroy(client);
	echo_stop(&echo);
	transport_ctx_put(ctx);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect_check.c - many connections in a row, each used once.
 *
 *     connect_check ADDRESS PORT FABRIC COUNT
 *
 * Each connection is made, asked an NFSv3 NULL and closed, by FABRIC (verbs, iwarp).  One that gets
 * no answer within 10 s is stuck.  Prints TAP and the distribution of the times; what it looks for
 * is the peer that accepts and then does not hear the first message.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/transport.h"

#define STUCK_MS 10000
#define NFS_PROG 100003

struct outcome {
	bool done;
	int status;
};

static void on_done(struct transport_call *call)
{
	struct outcome *outcome = call->arg;

	outcome->done = true;
	outcome->status = call->status;
}

/* NULL: 0 or -errno. */
static int ask(struct transport_client *client)
{
	struct outcome outcome = {0};
	struct transport_call *call;
	int err = transport_call_get(client, NFS_PROG, 3, 0, NULL, &call);

	if (err)
		return err;
	call->done = on_done;
	call->arg = &outcome;
	call->deadline_ns = util_clock_ns() + STUCK_MS * UTIL_NS_PER_MS;
	err = transport_call_submit(call);
	while (!err && !outcome.done) {
		transport_client_wait(client, -1);
		transport_client_process(client);
	}
	transport_call_put(call);
	return err ? err : outcome.status;
}

static void print(const char *what, const struct util_hist *h)
{
	printf("# %s in ms: min %.2f, median %.2f, p95 %.2f, max %.2f\n", what,
	       (double)h->min / 1e6, (double)util_hist_quantile(h, 0.5) / 1e6,
	       (double)util_hist_quantile(h, 0.95) / 1e6, (double)h->max / 1e6);
}

int main(int argc, char **argv)
{
	struct transport_client_params params = {.proto = TRANSPORT_RDMA,
						 .pool.numa_node = -1,
						 .soft = true,
						 .connect_timeout_ms = STUCK_MS};
	struct sockaddr_in *sin = (struct sockaddr_in *)&params.addr;
	static struct util_hist connects, nulls;
	struct transport_ctx *ctx;
	struct transport_client *client, *first;
	struct util_err err = {0};
	unsigned count, good = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 5 || inet_pton(AF_INET, argv[1], &sin->sin_addr) != 1) {
		fprintf(stderr, "usage: connect_check ADDRESS PORT verbs|iwarp COUNT\n");
		return 2;
	}
	sin->sin_family = AF_INET;
	sin->sin_port = htons((uint16_t)atoi(argv[2]));
	params.addr_len = sizeof(*sin);
	snprintf(params.server, sizeof(params.server), "%s", argv[1]);
	params.fabric = strcmp(argv[3], "verbs") ? TRANSPORT_FABRIC_IWARP : TRANSPORT_FABRIC_VERBS;
	count = (unsigned)atoi(argv[4]);
	util_hist_init(&connects);
	util_hist_init(&nulls);
	/* The first one stays, so that device and pool are there once and what is timed is
	 * connecting. */
	if (transport_ctx_create(&ctx, NULL) ||
	    transport_client_create(&first, ctx, &params, &err)) {
		printf("Bail out! %s\n", err.what);
		return 1;
	}
	for (unsigned i = 0; i < count; i++) {
		uint64_t start_ns = util_clock_ns(), up_ns;
		int code = transport_client_create(&client, ctx, &params, &err);

		if (code) {
			printf("# connection %u: %s\n", i, err.what);
			continue;
		}
		up_ns = util_clock_ns();
		code = ask(client);
		if (code)
			printf("# connection %u: NULL: %s\n", i, strerror(-code));
		else
			good++;
		util_hist_add(&connects, up_ns - start_ns);
		util_hist_add(&nulls, util_clock_ns() - up_ns);
		transport_client_destroy(client);
	}
	transport_client_destroy(first);
	transport_ctx_put(ctx);
	print("connecting", &connects);
	print("the first answer", &nulls);
	printf("%sok 1 - %u connections in a row, none stuck\n1..1\n", good == count ? "" : "not ",
	       count);
	return good != count;
}

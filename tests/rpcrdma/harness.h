/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * harness.h - a small RPC program over RDMA and the two ends that speak it, for tests of the link
 * and the responder over the fake fabric (or another).
 */
#ifndef NFSRDMA_TESTS_RPCRDMA_HARNESS_H
#define NFSRDMA_TESTS_RPCRDMA_HARNESS_H

#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>

#include "tests/fake/fake.h"
#include "transport/rpc/link.h"
#include "transport/rpcrdma/header.h"
#include "transport/rpcrdma/private.h"
#include "transport/transport.h"
#include "wire/wire.h"

#define PROG UINT32_C(0x20000123)
#define PROG_VERS 1

enum {
	PROC_NULL,
	PROC_PUT,  /* seed, opaque data (eligible) -> 1 if it is what seed says, its length */
	PROC_GET,  /* len, seed -> 0, opaque data (eligible) */
	PROC_LONG, /* n, seed -> opaque of n bytes, not eligible */
	PROC_TEXT, /* seed, opaque, not eligible -> 1 if right, length */
	PROC_HOLD, /* as NULL, but answered when the test says so */
	PROC_NONE, /* status 5 where GET has 0 and data */
	PROC_DROP, /* never answered */
	PROC_BIG,  /* len, seed -> as GET, but the data is not eligible: a reply chunk or nothing */
};

void fill(void *p, size_t len, uint32_t seed);
bool check(const void *p, size_t len, uint32_t seed);

/* ---- server ----------------------------------------------------------------------------- */

struct server {
	struct transport_server *server;
	uint16_t port;
	_Atomic unsigned dispatched;
	_Atomic bool release;  /* HOLDs are answered when the next call comes after this is set */
	struct util_list held; /* the worker's */
};

/* One worker on the fake; params NULL or a template. */
void server_start(struct server *s, const struct transport_server_params *params);
void server_stop(struct server *s);

/* ---- client ----------------------------------------------------------------------------- */

/* Defaults for a client of port over the fake. */
void client_params(struct transport_client_params *p, uint16_t port);
struct transport_client *client_open(struct transport_ctx *ctx, uint16_t port,
				     const struct transport_client_params *params);

/* What became of calls. */
struct outcome {
	unsigned done, failed, wrong;
	int status; /* of the last one */
	size_t received;
	bool sunk, replayed;
	uint32_t results[4]; /* its first words */
	struct util_err err;
};

struct transport_call *call_null(struct transport_client *client, struct outcome *o, uint32_t proc);
/* data in lease (NULL: plain memory), len bytes from addr. */
struct transport_call *call_put(struct transport_client *client, struct outcome *o,
				struct mr_lease *lease, void *addr, size_t len, uint32_t seed);
struct transport_call *call_get(struct transport_client *client, struct outcome *o,
				struct mr_lease *lease, void *addr, size_t len, uint32_t seed);
struct transport_call *call_long(struct transport_client *client, struct outcome *o, uint32_t len,
				 uint32_t seed);
struct transport_call *call_text(struct transport_client *client, struct outcome *o, uint32_t len,
				 uint32_t seed);
void submit(struct transport_call *call);
/* Drive until n are done; false after ten seconds. */
bool drive(struct transport_client *client, const struct outcome *o, unsigned n);

#endif

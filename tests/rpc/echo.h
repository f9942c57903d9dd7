/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * echo.h - a little RPC program for the transport's tests, served by our own responder, and the
 * calls to it.
 */
#ifndef NFSRDMA_TESTS_RPC_ECHO_H
#define NFSRDMA_TESTS_RPC_ECHO_H

#include "transport/transport.h"

#define ECHO_PROG 0x20000099u
#define ECHO_VERS 1u

enum echo_proc {
	ECHO_NULL,
	ECHO_TEXT,  /* opaque -> the same opaque */
	ECHO_READ,  /* len, seed -> 0, len, data */
	ECHO_WRITE, /* seed, opaque data -> 1 when data is what the seed says, else 0 */
	ECHO_FAIL,  /* -> a status word 5 and nothing else, where READ would give data */
	ECHO_HOLD,  /* answered when the next call comes, after it */
};

struct echo {
	struct transport_server *server;
	struct transport_request *held; /* by the one worker */
	_Atomic unsigned dispatched;
};

/* Fill and check bulk data. */
void echo_fill(void *p, size_t len, uint32_t seed);
bool echo_check(const void *p, size_t len, uint32_t seed);

/* A server on loopback, threads workers, tcp only; params may be NULL. */
void echo_start(struct echo *echo, unsigned threads, const struct transport_server_params *params);
void echo_stop(struct echo *echo);

/* A client of it (or of whatever listens on that port), params may be NULL. */
int echo_connect(struct transport_client **clientp, struct transport_ctx *ctx, uint16_t port,
		 const struct transport_client_params *params, struct util_err *err);

/* find_data of READ. */
ssize_t echo_find_data(const uint8_t *results, size_t len, size_t *data_len);

/* A call ready to be submitted.  done() counts in *arg (struct echo_wait). */
struct echo_wait {
	unsigned done, failed;
	int status;	     /* of the last that failed */
	bool bad;	     /* an answer was wrong */
	struct util_err err; /* of the last that failed */
};
struct transport_call *echo_text(struct transport_client *client, struct echo_wait *wait,
				 const char *text);
struct transport_call *echo_read(struct transport_client *client, struct echo_wait *wait, void *buf,
				 size_t len, uint32_t seed);
struct transport_call *echo_write(struct transport_client *client, struct echo_wait *wait,
				  const void *buf, size_t len, uint32_t seed);
/* Drive until n calls are done or ten seconds have passed; true when done. */
bool echo_drive(struct transport_client *client, const struct echo_wait *wait, unsigned n);

#endif

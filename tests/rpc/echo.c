/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

#include "tests/rpc/echo.h"

void echo_fill(void *p, size_t len, uint32_t seed)
{
	uint8_t *b = p;

	for (size_t i = 0; i < len; i++)
		b[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

bool echo_check(const void *p, size_t len, uint32_t seed)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < len; i++)
		if (b[i] != (uint8_t)(seed + i * 7 + (i >> 8)))
			return false;
	return true;
}

/* ---- the service ------------------------------------------------------------------------ */

static void reply_system_error(struct transport_request *req)
{
	const struct wire_rpc_error error = {.stat = WIRE_SYSTEM_ERR};

	transport_request_reply_error(req, &error);
}

static void serve_text(struct transport_request *req)
{
	size_t len;
	const uint8_t *text = wire_get_opaque(&req->args, 1 << 20, &len);

	if (req->args.bad || transport_request_begin(req, len + 8)) {
		reply_system_error(req);
		return;
	}
	wire_put_opaque(&req->results, text, len);
	transport_request_reply(req);
}

static void serve_read(struct transport_request *req)
{
	uint32_t len = wire_get_u32(&req->args);
	uint32_t seed = wire_get_u32(&req->args);

	req->reply_data = transport_request_buffer(req, len);
	if (!req->reply_data || transport_request_begin(req, 8)) {
		reply_system_error(req);
		return;
	}
	echo_fill(req->reply_data, len, seed);
	req->reply_data_len = len;
	wire_put_u32(&req->results, 0);
	wire_put_u32(&req->results, len);
	req->reply_data_pos = wire_enc_len(&req->results);
	transport_request_reply(req);
}

static void serve_write(struct transport_request *req)
{
	uint32_t seed = wire_get_u32(&req->args);
	size_t len;
	const uint8_t *data = wire_get_opaque(&req->args, 1 << 22, &len);

	if (transport_request_begin(req, 4)) {
		reply_system_error(req);
		return;
	}
	wire_put_u32(&req->results, !req->args.bad && echo_check(data, len, seed));
	transport_request_reply(req);
}

static void answer_empty(struct transport_request *req)
{
	if (transport_request_begin(req, 4)) {
		reply_system_error(req);
		return;
	}
	if (req->call.proc == ECHO_FAIL)
		wire_put_u32(&req->results, 5);
	transport_request_reply(req);
}

static void dispatch(void *arg, struct transport_request *req)
{
	static const struct wire_rpc_error no_prog = {.stat = WIRE_PROG_UNAVAIL};
	static const struct wire_rpc_error no_proc = {.stat = WIRE_PROC_UNAVAIL};
	struct echo *echo = arg;
	struct transport_request *held = echo->held;

	echo->dispatched++;
	if (req->call.prog != ECHO_PROG) {
		transport_request_reply_error(req, &no_prog);
		return;
	}
	switch (req->call.proc) {
	case ECHO_NULL:
	case ECHO_FAIL:
		answer_empty(req);
		break;
	case ECHO_TEXT:
		serve_text(req);
		break;
	case ECHO_READ:
		serve_read(req);
		break;
	case ECHO_WRITE:
		serve_write(req);
		break;
	case ECHO_HOLD:
		if (!held) {
			echo->held = req;
			return;
		}
		answer_empty(req);
		break;
	default:
		transport_request_reply_error(req, &no_proc);
		break;
	}
	if (held) {
		echo->held = NULL;
		answer_empty(held);
	}
}

static void worker_stop(void *arg, struct transport_worker *worker)
{
	struct echo *echo = arg;

	if (echo->held && echo->held->worker == worker) {
		transport_request_drop(echo->held);
		echo->held = NULL;
	}
}

void echo_start(struct echo *echo, unsigned threads, const struct transport_server_params *params)
{
	const struct transport_service service = {
		.dispatch = dispatch, .worker_stop = worker_stop, .arg = echo};
	struct transport_server_params p = {.rdma_port = -1, .iwarp_port = -1};
	struct util_err err = {0};

	if (params)
		p = *params;
	memset(echo, 0, sizeof(*echo));
	p.service = &service;
	p.threads = threads;
	cr_assert_eq(transport_server_create(&echo->server, &p, &err), 0, "%s", err.what);
	cr_assert_eq(transport_server_start(echo->server), 0);
}

void echo_stop(struct echo *echo)
{
	transport_server_stop(echo->server);
	transport_server_destroy(echo->server);
}

/* ---- the client ------------------------------------------------------------------------- */

int echo_connect(struct transport_client **clientp, struct transport_ctx *ctx, uint16_t port,
		 const struct transport_client_params *params, struct util_err *err)
{
	struct transport_client_params p = {.proto = TRANSPORT_TCP, .pool = {.numa_node = -1}};
	struct sockaddr_in *addr = (struct sockaddr_in *)&p.addr;

	if (params)
		p = *params;
	addr->sin_family = AF_INET;
	addr->sin_port = htons(port);
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p.addr_len = sizeof(*addr);
	snprintf(p.server, sizeof(p.server), "echo");
	return transport_client_create(clientp, ctx, &p, err);
}

ssize_t echo_find_data(const uint8_t *results, size_t len, size_t *data_len)
{
	if (len < 4)
		return -EAGAIN;
	if (util_get_be32(results) != 0)
		return -ENODATA;
	if (len < 8)
		return -EAGAIN;
	*data_len = util_get_be32(results + 4);
	return 8;
}

static struct transport_call *call_get(struct transport_client *client, uint32_t proc,
				       struct echo_wait *wait,
				       void (*done)(struct transport_call *call))
{
	struct transport_call *call;

	cr_assert_eq(transport_call_get(client, ECHO_PROG, ECHO_VERS, proc, NULL, &call), 0);
	call->done = done;
	call->arg = wait;
	call->reply_max = 4096;
	return call;
}

static bool failed(struct transport_call *call)
{
	struct echo_wait *wait = call->arg;

	wait->done++;
	if (call->status == 0)
		return false;
	wait->failed++;
	wait->status = call->status;
	wait->err = call->err;
	return true;
}

static void text_done(struct transport_call *call)
{
	struct echo_wait *wait = call->arg;
	struct wire_dec args;
	const uint8_t *want, *got;
	size_t want_len, got_len;
	struct wire_rpc_error error;
	struct wire_rpc_call header;

	if (!failed(call)) {
		wire_dec_init(&args, call->msg, call->msg_len);
		cr_assert_eq(wire_rpc_call_decode(&args, &header, &error), 0);
		want = wire_get_opaque(&args, 4096, &want_len);
		got = wire_get_opaque(&call->results, 4096, &got_len);
		wait->bad |= call->results.bad || got_len != want_len ||
			     memcmp(got, want, want_len) != 0;
	}
	transport_call_put(call);
}

struct transport_call *echo_text(struct transport_client *client, struct echo_wait *wait,
				 const char *text)
{
	struct transport_call *call = call_get(client, ECHO_TEXT, wait, text_done);

	wire_put_opaque(&call->args, text, strlen(text));
	return call;
}

static void read_done(struct transport_call *call)
{
	struct echo_wait *wait = call->arg;
	size_t left = call->sink_len;
	uint32_t seed;
	uint8_t *p = call->sink[0].addr;

	if (!failed(call)) {
		seed = util_get_be32(call->msg + call->msg_len - 4);
		wait->bad |= !call->data_sunk || call->data_received != left ||
			     !echo_check(p, left, seed) || wire_get_u32(&call->results) != 0 ||
			     wire_get_u32(&call->results) != left || call->results.bad ||
			     wire_dec_left(&call->results) != 0;
	}
	transport_call_put(call);
}

struct transport_call *echo_read(struct transport_client *client, struct echo_wait *wait, void *buf,
				 size_t len, uint32_t seed)
{
	struct transport_call *call = call_get(client, ECHO_READ, wait, read_done);

	wire_put_u32(&call->args, (uint32_t)len);
	wire_put_u32(&call->args, seed);
	call->sink[0].addr = buf;
	call->sink[0].len = len;
	call->sink[0].lease = NULL;
	call->sink_nsegs = 1;
	call->sink_len = len;
	call->find_data = echo_find_data;
	return call;
}

static void write_done(struct transport_call *call)
{
	struct echo_wait *wait = call->arg;

	if (!failed(call))
		wait->bad |= wire_get_u32(&call->results) != 1 || call->results.bad;
	transport_call_put(call);
}

struct transport_call *echo_write(struct transport_client *client, struct echo_wait *wait,
				  const void *buf, size_t len, uint32_t seed)
{
	struct transport_call *call = call_get(client, ECHO_WRITE, wait, write_done);
	const struct transport_seg seg = {.addr = (void *)buf, .len = len};

	wire_put_u32(&call->args, seed);
	wire_put_u32(&call->args, (uint32_t)len);
	transport_call_data_here(call, &seg, 1, len);
	return call;
}

bool echo_drive(struct transport_client *client, const struct echo_wait *wait, unsigned n)
{
	uint64_t end_ns = util_clock_ns() + 10 * UTIL_NS_PER_S;

	while (wait->done < n && util_clock_ns() < end_ns) {
		transport_client_wait(client, 100);
		transport_client_process(client);
	}
	return wait->done == n;
}

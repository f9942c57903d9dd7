/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/rpcrdma/harness.h"

void fill(void *p, size_t len, uint32_t seed)
{
	uint8_t *b = p;

	for (size_t i = 0; i < len; i++)
		b[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

bool check(const void *p, size_t len, uint32_t seed)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < len; i++) {
		if (b[i] != (uint8_t)(seed * 31 + i * 7 + (i >> 8)))
			return false;
	}
	return true;
}

/* ---- the service ------------------------------------------------------------------------ */

static void refuse(struct transport_request *req, uint32_t stat)
{
	const struct wire_rpc_error error = {.stat = stat};

	transport_request_reply_error(req, &error);
}

static bool begin(struct transport_request *req, size_t max)
{
	if (transport_request_begin(req, max) == 0)
		return true;
	refuse(req, WIRE_SYSTEM_ERR);
	return false;
}

/* PUT and TEXT: is the data right? */
static void serve_put(struct transport_request *req)
{
	uint32_t seed = wire_get_u32(&req->args), len = 0;
	bool right;

	if (req->data) {
		len = wire_get_u32(&req->args);
		right = len == req->data_len && req->data_args_pos == 8 &&
			wire_dec_left(&req->args) == 0 && check(req->data, len, seed);
	} else {
		size_t n;
		const uint8_t *data = wire_get_opaque(&req->args, 1 << 24, &n);

		len = (uint32_t)n;
		right = data && check(data, n, seed);
	}
	if (!begin(req, 8))
		return;
	wire_put_u32(&req->results, right);
	wire_put_u32(&req->results, len);
	transport_request_reply(req);
}

static void serve_get(struct transport_request *req)
{
	uint32_t len = wire_get_u32(&req->args), seed = wire_get_u32(&req->args);
	void *data = transport_request_buffer(req, len);

	if (!data) {
		refuse(req, WIRE_SYSTEM_ERR);
		return;
	}
	if (!begin(req, 8))
		return;
	fill(data, len, seed);
	wire_put_u32(&req->results, 0);
	wire_put_u32(&req->results, len);
	req->reply_data = data;
	req->reply_data_len = len;
	req->reply_data_pos = wire_enc_len(&req->results);
	transport_request_reply(req);
}

static void serve_long(struct transport_request *req)
{
	uint32_t len = wire_get_u32(&req->args), seed = wire_get_u32(&req->args);
	uint8_t *p;

	if (!begin(req, 4 + len))
		return;
	wire_put_u32(&req->results, len);
	p = wire_put_space(&req->results, len);
	if (p)
		fill(p, len, seed);
	transport_request_reply(req);
}

static void serve_none(struct transport_request *req)
{
	if (!begin(req, 4))
		return;
	wire_put_u32(&req->results, 5);
	transport_request_reply(req);
}

static void serve_null(struct transport_request *req)
{
	if (begin(req, 0))
		transport_request_reply(req);
}

static void release_held(struct server *s)
{
	struct util_list *node;

	if (!s->release)
		return;
	while ((node = util_list_pop(&s->held)))
		serve_null(UTIL_LIST_ENTRY(node, struct transport_request, node));
}

static void dispatch(void *arg, struct transport_request *req)
{
	struct server *s = arg;

	s->dispatched++;
	switch (req->call.proc) {
	case PROC_NULL:
		serve_null(req);
		break;
	case PROC_PUT:
	case PROC_TEXT:
		serve_put(req);
		break;
	case PROC_GET:
		serve_get(req);
		break;
	case PROC_LONG:
		serve_long(req);
		break;
	case PROC_HOLD:
		util_list_add(&s->held, &req->node);
		break;
	case PROC_NONE:
		serve_none(req);
		break;
	case PROC_DROP:
		transport_request_drop(req);
		break;
	default:
		refuse(req, WIRE_PROC_UNAVAIL);
	}
	release_held(s);
}

static void worker_stop(void *arg, struct transport_worker *w)
{
	struct server *s = arg;
	struct util_list *node;

	(void)w;
	while ((node = util_list_pop(&s->held)))
		transport_request_drop(UTIL_LIST_ENTRY(node, struct transport_request, node));
}

void server_start(struct server *s, const struct transport_server_params *params)
{
	struct transport_server_params p = {0};
	struct transport_service service = {
		.dispatch = dispatch, .worker_stop = worker_stop, .arg = s};
	struct util_err err = {0};

	if (params)
		p = *params;
	p.service = &service;
	p.threads = 1;
	p.tcp_port = -1;
	p.iwarp_port = -1;
	if (!p.fabric_iwarp && !p.fabric_verbs)
		p.fabric_ops = &fake_fabric_ops;
	p.pool.numa_node = -1;
	p.pool.poison = true;
	if (p.pool.max_pinned == 0)
		p.pool.max_pinned = 32 << 20;
	memset(s, 0, sizeof(*s));
	util_list_init(&s->held);
	cr_assert_eq(transport_server_create(&s->server, &p, &err), 0, "%s", err.what);
	s->port = transport_server_rdma_port(s->server);
	cr_assert_eq(transport_server_start(s->server), 0);
}

void server_stop(struct server *s)
{
	transport_server_stop(s->server);
	transport_server_destroy(s->server);
}

/* ---- the client ------------------------------------------------------------------------- */

void client_params(struct transport_client_params *p, uint16_t port)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&p->addr;

	memset(p, 0, sizeof(*p));
	p->proto = TRANSPORT_RDMA;
	p->fabric_ops = &fake_fabric_ops;
	sin->sin_family = AF_INET;
	sin->sin_port = htons(port);
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->addr_len = sizeof(*sin);
	snprintf(p->server, sizeof(p->server), "testserver");
	p->pool.numa_node = -1;
	p->pool.poison = true;
	p->pool.max_pinned = 32 << 20;
}

struct transport_client *client_open(struct transport_ctx *ctx, uint16_t port,
				     const struct transport_client_params *params)
{
	struct transport_client_params p;
	struct transport_client *client;
	struct util_err err = {0};

	if (params)
		p = *params;
	else
		client_params(&p, port);
	cr_assert_eq(transport_client_create(&client, ctx, &p, &err), 0, "%s", err.what);
	return client;
}

static void note(struct transport_call *call)
{
	struct outcome *o = call->arg;

	o->done++;
	o->status = call->status;
	o->received = call->data_received;
	o->sunk = call->data_sunk;
	o->replayed = call->replayed;
	o->err = call->err;
	o->failed += call->status != 0;
}

static void done_words(struct transport_call *call)
{
	struct outcome *o = call->arg;

	note(call);
	for (int i = 0; i < 4; i++)
		o->results[i] = wire_get_u32(&call->results);
	transport_call_put(call);
}

/* PUT and TEXT must be right at the server. */
static void done_put(struct transport_call *call)
{
	struct outcome *o = call->arg;

	note(call);
	if (call->status == 0)
		o->wrong += wire_get_u32(&call->results) != 1;
	transport_call_put(call);
}

static void done_get(struct transport_call *call)
{
	struct outcome *o = call->arg;
	uint32_t status = wire_get_u32(&call->results), len = wire_get_u32(&call->results);

	note(call);
	if (call->status == 0 && status == 0)
		o->wrong += !call->data_sunk || len != call->data_received ||
			    wire_dec_left(&call->results) != 0 ||
			    !check(call->sink[0].addr, len, util_get_be32(call->msg + 44));
	transport_call_put(call);
}

static void done_long(struct transport_call *call)
{
	struct outcome *o = call->arg;
	size_t len;
	const uint8_t *data = wire_get_opaque(&call->results, 1 << 24, &len);

	note(call);
	if (call->status == 0)
		o->wrong += !data || len != util_get_be32(call->msg + 40) ||
			    !check(data, len, util_get_be32(call->msg + 44));
	transport_call_put(call);
}

static struct transport_call *get(struct transport_client *client, struct outcome *o, uint32_t proc,
				  void (*done)(struct transport_call *call))
{
	struct transport_call *call;

	cr_assert_eq(transport_call_get(client, PROG, PROG_VERS, proc, NULL, &call), 0);
	call->done = done;
	call->arg = o;
	call->reply_max = 16;
	return call;
}

struct transport_call *call_null(struct transport_client *client, struct outcome *o, uint32_t proc)
{
	return get(client, o, proc, done_words);
}

struct transport_call *call_put(struct transport_client *client, struct outcome *o,
				struct mr_lease *lease, void *addr, size_t len, uint32_t seed)
{
	struct transport_call *call = get(client, o, PROC_PUT, done_put);
	struct transport_seg seg = {.addr = addr, .len = len, .lease = lease};

	fill(addr, len, seed);
	wire_put_u32(&call->args, seed);
	wire_put_u32(&call->args, (uint32_t)len);
	transport_call_data_here(call, &seg, 1, len);
	return call;
}

/* The words of a READ's results up to the data. */
static ssize_t find_data(const uint8_t *results, size_t len, size_t *data_len)
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

struct transport_call *call_get(struct transport_client *client, struct outcome *o,
				struct mr_lease *lease, void *addr, size_t len, uint32_t seed)
{
	struct transport_call *call = get(client, o, PROC_GET, done_get);

	wire_put_u32(&call->args, (uint32_t)len);
	wire_put_u32(&call->args, seed);
	call->sink[0] = (struct transport_seg){.addr = addr, .len = len, .lease = lease};
	call->sink_nsegs = 1;
	call->sink_len = len;
	call->find_data = find_data;
	return call;
}

struct transport_call *call_long(struct transport_client *client, struct outcome *o, uint32_t len,
				 uint32_t seed)
{
	struct transport_call *call = get(client, o, PROC_LONG, done_long);

	wire_put_u32(&call->args, len);
	wire_put_u32(&call->args, seed);
	call->reply_max = 8 + len;
	return call;
}

struct transport_call *call_text(struct transport_client *client, struct outcome *o, uint32_t len,
				 uint32_t seed)
{
	struct transport_call *call = get(client, o, PROC_TEXT, done_put);
	uint8_t *p;

	wire_put_u32(&call->args, seed);
	wire_put_u32(&call->args, len);
	p = wire_put_space(&call->args, len + WIRE_PAD(len));
	cr_assert(p);
	memset(p, 0, len + WIRE_PAD(len));
	fill(p, len, seed);
	return call;
}

void submit(struct transport_call *call)
{
	cr_assert_eq(transport_call_submit(call), 0);
}

bool drive(struct transport_client *client, const struct outcome *o, unsigned n)
{
	uint64_t end_ns = util_clock_ns() + 10 * UTIL_NS_PER_S;

	while (o->done < n && util_clock_ns() < end_ns) {
		transport_client_wait(client, 100);
		transport_client_process(client);
	}
	return o->done >= n;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * request.c - a request between its link and the service.
 *
 * The link brings a whole call message; the RPC header is decoded here, and what is wrong with
 * it is answered here.  From dispatch to its answer a request is the service's; the answer goes
 * back through the operations of the link it came from.  A worker counts the requests its service
 * holds, so that a stopping server knows what is still to be answered.
 */
#include <errno.h>

#include "transport/rpc/worker.h"

static const struct transport_responder_ops *ops_of(const struct transport_request *req)
{
	return ((const struct transport_request_link *)req)->ops;
}

void transport_server_request(struct transport_worker *w, struct transport_request *req,
			      const uint8_t *msg, size_t len)
{
	const struct transport_service *service = &w->server->service;
	struct wire_rpc_error error;
	int err;

	req->worker = w;
	util_list_init(&req->node);
	w->inflight++;
	wire_dec_init(&req->args, msg, len);
	err = wire_rpc_call_decode(&req->args, &req->call, &error);
	if (err == -EPROTO)
		transport_request_reply_error(req, &error);
	else if (err || w->stopping)
		transport_request_drop(req);
	else
		service->dispatch(service->arg, req);
}

int transport_request_begin(struct transport_request *req, size_t max)
{
	return ops_of(req)->begin(req, max);
}

void *transport_request_buffer(struct transport_request *req, size_t len)
{
	return ops_of(req)->buffer(req, len);
}

void transport_request_reply(struct transport_request *req)
{
	const struct wire_rpc_error too_small = {.stat = WIRE_SYSTEM_ERR};

	req->worker->inflight--;
	/* The service promised transport_request_begin() less than it wrote. */
	if (req->results.overflow)
		ops_of(req)->reply_error(req, &too_small);
	else
		ops_of(req)->reply(req);
}

void transport_request_reply_error(struct transport_request *req,
				   const struct wire_rpc_error *error)
{
	req->worker->inflight--;
	ops_of(req)->reply_error(req, error);
}

void transport_request_drop(struct transport_request *req)
{
	req->worker->inflight--;
	ops_of(req)->drop(req);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * request.c - one call and its reply on the responder's side of TCP.
 *
 * A request object is reused with everything in it: short calls and short results need no other
 * memory.  Long calls (WRITE) are received into a cached buffer, long results and bulk data are
 *made in cached buffers and leave from there; nothing is copied together for sending.
 *
 *	record coming in -> dispatched (the service's) -> on conn->out -> left -> idle
 *
 * A connection may die while the service holds its requests.  Their answers then go nowhere; the
 * connection's object waits for the last of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/tcp/responder.h"

static const uint8_t zeros[4];

static struct tcp_request *request_of(struct transport_request *req)
{
	return (struct tcp_request *)req;
}

/* ---- get, put --------------------------------------------------------------------------- */

static const struct transport_responder_ops request_ops;

int tcp_request_get(struct tcp_conn *conn, size_t len, struct tcp_request **reqp)
{
	struct tcp_worker *tw = conn->tw;
	struct util_list *node = util_list_pop(&tw->idle_reqs);
	struct tcp_request *req;
	int err;

	req = node ? UTIL_LIST_ENTRY(node, struct tcp_request, node) : malloc(sizeof(*req));
	if (!req)
		return -ENOMEM;
	memset(req, 0, offsetof(struct tcp_request, small_msg));
	util_list_init(&req->node);
	req->rl.ops = &request_ops;
	req->conn = conn;
	req->msg = req->small_msg;
	req->msg_size = sizeof(req->small_msg);
	err = tcp_request_reserve(req, len);
	if (err) {
		util_list_push(&tw->idle_reqs, &req->node);
		return err;
	}
	*reqp = req;
	return 0;
}

int tcp_request_reserve(struct tcp_request *req, size_t len)
{
	struct tcp_cache *cache = &req->conn->tw->cache;
	struct tcp_buf buf;
	int err;

	if (len <= req->msg_size - req->msg_len)
		return 0;
	err = tcp_cache_take(cache, req->msg_len + len, &buf);
	if (err)
		return err;
	memcpy(buf.p, req->msg, req->msg_len);
	tcp_cache_give(cache, &req->msg_buf);
	req->msg_buf = buf;
	req->msg = buf.p;
	req->msg_size = buf.size;
	return 0;
}

void tcp_request_put(struct tcp_request *req)
{
	struct tcp_conn *conn = req->conn;
	struct tcp_worker *tw = conn->tw;

	tcp_cache_give(&tw->cache, &req->msg_buf);
	tcp_cache_give(&tw->cache, &req->results_buf);
	tcp_cache_give(&tw->cache, &req->data_buf);
	util_list_push(&tw->idle_reqs, &req->node);
}

void tcp_request_dispatch(struct tcp_request *req)
{
	struct transport_request *r = &req->rl.req;
	struct tcp_conn *conn = req->conn;

	r->peer = &conn->peer;
	r->reply_room = conn->tw->record_max;
	conn->inflight++;
	transport_server_request(conn->tw->worker, r, req->msg, req->msg_len);
}

/* ---- the reply -------------------------------------------------------------------------- */

static int request_begin(struct transport_request *r, size_t max)
{
	struct tcp_request *req = request_of(r);
	struct tcp_cache *cache = &req->conn->tw->cache;
	size_t len = WIRE_RPC_REPLY_LEN + max;
	struct tcp_buf buf;
	int err;

	if (max > r->reply_room)
		return -EMSGSIZE;
	if (len <= TCP_REQUEST_RESULTS) {
		req->frame = req->small_frame;
	} else {
		err = tcp_cache_take(cache, TCP_MARK_LEN + len, &buf);
		if (err)
			return err;
		tcp_cache_give(cache, &req->results_buf);
		req->results_buf = buf;
		req->frame = buf.p;
	}
	wire_enc_init(&r->results, req->frame + TCP_MARK_LEN, len);
	wire_rpc_reply_encode(&r->results, r->call.xid);
	return 0;
}

static void *request_buffer(struct transport_request *r, size_t len)
{
	struct tcp_request *req = request_of(r);
	struct tcp_cache *cache = &req->conn->tw->cache;

	tcp_cache_give(cache, &req->data_buf);
	if (len > req->conn->tw->data_max || tcp_cache_take(cache, len, &req->data_buf))
		return NULL;
	return req->data_buf.p;
}

static void done(struct tcp_request *req)
{
	struct tcp_conn *conn = req->conn;

	tcp_request_put(req);
	tcp_conn_request_gone(conn);
}

static void enqueue(struct tcp_request *req)
{
	struct tcp_conn *conn = req->conn;

	conn->inflight--;
	if (conn->fd < 0) {
		done(req);
		return;
	}
	/* What the call occupied is not needed for its reply. */
	tcp_cache_give(&conn->tw->cache, &req->msg_buf);
	util_put_be32(req->frame,
		      TCP_LAST_FRAGMENT | (uint32_t)(tcp_request_reply_len(req) - TCP_MARK_LEN));
	conn->out_bytes += tcp_request_reply_len(req);
	util_list_add(&conn->out, &req->node);
	tcp_conn_dirty(conn);
}

static void request_reply(struct transport_request *r)
{
	struct tcp_request *req = request_of(r);

	req->frame_len = TCP_MARK_LEN + wire_enc_len(&r->results);
	req->data_len = r->reply_data ? r->reply_data_len : 0;
	req->data_pos = req->data_len > 0 ? TCP_MARK_LEN + r->reply_data_pos : req->frame_len;
	enqueue(req);
}

static void request_reply_error(struct transport_request *r, const struct wire_rpc_error *error)
{
	struct tcp_request *req = request_of(r);
	struct wire_enc enc;

	req->frame = req->small_frame;
	wire_enc_init(&enc, req->frame + TCP_MARK_LEN, TCP_REQUEST_RESULTS);
	wire_rpc_error_encode(&enc, r->call.xid, error);
	req->frame_len = req->data_pos = TCP_MARK_LEN + wire_enc_len(&enc);
	req->data_len = 0;
	enqueue(req);
}

static void request_drop(struct transport_request *r)
{
	struct tcp_request *req = request_of(r);

	req->conn->inflight--;
	done(req);
}

static const struct transport_responder_ops request_ops = {
	.begin = request_begin,
	.buffer = request_buffer,
	.reply = request_reply,
	.reply_error = request_reply_error,
	.drop = request_drop,
};

/* ---- its bytes -------------------------------------------------------------------------- */

size_t tcp_request_reply_len(const struct tcp_request *req)
{
	return req->frame_len + req->data_len + WIRE_PAD(req->data_len);
}

int tcp_request_iov(const struct tcp_request *req, size_t skip, struct iovec *iov)
{
	const struct iovec pieces[TCP_REPLY_IOVS] = {
		{req->frame, req->data_pos},
		{req->rl.req.reply_data, req->data_len},
		{(void *)zeros, WIRE_PAD(req->data_len)},
		{req->frame + req->data_pos, req->frame_len - req->data_pos},
	};
	int n = 0;

	for (int i = 0; i < TCP_REPLY_IOVS; i++) {
		size_t len = pieces[i].iov_len;

		if (skip >= len) {
			skip -= len;
			continue;
		}
		iov[n].iov_base = (uint8_t *)pieces[i].iov_base + skip;
		iov[n].iov_len = len - skip;
		skip = 0;
		n++;
	}
	return n;
}

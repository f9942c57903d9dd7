/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder.c - NFS over TCP, responder: connections.
 *
 * Normal operation.  When a connection is readable, one recvmsg() takes what is there: the rest of
 * a record that is coming in goes straight to its request, and what follows to the connection's
 * stage, out of which further records are taken.  Each whole record is dispatched; replies may come
 * at once or later and in any order, and all that have come leave by one sendmsg(): after each
 * receive, and before the worker sleeps.
 *
 * Fairness.  A connection gets a few receives per round, then it is the others' turn; epoll is
 * level-triggered, so nothing is forgotten.
 *
 * Back-pressure.  A connection that has as many requests in flight as it has credits, or
 * whose replies pile up because its peer does not read them, is not read from until that has
 * changed.  What it has already sent waits in the kernel, and so, in the end, does the peer.
 *
 * Bounds.  A record longer than the longest WRITE ends the connection, as do a record that is not
 * complete after half a minute, and replies that nobody takes for a minute.  A connection without
 * requests is closed after ten minutes; clients connect again when they have something to say.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp/responder.h"

#define STAGE_SIZE 16384
/* Behind a large record the next head is read ahead, not the next data: it would be copied. */
#define STAGE_HEAD 1024
#define LARGE_RECORD 16384
/* recvmsg() calls per connection and round */
#define ROUNDS 4
#define BATCH_IOVS 128
/* What may surround the largest bulk data in a call: RPC header with its longest credential and
 * verifier (2 * 400 bytes), two handles, attributes; generous. */
#define RECORD_AROUND 8192
#define CHECK_NS (5 * UTIL_NS_PER_S)
#define RECORD_TIMEOUT_NS (30 * UTIL_NS_PER_S)
#define REPLY_TIMEOUT_NS (60 * UTIL_NS_PER_S)
#define IDLE_TIMEOUT_NS (600 * UTIL_NS_PER_S)

/* ---- ends ------------------------------------------------------------------------------- */

static void conn_free(struct tcp_conn *conn)
{
	util_list_del(&conn->node);
	util_list_del(&conn->dirty_node);
	tcp_stream_free(&conn->in);
	free(conn);
}

/* The descriptor is closed now; the object goes when the service has given all requests back. */
static void conn_close(struct tcp_conn *conn, const char *why)
{
	struct tcp_worker *tw = conn->tw;
	struct util_list *node;

	if (conn->fd < 0)
		return;
	util_log(transport_worker_params(tw->worker)->log, UTIL_LOG_DEBUG,
		 "tcp connection closed: %s", why);
	transport_worker_unwatch(tw->worker, conn->fd);
	close(conn->fd);
	conn->fd = -1;
	if (conn->req)
		tcp_request_put(conn->req);
	conn->req = NULL;
	while ((node = util_list_pop(&conn->out)))
		tcp_request_put(UTIL_LIST_ENTRY(node, struct tcp_request, node));
	util_list_del(&conn->dirty_node);
	util_list_del(&conn->node);
	util_list_add(&tw->lingering, &conn->node);
	transport_worker_conn_closed(tw->worker);
}

void tcp_conn_request_gone(struct tcp_conn *conn)
{
	/* Somebody up the stack may still use conn: the sweep before sleeping frees it. */
	if (conn->fd >= 0)
		tcp_conn_dirty(conn);
}

static void sweep_lingering(struct tcp_worker *tw)
{
	UTIL_LIST_FOR_EACH_SAFE (node, &tw->lingering) {
		struct tcp_conn *conn = UTIL_LIST_ENTRY(node, struct tcp_conn, node);

		if (conn->inflight == 0)
			conn_free(conn);
	}
}

void tcp_conn_dirty(struct tcp_conn *conn)
{
	if (util_list_empty(&conn->dirty_node))
		util_list_add(&conn->tw->dirty, &conn->dirty_node);
}

/* ---- sending ---------------------------------------------------------------------------- */

struct out_batch {
	struct iovec iov[BATCH_IOVS];
	int niov;
};

static void batch_fill(struct out_batch *batch, const struct tcp_conn *conn)
{
	size_t skip = conn->out_off;

	batch->niov = 0;
	UTIL_LIST_FOR_EACH (node, &conn->out) {
		if (batch->niov + TCP_REPLY_IOVS > BATCH_IOVS)
			break;
		batch->niov += tcp_request_iov(UTIL_LIST_ENTRY(node, struct tcp_request, node),
					       skip, batch->iov + batch->niov);
		skip = 0;
	}
}

static void out_left(struct tcp_conn *conn, size_t n)
{
	n += conn->out_off;
	while (!util_list_empty(&conn->out)) {
		struct tcp_request *req = UTIL_LIST_ENTRY(conn->out.next, struct tcp_request, node);
		size_t len = tcp_request_reply_len(req);

		if (n < len)
			break;
		n -= len;
		conn->out_bytes -= len;
		util_list_del(&req->node);
		tcp_request_put(req);
	}
	conn->out_off = n;
}

/* All replies that are there.  -errno: the connection is broken. */
static int conn_flush(struct tcp_conn *conn)
{
	struct out_batch batch;

	while (!conn->blocked && !util_list_empty(&conn->out)) {
		struct msghdr msg = {.msg_iov = batch.iov};
		ssize_t n;

		batch_fill(&batch, conn);
		msg.msg_iovlen = (size_t)batch.niov;
		n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n < 0) {
			conn->blocked = true;
			break;
		}
		conn->active_ns = util_clock_ns();
		out_left(conn, (size_t)n);
	}
	return 0;
}

/* ---- receiving -------------------------------------------------------------------------- */

static bool too_much_in_hand(const struct tcp_conn *conn)
{
	const struct transport_server_params *params = transport_worker_params(conn->tw->worker);

	return conn->inflight >= params->credits || conn->out_bytes > 2 * conn->tw->record_max;
}

/* n bytes of the current record lie at p; *usedp says how many were taken. */
static int take_piece(struct tcp_conn *conn, const uint8_t *p, size_t n)
{
	struct tcp_stream *in = &conn->in;
	size_t rest = in->frag_left;
	int err;

	if (in->record_len > conn->tw->record_max)
		return -EMSGSIZE;
	if (!conn->req)
		err = tcp_request_get(conn, rest, &conn->req);
	else
		err = tcp_request_reserve(conn->req, rest);
	if (err)
		return err;
	memcpy(conn->req->msg + conn->req->msg_len, p, n);
	conn->req->msg_len += n;
	return 0;
}

static void record_ended(struct tcp_conn *conn)
{
	struct tcp_request *req = conn->req;

	conn->req = NULL;
	conn->record_ns = 0;
	conn->large = conn->in.record_len >= LARGE_RECORD;
	tcp_stream_end(&conn->in);
	if (req) /* else an empty record: nothing to answer */
		tcp_request_dispatch(req);
}

/* Take records out of the stage.  The service may answer from within. */
static int consume(struct tcp_conn *conn)
{
	struct tcp_stream *in = &conn->in;
	const uint8_t *p;
	size_t n;
	int err;

	for (;;) {
		conn->paused = !in->inside && too_much_in_hand(conn);
		if (conn->paused)
			return 0;
		n = tcp_stream_next(in, &p);
		if (tcp_stream_ended(in)) {
			record_ended(conn);
			continue;
		}
		if (n == 0)
			break;
		err = take_piece(conn, p, n);
		if (err)
			return err;
		tcp_stream_consume(in, n);
	}
	if (in->inside && in->record_len > conn->tw->record_max)
		return -EMSGSIZE;
	if ((in->inside || in->end > in->start) && conn->record_ns == 0)
		conn->record_ns = util_clock_ns();
	return 0;
}

/* The rest of the fragment straight into the request, where there is one. */
static int direct_place(const struct tcp_conn *conn, struct iovec *iov)
{
	const struct tcp_request *req = conn->req;

	if (!req || conn->in.frag_left == 0 || conn->in.frag_left > req->msg_size - req->msg_len)
		return 0;
	iov->iov_base = req->msg + req->msg_len;
	iov->iov_len = conn->in.frag_left;
	return 1;
}

/* 1: there may be more; 0: empty, or enough for now; -errno: the connection is to be closed. */
static int receive_once(struct tcp_conn *conn)
{
	struct tcp_fill fill = {0};
	struct iovec direct;
	int ndirect = direct_place(conn, &direct);
	bool ahead = !conn->large && conn->in.record_len < LARGE_RECORD;
	int code;

	code = tcp_stream_fill(&conn->in, conn->fd, &direct, ndirect,
			       ahead ? STAGE_SIZE : STAGE_HEAD, &fill);
	if (code == -EAGAIN || code == -ENOBUFS)
		return 0;
	if (code <= 0)
		return code ? code : -ECONNRESET;
	conn->active_ns = util_clock_ns();
	if (conn->req)
		conn->req->msg_len += fill.direct;
	code = consume(conn);
	if (code)
		return code;
	code = conn_flush(conn);
	if (code)
		return code;
	return !fill.drained;
}

/* What paused is gone on with as soon as there is room. */
static int resume(struct tcp_conn *conn)
{
	int err = 0;

	while (err == 0 && conn->paused && !too_much_in_hand(conn)) {
		err = consume(conn);
		if (!err)
			err = conn_flush(conn);
	}
	return err;
}

static void conn_ready(void *arg, uint32_t events);

/* Watch for what can be done next. */
static void conn_watch(struct tcp_conn *conn)
{
	uint32_t events = (conn->paused ? 0 : EPOLLIN) | (conn->blocked ? EPOLLOUT : 0);

	if (events == conn->events)
		return;
	if (transport_worker_watch_events(conn->tw->worker, conn->fd, events, conn_ready, conn))
		conn_close(conn, "cannot be watched");
	else
		conn->events = events;
}

static void conn_ready(void *arg, uint32_t events)
{
	struct tcp_conn *conn = arg;
	int more = 1;
	int err = 0;

	/* Dead in both directions: told again and again until the descriptor is closed. */
	if (events & (EPOLLERR | EPOLLHUP)) {
		conn_close(conn, "the peer reset it");
		return;
	}
	if (events & EPOLLOUT) {
		conn->blocked = false;
		err = conn_flush(conn);
	}
	if (!err)
		err = resume(conn);
	for (int round = 0; !err && more == 1 && round < ROUNDS && !conn->paused; round++) {
		more = receive_once(conn);
		err = more < 0 ? more : resume(conn);
	}
	if (err)
		conn_close(conn, strerror(-err));
	else
		conn_watch(conn);
}

/* ---- per worker ------------------------------------------------------------------------- */

/* Before the worker sleeps: replies that came from elsewhere leave, pauses end. */
static void worker_sweep(void *arg)
{
	struct tcp_worker *tw = arg;
	struct util_list *node;

	while ((node = util_list_pop(&tw->dirty))) {
		struct tcp_conn *conn = UTIL_LIST_ENTRY(node, struct tcp_conn, dirty_node);
		int err = conn_flush(conn);

		if (!err)
			err = resume(conn);
		if (err)
			conn_close(conn, strerror(-err));
		else
			conn_watch(conn);
	}
	sweep_lingering(tw);
}

static uint64_t worker_deadline(void *arg)
{
	return ((struct tcp_worker *)arg)->check_ns;
}

static const char *overdue(const struct tcp_conn *conn, uint64_t now_ns)
{
	if (conn->record_ns && !conn->paused && now_ns - conn->record_ns > RECORD_TIMEOUT_NS)
		return "a call did not become complete in time";
	if (conn->blocked && now_ns - conn->active_ns > REPLY_TIMEOUT_NS)
		return "the peer does not take its replies";
	if (conn->inflight == 0 && util_list_empty(&conn->out) &&
	    now_ns - conn->active_ns > IDLE_TIMEOUT_NS)
		return "idle";
	return NULL;
}

static void worker_check(void *arg)
{
	struct tcp_worker *tw = arg;
	uint64_t now_ns = util_clock_ns();

	UTIL_LIST_FOR_EACH_SAFE (node, &tw->conns) {
		struct tcp_conn *conn = UTIL_LIST_ENTRY(node, struct tcp_conn, node);
		const char *why = overdue(conn, now_ns);

		if (why)
			conn_close(conn, why);
	}
	tw->check_ns = util_list_empty(&tw->conns) ? 0 : now_ns + CHECK_NS;
}

static struct tcp_worker *worker_create(struct transport_worker *w)
{
	const struct transport_server_params *params = transport_worker_params(w);
	struct tcp_worker *tw = calloc(1, sizeof(*tw));

	if (!tw)
		return NULL;
	tw->worker = w;
	tw->data_max = params->max_data;
	tw->record_max = params->max_data + RECORD_AROUND;
	tcp_cache_init(&tw->cache, tw->record_max + TCP_MARK_LEN + WIRE_RPC_REPLY_LEN);
	util_list_init(&tw->conns);
	util_list_init(&tw->dirty);
	util_list_init(&tw->idle_reqs);
	util_list_init(&tw->lingering);
	return tw;
}

/* The worker's state, made and hooked into its loop with its first connection. */
static int worker_get(struct transport_worker *w, struct tcp_worker **twp)
{
	struct tcp_worker *tw = *transport_worker_link_slot(w, 0);
	int err;

	if (!tw)
		tw = worker_create(w);
	if (!tw)
		return -ENOMEM;
	*transport_worker_link_slot(w, 0) = tw;
	if (!tw->hooked) {
		err = transport_worker_before_sleep(w, worker_sweep, tw);
		if (err)
			return err;
		tw->hooked = true;
	}
	if (!tw->timed) {
		err = transport_worker_timer(w, worker_deadline, worker_check, tw);
		if (err)
			return err;
		tw->timed = true;
	}
	*twp = tw;
	return 0;
}

static int conn_create(struct tcp_worker *tw, int fd, const struct sockaddr_storage *peer)
{
	struct tcp_conn *conn = calloc(1, sizeof(*conn));
	int err;

	if (!conn)
		return -ENOMEM;
	err = tcp_stream_init(&conn->in, STAGE_SIZE);
	if (err)
		goto err_free;
	err = transport_worker_watch_events(tw->worker, fd, EPOLLIN, conn_ready, conn);
	if (err)
		goto err_stream;
	conn->tw = tw;
	conn->fd = fd;
	conn->peer = *peer;
	conn->events = EPOLLIN;
	conn->active_ns = util_clock_ns();
	util_list_init(&conn->dirty_node);
	util_list_init(&conn->out);
	util_list_add(&tw->conns, &conn->node);
	if (!tw->check_ns)
		tw->check_ns = conn->active_ns + CHECK_NS;
	return 0;

err_stream:
	tcp_stream_free(&conn->in);
err_free:
	free(conn);
	return err;
}

int tcp_responder_adopt(struct transport_worker *w, int fd, const struct sockaddr_storage *peer)
{
	struct tcp_worker *tw;
	int err = worker_get(w, &tw);

	if (!err)
		err = conn_create(tw, fd, peer);
	if (err) {
		util_log(transport_worker_params(w)->log, UTIL_LOG_ERROR, "tcp connection: %s",
			 strerror(-err));
		close(fd);
		transport_worker_conn_closed(w);
	}
	return err;
}

bool tcp_responder_busy(struct transport_worker *w)
{
	struct tcp_worker *tw = *transport_worker_link_slot(w, 0);

	if (!tw)
		return false;
	UTIL_LIST_FOR_EACH (node, &tw->conns)
		if (!util_list_empty(&UTIL_LIST_ENTRY(node, struct tcp_conn, node)->out))
			return true;
	return false;
}

void tcp_responder_stop(struct transport_worker *w)
{
	struct tcp_worker *tw = *transport_worker_link_slot(w, 0);
	struct util_list *node;

	if (!tw)
		return;
	worker_sweep(tw);
	UTIL_LIST_FOR_EACH_SAFE (pos, &tw->conns)
		conn_close(UTIL_LIST_ENTRY(pos, struct tcp_conn, node), "the server stops");
	sweep_lingering(tw);
	/* A request the service never gave back keeps what it refers to. */
	if (!util_list_empty(&tw->lingering))
		return;
	while ((node = util_list_pop(&tw->idle_reqs)))
		free(UTIL_LIST_ENTRY(node, struct tcp_request, node));
	tcp_cache_free(&tw->cache);
	*transport_worker_link_slot(w, 0) = NULL;
	free(tw);
}

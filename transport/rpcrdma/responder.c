/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder.c - the RPC-over-RDMA side of a server's worker (RFC 8166).
 *
 * Normal operation.  A worker has one completion queue for each device its connections came in on
 * (and another when that is full).  The worker's loop calls us when a queue's descriptor is
 * readable; we take completions until there are none, arm the queue and return.  A receive becomes
 * a call (responder_recv.c), perhaps after its chunks were pulled (responder_read.c); the service's
 * answer is posted from wherever it gives it (responder_send.c).
 *
 * Small replies to what one visit finds share their doorbells (FABRIC_WR_MORE): the queue is polled
 * until it is empty before it is armed.
 *
 * Fairness.  Completions of all connections of a queue come interleaved, and one visit takes a
 * bounded number of them, so that neither a busy client nor a busy queue holds the worker.  If
 * there may be more, the worker's timer brings us back at once.
 *
 * The end of a connection comes as DISCONNECTED behind all its completions; see responder_conn.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rpcrdma/responder.h"

#define POLL_BATCH 32
#define POLL_ROUNDS 8
/* Completions one queue has room for; more connections get another queue. */
#define CQ_DEPTH 16384
/* How soon calls that starve for pool memory are tried again: other workers use the same pool. */
#define STARVED_RETRY_NS (5 * UTIL_NS_PER_MS)

struct rpcrdma_worker {
	struct transport_worker *worker;
	struct util_list scqs;
};

struct transport_worker *rpcrdma_scq_worker(const struct rpcrdma_scq *scq)
{
	return scq->worker->worker;
}

/* ---- completions ------------------------------------------------------------------------ */

static void on_send(struct rpcrdma_conn *conn, const struct fabric_wc *wc)
{
	void *owner;

	while (rpcrdma_sendq_retire(&conn->sendq, wc->wr_id, &owner)) {
		struct rpcrdma_posted *posted = owner;

		if (posted->reader) {
			/* Failed reads have no data; the connection's end releases the call. */
			if (wc->status == FABRIC_WC_OK)
				rpcrdma_sreq_reads_done(posted->reader);
			continue;
		}
		mr_lease_give(posted->lease[0]);
		mr_lease_give(posted->lease[1]);
		posted->lease[0] = posted->lease[1] = NULL;
		conn->sends.free[conn->sends.nfree++] = posted->buffer;
	}
	rpcrdma_conn_serve_waiting(conn);
}

static void log_error(const struct rpcrdma_conn *conn, const struct fabric_wc *wc)
{
	if (wc->status == FABRIC_WC_FLUSHED)
		return;
	util_log(transport_worker_params(rpcrdma_scq_worker(conn->scq))->log, UTIL_LOG_INFO,
		 "client's connection: %s: %s", fabric_wc_status_name(wc->status),
		 fabric_wc_status_hint(wc->status));
}

static void on_disconnected(struct rpcrdma_conn *conn)
{
	struct transport_worker *worker = rpcrdma_scq_worker(conn->scq);

	rpcrdma_conn_gone(conn);
	transport_worker_conn_closed(worker);
}

static void on_completion(const struct fabric_wc *wc)
{
	struct rpcrdma_conn *conn = wc->conn->context;

	switch (wc->type) {
	case FABRIC_WC_RECV:
		if (wc->status == FABRIC_WC_OK)
			rpcrdma_responder_receive(conn, (uint32_t)wc->wr_id, wc->byte_len);
		else
			log_error(conn, wc);
		rpcrdma_conn_refill(conn);
		break;
	case FABRIC_WC_SEND:
		if (wc->status != FABRIC_WC_OK)
			log_error(conn, wc);
		on_send(conn, wc);
		break;
	case FABRIC_EV_ESTABLISHED:
		break;
	case FABRIC_EV_DISCONNECTED:
		on_disconnected(conn);
		break;
	}
}

/* Take what there is, up to the bound.  Returns false when the queue ran dry and is armed. */
static bool poll_some(struct rpcrdma_scq *scq)
{
	struct fabric_wc wc[POLL_BATCH];

	for (int round = 0; round < POLL_ROUNDS; round++) {
		int n = scq->ops->cq_poll(scq->cq, wc, POLL_BATCH);

		for (int i = 0; i < n; i++)
			on_completion(&wc[i]);
		if (n > 0)
			continue;
		scq->touched = false;
		if (scq->ops->cq_arm(scq->cq) == 0)
			return false;
	}
	return true;
}

static void scq_run(void *arg)
{
	struct rpcrdma_scq *scq = arg;

	scq->more = poll_some(scq);
	if (util_list_empty(&scq->starved))
		return;
	rpcrdma_scq_feed_starved(scq);
	scq->retry_ns = util_clock_ns() + STARVED_RETRY_NS;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	if (a_ns == 0 || b_ns == 0)
		return a_ns ? a_ns : b_ns;
	return a_ns < b_ns ? a_ns : b_ns;
}

/*
 * Asked last before the worker sleeps.  Replies are posted from other places than scq_run() too (a
 * file operation that ended), and a fabric may take completions in while it posts: its descriptor
 * stays silent about those, so the queue is armed once more here.
 */
static uint64_t scq_deadline(struct rpcrdma_scq *scq)
{
	if (scq->touched)
		scq->more = scq->more || scq->ops->cq_arm(scq->cq) != 0;
	scq->touched = false;
	if (scq->more)
		return 1; /* long ago: now */
	return earlier(scq->ops->cq_deadline(scq->cq),
		       util_list_empty(&scq->starved) ? 0 : scq->retry_ns);
}

static uint64_t worker_deadline(void *arg)
{
	struct rpcrdma_worker *rw = arg;
	uint64_t at_ns = 0;

	UTIL_LIST_FOR_EACH (node, &rw->scqs)
		at_ns = earlier(at_ns,
				scq_deadline(UTIL_LIST_ENTRY(node, struct rpcrdma_scq, node)));
	return at_ns;
}

static void worker_fire(void *arg)
{
	struct rpcrdma_worker *rw = arg;
	uint64_t now_ns = util_clock_ns();

	UTIL_LIST_FOR_EACH (node, &rw->scqs) {
		struct rpcrdma_scq *scq = UTIL_LIST_ENTRY(node, struct rpcrdma_scq, node);
		uint64_t at_ns = scq_deadline(scq);

		if (at_ns && at_ns <= now_ns)
			scq_run(scq);
	}
}

/* ---- queues of a worker ----------------------------------------------------------------- */

static int worker_get(struct transport_worker *w, struct rpcrdma_worker **rwp)
{
	void **slot = transport_worker_link_slot(w, 1);
	struct rpcrdma_worker *rw = *slot;
	int err;

	if (rw) {
		*rwp = rw;
		return 0;
	}
	rw = calloc(1, sizeof(*rw));
	if (!rw)
		return -ENOMEM;
	rw->worker = w;
	util_list_init(&rw->scqs);
	err = transport_worker_timer(w, worker_deadline, worker_fire, rw);
	if (err) {
		free(rw);
		return err;
	}
	*slot = *rwp = rw;
	return 0;
}

static int scq_create(struct rpcrdma_worker *rw, const struct fabric_ops *ops,
		      struct fabric_domain *domain, struct rpcrdma_scq **scqp, struct util_err *err)
{
	struct rpcrdma_scq *scq = calloc(1, sizeof(*scq));
	int code;

	if (!scq)
		return util_err_set(err, -ENOMEM, "accept: out of memory");
	scq->worker = rw;
	scq->ops = ops;
	scq->domain = domain;
	scq->depth = CQ_DEPTH;
	util_list_init(&scq->conns);
	util_list_init(&scq->starved);
	code = transport_server_pool(transport_worker_server(rw->worker), domain, &scq->pool, err);
	if (code)
		goto err_free;
	code = ops->cq_create(domain, scq->depth, &scq->cq, err);
	if (code)
		goto err_free;
	code = transport_worker_watch(rw->worker, ops->cq_fd(scq->cq), scq_run, scq);
	if (code) {
		util_err_set(err, code, "watch a completion queue: %s", strerror(-code));
		goto err_cq;
	}
	util_list_add(&rw->scqs, &scq->node);
	*scqp = scq;
	return 0;

err_cq:
	ops->cq_destroy(scq->cq);
err_free:
	free(scq);
	return code;
}

/* A queue on this device with room for what a connection may cause. */
static int scq_get(struct rpcrdma_worker *rw, const struct fabric_ops *ops,
		   struct fabric_domain *domain, struct rpcrdma_scq **scqp, struct util_err *err)
{
	uint32_t need = rpcrdma_conn_depth_of(transport_worker_params(rw->worker), &domain->attr);

	UTIL_LIST_FOR_EACH (node, &rw->scqs) {
		struct rpcrdma_scq *scq = UTIL_LIST_ENTRY(node, struct rpcrdma_scq, node);

		if (scq->domain == domain && scq->depth - scq->used >= need) {
			*scqp = scq;
			return 0;
		}
	}
	return scq_create(rw, ops, domain, scqp, err);
}

static void scq_destroy(struct rpcrdma_scq *scq)
{
	while (!util_list_empty(&scq->conns))
		on_disconnected(UTIL_LIST_ENTRY(scq->conns.next, struct rpcrdma_conn, node));
	transport_worker_unwatch(rpcrdma_scq_worker(scq), scq->ops->cq_fd(scq->cq));
	scq->ops->cq_destroy(scq->cq);
	util_list_del(&scq->node);
	free(scq);
}

/* ---- the core's side -------------------------------------------------------------------- */

static int adopt(struct transport_worker *w, const struct fabric_ops *ops,
		 struct fabric_request *freq, struct util_err *err)
{
	struct fabric_conn_params params;
	struct rpcrdma_scq *scq = NULL;
	struct rpcrdma_worker *rw;
	struct rpcrdma_conn *conn;
	int code;

	code = worker_get(w, &rw);
	if (code == 0)
		code = scq_get(rw, ops, freq->domain, &scq, err);
	if (code == 0)
		code = rpcrdma_conn_create(&conn, scq, freq, err);
	if (code)
		goto err_reject;
	rpcrdma_conn_params(conn, &params);
	code = ops->conn_accept(scq->cq, freq, &params, &conn->conn, err);
	if (code) {
		rpcrdma_conn_gone(conn);
		goto err_reject;
	}
	/* The client's first call may follow our answer at once. */
	code = rpcrdma_recvq_post(&conn->recvq, conn->conn);
	if (code == 0)
		code = ops->conn_start(conn->conn);
	if (code)
		rpcrdma_conn_gone(conn);
	else
		scq_run(scq);
	return code;

err_reject:
	ops->request_reject(freq);
	return code;
}

int rpcrdma_responder_adopt(struct transport_worker *w, const struct fabric_ops *ops,
			    struct fabric_request *freq)
{
	struct util_err err = {0};
	int code = adopt(w, ops, freq, &err);

	if (code == 0)
		return 0;
	util_log(transport_worker_params(w)->log, UTIL_LOG_WARN, "connection refused: %s",
		 err.code ? err.what : strerror(-code));
	transport_worker_conn_closed(w);
	return code;
}

void rpcrdma_responder_stop(struct transport_worker *w)
{
	void **slot = transport_worker_link_slot(w, 1);
	struct rpcrdma_worker *rw = *slot;

	if (!rw)
		return;
	while (!util_list_empty(&rw->scqs))
		scq_destroy(UTIL_LIST_ENTRY(rw->scqs.next, struct rpcrdma_scq, node));
	/* The worker's loop has ended: its timers do not ask any more. */
	*slot = NULL;
	free(rw);
}

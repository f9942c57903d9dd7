/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq.c - the completion queue: where one thread drives its connections and hears of their progress.
 *
 * There is no ring of completions.  A finished work request stays in its queue's slot until the
 * caller polls it, so nothing can overflow and nothing is copied twice: a connection with something
 * to say is on the done list, and polling takes the words straight from its queues.
 *
 * A connection that may make progress without waiting (bytes to read, room to write) is on the
 * active list; the backend puts it there.  One with a deadline is on the timed list, which is
 * short: only connections being set up or closed have one.
 *
 * A poll harvests first; only if there was nothing to harvest does it look at the sockets.  While
 * some connections stay active the backend is still asked every few polls, so that one busy
 * connection does not silence the others.
 *
 * What was posted with FABRIC_WR_MORE is on the unrung list until its connection posts without, has
 * posted enough, or a poll finds nothing more to hand to the caller.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "transport/iwarp/internal.h"

#define ASK_BACKEND_EVERY 4
/* What is deferred is soon more than the doorbell costs. */
#define DEFER_MAX 32u
#define DEFER_LEN_MAX 16384u

void iwarp_cq_activate(struct iwarp_conn *conn)
{
	if (util_list_empty(&conn->active_node))
		util_list_add(&conn->cq->active, &conn->active_node);
}

void iwarp_cq_announce(struct iwarp_conn *conn)
{
	if (util_list_empty(&conn->done_node))
		util_list_add(&conn->cq->done, &conn->done_node);
}

void iwarp_cq_retime(struct iwarp_conn *conn)
{
	bool timed = conn->deadline_ns || conn->nudge_ns;

	if (!timed)
		util_list_del(&conn->timed_node);
	else if (util_list_empty(&conn->timed_node))
		util_list_add(&conn->cq->timed, &conn->timed_node);
}

/*
 * A post's first call is its doorbell; whatever else is sent (answers to the peer's RDMA Reads,
 * what the socket had no room for) is what a NIC does by itself.
 */
void iwarp_cq_count_send(struct iwarp_cq *cq)
{
	if (cq->ringing)
		cq->counters.doorbells++;
	else
		cq->counters.progress_sends++;
	cq->ringing = false;
}

bool iwarp_cq_defer(struct iwarp_conn *conn, uint32_t n, uint64_t len)
{
	if (n > DEFER_MAX - conn->unrung || len > DEFER_LEN_MAX - conn->unrung_len)
		return false;
	conn->unrung += n;
	conn->unrung_len += (uint32_t)len;
	if (util_list_empty(&conn->unrung_node))
		util_list_add(&conn->cq->unrung, &conn->unrung_node);
	return true;
}

void iwarp_cq_ring(struct iwarp_conn *conn)
{
	util_list_del(&conn->unrung_node);
	conn->unrung = conn->unrung_len = 0;
	conn->cq->ringing = true;
	iwarp_tx_progress(conn);
	conn->cq->ringing = false;
}

static void ring_all(struct iwarp_cq *cq)
{
	while (!util_list_empty(&cq->unrung))
		iwarp_cq_ring(UTIL_LIST_ENTRY(cq->unrung.next, struct iwarp_conn, unrung_node));
}

int iwarp_cq_create(struct fabric_domain *base, uint32_t depth, struct fabric_cq **cqp,
		    struct util_err *err)
{
	struct iwarp_domain *domain = iwarp_domain_of(base);
	struct iwarp_cq *cq = calloc(1, sizeof(*cq));
	int code;

	if (!cq)
		return util_err_set(err, -ENOMEM, "create a completion queue: out of memory");
	cq->base.domain = base;
	cq->domain = domain;
	util_list_init(&cq->conns);
	util_list_init(&cq->active);
	util_list_init(&cq->done);
	util_list_init(&cq->timed);
	util_list_init(&cq->unrung);
	cq->sock = domain->fabric->uring ? &iwarp_sock_uring : &iwarp_sock_plain;
	code = cq->sock->open(cq, depth, err);
	if (code && cq->sock == &iwarp_sock_uring) {
		/* The first ring was allowed and this one is not: a limit on locked memory, say. */
		util_log(domain->fabric->opts.log, UTIL_LOG_WARN,
			 "iwarp: no ring for a completion queue (%s): plain sockets instead",
			 strerror(-code));
		cq->sock = &iwarp_sock_plain;
		code = cq->sock->open(cq, depth, err);
	}
	if (code) {
		free(cq);
		return code;
	}
	iwarp_domain_get(domain);
	*cqp = &cq->base;
	return 0;
}

void iwarp_cq_destroy(struct fabric_cq *base)
{
	struct iwarp_cq *cq = iwarp_cq_of(base);

	cq->sock->close(cq);
	iwarp_domain_put(cq->domain);
	free(cq);
}

static int harvest(struct iwarp_cq *cq, struct fabric_wc *wc, int max)
{
	int n = 0;

	while (n < max && !util_list_empty(&cq->done)) {
		struct util_list *node = util_list_pop(&cq->done);
		struct iwarp_conn *conn = UTIL_LIST_ENTRY(node, struct iwarp_conn, done_node);

		n += iwarp_conn_harvest(conn, wc + n, max - n);
		if (n == max)
			util_list_add(&cq->done, node); /* it may have more; the others go first */
	}
	return n;
}

static void run_timers(struct iwarp_cq *cq)
{
	uint64_t now;

	if (util_list_empty(&cq->timed))
		return;
	now = util_clock_ns();
	UTIL_LIST_FOR_EACH_SAFE (pos, &cq->timed)
		iwarp_conn_timer(UTIL_LIST_ENTRY(pos, struct iwarp_conn, timed_node), now);
}

static void run_active(struct iwarp_cq *cq)
{
	struct util_list now, *node;

	/* Those who put themselves back wait for the next poll. */
	util_list_init(&now);
	util_list_splice(&now, &cq->active);
	while ((node = util_list_pop(&now)))
		iwarp_conn_progress(UTIL_LIST_ENTRY(node, struct iwarp_conn, active_node));
}

int iwarp_cq_poll(struct fabric_cq *base, struct fabric_wc *wc, int max)
{
	struct iwarp_cq *cq = iwarp_cq_of(base);
	int n = harvest(cq, wc, max);

	if (n)
		return n;
	ring_all(cq);
	if (util_list_empty(&cq->active) || ++cq->busy_polls >= ASK_BACKEND_EVERY) {
		cq->sock->poll(cq);
		cq->busy_polls = 0;
	}
	run_timers(cq);
	run_active(cq);
	return harvest(cq, wc, max);
}

int iwarp_cq_fd(struct fabric_cq *base)
{
	struct iwarp_cq *cq = iwarp_cq_of(base);

	return cq->sock->fd(cq);
}

static bool has_work(const struct iwarp_cq *cq)
{
	return !util_list_empty(&cq->done) || !util_list_empty(&cq->active);
}

int iwarp_cq_arm(struct fabric_cq *base)
{
	struct iwarp_cq *cq = iwarp_cq_of(base);

	ring_all(cq);
	return has_work(cq) || cq->sock->arm(cq) || has_work(cq);
}

int iwarp_cq_wait(struct fabric_cq *base, int timeout_ms)
{
	struct iwarp_cq *cq = iwarp_cq_of(base);
	int due_ms, err;

	ring_all(cq);
	if (has_work(cq))
		return 0;
	due_ms = util_clock_until_ms(iwarp_cq_deadline(base));
	if (due_ms < 0 || (timeout_ms >= 0 && timeout_ms <= due_ms))
		return cq->sock->wait(cq, timeout_ms);
	err = cq->sock->wait(cq, due_ms);
	return err == -ETIME ? 0 : err; /* a timer of ours: there is something to do */
}

uint64_t iwarp_cq_deadline(struct fabric_cq *base)
{
	struct iwarp_cq *cq = iwarp_cq_of(base);
	uint64_t first = 0;

	UTIL_LIST_FOR_EACH (pos, &cq->timed) {
		struct iwarp_conn *conn = UTIL_LIST_ENTRY(pos, struct iwarp_conn, timed_node);

		if (conn->deadline_ns && (!first || conn->deadline_ns < first))
			first = conn->deadline_ns;
		if (conn->nudge_ns && (!first || conn->nudge_ns < first))
			first = conn->nudge_ns;
	}
	return first;
}

void iwarp_cq_counters(const struct fabric_cq *base, struct fabric_counters *counters)
{
	*counters = iwarp_cq_of(base)->counters;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conn.c - a connection's life after the handshake, and its end.
 *
 * Phases.  CONNECTING and HANDSHAKE (startup.c) or ACCEPTED (the responder, until conn_start) lead
 * to RUNNING.  From there:
 *
 *   the peer breaks a rule        a Terminate is sent, our side is shut down  -> CLOSING -> ENDED
 *   we are asked to disconnect    what was posted is sent -> DRAINING, shut down -> CLOSING ->
 * ENDED the peer closes or terminates                                                       ->
 * ENDED the socket fails                                                                    ->
 * ENDED
 *
 * CLOSING reads and drops until the peer has closed too, because closing a socket with unread bytes
 * makes TCP send a reset, which may overtake our Terminate.
 *
 * Recovery.  At ENDED the socket is gone and no memory is touched any more; only then do the
 * outstanding work requests complete as flushed, in order, and one DISCONNECTED follows.  Rights
 * granted by windows of this connection end as soon as it stops running.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/iwarp/internal.h"

/* ---- making and destroying -------------------------------------------------------------- */

static uint32_t round_up_power(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

static int check_params(const struct fabric_conn_params *params, struct util_err *err)
{
	if (params->max_send_wr > IWARP_MAX_WR || params->max_recv_wr > IWARP_MAX_WR)
		return util_err_set(err, -EINVAL, "queue depth above %u", IWARP_MAX_WR);
	if (params->max_sge > IWARP_MAX_SGE || params->max_inline > IWARP_MAX_INLINE)
		return util_err_set(err, -EINVAL, "more than %u pieces or %u inline bytes",
				    IWARP_MAX_SGE, IWARP_MAX_INLINE);
	if (params->private_len > FABRIC_PRIVATE_MAX)
		return util_err_set(err, -EINVAL, "more than %d bytes of private data",
				    FABRIC_PRIVATE_MAX);
	return 0;
}

static int alloc_queues(struct iwarp_conn *conn)
{
	struct fabric_conn_params *params = &conn->params;
	uint32_t nsend = round_up_power(params->max_send_wr),
		 nrecv = round_up_power(params->max_recv_wr);

	if (!params->max_sge)
		params->max_sge = 1;
	conn->sq.stride = sizeof(struct iwarp_swr) + params->max_sge * sizeof(struct fabric_sge) +
			  ((size_t)params->max_inline + 15) / 16 * 16;
	conn->sq.mask = nsend - 1;
	conn->rq.mask = nrecv - 1;
	conn->sq.slots = calloc(nsend, conn->sq.stride);
	conn->rq.slots = calloc(nrecv, sizeof(*conn->rq.slots));
	conn->rx.in = conn->rx.stage = malloc(IWARP_STAGE_SIZE);
	return conn->sq.slots && conn->rq.slots && conn->rx.stage ? 0 : -ENOMEM;
}

static void free_conn(struct iwarp_conn *conn)
{
	free(conn->sq.slots);
	free(conn->rq.slots);
	free(conn->rx.stage);
	free(conn->rx.spill);
	free(conn);
}

/* The caller sets phase and socket. */
int iwarp_conn_create(struct iwarp_cq *cq, const struct fabric_conn_params *params,
		      struct iwarp_conn **connp, struct util_err *err)
{
	struct iwarp_conn *conn;
	int code = check_params(params, err);

	if (code)
		return code;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return util_err_set(err, -ENOMEM, "create a connection: out of memory");
	conn->params = *params;
	code = alloc_queues(conn);
	if (code) {
		free_conn(conn);
		return util_err_set(err, code, "create a connection: out of memory");
	}
	conn->cq = cq;
	conn->base.cq = &cq->base;
	conn->base.context = params->context;
	conn->base.state = FABRIC_CONN_CONNECTING;
	conn->fabric = cq->domain->fabric;
	conn->serial = 1 + atomic_fetch_add(&conn->fabric->last_serial, 1);
	conn->sock.fd = -1;
	for (int i = 0; i < IWARP_QN_COUNT; i++)
		conn->rx.msn[i] = conn->tx.msn[i] = 1;
	util_list_init(&conn->active_node);
	util_list_init(&conn->done_node);
	util_list_init(&conn->timed_node);
	util_list_init(&conn->unrung_node);
	util_list_init(&conn->windows);
	util_list_add(&cq->conns, &conn->node);
	*connp = conn;
	return 0;
}

static void end_windows(struct iwarp_conn *conn)
{
	UTIL_LIST_FOR_EACH_SAFE (pos, &conn->windows)
		iwarp_window_unbind(UTIL_LIST_ENTRY(pos, struct iwarp_window, node));
}

/* Keys of binds that were posted and never carried out. */
static void end_posted_binds(struct iwarp_conn *conn)
{
	for (uint32_t i = conn->sq.next; i != conn->sq.tail; i++) {
		struct iwarp_swr *swr = iwarp_sq_slot(&conn->sq, i);

		if (swr->op == FABRIC_OP_BIND && swr->state == IWARP_SWR_QUEUED)
			iwarp_stags_remove(conn->fabric->stags, swr->bind_stag);
	}
}

static void close_socket(struct iwarp_conn *conn)
{
	util_list_del(&conn->unrung_node);
	if (conn->sock.attached)
		conn->cq->sock->detach(conn);
	if (conn->sock.fd >= 0)
		close(conn->sock.fd);
	conn->sock.fd = -1;
	conn->sock.rx_ready = false;
}

void iwarp_conn_destroy(struct fabric_conn *base)
{
	struct iwarp_conn *conn = iwarp_conn_of(base);
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};

	/* Abandoned while running: a reset tells the peer at once and leaves the port free to be
	 * used for the next connection. */
	if (conn->phase == IWARP_RUNNING || conn->phase == IWARP_DRAINING)
		setsockopt(conn->sock.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close_socket(conn);
	end_windows(conn);
	if (conn->phase != IWARP_ENDED)
		end_posted_binds(conn);
	util_list_del(&conn->active_node);
	util_list_del(&conn->done_node);
	util_list_del(&conn->timed_node);
	util_list_del(&conn->node);
	free_conn(conn);
}

/* ---- the ways to end -------------------------------------------------------------------- */

void iwarp_conn_end(struct iwarp_conn *conn)
{
	if (conn->phase == IWARP_ENDED)
		return;
	close_socket(conn);
	end_windows(conn);
	end_posted_binds(conn);
	conn->phase = IWARP_ENDED;
	conn->base.state = FABRIC_CONN_CLOSED;
	conn->deadline_ns = conn->nudge_ns = 0;
	iwarp_cq_retime(conn);
	conn->event_disconnected = true;
	iwarp_cq_announce(conn);
}

void iwarp_conn_fail(struct iwarp_conn *conn, int code, const char *fmt, ...)
{
	char what[sizeof(conn->base.err.what)];
	va_list ap;

	if (!conn->base.err.code) {
		va_start(ap, fmt);
		vsnprintf(what, sizeof(what), fmt, ap);
		va_end(ap);
		util_err_set(&conn->base.err, code, "%s", what);
	}
	iwarp_conn_end(conn);
}

void iwarp_conn_close(struct iwarp_conn *conn)
{
	iwarp_conn_end(conn);
}

/* Shut our side down and read on until the peer's is, at most ms. */
static void begin_closing(struct iwarp_conn *conn, unsigned ms)
{
	shutdown(conn->sock.fd, SHUT_WR);
	end_windows(conn);
	conn->phase = IWARP_CLOSING;
	conn->base.state = FABRIC_CONN_CLOSED;
	conn->nudge_ns = 0;
	conn->deadline_ns = util_clock_ns() + ms * UTIL_NS_PER_MS;
	iwarp_cq_retime(conn);
	conn->rx.head = conn->rx.tail = 0;
	conn->rx.state = IWARP_RX_HEADER;
	iwarp_cq_activate(conn);
}

/* Which segment offended, for faults found in one. */
static void add_headers(const struct iwarp_conn *conn, struct iwarp_terminate *term)
{
	const struct iwarp_rx *rx = &conn->rx;

	if (term->layer == IWARP_LAYER_MPA || term->type == 0 || !rx->header_len)
		return;
	term->segment_len = rx->ulpdu_len;
	term->header_len = rx->header_len;
	memcpy(term->header, rx->header, rx->header_len);
	term->has_request = term->layer == IWARP_LAYER_RDMAP && !rx->ddp.tagged &&
			    rx->ddp.opcode == IWARP_OPCODE_READ_REQUEST &&
			    rx->dest == rx->control + IWARP_READ_REQUEST_LEN;
	if (term->has_request)
		memcpy(term->request, rx->control, sizeof(term->request));
}

void iwarp_conn_fault(struct iwarp_conn *conn, enum iwarp_fault fault, const char *detail)
{
	struct iwarp_terminate term;
	char refused[128];

	if (conn->phase != IWARP_RUNNING && conn->phase != IWARP_DRAINING)
		return;
	if (!conn->base.err.code && iwarp_iommu_fault_text(conn, refused, sizeof(refused))) {
		util_err_set(&conn->base.err, -EFAULT, "%s", refused);
	} else if (!conn->base.err.code) {
		util_err_set(&conn->base.err, -EPROTO, "the peer broke the protocol: %s%s%s",
			     iwarp_fault_name(fault), detail ? ", " : "", detail ? detail : "");
		if (fault == IWARP_FAULT_MPA_CRC)
			util_err_hint(&conn->base.err,
				      "something between the hosts damages TCP data");
	}
	iwarp_terminate_init(&term, fault);
	add_headers(conn, &term);
	iwarp_tx_terminate(conn, &term);
	begin_closing(conn, IWARP_LINGER_MS);
}

void iwarp_conn_local_error(struct iwarp_conn *conn, struct iwarp_swr *swr,
			    enum fabric_wc_status status, const char *detail)
{
	struct iwarp_terminate term;

	swr->status = (uint8_t)status;
	swr->state = IWARP_SWR_DONE;
	if (!conn->base.err.code)
		util_err_set(&conn->base.err, -EFAULT, "a work request failed here: %s", detail);
	iwarp_terminate_init(&term, IWARP_FAULT_RDMAP_CATASTROPHIC);
	iwarp_tx_terminate(conn, &term);
	begin_closing(conn, IWARP_LINGER_MS);
}

void iwarp_conn_disconnect(struct fabric_conn *base)
{
	struct iwarp_conn *conn = iwarp_conn_of(base);

	if (conn->phase == IWARP_CLOSING || conn->phase == IWARP_ENDED ||
	    conn->phase == IWARP_DRAINING)
		return;
	if (conn->phase != IWARP_RUNNING) {
		iwarp_conn_end(conn);
		return;
	}
	conn->phase = IWARP_DRAINING;
	conn->base.state = FABRIC_CONN_CLOSED;
	conn->deadline_ns = util_clock_ns() + IWARP_CLOSE_MS * UTIL_NS_PER_MS;
	iwarp_cq_retime(conn);
	iwarp_cq_activate(conn);
}

/* ---- progress --------------------------------------------------------------------------- */

/* CLOSING: drop what comes. */
static void drop_incoming(struct iwarp_conn *conn)
{
	ssize_t n = 1;

	for (int i = 0; i < 16 && conn->sock.rx_ready && n > 0; i++) {
		conn->rx.head = conn->rx.tail = 0;
		n = iwarp_rx_fill_stage(conn);
	}
	if (n == 0 || (n < 0 && n != -EAGAIN))
		iwarp_conn_end(conn);
}

static void progress_running(struct iwarp_conn *conn)
{
	iwarp_rx_progress(conn);
	if (!util_list_empty(&conn->unrung_node))
		iwarp_cq_ring(conn);
	else if (conn->phase == IWARP_RUNNING || conn->phase == IWARP_DRAINING)
		iwarp_tx_progress(conn);
	if (conn->phase == IWARP_DRAINING && iwarp_tx_idle(conn))
		begin_closing(conn, IWARP_CLOSE_MS);
}

void iwarp_conn_progress(struct iwarp_conn *conn)
{
	switch (conn->phase) {
	case IWARP_CONNECTING:
	case IWARP_HANDSHAKE:
		iwarp_startup_progress(conn);
		break;
	case IWARP_RUNNING:
	case IWARP_DRAINING:
		progress_running(conn);
		break;
	case IWARP_CLOSING:
		drop_incoming(conn);
		break;
	case IWARP_ACCEPTED:
	case IWARP_ENDED:
		return;
	}
	if (conn->sock.rx_ready)
		iwarp_cq_activate(conn);
	else if (conn->sock.attached)
		conn->cq->sock->want_rx(conn);
}

void iwarp_conn_timer(struct iwarp_conn *conn, uint64_t now_ns)
{
	if (conn->nudge_ns && conn->nudge_ns <= now_ns) {
		conn->nudge_ns = 0;
		iwarp_cq_retime(conn);
		iwarp_tx_nudge(conn);
	}
	if (!conn->deadline_ns || conn->deadline_ns > now_ns)
		return;
	conn->deadline_ns = 0;
	iwarp_cq_retime(conn);
	if (conn->phase == IWARP_CONNECTING || conn->phase == IWARP_HANDSHAKE)
		iwarp_startup_timeout(conn);
	else
		iwarp_conn_end(conn); /* the peer takes too long to close: good-bye all the same */
}

void iwarp_conn_established(struct iwarp_conn *conn)
{
	conn->phase = IWARP_RUNNING;
	conn->base.state = FABRIC_CONN_ESTABLISHED;
	conn->deadline_ns = 0;
	iwarp_cq_retime(conn);
	conn->event_established = true;
	iwarp_cq_announce(conn);
	iwarp_cq_activate(conn);
}

/* ---- harvest ---------------------------------------------------------------------------- */

/* The next completion of the send queue the caller is to hear of. */
static bool harvest_send(struct iwarp_conn *conn, struct fabric_wc *wc)
{
	struct iwarp_sq *sq = &conn->sq;

	while (sq->head != sq->tail) {
		struct iwarp_swr *swr = iwarp_sq_slot(sq, sq->head);

		if (swr->state != IWARP_SWR_DONE) {
			if (conn->phase != IWARP_ENDED)
				return false;
			swr->status = FABRIC_WC_FLUSHED;
		}
		sq->head++;
		if (!(swr->flags & FABRIC_WR_SIGNALED) &&
		    (swr->status == FABRIC_WC_OK || swr->status == FABRIC_WC_FLUSHED))
			continue;
		*wc = (struct fabric_wc){
			.conn = &conn->base,
			.wr_id = swr->wr_id,
			.type = FABRIC_WC_SEND,
			.status = swr->status,
		};
		conn->cq->counters.completions_signalled++;
		return true;
	}
	return false;
}

static bool harvest_recv(struct iwarp_conn *conn, struct fabric_wc *wc)
{
	struct iwarp_rq *rq = &conn->rq;
	struct iwarp_rwr *rwr = &rq->slots[rq->head & rq->mask];
	bool done = rq->head != rq->fill;

	if (!done && (conn->phase != IWARP_ENDED || rq->head == rq->tail))
		return false;
	if (!done) {
		if (rwr->status == FABRIC_WC_OK)
			rwr->status = FABRIC_WC_FLUSHED;
		rq->fill++;
	}
	rq->head++;
	*wc = (struct fabric_wc){
		.conn = &conn->base,
		.wr_id = rwr->wr_id,
		.type = FABRIC_WC_RECV,
		.status = rwr->status,
		.byte_len = rwr->byte_len,
		.invalidated = rwr->invalidated,
		.invalidated_rkey = rwr->invalidated_rkey,
	};
	return true;
}

static bool harvest_event(struct iwarp_conn *conn, struct fabric_wc *wc)
{
	if (!conn->event_disconnected)
		return false;
	conn->event_disconnected = false;
	*wc = (struct fabric_wc){.conn = &conn->base, .type = FABRIC_EV_DISCONNECTED};
	return true;
}

int iwarp_conn_harvest(struct iwarp_conn *conn, struct fabric_wc *wc, int max)
{
	int n = 0;

	if (conn->event_established && n < max) {
		conn->event_established = false;
		wc[n++] = (struct fabric_wc){.conn = &conn->base, .type = FABRIC_EV_ESTABLISHED};
	}
	while (n < max && harvest_send(conn, &wc[n]))
		n++;
	while (n < max && harvest_recv(conn, &wc[n]))
		n++;
	if (n < max && harvest_event(conn, &wc[n]))
		n++;
	return n;
}

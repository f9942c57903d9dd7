/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conn.c - a connection's life apart from how it was set up: its queue pair, its end, its removal.
 *
 * Order of destruction.  The queue pair goes before its cm id (librdmacm refuses the other way
 * round) and before its ibv_cq (the device still writes there).  Destroying a cm id waits for
 * events taken and not acknowledged, destroying an ibv_cq likewise: both are acknowledged where
 * they are taken, before they are acted on, so neither can wait here.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/verbs/internal.h"

/* Asked-for numbers against what the device can. */
static int check_params(const struct fabric_attr *attr, const struct fabric_conn_params *params,
			struct util_err *err)
{
	if (params->max_send_wr == 0 || params->max_send_wr > attr->max_send_wr ||
	    params->max_recv_wr == 0 || params->max_recv_wr > attr->max_recv_wr)
		return util_err_set(err, -EINVAL,
				    "queues of %u sends and %u receives (device %s has %u and %u)",
				    params->max_send_wr, params->max_recv_wr, attr->device,
				    attr->max_send_wr, attr->max_recv_wr);
	if (params->max_sge > attr->max_sge)
		return util_err_set(err, -EINVAL, "%u SGEs (device %s has %u)", params->max_sge,
				    attr->device, attr->max_sge);
	if (params->private_len > FABRIC_PRIVATE_MAX)
		return util_err_set(err, -EINVAL, "%u bytes of private data (at most %u)",
				    params->private_len, FABRIC_PRIVATE_MAX);
	return 0;
}

static void conn_free(struct verbs_conn *conn)
{
	verbs_ring_fini(&conn->sends);
	verbs_ring_fini(&conn->recvs);
	free(conn->early);
	free(conn);
}

/*
 * A connection without cm id, in the cq's list.  The caller sets stage and id, or destroys it.
 * -EINVAL: params beyond the device; -ENOMEM.
 */
int verbs_conn_new(struct verbs_cq *cq, const struct fabric_conn_params *params,
		   struct verbs_conn **connp, struct util_err *err)
{
	struct verbs_conn *conn;
	int ret = check_params(&cq->base.domain->attr, params, err);

	if (ret)
		return ret;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return util_err_set(err, -ENOMEM, "an RDMA connection: out of memory");
	conn->params = *params;
	if (conn->params.max_sge == 0)
		conn->params.max_sge = 1;
	conn->early = calloc(params->max_recv_wr, sizeof(*conn->early));
	if (!conn->early || verbs_ring_init(&conn->sends, params->max_send_wr) ||
	    verbs_ring_init(&conn->recvs, params->max_recv_wr) ||
	    verbs_cq_reserve(cq, params->max_send_wr, params->max_recv_wr, conn->params.max_sge)) {
		conn_free(conn);
		return util_err_set(err, -ENOMEM, "an RDMA connection: out of memory");
	}
	conn->base.cq = &cq->base;
	conn->base.context = params->context;
	conn->base.state = FABRIC_CONN_CONNECTING;
	util_list_init(&conn->hot);
	util_list_init(&conn->waiting);
	util_list_init(&conn->windows);
	util_list_add(&cq->conns, &conn->node);
	*connp = conn;
	return 0;
}

/* The cm id knows its device: make the completion queue and the queue pair on it. */
int verbs_conn_make_qp(struct verbs_conn *conn, struct util_err *err)
{
	struct verbs_domain *domain = verbs_conn_domain(conn);
	struct verbs_cq *cq = verbs_conn_cq(conn);
	const struct fabric_attr *attr = &domain->base.attr;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = conn->params.max_send_wr,
			.max_recv_wr = conn->params.max_recv_wr,
			.max_send_sge = conn->params.max_sge,
			.max_recv_sge = 1,
			.max_inline_data = conn->params.max_inline < attr->max_inline
						   ? conn->params.max_inline
						   : attr->max_inline},
	};
	int vector = (int)(atomic_fetch_add(&domain->vector, 1) %
			   (unsigned)(domain->verbs->num_comp_vectors > 0
					      ? domain->verbs->num_comp_vectors
					      : 1));
	int depth = (int)(init.cap.max_send_wr + init.cap.max_recv_wr);

	conn->ibcq = ibv_create_cq(domain->verbs, depth, conn, cq->completions, vector);
	if (!conn->ibcq)
		return util_err_set(err, errno ? -errno : -ENOMEM,
				    "a completion queue of %d entries on %s: %s", depth,
				    attr->device, strerror(errno));
	init.send_cq = init.recv_cq = conn->ibcq;
	if (rdma_create_qp(conn->id, domain->pd, &init)) {
		int code = errno ? -errno : -ENOMEM;

		util_err_set(err, code,
			     "a queue pair of %u sends (%u SGEs) and %u receives on %s: %s",
			     conn->params.max_send_wr, conn->params.max_sge,
			     conn->params.max_recv_wr, attr->device, strerror(-code));
		util_err_hint(err, "fewer slots need smaller queues");
		return code;
	}
	conn->max_inline = init.cap.max_inline_data;
	return 0;
}

/* There is, or may be, something to collect. */
void verbs_conn_heat(struct verbs_conn *conn)
{
	if (conn->hot.next == &conn->hot)
		util_list_add(&verbs_conn_cq(conn)->hot, &conn->hot);
}

/* 0: none.  The set-up is ended with a time-out when it has passed. */
void verbs_conn_set_deadline(struct verbs_conn *conn, int timeout_ms)
{
	util_list_del(&conn->waiting);
	conn->deadline_ns = 0;
	if (timeout_ms <= 0)
		return;
	conn->deadline_ns = util_clock_ns() + (uint64_t)timeout_ms * UTIL_NS_PER_MS;
	util_list_add(&verbs_conn_cq(conn)->waiting, &conn->waiting);
}

void verbs_conn_established(struct verbs_conn *conn)
{
	conn->stage = VERBS_ESTABLISHED;
	conn->base.state = FABRIC_CONN_ESTABLISHED;
	conn->tell_established = true;
	verbs_conn_set_deadline(conn, 0);
	verbs_conn_heat(conn);
}

void verbs_conn_end(struct verbs_conn *conn, const struct util_err *err)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (conn->stage >= VERBS_ENDING)
		return;
	if (err) {
		conn->base.err = *err;
		verbs_events_explain(conn, &conn->base.err);
	} else {
		util_err_clear(&conn->base.err);
	}
	conn->stage = VERBS_ENDING;
	conn->base.state = FABRIC_CONN_CLOSED;
	verbs_conn_set_deadline(conn, 0);
	if (conn->id && conn->id->qp) {
		/* Tells the peer; fails where the CM knows already, or never got so far. */
		rdma_disconnect(conn->id);
		ibv_modify_qp(conn->id->qp, &attr, IBV_QP_STATE);
	}
	verbs_conn_heat(conn);
}

/*
 * QUIRK(rxe): a window that is bound holds its queue pair, and destroying that waits 50 s for it
 * before it gives up; so windows go first.  The queue pair is in its error state by now, nothing is
 * carried out there any more.  Whose windows they are frees the rest of them before the next bind.
 */
static void windows_release(struct verbs_conn *conn)
{
	struct util_list *node;

	while ((node = util_list_pop(&conn->windows))) {
		struct verbs_window *window = UTIL_LIST_ENTRY(node, struct verbs_window, node);

		ibv_dealloc_mw(window->mw);
		window->mw = NULL;
	}
}

void verbs_conn_release(struct verbs_conn *conn)
{
	windows_release(conn);
	if (conn->id && conn->id->qp)
		rdma_destroy_qp(conn->id);
	if (conn->ibcq)
		ibv_destroy_cq(conn->ibcq);
	if (conn->id)
		rdma_destroy_id(conn->id);
	/* An event that was not read yet went with its ibv_cq. */
	verbs_conn_disarm(conn);
	conn->ibcq = NULL;
	conn->id = NULL;
	conn->peeked = false;
	conn->nearly = 0;
}

void verbs_conn_disconnect(struct fabric_conn *base)
{
	struct verbs_conn *conn = verbs_conn(base);

	conn->goodbye = conn->stage < VERBS_ENDING;
	verbs_conn_end(conn, NULL);
}

void verbs_conn_destroy(struct fabric_conn *base)
{
	struct verbs_conn *conn = verbs_conn(base);

	/* Be polite to the peer where there is one. */
	if (conn->stage == VERBS_ESTABLISHED || conn->stage == VERBS_STARTING)
		verbs_conn_end(conn, NULL);
	verbs_conn_release(conn);
	util_list_del(&conn->hot);
	util_list_del(&conn->waiting);
	util_list_del(&conn->node);
	conn_free(conn);
}

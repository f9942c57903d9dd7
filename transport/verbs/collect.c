/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collect.c - completions of one connection, from the device's words into the fabric's.
 *
 * Normal operation.  The ibv_cq is polled in batches; a wr_id leads to the ring slot, which has the
 * caller's wr_id and whether the caller wants to hear of it.
 *
 * End.  The first failed completion ends the connection (verbs_conn_end).  From then on collect
 * passes on what is still in the ibv_cq; when that is empty it destroys the queue pair, after which
 * the device touches nothing of this connection's any more, reports what is left in the rings as
 * flushed, and last of all says FABRIC_EV_DISCONNECTED.
 */
#include <errno.h>

#include "transport/verbs/internal.h"

#define VERBS_POLL_BATCH 16

/* Has the queue pair been handed to the peer, so that completions mean something? */
static bool polls(const struct verbs_conn *conn)
{
	return conn->ibcq && (conn->stage == VERBS_ESTABLISHED || conn->stage == VERBS_ENDING);
}

static void fill_invalidated(const struct verbs_conn *conn, const struct ibv_wc *in,
			     struct fabric_wc *out)
{
	unsigned flag = IBV_WC_WITH_INV;

	/* QUIRK(rxe): bit 2, which elsewhere says that an IP checksum was good. */
	if (verbs_conn_domain(conn)->quirks & VERBS_QUIRK_INV_FLAG)
		flag |= IBV_WC_IP_CSUM_OK;
	if (in->wc_flags & flag) {
		out->invalidated = true;
		out->invalidated_rkey = in->invalidated_rkey;
	}
}

static int emit_event(struct verbs_conn *conn, struct fabric_wc *out, enum fabric_wc_type type)
{
	*out = (struct fabric_wc){.conn = &conn->base, .type = type};
	return 1;
}

/* Returns how many of out were filled: 0 or 1. */
static int translate_recv(struct verbs_conn *conn, const struct ibv_wc *in, struct fabric_wc *out)
{
	struct verbs_slot slot;

	if (!verbs_ring_retire(&conn->recvs, (uint32_t)in->wr_id, &slot))
		return 0;
	*out = (struct fabric_wc){
		.conn = &conn->base,
		.wr_id = slot.wr_id,
		.type = FABRIC_WC_RECV,
		.status = verbs_wc_status(in->status),
	};
	if (in->status != IBV_WC_SUCCESS)
		return 1;
	out->byte_len = in->byte_len;
	verbs_conn_cq(conn)->counters.bytes_received += in->byte_len;
	fill_invalidated(conn, in, out);
	return 1;
}

static int translate_send(struct verbs_conn *conn, const struct ibv_wc *in, struct fabric_wc *out)
{
	struct verbs_slot slot;
	enum fabric_wc_status status = verbs_wc_status(in->status);

	if (!verbs_ring_retire(&conn->sends, (uint32_t)in->wr_id, &slot))
		return 0;
	if (status == FABRIC_WC_OK && in->opcode == IBV_WC_RDMA_READ)
		verbs_conn_cq(conn)->counters.bytes_received += in->byte_len;
	if (!slot.signaled && (status == FABRIC_WC_OK || status == FABRIC_WC_FLUSHED))
		return 0;
	*out = (struct fabric_wc){
		.conn = &conn->base,
		.wr_id = slot.wr_id,
		.type = FABRIC_WC_SEND,
		.status = status,
	};
	return 1;
}

/* A failed completion ends the connection, or tells why one that the CM ended did. */
static void failed(struct verbs_conn *conn, const struct ibv_wc *in)
{
	struct util_err err;

	/* A flush says only that it is over; the CM event that says why may lie in the channel. */
	if (in->status == IBV_WC_WR_FLUSH_ERR && conn->stage == VERBS_ESTABLISHED)
		verbs_connect_events(verbs_conn_cq(conn));
	verbs_wc_err(&err, in, (struct sockaddr *)&conn->base.peer);
	if (conn->stage == VERBS_ESTABLISHED)
		verbs_conn_end(conn, &err);
	else if (conn->base.err.code == 0 && in->status != IBV_WC_WR_FLUSH_ERR && !conn->goodbye)
		conn->base.err = err;
}

static int translate(struct verbs_conn *conn, const struct ibv_wc *in, struct fabric_wc *out)
{
	if (in->status != IBV_WC_SUCCESS)
		failed(conn, in);
	if (in->wr_id & VERBS_WR_RECV)
		return translate_recv(conn, in, out);
	return translate_send(conn, in, out);
}

/* What the ibv_cq holds, up to max.  *emptyp: it holds no more. */
static int collect_device(struct verbs_conn *conn, struct fabric_wc *wc, int max, bool *emptyp)
{
	struct ibv_wc batch[VERBS_POLL_BATCH];
	int n = 0, got, want;

	*emptyp = false;
	if (conn->peeked && n < max) {
		conn->peeked = false;
		n += translate(conn, &conn->peek, &wc[n]);
	}
	while (n < max) {
		want = max - n < VERBS_POLL_BATCH ? max - n : VERBS_POLL_BATCH;
		got = ibv_poll_cq(conn->ibcq, want, batch);
		if (got < 0) {
			struct util_err err;

			util_err_set(&err, -EIO, "polling an RDMA completion queue failed");
			verbs_conn_end(conn, &err);
			got = 0;
		}
		for (int i = 0; i < got; i++)
			n += translate(conn, &batch[i], &wc[n]);
		if (got < want) {
			*emptyp = true;
			break;
		}
	}
	return n;
}

/* The device objects are gone: what is left in the rings was flushed. */
static int collect_flushed(struct verbs_conn *conn, struct fabric_wc *wc, int max)
{
	struct verbs_slot slot;
	int n = 0;

	while (n < max && verbs_ring_pop(&conn->sends, &slot))
		if (slot.signaled)
			wc[n++] = (struct fabric_wc){
				.conn = &conn->base,
				.wr_id = slot.wr_id,
				.type = FABRIC_WC_SEND,
				.status = FABRIC_WC_FLUSHED,
			};
	while (n < max && verbs_ring_pop(&conn->recvs, &slot))
		wc[n++] = (struct fabric_wc){
			.conn = &conn->base,
			.wr_id = slot.wr_id,
			.type = FABRIC_WC_RECV,
			.status = FABRIC_WC_FLUSHED,
		};
	if (n < max) {
		n += emit_event(conn, &wc[n], FABRIC_EV_DISCONNECTED);
		conn->stage = VERBS_ENDED;
		util_list_del(&conn->hot);
	}
	return n;
}

/*
 * A completion lies in peek before the CM said anything.  The peer's first message proves that it
 * has our reply; a failure, that it went away instead.
 */
static void started(struct verbs_conn *conn)
{
	struct util_err err;

	if (conn->peek.status == IBV_WC_SUCCESS) {
		verbs_conn_established(conn);
		return;
	}
	verbs_wc_err(&err, &conn->peek, (struct sockaddr *)&conn->base.peer);
	verbs_conn_end(conn, &err);
}

int verbs_conn_collect(struct verbs_conn *conn, struct fabric_wc *wc, int max)
{
	bool empty = true;
	int n = 0;

	if (conn->stage == VERBS_STARTING && verbs_conn_peek(conn))
		started(conn);
	if (conn->tell_established && n < max) {
		conn->tell_established = false;
		n += emit_event(conn, &wc[n], FABRIC_EV_ESTABLISHED);
	}
	if (n < max && polls(conn))
		n += collect_device(conn, &wc[n], max - n, &empty);
	if (n < max && empty && conn->stage == VERBS_ENDING) {
		verbs_conn_release(conn);
		n += collect_flushed(conn, &wc[n], max - n);
	}
	return n;
}

bool verbs_conn_peek(struct verbs_conn *conn)
{
	if (conn->tell_established || conn->stage == VERBS_ENDING || conn->peeked)
		return true;
	if (!conn->ibcq || (conn->stage != VERBS_STARTING && conn->stage != VERBS_ESTABLISHED))
		return false;
	/* An error of polling (-1) counts as something: collect meets it again and ends the
	 * connection. */
	switch (ibv_poll_cq(conn->ibcq, 1, &conn->peek)) {
	case 0:
		return false;
	case 1:
		conn->peeked = true;
		return true;
	default:
		return conn->stage == VERBS_ESTABLISHED;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.c - what a received segment may do, and what it means once it is complete.
 *
 * iwarp_message_begin() is called with the decoded header, before any payload is touched: it
 * applies every rule the header can be checked against and says where the payload goes.
 * iwarp_message_end() is called when payload and CRC are there.
 *
 *   RDMA Write      tagged; each segment is authorised on its own and there is nothing to complete
 *   Read Response   tagged; must be exactly what the oldest of our Read Requests asked for next
 *   Send            untagged, queue 0; fills the oldest posted receive, completes it with the last
 *   Read Request    untagged, queue 1; queued, at most IRD of them, answered by tx.c
 *   Terminate       untagged, queue 2; the peer's reason for ending
 *
 * TCP delivers in order, so segments of a message follow each other: the message sequence number
 * must be the next one of its queue and the offset must be where the previous segment ended.
 */
#include <errno.h>

#include "transport/iwarp/internal.h"

/* ---- tagged ----------------------------------------------------------------------------- */

enum iwarp_denial iwarp_message_hold(struct iwarp_conn *conn, uint64_t to, uint64_t len,
				     uint64_t touched, struct iwarp_hold *hold)
{
	const struct iwarp_access access = {
		.stag = conn->rx.ddp.stag,
		.to = to,
		.len = len,
		.right = conn->rx.dest_right,
		.domain = conn->cq->domain,
		.conn = conn->serial,
	};

	return iwarp_hold_to_write(conn, &access, touched, hold);
}

/* RFC 5041 section 7.1; rights are RDMAP's business (RFC 5040 section 4.8). */
static enum iwarp_fault tagged_fault(enum iwarp_denial denial)
{
	static const enum iwarp_fault faults[] = {
		[IWARP_GRANTED] = IWARP_OK,
		[IWARP_DENIED_STAG] = IWARP_FAULT_TAGGED_STAG,
		[IWARP_DENIED_ASSOC] = IWARP_FAULT_TAGGED_NOT_ASSOCIATED,
		[IWARP_DENIED_WRAP] = IWARP_FAULT_TAGGED_TO_WRAP,
		[IWARP_DENIED_BOUNDS] = IWARP_FAULT_TAGGED_BOUNDS,
		[IWARP_DENIED_RIGHT] = IWARP_FAULT_RDMAP_ACCESS,
		[IWARP_DENIED_IOMMU] = IWARP_FAULT_RDMAP_CATASTROPHIC,
	};

	return faults[denial];
}

static enum iwarp_fault request_fault(enum iwarp_denial denial)
{
	static const enum iwarp_fault faults[] = {
		[IWARP_GRANTED] = IWARP_OK,
		[IWARP_DENIED_STAG] = IWARP_FAULT_RDMAP_STAG,
		[IWARP_DENIED_ASSOC] = IWARP_FAULT_RDMAP_NOT_ASSOCIATED,
		[IWARP_DENIED_WRAP] = IWARP_FAULT_RDMAP_TO_WRAP,
		[IWARP_DENIED_BOUNDS] = IWARP_FAULT_RDMAP_BOUNDS,
		[IWARP_DENIED_RIGHT] = IWARP_FAULT_RDMAP_ACCESS,
	};

	return faults[denial];
}

/* Authorise the segment's payload and aim at its memory.  A segment of no bytes touches nothing, so
 * its STag is not looked at.  Its first byte goes through the IOMMU here; all of it does when it
 * is touched. */
static enum iwarp_fault aim_tagged(struct iwarp_conn *conn, enum iwarp_right right)
{
	struct iwarp_rx *rx = &conn->rx;
	struct iwarp_hold hold;
	enum iwarp_denial denial;

	if (!rx->payload_len)
		return IWARP_OK;
	rx->dest_right = right;
	denial = iwarp_message_hold(conn, rx->ddp.to, rx->payload_len, 1, &hold);
	if (denial)
		return tagged_fault(denial);
	rx->dest = hold.ptr;
	rx->dest_remote = true;
	iwarp_stags_release(&hold);
	return IWARP_OK;
}

static struct iwarp_swr *oldest_read(struct iwarp_conn *conn)
{
	return conn->sq.reads ? iwarp_sq_slot(&conn->sq, conn->sq.read_first) : NULL;
}

static enum iwarp_fault begin_response(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	struct iwarp_swr *swr = oldest_read(conn);

	if (!swr)
		return IWARP_FAULT_RDMAP_OPCODE;
	if (rx->ddp.stag != swr->sge[0].lkey && swr->len)
		return IWARP_FAULT_TAGGED_STAG;
	if (rx->payload_len > swr->len - swr->received ||
	    (swr->len && rx->ddp.to != swr->sge[0].iova + swr->received))
		return IWARP_FAULT_TAGGED_BOUNDS;
	if (rx->ddp.last != (rx->payload_len == swr->len - swr->received))
		return IWARP_FAULT_RDMAP_UNSPECIFIED;
	return aim_tagged(conn, IWARP_RIGHT_SINK);
}

/* The next Read Request still out after the one that was answered. */
static void retire_read(struct iwarp_conn *conn)
{
	struct iwarp_sq *sq = &conn->sq;

	if (!--sq->reads)
		return;
	do
		sq->read_first++;
	while (iwarp_sq_slot(sq, sq->read_first)->state != IWARP_SWR_READING);
}

static void end_response(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	struct iwarp_swr *swr = oldest_read(conn);

	swr->received += rx->payload_len;
	if (!rx->ddp.last)
		return;
	swr->state = IWARP_SWR_DONE;
	retire_read(conn);
	iwarp_cq_announce(conn);
}

/* ---- Send ------------------------------------------------------------------------------- */

static struct iwarp_rwr *current_recv(struct iwarp_conn *conn)
{
	return &conn->rq.slots[conn->rq.fill & conn->rq.mask];
}

static enum iwarp_fault begin_send(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	struct iwarp_rwr *rwr = current_recv(conn);

	if (rx->ddp.msn != rx->msn[IWARP_QN_SEND])
		return IWARP_FAULT_UNTAGGED_MSN;
	if (conn->rq.fill == conn->rq.tail)
		return IWARP_FAULT_UNTAGGED_NO_BUFFER;
	if (rx->ddp.mo != rx->message_off)
		return IWARP_FAULT_UNTAGGED_MO;
	if (rx->message_off && rx->ddp.opcode != rx->message_opcode)
		return IWARP_FAULT_RDMAP_OPCODE;
	if (rx->payload_len > rwr->sge.len - rx->message_off)
		return IWARP_FAULT_UNTAGGED_TOO_LONG;
	rx->message_opcode = rx->ddp.opcode;
	rx->dest = (uint8_t *)rwr->sge.ptr + rx->message_off;
	return IWARP_OK;
}

/* Send with Invalidate: only a window bound on this connection may go. */
static enum iwarp_fault invalidate_remote(struct iwarp_conn *conn, uint32_t stag)
{
	struct iwarp_mem mem;

	if (!iwarp_stags_lookup(conn->fabric->stags, stag, &mem))
		return IWARP_FAULT_RDMAP_CANNOT_INVALIDATE;
	if (!mem.window || mem.conn != conn->serial)
		return IWARP_FAULT_RDMAP_NOT_YOURS_TO_INVALIDATE;
	iwarp_window_unbind(mem.window);
	return IWARP_OK;
}

static enum iwarp_fault end_send(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	struct iwarp_rwr *rwr = current_recv(conn);
	enum iwarp_fault fault;

	rx->message_off += rx->payload_len;
	if (!rx->ddp.last)
		return IWARP_OK;
	if (iwarp_opcode_invalidates(rx->ddp.opcode)) {
		fault = invalidate_remote(conn, rx->ddp.stag);
		if (fault)
			return fault;
		rwr->invalidated = true;
		rwr->invalidated_rkey = rx->ddp.stag;
	}
	rwr->byte_len = rx->message_off;
	rx->message_off = 0;
	rx->msn[IWARP_QN_SEND]++;
	conn->rq.fill++;
	iwarp_cq_announce(conn);
	return IWARP_OK;
}

/* ---- Read Request and Terminate --------------------------------------------------------- */

/* Both fit one segment, and their payload is looked at before it means anything. */
static enum iwarp_fault begin_control(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;

	if (rx->ddp.msn != rx->msn[rx->ddp.qn])
		return IWARP_FAULT_UNTAGGED_MSN;
	if (rx->ddp.mo || !rx->ddp.last)
		return IWARP_FAULT_UNTAGGED_MO;
	if (rx->payload_len > IWARP_CONTROL_MAX)
		return IWARP_FAULT_UNTAGGED_TOO_LONG;
	rx->dest = rx->control;
	return IWARP_OK;
}

static enum iwarp_fault end_read_request(struct iwarp_conn *conn)
{
	struct iwarp_responses *r = &conn->responses;
	struct iwarp_rx *rx = &conn->rx;
	struct iwarp_response response = {0};
	struct iwarp_access access;
	struct iwarp_hold hold;
	enum iwarp_fault fault;
	enum iwarp_denial denial;

	fault = iwarp_read_request_decode(&response.request, rx->control, rx->payload_len);
	if (fault)
		return fault;
	if (r->tail - r->head >= conn->ird)
		return IWARP_FAULT_UNTAGGED_NO_BUFFER;
	if (response.request.len) {
		access = (struct iwarp_access){
			.stag = response.request.source_stag,
			.to = response.request.source_to,
			.len = response.request.len,
			.right = IWARP_RIGHT_READ,
			.domain = conn->cq->domain,
			.conn = conn->serial,
		};
		denial = iwarp_stags_hold(conn->fabric->stags, &access, &hold);
		if (denial)
			return request_fault(denial);
		iwarp_stags_release(&hold);
	}
	rx->msn[IWARP_QN_READ_REQUEST]++;
	r->slots[r->tail++ % IWARP_RD_MAX] = response;
	return IWARP_OK;
}

/* A Read of ours the peer refused completes with the reason. */
static void blame_read(struct iwarp_conn *conn, const struct iwarp_terminate *term)
{
	struct iwarp_swr *swr = oldest_read(conn);

	if (!swr || term->layer != IWARP_LAYER_RDMAP || !term->has_request)
		return;
	swr->status = (uint8_t)iwarp_fault_status(iwarp_terminate_fault(term));
	swr->state = IWARP_SWR_DONE;
}

static void end_terminate(struct iwarp_conn *conn)
{
	struct iwarp_terminate term;
	enum iwarp_fault fault;

	if (iwarp_terminate_decode(&term, conn->rx.control, conn->rx.payload_len) != 0) {
		iwarp_conn_fail(conn, -ECONNRESET,
				"the peer terminated the connection without a reason");
		return;
	}
	fault = iwarp_terminate_fault(&term);
	blame_read(conn, &term);
	if (!conn->base.err.code) {
		util_err_set(&conn->base.err, -ECONNRESET, "the peer terminated the connection: %s",
			     iwarp_fault_name(fault));
		util_err_hint(&conn->base.err, "%s",
			      fabric_wc_status_hint(iwarp_fault_status(fault)));
	}
	iwarp_conn_end(conn);
}

/* ---- whole segments -------------------------------------------------------------------------- */

enum iwarp_fault iwarp_message_begin(struct iwarp_conn *conn)
{
	const struct iwarp_ddp *ddp = &conn->rx.ddp;

	if (ddp->tagged && ddp->opcode == IWARP_OPCODE_WRITE)
		return aim_tagged(conn, IWARP_RIGHT_WRITE);
	if (ddp->tagged)
		return begin_response(conn);
	if (ddp->qn == IWARP_QN_SEND)
		return begin_send(conn);
	return begin_control(conn);
}

enum iwarp_fault iwarp_message_end(struct iwarp_conn *conn)
{
	const struct iwarp_ddp *ddp = &conn->rx.ddp;

	if (ddp->tagged && ddp->opcode == IWARP_OPCODE_WRITE)
		return IWARP_OK;
	if (ddp->tagged) {
		end_response(conn);
		return IWARP_OK;
	}
	if (ddp->qn == IWARP_QN_SEND)
		return end_send(conn);
	if (ddp->qn == IWARP_QN_READ_REQUEST)
		return end_read_request(conn);
	end_terminate(conn);
	return IWARP_OK;
}

void iwarp_message_fault(struct iwarp_conn *conn, enum iwarp_fault fault)
{
	const struct iwarp_ddp *ddp = &conn->rx.ddp;

	if (fault == IWARP_FAULT_UNTAGGED_TOO_LONG && !ddp->tagged && ddp->qn == IWARP_QN_SEND)
		current_recv(conn)->status = FABRIC_WC_LENGTH;
	iwarp_conn_fault(conn, fault, NULL);
}

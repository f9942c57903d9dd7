/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tx.c - cut messages into FPDUs and hand them to the socket.
 *
 * Normal operation.  The outgoing batch is a list of iovecs: headers and trailers lie in
 * conn->tx.meta, payload stays where the caller or the registered region has it, so nothing is
 * copied in user space. The batch is filled with FPDUs until it is full or there is nothing to
 * send, then goes out in one system call.  What the socket does not take stays in the batch; more
 * is appended behind it before the next call.
 *
 * Two sources feed it, by turns at message boundaries: the send queue, in posting order, and the
 * responses to the peer's RDMA Reads.  A message once begun is finished before another starts
 * (RFC 5041: the segments of different messages are not mixed).
 *
 * A work request waits at the head of the queue
 *   - with FABRIC_WR_FENCE, until all our Reads are answered,
 *   - for a Read, until fewer than ORD are out,
 *   - on the responder's side, until the initiator's first FPDU has come (RFC 5044 section 7.1).
 * Binds and local invalidations are carried out when their turn comes.
 *
 * Ownership.  Memory of a work request belongs to us until its completion.  Memory a Read Request
 * names belongs to the region: it is held (stag.h) around each call that touches it, and if its key
 * has ended meanwhile the connection ends, since half an FPDU cannot be taken back.
 *
 * With CRC on, the sum is computed when the FPDU is built.  Changing the memory of a region while
 * the peer reads it then shows as a CRC error at the peer, where without CRC it would be a torn
 * read.
 */
#include <errno.h>

#include "transport/iwarp/crc.h"
#include "transport/iwarp/internal.h"

#define NUDGE_NS (30 * UTIL_NS_PER_MS)

/* ---- the batch -------------------------------------------------------------------------- */

static void push(struct iwarp_tx *tx, void *base, size_t len)
{
	struct iovec *last = tx->iov + tx->iov_count;

	tx->built += len;
	if (tx->iov_count > tx->iov_first) {
		last--;
		if ((uint8_t *)last->iov_base + last->iov_len == (uint8_t *)base) {
			last->iov_len += len;
			return;
		}
	}
	tx->iov[tx->iov_count++] = (struct iovec){.iov_base = base, .iov_len = len};
}

static uint8_t *meta_end(struct iwarp_tx *tx)
{
	return tx->meta + tx->meta_len;
}

static void push_meta(struct iwarp_tx *tx, size_t len)
{
	push(tx, meta_end(tx), len);
	tx->meta_len += (uint32_t)len;
}

static bool batch_empty(const struct iwarp_tx *tx)
{
	return tx->iov_first == tx->iov_count;
}

static bool batch_has_room(const struct iwarp_conn *conn)
{
	const struct iwarp_tx *tx = &conn->tx;
	uint32_t ahead = conn->crc ? IWARP_TX_AHEAD_CRC : IWARP_TX_AHEAD;

	return tx->fpdu_count < IWARP_TX_FPDUS &&
	       tx->iov_count + IWARP_MAX_SGE + 2 <= IWARP_TX_IOVS &&
	       tx->meta_len + IWARP_TX_META_MAX <= IWARP_TX_META && tx->built - tx->sent < ahead;
}

/* Length field and header of an FPDU into meta; returns their number of bytes. */
static size_t put_header(struct iwarp_conn *conn, const struct iwarp_ddp *ddp, size_t payload_len)
{
	uint8_t *p = meta_end(&conn->tx);
	size_t header_len = iwarp_ddp_encode(ddp, p + IWARP_MPA_LEN_SIZE);

	util_put_be16(p, (uint16_t)(header_len + payload_len));
	return IWARP_MPA_LEN_SIZE + header_len;
}

/* Pad and CRC of an FPDU whose length field, ULPDU and crc so far are given. */
static void push_trailer(struct iwarp_conn *conn, size_t ulpdu_len, uint32_t crc)
{
	struct iwarp_tx *tx = &conn->tx;
	unsigned pad = iwarp_mpa_pad(ulpdu_len);
	uint8_t *p = meta_end(tx);

	memset(p, 0, pad + IWARP_MPA_CRC_SIZE);
	if (conn->crc) {
		crc = iwarp_crc_add(crc, p, pad);
		iwarp_crc_put(p + pad, iwarp_crc_finish(crc));
	}
	push_meta(tx, pad + IWARP_MPA_CRC_SIZE);
	tx->fpdu_end[tx->fpdu_count++] = tx->built;
}

static uint32_t crc_piece(const struct iwarp_conn *conn, uint32_t crc, const void *p, size_t len)
{
	return conn->crc ? iwarp_crc_add(crc, p, len) : crc;
}

/* ---- FPDUs of work requests ------------------------------------------------------------- */

/* Push the next len bytes the work request's SGEs name. */
static uint32_t push_payload(struct iwarp_conn *conn, size_t len, uint32_t crc)
{
	struct iwarp_tx *tx = &conn->tx;
	const struct iwarp_swr *swr = tx->swr;

	while (len > 0) {
		const struct fabric_sge *sge = &swr->sge[tx->sge];
		size_t n = sge->len - tx->sge_off;

		if (n > len)
			n = len;
		if (n) {
			uint8_t *p = (uint8_t *)sge->ptr + tx->sge_off;

			push(tx, p, n);
			crc = crc_piece(conn, crc, p, n);
		}
		tx->sge_off += (uint32_t)n;
		len -= n;
		if (tx->sge_off == sge->len) {
			tx->sge++;
			tx->sge_off = 0;
		}
	}
	return crc;
}

static void fill_untagged(struct iwarp_conn *conn, struct iwarp_ddp *ddp, enum iwarp_queue qn)
{
	ddp->qn = qn;
	ddp->msn = conn->tx.msn[qn];
	ddp->mo = (uint32_t)conn->tx.off;
}

/* The header of the current work request's next segment, but for the last bit. */
static struct iwarp_ddp swr_header(struct iwarp_conn *conn, const struct iwarp_swr *swr)
{
	bool solicited = swr->flags & FABRIC_WR_SOLICITED;
	struct iwarp_ddp ddp = {0};

	if (swr->op == FABRIC_OP_WRITE) {
		ddp.tagged = true;
		ddp.opcode = IWARP_OPCODE_WRITE;
		ddp.stag = swr->remote_rkey;
		ddp.to = swr->remote_iova + conn->tx.off;
		return ddp;
	}
	if (swr->op == FABRIC_OP_SEND_INV) {
		ddp.opcode = solicited ? IWARP_OPCODE_SEND_SE_INV : IWARP_OPCODE_SEND_INV;
		ddp.stag = swr->remote_rkey;
	} else {
		ddp.opcode = solicited ? IWARP_OPCODE_SEND_SE : IWARP_OPCODE_SEND;
	}
	fill_untagged(conn, &ddp, IWARP_QN_SEND);
	return ddp;
}

/* One segment of a Send or Write. */
static void build_swr_segment(struct iwarp_conn *conn)
{
	struct iwarp_tx *tx = &conn->tx;
	struct iwarp_swr *swr = tx->swr;
	struct iwarp_ddp ddp = swr_header(conn, swr);
	size_t header_len = ddp.tagged ? IWARP_DDP_TAGGED_LEN : IWARP_DDP_UNTAGGED_LEN;
	uint64_t left = swr->len - tx->off;
	size_t len = tx->max_ulpdu - header_len;
	uint32_t crc;

	if (len >= left) {
		len = (size_t)left;
		ddp.last = true;
	}
	header_len = put_header(conn, &ddp, len);
	crc = crc_piece(conn, IWARP_CRC_INIT, meta_end(tx), header_len);
	push_meta(tx, header_len);
	crc = push_payload(conn, len, crc);
	push_trailer(conn, header_len - IWARP_MPA_LEN_SIZE + len, crc);
	tx->off += len;
	if (!ddp.last)
		return;
	if (!ddp.tagged)
		tx->msn[IWARP_QN_SEND]++;
	swr->end = tx->built;
	swr->state = IWARP_SWR_BUILT;
	tx->kind = IWARP_TX_NONE;
}

/* An FPDU that lies in meta as a whole: header and a short payload. */
static void build_control(struct iwarp_conn *conn, const struct iwarp_ddp *ddp,
			  const uint8_t *payload, size_t len)
{
	struct iwarp_tx *tx = &conn->tx;
	size_t header_len = put_header(conn, ddp, len);
	uint32_t crc;

	if (len)
		memcpy(meta_end(tx) + header_len, payload, len);
	crc = crc_piece(conn, IWARP_CRC_INIT, meta_end(tx), header_len + len);
	push_meta(tx, header_len + len);
	push_trailer(conn, header_len - IWARP_MPA_LEN_SIZE + len, crc);
}

static void build_read_request(struct iwarp_conn *conn, struct iwarp_swr *swr)
{
	const struct iwarp_read_request request = {
		.sink_stag = swr->sge[0].lkey,
		.sink_to = swr->sge[0].iova,
		.len = swr->sge[0].len,
		.source_stag = swr->remote_rkey,
		.source_to = swr->remote_iova,
	};
	struct iwarp_ddp ddp = {.opcode = IWARP_OPCODE_READ_REQUEST, .last = true};
	uint8_t payload[IWARP_READ_REQUEST_LEN];

	conn->tx.off = 0;
	fill_untagged(conn, &ddp, IWARP_QN_READ_REQUEST);
	iwarp_read_request_encode(&request, payload);
	build_control(conn, &ddp, payload, sizeof(payload));
	conn->tx.msn[IWARP_QN_READ_REQUEST]++;
	swr->end = conn->tx.built;
	swr->state = IWARP_SWR_READING;
}

/* ---- FPDUs of responses ----------------------------------------------------------------- */

static enum iwarp_denial hold_source(struct iwarp_conn *conn, const struct iwarp_response *response,
				     uint64_t off, uint64_t len, struct iwarp_hold *hold)
{
	const struct iwarp_access access = {
		.stag = response->request.source_stag,
		.to = response->request.source_to + off,
		.len = len,
		.right = IWARP_RIGHT_READ,
		.domain = conn->cq->domain,
		.conn = conn->serial,
	};

	return iwarp_hold_to_read(conn, &access, len, hold);
}

/* One segment of a Read Response; false when its source is gone. */
static bool build_response_segment(struct iwarp_conn *conn)
{
	struct iwarp_tx *tx = &conn->tx;
	struct iwarp_response *response = tx->response;
	uint64_t left = response->request.len - tx->off;
	struct iwarp_ddp ddp = {
		.tagged = true,
		.opcode = IWARP_OPCODE_READ_RESPONSE,
		.stag = response->request.sink_stag,
		.to = response->request.sink_to + tx->off,
	};
	size_t len = tx->max_ulpdu - IWARP_DDP_TAGGED_LEN, header_len;
	struct iwarp_hold hold;
	uint32_t crc;

	if (len >= left) {
		len = (size_t)left;
		ddp.last = true;
	}
	if (len && hold_source(conn, response, tx->off, len, &hold) != IWARP_GRANTED)
		return false;
	header_len = put_header(conn, &ddp, len);
	crc = crc_piece(conn, IWARP_CRC_INIT, meta_end(tx), header_len);
	push_meta(tx, header_len);
	if (len) {
		push(tx, hold.ptr, len);
		crc = crc_piece(conn, crc, hold.ptr, len);
		iwarp_stags_release(&hold);
	}
	push_trailer(conn, header_len - IWARP_MPA_LEN_SIZE + len, crc);
	tx->off += len;
	if (ddp.last) {
		response->end = tx->built;
		tx->kind = IWARP_TX_NONE;
	}
	return true;
}

/* ---- what to send next ------------------------------------------------------------------ */

static bool must_wait(const struct iwarp_conn *conn, const struct iwarp_swr *swr)
{
	if ((swr->flags & FABRIC_WR_FENCE) && conn->sq.reads)
		return true;
	if (swr->op == FABRIC_OP_READ && conn->sq.reads >= conn->ord)
		return true;
	if (swr->op == FABRIC_OP_BIND || swr->op == FABRIC_OP_LOCAL_INV)
		return false;
	return !conn->initiator && !conn->rx.first_done;
}

/* The sink must be a key of ours, because it goes on the wire. */
static bool sink_is_valid(struct iwarp_conn *conn, const struct iwarp_swr *swr)
{
	const struct iwarp_access access = {
		.stag = swr->sge[0].lkey,
		.to = swr->sge[0].iova,
		.len = swr->sge[0].len,
		.right = IWARP_RIGHT_SINK,
		.domain = conn->cq->domain,
		.conn = conn->serial,
	};
	struct iwarp_hold hold;

	if (iwarp_stags_hold(conn->fabric->stags, &access, &hold) != IWARP_GRANTED)
		return false;
	iwarp_stags_release(&hold);
	return true;
}

static void start_read(struct iwarp_conn *conn, struct iwarp_swr *swr)
{
	struct iwarp_sq *sq = &conn->sq;

	if (swr->len && !sink_is_valid(conn, swr)) {
		iwarp_conn_local_error(conn, swr, FABRIC_WC_LOCAL_PROTECTION,
				       "the target of an RDMA Read is not registered for that");
		return;
	}
	if (!sq->reads++)
		sq->read_first = sq->next - 1;
	build_read_request(conn, swr);
}

static void invalidate_local(struct iwarp_conn *conn, struct iwarp_swr *swr)
{
	struct iwarp_mem mem;

	if (!iwarp_stags_lookup(conn->fabric->stags, swr->remote_rkey, &mem) || !mem.window ||
	    mem.conn != conn->serial) {
		iwarp_conn_local_error(conn, swr, FABRIC_WC_LOCAL_PROTECTION,
				       "a key to invalidate is no window of this connection");
		return;
	}
	iwarp_window_unbind(mem.window);
	swr->state = IWARP_SWR_DONE;
}

/* Take the next work request into hand; false when there is none or it has to wait. */
static bool start_swr(struct iwarp_conn *conn)
{
	struct iwarp_sq *sq = &conn->sq;
	struct iwarp_tx *tx = &conn->tx;
	struct iwarp_swr *swr;

	if (sq->next == sq->tail)
		return false;
	swr = iwarp_sq_slot(sq, sq->next);
	if (must_wait(conn, swr))
		return false;
	sq->next++;
	if (swr->op == FABRIC_OP_READ) {
		start_read(conn, swr);
	} else if (swr->op == FABRIC_OP_LOCAL_INV) {
		invalidate_local(conn, swr);
	} else if (swr->op == FABRIC_OP_BIND) {
		iwarp_window_bind(swr->window, swr->bind_stag, &swr->mem);
		util_list_add(&conn->windows, &swr->window->node);
		swr->state = IWARP_SWR_DONE;
	} else {
		swr->state = IWARP_SWR_BUILDING;
		tx->kind = IWARP_TX_SWR;
		tx->swr = swr;
		tx->off = 0;
		tx->sge = tx->sge_off = 0;
	}
	return true;
}

static bool start_response(struct iwarp_conn *conn)
{
	struct iwarp_responses *r = &conn->responses;
	struct iwarp_tx *tx = &conn->tx;

	if (r->next == r->tail)
		return false;
	tx->kind = IWARP_TX_RESPONSE;
	tx->response = &r->slots[r->next++ % IWARP_RD_MAX];
	tx->off = 0;
	return true;
}

/* By turns, so that neither starves the other. */
static bool start_message(struct iwarp_conn *conn)
{
	conn->tx.turn = !conn->tx.turn;
	if (conn->tx.turn)
		return start_response(conn) || start_swr(conn);
	return start_swr(conn) || start_response(conn);
}

static void build(struct iwarp_conn *conn)
{
	struct iwarp_tx *tx = &conn->tx;

	while (batch_has_room(conn) &&
	       (conn->phase == IWARP_RUNNING || conn->phase == IWARP_DRAINING)) {
		if (tx->kind == IWARP_TX_NONE && !start_message(conn))
			return;
		if (tx->kind == IWARP_TX_SWR)
			build_swr_segment(conn);
		else if (tx->kind == IWARP_TX_RESPONSE && !build_response_segment(conn)) {
			iwarp_conn_fault(conn,
					 conn->iommu_fault.right ? IWARP_FAULT_RDMAP_CATASTROPHIC
								 : IWARP_FAULT_RDMAP_STAG,
					 "memory was withdrawn while the peer was reading it");
			return;
		}
	}
}

/* ---- sending ---------------------------------------------------------------------------- */

/* What bytes [.., sent) complete. */
static void complete_sent(struct iwarp_conn *conn)
{
	struct iwarp_sq *sq = &conn->sq;
	struct iwarp_responses *r = &conn->responses;
	bool any = false;

	for (; sq->sent != sq->next; sq->sent++) {
		struct iwarp_swr *swr = iwarp_sq_slot(sq, sq->sent);

		if (swr->state == IWARP_SWR_BUILDING ||
		    (swr->state == IWARP_SWR_BUILT && swr->end > conn->tx.sent))
			break;
		if (swr->state == IWARP_SWR_BUILT)
			swr->state = IWARP_SWR_DONE;
		any = true;
	}
	while (r->head != r->next && r->slots[r->head % IWARP_RD_MAX].end &&
	       r->slots[r->head % IWARP_RD_MAX].end <= conn->tx.sent)
		r->head++;
	if (any)
		iwarp_cq_announce(conn);
}

/* The socket took n bytes: forget them. */
static void consume(struct iwarp_conn *conn, size_t n)
{
	struct iwarp_tx *tx = &conn->tx;

	tx->sent += n;
	while (tx->iov_first < tx->iov_count && n >= tx->iov[tx->iov_first].iov_len)
		n -= tx->iov[tx->iov_first++].iov_len;
	if (n) {
		struct iovec *iov = &tx->iov[tx->iov_first];

		iov->iov_base = (uint8_t *)iov->iov_base + n;
		iov->iov_len -= n;
	}
	while (tx->fpdu_first < tx->fpdu_count && tx->fpdu_end[tx->fpdu_first] <= tx->sent)
		tx->fpdu_first++;
	if (batch_empty(tx)) {
		tx->iov_first = tx->iov_count = 0;
		tx->fpdu_first = tx->fpdu_count = 0;
		tx->meta_len = 0;
		tx->batch_begin = tx->sent;
	}
}

/* Hold the sources of all responses with bytes in the batch; false when one is gone. */
static bool hold_sources(struct iwarp_conn *conn, struct iwarp_hold *holds, unsigned *np)
{
	struct iwarp_responses *r = &conn->responses;

	*np = 0;
	for (uint32_t i = r->head; i != r->next; i++) {
		const struct iwarp_response *response = &r->slots[i % IWARP_RD_MAX];

		if (!response->request.len)
			continue;
		if (hold_source(conn, response, 0, response->request.len, &holds[*np]) !=
		    IWARP_GRANTED)
			return false;
		++*np;
	}
	return true;
}

static void release_sources(struct iwarp_hold *holds, unsigned n)
{
	while (n)
		iwarp_stags_release(&holds[--n]);
}

/* One call for the whole batch: bytes taken or -errno; -ESTALE when a source is gone. */
static ssize_t send_batch(struct iwarp_conn *conn)
{
	struct iwarp_tx *tx = &conn->tx;
	struct iwarp_hold holds[IWARP_RD_MAX];
	struct msghdr msg = {
		.msg_iov = tx->iov + tx->iov_first,
		.msg_iovlen = tx->iov_count - tx->iov_first,
	};
	unsigned nholds;
	ssize_t n = -ESTALE;

	if (hold_sources(conn, holds, &nholds))
		n = conn->cq->sock->send(conn, &msg);
	release_sources(holds, nholds);
	return n;
}

/* The first work request not yet out cannot be read. */
static void send_faulted(struct iwarp_conn *conn)
{
	struct iwarp_sq *sq = &conn->sq;

	if (sq->sent != sq->next)
		iwarp_conn_local_error(conn, iwarp_sq_slot(sq, sq->sent),
				       FABRIC_WC_LOCAL_PROTECTION,
				       "memory to be sent is not readable");
	else
		iwarp_conn_fault(conn, IWARP_FAULT_RDMAP_CATASTROPHIC,
				 "memory the peer was reading has gone");
}

static void send_failed(struct iwarp_conn *conn, int code)
{
	if (code == -EFAULT)
		send_faulted(conn);
	else if (code == -ESTALE)
		iwarp_conn_fault(conn,
				 conn->iommu_fault.right ? IWARP_FAULT_RDMAP_CATASTROPHIC
							 : IWARP_FAULT_RDMAP_STAG,
				 "memory was withdrawn while the peer was reading it");
	else if (code == -EPIPE || code == -ECONNRESET)
		iwarp_conn_fail(conn, -ECONNRESET, "the peer closed the connection");
	else
		iwarp_conn_fail(conn, code, "send: %s", strerror(-code));
}

/* Send what is built; false when there is nothing more to do now. */
static bool send_some(struct iwarp_conn *conn)
{
	struct iwarp_tx *tx = &conn->tx;
	uint64_t want = tx->built - tx->sent;
	ssize_t n = send_batch(conn);

	if (n < 0 && n != -EAGAIN) {
		send_failed(conn, (int)n);
		return false;
	}
	if (n > 0) {
		conn->cq->counters.bytes_sent += (uint64_t)n;
		consume(conn, (size_t)n);
	}
	complete_sent(conn);
	if (n < 0 || (uint64_t)n < want) {
		tx->blocked = true;
		conn->cq->sock->want_tx(conn);
		return false;
	}
	return true;
}

/* A silent peer that is not one of us may have missed the first Send (see iwarp_tx_nudge()). */
static void plan_nudge(struct iwarp_conn *conn)
{
	if (conn->tx.nudged || !conn->initiator || conn->ours || conn->rx.any || !conn->tx.sent)
		return;
	conn->tx.nudged = true;
	conn->nudge_ns = util_clock_ns() + NUDGE_NS;
	iwarp_cq_retime(conn);
}

void iwarp_tx_progress(struct iwarp_conn *conn)
{
	struct iwarp_tx *tx = &conn->tx;

	while (!tx->blocked && (conn->phase == IWARP_RUNNING || conn->phase == IWARP_DRAINING)) {
		build(conn);
		if (batch_empty(tx)) {
			complete_sent(conn);
			break;
		}
		if (conn->phase == IWARP_CLOSING || conn->phase == IWARP_ENDED || !send_some(conn))
			break;
	}
	plan_nudge(conn);
}

bool iwarp_tx_idle(const struct iwarp_conn *conn)
{
	const struct iwarp_tx *tx = &conn->tx;

	return batch_empty(tx) && tx->kind == IWARP_TX_NONE && conn->sq.next == conn->sq.tail &&
	       conn->responses.next == conn->responses.tail;
}

/* ---- out of turn ------------------------------------------------------------------------ */

/* Cut the batch after the FPDU that is half out, or to nothing when none is. */
static void cut_batch(struct iwarp_tx *tx)
{
	uint64_t begin = tx->fpdu_first ? tx->fpdu_end[tx->fpdu_first - 1] : tx->batch_begin;
	uint64_t end = tx->fpdu_first < tx->fpdu_count ? tx->fpdu_end[tx->fpdu_first] : tx->sent;
	uint64_t keep = begin == tx->sent ? 0 : end - tx->sent;

	for (uint32_t i = tx->iov_first; i < tx->iov_count; i++) {
		if (keep < tx->iov[i].iov_len) {
			tx->iov[i].iov_len = (size_t)keep;
			tx->iov_count = keep ? i + 1 : i;
			break;
		}
		keep -= tx->iov[i].iov_len;
	}
}

void iwarp_tx_terminate(struct iwarp_conn *conn, const struct iwarp_terminate *term)
{
	struct iwarp_tx *tx = &conn->tx;
	struct iwarp_ddp ddp = {.opcode = IWARP_OPCODE_TERMINATE, .last = true};
	uint8_t payload[IWARP_TERMINATE_MAX];

	cut_batch(tx);
	if (batch_empty(tx)) /* no response is half out: there is nothing to hold */
		conn->responses.head = conn->responses.next;
	tx->off = 0;
	fill_untagged(conn, &ddp, IWARP_QN_TERMINATE);
	build_control(conn, &ddp, payload, iwarp_terminate_encode(term, payload));
	send_batch(conn); /* best effort: the connection ends either way */
	tx->iov_first = tx->iov_count = 0;
}

/*
 * The kernel's siw answers a connection request before it listens to the socket: a Send that
 * arrives in between lies there until the next segment comes.  So when the reply to our first
 * message is late we send a segment that does nothing: an RDMA Write of no bytes, whose STag nobody
 * looks at.
 */
void iwarp_tx_nudge(struct iwarp_conn *conn)
{
	struct iwarp_tx *tx = &conn->tx;
	const struct iwarp_ddp ddp = {
		.tagged = true,
		.last = true,
		.opcode = IWARP_OPCODE_WRITE,
	};

	if (conn->phase != IWARP_RUNNING || conn->rx.any || tx->kind != IWARP_TX_NONE ||
	    tx->blocked || !batch_has_room(conn))
		return;
	build_control(conn, &ddp, NULL, 0);
	send_some(conn);
}

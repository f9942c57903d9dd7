/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rx.c - take FPDUs off the socket and put their payload where it belongs.
 *
 * Normal operation.  Bytes are read into the stage, a buffer of 64 KiB, so that one call brings
 * many small messages.  A machine of three states walks over them: header, payload, trailer.  Once
 * a header is there and its destination has been authorised (message.c), what the stage already has
 * of the payload is copied, and the rest is read straight from the socket to its place: one scatter
 * read takes the payload to its destination and what follows it, the trailer and the next header,
 * to the stage; often the FPDUs behind it too (scatter.c).
 *
 * How much such a read lets into the stage is a bet.  Within a message (its last-segment bit not
 * set) another bulky segment follows, so exactly trailer and header are taken; after its last
 * segment a few small messages may follow, so a little more.  When idle, a whole stage is asked
 * for, unless payloads have been bulky lately.
 *
 * Memory that a key names is held (stag.h) around each copy and each read, and authorised anew each
 * time: if the key ends in the middle of a segment, nothing more is written and the connection
 * ends.
 *
 * With CRC on, payload lands before its CRC has been checked, but only inside the authorised range,
 * and nothing completes before the check.  A fault found in a header is kept until the CRC holds: a
 * damaged header must not be mistaken for a peer that breaks rules.
 */
#include <errno.h>

#include "transport/iwarp/crc.h"
#include "transport/iwarp/internal.h"

#define BULK_MIN 16384u	       /* payloads from here on count as bulky */
#define BULK_MEMORY 8	       /* smaller ones after which a bulky one is forgotten */
#define STAGE_AFTER_BULK 4096u /* what to let into the stage then */
#define READS_PER_TURN 16      /* so that other connections get theirs */
#define AHEAD_BYTES (512u << 10) /* what to read on while completions wait */

static uint32_t stage_avail(const struct iwarp_rx *rx)
{
	return rx->tail - rx->head;
}

static bool running(const struct iwarp_conn *conn)
{
	return conn->phase == IWARP_RUNNING || conn->phase == IWARP_DRAINING;
}

/* ---- reading ---------------------------------------------------------------------------- */

uint32_t iwarp_rx_stage_want(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	uint32_t room;

	/* What is left over is less than a header or trailer, so moving it is cheap. */
	if (rx->in + rx->head != rx->stage)
		memmove(rx->stage, rx->in + rx->head, stage_avail(rx));
	rx->in = rx->stage;
	rx->tail -= rx->head;
	rx->head = 0;
	room = IWARP_STAGE_SIZE - rx->tail;
	return rx->bulk && room > STAGE_AFTER_BULK ? STAGE_AFTER_BULK : room;
}

static ssize_t receive(struct iwarp_conn *conn, struct iovec *iov, size_t n)
{
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n};
	ssize_t got = conn->cq->sock->recv(conn, &msg);

	if (got > 0) {
		conn->cq->counters.bytes_received += (uint64_t)got;
		conn->rx.any = true;
	}
	return got;
}

ssize_t iwarp_rx_fill_stage(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	struct iovec iov;
	ssize_t n;

	iov.iov_len = iwarp_rx_stage_want(conn);
	iov.iov_base = rx->stage + rx->tail;
	n = receive(conn, &iov, 1);
	if (n > 0)
		rx->tail += (uint32_t)n;
	return n;
}

/* How much of what follows the current payload to let into the stage. */
static uint32_t lookahead(const struct iwarp_rx *rx)
{
	if (rx->ddp.tagged && !rx->ddp.last)
		return rx->pad + IWARP_MPA_CRC_SIZE + IWARP_MPA_LEN_SIZE + IWARP_DDP_TAGGED_LEN;
	return STAGE_AFTER_BULK;
}

/* n payload bytes have arrived at dest. */
static void placed(struct iwarp_conn *conn, size_t n)
{
	struct iwarp_rx *rx = &conn->rx;

	if (conn->crc)
		rx->crc = iwarp_crc_add(rx->crc, rx->dest, n);
	rx->dest += n;
	rx->left -= (uint32_t)n;
	if (!rx->left)
		rx->state = IWARP_RX_TRAILER;
}

/* Where the rest of the payload goes, held if it is a key's memory; touched bytes of it come now. */
static bool hold_dest(struct iwarp_conn *conn, size_t touched, struct iwarp_hold *hold)
{
	struct iwarp_rx *rx = &conn->rx;
	uint64_t to = rx->ddp.to + (rx->payload_len - rx->left);

	if (!rx->dest_remote)
		return true;
	if (iwarp_message_hold(conn, to, rx->left, touched, hold) != IWARP_GRANTED)
		return false;
	rx->dest = hold->ptr;
	return true;
}

static void release_dest(struct iwarp_conn *conn, struct iwarp_hold *hold)
{
	if (conn->rx.dest_remote)
		iwarp_stags_release(hold);
}

static void dest_gone(struct iwarp_conn *conn)
{
	iwarp_conn_fault(conn,
			 conn->iommu_fault.right ? IWARP_FAULT_RDMAP_CATASTROPHIC
						 : IWARP_FAULT_TAGGED_STAG,
			 "memory was withdrawn while being written");
}

/* ---- the machine ------------------------------------------------------------------------ */

/* Needs length field and header in one piece; false when more bytes are needed or all is over. */
static bool take_header(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	const uint8_t *p = rx->in + rx->head;
	size_t header_len;

	if (stage_avail(rx) < IWARP_MPA_LEN_SIZE + 1)
		return false;
	rx->ulpdu_len = util_get_be16(p);
	header_len = iwarp_ddp_header_len(p[IWARP_MPA_LEN_SIZE], rx->ulpdu_len);
	if (!header_len) {
		rx->header_len = 0;
		iwarp_conn_fault(conn, IWARP_FAULT_DDP_CATASTROPHIC,
				 "a segment too short for its header");
		return false;
	}
	if (stage_avail(rx) < IWARP_MPA_LEN_SIZE + header_len)
		return false;
	memcpy(rx->header, p + IWARP_MPA_LEN_SIZE, header_len);
	rx->header_len = (uint8_t)header_len;
	rx->payload_len = rx->left = (uint32_t)(rx->ulpdu_len - header_len);
	rx->pad = iwarp_mpa_pad(rx->ulpdu_len);
	if (rx->payload_len >= BULK_MIN)
		rx->bulk = BULK_MEMORY;
	else if (rx->bulk)
		rx->bulk--;
	if (conn->crc)
		rx->crc = iwarp_crc_add(IWARP_CRC_INIT, p, IWARP_MPA_LEN_SIZE + header_len);
	rx->head += (uint32_t)(IWARP_MPA_LEN_SIZE + header_len);
	rx->state = rx->left ? IWARP_RX_PAYLOAD : IWARP_RX_TRAILER;
	rx->dest = NULL;
	rx->dest_remote = false;
	rx->fault = iwarp_ddp_decode(&rx->ddp, rx->header);
	if (!rx->fault)
		rx->fault = iwarp_message_begin(conn);
	if (rx->fault)
		rx->dest = NULL;
	if (rx->fault && !conn->crc) {
		iwarp_message_fault(conn, rx->fault);
		return false;
	}
	return true;
}

/* Copy what the stage has of the payload. */
static bool take_payload(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	size_t n = stage_avail(rx) < rx->left ? stage_avail(rx) : rx->left;
	struct iwarp_hold hold;

	if (!n)
		return false;
	if (rx->fault) { /* nowhere to put it: only the CRC matters now */
		rx->crc = iwarp_crc_add(rx->crc, rx->in + rx->head, n);
		rx->left -= (uint32_t)n;
		if (!rx->left)
			rx->state = IWARP_RX_TRAILER;
	} else {
		if (!hold_dest(conn, n, &hold)) {
			dest_gone(conn);
			return false;
		}
		memcpy(rx->dest, rx->in + rx->head, n);
		placed(conn, n);
		release_dest(conn, &hold);
	}
	rx->head += (uint32_t)n;
	return true;
}

static bool take_trailer(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	const uint8_t *p = rx->in + rx->head;

	if (stage_avail(rx) < rx->pad + IWARP_MPA_CRC_SIZE)
		return false;
	rx->head += rx->pad + IWARP_MPA_CRC_SIZE;
	rx->state = IWARP_RX_HEADER;
	if (conn->crc) {
		uint32_t crc = iwarp_crc_finish(iwarp_crc_add(rx->crc, p, rx->pad));

		if (crc != iwarp_crc_get(p + rx->pad))
			rx->fault = IWARP_FAULT_MPA_CRC;
	}
	if (!rx->fault)
		rx->fault = iwarp_message_end(conn);
	if (rx->fault) {
		iwarp_message_fault(conn, rx->fault);
		return false;
	}
	rx->first_done = true;
	return running(conn);
}

/* Walk over what the stage holds. */
static void walk(struct iwarp_conn *conn)
{
	bool more = true;

	while (more && running(conn)) {
		switch (conn->rx.state) {
		case IWARP_RX_HEADER:
			more = take_header(conn);
			break;
		case IWARP_RX_PAYLOAD:
			more = take_payload(conn);
			break;
		case IWARP_RX_TRAILER:
			more = take_trailer(conn);
			break;
		}
	}
}

/* ---- scatter reads ---------------------------------------------------------------------- */

/* The machine has come to a payload that lies at its place already, n bytes of it. */
static void take_foreseen(struct iwarp_conn *conn, const uint8_t *dest, uint32_t len, size_t n)
{
	struct iwarp_rx *rx = &conn->rx;
	struct iwarp_hold hold;

	if (rx->fault || rx->state != IWARP_RX_PAYLOAD || rx->dest != dest || rx->left != len) {
		iwarp_message_fault(conn, rx->fault ? rx->fault : IWARP_FAULT_TAGGED_STAG);
	} else if (n > 0 && !conn->crc) {
		placed(conn, n);
	} else if (n > 0) {
		if (!hold_dest(conn, n, &hold)) {
			dest_gone(conn);
			return;
		}
		placed(conn, n);
		release_dest(conn, &hold);
	}
}

/* n bytes came behind the payload in hand: walk over the FPDUs foreseen. */
static void walk_foreseen(struct iwarp_conn *conn, const struct iwarp_scatter *sc, size_t n)
{
	struct iwarp_rx *rx = &conn->rx;
	const uint8_t *dest = sc->dest;

	rx->in = rx->stage;
	rx->head = rx->tail = 0;
	for (uint32_t i = 0; i < sc->n && n > 0; i++) {
		size_t gap = n < sc->gap ? n : sc->gap, mine;

		rx->head = i * sc->gap;
		rx->tail = rx->head + (uint32_t)gap;
		n -= gap;
		if (gap < sc->gap)
			return;
		walk(conn);
		if (!running(conn))
			return;
		mine = n < sc->len[i] ? n : sc->len[i];
		take_foreseen(conn, dest, sc->len[i], mine);
		if (!running(conn))
			return;
		dest += sc->len[i];
		n -= mine;
	}
	if (sc->spilled) {
		rx->in = rx->spill;
		rx->head = 0;
	} else if (n > 0) {
		rx->head = sc->n * sc->gap;
	} else {
		return;
	}
	rx->tail = rx->head + (uint32_t)n;
}

/* Payload to its place, what follows to the (empty) stage. */
static ssize_t read_direct(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	struct iwarp_scatter sc;
	size_t mine = 0;
	int err = 0;
	ssize_t n;

	if (!iwarp_scatter_plan(conn, &sc, lookahead(rx))) {
		dest_gone(conn);
		return -ESTALE;
	}
	rx->in = rx->stage;
	rx->head = rx->tail = 0;
	n = receive(conn, sc.iov, sc.niov);
	if (n > 0) {
		mine = (size_t)n < rx->left ? (size_t)n : rx->left;
		placed(conn, mine);
		err = iwarp_scatter_check(conn, &sc, (size_t)n - mine);
	}
	if (sc.held)
		iwarp_stags_release(&sc.hold);
	if (err)
		iwarp_conn_fail(conn, err, "receive: out of memory");
	else if (n > 0)
		walk_foreseen(conn, &sc, (size_t)n - mine);
	return n;
}

/* ---- progress --------------------------------------------------------------------------- */

static void end_of_file(struct iwarp_conn *conn)
{
	if (conn->rx.state == IWARP_RX_HEADER && !stage_avail(&conn->rx))
		iwarp_conn_close(conn);
	else
		iwarp_conn_fail(conn, -ECONNRESET,
				"the peer closed the connection in the middle of a message");
}

/* The read said n <= 0. */
static void no_bytes(struct iwarp_conn *conn, ssize_t n)
{
	if (n == -EAGAIN || !running(conn))
		return;
	if (n == 0)
		end_of_file(conn);
	else if (n == -EFAULT)
		iwarp_conn_fault(conn, IWARP_FAULT_RDMAP_CATASTROPHIC,
				 "memory to be written has gone");
	else if (n == -ECONNRESET || n == -EPIPE)
		iwarp_conn_fail(conn, -ECONNRESET, "the peer reset the connection");
	else
		iwarp_conn_fail(conn, (int)n, "receive: %s", strerror((int)-n));
}

void iwarp_rx_progress(struct iwarp_conn *conn)
{
	struct iwarp_rx *rx = &conn->rx;
	uint32_t ahead = 0;

	walk(conn);
	for (int i = 0; i < READS_PER_TURN && conn->sock.rx_ready && running(conn); i++) {
		bool direct =
			rx->state == IWARP_RX_PAYLOAD && rx->left >= IWARP_DIRECT_MIN && !rx->fault;
		ssize_t n = direct ? read_direct(conn) : iwarp_rx_fill_stage(conn);

		if (n <= 0) {
			no_bytes(conn, n);
			break;
		}
		walk(conn);
		/* Completions first: the caller may have something to send.  Yet who gets several at a
		 * time sends several with one doorbell. */
		if (!util_list_empty(&conn->done_node) && (ahead += (uint32_t)n) >= AHEAD_BYTES)
			break;
	}
	if (rx->any && conn->nudge_ns) {
		conn->nudge_ns = 0;
		iwarp_cq_retime(conn);
	}
}

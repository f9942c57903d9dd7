/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scatter.c - one read for several FPDUs.
 *
 * Normal operation.  A message longer than an FPDU comes as segments of one size, the last
 * excepted, at addresses that follow each other.  Where the message ends is known too: a Read
 * Response fills what was asked for, and an RDMA Write the range its owner told us about
 * (iwarp_expect()).  So when one header is there, the places of the following headers in the byte
 * stream can be foreseen, and one scatter read takes them all: payload to its place, what lies
 * between payloads, a trailer and the next header, to the stage.
 *
 *     socket   payload 0 | trailer, header 1 | payload 1 | trailer, header 2 | payload 2 | ...
 *     memory   dest                            + len 0                         + len 0 + len 1
 *     stage              | gap 1             |           | gap 2             |           | what
 * follows
 *
 * Nothing foreseen is trusted.  Each header passes through the machine of rx.c like any other
 * before its payload counts.  Where the bytes are not the header foreseen, what was read from there
 * on is gathered in the spill, the machine goes on from that, and foresight rests for a while: such
 * a peer cuts its messages in another way.
 *
 * What is touched.  Only memory of the key that the segment in hand was authorised for, and in it
 * only the range that the message may still fill.  If the message turns out to be shorter, bytes of
 * what came after it lie in the rest of that range, which nobody uses until its owner has said that
 * it is no longer expected: see conn_expect() in fabric.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/iwarp/internal.h"

#define FORESEEN_BYTES (512u << 10) /* payload one read may take */
#define WARY_READS 64u		    /* reads without foresight after it was wrong */
#define EXPECT_MIN 4096u	    /* ranges smaller than this come in one FPDU */

/* ---- what the owner expects ------------------------------------------------------------- */

void iwarp_expect(struct fabric_conn *base, uint64_t iova, uint32_t len)
{
	struct iwarp_rx *rx = &iwarp_conn_of(base)->rx;

	if (len < EXPECT_MIN || iova + len < iova || rx->nexpected == IWARP_EXPECTED_MAX)
		return;
	rx->expected[rx->nexpected++] = (struct iwarp_range){.iova = iova, .len = len};
}

void iwarp_unexpect(struct fabric_conn *base, uint64_t iova)
{
	struct iwarp_rx *rx = &iwarp_conn_of(base)->rx;

	for (uint32_t i = 0; i < rx->nexpected; i++) {
		if (rx->expected[i].iova == iova) {
			rx->expected[i] = rx->expected[--rx->nexpected];
			return;
		}
	}
}

/* Bytes the current message may bring behind the segment in hand. */
static uint64_t bytes_behind(const struct iwarp_conn *conn)
{
	const struct iwarp_rx *rx = &conn->rx;
	uint64_t next = rx->ddp.to + rx->payload_len;

	if (rx->ddp.opcode == IWARP_OPCODE_READ_RESPONSE) {
		const struct iwarp_swr *swr = iwarp_sq_slot(&conn->sq, conn->sq.read_first);

		return swr->len - swr->received - rx->payload_len;
	}
	for (uint32_t i = 0; i < rx->nexpected; i++) {
		uint64_t off = next - rx->expected[i].iova;

		if (off < rx->expected[i].len)
			return rx->expected[i].len - off;
	}
	return 0;
}

/* ---- before the read -------------------------------------------------------------------- */

static bool foresight(struct iwarp_rx *rx)
{
	if (!rx->ddp.tagged || rx->ddp.last || rx->payload_len < IWARP_DIRECT_MIN)
		return false;
	if (rx->wary)
		rx->wary--;
	return rx->wary == 0;
}

/* Lay out the segments behind the one in hand; the payload bytes of all of them. */
static uint64_t foresee(struct iwarp_conn *conn, struct iwarp_scatter *sc)
{
	struct iwarp_rx *rx = &conn->rx;
	uint64_t sum = 0;

	sc->behind = foresight(rx) ? bytes_behind(conn) : 0;
	while (sc->behind && sc->n < IWARP_SCATTER_MAX && rx->left + sum < FORESEEN_BYTES) {
		uint32_t len = rx->payload_len;

		if (len > sc->behind)
			len = (uint32_t)sc->behind;
		sc->len[sc->n++] = len;
		sc->behind -= len;
		sum += len;
	}
	return sum;
}

static void add_iov(struct iwarp_scatter *sc, void *base, size_t len)
{
	sc->iov[sc->niov++] = (struct iovec){.iov_base = base, .iov_len = len};
}

bool iwarp_scatter_plan(struct iwarp_conn *conn, struct iwarp_scatter *sc, uint32_t lookahead)
{
	struct iwarp_rx *rx = &conn->rx;
	uint64_t to = rx->ddp.to + (rx->payload_len - rx->left), sum;
	uint8_t *dest;

	sc->n = sc->niov = 0;
	sc->held = false;
	sc->gap = rx->pad + IWARP_MPA_CRC_SIZE + IWARP_MPA_LEN_SIZE + IWARP_DDP_TAGGED_LEN;
	sum = foresee(conn, sc);
	if (rx->dest_remote) {
		/* A message that would leave its region is the machine's to judge. */
		if (sum && iwarp_message_hold(conn, to, rx->left + sum, rx->left + sum, &sc->hold))
			sum = sc->n = 0;
		if (!sum && iwarp_message_hold(conn, to, rx->left, rx->left, &sc->hold))
			return false;
		sc->held = true;
		rx->dest = sc->hold.ptr;
	}
	dest = rx->dest;
	sc->dest = dest + rx->left;
	add_iov(sc, dest, rx->left);
	dest += rx->left;
	for (uint32_t i = 0; i < sc->n; i++) {
		add_iov(sc, rx->stage + (size_t)i * sc->gap, sc->gap);
		add_iov(sc, dest, sc->len[i]);
		dest += sc->len[i];
	}
	/* Where more of the message follows, exactly the next header. */
	add_iov(sc, rx->stage + (size_t)sc->n * sc->gap, sc->n && sc->behind ? sc->gap : lookahead);
	return true;
}

/* ---- after the read --------------------------------------------------------------------- */

/* Is what lies in the i-th gap the header foreseen?  A response that does not end where it must is
 * the machine's to judge, once its CRC has been checked. */
static bool as_foreseen(const struct iwarp_conn *conn, const struct iwarp_scatter *sc, uint32_t i,
			uint64_t to)
{
	const struct iwarp_rx *rx = &conn->rx;
	const uint8_t *p =
		rx->stage + (size_t)(i + 1) * sc->gap - IWARP_MPA_LEN_SIZE - IWARP_DDP_TAGGED_LEN;
	bool ends = i + 1 == sc->n && sc->behind == 0;
	struct iwarp_ddp ddp;

	return util_get_be16(p) == IWARP_DDP_TAGGED_LEN + sc->len[i] &&
	       iwarp_ddp_header_len(p[IWARP_MPA_LEN_SIZE], util_get_be16(p)) ==
		       IWARP_DDP_TAGGED_LEN &&
	       iwarp_ddp_decode(&ddp, p + IWARP_MPA_LEN_SIZE) == IWARP_OK &&
	       ddp.opcode == rx->ddp.opcode && ddp.stag == rx->ddp.stag && ddp.to == to &&
	       (ddp.opcode == IWARP_OPCODE_WRITE || ddp.last == ends);
}

/* All n bytes from the i-th gap on, in the order they came, to the spill. */
static int gather(struct iwarp_conn *conn, const struct iwarp_scatter *sc, uint32_t i, size_t n)
{
	struct iwarp_rx *rx = &conn->rx;
	uint8_t *out;

	if (!rx->spill)
		rx->spill = malloc(FORESEEN_BYTES + UINT16_MAX + IWARP_STAGE_SIZE);
	out = rx->spill;
	if (!out)
		return -ENOMEM;
	for (uint32_t k = 1 + 2 * i; n > 0; k++) {
		size_t piece = n < sc->iov[k].iov_len ? n : sc->iov[k].iov_len;

		memcpy(out, sc->iov[k].iov_base, piece);
		out += piece;
		n -= piece;
	}
	rx->wary = WARY_READS;
	return 0;
}

int iwarp_scatter_check(struct iwarp_conn *conn, struct iwarp_scatter *sc, size_t n)
{
	uint64_t to = conn->rx.ddp.to + conn->rx.payload_len;

	sc->spilled = 0;
	for (uint32_t i = 0; i < sc->n && n >= sc->gap; i++) {
		if (!as_foreseen(conn, sc, i, to)) {
			sc->n = i;
			sc->spilled = n;
			return gather(conn, sc, i, n);
		}
		n -= sc->gap;
		n -= n < sc->len[i] ? n : sc->len[i];
		to += sc->len[i];
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpa.c - MPA start-up frames and FPDU geometry (RFC 5044 sections 4 and 7, RFC 6581).
 *
 * A start-up frame is a 16-byte key, a byte of flags, a revision, the length of the private data
 * and the private data itself.  With the S flag (revision 2) the private data begins with two
 * words: IRD with the bits A and B, ORD with the bits C and D.
 *
 * Nothing here decides policy: which revisions, marker and CRC settings are acceptable is the
 * business of startup.c and listen.c.
 */
#include <errno.h>
#include <string.h>

#include "transport/iwarp/mpa.h"
#include "util/util.h"

#define KEY_LEN 16

#define FLAG_MARKERS 0x80
#define FLAG_CRC 0x40
#define FLAG_REJECT 0x20
#define FLAG_ENHANCED 0x10

#define WORD_HIGH 0x8000 /* A in the IRD word, C in the ORD word */
#define WORD_LOW 0x4000	 /* B in the IRD word, D in the ORD word */

#define ULPDU_MIN_MAX 128 /* RFC 5044 section 4.5: MULPDU is at least this */

static const char *frame_key(enum iwarp_mpa_kind kind)
{
	return kind == IWARP_MPA_REQUEST ? "MPA ID Req Frame" : "MPA ID Rep Frame";
}

static int decode_enhanced(struct iwarp_mpa_frame *frame)
{
	uint16_t ird, ord;

	if (frame->private_len < IWARP_MPA_ENHANCED_LEN)
		return -EMSGSIZE;
	ird = util_get_be16(frame->private_data);
	ord = util_get_be16(frame->private_data + 2);
	frame->ird = ird & IWARP_MPA_RD_ANY;
	frame->ord = ord & IWARP_MPA_RD_ANY;
	frame->peer_to_peer = ird & WORD_HIGH;
	frame->rtr_send = ird & WORD_LOW;
	frame->rtr_write = ord & WORD_HIGH;
	frame->rtr_read = ord & WORD_LOW;
	frame->private_data += IWARP_MPA_ENHANCED_LEN;
	frame->private_len -= IWARP_MPA_ENHANCED_LEN;
	return 0;
}

ssize_t iwarp_mpa_decode(struct iwarp_mpa_frame *frame, enum iwarp_mpa_kind kind,
			 const uint8_t *buf, size_t len)
{
	size_t total;
	int err;

	if (memcmp(buf, frame_key(kind), len < KEY_LEN ? len : KEY_LEN) != 0)
		return -EBADMSG;
	if (len < IWARP_MPA_HEADER_LEN)
		return -EAGAIN;
	memset(frame, 0, sizeof(*frame));
	frame->kind = kind;
	frame->markers = buf[KEY_LEN] & FLAG_MARKERS;
	frame->crc = buf[KEY_LEN] & FLAG_CRC;
	frame->reject = buf[KEY_LEN] & FLAG_REJECT;
	frame->revision = buf[KEY_LEN + 1];
	frame->enhanced = (buf[KEY_LEN] & FLAG_ENHANCED) && frame->revision >= 2;
	frame->private_len = util_get_be16(buf + KEY_LEN + 2);
	if (frame->private_len > IWARP_MPA_PRIVATE_MAX)
		return -EMSGSIZE;
	total = IWARP_MPA_HEADER_LEN + frame->private_len;
	if (len < total)
		return -EAGAIN;
	frame->private_data = buf + IWARP_MPA_HEADER_LEN;
	if (frame->enhanced) {
		err = decode_enhanced(frame);
		if (err)
			return err;
	}
	return (ssize_t)total;
}

static void encode_enhanced(const struct iwarp_mpa_frame *frame, uint8_t *p)
{
	unsigned ird = frame->ird & IWARP_MPA_RD_ANY, ord = frame->ord & IWARP_MPA_RD_ANY;

	ird |= (frame->peer_to_peer ? WORD_HIGH : 0) | (frame->rtr_send ? WORD_LOW : 0);
	ord |= (frame->rtr_write ? WORD_HIGH : 0) | (frame->rtr_read ? WORD_LOW : 0);
	util_put_be16(p, (uint16_t)ird);
	util_put_be16(p + 2, (uint16_t)ord);
}

size_t iwarp_mpa_encode(const struct iwarp_mpa_frame *frame, uint8_t *buf)
{
	size_t extra = frame->enhanced ? IWARP_MPA_ENHANCED_LEN : 0;
	uint8_t *p = buf + IWARP_MPA_HEADER_LEN;

	if (frame->private_len > IWARP_MPA_PRIVATE_MAX - extra)
		return 0;
	memcpy(buf, frame_key(frame->kind), KEY_LEN);
	buf[KEY_LEN] = (uint8_t)((frame->markers ? FLAG_MARKERS : 0) | (frame->crc ? FLAG_CRC : 0) |
				 (frame->reject ? FLAG_REJECT : 0) |
				 (frame->enhanced ? FLAG_ENHANCED : 0));
	buf[KEY_LEN + 1] = frame->revision;
	util_put_be16(buf + KEY_LEN + 2, (uint16_t)(frame->private_len + extra));
	if (frame->enhanced)
		encode_enhanced(frame, p);
	if (frame->private_len)
		memcpy(p + extra, frame->private_data, frame->private_len);
	return IWARP_MPA_HEADER_LEN + extra + frame->private_len;
}

/* "nfr", a version, two bytes of zero, the longest ULPDU. */
static const uint8_t mark_magic[6] = {0x6e, 0x66, 0x72, 0x01, 0x00, 0x00};

void iwarp_mark_put(uint8_t *p, uint16_t max_ulpdu)
{
	memcpy(p, mark_magic, sizeof(mark_magic));
	util_put_be16(p + sizeof(mark_magic), max_ulpdu);
}

uint16_t iwarp_mark_find(const uint8_t *private_data, size_t len)
{
	const uint8_t *p;

	if (len < IWARP_MARK_LEN)
		return 0;
	p = private_data + len - IWARP_MARK_LEN;
	if (memcmp(p, mark_magic, sizeof(mark_magic)) != 0)
		return 0;
	return util_get_be16(p + sizeof(mark_magic));
}

size_t iwarp_mpa_max_ulpdu(size_t mss)
{
	size_t len;

	if (mss < ULPDU_MIN_MAX + IWARP_MPA_LEN_SIZE + IWARP_MPA_CRC_SIZE + 3)
		return ULPDU_MIN_MAX;
	/* length field and ULPDU a multiple of four, so that no pad is needed */
	len = ((mss - IWARP_MPA_CRC_SIZE) & ~(size_t)3) - IWARP_MPA_LEN_SIZE;
	return len < IWARP_MPA_ULPDU_MAX ? len : IWARP_MPA_ULPDU_MAX - 1;
}

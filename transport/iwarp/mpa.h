/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpa.h - MPA start-up frames and FPDU geometry: pure functions over bytes (RFC 5044, RFC 6581).
 */
#ifndef IWARP_MPA_H
#define IWARP_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IWARP_MPA_HEADER_LEN 20	  /* key 16, flags and revision 2, length of the private data 2 */
#define IWARP_MPA_PRIVATE_MAX 512 /* RFC 5044 section 7.1.1 */
#define IWARP_MPA_FRAME_MAX (IWARP_MPA_HEADER_LEN + IWARP_MPA_PRIVATE_MAX)
#define IWARP_MPA_ENHANCED_LEN 4 /* IRD and ORD words at the head of the private data */
#define IWARP_MPA_RD_ANY 0x3fff	 /* "not negotiated", RFC 6581 */

#define IWARP_MPA_LEN_SIZE 2 /* ULPDU length in front of each FPDU */
#define IWARP_MPA_CRC_SIZE 4
#define IWARP_MPA_ULPDU_MAX 65535 /* what the length field can say */

enum iwarp_mpa_kind { IWARP_MPA_REQUEST, IWARP_MPA_REPLY };

/* A start-up frame, decoded. */
struct iwarp_mpa_frame {
	enum iwarp_mpa_kind kind;
	bool markers;  /* M: the sender wants to receive markers */
	bool crc;      /* C: the sender wants CRCs */
	bool reject;   /* R: replies only */
	bool enhanced; /* S: IRD and ORD are there (revision 2) */
	uint8_t revision;
	uint16_t ird, ord; /* 14 bits each; 0 when not enhanced */
	bool peer_to_peer; /* A: the initiator wants, the responder expects a ready-to-receive frame
			    */
	bool rtr_send, rtr_write, rtr_read; /* B, C, D: what that frame may be, or is */
	const uint8_t
		*private_data; /* after the IRD and ORD words; points into the bytes decoded */
	size_t private_len;
};

/*
 * Decode the frame that starts at buf, of which len bytes have come so far.  Returns its length;
 * -EAGAIN more bytes are needed; -EBADMSG this is no MPA frame of that kind (said as soon as a
 * byte differs, so that a peer speaking something else is found out early);
 * -EMSGSIZE more private data than allowed, or an enhanced frame too short for its two words.
 */
ssize_t iwarp_mpa_decode(struct iwarp_mpa_frame *frame, enum iwarp_mpa_kind kind,
			 const uint8_t *buf, size_t len);
/* buf has room for IWARP_MPA_FRAME_MAX.  Returns the length, or 0 when the private data is too
 * long. */
size_t iwarp_mpa_encode(const struct iwarp_mpa_frame *frame, uint8_t *buf);

/*
 * The mark by which two of us know each other.  RFC 5044 fits FPDUs to the TCP segment; between two
 * software RNICs that only costs system calls, so we want FPDUs of 64 KiB, but must not send them
 * to a NIC that reassembles a segment at a time.  The initiator appends this record to the private
 * data of its request, where an upper layer that does not know it sees trailing bytes after its own
 * (RFC 8797 reads the eight bytes it knows); a responder of our kind takes it off, and only then
 * appends one to its reply.  A peer that is not of our kind thus sees the record at most once, in a
 * place it ignores, and never answers with it.
 */
#define IWARP_MARK_LEN 8

/* Write the record at p; max_ulpdu is the longest ULPDU the writer takes. */
void iwarp_mark_put(uint8_t *p, uint16_t max_ulpdu);
/* The longest ULPDU the peer takes if the private data ends in the record, else 0. */
uint16_t iwarp_mark_find(const uint8_t *private_data, size_t len);

/* Zero bytes that bring length field and ULPDU to a multiple of four. */
static inline unsigned iwarp_mpa_pad(size_t ulpdu_len)
{
	return (unsigned)(-(IWARP_MPA_LEN_SIZE + ulpdu_len) & 3);
}

/* Bytes of the whole FPDU on the wire. */
static inline size_t iwarp_mpa_fpdu_len(size_t ulpdu_len)
{
	return IWARP_MPA_LEN_SIZE + ulpdu_len + iwarp_mpa_pad(ulpdu_len) + IWARP_MPA_CRC_SIZE;
}

/* The longest ULPDU whose FPDU fits one TCP segment of mss bytes (MULPDU of RFC 5044 section 4.5,
 * without markers), at least 128 as that section asks. */
size_t iwarp_mpa_max_ulpdu(size_t mss);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ddp.c - encode and decode DDP segment headers and the RDMAP bits in them.
 *
 * Byte 0 is DDP's: T (tagged), L (last segment of the message), four reserved bits, the DDP
 * version. Byte 1 is RDMAP's: its version in the top two bits, two reserved bits, the opcode. A
 * tagged segment goes on with STag and TO (RFC 5041 section 4.2); an untagged one with four bytes
 * that belong to RDMAP (the STag to invalidate, or zero), QN, MSN and MO (section 4.3).
 */
#include "transport/iwarp/ddp.h"
#include "util/util.h"

#define DDP_TAGGED 0x80
#define DDP_LAST 0x40
#define DDP_VERSION_MASK 0x03
#define DDP_VERSION 1

#define RDMAP_VERSION_SHIFT 6
#define RDMAP_VERSION 1
#define RDMAP_OPCODE_MASK 0x0f

size_t iwarp_ddp_encode(const struct iwarp_ddp *ddp, uint8_t *buf)
{
	buf[0] = (uint8_t)((ddp->tagged ? DDP_TAGGED : 0) | (ddp->last ? DDP_LAST : 0) |
			   DDP_VERSION);
	buf[1] =
		(uint8_t)(RDMAP_VERSION << RDMAP_VERSION_SHIFT | (ddp->opcode & RDMAP_OPCODE_MASK));
	util_put_be32(buf + 2, ddp->stag);
	if (ddp->tagged) {
		util_put_be64(buf + 6, ddp->to);
		return IWARP_DDP_TAGGED_LEN;
	}
	util_put_be32(buf + 6, ddp->qn);
	util_put_be32(buf + 10, ddp->msn);
	util_put_be32(buf + 14, ddp->mo);
	return IWARP_DDP_UNTAGGED_LEN;
}

size_t iwarp_ddp_header_len(uint8_t control, size_t ulpdu_len)
{
	size_t need = control & DDP_TAGGED ? IWARP_DDP_TAGGED_LEN : IWARP_DDP_UNTAGGED_LEN;

	return ulpdu_len < need ? 0 : need;
}

/* Which opcodes travel in which kind of segment: RFC 5040 section 4.1. */
static enum iwarp_fault check_opcode(const struct iwarp_ddp *ddp)
{
	bool fits;

	if (ddp->tagged)
		fits = ddp->opcode == IWARP_OPCODE_WRITE ||
		       ddp->opcode == IWARP_OPCODE_READ_RESPONSE;
	else if (ddp->qn == IWARP_QN_SEND)
		fits = ddp->opcode >= IWARP_OPCODE_SEND && ddp->opcode <= IWARP_OPCODE_SEND_SE_INV;
	else if (ddp->qn == IWARP_QN_READ_REQUEST)
		fits = ddp->opcode == IWARP_OPCODE_READ_REQUEST;
	else
		fits = ddp->opcode == IWARP_OPCODE_TERMINATE;
	return fits ? IWARP_OK : IWARP_FAULT_RDMAP_OPCODE;
}

enum iwarp_fault iwarp_ddp_decode(struct iwarp_ddp *ddp, const uint8_t *buf)
{
	*ddp = (struct iwarp_ddp){
		.tagged = buf[0] & DDP_TAGGED,
		.last = buf[0] & DDP_LAST,
		.opcode = buf[1] & RDMAP_OPCODE_MASK,
		.stag = util_get_be32(buf + 2),
	};
	if (ddp->tagged) {
		ddp->to = util_get_be64(buf + 6);
	} else {
		ddp->qn = util_get_be32(buf + 6);
		ddp->msn = util_get_be32(buf + 10);
		ddp->mo = util_get_be32(buf + 14);
	}
	if ((buf[0] & DDP_VERSION_MASK) != DDP_VERSION)
		return ddp->tagged ? IWARP_FAULT_TAGGED_VERSION : IWARP_FAULT_UNTAGGED_VERSION;
	if (!ddp->tagged && ddp->qn >= IWARP_QN_COUNT)
		return IWARP_FAULT_UNTAGGED_QN;
	if (buf[1] >> RDMAP_VERSION_SHIFT != RDMAP_VERSION)
		return IWARP_FAULT_RDMAP_VERSION;
	return check_opcode(ddp);
}

void iwarp_read_request_encode(const struct iwarp_read_request *req, uint8_t *buf)
{
	util_put_be32(buf, req->sink_stag);
	util_put_be64(buf + 4, req->sink_to);
	util_put_be32(buf + 12, req->len);
	util_put_be32(buf + 16, req->source_stag);
	util_put_be64(buf + 20, req->source_to);
}

enum iwarp_fault iwarp_read_request_decode(struct iwarp_read_request *req, const uint8_t *buf,
					   size_t len)
{
	if (len < IWARP_READ_REQUEST_LEN)
		return IWARP_FAULT_RDMAP_UNSPECIFIED;
	if (len > IWARP_READ_REQUEST_LEN)
		return IWARP_FAULT_UNTAGGED_TOO_LONG;
	req->sink_stag = util_get_be32(buf);
	req->sink_to = util_get_be64(buf + 4);
	req->len = util_get_be32(buf + 12);
	req->source_stag = util_get_be32(buf + 16);
	req->source_to = util_get_be64(buf + 20);
	return IWARP_OK;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * terminate.c - the Terminate message's payload, and names for what it can say.
 *
 * Control field (RFC 5040 section 4.8): four bits of layer, four of error type, eight of error
 * code, then the bits M (a DDP segment length follows), D (its DDP header follows) and R (the RDMAP
 * header follows, which only Read Requests have), then 13 reserved bits.
 */
#include <errno.h>
#include <string.h>

#include "transport/iwarp/ddp.h"
#include "transport/iwarp/terminate.h"
#include "util/util.h"

#define CONTROL_LEN 4
#define HDRCT_LENGTH 0x80
#define HDRCT_DDP 0x40
#define HDRCT_RDMAP 0x20

void iwarp_terminate_init(struct iwarp_terminate *term, enum iwarp_fault fault)
{
	memset(term, 0, sizeof(*term));
	term->layer = (uint8_t)(fault >> 12 & 0xf);
	term->type = (uint8_t)(fault >> 8 & 0xf);
	term->code = (uint8_t)fault;
}

size_t iwarp_terminate_encode(const struct iwarp_terminate *term, uint8_t *buf)
{
	uint8_t *p = buf + CONTROL_LEN;

	buf[0] = (uint8_t)(term->layer << 4 | term->type);
	buf[1] = term->code;
	buf[2] = (uint8_t)((term->header_len ? HDRCT_LENGTH | HDRCT_DDP : 0) |
			   (term->header_len && term->has_request ? HDRCT_RDMAP : 0));
	buf[3] = 0;
	if (!term->header_len)
		return CONTROL_LEN;
	util_put_be16(p, term->segment_len);
	p += 2;
	memcpy(p, term->header, term->header_len);
	p += term->header_len;
	if (term->has_request) {
		memcpy(p, term->request, sizeof(term->request));
		p += sizeof(term->request);
	}
	return (size_t)(p - buf);
}

/* Take the offending segment's headers out, as far as they are there. */
static void decode_headers(struct iwarp_terminate *term, const uint8_t *p, size_t len,
			   uint8_t hdrct)
{
	size_t header_len;

	if (!(hdrct & HDRCT_LENGTH) || len < 3)
		return;
	term->segment_len = util_get_be16(p);
	p += 2;
	len -= 2;
	header_len = iwarp_ddp_header_len(p[0], len);
	if (!(hdrct & HDRCT_DDP) || !header_len)
		return;
	memcpy(term->header, p, header_len);
	term->header_len = (uint8_t)header_len;
	p += header_len;
	len -= header_len;
	if (!(hdrct & HDRCT_RDMAP) || len < sizeof(term->request))
		return;
	memcpy(term->request, p, sizeof(term->request));
	term->has_request = true;
}

int iwarp_terminate_decode(struct iwarp_terminate *term, const uint8_t *buf, size_t len)
{
	memset(term, 0, sizeof(*term));
	if (len < CONTROL_LEN)
		return -EBADMSG;
	term->layer = buf[0] >> 4;
	term->type = buf[0] & 0xf;
	term->code = buf[1];
	decode_headers(term, buf + CONTROL_LEN, len - CONTROL_LEN, buf[2]);
	return 0;
}

enum iwarp_fault iwarp_terminate_fault(const struct iwarp_terminate *term)
{
	return (enum iwarp_fault)IWARP_FAULT(term->layer, term->type, term->code);
}

struct fault_name {
	enum iwarp_fault fault;
	enum fabric_wc_status status;
	const char *name;
};

static const struct fault_name fault_names[] = {
	{IWARP_FAULT_RDMAP_CATASTROPHIC, FABRIC_WC_REMOTE_ERROR, "RDMAP: local catastrophic error"},
	{IWARP_FAULT_RDMAP_STAG, FABRIC_WC_REMOTE_ACCESS, "RDMAP: invalid STag"},
	{IWARP_FAULT_RDMAP_BOUNDS, FABRIC_WC_REMOTE_ACCESS, "RDMAP: base or bounds violation"},
	{IWARP_FAULT_RDMAP_ACCESS, FABRIC_WC_REMOTE_ACCESS, "RDMAP: access rights violation"},
	{IWARP_FAULT_RDMAP_NOT_ASSOCIATED, FABRIC_WC_REMOTE_ACCESS,
	 "RDMAP: STag not associated with this stream"},
	{IWARP_FAULT_RDMAP_TO_WRAP, FABRIC_WC_REMOTE_ACCESS, "RDMAP: tagged offset wraps"},
	{IWARP_FAULT_RDMAP_NOT_YOURS_TO_INVALIDATE, FABRIC_WC_REMOTE_ACCESS,
	 "RDMAP: STag cannot be invalidated by this stream"},
	{IWARP_FAULT_RDMAP_VERSION, FABRIC_WC_REMOTE_ERROR, "RDMAP: invalid version"},
	{IWARP_FAULT_RDMAP_OPCODE, FABRIC_WC_REMOTE_ERROR, "RDMAP: unexpected opcode"},
	{IWARP_FAULT_RDMAP_STREAM, FABRIC_WC_REMOTE_ERROR,
	 "RDMAP: catastrophic error of the stream"},
	{IWARP_FAULT_RDMAP_CANNOT_INVALIDATE, FABRIC_WC_REMOTE_ACCESS,
	 "RDMAP: STag cannot be invalidated"},
	{IWARP_FAULT_RDMAP_UNSPECIFIED, FABRIC_WC_REMOTE_ERROR, "RDMAP: remote operation error"},
	{IWARP_FAULT_DDP_CATASTROPHIC, FABRIC_WC_REMOTE_ERROR, "DDP: local catastrophic error"},
	{IWARP_FAULT_TAGGED_STAG, FABRIC_WC_REMOTE_ACCESS, "DDP: invalid STag"},
	{IWARP_FAULT_TAGGED_BOUNDS, FABRIC_WC_REMOTE_ACCESS, "DDP: base or bounds violation"},
	{IWARP_FAULT_TAGGED_NOT_ASSOCIATED, FABRIC_WC_REMOTE_ACCESS,
	 "DDP: STag not associated with this stream"},
	{IWARP_FAULT_TAGGED_TO_WRAP, FABRIC_WC_REMOTE_ACCESS, "DDP: tagged offset wraps"},
	{IWARP_FAULT_TAGGED_VERSION, FABRIC_WC_REMOTE_ERROR, "DDP: invalid version (tagged)"},
	{IWARP_FAULT_UNTAGGED_QN, FABRIC_WC_REMOTE_ERROR, "DDP: invalid queue number"},
	{IWARP_FAULT_UNTAGGED_NO_BUFFER, FABRIC_WC_RNR, "DDP: no buffer posted for the message"},
	{IWARP_FAULT_UNTAGGED_MSN, FABRIC_WC_REMOTE_ERROR,
	 "DDP: message sequence number out of range"},
	{IWARP_FAULT_UNTAGGED_MO, FABRIC_WC_REMOTE_ERROR, "DDP: invalid message offset"},
	{IWARP_FAULT_UNTAGGED_TOO_LONG, FABRIC_WC_REMOTE_ERROR,
	 "DDP: message longer than the buffer posted for it"},
	{IWARP_FAULT_UNTAGGED_VERSION, FABRIC_WC_REMOTE_ERROR, "DDP: invalid version (untagged)"},
	{IWARP_FAULT_MPA_CRC, FABRIC_WC_REMOTE_ERROR, "MPA: CRC mismatch"},
};

static const struct fault_name *find_fault(enum iwarp_fault fault)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(fault_names); i++)
		if (fault_names[i].fault == fault)
			return &fault_names[i];
	return NULL;
}

const char *iwarp_fault_name(enum iwarp_fault fault)
{
	const struct fault_name *f = find_fault(fault);

	return f ? f->name : "an error this end does not know";
}

enum fabric_wc_status iwarp_fault_status(enum iwarp_fault fault)
{
	const struct fault_name *f = find_fault(fault);

	return f ? f->status : FABRIC_WC_REMOTE_ERROR;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ddp.h - headers of DDP segments (RFC 5041) and of RDMAP messages (RFC 5040): pure functions.
 */
#ifndef IWARP_DDP_H
#define IWARP_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "transport/iwarp/terminate.h"

#define IWARP_DDP_TAGGED_LEN 14
#define IWARP_DDP_UNTAGGED_LEN 18
#define IWARP_DDP_HEADER_MAX IWARP_DDP_UNTAGGED_LEN
#define IWARP_READ_REQUEST_LEN 28

/* RFC 5040 section 4.1 */
enum iwarp_opcode {
	IWARP_OPCODE_WRITE = 0,
	IWARP_OPCODE_READ_REQUEST = 1,
	IWARP_OPCODE_READ_RESPONSE = 2,
	IWARP_OPCODE_SEND = 3,
	IWARP_OPCODE_SEND_INV = 4,
	IWARP_OPCODE_SEND_SE = 5,
	IWARP_OPCODE_SEND_SE_INV = 6,
	IWARP_OPCODE_TERMINATE = 7,
};

/* Untagged queues */
enum iwarp_queue { IWARP_QN_SEND, IWARP_QN_READ_REQUEST, IWARP_QN_TERMINATE, IWARP_QN_COUNT };

/* One DDP segment's header with the RDMAP control byte that travels in it. */
struct iwarp_ddp {
	bool tagged, last;
	uint8_t opcode;	      /* enum iwarp_opcode */
	uint32_t stag;	      /* tagged: the buffer; Send with Invalidate: what to invalidate */
	uint64_t to;	      /* tagged: offset of the first payload byte */
	uint32_t qn, msn, mo; /* untagged */
};

static inline bool iwarp_opcode_invalidates(uint8_t opcode)
{
	return opcode == IWARP_OPCODE_SEND_INV || opcode == IWARP_OPCODE_SEND_SE_INV;
}

/* Returns the header's length; buf has room for IWARP_DDP_HEADER_MAX. */
size_t iwarp_ddp_encode(const struct iwarp_ddp *ddp, uint8_t *buf);

/*
 * The length of the header that a ULPDU of ulpdu_len bytes starting with control begins with, or 0
 * when the ULPDU is too short for it.
 */
size_t iwarp_ddp_header_len(uint8_t control, size_t ulpdu_len);

/*
 * Decode the header at buf, which is complete, and check what can be checked without state: both
 * versions, that queue and opcode go together.  IWARP_OK or the fault to terminate with; ddp is
 * filled in either case.
 */
enum iwarp_fault iwarp_ddp_decode(struct iwarp_ddp *ddp, const uint8_t *buf);

/* RDMA Read Request, RFC 5040 section 4.4 */
struct iwarp_read_request {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t len;
	uint32_t source_stag;
	uint64_t source_to;
};

void iwarp_read_request_encode(const struct iwarp_read_request *req, uint8_t *buf);
/* len is the payload's; anything but IWARP_READ_REQUEST_LEN is a fault. */
enum iwarp_fault iwarp_read_request_decode(struct iwarp_read_request *req, const uint8_t *buf,
					   size_t len);

#endif

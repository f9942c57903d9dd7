/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * terminate.h - why a stream ends: the faults of MPA, DDP and RDMAP, and the Terminate message that
 * tells the peer (RFC 5040 section 4.8, RFC 5041 section 7.1, RFC 5044 section 8).
 */
#ifndef IWARP_TERMINATE_H
#define IWARP_TERMINATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/fabric/fabric.h"

enum iwarp_layer { IWARP_LAYER_RDMAP, IWARP_LAYER_DDP, IWARP_LAYER_MPA };

/* layer, type and code as on the wire; bit 16 tells them from IWARP_OK. */
#define IWARP_FAULT(layer, type, code) (0x10000 | (layer) << 12 | (type) << 8 | (code))

enum iwarp_fault {
	IWARP_OK = 0,
	IWARP_FAULT_RDMAP_CATASTROPHIC = IWARP_FAULT(0, 0, 0x00),
	/* RDMAP, remote protection */
	IWARP_FAULT_RDMAP_STAG = IWARP_FAULT(0, 1, 0x00),
	IWARP_FAULT_RDMAP_BOUNDS = IWARP_FAULT(0, 1, 0x01),
	IWARP_FAULT_RDMAP_ACCESS = IWARP_FAULT(0, 1, 0x02),
	IWARP_FAULT_RDMAP_NOT_ASSOCIATED = IWARP_FAULT(0, 1, 0x03),
	IWARP_FAULT_RDMAP_TO_WRAP = IWARP_FAULT(0, 1, 0x04),
	IWARP_FAULT_RDMAP_NOT_YOURS_TO_INVALIDATE = IWARP_FAULT(0, 1, 0x09),
	/* RDMAP, remote operation */
	IWARP_FAULT_RDMAP_VERSION = IWARP_FAULT(0, 2, 0x05),
	IWARP_FAULT_RDMAP_OPCODE = IWARP_FAULT(0, 2, 0x06),
	IWARP_FAULT_RDMAP_STREAM = IWARP_FAULT(0, 2, 0x07),
	IWARP_FAULT_RDMAP_CANNOT_INVALIDATE = IWARP_FAULT(0, 2, 0x09),
	IWARP_FAULT_RDMAP_UNSPECIFIED = IWARP_FAULT(0, 2, 0xff),
	/* DDP */
	IWARP_FAULT_DDP_CATASTROPHIC = IWARP_FAULT(1, 0, 0x00),
	IWARP_FAULT_TAGGED_STAG = IWARP_FAULT(1, 1, 0x00),
	IWARP_FAULT_TAGGED_BOUNDS = IWARP_FAULT(1, 1, 0x01),
	IWARP_FAULT_TAGGED_NOT_ASSOCIATED = IWARP_FAULT(1, 1, 0x02),
	IWARP_FAULT_TAGGED_TO_WRAP = IWARP_FAULT(1, 1, 0x03),
	IWARP_FAULT_TAGGED_VERSION = IWARP_FAULT(1, 1, 0x04),
	IWARP_FAULT_UNTAGGED_QN = IWARP_FAULT(1, 2, 0x01),
	IWARP_FAULT_UNTAGGED_NO_BUFFER = IWARP_FAULT(1, 2, 0x02),
	IWARP_FAULT_UNTAGGED_MSN = IWARP_FAULT(1, 2, 0x03),
	IWARP_FAULT_UNTAGGED_MO = IWARP_FAULT(1, 2, 0x04),
	IWARP_FAULT_UNTAGGED_TOO_LONG = IWARP_FAULT(1, 2, 0x05),
	IWARP_FAULT_UNTAGGED_VERSION = IWARP_FAULT(1, 2, 0x06),
	/* MPA */
	IWARP_FAULT_MPA_CRC = IWARP_FAULT(2, 0, 0x02),
};

/* The longest Terminate payload: control 4, segment length 2, untagged header 18, read request 28
 */
#define IWARP_TERMINATE_MAX 52

/* The Terminate's payload. */
struct iwarp_terminate {
	uint8_t layer, type, code;
	/* The offending segment, absent when header_len is 0: its length, its DDP header, and for
	 * Read Requests the 28 bytes after it. */
	uint16_t segment_len;
	uint8_t header[18];
	uint8_t header_len;
	uint8_t request[28];
	bool has_request;
};

void iwarp_terminate_init(struct iwarp_terminate *term, enum iwarp_fault fault);
/* Returns the payload's length; buf has room for IWARP_TERMINATE_MAX. */
size_t iwarp_terminate_encode(const struct iwarp_terminate *term, uint8_t *buf);
/* 0, or -EBADMSG when there is not even a control field.  What follows it is best effort. */
int iwarp_terminate_decode(struct iwarp_terminate *term, const uint8_t *buf, size_t len);
enum iwarp_fault iwarp_terminate_fault(const struct iwarp_terminate *term);

/* "DDP: tagged buffer, base or bounds violation"; never NULL. */
const char *iwarp_fault_name(enum iwarp_fault fault);
/* What a work request that provoked this from the peer completes with. */
enum fabric_wc_status iwarp_fault_status(enum iwarp_fault fault);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crc.h - CRC32C (Castagnoli), the check of MPA's FPDUs (RFC 5044 section 4.4).
 *
 * crc_isal.c has it from ISA-L, crc_table.c from a table where that library is missing; the build
 * takes one of them.  A sum is made of pieces: start with IWARP_CRC_INIT, add each piece, finish.
 * The finished value goes on the wire little-endian: CRC32C is defined bit by bit, least
 * significant first, and so are iSCSI's and MPA's digests.
 */
#ifndef IWARP_CRC_H
#define IWARP_CRC_H

#include <stddef.h>
#include <stdint.h>

#define IWARP_CRC_INIT UINT32_C(0xffffffff)

uint32_t iwarp_crc_add(uint32_t crc, const void *buf, size_t len);

static inline uint32_t iwarp_crc_finish(uint32_t crc)
{
	return ~crc;
}

static inline void iwarp_crc_put(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)value;
	p[1] = (uint8_t)(value >> 8);
	p[2] = (uint8_t)(value >> 16);
	p[3] = (uint8_t)(value >> 24);
}

static inline uint32_t iwarp_crc_get(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crc_isal.c - CRC32C by ISA-L: tens of gigabytes a second where the CPU has carry-less multiply.
 */
#include <isa-l/crc.h>

#include "transport/iwarp/crc.h"

/* crc32_iscsi() takes an int and leaves out both inversions, which suits a running sum. */
#define PIECE_MAX ((size_t)1 << 30)

uint32_t iwarp_crc_add(uint32_t crc, const void *buf, size_t len)
{
	/* The library's prototype lacks const; it only reads. */
	unsigned char *p = (unsigned char *)(uintptr_t)buf;

	while (len > 0) {
		size_t n = len < PIECE_MAX ? len : PIECE_MAX;

		crc = crc32_iscsi(p, (int)n, crc);
		p += n;
		len -= n;
	}
	return crc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * siphash.h - SipHash-2-4: the keyed hash behind file handles, cookies and the reply cache.
 */
#ifndef NFSRDMAD_SIPHASH_H
#define NFSRDMAD_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define SERVER_KEY_LEN 16

uint64_t server_siphash(const uint8_t key[SERVER_KEY_LEN], const void *data, size_t len);
/* The 128-bit variant; not an extension of the 64-bit one. */
void server_siphash_128(const uint8_t key[SERVER_KEY_LEN], const void *data, size_t len,
			uint8_t out[16]);

#endif

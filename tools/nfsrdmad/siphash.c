/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * siphash.c - SipHash-2-4 after Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
 *
 * A pseudo-random function for short messages: whoever lacks the key can neither forge a tag nor
 * aim for a hash bucket.  Two compression rounds per 8 bytes, four to finish; the 128-bit variant
 * differs in two constants and runs four more rounds for its second half.
 */
#include "tools/nfsrdmad/siphash.h"

#include <endian.h>
#include <string.h>

struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static inline uint64_t load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void sip_block(struct sip *s, uint64_t m)
{
	s->v3 ^= m;
	sip_round(s);
	sip_round(s);
	s->v0 ^= m;
}

static void sip_start(struct sip *s, const uint8_t key[SERVER_KEY_LEN])
{
	uint64_t k0 = load_le64(key), k1 = load_le64(key + 8);

	s->v0 = UINT64_C(0x736f6d6570736575) ^ k0;
	s->v1 = UINT64_C(0x646f72616e646f6d) ^ k1;
	s->v2 = UINT64_C(0x6c7967656e657261) ^ k0;
	s->v3 = UINT64_C(0x7465646279746573) ^ k1;
}

/* All whole words, then the last one: what is left, and the length's low byte on top. */
static void sip_absorb(struct sip *s, const uint8_t *p, size_t len)
{
	uint64_t last = (uint64_t)len << 56;
	size_t left = len;

	for (; left >= 8; p += 8, left -= 8)
		sip_block(s, load_le64(p));
	for (size_t i = 0; i < left; i++)
		last |= (uint64_t)p[i] << (8 * i);
	sip_block(s, last);
}

static uint64_t sip_squeeze(struct sip *s)
{
	for (int i = 0; i < 4; i++)
		sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

uint64_t server_siphash(const uint8_t key[SERVER_KEY_LEN], const void *data, size_t len)
{
	struct sip s;

	sip_start(&s, key);
	sip_absorb(&s, data, len);
	s.v2 ^= 0xff;
	return sip_squeeze(&s);
}

void server_siphash_128(const uint8_t key[SERVER_KEY_LEN], const void *data, size_t len,
			uint8_t out[16])
{
	struct sip s;
	uint64_t half;

	sip_start(&s, key);
	s.v1 ^= 0xee;
	sip_absorb(&s, data, len);
	s.v2 ^= 0xee;
	half = htole64(sip_squeeze(&s));
	memcpy(out, &half, 8);
	s.v1 ^= 0xdd;
	half = htole64(sip_squeeze(&s));
	memcpy(out + 8, &half, 8);
}

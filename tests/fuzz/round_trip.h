/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * round_trip.h - what holds for every pair of wire codecs: what decodes encodes into no more room,
 * decodes again, and then encodes to the same bytes.  (The first bytes may differ: padding is not
 * looked at.)
 */
#ifndef TESTS_FUZZ_ROUND_TRIP_H
#define TESTS_FUZZ_ROUND_TRIP_H

#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "wire/wire.h"

#define FUZZ_OBJECT_MAX 8192

struct fuzz_codec {
	int (*decode)(struct wire_dec *d, void *object);
	void (*encode)(struct wire_enc *e, const void *object);
	void (*release)(void *object); /* NULL: nothing to free */
};

union fuzz_object {
	uint8_t bytes[FUZZ_OBJECT_MAX];
	uint64_t align;
	void *pointer;
};

static inline void fuzz_round_trip(const struct fuzz_codec *c, const uint8_t *data, size_t size)
{
	union fuzz_object *o = malloc(2 * sizeof(*o));
	uint8_t *first = malloc(size + 1), *second = malloc(size + 1);
	struct wire_enc e, again;
	struct wire_dec d;

	FUZZ_CHECK(o && first && second);
	wire_dec_init(&d, data, size);
	if (c->decode(&d, &o[0]) == 0) {
		FUZZ_CHECK(!d.bad && wire_dec_pos(&d) <= size);
		wire_enc_init(&e, first, size);
		c->encode(&e, &o[0]);
		FUZZ_CHECK(!e.overflow);
		wire_dec_init(&d, first, wire_enc_len(&e));
		FUZZ_CHECK(c->decode(&d, &o[1]) == 0 && wire_dec_left(&d) == 0);
		wire_enc_init(&again, second, size);
		c->encode(&again, &o[1]);
		FUZZ_CHECK(wire_enc_len(&again) == wire_enc_len(&e));
		FUZZ_CHECK(memcmp(first, second, wire_enc_len(&e)) == 0);
		if (c->release) {
			c->release(&o[0]);
			c->release(&o[1]);
		}
	}
	free(second);
	free(first);
	free(o);
}

/* The first byte of the input picks one of n codecs, the rest is the message. */
static inline int fuzz_pick(const struct fuzz_codec *codecs, size_t n, const uint8_t *data,
			    size_t size)
{
	if (size > 0)
		fuzz_round_trip(&codecs[data[0] % n], data + 1, size - 1);
	return 0;
}

/* A codec whose functions take no flag, and one that is told one. */
#define FUZZ_CODEC(name)                                                                           \
	static int decode_##name(struct wire_dec *d, void *o)                                      \
	{                                                                                          \
		return wire_##name##_decode(d, o);                                                 \
	}                                                                                          \
	static void encode_##name(struct wire_enc *e, const void *o)                               \
	{                                                                                          \
		wire_##name##_encode(e, o);                                                        \
	}
#define FUZZ_CODEC_FLAG(name, suffix, flag)                                                        \
	static int decode_##suffix(struct wire_dec *d, void *o)                                    \
	{                                                                                          \
		return wire_##name##_decode(d, o, flag);                                           \
	}                                                                                          \
	static void encode_##suffix(struct wire_enc *e, const void *o)                             \
	{                                                                                          \
		wire_##name##_encode(e, o, flag);                                                  \
	}
#define FUZZ_ROW(name)                                                                             \
	{                                                                                          \
		decode_##name, encode_##name, NULL                                                 \
	}

#endif

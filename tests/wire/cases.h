/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases.h - golden messages: bytes worked out by hand from the RFCs, what they mean, and which
 * codec.
 *
 * Each folder of the standard has its file of cases (cases_*.c); test_cases.c holds every case
 * against the same claims: it decodes to its meaning, encodes to its bytes, fails when cut
 * anywhere, and never leaves its memory.
 */
#ifndef TESTS_WIRE_CASES_H
#define TESTS_WIRE_CASES_H

#include "wire/wire.h"

#define CASE_OBJECT_MAX 8192
#define CASE_MESSAGE_MAX 2048

struct wire_case {
	const char *name;
	const char *hex; /* blanks are ignored */
	int (*decode)(struct wire_dec *d, void *object);
	void (*encode)(struct wire_enc *e, const void *object);
	void (*release)(void *object);	   /* NULL: nothing to free */
	void (*check)(const void *object); /* asserts what the bytes mean */
};

struct wire_case_list {
	const struct wire_case *cases;
	size_t count;
};

extern const struct wire_case_list cases_nfs3_names, cases_nfs3_rest, cases_bulk, cases_readdir,
	cases_rpc, cases_mount;
/* The six above. */
#define CASE_LISTS 6
const struct wire_case_list *case_list(size_t i);

/* Bytes of a case into buf; returns how many. */
size_t case_bytes(const struct wire_case *c, uint8_t buf[CASE_MESSAGE_MAX]);
size_t case_hex(const char *hex, uint8_t *buf, size_t max);

/* Codecs of a generated type. */
#define CASE_XDR(type)                                                                             \
	static int decode_##type(struct wire_dec *d, void *object)                                 \
	{                                                                                          \
		_Static_assert(sizeof(type) <= CASE_OBJECT_MAX, "object fits");                    \
		return wire_xdr_decode(d, xdr_##type, (type *)object);                             \
	}                                                                                          \
	static void encode_##type(struct wire_enc *e, const void *object)                          \
	{                                                                                          \
		wire_xdr_encode(e, xdr_##type, object);                                            \
	}                                                                                          \
	static void release_##type(void *object)                                                   \
	{                                                                                          \
		wire_xdr_free(xdr_##type, object);                                                 \
	}

#define CASE_ROW(name, type, check, hex)                                                           \
	{                                                                                          \
		name, hex, decode_##type, encode_##type, release_##type, check                     \
	}

#endif

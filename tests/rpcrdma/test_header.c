/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of transport/rpcrdma/header.c against vectors worked out by hand from the XDR of RFC 8166
 * section 4.1.2.  One line of a vector is one field.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "transport/rpcrdma/header.h"

#define WORD(a, b, c, d) 0x##a, 0x##b, 0x##c, 0x##d

/* A call that fits inline. */
static const uint8_t msg_inline[] = {
	WORD(12, 34, 56, 78), /* xid */
	WORD(00, 00, 00, 01), /* version */
	WORD(00, 00, 00, 20), /* 32 credits */
	WORD(00, 00, 00, 00), /* RDMA_MSG */
	WORD(00, 00, 00, 00), /* no read list */
	WORD(00, 00, 00, 00), /* no write list */
	WORD(00, 00, 00, 00), /* no reply chunk */
};

/* A WRITE whose data lies in two segments at position 148. */
static const uint8_t msg_read_chunk[] = {
	WORD(00, 00, 00, 07), WORD(00, 00, 00, 01), WORD(00, 00, 00, 80),
	WORD(00, 00, 00, 00), WORD(00, 00, 00, 01), /* an entry */
	WORD(00, 00, 00, 94),			    /* position 148 */
	WORD(ca, fe, 00, 01),			    /* handle */
	WORD(00, 01, 00, 00),			    /* 65536 bytes */
	WORD(00, 00, 00, 01), WORD(80, 00, 10, 00), /* offset */
	WORD(00, 00, 00, 01),			    /* another */
	WORD(00, 00, 00, 94),			    /* same position: same chunk */
	WORD(ca, fe, 00, 02), WORD(00, 00, 00, 03), WORD(00, 00, 00, 00),
	WORD(00, 00, 20, 00), WORD(00, 00, 00, 00), /* end of the read list */
	WORD(00, 00, 00, 00), WORD(00, 00, 00, 00),
};

/* A READ with one write chunk of two segments. */
static const uint8_t msg_write_chunk[] = {
	WORD(00, 00, 00, 08), WORD(00, 00, 00, 01), WORD(00, 00, 00, 80), WORD(00, 00, 00, 00),
	WORD(00, 00, 00, 00), /* no read list */
	WORD(00, 00, 00, 01), /* a write chunk */
	WORD(00, 00, 00, 02), /* of two segments */
	WORD(00, 00, 11, 00), WORD(00, 04, 00, 00), WORD(00, 00, 00, 00), WORD(00, 10, 00, 00),
	WORD(00, 00, 22, 00), WORD(00, 00, 10, 00), WORD(ff, ff, ff, ff), WORD(ff, ff, f0, 00),
	WORD(00, 00, 00, 00), /* end of the write list */
	WORD(00, 00, 00, 00), /* no reply chunk */
};

/* A READDIR with a reply chunk, and its long reply has the same form. */
static const uint8_t nomsg_reply_chunk[] = {
	WORD(00, 00, 00, 09), WORD(00, 00, 00, 01), WORD(00, 00, 00, 10), WORD(00, 00, 00, 01),
	WORD(00, 00, 00, 00), WORD(00, 00, 00, 00), WORD(00, 00, 00, 01), /* a reply chunk */
	WORD(00, 00, 00, 01),						  /* of one segment */
	WORD(00, 00, 33, 00), WORD(00, 00, 80, 00), WORD(00, 00, 00, 00), WORD(00, 00, 40, 00),
};

/* A long call: the message is a position-zero read chunk, its data another. */
static const uint8_t nomsg_long_call[] = {
	WORD(00, 00, 00, 0a), WORD(00, 00, 00, 01), WORD(00, 00, 00, 10), WORD(00, 00, 00, 01),
	WORD(00, 00, 00, 01), WORD(00, 00, 00, 00), WORD(00, 00, 44, 00), WORD(00, 00, 06, 00),
	WORD(00, 00, 00, 00), WORD(00, 00, 50, 00), WORD(00, 00, 00, 01), WORD(00, 00, 05, fc),
	WORD(00, 00, 55, 00), WORD(00, 00, 10, 00), WORD(00, 00, 00, 00), WORD(00, 00, 60, 00),
	WORD(00, 00, 00, 00), WORD(00, 00, 00, 00), WORD(00, 00, 00, 00),
};

static const uint8_t error_vers[] = {
	WORD(00, 00, 00, 0b), WORD(00, 00, 00, 01), WORD(00, 00, 00, 01),
	WORD(00, 00, 00, 04), WORD(00, 00, 00, 01), /* ERR_VERS */
	WORD(00, 00, 00, 01), WORD(00, 00, 00, 01), /* supported: 1 to 1 */
};

static const uint8_t error_chunk[] = {
	WORD(00, 00, 00, 0c), WORD(00, 00, 00, 01), WORD(00, 00, 00, 01),
	WORD(00, 00, 00, 04), WORD(00, 00, 00, 02), /* ERR_CHUNK */
};

static void expect_encoding(const struct rpcrdma_header *h, const uint8_t *bytes, size_t len)
{
	uint8_t buf[RPCRDMA_HEADER_MAX];

	cr_assert_eq(rpcrdma_header_len(h), len);
	cr_assert_eq(rpcrdma_header_encode(h, buf, sizeof(buf)), (ssize_t)len);
	cr_assert_arr_eq(buf, bytes, len);
	cr_assert_eq(rpcrdma_header_encode(h, buf, len), (ssize_t)len);
	cr_assert_eq(rpcrdma_header_encode(h, buf, len - 1), -EMSGSIZE);
}

Test(rpcrdma_header, encodes_an_inline_message)
{
	struct rpcrdma_header h = {.xid = 0x12345678, .credits = 32};

	expect_encoding(&h, msg_inline, sizeof(msg_inline));
}

Test(rpcrdma_header, encodes_a_read_chunk_of_two_segments)
{
	struct rpcrdma_header h = {.xid = 7, .credits = 128, .nreads = 2};

	h.read[0] = (struct rpcrdma_read){148, {0xcafe0001, 65536, 0x180001000}};
	h.read[1] = (struct rpcrdma_read){148, {0xcafe0002, 3, 0x2000}};
	expect_encoding(&h, msg_read_chunk, sizeof(msg_read_chunk));
}

Test(rpcrdma_header, encodes_a_write_chunk)
{
	struct rpcrdma_header h = {.xid = 8, .credits = 128, .nwrites = 1};

	h.write[0].nsegs = 2;
	h.write[0].seg[0] = (struct rpcrdma_segment){0x1100, 0x40000, 0x100000};
	h.write[0].seg[1] = (struct rpcrdma_segment){0x2200, 0x1000, 0xfffffffffffff000};
	expect_encoding(&h, msg_write_chunk, sizeof(msg_write_chunk));
}

Test(rpcrdma_header, encodes_a_reply_chunk)
{
	struct rpcrdma_header h = {
		.xid = 9, .credits = 16, .proc = RPCRDMA_NOMSG, .has_reply = true};

	h.reply.nsegs = 1;
	h.reply.seg[0] = (struct rpcrdma_segment){0x3300, 0x8000, 0x4000};
	expect_encoding(&h, nomsg_reply_chunk, sizeof(nomsg_reply_chunk));
}

Test(rpcrdma_header, encodes_a_long_call_with_a_data_chunk)
{
	struct rpcrdma_header h = {.xid = 10, .credits = 16, .proc = RPCRDMA_NOMSG, .nreads = 2};

	h.read[0] = (struct rpcrdma_read){0, {0x4400, 0x600, 0x5000}};
	h.read[1] = (struct rpcrdma_read){0x5fc, {0x5500, 0x1000, 0x6000}};
	expect_encoding(&h, nomsg_long_call, sizeof(nomsg_long_call));
}

Test(rpcrdma_header, encodes_both_errors)
{
	struct rpcrdma_header h = {.xid = 11, .credits = 1, .proc = RPCRDMA_ERROR};

	h.error = RPCRDMA_ERR_VERS;
	h.vers_low = h.vers_high = 1;
	expect_encoding(&h, error_vers, sizeof(error_vers));
	h.xid = 12;
	h.error = RPCRDMA_ERR_CHUNK;
	expect_encoding(&h, error_chunk, sizeof(error_chunk));
}

Test(rpcrdma_header, decodes_what_stands_in_the_vectors)
{
	struct rpcrdma_header h;

	cr_assert_eq(rpcrdma_header_decode(&h, msg_read_chunk, sizeof(msg_read_chunk)), 76);
	cr_assert_eq(h.nreads, 2);
	cr_assert_eq(h.read[0].position, 148);
	cr_assert_eq(h.read[0].seg.offset, 0x180001000);
	cr_assert_eq(h.read[1].seg.handle, 0xcafe0002);
	cr_assert_eq(h.read[1].seg.length, 3);
	cr_assert_eq(h.nwrites, 0);
	cr_assert_not(h.has_reply);

	cr_assert_eq(rpcrdma_header_decode(&h, msg_write_chunk, sizeof(msg_write_chunk)), 68);
	cr_assert_eq(h.nwrites, 1);
	cr_assert_eq(h.write[0].nsegs, 2);
	cr_assert_eq(h.write[0].seg[1].offset, 0xfffffffffffff000);
	cr_assert_eq(rpcrdma_chunk_len(&h.write[0]), 0x41000);

	cr_assert_eq(rpcrdma_header_decode(&h, nomsg_reply_chunk, sizeof(nomsg_reply_chunk)), 48);
	cr_assert_eq(h.proc, RPCRDMA_NOMSG);
	cr_assert(h.has_reply);
	cr_assert_eq(h.reply.seg[0].length, 0x8000);

	cr_assert_eq(rpcrdma_header_decode(&h, error_vers, sizeof(error_vers)), 28);
	cr_assert_eq(h.error, RPCRDMA_ERR_VERS);
	cr_assert_eq(h.vers_high, 1);
	cr_assert_eq(rpcrdma_header_decode(&h, error_chunk, sizeof(error_chunk)), 20);
	cr_assert_eq(h.error, RPCRDMA_ERR_CHUNK);
}

struct vector {
	const uint8_t *bytes;
	size_t len;
};

static const struct vector vectors[] = {
	{msg_inline, sizeof(msg_inline)},	    {msg_read_chunk, sizeof(msg_read_chunk)},
	{msg_write_chunk, sizeof(msg_write_chunk)}, {nomsg_reply_chunk, sizeof(nomsg_reply_chunk)},
	{nomsg_long_call, sizeof(nomsg_long_call)}, {error_vers, sizeof(error_vers)},
	{error_chunk, sizeof(error_chunk)},
};
#define NVECTORS (sizeof(vectors) / sizeof(vectors[0]))

Test(rpcrdma_header, decoding_and_encoding_are_inverse)
{
	for (size_t i = 0; i < NVECTORS; i++) {
		struct rpcrdma_header h;

		cr_assert_eq(rpcrdma_header_decode(&h, vectors[i].bytes, vectors[i].len),
			     (ssize_t)vectors[i].len);
		expect_encoding(&h, vectors[i].bytes, vectors[i].len);
	}
}

Test(rpcrdma_header, every_proper_prefix_is_refused)
{
	for (size_t i = 0; i < NVECTORS; i++) {
		for (size_t len = 0; len < vectors[i].len; len++) {
			struct rpcrdma_header h;
			uint8_t *copy =
				malloc(len + 1); /* exact, so that a sanitizer sees past it */
			ssize_t n;

			memcpy(copy, vectors[i].bytes, len);
			n = rpcrdma_header_decode(&h, copy, len);
			cr_assert_eq(n, len < 16 ? -ENODATA : -EBADMSG,
				     "vector %zu cut to %zu: %zd", i, len, n);
			free(copy);
		}
	}
}

Test(rpcrdma_header, another_version_is_told_apart_and_keeps_its_xid)
{
	struct rpcrdma_header h;
	uint8_t bytes[sizeof(msg_inline)];

	memcpy(bytes, msg_inline, sizeof(bytes));
	bytes[7] = 2;
	cr_assert_eq(rpcrdma_header_decode(&h, bytes, sizeof(bytes)), -EPROTONOSUPPORT);
	cr_assert_eq(h.xid, 0x12345678);
	cr_assert_eq(h.credits, 32);
}

Test(rpcrdma_header, an_optional_word_is_zero_or_one)
{
	static const size_t words[] = {16, 20, 24};

	for (size_t i = 0; i < 3; i++) {
		struct rpcrdma_header h;
		uint8_t bytes[sizeof(msg_inline)];

		memcpy(bytes, msg_inline, sizeof(bytes));
		bytes[words[i] + 3] = 2;
		cr_assert_eq(rpcrdma_header_decode(&h, bytes, sizeof(bytes)), -EBADMSG);
		bytes[words[i]] = 0x80;
		bytes[words[i] + 3] = 1;
		cr_assert_eq(rpcrdma_header_decode(&h, bytes, sizeof(bytes)), -EBADMSG);
	}
}

Test(rpcrdma_header, the_largest_header_fits_its_maximum_and_one_more_is_refused)
{
	static struct rpcrdma_header h, back;
	uint8_t buf[RPCRDMA_HEADER_MAX + 1024];
	ssize_t len;

	h.nreads = RPCRDMA_MAX_READS;
	h.nwrites = RPCRDMA_MAX_WRITES;
	h.write[0].nsegs = h.write[1].nsegs = RPCRDMA_MAX_SEGS;
	h.has_reply = true;
	h.reply.nsegs = RPCRDMA_MAX_SEGS;
	len = rpcrdma_header_encode(&h, buf, sizeof(buf));
	cr_assert_eq(len, RPCRDMA_HEADER_MAX);
	cr_assert_eq(rpcrdma_header_decode(&back, buf, len), len);

	/* A 33rd read entry: shift the rest and announce it. */
	memmove(buf + 16 + 24, buf + 16, len - 16);
	cr_assert_eq(rpcrdma_header_decode(&back, buf, len + 24), -E2BIG);
}

Test(rpcrdma_header, a_wild_segment_count_is_refused_without_reading_on)
{
	static const uint32_t counts[] = {17, 0x10000000, 0xffffffff};

	for (size_t i = 0; i < 3; i++) {
		struct rpcrdma_header h;
		uint8_t bytes[28 + 17 * 16] = {0};

		memcpy(bytes, msg_write_chunk, 24);
		bytes[24] = counts[i] >> 24;
		bytes[25] = counts[i] >> 16;
		bytes[26] = counts[i] >> 8;
		bytes[27] = counts[i];
		cr_assert_eq(rpcrdma_header_decode(&h, bytes, sizeof(bytes)),
			     counts[i] == 17 ? -E2BIG : -EBADMSG);
	}
}

Test(rpcrdma_header, unknown_procedures_and_error_codes_are_refused)
{
	struct rpcrdma_header h;
	uint8_t bytes[sizeof(error_chunk)];

	memcpy(bytes, error_chunk, sizeof(bytes));
	bytes[19] = 3;
	cr_assert_eq(rpcrdma_header_decode(&h, bytes, sizeof(bytes)), -EBADMSG);
	bytes[15] = 5;
	cr_assert_eq(rpcrdma_header_decode(&h, bytes, sizeof(bytes)), -EBADMSG);
	bytes[15] = RPCRDMA_MSGP;
	cr_assert_eq(rpcrdma_header_decode(&h, bytes, sizeof(bytes)), -EBADMSG);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Golden bytes of every MPA, DDP and RDMAP message, worked out by hand from RFC 5044, 6581, 5041
 * and 5040: encoders must produce them, decoders must take them apart, and cuts and odd values must
 * be refused.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "transport/iwarp/crc.h"
#include "transport/iwarp/ddp.h"
#include "transport/iwarp/mpa.h"
#include "transport/iwarp/terminate.h"
#include "util/util.h"

/* ---- CRC32C: RFC 3720 appendix B.4 ------------------------------------------------------- */

static uint32_t crc_of(const void *p, size_t len)
{
	return iwarp_crc_finish(iwarp_crc_add(IWARP_CRC_INIT, p, len));
}

Test(iwarp_golden, crc_of_the_iscsi_examples)
{
	uint8_t buf[32];

	memset(buf, 0, sizeof(buf));
	cr_expect_eq(crc_of(buf, 32), 0x8a9136aa);
	memset(buf, 0xff, sizeof(buf));
	cr_expect_eq(crc_of(buf, 32), 0x62a8ab43);
	for (unsigned i = 0; i < 32; i++)
		buf[i] = (uint8_t)i;
	cr_expect_eq(crc_of(buf, 32), 0x46dd794e);
	cr_expect_eq(crc_of("123456789", 9), 0xe3069283);
}

Test(iwarp_golden, crc_of_pieces_is_the_crc_of_the_whole)
{
	uint8_t buf[64];
	uint32_t whole;

	for (unsigned i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 37);
	whole = crc_of(buf, sizeof(buf));
	for (size_t cut = 0; cut <= sizeof(buf); cut++) {
		uint32_t crc = iwarp_crc_add(IWARP_CRC_INIT, buf, cut);

		crc = iwarp_crc_add(crc, buf + cut, sizeof(buf) - cut);
		cr_expect_eq(iwarp_crc_finish(crc), whole);
	}
}

Test(iwarp_golden, crc_goes_out_least_significant_byte_first)
{
	uint8_t p[4];

	iwarp_crc_put(p, 0x8a9136aa);
	cr_expect_arr_eq(p, ((uint8_t[]){0xaa, 0x36, 0x91, 0x8a}), 4);
	cr_expect_eq(iwarp_crc_get(p), 0x8a9136aa);
}

/* ---- MPA --------------------------------------------------------------------------------- */

/* Revision 2, CRC wanted, IRD 16, ORD 16, RFC 8797 private data. */
static const uint8_t request_2[] = {
	'M',  'P',  'A',  ' ',	'I',  'D',  ' ',  'R',	'e',  'q',  ' ',
	'F',  'r',  'a',  'm',	'e',  0x50, 0x02, 0x00, 0x0c, 0x00, 0x10,
	0x00, 0x10, 0xf6, 0xab, 0x0e, 0x18, 0x01, 0x00, 0x03, 0x03,
};

/* Revision 1, nothing wanted, no private data. */
static const uint8_t request_1[] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ', 'F', 'r', 'a', 'm', 'e', 0, 1, 0, 0,
};

/* Peer to peer: A; IRD 5; ready-to-receive by Write (C) or Read (D); ORD 0x3fff. */
static const uint8_t request_p2p[] = {
	'M', 'P', 'A', ' ', 'I',  'D',	' ',  'R',  'e',  'q',	' ',  'F',
	'r', 'a', 'm', 'e', 0x10, 0x02, 0x00, 0x04, 0x80, 0x05, 0xff, 0xff,
};

/* Rejected, markers wanted. */
static const uint8_t reply_reject[] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ',  'R', 'e', 'p',
	' ', 'F', 'r', 'a', 'm', 'e', 0xa0, 1,	 0,   0,
};

Test(iwarp_golden, mpa_request_of_revision_2)
{
	struct iwarp_mpa_frame f;
	uint8_t buf[IWARP_MPA_FRAME_MAX];

	cr_assert_eq(iwarp_mpa_decode(&f, IWARP_MPA_REQUEST, request_2, sizeof(request_2)), 32);
	cr_expect(f.crc && f.enhanced && !f.markers && !f.reject && !f.peer_to_peer);
	cr_expect_eq(f.revision, 2);
	cr_expect_eq(f.ird, 16);
	cr_expect_eq(f.ord, 16);
	cr_expect_eq(f.private_len, 8);
	cr_expect_eq(f.private_data, request_2 + 24);
	cr_expect_eq(iwarp_mpa_encode(&f, buf), 32);
	cr_expect_arr_eq(buf, request_2, 32);
}

Test(iwarp_golden, mpa_request_of_revision_1)
{
	struct iwarp_mpa_frame f;
	uint8_t buf[IWARP_MPA_FRAME_MAX];

	cr_assert_eq(iwarp_mpa_decode(&f, IWARP_MPA_REQUEST, request_1, sizeof(request_1)), 20);
	cr_expect(!f.crc && !f.enhanced);
	cr_expect_eq(f.revision, 1);
	cr_expect_eq(f.private_len, 0);
	cr_expect_eq(iwarp_mpa_encode(&f, buf), 20);
	cr_expect_arr_eq(buf, request_1, 20);
}

Test(iwarp_golden, mpa_peer_to_peer_bits)
{
	struct iwarp_mpa_frame f;
	uint8_t buf[IWARP_MPA_FRAME_MAX];

	cr_assert_eq(iwarp_mpa_decode(&f, IWARP_MPA_REQUEST, request_p2p, sizeof(request_p2p)), 24);
	cr_expect(f.peer_to_peer && !f.rtr_send && f.rtr_write && f.rtr_read);
	cr_expect_eq(f.ird, 5);
	cr_expect_eq(f.ord, IWARP_MPA_RD_ANY);
	cr_expect_eq(iwarp_mpa_encode(&f, buf), 24);
	cr_expect_arr_eq(buf, request_p2p, 24);
}

Test(iwarp_golden, mpa_reply_that_rejects)
{
	struct iwarp_mpa_frame f;
	uint8_t buf[IWARP_MPA_FRAME_MAX];

	cr_assert_eq(iwarp_mpa_decode(&f, IWARP_MPA_REPLY, reply_reject, sizeof(reply_reject)), 20);
	cr_expect(f.markers && f.reject && !f.crc);
	cr_expect_eq(iwarp_mpa_encode(&f, buf), 20);
	cr_expect_arr_eq(buf, reply_reject, 20);
}

Test(iwarp_golden, mpa_frame_cut_anywhere_asks_for_more)
{
	struct iwarp_mpa_frame f;

	for (size_t len = 0; len < sizeof(request_2); len++)
		cr_expect_eq(iwarp_mpa_decode(&f, IWARP_MPA_REQUEST, request_2, len), -EAGAIN);
}

Test(iwarp_golden, mpa_other_protocols_are_found_out_at_their_first_odd_byte)
{
	struct iwarp_mpa_frame f;

	cr_expect_eq(iwarp_mpa_decode(&f, IWARP_MPA_REPLY, (const uint8_t *)"HTTP/1.1", 1),
		     -EBADMSG);
	cr_expect_eq(iwarp_mpa_decode(&f, IWARP_MPA_REPLY, request_2, 10), -EBADMSG);
	cr_expect_eq(iwarp_mpa_decode(&f, IWARP_MPA_REPLY, request_2, 9), -EAGAIN);
}

Test(iwarp_golden, mpa_private_data_is_at_most_512_bytes)
{
	struct iwarp_mpa_frame f;
	uint8_t buf[IWARP_MPA_FRAME_MAX + 8] = {0}, data[520] = {0};

	memcpy(buf, request_1, sizeof(request_1));
	util_put_be16(buf + 18, 512);
	cr_expect_eq(iwarp_mpa_decode(&f, IWARP_MPA_REQUEST, buf, sizeof(buf)), 532);
	util_put_be16(buf + 18, 513);
	cr_expect_eq(iwarp_mpa_decode(&f, IWARP_MPA_REQUEST, buf, sizeof(buf)), -EMSGSIZE);
	f = (struct iwarp_mpa_frame){.revision = 1, .private_data = data, .private_len = 513};
	cr_expect_eq(iwarp_mpa_encode(&f, buf), 0);
	f.enhanced = true;
	f.private_len = 509;
	cr_expect_eq(iwarp_mpa_encode(&f, buf), 0);
	f.private_len = 508;
	cr_expect_eq(iwarp_mpa_encode(&f, buf), 532);
}

Test(iwarp_golden, mpa_enhanced_frame_needs_its_two_words)
{
	struct iwarp_mpa_frame f;
	uint8_t buf[24];

	for (uint16_t len = 0; len < 4; len++) {
		memcpy(buf, request_p2p, sizeof(buf));
		util_put_be16(buf + 18, len);
		cr_expect_eq(iwarp_mpa_decode(&f, IWARP_MPA_REQUEST, buf, sizeof(buf)), -EMSGSIZE);
	}
}

Test(iwarp_golden, mark_is_found_only_at_the_end_of_private_data)
{
	const uint8_t data[] = {0xf6, 0xab, 0x0e, 0x18, 1,    0,    3,	  3,
				0x6e, 0x66, 0x72, 0x01, 0x00, 0x00, 0xff, 0xce};
	uint8_t buf[8];

	iwarp_mark_put(buf, 0xffce);
	cr_expect_arr_eq(buf, data + 8, 8);
	cr_expect_eq(iwarp_mark_find(data, 16), 0xffce);
	cr_expect_eq(iwarp_mark_find(data, 15), 0);
	cr_expect_eq(iwarp_mark_find(data, 8), 0);
	cr_expect_eq(iwarp_mark_find(data + 8, 8), 0xffce);
	cr_expect_eq(iwarp_mark_find(NULL, 0), 0);
}

Test(iwarp_golden, fpdu_is_padded_to_a_multiple_of_four)
{
	cr_expect_eq(iwarp_mpa_fpdu_len(14), 2 + 14 + 0 + 4);
	cr_expect_eq(iwarp_mpa_fpdu_len(15), 2 + 15 + 3 + 4);
	cr_expect_eq(iwarp_mpa_fpdu_len(16), 2 + 16 + 2 + 4);
	cr_expect_eq(iwarp_mpa_fpdu_len(17), 2 + 17 + 1 + 4);
	cr_expect_eq(iwarp_mpa_fpdu_len(65535), 2 + 65535 + 3 + 4);
}

Test(iwarp_golden, longest_ulpdu_fits_the_segment)
{
	/* 1460 - 4 CRC - 2 length = 1454 */
	cr_expect_eq(iwarp_mpa_max_ulpdu(1460), 1454);
	/* with time stamps */
	cr_expect_eq(iwarp_mpa_max_ulpdu(1448), 1442);
	cr_expect_eq(iwarp_mpa_max_ulpdu(100), 128);
	cr_expect_eq(iwarp_mpa_max_ulpdu(1 << 20), 65534);
	for (size_t mss = 256; mss < 4096; mss++)
		cr_expect_leq(iwarp_mpa_fpdu_len(iwarp_mpa_max_ulpdu(mss)), mss);
}

/* ---- DDP and RDMAP headers --------------------------------------------------------------- */

struct header_case {
	struct iwarp_ddp ddp;
	size_t len;
	uint8_t bytes[18];
};

static const struct header_case headers[] = {
	/* RDMA Write, last segment: T, L, DDP version 1; RDMAP version 1, opcode 0 */
	{{.tagged = true, .last = true, .opcode = 0, .stag = 0x01020304, .to = 0x1122334455667788},
	 14,
	 {0xc1, 0x40, 1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}},
	/* Read Response, more to come */
	{{.tagged = true, .opcode = 2, .stag = 0xa0b0c0d0, .to = 0x10},
	 14,
	 {0x81, 0x42, 0xa0, 0xb0, 0xc0, 0xd0, 0, 0, 0, 0, 0, 0, 0, 0x10}},
	/* Read Request: queue 1, MSN 7 */
	{{.last = true, .opcode = 1, .qn = 1, .msn = 7},
	 18,
	 {0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0}},
	/* Send, MSN 1, second segment at 1424 */
	{{.last = true, .opcode = 3, .qn = 0, .msn = 1, .mo = 1424},
	 18,
	 {0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0x05, 0x90}},
	/* Send with Invalidate of 0xdeadbe01 */
	{{.last = true, .opcode = 4, .stag = 0xdeadbe01, .msn = 2},
	 18,
	 {0x41, 0x44, 0xde, 0xad, 0xbe, 0x01, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0}},
	/* Send with Solicited Event, first of several */
	{{.opcode = 5, .msn = 3}, 18, {0x01, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0}},
	/* both */
	{{.last = true, .opcode = 6, .stag = 0x80000001, .msn = 0xffffffff},
	 18,
	 {0x41, 0x46, 0x80, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}},
	/* Terminate: queue 2 */
	{{.last = true, .opcode = 7, .qn = 2, .msn = 1},
	 18,
	 {0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0}},
};

Test(iwarp_golden, header_of_every_rdmap_message)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(headers); i++) {
		const struct header_case *h = &headers[i];
		struct iwarp_ddp ddp;
		uint8_t buf[IWARP_DDP_HEADER_MAX];

		cr_expect_eq(iwarp_ddp_encode(&h->ddp, buf), h->len);
		cr_expect_arr_eq(buf, h->bytes, h->len, "case %zu", i);
		cr_expect_eq(iwarp_ddp_header_len(h->bytes[0], h->len), h->len);
		cr_expect_eq(iwarp_ddp_header_len(h->bytes[0], h->len - 1), 0);
		cr_expect_eq(iwarp_ddp_decode(&ddp, h->bytes), IWARP_OK, "case %zu", i);
		cr_expect_eq(ddp.tagged, h->ddp.tagged);
		cr_expect_eq(ddp.last, h->ddp.last);
		cr_expect_eq(ddp.opcode, h->ddp.opcode);
		cr_expect_eq(ddp.stag, h->ddp.stag);
		cr_expect_eq(ddp.to, h->ddp.to);
		cr_expect_eq(ddp.qn, h->ddp.qn);
		cr_expect_eq(ddp.msn, h->ddp.msn);
		cr_expect_eq(ddp.mo, h->ddp.mo);
	}
}

/* Decode one of the headers with a byte replaced. */
static enum iwarp_fault decode_with(unsigned which, unsigned at, uint8_t value)
{
	uint8_t buf[18];
	struct iwarp_ddp ddp;

	memcpy(buf, headers[which].bytes, sizeof(buf));
	buf[at] = value;
	return iwarp_ddp_decode(&ddp, buf);
}

Test(iwarp_golden, versions_queues_and_opcodes_are_checked)
{
	cr_expect_eq(decode_with(0, 0, 0xc0), IWARP_FAULT_TAGGED_VERSION);
	cr_expect_eq(decode_with(0, 0, 0xc2), IWARP_FAULT_TAGGED_VERSION);
	cr_expect_eq(decode_with(3, 0, 0x43), IWARP_FAULT_UNTAGGED_VERSION);
	cr_expect_eq(decode_with(0, 1, 0x00), IWARP_FAULT_RDMAP_VERSION);
	cr_expect_eq(decode_with(3, 1, 0x83), IWARP_FAULT_RDMAP_VERSION);
	cr_expect_eq(decode_with(3, 9, 3), IWARP_FAULT_UNTAGGED_QN);
	cr_expect_eq(decode_with(3, 6, 0x80), IWARP_FAULT_UNTAGGED_QN);
	cr_expect_eq(decode_with(3, 9, 1), IWARP_FAULT_RDMAP_OPCODE); /* a Send on queue 1 */
	cr_expect_eq(decode_with(3, 9, 2), IWARP_FAULT_RDMAP_OPCODE);
	cr_expect_eq(decode_with(2, 9, 0),
		     IWARP_FAULT_RDMAP_OPCODE); /* a Read Request on queue 0 */
	/* reserved bits are not looked at */
	cr_expect_eq(decode_with(0, 0, 0xfd), IWARP_OK);
	cr_expect_eq(decode_with(3, 1, 0x73), IWARP_OK);
	for (uint8_t op = 0; op < 16; op++) {
		bool tagged = op == 0 || op == 2, send = op >= 3 && op <= 6;

		cr_expect_eq(decode_with(0, 1, 0x40 | op),
			     tagged ? IWARP_OK : IWARP_FAULT_RDMAP_OPCODE);
		cr_expect_eq(decode_with(3, 1, 0x40 | op),
			     send ? IWARP_OK : IWARP_FAULT_RDMAP_OPCODE);
	}
}

/* Sink 0x11223344 at 0x5000, 256 KiB, from 0xaabbccdd at 2^63. */
static const uint8_t read_request[28] = {
	0x11, 0x22, 0x33, 0x44, 0,    0,    0,	  0, 0, 0, 0x50, 0x00, 0, 4,
	0,    0,    0xaa, 0xbb, 0xcc, 0xdd, 0x80, 0, 0, 0, 0,	 0,    0, 0,
};

Test(iwarp_golden, read_request)
{
	const struct iwarp_read_request want = {
		.sink_stag = 0x11223344,
		.sink_to = 0x5000,
		.len = 262144,
		.source_stag = 0xaabbccdd,
		.source_to = UINT64_C(1) << 63,
	};
	struct iwarp_read_request got;
	uint8_t buf[28];

	iwarp_read_request_encode(&want, buf);
	cr_expect_arr_eq(buf, read_request, 28);
	cr_expect_eq(iwarp_read_request_decode(&got, read_request, 28), IWARP_OK);
	cr_expect_eq(got.sink_stag, want.sink_stag);
	cr_expect_eq(got.sink_to, want.sink_to);
	cr_expect_eq(got.len, want.len);
	cr_expect_eq(got.source_stag, want.source_stag);
	cr_expect_eq(got.source_to, want.source_to);
	cr_expect_eq(iwarp_read_request_decode(&got, read_request, 27),
		     IWARP_FAULT_RDMAP_UNSPECIFIED);
	cr_expect_eq(iwarp_read_request_decode(&got, read_request, 29),
		     IWARP_FAULT_UNTAGGED_TOO_LONG);
}

/* ---- Terminate --------------------------------------------------------------------------- */

Test(iwarp_golden, terminate_of_a_crc_error_has_only_the_control_field)
{
	struct iwarp_terminate term;
	uint8_t buf[IWARP_TERMINATE_MAX];

	iwarp_terminate_init(&term, IWARP_FAULT_MPA_CRC);
	cr_assert_eq(iwarp_terminate_encode(&term, buf), 4);
	cr_expect_arr_eq(buf, ((uint8_t[]){0x20, 0x02, 0x00, 0x00}), 4);
}

Test(iwarp_golden, terminate_of_a_write_out_of_bounds_has_its_header)
{
	/* layer DDP, tagged buffer error, bounds; M and D; segment of 114 bytes; the header */
	const uint8_t want[] = {0x11, 0x01, 0xc0, 0x00, 0x00, 0x72, 0xc1, 0x40, 1,    2,
				3,    4,    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
	struct iwarp_terminate term, back;
	uint8_t buf[IWARP_TERMINATE_MAX];

	iwarp_terminate_init(&term, IWARP_FAULT_TAGGED_BOUNDS);
	term.segment_len = 114;
	term.header_len = 14;
	memcpy(term.header, headers[0].bytes, 14);
	cr_assert_eq(iwarp_terminate_encode(&term, buf), sizeof(want));
	cr_expect_arr_eq(buf, want, sizeof(want));
	cr_assert_eq(iwarp_terminate_decode(&back, want, sizeof(want)), 0);
	cr_expect_eq(iwarp_terminate_fault(&back), IWARP_FAULT_TAGGED_BOUNDS);
	cr_expect_eq(back.segment_len, 114);
	cr_expect_eq(back.header_len, 14);
	cr_expect(!back.has_request);
}

Test(iwarp_golden, terminate_of_a_read_request_has_both_headers)
{
	const uint8_t control[] = {0x01, 0x02, 0xe0, 0x00, 0x00, 46};
	struct iwarp_terminate term, back;
	uint8_t buf[IWARP_TERMINATE_MAX];

	iwarp_terminate_init(&term, IWARP_FAULT_RDMAP_ACCESS);
	term.segment_len = 46;
	term.header_len = 18;
	memcpy(term.header, headers[2].bytes, 18);
	term.has_request = true;
	memcpy(term.request, read_request, 28);
	cr_assert_eq(iwarp_terminate_encode(&term, buf), 52);
	cr_expect_arr_eq(buf, control, 6);
	cr_expect_arr_eq(buf + 6, headers[2].bytes, 18);
	cr_expect_arr_eq(buf + 24, read_request, 28);
	cr_assert_eq(iwarp_terminate_decode(&back, buf, 52), 0);
	cr_expect(back.has_request);
	cr_expect_arr_eq(back.request, read_request, 28);
	/* cut anywhere, the control field still speaks */
	for (size_t len = 4; len < 52; len++) {
		cr_assert_eq(iwarp_terminate_decode(&back, buf, len), 0);
		cr_expect_eq(iwarp_terminate_fault(&back), IWARP_FAULT_RDMAP_ACCESS);
		cr_expect(!back.has_request);
	}
	for (size_t len = 0; len < 4; len++)
		cr_expect_eq(iwarp_terminate_decode(&back, buf, len), -EBADMSG);
}

struct fault_case {
	enum iwarp_fault fault;
	uint8_t bytes[2];
};

/* RFC 5040 section 4.8, RFC 5041 section 7.1, RFC 5044 section 8 */
static const struct fault_case faults[] = {
	{IWARP_FAULT_RDMAP_CATASTROPHIC, {0x00, 0x00}},
	{IWARP_FAULT_RDMAP_STAG, {0x01, 0x00}},
	{IWARP_FAULT_RDMAP_BOUNDS, {0x01, 0x01}},
	{IWARP_FAULT_RDMAP_ACCESS, {0x01, 0x02}},
	{IWARP_FAULT_RDMAP_NOT_ASSOCIATED, {0x01, 0x03}},
	{IWARP_FAULT_RDMAP_TO_WRAP, {0x01, 0x04}},
	{IWARP_FAULT_RDMAP_NOT_YOURS_TO_INVALIDATE, {0x01, 0x09}},
	{IWARP_FAULT_RDMAP_VERSION, {0x02, 0x05}},
	{IWARP_FAULT_RDMAP_OPCODE, {0x02, 0x06}},
	{IWARP_FAULT_RDMAP_STREAM, {0x02, 0x07}},
	{IWARP_FAULT_RDMAP_CANNOT_INVALIDATE, {0x02, 0x09}},
	{IWARP_FAULT_RDMAP_UNSPECIFIED, {0x02, 0xff}},
	{IWARP_FAULT_DDP_CATASTROPHIC, {0x10, 0x00}},
	{IWARP_FAULT_TAGGED_STAG, {0x11, 0x00}},
	{IWARP_FAULT_TAGGED_BOUNDS, {0x11, 0x01}},
	{IWARP_FAULT_TAGGED_NOT_ASSOCIATED, {0x11, 0x02}},
	{IWARP_FAULT_TAGGED_TO_WRAP, {0x11, 0x03}},
	{IWARP_FAULT_TAGGED_VERSION, {0x11, 0x04}},
	{IWARP_FAULT_UNTAGGED_QN, {0x12, 0x01}},
	{IWARP_FAULT_UNTAGGED_NO_BUFFER, {0x12, 0x02}},
	{IWARP_FAULT_UNTAGGED_MSN, {0x12, 0x03}},
	{IWARP_FAULT_UNTAGGED_MO, {0x12, 0x04}},
	{IWARP_FAULT_UNTAGGED_TOO_LONG, {0x12, 0x05}},
	{IWARP_FAULT_UNTAGGED_VERSION, {0x12, 0x06}},
	{IWARP_FAULT_MPA_CRC, {0x20, 0x02}},
};

Test(iwarp_golden, every_fault_has_its_code_and_its_name)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(faults); i++) {
		struct iwarp_terminate term;
		uint8_t buf[IWARP_TERMINATE_MAX];

		iwarp_terminate_init(&term, faults[i].fault);
		iwarp_terminate_encode(&term, buf);
		cr_expect_arr_eq(buf, faults[i].bytes, 2, "fault %#x", faults[i].fault);
		cr_expect_eq(iwarp_terminate_fault(&term), faults[i].fault);
		cr_expect_null(strstr(iwarp_fault_name(faults[i].fault), "does not know"));
	}
	cr_expect_str_eq(iwarp_fault_name((enum iwarp_fault)0x1ffff),
			 "an error this end does not know");
	cr_expect_eq(iwarp_fault_status(IWARP_FAULT_UNTAGGED_NO_BUFFER), FABRIC_WC_RNR);
	cr_expect_eq(iwarp_fault_status(IWARP_FAULT_RDMAP_ACCESS), FABRIC_WC_REMOTE_ACCESS);
	cr_expect_eq(iwarp_fault_status((enum iwarp_fault)0x1ffff), FABRIC_WC_REMOTE_ERROR);
}

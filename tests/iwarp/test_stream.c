/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The byte stream: FPDUs may be cut by TCP anywhere, many may come at once, and with CRC on a
 * flipped bit anywhere ends the connection before anything completes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/iwarp/peer.h"
#include "transport/iwarp/internal.h"

static void append(struct peer *peer, uint8_t *stream, size_t *len, const struct iwarp_ddp *ddp,
		   const uint8_t *payload, size_t payload_len)
{
	static uint8_t ulpdu[65536];
	size_t header_len = iwarp_ddp_encode(ddp, ulpdu);

	if (payload_len)
		memcpy(ulpdu + header_len, payload, payload_len);
	*len += peer_build_fpdu(peer, ulpdu, header_len + payload_len, stream + *len);
}

/* A Write of 3 segments, a Send of 2, an empty Write, a Send of none, a Read Request. */
static size_t build_stream(struct peer *peer, const struct memory *region,
			   const struct memory *data, uint8_t *stream)
{
	const struct iwarp_read_request req = {
		.sink_stag = 0x99,
		.sink_to = 0x1234,
		.len = 5,
		.source_stag = region->reg.rkey,
		.source_to = region->reg.iova,
	};
	struct iwarp_ddp write = {.tagged = true, .stag = region->reg.rkey, .to = region->reg.iova};
	struct iwarp_ddp send = {.opcode = IWARP_OPCODE_SEND, .msn = 1};
	struct iwarp_ddp read = {
		.opcode = IWARP_OPCODE_READ_REQUEST, .qn = 1, .msn = 1, .last = true};
	uint8_t request[28];
	size_t len = 0;

	append(peer, stream, &len, &write, data->ptr, 7);
	write.to += 7;
	append(peer, stream, &len, &write, data->ptr + 7, 3001);
	write.to += 3001;
	write.last = true;
	append(peer, stream, &len, &write, data->ptr + 3008, 92);
	append(peer, stream, &len, &send, data->ptr, 61);
	send.mo = 61;
	send.last = true;
	append(peer, stream, &len, &send, data->ptr + 61, 2);
	write = (struct iwarp_ddp){.tagged = true, .last = true};
	append(peer, stream, &len, &write, NULL, 0);
	send = (struct iwarp_ddp){.opcode = IWARP_OPCODE_SEND_SE, .msn = 2, .last = true};
	append(peer, stream, &len, &send, NULL, 0);
	iwarp_read_request_encode(&req, request);
	append(peer, stream, &len, &read, request, sizeof(request));
	return len;
}

static void expect_stream(struct peer *peer, const struct memory *region,
			  const struct memory *inbox)
{
	static uint8_t buf[65536];
	struct iwarp_ddp ddp;
	struct fabric_wc wc;
	size_t len;

	wc = pair_next(&peer->pair, 0);
	cr_assert_eq(wc.type, FABRIC_WC_RECV, "%s", peer->pair.end[0].conn->err.what);
	cr_assert_eq(wc.byte_len, 63);
	wc = pair_next(&peer->pair, 0);
	cr_assert_eq(wc.type, FABRIC_WC_RECV);
	cr_assert_eq(wc.byte_len, 0);
	cr_assert(memory_is_filled(region, 0, 3100, 1));
	cr_assert_eq(region->ptr[3100], 0);
	cr_assert(memory_is_filled(inbox, 0, 63, 1));
	cr_assert_eq(inbox->ptr[63], 0);
	cr_assert(peer_read_segment(peer, &ddp, buf, &len));
	cr_assert(ddp.tagged && ddp.last);
	cr_assert_eq(ddp.opcode, IWARP_OPCODE_READ_RESPONSE);
	cr_assert_eq(ddp.stag, 0x99);
	cr_assert_eq(ddp.to, 0x1234);
	cr_assert_eq(len, 5);
	cr_assert_arr_eq(buf, region->ptr, 5);
}

/* Send the stream in pieces: step bytes each, the first of them first bytes. */
static void play_in_pieces(const struct peer_options *opts, size_t first, size_t step)
{
	static uint8_t stream[16384];
	struct memory region, data, inbox;
	struct peer peer;
	size_t len, n;

	peer_establish(&peer, opts);
	memory_open(&region, &peer.pair, 0, 4096, MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE);
	memory_open(&data, &peer.pair, 0, 4096, 0);
	memory_open(&inbox, &peer.pair, 0, 4096, 0);
	memory_fill(&data, 1);
	pair_recv(&peer.pair, 0, &inbox, 0, 64, 1);
	pair_recv(&peer.pair, 0, &inbox, 64, 64, 2);
	len = build_stream(&peer, &region, &data, stream);
	for (size_t at = 0; at < len; at += n) {
		n = at ? step : first;
		n = n < len - at ? n : len - at;
		peer_write(&peer, stream + at, n);
		pair_turn(&peer.pair);
		pair_turn(&peer.pair);
	}
	expect_stream(&peer, &region, &inbox);
	memory_close(&region);
	memory_close(&data);
	memory_close(&inbox);
	peer_close(&peer);
}

static const struct peer_options ways[] = {
	{.crc = FABRIC_CRC_OFF},
	{.crc = FABRIC_CRC_ON},
	{.crc = FABRIC_CRC_ON, .plain = true, .responder = true},
	{.crc = FABRIC_CRC_OFF, .plain = true},
};

Test(iwarp_stream, segments_of_one_byte, .timeout = 60)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(ways); i++)
		play_in_pieces(&ways[i], 1, 1);
}

Test(iwarp_stream, segments_of_any_small_size, .timeout = 60)
{
	for (size_t step = 2; step < 40; step += 1)
		play_in_pieces(&ways[step % UTIL_ARRAY_SIZE(ways)], step, step);
}

Test(iwarp_stream, one_cut_at_every_boundary_of_the_first_segments, .timeout = 60)
{
	for (size_t cut = 1; cut < 80; cut++)
		play_in_pieces(&ways[cut % UTIL_ARRAY_SIZE(ways)], cut, 16384);
}

Test(iwarp_stream, everything_at_once)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(ways); i++)
		play_in_pieces(&ways[i], 16384, 16384);
}

Test(iwarp_stream, many_small_messages_come_by_few_calls)
{
	enum { COUNT = 60 };

	for (int plain = 0; plain < 2; plain++) {
		const struct peer_options opts = {.plain = plain};
		static uint8_t stream[16384];
		struct fabric_counters before, after;
		struct memory inbox;
		struct peer peer;
		size_t len = 0;

		peer_establish(&peer, &opts);
		memory_open(&inbox, &peer.pair, 0, COUNT * 128, 0);
		for (unsigned i = 0; i < COUNT; i++) {
			const struct iwarp_ddp ddp = {.last = true, .opcode = 3, .msn = i + 1};

			pair_recv(&peer.pair, 0, &inbox, i * 128, 128, i);
			append(&peer, stream, &len, &ddp, (const uint8_t *)"0123456789", 10);
		}
		pair_settle(&peer.pair, 5);
		peer.pair.ops->cq_counters(peer.pair.end[0].cq, &before);
		peer_write(&peer, stream, len);
		usleep(2000);
		for (unsigned i = 0; i < COUNT; i++)
			cr_assert_eq(pair_next(&peer.pair, 0).wr_id, i);
		peer.pair.ops->cq_counters(peer.pair.end[0].cq, &after);
		cr_expect_leq(after.receive_calls - before.receive_calls, 16);
		memory_close(&inbox);
		peer_close(&peer);
	}
}

/* ---- CRC --------------------------------------------------------------------------------- */

/* A Send whose byte at is flipped; how the connection ends. */
static void play_flipped(bool plain, size_t at, uint8_t bit)
{
	const struct peer_options opts = {.crc = FABRIC_CRC_ON, .plain = plain};
	const struct iwarp_ddp ddp = {.last = true, .opcode = 3, .msn = 1};
	struct iwarp_terminate term;
	struct fabric_wc wc;
	struct memory inbox;
	struct peer peer;
	uint8_t ulpdu[18 + 21], fpdu[64];
	size_t len;

	peer_establish(&peer, &opts);
	memory_open(&inbox, &peer.pair, 0, 4096, 0);
	pair_recv(&peer.pair, 0, &inbox, 0, 64, 1);
	iwarp_ddp_encode(&ddp, ulpdu);
	memset(ulpdu + 18, 0x77, 21);
	len = peer_build_fpdu(&peer, ulpdu, sizeof(ulpdu), fpdu);
	fpdu[at] ^= bit;
	peer_write(&peer, fpdu, len);
	cr_assert_eq(peer_read_terminate(&peer, &term), IWARP_FAULT_MPA_CRC, "byte %zu bit %#x", at,
		     bit);
	close(peer.fd);
	peer.fd = -1;
	wc = pair_next(&peer.pair, 0);
	cr_assert_eq(wc.type, FABRIC_WC_RECV);
	cr_assert_eq(wc.status, FABRIC_WC_FLUSHED);
	cr_assert_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
	cr_expect(strstr(peer.pair.end[0].conn->err.what, "CRC"));
	memory_close(&inbox);
	peer_close(&peer);
}

Test(iwarp_stream, a_flipped_bit_anywhere_is_a_crc_error, .timeout = 60)
{
	/* 2 length (left out: a longer one is only waited for) + 18 + 21 + 3 pad + 4 CRC; byte 2's
	 * top bit turns the header into a shorter one */
	for (size_t at = 2; at < 48; at++)
		for (unsigned bit = at == 2 ? 1 : 0; bit < 8; bit += 3)
			play_flipped(at % 2, at, (uint8_t)(0x80 >> bit));
	play_flipped(false, 2, 0x80);
}

Test(iwarp_stream, wrong_length_that_swallows_the_next_segment_is_a_crc_error)
{
	const struct peer_options opts = {.crc = FABRIC_CRC_ON};
	struct iwarp_terminate term;
	struct memory inbox;
	struct peer peer;
	uint8_t fpdu[128] = {0};
	const struct iwarp_ddp ddp = {.last = true, .opcode = 3, .msn = 1};
	uint8_t ulpdu[18 + 10] = {0};
	size_t len;

	peer_establish(&peer, &opts);
	memory_open(&inbox, &peer.pair, 0, 4096, 0);
	pair_recv(&peer.pair, 0, &inbox, 0, 4096, 1);
	iwarp_ddp_encode(&ddp, ulpdu);
	len = peer_build_fpdu(&peer, ulpdu, sizeof(ulpdu), fpdu);
	fpdu[1] += 20;
	peer_write(&peer, fpdu, len);
	peer_write(&peer, fpdu, len);
	cr_expect_eq(peer_read_terminate(&peer, &term), IWARP_FAULT_MPA_CRC);
	memory_close(&inbox);
	peer_close(&peer);
}

Test(iwarp_stream, crc_field_is_not_looked_at_when_off)
{
	const struct peer_options opts = {.crc = FABRIC_CRC_OFF};
	const struct iwarp_ddp ddp = {.last = true, .opcode = 3, .msn = 1};
	uint8_t ulpdu[18 + 4] = {0}, fpdu[64];
	struct memory inbox;
	struct peer peer;
	size_t len;

	peer_establish(&peer, &opts);
	memory_open(&inbox, &peer.pair, 0, 4096, 0);
	pair_recv(&peer.pair, 0, &inbox, 0, 64, 1);
	iwarp_ddp_encode(&ddp, ulpdu);
	len = peer_build_fpdu(&peer, ulpdu, sizeof(ulpdu), fpdu);
	memset(fpdu + len - 4, 0xff, 4);
	peer_write(&peer, fpdu, len);
	cr_expect_eq(pair_next(&peer.pair, 0).status, FABRIC_WC_OK);
	memory_close(&inbox);
	peer_close(&peer);
}

/* ---- reads beyond what was negotiated ---------------------------------------------------- */

Test(iwarp_stream, reads_up_to_ird_are_queued_while_the_peer_does_not_listen)
{
	enum { SIZE = 8 << 20 };

	for (int plain = 0; plain < 2; plain++) {
		const struct peer_options opts = {.plain = plain, .ord = 4};
		struct memory region;
		struct peer peer;

		peer_establish(&peer, &opts);
		memory_open(&region, &peer.pair, 0, SIZE, MR_ACCESS_REMOTE_READ);
		for (int i = 0; i < 4; i++)
			peer_read_request(
				&peer, &(struct iwarp_read_request){.sink_stag = 7,
								    .len = SIZE,
								    .source_stag = region.reg.rkey,
								    .source_to = region.reg.iova});
		pair_settle(&peer.pair, 10);
		cr_assert(!peer.pair.end[0].disconnected);
		/* one more than agreed */
		peer_read_request(&peer,
				  &(struct iwarp_read_request){.sink_stag = 7,
							       .len = 1,
							       .source_stag = region.reg.rkey,
							       .source_to = region.reg.iova});
		/* The socket was full in the middle of a segment, so no Terminate could be said. */
		pair_until_disconnected(&peer.pair, 0);
		cr_expect(strstr(peer.pair.end[0].conn->err.what, "no buffer posted"), "%s",
			  peer.pair.end[0].conn->err.what);
		memory_close(&region);
		peer_close(&peer);
	}
}

Test(iwarp_stream, no_more_reads_go_out_than_the_peer_takes)
{
	const struct peer_options opts = {.ird = 2};
	static uint8_t buf[65536];
	struct memory sink;
	struct iwarp_ddp ddp;
	struct peer peer;
	size_t len;

	peer_establish(&peer, &opts);
	memory_open(&sink, &peer.pair, 0, 4096, MR_ACCESS_READ_SINK);
	for (unsigned i = 0; i < 5; i++) {
		struct fabric_sge sge = memory_sge(&sink, i, 1);

		cr_assert_eq(pair_post(&peer.pair, 0, FABRIC_OP_READ, &sge, 0x100, 0x42, 0, i), 0);
	}
	for (unsigned i = 0; i < 5; i++) {
		cr_assert(peer_read_segment(&peer, &ddp, buf, &len));
		cr_assert_eq(ddp.opcode, IWARP_OPCODE_READ_REQUEST);
		cr_assert_eq(ddp.msn, i + 1);
		if (i == 0)
			continue; /* two are out; the third needs an answer first */
		pair_settle(&peer.pair, 3);
		cr_assert_eq(recv(peer.fd, buf, 1, MSG_DONTWAIT), -1);
		peer_tagged(&peer, IWARP_OPCODE_READ_RESPONSE, sink.reg.lkey, sink.reg.iova + i - 1,
			    "x", 1);
		cr_assert_eq(pair_next(&peer.pair, 0).wr_id, i - 1);
	}
	memory_close(&sink);
	peer_close(&peer);
}

Test(iwarp_stream, revoked_memory_is_not_written_in_the_middle_of_a_segment)
{
	for (int plain = 0; plain < 2; plain++) {
		const struct peer_options opts = {.plain = plain};
		static uint8_t payload[40000], ulpdu[65536], fpdu[70000];
		struct iwarp_terminate term;
		struct memory region;
		struct iwarp_ddp ddp = {.tagged = true, .last = true};
		struct mr_provider *p;
		struct peer peer;
		size_t len;

		peer_establish(&peer, &opts);
		memory_open(&region, &peer.pair, 0, 65536, MR_ACCESS_REMOTE_WRITE);
		p = region.provider;
		memset(payload, 0xcc, sizeof(payload));
		ddp.stag = region.reg.rkey;
		ddp.to = region.reg.iova;
		iwarp_ddp_encode(&ddp, ulpdu);
		memcpy(ulpdu + 14, payload, sizeof(payload));
		len = peer_build_fpdu(&peer, ulpdu, 14 + sizeof(payload), fpdu);
		peer_write(&peer, fpdu, 20016);
		while (region.ptr[19999] != 0xcc)
			pair_turn(&peer.pair);
		p->ops->deregister_memory(p, &region.reg);
		memset(region.ptr, 0, 65536);
		peer_write(&peer, fpdu + 20016, len - 20016);
		cr_expect_eq(peer_read_terminate(&peer, &term), IWARP_FAULT_TAGGED_STAG);
		for (size_t i = 0; i < 65536; i++)
			cr_assert_eq(region.ptr[i], 0);
		memory_close(&region);
		peer_close(&peer);
	}
}

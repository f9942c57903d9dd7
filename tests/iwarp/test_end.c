/* SPDX-License-Identifier: BSD-2-Clause */
/* How connections end, in every state and from both sides, and what their owners hear of it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/iwarp/peer.h"
#include "transport/iwarp/internal.h"

static struct fabric_conn *ours(struct peer *peer)
{
	return peer->pair.end[0].conn;
}

static void close_peer_socket(struct peer *peer)
{
	close(peer->fd);
	peer->fd = -1;
}

Test(iwarp_end, disconnect_is_orderly_at_both_ends)
{
	for (int plain = 0; plain < 2; plain++) {
		const struct pair_options opts = {.plain = plain};
		struct pair pair;

		for (int e = 0; e < 2; e++) {
			pair_open(&pair, &opts);
			pair.ops->conn_disconnect(pair.end[e].conn);
			pair.ops->conn_disconnect(pair.end[e].conn);
			for (int k = 0; k < 2; k++) {
				cr_assert_eq(pair_next(&pair, k).type, FABRIC_EV_DISCONNECTED);
				cr_expect_eq(pair.end[k].conn->err.code, 0, "%s",
					     pair.end[k].conn->err.what);
				cr_expect_eq(pair.end[k].conn->state, FABRIC_CONN_CLOSED);
			}
			pair_close(&pair);
		}
	}
}

Test(iwarp_end, what_was_posted_before_disconnect_still_goes_out)
{
	enum { SIZE = 4 << 20 };

	for (int plain = 0; plain < 2; plain++) {
		const struct pair_options opts = {.plain = plain};
		struct memory data, region;
		struct fabric_sge sge;
		struct pair pair;

		pair_open(&pair, &opts);
		memory_open(&data, &pair, 0, SIZE, 0);
		memory_open(&region, &pair, 1, SIZE, MR_ACCESS_REMOTE_WRITE);
		memory_fill(&data, 6);
		sge = memory_sge(&data, 0, SIZE);
		cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_WRITE, &sge, region.reg.iova,
				       region.reg.rkey, 0, 1),
			     0);
		pair.ops->conn_disconnect(pair.end[0].conn);
		pair_until_disconnected(&pair, 0);
		pair_until_disconnected(&pair, 1);
		cr_expect(memory_is_filled(&region, 0, SIZE, 6));
		cr_expect_eq(pair_next(&pair, 0).status, FABRIC_WC_OK);
		memory_close(&data);
		memory_close(&region);
		pair_close(&pair);
	}
}

Test(iwarp_end, nothing_can_be_posted_any_more)
{
	const struct pair_options opts = {0};
	struct fabric_wr wr = {.op = FABRIC_OP_SEND};
	struct fabric_recv recv = {0};
	struct pair pair;

	pair_open(&pair, &opts);
	pair.ops->conn_disconnect(pair.end[0].conn);
	cr_expect_eq(pair.ops->post_send(pair.end[0].conn, &wr), -ENOTCONN);
	cr_expect_eq(pair.ops->post_recv(pair.end[0].conn, &recv), -ENOTCONN);
	pair_until_disconnected(&pair, 0);
	cr_expect_eq(pair.ops->post_send(pair.end[0].conn, &wr), -ENOTCONN);
	cr_expect_eq(pair.ops->post_recv(pair.end[0].conn, &recv), -ENOTCONN);
	pair_close(&pair);
}

Test(iwarp_end, malformed_requests_are_refused_whole)
{
	const struct pair_options opts = {.depth = 4, .max_sge = 2};
	struct memory m;
	struct pair pair;
	struct fabric_sge sge[3];
	struct fabric_wr bad = {.op = FABRIC_OP_SEND, .nsge = 3, .sge = sge};
	struct fabric_wr good = {.op = FABRIC_OP_SEND, .flags = FABRIC_WR_SIGNALED, .next = &bad};
	struct fabric_wr many[5] = {0};
	struct fabric_recv recvs[5] = {0};

	pair_open(&pair, &opts);
	memory_open(&m, &pair, 0, 4096, 0);
	sge[0] = sge[1] = sge[2] = memory_sge(&m, 0, 100);
	cr_expect_eq(pair.ops->post_send(pair.end[0].conn, &good), -EINVAL);
	bad.nsge = 2;
	bad.flags = FABRIC_WR_INLINE; /* 200 bytes, 128 allowed */
	cr_expect_eq(pair.ops->post_send(pair.end[0].conn, &good), -EINVAL);
	bad.op = FABRIC_OP_READ;
	bad.flags = 0;
	cr_expect_eq(pair.ops->post_send(pair.end[0].conn, &good), -EINVAL);
	bad.op = (enum fabric_op)99;
	cr_expect_eq(pair.ops->post_send(pair.end[0].conn, &good), -EINVAL);
	bad = (struct fabric_wr){.op = FABRIC_OP_BIND};
	cr_expect_eq(pair.ops->post_send(pair.end[0].conn, &good), -EINVAL);
	for (int i = 0; i < 4; i++) {
		many[i].next = &many[i + 1];
		recvs[i].next = &recvs[i + 1];
	}
	cr_expect_eq(pair.ops->post_send(pair.end[0].conn, many), -ENOMEM);
	cr_expect_eq(pair.ops->post_recv(pair.end[0].conn, recvs), -ENOMEM);
	pair_settle(&pair, 5);
	cr_expect_eq(pair.end[0].first, pair.end[0].last, "something was posted after all");
	memory_close(&m);
	pair_close(&pair);
}

/* Receives, signalled and silent sends, a read: everything outstanding is flushed in order. */
static void expect_flush(struct peer *peer, int code)
{
	uint64_t sends = 0, recvs = 100;
	struct fabric_wc wc;

	for (;;) {
		wc = pair_next(&peer->pair, 0);
		if (wc.type == FABRIC_EV_DISCONNECTED)
			break;
		if (wc.type == FABRIC_WC_SEND) {
			cr_assert_eq(wc.wr_id, sends);
			cr_assert(wc.status == FABRIC_WC_FLUSHED ||
				  (wc.status == FABRIC_WC_OK && !sends));
			sends += 2; /* odd ones are silent */
		} else {
			cr_assert_eq(wc.wr_id, recvs++);
			cr_assert_eq(wc.status, FABRIC_WC_FLUSHED);
		}
	}
	cr_expect_eq(sends, 6);
	cr_expect_eq(recvs, 103);
	cr_expect_eq(ours(peer)->err.code, code, "%d %s", ours(peer)->err.code,
		     ours(peer)->err.what);
	pair_settle(&peer->pair, 5); /* asserts that nothing follows */
}

static void post_some(struct peer *peer, struct memory *sink)
{
	struct fabric_sge sge = memory_sge(sink, 0, 100);
	struct fabric_wr wr[5] = {0};

	for (unsigned i = 0; i < 3; i++)
		pair_recv(&peer->pair, 0, sink, 0, 100, 100 + i);
	for (unsigned i = 0; i < 5; i++) {
		wr[i].wr_id = i;
		wr[i].op = i == 0 ? FABRIC_OP_SEND : FABRIC_OP_READ;
		wr[i].nsge = 1;
		wr[i].sge = &sge;
		wr[i].flags = i % 2 ? 0 : FABRIC_WR_SIGNALED;
		wr[i].u.remote.rkey = 5;
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	cr_assert_eq(peer->pair.ops->post_send(ours(peer), wr), 0);
}

static const struct peer_options ways[] = {{.plain = false}, {.plain = true}};

#define FOR_EACH_WAY(opts)                                                                         \
	for (const struct peer_options *opts = ways; opts < ways + UTIL_ARRAY_SIZE(ways); opts++)

Test(iwarp_end, peer_that_closes_between_messages_flushes_everything)
{
	FOR_EACH_WAY(opts)
	{
		struct memory sink;
		struct peer peer;
		uint8_t buf[8192];

		peer_establish(&peer, opts);
		memory_open(&sink, &peer.pair, 0, 4096, MR_ACCESS_READ_SINK);
		post_some(&peer, &sink);
		shutdown(peer.fd, SHUT_WR);
		expect_flush(&peer, 0);
		while (recv(peer.fd, buf, sizeof(buf), 0) > 0)
			;
		memory_close(&sink);
		peer_close(&peer);
	}
}

Test(iwarp_end, peer_that_resets_flushes_everything)
{
	FOR_EACH_WAY(opts)
	{
		const struct linger reset = {1, 0};
		struct memory sink;
		struct peer peer;

		peer_establish(&peer, opts);
		memory_open(&sink, &peer.pair, 0, 4096, MR_ACCESS_READ_SINK);
		post_some(&peer, &sink);
		setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close_peer_socket(&peer);
		expect_flush(&peer, -ECONNRESET);
		cr_expect(ours(&peer)->err.what[0]);
		memory_close(&sink);
		peer_close(&peer);
	}
}

Test(iwarp_end, peer_that_closes_in_the_middle_of_a_message_is_an_error)
{
	/* after the length, in the header, in the payload, in the trailer */
	static const size_t cuts[] = {1, 2, 3, 19, 20, 21, 60, 121, 123};

	FOR_EACH_WAY(opts)
	{
		for (size_t i = 0; i < UTIL_ARRAY_SIZE(cuts); i++) {
			const struct iwarp_ddp ddp = {.last = true, .opcode = 3, .msn = 1};
			uint8_t ulpdu[18 + 100] = {0}, fpdu[128];
			struct memory inbox;
			struct peer peer;

			peer_establish(&peer, opts);
			memory_open(&inbox, &peer.pair, 0, 4096, 0);
			pair_recv(&peer.pair, 0, &inbox, 0, 4096, 1);
			iwarp_ddp_encode(&ddp, ulpdu);
			peer_build_fpdu(&peer, ulpdu, sizeof(ulpdu), fpdu);
			peer_write(&peer, fpdu, cuts[i]);
			close_peer_socket(&peer);
			cr_assert_eq(pair_next(&peer.pair, 0).status, FABRIC_WC_FLUSHED);
			cr_assert_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
			cr_expect_eq(ours(&peer)->err.code, -ECONNRESET);
			cr_expect(strstr(ours(&peer)->err.what, "in the middle of a message"));
			memory_close(&inbox);
			peer_close(&peer);
		}
	}
}

/* The peer terminates; layer, type, code and what it quotes. */
static void terminate_with(struct peer *peer, enum iwarp_fault fault, bool quote_request)
{
	const struct iwarp_ddp ddp = {.last = true, .opcode = 7, .qn = 2, .msn = 1};
	const struct iwarp_ddp quoted = {.last = true, .opcode = 1, .qn = 1, .msn = 1};
	struct iwarp_terminate term;
	uint8_t payload[IWARP_TERMINATE_MAX];

	iwarp_terminate_init(&term, fault);
	if (quote_request) {
		term.header_len = (uint8_t)iwarp_ddp_encode(&quoted, term.header);
		term.has_request = true;
	}
	peer_write_segment(peer, &ddp, payload, iwarp_terminate_encode(&term, payload));
}

Test(iwarp_end, refused_read_completes_with_the_peers_reason)
{
	FOR_EACH_WAY(opts)
	{
		struct fabric_sge sge;
		struct memory sink;
		struct fabric_wc wc;
		struct peer peer;

		peer_establish(&peer, opts);
		memory_open(&sink, &peer.pair, 0, 4096, MR_ACCESS_READ_SINK);
		sge = memory_sge(&sink, 0, 10);
		cr_assert_eq(pair_post(&peer.pair, 0, FABRIC_OP_READ, &sge, 0, 1, 0, 1), 0);
		cr_assert_eq(pair_post(&peer.pair, 0, FABRIC_OP_READ, &sge, 0, 1, 0, 2), 0);
		terminate_with(&peer, IWARP_FAULT_RDMAP_BOUNDS, true);
		wc = pair_next(&peer.pair, 0);
		cr_expect_eq(wc.wr_id, 1);
		cr_expect_eq(wc.status, FABRIC_WC_REMOTE_ACCESS);
		cr_expect_eq(pair_next(&peer.pair, 0).status, FABRIC_WC_FLUSHED);
		cr_expect_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
		cr_expect(strstr(ours(&peer)->err.what, "base or bounds"), "%s",
			  ours(&peer)->err.what);
		cr_expect(ours(&peer)->err.hint[0]);
		memory_close(&sink);
		peer_close(&peer);
	}
}

Test(iwarp_end, peer_without_a_receive_is_named)
{
	FOR_EACH_WAY(opts)
	{
		struct peer peer;

		peer_establish(&peer, opts);
		terminate_with(&peer, IWARP_FAULT_UNTAGGED_NO_BUFFER, false);
		cr_assert_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
		cr_expect_eq(ours(&peer)->err.code, -ECONNRESET);
		cr_expect(strstr(ours(&peer)->err.what, "no buffer posted"), "%s",
			  ours(&peer)->err.what);
		peer_close(&peer);
	}
}

Test(iwarp_end, message_too_long_completes_its_receive_with_a_length_error)
{
	FOR_EACH_WAY(opts)
	{
		struct memory inbox;
		struct peer peer;
		uint8_t big[200] = {0};

		peer_establish(&peer, opts);
		memory_open(&inbox, &peer.pair, 0, 4096, 0);
		pair_recv(&peer.pair, 0, &inbox, 0, 100, 1);
		pair_recv(&peer.pair, 0, &inbox, 0, 100, 2);
		peer_send(&peer, big, sizeof(big));
		cr_expect_eq(pair_next(&peer.pair, 0).status, FABRIC_WC_LENGTH);
		cr_expect_eq(pair_next(&peer.pair, 0).status, FABRIC_WC_FLUSHED);
		cr_expect_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
		memory_close(&inbox);
		peer_close(&peer);
	}
}

Test(iwarp_end, read_into_memory_not_registered_for_it_fails_here)
{
	FOR_EACH_WAY(opts)
	{
		struct iwarp_terminate term;
		struct memory m;
		struct fabric_sge sge;
		struct peer peer;

		peer_establish(&peer, opts);
		memory_open(&m, &peer.pair, 0, 4096, MR_ACCESS_REMOTE_WRITE);
		sge = memory_sge(&m, 0, 10);
		cr_assert_eq(pair_post(&peer.pair, 0, FABRIC_OP_READ, &sge, 0, 1, 0, 1), 0);
		cr_expect_eq(peer_read_terminate(&peer, &term), IWARP_FAULT_RDMAP_CATASTROPHIC);
		close_peer_socket(&peer);
		cr_expect_eq(pair_next(&peer.pair, 0).status, FABRIC_WC_LOCAL_PROTECTION);
		cr_expect_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
		memory_close(&m);
		peer_close(&peer);
	}
}

Test(iwarp_end, invalidating_what_is_no_window_fails_here)
{
	FOR_EACH_WAY(opts)
	{
		struct memory m;
		struct peer peer;

		peer_establish(&peer, opts);
		memory_open(&m, &peer.pair, 0, 4096, MR_ACCESS_REMOTE_WRITE);
		cr_assert_eq(
			pair_post(&peer.pair, 0, FABRIC_OP_LOCAL_INV, NULL, 0, m.reg.rkey, 0, 1),
			0);
		close_peer_socket(&peer);
		cr_expect_eq(pair_next(&peer.pair, 0).status, FABRIC_WC_LOCAL_PROTECTION);
		cr_expect_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
		memory_close(&m);
		peer_close(&peer);
	}
}

Test(iwarp_end, memory_that_cannot_be_sent_is_a_protection_error_not_a_signal)
{
	FOR_EACH_WAY(opts)
	{
		struct fabric_sge sge;
		struct peer peer;
		void *gone = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		peer_establish(&peer, opts);
		sge = (struct fabric_sge){.ptr = gone, .len = 65536};
		cr_assert_eq(pair_post(&peer.pair, 0, FABRIC_OP_SEND, &sge, 0, 0, 0, 1), 0);
		cr_expect_eq(pair_next(&peer.pair, 0).status, FABRIC_WC_LOCAL_PROTECTION);
		cr_expect_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
		munmap(gone, 65536);
		peer_close(&peer);
	}
}

/* ---- destroying in every state ----------------------------------------------------------- */

static void destroy(struct peer *peer)
{
	peer->pair.ops->conn_destroy(ours(peer));
	peer->pair.end[0].conn = NULL;
	pair_settle(&peer->pair, 1);
}

Test(iwarp_end, destroy_is_legal_in_every_state)
{
	FOR_EACH_WAY(opts)
	{
		struct memory m;
		struct peer peer;

		/* connecting */
		peer_open(&peer, opts);
		peer_await_connect(&peer, opts);
		destroy(&peer);
		peer_close(&peer);
		/* the request is out */
		peer_open(&peer, opts);
		peer_await_connect(&peer, opts);
		peer_read_frame(&peer, IWARP_MPA_REQUEST);
		pair_settle(&peer.pair, 1);
		destroy(&peer);
		cr_expect(peer_sees_end(&peer));
		peer_close(&peer);
		/* running, in the middle of a large segment, with work outstanding */
		peer_establish(&peer, opts);
		memory_open(&m, &peer.pair, 0, 65536, MR_ACCESS_READ_SINK | MR_ACCESS_REMOTE_WRITE);
		post_some(&peer, &m);
		peer_write(&peer, "\xf0\x0e\xc1\x40", 4);
		util_put_be32(m.ptr, m.reg.rkey);
		util_put_be64(m.ptr + 4, m.reg.iova);
		peer_write(&peer, m.ptr, 12);
		peer_write(&peer, m.ptr, 5000);
		pair_settle(&peer.pair, 2);
		destroy(&peer);
		memory_close(&m);
		peer_close(&peer);
		/* disconnecting */
		peer_establish(&peer, opts);
		peer.pair.ops->conn_disconnect(ours(&peer));
		destroy(&peer);
		peer_close(&peer);
		peer_establish(&peer, opts);
		peer.pair.ops->conn_disconnect(ours(&peer));
		pair_settle(&peer.pair, 2);
		destroy(&peer);
		peer_close(&peer);
		/* ended, but its last word not heard */
		peer_establish(&peer, opts);
		close_peer_socket(&peer);
		usleep(1000);
		peer.pair.ops->cq_poll(peer.pair.end[0].cq, &(struct fabric_wc){0}, 0);
		destroy(&peer);
		peer_close(&peer);
	}
}

Test(iwarp_end, destroyed_between_accept_and_start)
{
	FOR_EACH_WAY(opts)
	{
		struct fabric_conn_params params = {.max_send_wr = 1, .max_recv_wr = 1};
		struct fabric_request *req;
		struct util_err err;
		struct peer peer;

		peer_open(&peer, opts);
		peer_connect(&peer);
		peer_write(&peer, "MPA ID Req Frame\0\1\0", 20);
		while (peer.pair.ops->listener_poll(peer.pair.listener, &req) != 0)
			usleep(100);
		cr_assert_eq(peer.pair.ops->conn_accept(peer.pair.end[0].cq, req, &params,
							&peer.pair.end[0].conn, &err),
			     0);
		destroy(&peer);
		cr_expect(peer_sees_end(&peer));
		peer_close(&peer);
	}
}

Test(iwarp_end, peer_that_never_closes_does_not_hold_us_up)
{
	FOR_EACH_WAY(opts)
	{
		uint64_t begin = util_clock_ns();
		struct peer peer;

		peer_establish(&peer, opts);
		peer.pair.ops->conn_disconnect(ours(&peer));
		cr_assert_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
		cr_expect_geq(util_clock_ns() - begin, UTIL_NS_PER_S / 2);
		cr_expect_eq(ours(&peer)->err.code, 0);
		peer_close(&peer);
	}
}

/* ---- a peer that does not read ----------------------------------------------------------- */

static long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, resident = 0;

	cr_assert_eq(fscanf(f, "%ld %ld", &size, &resident), 2);
	fclose(f);
	return resident;
}

Test(iwarp_end, peer_that_does_not_read_costs_no_memory_and_loses_nothing)
{
	enum { RECORD = 256 << 10, DEPTH = 64 };

	FOR_EACH_WAY(way)
	{
		struct peer_options opts = *way;
		static uint8_t buf[65536];
		unsigned posted = 0, next = 0;
		struct memory data;
		struct iwarp_ddp ddp;
		struct peer peer;
		size_t len, at = 0;
		long before;
		int rc = 0;

		opts.depth = DEPTH;
		peer_establish(&peer, &opts);
		memory_open(&data, &peer.pair, 0, RECORD, 0);
		memory_fill(&data, 8);
		before = resident_pages();
		while (rc == 0) {
			struct fabric_sge sge = memory_sge(&data, 0, RECORD);

			rc = pair_post(&peer.pair, 0, FABRIC_OP_WRITE, &sge, 0x10000, 0x77, 0,
				       posted);
			posted += rc == 0;
			if (rc)
				pair_settle(&peer.pair, 10);
			if (rc && peer.pair.end[0].first != peer.pair.end[0].last) {
				pair_next(&peer.pair, 0); /* the socket still takes some */
				rc = 0;
				next++;
			}
			cr_assert_lt(posted, 1000);
		}
		cr_expect_eq(rc, -ENOMEM);
		cr_expect_lt(resident_pages() - before, 1024);
		/* everything comes once the peer reads */
		for (unsigned i = 0; i < posted;) {
			cr_assert(peer_read_segment(&peer, &ddp, buf, &len));
			cr_assert_eq(ddp.to, 0x10000 + at);
			cr_assert_arr_eq(buf, data.ptr + at, len);
			at += len;
			if (ddp.last) {
				cr_assert_eq(at, RECORD);
				at = 0;
				i++;
			}
		}
		while (next < posted)
			cr_assert_eq(pair_next(&peer.pair, 0).wr_id, next++);
		memory_close(&data);
		peer_close(&peer);
	}
}

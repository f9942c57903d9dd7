/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting and accepting: what is said in the handshake, and every way it goes wrong. */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/iwarp/peer.h"
#include "transport/iwarp/internal.h"

static struct fabric_conn *ours(struct peer *peer)
{
	return peer->pair.end[0].conn;
}

static void reply_bytes(struct peer *peer, uint8_t flags, uint8_t revision, uint16_t private_len)
{
	uint8_t buf[IWARP_MPA_HEADER_LEN];

	memcpy(buf, "MPA ID Rep Frame", 16);
	buf[16] = flags;
	buf[17] = revision;
	util_put_be16(buf + 18, private_len);
	peer_write(peer, buf, sizeof(buf));
}

/* ---- initiator --------------------------------------------------------------------------- */

Test(iwarp_startup, request_is_revision_2_with_depths_and_our_mark)
{
	const struct peer_options opts = {.crc = FABRIC_CRC_ON};
	const uint8_t want[] = {
		'M',  'P',  'A',  ' ',	'I',  'D',  ' ',  'R',	'e',  'q',  ' ',
		'F',  'r',  'a',  'm',	'e',  0x50, 0x02, 0x00, 0x0c, 0x00, 0x40,
		0x00, 0x40, 0x6e, 0x66, 0x72, 0x01, 0x00, 0x00, 0xff, 0xce,
	};
	struct peer peer;

	peer_open(&peer, &opts);
	peer_await_connect(&peer, &opts);
	peer_read_frame(&peer, IWARP_MPA_REQUEST);
	cr_expect_arr_eq(peer.frame_bytes, want, sizeof(want));
	peer_close(&peer);
}

Test(iwarp_startup, crc_is_left_out_on_loopback_unless_somebody_wants_it)
{
	struct peer_options opts = {.crc = FABRIC_CRC_AUTO};
	struct peer peer;

	peer_open(&peer, &opts);
	peer_await_connect(&peer, &opts);
	peer_read_frame(&peer, IWARP_MPA_REQUEST);
	cr_expect(!peer.frame.crc);
	reply_bytes(&peer, 0x40, 1, 0); /* the peer does */
	cr_expect_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_ESTABLISHED);
	cr_expect(iwarp_conn_of(ours(&peer))->crc);
	peer_close(&peer);
}

Test(iwarp_startup, read_depths_are_the_smaller_of_both_sides)
{
	struct peer_options opts = {.ird = 3, .ord = 5};
	struct peer peer;

	peer_establish(&peer, &opts);
	cr_expect_eq(iwarp_conn_of(ours(&peer))->ord, 3);
	cr_expect_eq(iwarp_conn_of(ours(&peer))->ird, 5);
	peer_close(&peer);
	opts.responder = true;
	peer_establish(&peer, &opts);
	cr_expect_eq(iwarp_conn_of(ours(&peer))->ord, 3);
	cr_expect_eq(iwarp_conn_of(ours(&peer))->ird, 5);
	cr_expect_eq(peer.frame.ird, 5);
	cr_expect_eq(peer.frame.ord, 3);
	peer_close(&peer);
	opts.ird = opts.ord = IWARP_MPA_RD_ANY;
	peer_establish(&peer, &opts);
	cr_expect_eq(iwarp_conn_of(ours(&peer))->ord, IWARP_RD_MAX);
	cr_expect_eq(iwarp_conn_of(ours(&peer))->ird, IWARP_RD_MAX);
	peer_close(&peer);
}

Test(iwarp_startup, stranger_gets_fpdus_that_fit_his_segments_unless_told_otherwise)
{
	struct peer_options opts = {0};
	struct peer peer;

	peer_establish(&peer, &opts);
	/* loopback segments are long: what counts is that the mark was not assumed */
	cr_expect(!iwarp_conn_of(ours(&peer))->ours);
	cr_expect_leq(iwarp_mpa_fpdu_len(iwarp_conn_of(ours(&peer))->tx.max_ulpdu), 65483);
	peer_close(&peer);
}

/* Connect to a peer that answers with bytes, then closes or not. */
static void expect_refusal(const void *bytes, size_t len, bool then_close, int code,
			   const char *words)
{
	for (int plain = 0; plain < 2; plain++) {
		const struct peer_options opts = {.plain = plain, .timeout_ms = 300};
		struct peer peer;

		peer_open(&peer, &opts);
		peer_await_connect(&peer, &opts);
		peer_read_frame(&peer, IWARP_MPA_REQUEST);
		peer_write(&peer, bytes, len);
		if (then_close) {
			close(peer.fd);
			peer.fd = -1;
		}
		cr_assert_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
		cr_expect_eq(ours(&peer)->err.code, code, "%s: %d", words, ours(&peer)->err.code);
		cr_expect(strstr(ours(&peer)->err.what, words), "\"%s\" lacks \"%s\"",
			  ours(&peer)->err.what, words);
		cr_expect(strstr(ours(&peer)->err.what, "127.0.0.1 port "));
		cr_expect(ours(&peer)->err.hint[0]);
		cr_expect_eq(ours(&peer)->state, FABRIC_CONN_CLOSED);
		peer_close(&peer);
	}
}

Test(iwarp_startup, peer_that_is_no_iwarp_is_named_by_what_it_says)
{
	expect_refusal("HTTP/1.1 400 Bad Request\r\n", 26, false, -EPROTO, "HTTP/1.1 400");
	expect_refusal("\0\0\0\x1c", 4, false, -EPROTO, "does not speak iWARP");
	expect_refusal("MPA ID Req Frame", 16, false, -EPROTO, "does not speak iWARP");
}

Test(iwarp_startup, peer_that_says_nothing_is_given_up)
{
	expect_refusal("", 0, false, -ETIMEDOUT, "does not answer as iWARP");
	expect_refusal("MPA ID Rep Frame", 16, false, -ETIMEDOUT, "does not answer as iWARP");
}

Test(iwarp_startup, peer_that_closes_is_reported)
{
	expect_refusal("", 0, true, -ECONNRESET, "closed the connection instead of answering");
	expect_refusal("MPA ID Rep Fr", 13, true, -ECONNRESET, "closed the connection");
	expect_refusal("MPA ID Rep Frame\x10\x02\0\x08\0\x10", 22, true, -ECONNRESET, "closed");
}

Test(iwarp_startup, replies_we_cannot_work_with_are_refused)
{
	expect_refusal("MPA ID Rep Frame\0\0\0", 20, false, -EPROTONOSUPPORT,
		       "unknown MPA revision");
	expect_refusal("MPA ID Rep Frame\0\3\0", 20, false, -EPROTONOSUPPORT,
		       "unknown MPA revision");
	expect_refusal("MPA ID Rep Frame\x20\1\0", 20, false, -ECONNREFUSED, "rejects");
	expect_refusal("MPA ID Rep Frame\x80\1\0", 20, false, -EPROTONOSUPPORT, "markers");
	expect_refusal("MPA ID Rep Frame\x10\2\0\2\0\0", 22, false, -EPROTO,
		       "does not speak iWARP");
	expect_refusal("MPA ID Rep Frame\0\1\xff\xff", 20, false, -EPROTO, "does not speak iWARP");
}

Test(iwarp_startup, nobody_listening_is_said_with_a_hint)
{
	for (int plain = 0; plain < 2; plain++) {
		const struct peer_options opts = {.plain = plain};
		struct sockaddr_in in = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					 .sin_port = htons(1)};
		struct fabric_conn_params params = {
			.max_send_wr = 1, .max_recv_wr = 1, .peer_len = sizeof(in)};
		struct util_err err = {0};
		struct peer peer;
		int rc;

		peer_open(&peer, &opts);
		memcpy(&params.peer, &in, sizeof(in));
		rc = peer.pair.ops->conn_connect(peer.pair.end[0].cq, &params,
						 &peer.pair.end[0].conn, &err);
		if (rc == 0) {
			cr_assert_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_DISCONNECTED);
			err = ours(&peer)->err;
		}
		cr_expect_eq(err.code, -ECONNREFUSED);
		cr_expect(strstr(err.what, "127.0.0.1 port 1: Connection refused"), "%s", err.what);
		peer_close(&peer);
	}
}

Test(iwarp_startup, reply_may_come_byte_by_byte_with_a_message_behind_it)
{
	for (int plain = 0; plain < 2; plain++) {
		const struct peer_options opts = {.plain = plain};
		uint8_t bytes[128];
		const struct iwarp_ddp ddp = {.last = true, .opcode = 3, .msn = 1};
		uint8_t ulpdu[18 + 5];
		size_t len = 20;
		struct memory inbox;
		struct peer peer;

		peer_open(&peer, &opts);
		peer_await_connect(&peer, &opts);
		peer_read_frame(&peer, IWARP_MPA_REQUEST);
		memory_open(&inbox, &peer.pair, 0, 4096, 0);
		pair_recv(&peer.pair, 0, &inbox, 0, 4096, 3);
		memcpy(bytes, "MPA ID Rep Frame\0\1\0", 20);
		iwarp_ddp_encode(&ddp, ulpdu);
		memcpy(ulpdu + 18, "hello", 5);
		len += peer_build_fpdu(&peer, ulpdu, sizeof(ulpdu), bytes + len);
		for (size_t i = 0; i < len; i++) {
			peer_write(&peer, bytes + i, 1);
			pair_turn(&peer.pair);
		}
		cr_expect_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_ESTABLISHED);
		cr_expect_eq(pair_next(&peer.pair, 0).byte_len, 5);
		cr_expect_arr_eq(inbox.ptr, "hello", 5);
		memory_close(&inbox);
		peer_close(&peer);
	}
}

Test(iwarp_startup, reconnecting_from_the_same_port_works)
{
	const struct peer_options opts = {0};
	struct fabric_conn_params params = {.max_send_wr = 1, .max_recv_wr = 1};
	struct sockaddr_storage local;
	struct util_err err = {0};
	struct peer peer;

	peer_establish(&peer, &opts);
	local = ours(&peer)->local;
	params.peer = ours(&peer)->peer;
	params.local = local;
	params.peer_len = params.local_len = sizeof(struct sockaddr_in);
	for (int i = 0; i < 3; i++) {
		peer.pair.ops->conn_destroy(
			ours(&peer)); /* resets, so no TIME_WAIT stands in the way */
		close(peer.fd);
		cr_assert_eq(peer.pair.ops->conn_connect(peer.pair.end[0].cq, &params,
							 &peer.pair.end[0].conn, &err),
			     0, "%s", err.what);
		peer.fd = accept(peer.listen_fd, NULL, NULL);
		peer_read_frame(&peer, IWARP_MPA_REQUEST);
		reply_bytes(&peer, 0, 1, 0);
		cr_assert_eq(pair_next(&peer.pair, 0).type, FABRIC_EV_ESTABLISHED);
		cr_expect_eq(((struct sockaddr_in *)&ours(&peer)->local)->sin_port,
			     ((struct sockaddr_in *)&local)->sin_port);
	}
	peer_close(&peer);
}

Test(iwarp_startup, resvport_binds_below_1024_or_says_what_it_takes)
{
	const struct peer_options opts = {0};
	struct fabric_conn_params params = {.max_send_wr = 1, .max_recv_wr = 1, .resvport = true};
	struct util_err err = {0};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	struct peer peer;
	int rc;

	peer_open(&peer, &opts);
	peer.listen_fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(bind(peer.listen_fd, (struct sockaddr *)&in, sizeof(in)), 0);
	cr_assert_eq(listen(peer.listen_fd, 1), 0);
	getsockname(peer.listen_fd, (struct sockaddr *)&in, &len);
	memcpy(&params.peer, &in, sizeof(in));
	params.peer_len = sizeof(in);
	rc = peer.pair.ops->conn_connect(peer.pair.end[0].cq, &params, &peer.pair.end[0].conn,
					 &err);
	if (rc == 0) {
		peer.fd = accept(peer.listen_fd, (struct sockaddr *)&in, &len);
		cr_expect_lt(ntohs(in.sin_port), 1024);
	} else {
		cr_expect_eq(rc, -EACCES);
		cr_expect(strstr(err.hint, "noresvport"));
	}
	peer_close(&peer);
}

/* ---- the nudge --------------------------------------------------------------------------- */

static void say_something(struct peer *peer, struct memory *m)
{
	struct fabric_sge sge = memory_sge(m, 0, 10);

	cr_assert_eq(pair_post(&peer->pair, 0, FABRIC_OP_SEND, &sge, 0, 0, 0, 1), 0);
}

Test(iwarp_startup, silent_stranger_is_nudged_once_by_an_empty_write)
{
	for (int plain = 0; plain < 2; plain++) {
		const struct peer_options opts = {.plain = plain};
		static uint8_t buf[65536];
		struct iwarp_ddp ddp;
		struct memory m;
		struct peer peer;
		uint64_t due;
		size_t len;

		peer_establish(&peer, &opts);
		memory_open(&m, &peer.pair, 0, 4096, 0);
		cr_expect_eq(peer.pair.ops->cq_deadline(peer.pair.end[0].cq), 0);
		say_something(&peer, &m);
		due = peer.pair.ops->cq_deadline(peer.pair.end[0].cq);
		cr_expect(due > util_clock_ns() && due < util_clock_ns() + 31 * UTIL_NS_PER_MS);
		cr_assert(peer_read_segment(&peer, &ddp, buf, &len));
		cr_expect_eq(ddp.opcode, IWARP_OPCODE_SEND);
		cr_assert(peer_read_segment(&peer, &ddp, buf, &len));
		cr_expect(ddp.tagged && ddp.last);
		cr_expect_eq(ddp.opcode, IWARP_OPCODE_WRITE);
		cr_expect_eq(len, 0);
		cr_expect_geq(util_clock_ns(), due);
		cr_expect_eq(peer.pair.ops->cq_deadline(peer.pair.end[0].cq), 0);
		memory_close(&m);
		peer_close(&peer);
	}
}

Test(iwarp_startup, peer_that_answers_is_not_nudged)
{
	const struct peer_options opts = {0};
	struct memory m;
	struct peer peer;

	peer_establish(&peer, &opts);
	memory_open(&m, &peer.pair, 0, 4096, 0);
	pair_recv(&peer.pair, 0, &m, 0, 4096, 1);
	say_something(&peer, &m);
	peer_send(&peer, "x", 1);
	cr_expect_eq(pair_next_of(&peer.pair, 0, FABRIC_WC_RECV).byte_len, 1);
	cr_expect_eq(peer.pair.ops->cq_deadline(peer.pair.end[0].cq), 0);
	memory_close(&m);
	peer_close(&peer);
}

Test(iwarp_startup, one_of_us_is_not_nudged)
{
	struct pair_options opts = {0};
	struct pair pair;
	struct memory m, inbox;
	struct fabric_sge sge;

	pair_open(&pair, &opts);
	cr_expect(iwarp_conn_of(pair.end[0].conn)->ours);
	cr_expect(iwarp_conn_of(pair.end[1].conn)->ours);
	cr_expect_eq(iwarp_conn_of(pair.end[0].conn)->tx.max_ulpdu, IWARP_ULPDU_OURS);
	memory_open(&m, &pair, 0, 4096, 0);
	memory_open(&inbox, &pair, 1, 4096, 0);
	pair_recv(&pair, 1, &inbox, 0, 4096, 1);
	sge = memory_sge(&m, 0, 10);
	cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_SEND, &sge, 0, 0, 0, 1), 0);
	cr_expect_eq(pair.ops->cq_deadline(pair.end[0].cq), 0);
	memory_close(&m);
	memory_close(&inbox);
	pair_close(&pair);
}

/* ---- responder --------------------------------------------------------------------------- */

static void request_bytes(struct peer *peer, uint8_t flags, uint8_t revision, const void *private,
			  uint16_t private_len)
{
	uint8_t buf[IWARP_MPA_FRAME_MAX];

	memcpy(buf, "MPA ID Req Frame", 16);
	buf[16] = flags;
	buf[17] = revision;
	util_put_be16(buf + 18, private_len);
	if (private_len)
		memcpy(buf + 20, private, private_len);
	peer_write(peer, buf, 20 + (size_t)private_len);
}

Test(iwarp_startup, revision_1_is_answered_in_kind_and_without_our_mark)
{
	const struct peer_options opts = {0};
	struct peer peer;

	peer_open(&peer, &opts);
	peer_connect(&peer);
	request_bytes(&peer, 0, 1, "abc", 3);
	peer_accept(&peer, &opts);
	peer_read_frame(&peer, IWARP_MPA_REPLY);
	cr_expect_eq(peer.frame.revision, 1);
	cr_expect(!peer.frame.enhanced && !peer.frame.crc && !peer.frame.markers &&
		  !peer.frame.reject);
	cr_expect_eq(peer.frame.private_len, 0);
	cr_expect_eq(ours(&peer)->peer_private_len, 3);
	cr_expect_arr_eq(ours(&peer)->peer_private, "abc", 3);
	peer_close(&peer);
}

Test(iwarp_startup, crc_wanted_by_the_initiator_is_granted)
{
	const struct peer_options opts = {.crc = FABRIC_CRC_OFF};
	struct peer peer;

	peer_open(&peer, &opts);
	peer_connect(&peer);
	request_bytes(&peer, 0x40, 1, NULL, 0);
	peer_accept(&peer, &opts);
	peer_read_frame(&peer, IWARP_MPA_REPLY);
	cr_expect(peer.frame.crc);
	peer_close(&peer);
}

Test(iwarp_startup, peer_to_peer_initiator_is_told_how_to_begin)
{
	struct peer_options opts = {
		.responder = true, .peer_to_peer = true, .rtr_write = true, .rtr_read = true};
	struct peer peer;

	peer_establish(&peer, &opts);
	cr_expect(peer.frame.peer_to_peer && peer.frame.rtr_write && !peer.frame.rtr_read);
	peer_close(&peer);
	opts.rtr_write = false;
	peer_establish(&peer, &opts);
	cr_expect(peer.frame.peer_to_peer && !peer.frame.rtr_write && peer.frame.rtr_read);
	peer_close(&peer);
}

Test(iwarp_startup, responder_is_silent_until_the_initiator_has_spoken)
{
	for (int plain = 0; plain < 2; plain++) {
		const struct peer_options opts = {.responder = true, .plain = plain};
		static uint8_t buf[65536];
		struct iwarp_ddp ddp;
		struct memory m;
		struct peer peer;
		size_t len;

		peer_establish(&peer, &opts);
		memory_open(&m, &peer.pair, 0, 4096, 0);
		say_something(&peer, &m);
		pair_settle(&peer.pair, 20);
		cr_expect_eq(recv(peer.fd, buf, 1, MSG_DONTWAIT), -1);
		cr_expect_eq(errno, EAGAIN);
		peer_tagged(&peer, IWARP_OPCODE_WRITE, 0, 0, NULL, 0);
		cr_assert(peer_read_segment(&peer, &ddp, buf, &len));
		cr_expect_eq(len, 10);
		memory_close(&m);
		peer_close(&peer);
	}
}

/* Requests that never reach the owner: how the peer learns of it. */
static void expect_no_request(const void *bytes, size_t len, bool rejected)
{
	const struct peer_options opts = {0};
	struct fabric_request *req;
	struct peer peer;
	uint8_t reply[64];
	ssize_t n = 0;

	peer_open(&peer, &opts);
	peer_connect(&peer);
	peer_write(&peer, bytes, len);
	for (int i = 0; i < 50; i++) {
		cr_assert_eq(peer.pair.ops->listener_poll(peer.pair.listener, &req), -EAGAIN);
		n = recv(peer.fd, reply, sizeof(reply), MSG_DONTWAIT);
		if (n >= 0)
			break;
		usleep(1000);
	}
	if (rejected) {
		cr_expect_eq(n, reply[17] == 2 ? 24 : 20);
		cr_expect_arr_eq(reply, "MPA ID Rep Frame", 16);
		cr_expect(reply[16] & 0x20);
	} else {
		cr_expect_eq(n, 0);
	}
	peer_close(&peer);
}

Test(iwarp_startup, requests_we_cannot_serve_do_not_reach_the_owner)
{
	expect_no_request("GET / HTTP/1.1\r\n\r\n", 18, false);
	expect_no_request("MPA ID Rep Frame\0\1\0", 20, false);
	expect_no_request("MPA ID Req Frame\0\0\0", 20, false);
	expect_no_request("MPA ID Req Frame\0\3\0", 20, false);
	expect_no_request("MPA ID Req Frame\0\1\2\1", 20, false); /* 513 bytes of private data */
	expect_no_request("MPA ID Req Frame\x10\2\0\2\0\0", 22, false);
	expect_no_request("MPA ID Req Frame\x80\1\0", 20, true);
	/* peer to peer, but only by a Send, which would use up a receive */
	expect_no_request("MPA ID Req Frame\x10\2\0\4\xc0\1\0\1", 24, true);
}

Test(iwarp_startup, owner_may_reject)
{
	const struct peer_options opts = {0};
	struct fabric_request *req;
	struct peer peer;

	peer_open(&peer, &opts);
	peer_connect(&peer);
	request_bytes(&peer, 0, 1, NULL, 0);
	while (peer.pair.ops->listener_poll(peer.pair.listener, &req) != 0)
		usleep(100);
	peer.pair.ops->request_reject(req);
	peer_read_frame(&peer, IWARP_MPA_REPLY);
	cr_expect(peer.frame.reject);
	cr_expect(peer_sees_end(&peer));
	peer_close(&peer);
}

Test(iwarp_startup, silent_connections_do_not_keep_others_out)
{
	const struct peer_options opts = {0};
	struct fabric_request *req;
	enum { CROWD = 400 };
	int fds[CROWD];
	struct peer peer;

	peer_open(&peer, &opts);
	peer_connect(&peer);
	for (unsigned i = 0; i < CROWD; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		cr_assert_eq(connect(fds[i], (struct sockaddr *)&peer.pair.addr,
				     sizeof(struct sockaddr_in)),
			     0);
		cr_assert_eq(peer.pair.ops->listener_poll(peer.pair.listener, &req), -EAGAIN);
	}
	cr_expect_neq(peer.pair.ops->listener_deadline(peer.pair.listener), 0);
	/* the first ones had to go */
	cr_expect(peer_sees_end(&peer));
	close(peer.fd);
	peer_connect(&peer);
	request_bytes(&peer, 0, 1, NULL, 0);
	peer_accept(&peer, &opts);
	peer_read_frame(&peer, IWARP_MPA_REPLY);
	cr_expect(!peer.frame.reject);
	for (unsigned i = 0; i < CROWD; i++)
		close(fds[i]);
	peer_close(&peer);
}

Test(iwarp_startup, out_of_descriptors_the_listener_looks_away_and_comes_back)
{
	const struct peer_options opts = {0};
	struct rlimit limit, none;
	struct fabric_request *req;
	struct pollfd pfd = {.events = POLLIN};
	struct peer peer;

	peer_open(&peer, &opts);
	peer_connect(&peer);
	request_bytes(&peer, 0, 1, NULL, 0);
	pfd.fd = peer.pair.ops->listener_fd(peer.pair.listener);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3; /* everything is taken */
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_expect_eq(poll(&pfd, 1, 1000), 1);
	cr_expect_eq(peer.pair.ops->listener_poll(peer.pair.listener, &req), -EAGAIN);
	cr_expect_eq(poll(&pfd, 1, 0), 0, "the listener keeps its caller busy");
	cr_expect_neq(peer.pair.ops->listener_deadline(peer.pair.listener), 0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	peer_accept(&peer, &opts);
	peer_read_frame(&peer, IWARP_MPA_REPLY);
	cr_expect(!peer.frame.reject);
	peer_close(&peer);
}

Test(iwarp_startup, listening_where_somebody_listens_says_so)
{
	struct pair_options opts = {0};
	struct fabric_listener *l;
	struct sockaddr_storage bound;
	struct util_err err = {0};
	struct pair pair;

	pair_open(&pair, &opts);
	cr_expect_eq(pair.ops->listen(pair.end[0].fabric, (struct sockaddr *)&pair.addr,
				      sizeof(struct sockaddr_in), &bound, &l, &err),
		     -EADDRINUSE);
	cr_expect(strstr(err.what, "listen on 127.0.0.1 port "), "%s", err.what);
	cr_expect(err.hint[0]);
	pair_close(&pair);
}

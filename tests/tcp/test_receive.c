/* SPDX-License-Identifier: BSD-2-Clause */
/* transport/tcp/receive.c: replies of every shape, from a scripted peer. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/tcp/peer.h"

static struct peer peer;
static struct echo_wait wait_for;

static void start(void)
{
	peer_start(&peer, NULL);
	memset(&wait_for, 0, sizeof(wait_for));
}

static void stop(void)
{
	peer_stop(&peer);
}

TestSuite(tcp_receive, .init = start, .fini = stop, .timeout = 60);

/* Submit a read of len into buf; its XID as the peer sees it. */
static uint32_t submit_read(void *buf, size_t len, uint32_t seed)
{
	struct transport_call *call = echo_read(peer.client, &wait_for, buf, len, seed);

	cr_assert_eq(transport_call_submit(call), 0);
	return peer_read_xid(&peer);
}

static uint32_t submit_text(const char *text)
{
	cr_assert_eq(transport_call_submit(echo_text(peer.client, &wait_for, text)), 0);
	return peer_read_xid(&peer);
}

static void all_well(unsigned n)
{
	cr_assert_eq(wait_for.done, n);
	cr_assert_eq(wait_for.failed, 0, "%s", wait_for.err.what);
	cr_assert(!wait_for.bad);
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
}

Test(tcp_receive, takes_a_reply_cut_anywhere)
{
	enum { LEN = 101 };
	uint8_t data[LEN], reply[1024];
	unsigned n = 0;

	for (size_t cut = 1;; cut++) {
		size_t len = reply_read(reply, submit_read(data, LEN, n), LEN, n, 0);

		if (cut >= len)
			break;
		peer_write(&peer, reply, cut);
		peer_deliver(&peer);
		cr_assert_eq(wait_for.done, n, "cut %zu: early", cut);
		peer_write(&peer, reply + cut, len - cut);
		cr_assert(echo_drive(peer.client, &wait_for, ++n), "cut %zu", cut);
		cr_assert(!wait_for.bad && wait_for.failed == 0, "cut %zu: %s", cut,
			  wait_for.err.what);
	}
	all_well(n);
}

Test(tcp_receive, takes_a_reply_byte_by_byte)
{
	uint8_t data[50], reply[1024];
	size_t len = reply_read(reply, submit_read(data, sizeof(data), 3), sizeof(data), 3, 0);

	for (size_t i = 0; i < len; i++) {
		cr_assert_eq(wait_for.done, 0);
		peer_write(&peer, reply + i, 1);
		peer_deliver(&peer);
	}
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	all_well(1);
}

Test(tcp_receive, joins_fragments_of_every_size)
{
	enum { LEN = 77 };
	uint8_t data[LEN], reply[1024], cut[8192];
	unsigned n = 0;

	for (size_t piece = 1; piece < 120; piece++) {
		size_t len = reply_read(reply, submit_read(data, LEN, n), LEN, n, 0);

		peer_write(&peer, cut, refragment(cut, reply, len, piece));
		cr_assert(echo_drive(peer.client, &wait_for, ++n), "piece %zu", piece);
		cr_assert(!wait_for.bad && wait_for.failed == 0, "piece %zu: %s", piece,
			  wait_for.err.what);
		/* and without bulk data */
		len = reply_text(reply, submit_text("joined"), "joined");
		peer_write(&peer, cut, refragment(cut, reply, len, piece));
		cr_assert(echo_drive(peer.client, &wait_for, ++n), "piece %zu", piece);
	}
	all_well(n);
}

Test(tcp_receive, joins_fragments_that_also_come_byte_by_byte)
{
	uint8_t data[40], reply[1024], cut[4096];
	size_t len = reply_read(reply, submit_read(data, sizeof(data), 9), sizeof(data), 9, 0);

	len = refragment(cut, reply, len, 5);
	for (size_t i = 0; i < len; i++) {
		peer_write(&peer, cut + i, 1);
		peer_deliver(&peer);
	}
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	all_well(1);
}

Test(tcp_receive, empty_fragments_change_nothing)
{
	uint8_t reply[1024], buf[2048] = {0};
	size_t len = reply_text(reply, submit_text("x"), "x");

	memcpy(buf + 12, reply, len); /* three marks of length 0, not last */
	peer_write(&peer, buf, len + 12);
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	all_well(1);
}

Test(tcp_receive, places_large_data_and_keeps_what_follows_it)
{
	enum { LEN = 300001 };
	uint8_t *data = malloc(LEN), *reply = malloc(LEN + 8192), *cut = malloc(2 * LEN);
	unsigned n = 0;

	for (size_t piece = 1000; piece < 2 * LEN; piece = piece * 7 + 1) {
		size_t len = reply_read(reply, submit_read(data, LEN, n), LEN, n, 0);

		memset(data, 0, LEN);
		peer_write(&peer, cut, refragment(cut, reply, len, piece));
		cr_assert(echo_drive(peer.client, &wait_for, ++n), "piece %zu", piece);
	}
	all_well(n);
	free(cut);
	free(reply);
	free(data);
}

static void tail_done(struct transport_call *call)
{
	unsigned *words = call->arg;

	cr_assert_eq(call->status, 0, "%s", call->err.what);
	cr_assert_eq(wire_get_u32(&call->results), 0);
	cr_assert_eq(wire_get_u32(&call->results), call->data_received);
	for (*words = 0; wire_dec_left(&call->results) > 0; (*words)++)
		cr_assert_eq(wire_get_u32(&call->results), 0xabcd0000u + *words);
	cr_assert(echo_check(call->sink[0].addr, call->data_received, 4));
	transport_call_put(call);
}

Test(tcp_receive, results_behind_the_data_close_up)
{
	static const size_t lens[] = {0, 1, 99, 40000};
	uint8_t *data = malloc(40000), *reply = malloc(50000);

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		for (int split = 0; split < 2; split++) {
			struct transport_call *call =
				echo_read(peer.client, NULL, data, lens[i], 4);
			unsigned words = 99;
			size_t len;

			call->done = tail_done;
			call->arg = &words;
			cr_assert_eq(transport_call_submit(call), 0);
			len = reply_read(reply, peer_read_xid(&peer), lens[i], 4, 3);
			if (split) {
				peer_write(&peer, reply, 45);
				peer_deliver(&peer);
				peer_write(&peer, reply + 45, len - 45);
			} else {
				peer_write(&peer, reply, len);
			}
			for (int k = 0; k < 1000 && words == 99; k++) {
				transport_client_wait(peer.client, 10);
				transport_client_process(peer.client);
			}
			cr_assert_eq(words, 3, "%zu bytes", lens[i]);
		}
	}
	free(reply);
	free(data);
}

Test(tcp_receive, scatters_over_the_sinks_segments)
{
	enum { LEN = 1000 };
	uint8_t data[LEN], reply[2048];
	struct transport_call *call = echo_read(peer.client, &wait_for, data, LEN, 5);
	size_t off = 0;

	for (unsigned i = 0; i < 10; i++) {
		call->sink[i].addr = data + off;
		call->sink[i].len = i < 9 ? 1 + 20 * i : LEN - off;
		call->sink[i].lease = NULL;
		off += call->sink[i].len;
	}
	call->sink_nsegs = 10;
	cr_assert_eq(transport_call_submit(call), 0);
	peer_write(&peer, reply, reply_read(reply, peer_read_xid(&peer), LEN, 5, 0));
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	all_well(1);
}

Test(tcp_receive, finds_calls_answered_out_of_order)
{
	enum { N = 50 };
	uint8_t data[N][64], reply[1024];
	uint32_t xids[N];

	for (unsigned i = 0; i < N; i++)
		xids[i] = submit_read(data[i], sizeof(data[i]), i);
	for (unsigned i = N; i-- > 0;)
		peer_write(&peer, reply, reply_read(reply, xids[i], sizeof(data[i]), i, 0));
	cr_assert(echo_drive(peer.client, &wait_for, N));
	all_well(N);
}

Test(tcp_receive, an_unknown_xid_costs_only_its_record)
{
	uint8_t reply[2048];
	uint8_t *big = calloc(1, 3 << 20);
	uint32_t xid = submit_text("mine");

	peer_write(&peer, reply, reply_text(reply, xid + 1000, "foreign"));
	util_put_be32(big, 0x80000000u | ((3 << 20) - 4));
	util_put_be32(big + 4, xid + 2000);
	peer_write(&peer, big, 3 << 20);
	peer_deliver(&peer);
	cr_assert_eq(wait_for.done, 0);
	peer_write(&peer, reply, reply_text(reply, xid, "mine"));
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	/* a second answer to the same call is as foreign as any */
	peer_write(&peer, reply, reply_text(reply, xid, "mine"));
	peer_write(&peer, reply, reply_text(reply, submit_text("next"), "next"));
	cr_assert(echo_drive(peer.client, &wait_for, 2));
	all_well(2);
	free(big);
}

Test(tcp_receive, a_record_too_short_for_an_xid_is_skipped)
{
	static const uint8_t runts[] = {0x80, 0, 0, 0, 0x80, 0, 0, 2, 1, 2, 0x80, 0, 0, 3, 1, 2, 3};
	uint8_t reply[1024];
	uint32_t xid = submit_text("y");

	peer_write(&peer, runts, sizeof(runts));
	peer_write(&peer, reply, reply_text(reply, xid, "y"));
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	all_well(1);
}

Test(tcp_receive, a_record_too_long_for_its_call_fails_that_call_only)
{
	uint8_t *big = calloc(1, 200000);
	uint8_t reply[1024];
	uint32_t xid = submit_text("short");

	util_put_be32(big, 0x80000000u | (200000 - 4));
	util_put_be32(big + 4, xid);
	util_put_be32(big + 8, 1);
	peer_write(&peer, big, 200000);
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.status, -EIO);
	cr_assert(strstr(wait_for.err.what, "longer"), "%s", wait_for.err.what);
	peer_write(&peer, reply, reply_text(reply, submit_text("z"), "z"));
	cr_assert(echo_drive(peer.client, &wait_for, 2));
	cr_assert_eq(wait_for.failed, 1);
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
	free(big);
}

Test(tcp_receive, a_wild_length_is_not_allocated)
{
	uint8_t head[8];
	uint32_t xid = submit_text("wild");

	util_put_be32(head, 0xffffffffu);
	util_put_be32(head + 4, xid);
	peer_write(&peer, head, sizeof(head));
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.status, -EIO);
}

Test(tcp_receive, more_data_than_was_asked_for_fails_the_call)
{
	uint8_t data[64 + 64], reply[1024];
	uint32_t xid;

	memset(data, 0x5a, sizeof(data));
	xid = submit_read(data, 64, 1);
	peer_write(&peer, reply, reply_read(reply, xid, 68, 1, 0));
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.status, -EIO);
	for (size_t i = 64; i < sizeof(data); i++)
		cr_assert_eq(data[i], 0x5a);
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
}

Test(tcp_receive, data_cut_short_fails_the_call)
{
	uint8_t data[400], reply[2048];
	size_t len;

	for (int split = 0; split < 2; split++) {
		len = reply_read(reply, submit_read(data, sizeof(data), 1), sizeof(data), 1, 0);
		util_put_be32(reply, 0x80000000u | (uint32_t)(len - 4 - 100));
		peer_write(&peer, reply, split ? 50 : len - 100);
		peer_deliver(&peer);
		if (split)
			peer_write(&peer, reply + 50, len - 150);
		cr_assert(echo_drive(peer.client, &wait_for, (unsigned)split + 1));
		cr_assert_eq(wait_for.failed, (unsigned)split + 1);
		cr_assert_eq(wait_for.status, -EIO);
	}
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
}

static void short_done(struct transport_call *call)
{
	cr_assert_eq(call->status, 0, "%s", call->err.what);
	cr_assert(call->data_sunk);
	*(size_t *)call->arg = call->data_received;
	transport_call_put(call);
}

Test(tcp_receive, less_data_than_was_asked_for_is_counted)
{
	uint8_t data[400], reply[2048];
	size_t received = 999;
	struct transport_call *call = echo_read(peer.client, NULL, data, sizeof(data), 1);

	call->done = short_done;
	call->arg = &received;
	cr_assert_eq(transport_call_submit(call), 0);
	peer_write(&peer, reply, reply_read(reply, peer_read_xid(&peer), 33, 1, 0));
	peer_deliver(&peer);
	cr_assert_eq(received, 33);
}

/* A reply without bulk data to a call that wants some: an error status, or not even that. */
static void no_data_done(struct transport_call *call)
{
	int *status = call->arg;

	cr_assert(!call->data_sunk);
	*status = call->status ? call->status : (int)wire_get_u32(&call->results);
	transport_call_put(call);
}

static int answer_read_with(const struct wire_rpc_error *error, uint32_t word)
{
	uint8_t data[64], reply[256];
	struct transport_call *call = echo_read(peer.client, NULL, data, sizeof(data), 1);
	struct wire_enc enc;
	int status = 12345;
	uint32_t xid;

	call->done = no_data_done;
	call->arg = &status;
	cr_assert_eq(transport_call_submit(call), 0);
	xid = peer_read_xid(&peer);
	wire_enc_init(&enc, reply + 4, sizeof(reply) - 4);
	if (error) {
		wire_rpc_error_encode(&enc, xid, error);
	} else {
		wire_rpc_reply_encode(&enc, xid);
		wire_put_u32(&enc, word);
	}
	util_put_be32(reply, 0x80000000u | (uint32_t)wire_enc_len(&enc));
	peer_write(&peer, reply, 4 + wire_enc_len(&enc));
	for (int i = 0; i < 1000 && status == 12345; i++) {
		transport_client_wait(peer.client, 10);
		transport_client_process(peer.client);
	}
	return status;
}

Test(tcp_receive, replies_without_data_are_parsed_as_they_stand)
{
	const struct wire_rpc_error denied = {
		.denied = true, .stat = 1, .auth_stat = WIRE_AUTH_TOOWEAK};
	const struct wire_rpc_error garbage = {.stat = WIRE_GARBAGE_ARGS};
	const struct wire_rpc_error no_prog = {.stat = WIRE_PROG_UNAVAIL};
	const struct wire_rpc_error mismatch = {.stat = WIRE_PROG_MISMATCH, .low = 2, .high = 2};
	const struct wire_rpc_error no_proc = {.stat = WIRE_PROC_UNAVAIL};

	cr_assert_eq(answer_read_with(NULL, 5), 5);
	cr_assert(answer_read_with(&denied, 0) == -EACCES ||
		  answer_read_with(&denied, 0) == -EPERM);
	cr_assert_eq(answer_read_with(&garbage, 0), -EREMOTEIO);
	cr_assert_eq(answer_read_with(&no_prog, 0), -EPROTONOSUPPORT);
	cr_assert_eq(answer_read_with(&mismatch, 0), -EPROTONOSUPPORT);
	cr_assert_eq(answer_read_with(&no_proc, 0), -EOPNOTSUPP);
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
}

Test(tcp_receive, a_mangled_reply_header_fails_its_call)
{
	uint8_t reply[64] = {0};
	uint32_t xid = submit_text("m");

	util_put_be32(reply, 0x80000000u | 24);
	util_put_be32(reply + 4, xid);
	util_put_be32(reply + 8, 7); /* neither call nor reply */
	peer_write(&peer, reply, 28);
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.status, -EIO);
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
}

Test(tcp_receive, many_small_replies_take_few_system_calls)
{
	enum { N = 100, LEN = 512 };
	static uint8_t data[N][LEN], replies[N * (LEN + 64)];
	struct transport_counters before, after;
	size_t len = 0;

	for (unsigned i = 0; i < N; i++)
		len += reply_read(replies + len, submit_read(data[i], LEN, i), LEN, i, 0);
	transport_client_counters(peer.client, &before);
	peer_write(&peer, replies, len);
	peer_deliver(&peer);
	transport_client_counters(peer.client, &after);
	all_well(N);
	cr_assert_leq(after.receive_calls - before.receive_calls, 4);
	cr_assert_eq(after.bytes_received - before.bytes_received, len);
}

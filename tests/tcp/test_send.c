/* SPDX-License-Identifier: BSD-2-Clause */
/* transport/tcp/send.c and link.c: what leaves, in which order, by how many system calls. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/tcp/peer.h"
#include "transport/rpc/link.h"

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

TestSuite(tcp_send, .init = start, .fini = stop, .timeout = 60);

Test(tcp_send, a_call_leaves_from_submit)
{
	uint64_t before = peer_counters(&peer).doorbells;

	cr_assert_eq(transport_call_submit(echo_text(peer.client, &wait_for, "now")), 0);
	cr_assert_eq(peer_counters(&peer).doorbells, before + 1);
	peer_reply(&peer, peer_read_xid(&peer), "now");
	cr_assert(echo_drive(peer.client, &wait_for, 1));
}

struct chain {
	struct echo_wait wait;
	struct transport_call *next[40];
};

static void submit_more(struct transport_call *call)
{
	struct chain *chain = call->arg;

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(chain->next); i++)
		cr_assert_eq(transport_call_submit(chain->next[i]), 0);
	transport_call_put(call);
}

Test(tcp_send, what_callbacks_submit_leaves_in_order_by_one_system_call)
{
	static struct chain chain;
	struct transport_call *first = echo_text(peer.client, &chain.wait, "first");
	struct transport_call *check;
	uint64_t before;
	uint32_t xid;
	uint8_t buf[2048], reply[1024];
	char text[16];

	first->done = submit_more;
	first->arg = &chain;
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(chain.next); i++) {
		snprintf(text, sizeof(text), "n%u", i);
		chain.next[i] = echo_text(peer.client, &chain.wait, text);
	}
	cr_assert_eq(transport_call_submit(first), 0);
	xid = peer_read_xid(&peer);
	before = peer_counters(&peer).doorbells;
	peer_write(&peer, reply, reply_text(reply, xid, "first"));
	peer_deliver(&peer);
	cr_assert_eq(peer_counters(&peer).doorbells, before + 1);
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(chain.next); i++) {
		size_t len = peer_read_call(&peer, buf, sizeof(buf));

		check = chain.next[i];
		cr_assert_eq(util_get_be32(buf), check->xid);
		cr_assert_eq(len, check->msg_len);
		cr_assert_eq(memcmp(buf, check->msg, len), 0);
		snprintf(text, sizeof(text), "n%u", i);
		peer_write(&peer, reply, reply_text(reply, check->xid, text));
	}
	cr_assert(echo_drive(peer.client, &chain.wait, UTIL_ARRAY_SIZE(chain.next)));
	cr_assert(!chain.wait.bad && chain.wait.failed == 0);
}

Test(tcp_send, bulk_data_stands_where_it_belongs_with_its_padding)
{
	static const size_t lens[] = {0, 1, 2, 3, 4, 1000, 70001};
	uint8_t *data = malloc(70001), *buf = malloc(80000);

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		size_t len = lens[i];
		struct transport_call *call = echo_write(peer.client, &wait_for, data, len, 8);
		struct wire_rpc_call header;
		struct wire_rpc_error error;
		struct wire_dec dec;
		const uint8_t *got;
		size_t got_len;

		echo_fill(data, len, 8);
		wire_put_u32(&call->args, 0x600dcafe); /* and something behind it */
		cr_assert_eq(transport_call_submit(call), 0);
		wire_dec_init(&dec, buf, peer_read_call(&peer, buf, 80000));
		cr_assert_eq(wire_rpc_call_decode(&dec, &header, &error), 0);
		cr_assert_eq(wire_get_u32(&dec), 8);
		got = wire_get_opaque(&dec, 80000, &got_len);
		cr_assert_eq(got_len, len);
		cr_assert(echo_check(got, len, 8));
		cr_assert_eq(wire_get_u32(&dec), 0x600dcafe);
		cr_assert(!dec.bad && wire_dec_left(&dec) == 0);
	}
	free(buf);
	free(data);
}

Test(tcp_send, segments_are_gathered)
{
	uint8_t data[1000], buf[2048];
	struct transport_call *call;
	struct transport_seg segs[TRANSPORT_MAX_SEGS];
	size_t len;

	echo_fill(data, sizeof(data), 1);
	for (unsigned i = 0; i < TRANSPORT_MAX_SEGS; i++)
		segs[i] = (struct transport_seg){.addr = data + 60 * i, .len = 60};
	call = echo_text(peer.client, &wait_for, "");
	transport_call_data_here(call, segs, TRANSPORT_MAX_SEGS, 950);
	cr_assert_eq(transport_call_submit(call), 0);
	len = peer_read_call(&peer, buf, sizeof(buf));
	cr_assert_eq(len, call->msg_len + 952);
	cr_assert_eq(memcmp(buf + call->msg_len, data, 950), 0);
}

/* Fill the connection until a record is cut off in the middle; returns the calls submitted. */
static unsigned fill_up(const uint8_t *data, size_t len)
{
	unsigned n = 0;
	uint64_t sent;

	do {
		sent = peer_counters(&peer).bytes_sent;
		cr_assert_eq(
			transport_call_submit(echo_write(peer.client, &wait_for, data, len, n)), 0);
		n++;
	} while (peer_counters(&peer).bytes_sent - sent > len && n < 100);
	cr_assert_lt(n, 100, "the socket takes everything");
	return n;
}

Test(tcp_send, a_record_cut_off_is_finished_before_the_next)
{
	enum { LEN = 1 << 20 };
	uint8_t *data = malloc(LEN), *buf = malloc(LEN + 4096);
	uint8_t reply[64];
	unsigned n;

	echo_fill(data, LEN, 0);
	n = fill_up(data, LEN);
	cr_assert_eq(transport_call_submit(echo_text(peer.client, &wait_for, "last")), 0);
	for (unsigned i = 0; i < n; i++) {
		size_t len = peer_read_call(&peer, buf, LEN + 4096);
		struct wire_enc enc;

		cr_assert(echo_check(buf + len - LEN, LEN, 0), "record %u", i);
		wire_enc_init(&enc, reply + 4, sizeof(reply) - 4);
		wire_rpc_reply_encode(&enc, util_get_be32(buf));
		wire_put_u32(&enc, 1);
		util_put_be32(reply, 0x80000000u | (uint32_t)wire_enc_len(&enc));
		peer_write(&peer, reply, 4 + wire_enc_len(&enc));
	}
	peer_reply(&peer, peer_read_xid(&peer), "last");
	cr_assert(echo_drive(peer.client, &wait_for, n + 1));
	cr_assert(!wait_for.bad && wait_for.failed == 0, "%s", wait_for.err.what);
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
	free(buf);
	free(data);
}

Test(tcp_send, no_more_than_slots_are_in_flight)
{
	struct transport_client_params params = {.proto = TRANSPORT_TCP, .slots = 4};
	struct peer four;
	uint32_t xids[4];
	struct transport_counters c;
	uint8_t reply[256];

	params.pool.numa_node = -1;
	peer_start(&four, &params);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(transport_call_submit(echo_text(four.client, &wait_for, "s")), 0);
	for (int i = 0; i < 4; i++)
		xids[i] = peer_read_xid(&four);
	transport_client_counters(four.client, &c);
	cr_assert_gt(c.credit_waits, 0);
	cr_assert_eq(four.client->nsent, 4);
	for (int i = 0; i < 10; i++) {
		peer_write(&four, reply,
			   reply_text(reply, i < 4 ? xids[i] : peer_read_xid(&four), "s"));
		peer_deliver(&four);
	}
	cr_assert(echo_drive(four.client, &wait_for, 10));
	cr_assert_eq(wait_for.failed, 0);
	peer_stop(&four);
}

Test(tcp_send, overlong_arguments_are_refused)
{
	struct transport_call *call = echo_text(peer.client, &wait_for, "x");
	struct transport_seg seg = {.addr = &seg, .len = 4};

	wire_put_space(&call->args, TRANSPORT_MSG_MAX);
	cr_assert_eq(transport_call_submit(call), -EMSGSIZE);
	transport_call_put(call);
	call = echo_text(peer.client, &wait_for, "x");
	transport_call_data_here(call, &seg, 1, 5);
	cr_assert_eq(transport_call_submit(call), -EINVAL, "more data than the segments hold");
	transport_call_put(call);
	cr_assert_eq(transport_client_outstanding(peer.client), 0);
}

/* ---- cancel ------------------------------------------------------------------------------ */

Test(tcp_send, a_cancelled_call_ends_once_and_its_late_reply_is_dropped)
{
	struct transport_call *call = echo_text(peer.client, &wait_for, "late");
	uint32_t xid;

	cr_assert_eq(transport_call_submit(call), 0);
	xid = peer_read_xid(&peer);
	transport_call_cancel(call);
	transport_call_cancel(call);
	cr_assert_eq(wait_for.done, 0, "never from inside cancel");
	cr_assert_eq(transport_client_process(peer.client), 1);
	cr_assert_eq(wait_for.done, 1);
	cr_assert_eq(wait_for.status, -ECANCELED);
	peer_reply(&peer, xid, "late");
	cr_assert_eq(transport_call_submit(echo_text(peer.client, &wait_for, "next")), 0);
	peer_reply(&peer, peer_read_xid(&peer), "next");
	cr_assert(echo_drive(peer.client, &wait_for, 2));
	cr_assert_eq(wait_for.failed, 1);
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
}

Test(tcp_send, the_sink_of_a_cancelled_call_is_left_alone)
{
	enum { LEN = 100000 };
	uint8_t *data = malloc(LEN), *reply = malloc(LEN + 4096);
	struct transport_call *call = echo_read(peer.client, &wait_for, data, LEN, 3);
	size_t len;

	cr_assert_eq(transport_call_submit(call), 0);
	len = reply_read(reply, peer_read_xid(&peer), LEN, 3, 0);
	peer_write(&peer, reply, LEN / 2); /* it is coming in */
	peer_deliver(&peer);
	transport_call_cancel(call);
	transport_client_process(peer.client);
	cr_assert_eq(wait_for.status, -ECANCELED);
	memset(data, 0x77, LEN);
	peer_write(&peer, reply + LEN / 2, len - LEN / 2);
	peer_deliver(&peer);
	for (size_t i = 0; i < LEN; i++)
		cr_assert_eq(data[i], 0x77);
	cr_assert_eq(transport_call_submit(echo_text(peer.client, &wait_for, "on")), 0);
	peer_reply(&peer, peer_read_xid(&peer), "on");
	cr_assert(echo_drive(peer.client, &wait_for, 2));
	cr_assert_eq(peer_counters(&peer).reconnects, 0);
	free(reply);
	free(data);
}

Test(tcp_send, cancelling_what_is_half_sent_drops_the_connection_and_replays_the_rest)
{
	enum { LEN = 1 << 20 };
	uint8_t *data = malloc(LEN), *buf = malloc(LEN + 4096);
	struct transport_call *calls[100], *half = NULL;
	unsigned n = 0;
	uint64_t sent;

	echo_fill(data, LEN, 0);
	do {
		sent = peer_counters(&peer).bytes_sent;
		calls[n] = echo_write(peer.client, &wait_for, data, LEN, 0);
		cr_assert_eq(transport_call_submit(calls[n]), 0);
		n++;
	} while (peer_counters(&peer).bytes_sent - sent > LEN && n < 100);
	half = calls[n - 1];
	if (peer_counters(&peer).bytes_sent == sent) /* cut exactly between two records */
		cr_skip_test("the socket's room ended between two records");
	transport_call_cancel(half);
	transport_client_process(peer.client);
	cr_assert_eq(wait_for.done, 1);
	cr_assert_eq(wait_for.status, -ECANCELED);
	peer_accept(&peer);
	for (unsigned i = 0; i + 1 < n; i++) {
		size_t len = peer_read_call(&peer, buf, LEN + 4096);

		cr_assert_eq(util_get_be32(buf), calls[i]->xid);
		cr_assert(calls[i]->replayed);
		cr_assert(echo_check(buf + len - LEN, LEN, 0));
	}
	cr_assert_eq(peer_counters(&peer).reconnects, 1);
	free(buf);
	free(data);
}

static void cancel_other(struct transport_call *call)
{
	transport_call_cancel(call->arg);
	transport_call_put(call);
}

Test(tcp_send, a_callback_may_cancel_another_call)
{
	struct transport_call *victim = echo_text(peer.client, &wait_for, "victim");
	struct transport_call *call = echo_text(peer.client, &wait_for, "killer");

	call->done = cancel_other;
	call->arg = victim;
	cr_assert_eq(transport_call_submit(victim), 0);
	peer_read_xid(&peer);
	cr_assert_eq(transport_call_submit(call), 0);
	peer_reply(&peer, peer_read_xid(&peer), "killer");
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.status, -ECANCELED);
	cr_assert_eq(transport_client_outstanding(peer.client), 0);
}

Test(tcp_send, destroying_the_client_cancels_what_is_outstanding)
{
	struct peer other;

	peer_start(&other, NULL);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(transport_call_submit(echo_text(other.client, &wait_for, "x")), 0);
	peer_stop(&other);
	cr_assert_eq(wait_for.done, 5);
	cr_assert_eq(wait_for.failed, 5);
	cr_assert_eq(wait_for.status, -ECANCELED);
}

/* ---- connecting -------------------------------------------------------------------------- */

Test(tcp_send, a_refused_connection_says_where_and_what_to_do)
{
	struct transport_client *client;
	struct util_err err = {0};
	uint16_t port = peer.port;

	close(peer.listen_fd);
	cr_assert_eq(echo_connect(&client, peer.ctx, port, NULL, &err), -ECONNREFUSED);
	cr_assert(strstr(err.what, "127.0.0.1 port "), "%s", err.what);
	cr_assert(strstr(err.what, "refused"), "%s", err.what);
	cr_assert_neq(err.hint[0], '\0');
	peer.listen_fd = -1;
}

Test(tcp_send, a_privileged_user_gets_a_port_below_1024_on_request)
{
	struct transport_client_params params = {.proto = TRANSPORT_TCP, .resvport = true};
	struct transport_client *client;
	struct util_err err = {0};
	int code;

	params.pool.numa_node = -1;
	code = echo_connect(&client, peer.ctx, peer.port, &params, &err);
	if (code == -EACCES) { /* not privileged: then the hint says so */
		cr_assert(strstr(err.hint, "noresvport"), "%s", err.hint);
		return;
	}
	cr_assert_eq(code, 0, "%s", err.what);
	cr_assert_lt(ntohs(((const struct sockaddr_in *)transport_client_local(client))->sin_port),
		     1024);
	transport_client_destroy(client);
}

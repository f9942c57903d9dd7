/* SPDX-License-Identifier: BSD-2-Clause */
/* transport/rpc/recover.c, timer.c and ready.c: a server that goes away, comes back, or is silent.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/tcp/peer.h"
#include "transport/rpc/internal.h"

static struct peer peer;
static struct echo_wait wait_for;

static void stop(void)
{
	peer_stop(&peer);
}

TestSuite(rpc_recover, .fini = stop, .timeout = 60);

static void start(const struct transport_client_params *params)
{
	peer_start(&peer, params);
	memset(&wait_for, 0, sizeof(wait_for));
}

static struct transport_client_params soft(uint32_t timeo_ms, uint32_t retrans)
{
	struct transport_client_params params = {
		.proto = TRANSPORT_TCP, .soft = true, .timeo_ms = timeo_ms, .retrans = retrans};

	params.pool.numa_node = -1;
	return params;
}

static void submit(const char *text)
{
	cr_assert_eq(transport_call_submit(echo_text(peer.client, &wait_for, text)), 0);
}

static uint16_t client_port(void)
{
	return ntohs(((const struct sockaddr_in *)transport_client_local(peer.client))->sin_port);
}

static void replayed_done(struct transport_call *call)
{
	cr_assert_eq(call->status, 0);
	cr_assert(call->replayed);
	((struct echo_wait *)call->arg)->done++;
	transport_call_put(call);
}

Test(rpc_recover, a_lost_connection_is_made_again_and_calls_replayed_with_their_xids)
{
	uint8_t first[3][512], again[512];
	size_t len[3];
	uint16_t port;

	start(NULL);
	port = client_port();
	for (int i = 0; i < 3; i++) {
		struct transport_call *call = echo_text(peer.client, &wait_for, "again");

		call->done = replayed_done;
		cr_assert_eq(transport_call_submit(call), 0);
		len[i] = peer_read_call(&peer, first[i], sizeof(first[i]));
	}
	peer_close(&peer);
	peer_accept(&peer);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(peer_read_call(&peer, again, sizeof(again)), len[i]);
		cr_assert_eq(memcmp(first[i], again, len[i]), 0, "call %d differs", i);
		peer_reply(&peer, util_get_be32(again), "again");
	}
	cr_assert(echo_drive(peer.client, &wait_for, 3));
	cr_assert_eq(peer_counters(&peer).reconnects, 1);
	cr_assert_eq(peer_counters(&peer).retransmits, 3);
	cr_assert_eq(client_port(), port, "from the same port where possible");
}

Test(rpc_recover, a_reply_cut_off_by_the_end_of_the_connection_is_asked_for_again)
{
	uint8_t reply[1024];
	uint32_t xid;
	size_t len;

	start(NULL);
	submit("cut");
	xid = peer_read_xid(&peer);
	len = reply_text(reply, xid, "cut");
	for (size_t cut = 1; cut < len; cut += 3) {
		peer_write(&peer, reply, cut);
		peer_deliver(&peer);
		/* the pauses between attempts grow: a client that is broken does no more than this
		 */
		transport_core_of(peer.client)->attempt = 0;
		peer_close(&peer);
		peer_accept(&peer);
		cr_assert_eq(peer_read_xid(&peer), xid);
	}
	peer_write(&peer, reply, len);
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.failed, 0);
}

Test(rpc_recover, an_idle_connection_that_was_closed_is_made_again_by_the_next_call)
{
	start(NULL);
	peer_close(&peer);
	for (int i = 0; i < 20; i++) {
		transport_client_wait(peer.client, 5);
		transport_client_process(peer.client);
	}
	cr_assert_eq(transport_core_of(peer.client)->state, TRANSPORT_CORE_DOWN,
		     "nobody needs a connection now");
	submit("wake");
	peer_accept(&peer);
	peer_reply(&peer, peer_read_xid(&peer), "wake");
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.failed, 0);
}

Test(rpc_recover, attempts_back_off_while_nobody_listens)
{
	struct transport_core *core;
	uint64_t begin_ns;

	start(NULL);
	core = transport_core_of(peer.client);
	close(peer.listen_fd);
	peer.listen_fd = -1;
	submit("lonely");
	peer_close(&peer);
	begin_ns = util_clock_ns();
	while (core->attempt < 4) { /* lost, and refused at 0, 100 and 300 ms */
		transport_client_wait(peer.client, -1);
		transport_client_process(peer.client);
	}
	cr_assert_geq(util_clock_ns() - begin_ns, 300 * UTIL_NS_PER_MS);
	cr_assert_eq(wait_for.done, 0, "a hard mount waits");
	cr_assert_eq(peer.client->last_err.code, -ECONNREFUSED);
}

Test(rpc_recover, a_server_that_accepts_and_closes_is_not_hammered)
{
	struct transport_core *core;

	start(NULL);
	core = transport_core_of(peer.client);
	submit("x");
	for (unsigned i = 1; i < 4; i++) {
		peer_close(&peer);
		peer_accept(&peer);
		cr_assert_eq(core->attempt, i);
	}
}

Test(rpc_recover, breaking_the_connection_replays)
{
	uint32_t xid;

	start(NULL);
	submit("b");
	xid = peer_read_xid(&peer);
	transport_client_break(peer.client);
	peer_accept(&peer);
	cr_assert_eq(peer_read_xid(&peer), xid);
	peer_reply(&peer, xid, "b");
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.failed, 0);
}

/* ---- time-outs --------------------------------------------------------------------------- */

Test(rpc_recover, a_silent_server_is_left_and_asked_again_on_a_new_connection)
{
	struct transport_client_params params = soft(50, 100);
	uint32_t xid;

	start(&params);
	params.soft = false;
	submit("s");
	xid = peer_read_xid(&peer);
	peer_accept(&peer); /* blocks until the client has given the first one up */
	cr_assert_eq(peer_read_xid(&peer), xid);
	peer_reply(&peer, xid, "s");
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.failed, 0);
	cr_assert_eq(peer_counters(&peer).retransmits, 1);
}

Test(rpc_recover, a_soft_mount_gives_up_after_its_patience)
{
	struct transport_client_params params = soft(20, 2);
	uint64_t begin_ns = util_clock_ns();

	start(&params);
	submit("soft");
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.status, -ETIMEDOUT);
	cr_assert(strstr(wait_for.err.what, "no answer"), "%s", wait_for.err.what);
	cr_assert_geq(util_clock_ns() - begin_ns, 140 * UTIL_NS_PER_MS);
	cr_assert_eq(transport_client_outstanding(peer.client), 0);
}

Test(rpc_recover, a_soft_mount_gives_up_while_it_cannot_connect)
{
	struct transport_client_params params = soft(20, 2);

	start(&params);
	close(peer.listen_fd);
	peer.listen_fd = -1;
	peer_close(&peer);
	submit("none");
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.status, -ETIMEDOUT);
}

static struct transport_call *next_call;
static uint64_t next_ns;

static void slow_done(struct transport_call *call)
{
	usleep(20000);
	next_ns = util_clock_ns();
	next_call = echo_text(peer.client, &wait_for, "next");
	cr_assert_eq(transport_call_submit(next_call), 0);
	transport_call_put(call);
}

Test(rpc_recover, a_call_made_in_a_callback_has_all_its_time_however_long_that_took)
{
	struct transport_call *call;

	start(NULL);
	call = echo_text(peer.client, &wait_for, "first");
	call->done = slow_done;
	cr_assert_eq(transport_call_submit(call), 0);
	peer_reply(&peer, peer_read_xid(&peer), "first");
	for (int i = 0; i < 100 && !next_call; i++)
		peer_deliver(&peer);
	peer_reply(&peer, peer_read_xid(&peer), "next");
	cr_assert_geq(next_call->sent_ns, next_ns);
	cr_assert(echo_drive(peer.client, &wait_for, 1));
}

Test(rpc_recover, a_deadline_ends_a_call_of_a_hard_mount_and_nothing_else)
{
	struct transport_call *call;
	uint32_t other;

	start(NULL);
	submit("other");
	other = peer_read_xid(&peer);
	call = echo_text(peer.client, &wait_for, "bounded");
	call->deadline_ns = util_clock_ns() + 30 * UTIL_NS_PER_MS;
	cr_assert_eq(transport_call_submit(call), 0);
	cr_assert(echo_drive(peer.client, &wait_for, 1));
	cr_assert_eq(wait_for.status, -ETIMEDOUT);
	cr_assert_eq(transport_client_outstanding(peer.client), 1);
	peer_accept(&peer);
	cr_assert_eq(peer_read_xid(&peer), other);
	peer_reply(&peer, other, "other");
	cr_assert(echo_drive(peer.client, &wait_for, 2));
	cr_assert_eq(wait_for.failed, 1);
}

/* ---- the descriptor ---------------------------------------------------------------------- */

static bool readable(int fd, int timeout_ms)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, timeout_ms) == 1;
}

Test(rpc_recover, the_descriptor_is_readable_exactly_when_there_is_something_to_do)
{
	int fd;

	start(NULL);
	fd = transport_client_fd(peer.client);
	cr_assert_geq(fd, 0);
	transport_client_process(peer.client);
	submit("fd");
	cr_assert(!readable(fd, 0));
	peer_reply(&peer, peer_read_xid(&peer), "fd");
	cr_assert(readable(fd, 2000));
	cr_assert_eq(transport_client_process(peer.client), 1);
	cr_assert(!readable(fd, 0));
	/* the end of the connection, and the way to a new one */
	submit("again");
	peer_read_xid(&peer);
	peer_close(&peer);
	for (int i = 0; i < 100 && peer_counters(&peer).reconnects == 0; i++) {
		cr_assert(readable(fd, 2000));
		transport_client_process(peer.client);
	}
	peer_accept(&peer);
	peer_reply(&peer, peer_read_xid(&peer), "again");
	cr_assert(readable(fd, 2000));
	cr_assert_eq(transport_client_process(peer.client), 1);
	cr_assert_eq(transport_client_fd(peer.client), fd);
}

Test(rpc_recover, the_descriptor_tells_of_time_outs_and_cancellations)
{
	struct transport_client_params params = soft(20, 1);
	struct transport_call *call;
	int fd;

	start(&params);
	fd = transport_client_fd(peer.client);
	submit("t");
	for (int i = 0; i < 100 && wait_for.done == 0; i++) {
		cr_assert(readable(fd, 2000));
		transport_client_process(peer.client);
	}
	cr_assert_eq(wait_for.status, -ETIMEDOUT);
	call = echo_text(peer.client, &wait_for, "c");
	cr_assert_eq(transport_call_submit(call), 0);
	transport_call_cancel(call);
	cr_assert(readable(fd, 2000));
	cr_assert_eq(transport_client_process(peer.client), 1);
	cr_assert_eq(wait_for.status, -ECANCELED);
}

Test(rpc_recover, the_descriptor_rests_until_it_is_asked_for_again)
{
	struct transport_call *call;
	int fd;

	start(NULL);
	fd = transport_client_fd(peer.client);
	transport_client_fd_done(peer.client);
	call = echo_text(peer.client, &wait_for, "c");
	cr_assert_eq(transport_call_submit(call), 0);
	transport_call_cancel(call);
	cr_assert(!readable(fd, 0));
	cr_assert_eq(transport_client_fd(peer.client), fd);
	cr_assert(readable(fd, 10000));
	cr_assert_eq(transport_client_process(peer.client), 1);
	cr_assert_eq(wait_for.status, -ECANCELED);
}

Test(rpc_recover, process_is_refused_inside_a_callback)
{
	start(NULL);
	transport_core_of(peer.client)->processing = true;
	cr_assert_eq(transport_client_process(peer.client), -EDEADLK);
	transport_core_of(peer.client)->processing = false;
}

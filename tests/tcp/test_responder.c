/* SPDX-License-Identifier: BSD-2-Clause */
/* transport/tcp/responder.c and request.c: our server against clients that are raw sockets. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/tcp/peer.h"

static struct echo echo;

static void start_with(unsigned threads, const struct transport_server_params *params)
{
	echo_start(&echo, threads, params);
}

static void start(void)
{
	start_with(1, NULL);
}

static void stop(void)
{
	echo_stop(&echo);
}

TestSuite(tcp_responder, .init = start, .fini = stop, .timeout = 60);
/* The same with parameters of the test's own. */
TestSuite(tcp_responder_own, .fini = stop, .timeout = 60);

/* ---- a raw client ------------------------------------------------------------------------ */

static int raw_connect(void)
{
	const struct timeval patience = {.tv_sec = 5};
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons(transport_server_tcp_port(echo.server)),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

/* A record: header and u32 words. */
static size_t make_call(uint8_t *buf, uint32_t xid, uint32_t proc, const uint32_t *words,
			unsigned n)
{
	struct wire_enc enc;

	wire_enc_init(&enc, buf + 4, 512);
	wire_rpc_call_encode(&enc, xid, ECHO_PROG, ECHO_VERS, proc, NULL);
	for (unsigned i = 0; i < n; i++)
		wire_put_u32(&enc, words[i]);
	util_put_be32(buf, 0x80000000u | (uint32_t)wire_enc_len(&enc));
	return 4 + wire_enc_len(&enc);
}

static size_t make_read(uint8_t *buf, uint32_t xid, uint32_t len)
{
	return make_call(buf, xid, ECHO_READ, (uint32_t[]){len, xid}, 2);
}

static void raw_write(int fd, const void *p, size_t len)
{
	cr_assert_eq(send(fd, p, len, MSG_NOSIGNAL), (ssize_t)len);
}

static bool raw_read(int fd, void *p, size_t len)
{
	return recv(fd, p, len, MSG_WAITALL) == (ssize_t)len;
}

/* The next record, 0 when the connection ended. */
static size_t raw_reply(int fd, uint8_t *buf, size_t size)
{
	uint8_t mark[4];
	size_t len;

	if (!raw_read(fd, mark, sizeof(mark)))
		return 0;
	len = util_get_be32(mark) & 0x7fffffffu;
	cr_assert_leq(len, size);
	cr_assert(raw_read(fd, buf, len));
	return len;
}

static bool closed_by_server(int fd)
{
	uint8_t byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void check_read_reply(const uint8_t *buf, size_t len, uint32_t want)
{
	uint32_t xid = util_get_be32(buf);

	cr_assert_eq(len, 32u + want + WIRE_PAD(want));
	cr_assert_eq(util_get_be32(buf + 28), want);
	cr_assert(echo_check(buf + 32, want, xid));
}

static void still_serves(void)
{
	int fd = raw_connect();
	uint8_t buf[512];

	raw_write(fd, buf, make_read(buf, 99, 10));
	check_read_reply(buf, raw_reply(fd, buf, sizeof(buf)), 10);
	close(fd);
}

/* ---- records ----------------------------------------------------------------------------- */

Test(tcp_responder, pipelined_calls_are_all_answered)
{
	enum { N = 500 };
	static uint8_t out[N * 64], buf[1024];
	int fd = raw_connect();
	size_t len = 0;
	bool seen[N] = {false};

	for (uint32_t i = 0; i < N; i++)
		len += make_read(out + len, i, i);
	raw_write(fd, out, len);
	for (uint32_t i = 0; i < N; i++) {
		len = raw_reply(fd, buf, sizeof(buf));
		check_read_reply(buf, len, util_get_be32(buf));
		cr_assert(!seen[util_get_be32(buf)]);
		seen[util_get_be32(buf)] = true;
	}
	close(fd);
}

Test(tcp_responder, fragments_of_every_size_are_joined)
{
	uint8_t call[128], cut[2048], buf[512];
	int fd = raw_connect();
	size_t len = make_read(call, 5, 33);

	for (size_t piece = 1; piece < len; piece++) {
		raw_write(fd, cut, refragment(cut, call, len, piece));
		check_read_reply(buf, raw_reply(fd, buf, sizeof(buf)), 33);
	}
	close(fd);
}

Test(tcp_responder, a_call_may_come_byte_by_byte)
{
	uint8_t call[128], buf[512];
	int fd = raw_connect();
	size_t len = make_read(call, 6, 20);

	for (size_t i = 0; i < len; i++) {
		raw_write(fd, call + i, 1);
		if (i % 8 == 0)
			usleep(1000); /* let it be seen as it stands */
	}
	check_read_reply(buf, raw_reply(fd, buf, sizeof(buf)), 20);
	close(fd);
}

Test(tcp_responder, large_fragments_are_joined)
{
	enum { LEN = 1 << 20 };
	uint8_t *record = malloc(LEN + 256), *cut = malloc(2 * LEN), reply[64];
	int fd = raw_connect();
	size_t head = make_call(record, 7, ECHO_WRITE, (uint32_t[]){3, LEN}, 2);

	echo_fill(record + head, LEN, 3);
	for (size_t piece = 5000; piece < 2 * LEN; piece *= 5) {
		raw_write(fd, cut, refragment(cut, record, head + LEN, piece));
		cr_assert_eq(raw_reply(fd, reply, sizeof(reply)), 28);
		cr_assert_eq(util_get_be32(reply + 24), 1, "piece %zu", piece);
	}
	close(fd);
	free(cut);
	free(record);
}

Test(tcp_responder, replies_go_out_of_order_when_the_service_does)
{
	uint8_t buf[512];
	int fd = raw_connect();

	raw_write(fd, buf, make_call(buf, 1, ECHO_HOLD, NULL, 0));
	raw_write(fd, buf, make_call(buf, 2, ECHO_NULL, NULL, 0));
	cr_assert_gt(raw_reply(fd, buf, sizeof(buf)), 0);
	cr_assert_eq(util_get_be32(buf), 2);
	cr_assert_gt(raw_reply(fd, buf, sizeof(buf)), 0);
	cr_assert_eq(util_get_be32(buf), 1);
	close(fd);
}

Test(tcp_responder, errors_are_answered_not_fatal)
{
	uint8_t buf[512];
	int fd = raw_connect();

	/* no such procedure */
	raw_write(fd, buf, make_call(buf, 1, 77, NULL, 0));
	cr_assert_eq(raw_reply(fd, buf, sizeof(buf)), 24);
	cr_assert_eq(util_get_be32(buf + 20), WIRE_PROC_UNAVAIL);
	/* RPC version 3 */
	make_call(buf, 2, ECHO_NULL, NULL, 0);
	util_put_be32(buf + 12, 3);
	raw_write(fd, buf, 44);
	cr_assert_eq(raw_reply(fd, buf, sizeof(buf)), 24);
	cr_assert_eq(util_get_be32(buf + 8), 1, "denied");
	/* a record that is no call: dropped */
	make_call(buf, 3, ECHO_NULL, NULL, 0);
	util_put_be32(buf + 8, 1);
	raw_write(fd, buf, 44);
	/* an empty one likewise */
	util_put_be32(buf, 0x80000000u);
	raw_write(fd, buf, 4);
	raw_write(fd, buf, make_call(buf, 4, ECHO_NULL, NULL, 0));
	cr_assert_eq(raw_reply(fd, buf, sizeof(buf)), 24);
	cr_assert_eq(util_get_be32(buf), 4);
	close(fd);
}

/* ---- hostility --------------------------------------------------------------------------- */

Test(tcp_responder, a_record_beyond_the_limit_ends_its_connection_only)
{
	static const uint32_t marks[] = {0xffffffffu, 0x7fffffffu, 0x80000000u | (2u << 20),
					 (1u << 20) + 8193};
	int good = raw_connect();
	uint8_t buf[512] = {0};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(marks); i++) {
		int fd = raw_connect();

		util_put_be32(buf, marks[i]);
		raw_write(fd, buf, 100);
		cr_assert(closed_by_server(fd), "mark %08x", marks[i]);
		close(fd);
	}
	raw_write(good, buf, make_read(buf, 1, 5));
	check_read_reply(buf, raw_reply(good, buf, sizeof(buf)), 5);
	close(good);
}

Test(tcp_responder, fragments_that_add_up_beyond_the_limit_end_the_connection)
{
	uint8_t *piece = calloc(1, 4 + (512 << 10));
	int fd = raw_connect();

	util_put_be32(piece, 512 << 10);
	for (int i = 0; i < 3; i++)
		if (send(fd, piece, 4 + (512 << 10), MSG_NOSIGNAL) < 0)
			break;
	cr_assert(closed_by_server(fd));
	close(fd);
	free(piece);
	still_serves();
}

Test(tcp_responder, a_bulk_result_beyond_the_limit_is_an_error_not_a_crash)
{
	uint8_t buf[512];
	int fd = raw_connect();

	raw_write(fd, buf, make_read(buf, 1, 0xffffffffu));
	cr_assert_eq(raw_reply(fd, buf, sizeof(buf)), 24);
	cr_assert_eq(util_get_be32(buf + 20), WIRE_SYSTEM_ERR);
	close(fd);
}

Test(tcp_responder, a_peer_that_does_not_read_is_not_read_from)
{
	enum { LEN = 1 << 20, N = 2000 };
	uint8_t *buf = malloc(LEN + 64);
	uint8_t call[128];
	struct pollfd pfd = {.events = POLLOUT};
	int fd = raw_connect();
	unsigned sent = 0, dispatched;

	/* 2 GB of replies are asked for: the server makes only what it may hold for one peer */
	for (sent = 0; sent < N; sent++) {
		size_t len = make_read(call, sent, LEN);

		if (send(fd, call, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len)
			break;
	}
	usleep(200000);
	dispatched = echo.dispatched;
	cr_assert_lt(dispatched, 40);
	still_serves();
	/* and goes on when the peer reads */
	for (unsigned i = 0; i < sent && i < 60; i++)
		check_read_reply(buf, raw_reply(fd, buf, LEN + 64), LEN);
	cr_assert_gt(echo.dispatched, dispatched);
	pfd.fd = fd;
	cr_assert_eq(poll(&pfd, 1, 0), 1);
	close(fd);
	free(buf);
}

Test(tcp_responder, a_connection_may_end_anywhere)
{
	uint8_t call[128];
	size_t len = make_read(call, 1, 100000);

	for (size_t cut = 1; cut <= len; cut++) {
		int fd = raw_connect();

		raw_write(fd, call, cut);
		close(fd);
	}
	/* one whose request the service still holds */
	len = make_call(call, 2, ECHO_HOLD, NULL, 0);
	for (int i = 0; i < 2; i++) {
		int fd = raw_connect();

		raw_write(fd, call, len);
		usleep(20000);
		close(fd);
		usleep(20000);
	}
	still_serves();
}

Test(tcp_responder_own, one_connection_too_many_is_closed)
{
	const struct transport_server_params params = {
		.rdma_port = -1, .iwarp_port = -1, .max_connections = 3};
	uint8_t buf[512];
	int fd[4];

	start_with(2, &params);
	for (int i = 0; i < 3; i++) {
		fd[i] = raw_connect();
		raw_write(fd[i], buf, make_read(buf, 1, 5));
		check_read_reply(buf, raw_reply(fd[i], buf, sizeof(buf)), 5);
	}
	fd[3] = raw_connect();
	cr_assert(closed_by_server(fd[3]));
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	usleep(100000); /* the places are free again */
	still_serves();
}

Test(tcp_responder_own, small_limits_hold)
{
	const struct transport_server_params params = {
		.rdma_port = -1, .iwarp_port = -1, .max_data = 4096, .credits = 2};
	uint8_t buf[8192], out[64 * 20];
	size_t len = 0;
	int fd;

	start_with(1, &params);
	fd = raw_connect();
	for (uint32_t i = 0; i < 20; i++)
		len += make_read(out + len, i, 4096);
	raw_write(fd, out, len);
	for (int i = 0; i < 20; i++)
		check_read_reply(buf, raw_reply(fd, buf, sizeof(buf)), 4096);
	raw_write(fd, buf, make_read(buf, 1, 4097));
	cr_assert_eq(raw_reply(fd, buf, sizeof(buf)), 24);
	close(fd);
}

/* A paused connection with calls already read must go on by itself when answers come later. */
Test(tcp_responder_own, calls_read_ahead_are_not_forgotten_while_paused)
{
	const struct transport_server_params params = {
		.rdma_port = -1, .iwarp_port = -1, .credits = 1};
	uint8_t buf[512], out[256];
	size_t len;
	int fd, other;

	start_with(1, &params);
	fd = raw_connect();
	other = raw_connect();
	len = make_call(out, 1, ECHO_HOLD, NULL, 0);
	len += make_read(out + len, 2, 8);
	raw_write(fd, out, len); /* held: the second waits in the stage */
	usleep(50000);
	raw_write(other, buf, make_call(buf, 3, ECHO_NULL, NULL, 0));
	cr_assert_gt(raw_reply(other, buf, sizeof(buf)), 0);
	cr_assert_gt(raw_reply(fd, buf, sizeof(buf)), 0);
	cr_assert_eq(util_get_be32(buf), 1);
	check_read_reply(buf, raw_reply(fd, buf, sizeof(buf)), 8);
	close(fd);
	close(other);
}

/* A descriptor that is not read from reports the peer's reset for ever, unless it is closed: its
 * place must become free. */
Test(tcp_responder_own, a_paused_connection_that_is_reset_is_closed)
{
	const struct transport_server_params params = {
		.rdma_port = -1, .iwarp_port = -1, .credits = 1, .max_connections = 1};
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	uint8_t buf[512];
	bool served = false;
	int fd;

	start_with(1, &params);
	fd = raw_connect();
	raw_write(fd, buf, make_call(buf, 1, ECHO_HOLD, NULL, 0));
	while (echo.dispatched == 0)
		usleep(1000);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	for (int i = 0; i < 500 && !served; i++) {
		usleep(10000);
		fd = raw_connect();
		/* refused ones are closed, perhaps before this is written */
		send(fd, buf, make_read(buf, 99, 10), MSG_NOSIGNAL);
		served = raw_reply(fd, buf, sizeof(buf)) > 0;
		close(fd);
	}
	cr_assert(served);
}

/* ---- the end ------------------------------------------------------------------------------ */

struct load {
	pthread_t thread;
	struct transport_ctx *ctx;
	uint16_t port;
	unsigned done;
};

static void *load_main(void *arg)
{
	struct load *load = arg;
	struct transport_client_params params = {.proto = TRANSPORT_TCP,
						 .soft = true,
						 .timeo_ms = 100,
						 .retrans = 1,
						 .pool = {.numa_node = -1}};
	struct transport_client *client;
	struct echo_wait wait = {0};
	uint8_t buf[65536];

	if (echo_connect(&client, load->ctx, load->port, &params, NULL))
		return NULL;
	while (wait.failed == 0) {
		unsigned upto = wait.done + 8;

		for (unsigned i = 0; i < 8; i++)
			transport_call_submit(echo_read(client, &wait, buf, 8192, 1));
		echo_drive(client, &wait, upto);
	}
	load->done = wait.done;
	transport_client_destroy(client);
	return NULL;
}

Test(tcp_responder_own, stops_in_order_under_load)
{
	struct transport_ctx *ctx;
	struct load loads[4];

	start_with(2, NULL);
	cr_assert_eq(transport_ctx_create(&ctx, NULL), 0);
	for (int i = 0; i < 4; i++) {
		loads[i] =
			(struct load){.ctx = ctx, .port = transport_server_tcp_port(echo.server)};
		pthread_create(&loads[i].thread, NULL, load_main, &loads[i]);
	}
	usleep(200000);
	transport_server_stop(echo.server);
	for (int i = 0; i < 4; i++) {
		pthread_join(loads[i].thread, NULL);
		cr_assert_gt(loads[i].done, 8);
	}
	transport_ctx_put(ctx);
}

Test(tcp_responder_own, a_server_that_never_started_can_be_destroyed)
{
	const struct transport_service service = {0};
	const struct transport_server_params params = {
		.service = &service, .rdma_port = -1, .iwarp_port = -1};
	struct transport_server_params again = params;
	struct transport_server *server, *second;
	struct util_err err = {0};

	start_with(1, NULL);
	cr_assert_eq(transport_server_create(&server, &params, &err), 0);
	/* and its port is taken */
	again.tcp_port = transport_server_tcp_port(server);
	cr_assert_eq(transport_server_create(&second, &again, &err), -EADDRINUSE);
	cr_assert_neq(err.hint[0], '\0');
	transport_server_destroy(server);
}

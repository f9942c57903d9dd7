/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "tests/tcp/peer.h"

#define PATIENCE_MS 5000

static void listen_any(struct peer *peer)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	const int on = 1;

	peer->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(peer->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	cr_assert_eq(bind(peer->listen_fd, (struct sockaddr *)&addr, len), 0);
	cr_assert_eq(listen(peer->listen_fd, 16), 0);
	cr_assert_eq(getsockname(peer->listen_fd, (struct sockaddr *)&addr, &len), 0);
	peer->port = ntohs(addr.sin_port);
}

void peer_start(struct peer *peer, const struct transport_client_params *params)
{
	struct util_err err = {0};

	peer->fd = -1;
	listen_any(peer);
	cr_assert_eq(transport_ctx_create(&peer->ctx, NULL), 0);
	cr_assert_eq(echo_connect(&peer->client, peer->ctx, peer->port, params, &err), 0, "%s",
		     err.what);
	peer_accept(peer);
}

void peer_stop(struct peer *peer)
{
	transport_client_destroy(peer->client);
	transport_ctx_put(peer->ctx);
	peer_close(peer);
	close(peer->listen_fd);
}

void peer_accept(struct peer *peer)
{
	struct pollfd pfd = {.fd = peer->listen_fd, .events = POLLIN};
	const int on = 1;

	for (int i = 0; i < PATIENCE_MS / 10 && poll(&pfd, 1, 10) == 0; i++)
		transport_client_process(peer->client);
	cr_assert(pfd.revents & POLLIN, "the client does not connect");
	peer_close(peer);
	peer->fd = accept(peer->listen_fd, NULL, NULL);
	cr_assert_geq(peer->fd, 0);
	setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void peer_close(struct peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

static void read_all(struct peer *peer, uint8_t *p, size_t len)
{
	struct pollfd pfd = {.fd = peer->fd, .events = POLLIN};

	while (len > 0) {
		ssize_t n;

		/* what the client could not send at once it sends when it is driven */
		for (int i = 0; i < PATIENCE_MS / 5 && poll(&pfd, 1, 5) == 0; i++)
			transport_client_process(peer->client);
		n = read(peer->fd, p, len);
		cr_assert_gt(n, 0, "the client sent no more");
		p += n;
		len -= (size_t)n;
	}
}

size_t peer_read_call(struct peer *peer, uint8_t *buf, size_t size)
{
	uint8_t mark[4];
	uint32_t len;

	read_all(peer, mark, sizeof(mark));
	len = util_get_be32(mark);
	cr_assert(len & 0x80000000u);
	len &= 0x7fffffffu;
	cr_assert_leq(len, size);
	read_all(peer, buf, len);
	return len;
}

uint32_t peer_read_xid(struct peer *peer)
{
	uint8_t buf[2048];

	peer_read_call(peer, buf, sizeof(buf));
	return util_get_be32(buf);
}

void peer_write(struct peer *peer, const void *p, size_t len)
{
	const uint8_t *b = p;

	while (len > 0) {
		ssize_t n = send(peer->fd, b, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			transport_client_process(peer->client);
			continue;
		}
		cr_assert_gt(n, 0, "write: %s", strerror(errno));
		b += n;
		len -= (size_t)n;
	}
}

void peer_deliver(struct peer *peer)
{
	transport_client_wait(peer->client, PATIENCE_MS);
	transport_client_process(peer->client);
}

/* ---- replies ---------------------------------------------------------------------------- */

static size_t finish(uint8_t *buf, const struct wire_enc *enc)
{
	cr_assert(!enc->overflow);
	util_put_be32(buf, 0x80000000u | (uint32_t)wire_enc_len(enc));
	return 4 + wire_enc_len(enc);
}

size_t reply_text(uint8_t *buf, uint32_t xid, const char *text)
{
	struct wire_enc enc;

	wire_enc_init(&enc, buf + 4, 4096);
	wire_rpc_reply_encode(&enc, xid);
	wire_put_opaque(&enc, text, strlen(text));
	return finish(buf, &enc);
}

void peer_reply(struct peer *peer, uint32_t xid, const char *text)
{
	uint8_t reply[4 + 4096];

	peer_write(peer, reply, reply_text(reply, xid, text));
}

struct transport_counters peer_counters(const struct peer *peer)
{
	struct transport_counters counters;

	transport_client_counters(peer->client, &counters);
	return counters;
}

size_t reply_read(uint8_t *buf, uint32_t xid, size_t len, uint32_t seed, unsigned tail_words)
{
	struct wire_enc enc;

	wire_enc_init(&enc, buf + 4, len + 4096);
	wire_rpc_reply_encode(&enc, xid);
	wire_put_u32(&enc, 0);
	wire_put_u32(&enc, (uint32_t)len);
	echo_fill(wire_put_space(&enc, len + WIRE_PAD(len)), len, seed);
	memset(enc.p - WIRE_PAD(len), 0, WIRE_PAD(len));
	for (unsigned i = 0; i < tail_words; i++)
		wire_put_u32(&enc, 0xabcd0000u + i);
	return finish(buf, &enc);
}

size_t refragment(uint8_t *out, const uint8_t *buf, size_t len, size_t piece)
{
	uint8_t *p = out;

	for (size_t off = 4; off < len;) {
		size_t n = len - off < piece ? len - off : piece;

		util_put_be32(p, (uint32_t)n | (off + n == len ? 0x80000000u : 0));
		memcpy(p + 4, buf + off, n);
		p += 4 + n;
		off += n;
	}
	return (size_t)(p - out);
}

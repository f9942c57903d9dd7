/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <time.h>

#include "tests/rpcrdma/rawclient.h"

#define WAIT_NS (10 * UTIL_NS_PER_S)

static void pause_briefly(void)
{
	const struct timespec ts = {.tv_nsec = 200000};

	nanosleep(&ts, NULL);
}

void raw_connect(struct raw *c, const struct raw_options *opts)
{
	uint8_t kib = (uint8_t)((opts->inline_kib ? opts->inline_kib : 4) - 1);
	uint8_t private[] = {0xf6, 0xab, 0x0e, 0x18, 1, opts->remote_invalidation, kib, kib};
	uint64_t end_ns = util_clock_ns() + WAIT_NS;
	unsigned access = MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE;

	c->peer = fake_raw_connect(c->server.port, private, opts->no_private ? 0 : sizeof(private));
	cr_assert(c->peer);
	while (!fake_peer_established(c->peer) && util_clock_ns() < end_ns)
		pause_briefly();
	cr_assert(fake_peer_established(c->peer));
	c->rkey = fake_peer_register(c->peer, c->mem, RAW_MEM, access, &c->iova);
	c->rkey2 = fake_peer_register(c->peer, c->mem, RAW_MEM, access, &c->iova2);
}

void raw_open(struct raw *c, const struct raw_options *opts)
{
	static const struct raw_options none;
	struct transport_server_params sp = {0};

	if (!opts)
		opts = &none;
	memset(c, 0, sizeof(*c));
	sp.credits = opts->credits;
	sp.max_data = opts->max_data;
	sp.pool.max_pinned = opts->max_pinned;
	server_start(&c->server, &sp);
	c->mem = calloc(1, RAW_MEM);
	cr_assert(c->mem);
	raw_connect(c, opts);
}

void raw_close(struct raw *c)
{
	fake_peer_destroy(c->peer);
	server_stop(&c->server);
	free(c->mem);
	fake_expect_clean(true);
}

void raw_call(struct raw *c, uint32_t xid, uint32_t proc)
{
	memset(&c->h, 0, sizeof(c->h));
	c->h.xid = xid;
	c->h.credits = 32;
	wire_enc_init(&c->e, c->msg, sizeof(c->msg));
	wire_rpc_call_encode(&c->e, xid, PROG, PROG_VERS, proc, NULL);
}

static struct rpcrdma_segment segment(const struct raw *c, uint32_t off, uint32_t len)
{
	return (struct rpcrdma_segment){c->rkey, len, c->iova + off};
}

void raw_add_read(struct raw *c, uint32_t position, uint32_t off, uint32_t len)
{
	c->h.read[c->h.nreads++] = (struct rpcrdma_read){position, segment(c, off, len)};
}

void raw_add_write(struct raw *c, uint32_t off, uint32_t len)
{
	c->h.nwrites = 1;
	c->h.write[0].seg[c->h.write[0].nsegs++] = segment(c, off, len);
}

void raw_add_reply(struct raw *c, uint32_t off, uint32_t len)
{
	c->h.has_reply = true;
	c->h.reply.seg[c->h.reply.nsegs++] = segment(c, off, len);
}

void raw_send_bytes(struct raw *c, const void *bytes, size_t len)
{
	uint64_t end_ns = util_clock_ns() + WAIT_NS;
	int err;

	/* Within the credits a receive is there; beyond them one may have to wait. */
	while ((err = fake_peer_send(c->peer, bytes, len)) == -ENOBUFS && util_clock_ns() < end_ns)
		pause_briefly();
	cr_assert_eq(err, 0, "send: %d", err);
}

void raw_send(struct raw *c)
{
	uint8_t buf[70000];
	ssize_t n = rpcrdma_header_encode(&c->h, buf, sizeof(buf));
	size_t len = c->h.proc == RPCRDMA_MSG ? wire_enc_len(&c->e) : 0;

	cr_assert_gt(n, 0);
	memcpy(buf + n, c->msg, len);
	raw_send_bytes(c, buf, (size_t)n + len);
}

bool raw_next(struct raw *c)
{
	uint64_t end_ns = util_clock_ns() + WAIT_NS;
	ssize_t n;

	for (;;) {
		c->len = fake_peer_recv(c->peer, c->bytes, sizeof(c->bytes));
		if (c->len >= 0)
			break;
		if (c->len == -ENOTCONN || util_clock_ns() > end_ns)
			return false;
		pause_briefly();
	}
	n = rpcrdma_header_decode(&c->r, c->bytes, (size_t)c->len);
	cr_assert_gt(n, 0);
	c->reply = c->bytes + n;
	c->reply_len = (size_t)(c->len - n);
	return true;
}

struct wire_dec raw_expect(struct raw *c, uint32_t xid)
{
	struct wire_rpc_error error;
	struct wire_dec d;
	uint32_t got;

	cr_assert(raw_next(c), "no reply");
	cr_assert_eq(c->r.xid, xid);
	if (c->r.proc == RPCRDMA_NOMSG) {
		c->reply = c->mem + (c->r.reply.seg[0].offset - c->iova);
		c->reply_len = rpcrdma_chunk_len(&c->r.reply);
	} else {
		cr_assert_eq(c->r.proc, RPCRDMA_MSG, "%s", rpcrdma_proc_name(c->r.proc));
	}
	wire_dec_init(&d, c->reply, c->reply_len);
	cr_assert_eq(wire_rpc_reply_decode(&d, &got, &error), 0);
	cr_assert_eq(got, xid);
	return d;
}

void raw_expect_error(struct raw *c, uint32_t xid, uint32_t code)
{
	cr_assert(raw_next(c), "no answer");
	cr_assert_eq(c->r.xid, xid);
	cr_assert_eq(c->r.proc, RPCRDMA_ERROR, "%s", rpcrdma_proc_name(c->r.proc));
	cr_assert_eq(c->r.error, code);
}

void raw_still_works(struct raw *c)
{
	raw_call(c, 0x7777, PROC_NULL);
	raw_send(c);
	raw_expect(c, 0x7777);
}

void raw_expect_dropped(struct raw *c)
{
	cr_assert_not(raw_next(c));
	cr_assert_eq(c->len, -ENOTCONN);
}

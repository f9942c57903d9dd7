/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "tests/rpcrdma/rig.h"

#define PORT 20049

static const uint8_t private_data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};

void rig_open(struct rig *r, const struct rig_options *opts)
{
	static const struct rig_options none;
	struct transport_client_params params;
	struct fake_setup setup;

	if (!opts)
		opts = &none;
	memset(r, 0, sizeof(*r));
	fake_setup_default(&setup);
	setup.max_windows = opts->windows;
	fake_reset(&setup);
	r->listen =
		fake_raw_listen(PORT, private_data, opts->no_private ? 0 : sizeof(private_data));
	cr_assert_eq(transport_ctx_create(&r->ctx, NULL), 0);
	client_params(&params, PORT);
	params.slots = opts->slots;
	params.timeo_ms = opts->timeo_ms;
	params.pool.poison = !opts->no_poison;
	if (opts->windows)
		params.pool.mode = MR_MODE_WINDOW;
	r->client = client_open(r->ctx, PORT, &params);
	r->peer = fake_raw_accept(r->listen);
	cr_assert(r->peer);
}

void rig_close(struct rig *r)
{
	rig_close_with(r, NULL);
}

void rig_close_with(struct rig *r, struct mr_lease *lease)
{
	struct mr_pool *pool = transport_client_pool(r->client);

	/* What is still under way is canceled; memory it uses must live until then. */
	transport_client_break(r->client);
	cr_expect_eq(mr_pool_poison_hits(pool), 0);
	mr_lease_give(lease);
	transport_client_destroy(r->client);
	transport_ctx_put(r->ctx);
	fake_peer_destroy(r->peer);
	fake_raw_close(r->listen);
	fake_expect_clean(true);
}

void rig_reaccept(struct rig *r)
{
	fake_peer_destroy(r->peer);
	/* The second attempt may have to wait for its turn. */
	for (int i = 0; i < 100; i++) {
		transport_client_process(r->client);
		r->peer = fake_raw_accept(r->listen);
		if (r->peer)
			break;
		transport_client_wait(r->client, 100);
	}
	cr_assert(r->peer, "it did not come back");
	transport_client_process(r->client);
}

struct rpcrdma_link *rig_link(struct rig *r)
{
	return rpcrdma_link_of(r->client->link);
}

struct mr_lease *rig_lease(struct rig *r, enum mr_kind kind, size_t len)
{
	struct util_err err = {0};
	struct mr_lease *lease;

	cr_assert_eq(mr_lease_take(transport_client_pool(r->client), kind, len, &lease, &err), 0,
		     "%s", err.what);
	return lease;
}

bool rig_next_call(struct rig *r)
{
	ssize_t len = fake_peer_recv(r->peer, r->bytes, sizeof(r->bytes));
	ssize_t n;

	if (len < 0)
		return false;
	n = rpcrdma_header_decode(&r->h, r->bytes, (size_t)len);
	cr_assert_geq(n, 28);
	r->msg = r->bytes + n;
	r->msg_len = (size_t)(len - n);
	return true;
}

void rig_expect_call(struct rig *r)
{
	cr_assert(rig_next_call(r), "no call came");
}

void rig_send(struct rig *r, const struct rpcrdma_header *h, const void *msg, size_t len)
{
	uint8_t buf[65536];
	ssize_t n = rpcrdma_header_encode(h, buf, sizeof(buf));

	cr_assert_gt(n, 0);
	if (len > 0)
		memcpy(buf + n, msg, len);
	cr_assert_eq(fake_peer_send(r->peer, buf, (size_t)n + len), 0);
}

uint8_t *rig_accepted(uint8_t *buf, uint32_t xid)
{
	memset(buf, 0, 24);
	util_put_be32(buf, xid);
	util_put_be32(buf + 4, 1);
	return buf + 24;
}

void rig_header(const struct rig *r, struct rpcrdma_header *h, uint32_t proc)
{
	*h = r->h;
	h->proc = proc;
	h->nreads = 0;
	h->credits = 128;
}

static size_t three_words(uint8_t *buf, uint32_t xid)
{
	uint8_t *p = rig_accepted(buf, xid);

	for (uint32_t i = 0; i < 3; i++)
		util_put_be32(p + 4 * i, i + 1);
	return 36;
}

void rig_answer_xid(struct rig *r, uint32_t xid, uint32_t credits)
{
	struct rpcrdma_header h;
	uint8_t msg[64];

	rig_header(r, &h, RPCRDMA_MSG);
	h.xid = xid;
	h.credits = credits;
	rig_send(r, &h, msg, three_words(msg, xid));
}

void rig_answer(struct rig *r, uint32_t credits)
{
	rig_answer_xid(r, r->h.xid, credits);
}

void rig_answer_inv(struct rig *r, uint32_t credits, uint32_t rkey)
{
	struct rpcrdma_header h;
	uint8_t buf[256];
	ssize_t n;

	rig_header(r, &h, RPCRDMA_MSG);
	h.credits = credits;
	n = rpcrdma_header_encode(&h, buf, sizeof(buf));
	n += (ssize_t)three_words(buf + n, h.xid);
	cr_assert_eq(fake_peer_send_inv(r->peer, buf, (size_t)n, rkey), 0);
}

void rig_answer_get(struct rig *r, uint32_t len, const void *data)
{
	struct rpcrdma_header h;
	uint8_t msg[8192];
	uint8_t *p = rig_accepted(msg, r->h.xid);

	util_put_be32(p, 0);
	util_put_be32(p + 4, len);
	p += 8;
	if (data) {
		memcpy(p, data, len);
		memset(p + len, 0, WIRE_PAD(len));
		p += len + WIRE_PAD(len);
	}
	rig_header(r, &h, RPCRDMA_MSG);
	rig_send(r, &h, msg, (size_t)(p - msg));
}

void rig_answer_none(struct rig *r)
{
	struct rpcrdma_header h;
	uint8_t msg[64];
	uint8_t *p = rig_accepted(msg, r->h.xid);

	util_put_be32(p, 5);
	rig_header(r, &h, RPCRDMA_MSG);
	rig_send(r, &h, msg, 28);
}

void rig_answer_long(struct rig *r, uint32_t len, uint32_t seed)
{
	struct rpcrdma_header h;
	uint8_t *msg = malloc(len + 64);
	uint8_t *p = rig_accepted(msg, r->h.xid);

	util_put_be32(p, len);
	fill(p + 4, len, seed);
	cr_assert_eq(rig_write_segment(r, &r->h.reply.seg[0], msg, 28 + len), 0);
	rig_header(r, &h, RPCRDMA_NOMSG);
	h.reply.seg[0].length = 28 + len;
	rig_send(r, &h, NULL, 0);
	free(msg);
}

int rig_read_segment(struct rig *r, const struct rpcrdma_segment *seg, void *buf)
{
	return fake_peer_read(r->peer, seg->handle, seg->offset, buf, seg->length);
}

int rig_write_segment(struct rig *r, const struct rpcrdma_segment *seg, const void *buf, size_t len)
{
	return fake_peer_write(r->peer, seg->handle, seg->offset, buf, len);
}

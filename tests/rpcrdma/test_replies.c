/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bad replies: each fails its own call with -EIO and a reason, or is dropped; the connection and
 * the other calls live on.
 */
#include <stdlib.h>

#include "tests/rpcrdma/rig.h"

enum kind { INLINE, READ_CHUNK, LONG }; /* the call the reply is for */

struct bad {
	const char *what;
	enum kind kind;
	/* Spoil the reply; msg holds *len bytes of a good RPC reply. */
	void (*spoil)(struct rpcrdma_header *h, uint8_t *msg, size_t *len);
	const char *words; /* in the call's error */
	int status;
};

static void read_list(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->nreads = 1;
	h->read[0] = (struct rpcrdma_read){40, {1, 2, 3}};
}

static void two_writes(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->write[1] = h->write[0];
	h->nwrites = 2;
}

static void write_not_offered(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->nwrites = 1;
	h->write[0].nsegs = 1;
	h->write[0].seg[0] = (struct rpcrdma_segment){1, 2, 3};
}

static void reply_not_offered(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->has_reply = true;
	h->reply.nsegs = 1;
	h->reply.seg[0] = (struct rpcrdma_segment){1, 2, 3};
}

static void nomsg_without_chunk(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->proc = RPCRDMA_NOMSG;
	*len = 0;
}

static void nomsg_dropped_chunk(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->has_reply = false;
}

static void nomsg_empty(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->reply.seg[0].length = 0;
}

static void reply_too_long(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->reply.seg[0].length += 4096;
}

static void reply_wild(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->reply.seg[0].length = 0xffffffff;
}

static void reply_two_segments(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->reply.nsegs = 2;
	h->reply.seg[1] = h->reply.seg[0];
}

static void other_handle(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->write[0].seg[0].handle++;
}

static void other_offset(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->write[0].seg[0].offset += 8;
}

static void too_long(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->write[0].seg[0].length = 8193;
}

static void no_segments(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->write[0].nsegs = 0;
}

static void says_more_than_written(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->write[0].seg[0].length -= 8;
}

static void says_less_than_written(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	util_put_be32(msg + 28, 100);
}

static void says_more_than_asked(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	util_put_be32(msg + 28, 8193);
}

static void says_wild(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	util_put_be32(msg + 28, 0xffffffff);
}

static void written_and_missing(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->write[0].seg[0].length = 0;
}

static void results_cut(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	*len = 28;
}

static void rpc_cut(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	*len = 20;
}

static void rpc_empty(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	*len = 0;
}

static void rpc_is_a_call(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	util_put_be32(msg + 4, 0);
}

static void error_chunk(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->proc = RPCRDMA_ERROR;
	h->error = RPCRDMA_ERR_CHUNK;
	*len = 0;
}

static void error_vers(struct rpcrdma_header *h, uint8_t *msg, size_t *len)
{
	h->proc = RPCRDMA_ERROR;
	h->error = RPCRDMA_ERR_VERS;
	h->vers_low = 2;
	h->vers_high = 3;
	*len = 0;
}

static const struct bad bads[] = {
	{"a read list", INLINE, read_list, "read list", -EIO},
	{"a write chunk nobody offered", INLINE, write_not_offered, "write chunk", -EIO},
	{"a reply chunk nobody offered", INLINE, reply_not_offered, "reply chunk", -EIO},
	{"NOMSG without a chunk", INLINE, nomsg_without_chunk, "RDMA_NOMSG", -EIO},
	{"NOMSG whose chunk is missing", LONG, nomsg_dropped_chunk, "RDMA_NOMSG", -EIO},
	{"NOMSG of nothing", LONG, nomsg_empty, "empty", -EIO},
	{"a long reply longer than its chunk", LONG, reply_too_long, "reply chunk", -EIO},
	{"a long reply of 4 GiB", LONG, reply_wild, "reply chunk", -EIO},
	{"a reply chunk of other segments", LONG, reply_two_segments, "reply chunk", -EIO},
	{"two write chunks", READ_CHUNK, two_writes, "more than one", -EIO},
	{"another handle", READ_CHUNK, other_handle, "write chunk", -EIO},
	{"another offset", READ_CHUNK, other_offset, "write chunk", -EIO},
	{"more than the chunk holds", READ_CHUNK, too_long, "write chunk", -EIO},
	{"a write chunk without segments", READ_CHUNK, no_segments, "write chunk", -EIO},
	{"a count above what was written", READ_CHUNK, says_more_than_written, "not as long", -EIO},
	{"a count below what was written", READ_CHUNK, says_less_than_written, "not as long", -EIO},
	{"a count above what was asked for", READ_CHUNK, says_more_than_asked, "more data", -EIO},
	{"a count of 4 GiB", READ_CHUNK, says_wild, "more data", -EIO},
	{"data neither written nor inline", READ_CHUNK, written_and_missing, "missing", -EIO},
	{"results cut short", READ_CHUNK, results_cut, "malformed", -EIO},
	{"an RPC header cut short", INLINE, rpc_cut, "malformed", -EIO},
	{"no RPC message", INLINE, rpc_empty, "malformed", -EIO},
	{"a call", INLINE, rpc_is_a_call, "malformed", -EIO},
	{"ERR_CHUNK", READ_CHUNK, error_chunk, "ERR_CHUNK", -EIO},
	{"ERR_VERS", INLINE, error_vers, "versions 2 to 3", -EPROTONOSUPPORT},
};

static struct transport_call *make_call(struct rig *r, enum kind kind, struct mr_lease *lease,
					struct outcome *o)
{
	switch (kind) {
	case READ_CHUNK:
		return call_get(r->client, o, lease, lease->addr, 8192, 1);
	case LONG:
		return call_long(r->client, o, 6000, 1);
	default:
		return call_null(r->client, o, PROC_NULL);
	}
}

/* A good reply to the call just taken, spoiled. */
static void answer_badly(struct rig *r, const struct bad *bad)
{
	struct rpcrdma_header h;
	uint8_t msg[8192];
	uint8_t *p = rig_accepted(msg, r->h.xid);
	size_t len = 36;

	rig_header(r, &h, bad->kind == LONG ? RPCRDMA_NOMSG : RPCRDMA_MSG);
	util_put_be32(p, 0);
	util_put_be32(p + 4, 8192);
	util_put_be32(p + 8, 0);
	if (bad->kind == READ_CHUNK)
		len = 32;
	if (bad->kind == LONG)
		len = 0;
	bad->spoil(&h, msg, &len);
	rig_send(r, &h, msg, len);
}

static void still_works(struct rig *r)
{
	struct outcome o = {0};

	submit(call_null(r->client, &o, PROC_NULL));
	rig_expect_call(r);
	rig_answer(r, 128);
	transport_client_process(r->client);
	cr_assert_eq(o.done, 1);
	cr_assert_eq(o.failed, 0);
}

Test(rpcrdma_replies, a_bad_one_fails_its_call_with_words_and_nothing_else)
{
	struct fake_seen seen;
	struct mr_lease *lease;
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_READ, 8192);
	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		const struct bad *bad = &bads[i];
		struct outcome o = {0};

		submit(make_call(&r, bad->kind, lease, &o));
		rig_expect_call(&r);
		answer_badly(&r, bad);
		transport_client_process(r.client);
		cr_assert_eq(o.done, 1, "%s: not done", bad->what);
		cr_assert_eq(o.status, bad->status, "%s: status %d", bad->what, o.status);
		cr_assert(strstr(o.err.what, bad->words), "%s: %s", bad->what, o.err.what);
		cr_assert(strstr(o.err.what, "testserver"), "%s: %s", bad->what, o.err.what);
		still_works(&r);
	}
	fake_seen(&seen);
	cr_assert_eq(seen.connects, 1);
	rig_close_with(&r, lease);
}

static void send_bytes(struct rig *r, const void *bytes, size_t len)
{
	cr_assert_eq(fake_peer_send(r->peer, bytes, len), 0);
	transport_client_process(r->client);
}

Test(rpcrdma_replies, what_belongs_to_no_call_is_dropped_and_its_receive_posted_again)
{
	struct outcome o = {0};
	uint8_t bytes[128] = {0};
	struct fake_seen seen;
	struct rig r;

	rig_open(&r, NULL);
	submit(call_null(r.client, &o, PROC_NULL));
	rig_expect_call(&r);
	for (unsigned i = 0; i < 500; i++) {
		size_t len = i % 3 == 0 ? i % 16 : sizeof(bytes);

		util_put_be32(bytes, r.h.xid + 1 + i);
		util_put_be32(bytes + 4, 1);
		send_bytes(&r, bytes, len);
		cr_assert_eq(o.done, 0);
	}
	rig_answer(&r, 1);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	/* and the same reply again */
	rig_answer(&r, 1);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	still_works(&r);
	fake_seen(&seen);
	cr_assert_eq(seen.connects, 1);
	rig_close(&r);
}

Test(rpcrdma_replies, headers_that_break_after_the_xid_fail_their_call)
{
	static const struct {
		size_t len, at;
		uint32_t word;
	} cases[] = {
		{28, 4, 2},	      /* version 2 */
		{28, 12, 7},	      /* an unknown procedure */
		{28, 12, 2},	      /* RDMA_MSGP */
		{28, 12, 3},	      /* RDMA_DONE */
		{28, 16, 2},	      /* no XDR optional */
		{28, 20, 1},	      /* a write chunk that is cut off */
		{28, 24, 0x80000000}, /* no XDR optional either */
		{20, 12, 0},	      /* lists cut off */
		{16, 12, 4},	      /* an error without a code */
	};
	struct rig r;

	rig_open(&r, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome o = {0};
		uint8_t bytes[28] = {0};

		submit(call_null(r.client, &o, PROC_NULL));
		rig_expect_call(&r);
		util_put_be32(bytes, r.h.xid);
		util_put_be32(bytes + 4, 1);
		util_put_be32(bytes + 8, 1);
		util_put_be32(bytes + cases[i].at, cases[i].word);
		send_bytes(&r, bytes, cases[i].len);
		cr_assert_eq(o.done, 1, "case %zu", i);
		cr_assert_eq(o.status, -EIO, "case %zu: %d", i, o.status);
		still_works(&r);
	}
	rig_close(&r);
}

Test(rpcrdma_replies, a_server_that_wrote_the_padding_too_is_forgiven)
{
	struct outcome o = {0};
	struct mr_lease *lease;
	uint8_t data[8192];
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_READ, 8192);
	submit(call_get(r.client, &o, lease, lease->addr, 8192, 7));
	rig_expect_call(&r);
	fill(data, sizeof(data), 7);
	rig_write_segment(&r, &r.h.write[0].seg[0], data, 5000);
	r.h.write[0].seg[0].length = 5000;
	rig_answer_get(&r, 4997, NULL);
	transport_client_process(r.client);
	cr_assert_eq(o.failed + o.wrong, 0, "%s", o.err.what);
	cr_assert_eq(o.received, 4997);
	rig_close_with(&r, lease);
}

Test(rpcrdma_replies, an_error_status_without_data_is_no_protocol_error)
{
	struct outcome o = {0};
	struct mr_lease *lease;
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_READ, 8192);
	submit(call_get(r.client, &o, lease, lease->addr, 8192, 7));
	rig_expect_call(&r);
	r.h.write[0].seg[0] =
		(struct rpcrdma_segment){0}; /* zeros for an unused segment are fine */
	rig_answer_none(&r);
	transport_client_process(r.client);
	cr_assert_eq(o.done, 1);
	cr_assert_eq(o.failed, 0, "%s", o.err.what);
	cr_assert_not(o.sunk);
	cr_assert_eq(o.received, 0);
	rig_close_with(&r, lease);
}

Test(rpcrdma_replies, chunks_filled_with_a_hole_are_refused)
{
	struct outcome o = {0};
	struct transport_call *call;
	struct mr_lease *lease;
	struct rig r;

	rig_open(&r, NULL);
	lease = rig_lease(&r, MR_KIND_READ, 16384);
	call = call_get(r.client, &o, lease, lease->addr, 16384, 7);
	for (unsigned i = 0; i < 2; i++)
		call->sink[i] =
			(struct transport_seg){(uint8_t *)lease->addr + i * 8192, 8192, lease};
	call->sink_nsegs = 2;
	submit(call);
	rig_expect_call(&r);
	cr_assert_eq(r.h.write[0].nsegs, 2);
	r.h.write[0].seg[0].length = 100;
	r.h.write[0].seg[1].length = 100;
	rig_answer_get(&r, 200, NULL);
	transport_client_process(r.client);
	cr_assert_eq(o.status, -EIO);
	rig_close_with(&r, lease);
}

Test(rpcrdma_replies, a_message_longer_than_the_receive_ends_the_connection_with_a_hint)
{
	struct outcome o = {0};
	static uint8_t bytes[4097];
	struct rig r;

	rig_open(&r, NULL);
	submit(call_null(r.client, &o, PROC_NULL));
	rig_expect_call(&r);
	cr_assert_eq(fake_peer_send(r.peer, bytes, sizeof(bytes)), -EMSGSIZE);
	transport_client_process(r.client);
	cr_assert(strstr(r.client->last_err.what, "local length error"), "%s",
		  r.client->last_err.what);
	rig_reaccept(&r);
	rig_expect_call(&r);
	rig_answer(&r, 1);
	cr_assert(drive(r.client, &o, 1));
	rig_close(&r);
}

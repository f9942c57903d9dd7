/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_rpc.c - RPC headers (RFC 5531 section 9) and rpcbind (RFC 1833).
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "cases.h"
#include "pieces.h"

#define ROW(name, type, check, hex)                                                                \
	{                                                                                          \
		name, hex, decode_##type, encode_##type, NULL, check                               \
	}

static int decode_call(struct wire_dec *d, void *o)
{
	struct wire_rpc_error error;

	return wire_rpc_call_decode(d, o, &error);
}

static void encode_call(struct wire_enc *e, const void *o)
{
	const struct wire_rpc_call *c = o;

	wire_rpc_call_encode(e, c->xid, c->prog, c->vers, c->proc, c->has_cred ? &c->cred : NULL);
}

struct reply {
	uint32_t xid;
	struct wire_rpc_error error;
};

static int decode_reply(struct wire_dec *d, void *o)
{
	struct reply *r = o;

	return wire_rpc_reply_decode(d, &r->xid, &r->error);
}

static void encode_reply(struct wire_enc *e, const void *o)
{
	wire_rpc_reply_encode(e, ((const struct reply *)o)->xid);
}

/* A refusal decodes to -EPROTO; anything else is a failure to the generic tests. */
static int decode_refusal(struct wire_dec *d, void *o)
{
	int err = decode_reply(d, o);

	return err == -EPROTO ? 0 : -EBADMSG;
}

static void encode_refusal(struct wire_enc *e, const void *o)
{
	const struct reply *r = o;

	wire_rpc_error_encode(e, r->xid, &r->error);
}

static int decode_map(struct wire_dec *d, void *o)
{
	return wire_rpcbind_map_decode(d, o);
}

static void encode_map(struct wire_enc *e, const void *o)
{
	wire_rpcbind_map_encode(e, o);
}

static int decode_rpcb(struct wire_dec *d, void *o)
{
	return wire_rpcbind_rpcb_decode(d, o);
}

static void encode_rpcb(struct wire_enc *e, const void *o)
{
	wire_rpcbind_rpcb_encode(e, o);
}

static void call_none(const void *o)
{
	const struct wire_rpc_call *c = o;

	cr_assert_eq(c->xid, 0x12345678);
	cr_assert_eq(c->prog, 100003);
	cr_assert_eq(c->vers, 3);
	cr_assert_eq(c->proc, 0);
	cr_assert_eq(c->flavor, WIRE_AUTH_NONE);
	cr_assert_not(c->has_cred);
	cr_assert_eq(c->header_len, 40);
}

static void call_sys(const void *o)
{
	const struct wire_rpc_call *c = o;

	cr_assert_eq(c->xid, 1);
	cr_assert_eq(c->prog, 100005);
	cr_assert_eq(c->proc, 5);
	cr_assert_eq(c->flavor, WIRE_AUTH_SYS);
	cr_assert(c->has_cred);
	cr_assert_eq(c->cred.stamp, 0xcafe);
	cr_assert_str_eq(c->cred.machine, "hello");
	cr_assert_eq(c->cred.uid, 1000);
	cr_assert_eq(c->cred.gid, 100);
	cr_assert_eq(c->cred.ngroups, 2);
	cr_assert_eq(c->cred.groups[0], 4);
	cr_assert_eq(c->cred.groups[1], 27);
	/* 6 words, 2 and a body of 36 bytes, 2 */
	cr_assert_eq(c->header_len, 24 + 8 + 36 + 8);
}

static void reply_ok(const void *o)
{
	const struct reply *r = o;

	cr_assert_eq(r->xid, 0xfedcba98);
	cr_assert_not(r->error.denied);
	cr_assert_eq(r->error.stat, WIRE_SUCCESS);
}

static void refusal_unavail(const void *o)
{
	const struct reply *r = o;

	cr_assert_eq(r->xid, 2);
	cr_assert_not(r->error.denied);
	cr_assert_eq(r->error.stat, WIRE_PROG_UNAVAIL);
}

static void refusal_version(const void *o)
{
	const struct reply *r = o;

	cr_assert_eq(r->error.stat, WIRE_PROG_MISMATCH);
	cr_assert_eq(r->error.low, 3);
	cr_assert_eq(r->error.high, 4);
}

static void refusal_rpc_version(const void *o)
{
	const struct reply *r = o;

	cr_assert(r->error.denied);
	cr_assert_eq(r->error.stat, 0);
	cr_assert_eq(r->error.low, 2);
	cr_assert_eq(r->error.high, 2);
}

static void refusal_auth(const void *o)
{
	const struct reply *r = o;

	cr_assert(r->error.denied);
	cr_assert_eq(r->error.stat, 1);
	cr_assert_eq(r->error.auth_stat, WIRE_AUTH_TOOWEAK);
}

static void map_nfs(const void *o)
{
	const struct wire_rpcbind_map *m = o;

	cr_assert_eq(m->prog, 100003);
	cr_assert_eq(m->vers, 3);
	cr_assert_eq(m->prot, 6);
	cr_assert_eq(m->port, 2049);
}

static void rpcb_rdma(const void *o)
{
	const struct wire_rpcbind_rpcb *r = o;

	cr_assert_eq(r->prog, 100003);
	cr_assert_eq(r->vers, 3);
	cr_assert_str_eq(r->netid, "rdma");
	cr_assert_str_eq(r->uaddr, "10.0.0.1.78.53");
	cr_assert_str_eq(r->owner, "");
}

#define CALL(xid) xid "00000000 00000002 "
#define NULL_AUTH "00000000 00000000 "

static const struct wire_case rows[] = {
	ROW("call, no credentials", call, call_none,
	    CALL("12345678") "000186a3 00000003 00000000" NULL_AUTH NULL_AUTH),
	ROW("call, AUTH_SYS", call, call_sys,
	    CALL("00000001") "000186a5 00000003 00000005 00000001 00000024 0000cafe" NAME_HELLO
			     "000003e8 00000064 00000002 00000004 0000001b" NULL_AUTH),
	ROW("reply", reply, reply_ok, "fedcba98 00000001 00000000" NULL_AUTH "00000000"),
	ROW("program unavailable", refusal, refusal_unavail,
	    "00000002 00000001 00000000" NULL_AUTH "00000001"),
	ROW("program version", refusal, refusal_version,
	    "00000002 00000001 00000000" NULL_AUTH "00000002 00000003 00000004"),
	ROW("RPC version", refusal, refusal_rpc_version,
	    "00000002 00000001 00000001 00000000 00000002 00000002"),
	ROW("too weak", refusal, refusal_auth, "00000002 00000001 00000001 00000001 00000005"),
	ROW("port mapper", map, map_nfs, "000186a3 00000003 00000006 00000801"),
	ROW("rpcbind", rpcb, rpcb_rdma,
	    "000186a3 00000003 00000004 72646d61 "
	    "0000000e 31302e30 2e302e31 2e37382e 35330000 00000000"),
};

const struct wire_case_list cases_rpc = {rows, sizeof(rows) / sizeof(rows[0])};

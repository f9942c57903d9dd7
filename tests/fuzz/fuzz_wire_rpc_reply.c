/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_rpc_reply.c - a reply's header, and what is made of a refusal.
 */
#include <errno.h>

#include "tests/fuzz/round_trip.h"

struct reply {
	int err;
	uint32_t xid;
	struct wire_rpc_error error;
};

static int decode_reply(struct wire_dec *d, void *o)
{
	struct reply *r = o;

	r->err = wire_rpc_reply_decode(d, &r->xid, &r->error);
	FUZZ_CHECK(r->err == 0 || r->err == -EBADMSG || r->err == -EPROTO);
	return r->err == -EPROTO ? 0 : r->err;
}

static void encode_reply(struct wire_enc *e, const void *o)
{
	const struct reply *r = o;

	FUZZ_CHECK(wire_rpc_error_text(&r->error) != NULL);
	FUZZ_CHECK((wire_rpc_error_errno(&r->error) != 0) == (r->err != 0));
	if (r->err)
		wire_rpc_error_encode(e, r->xid, &r->error);
	else
		wire_rpc_reply_encode(e, r->xid);
}

FUZZ_TARGET(wire_rpc_reply)
{
	static const struct fuzz_codec codec = FUZZ_ROW(reply);

	fuzz_round_trip(&codec, data, size);
	return 0;
}

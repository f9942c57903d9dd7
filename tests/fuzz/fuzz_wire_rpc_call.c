/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_rpc_call.c - a server's first look at what a stranger sent.
 */
#include <errno.h>

#include "tests/fuzz/round_trip.h"

static int decode_call(struct wire_dec *d, void *o)
{
	struct wire_rpc_error error = {.stat = UINT32_MAX};
	int err = wire_rpc_call_decode(d, o, &error);

	FUZZ_CHECK(err == 0 || err == -EBADMSG || err == -EPROTO);
	FUZZ_CHECK((err == -EPROTO) == (error.stat != UINT32_MAX));
	return err;
}

static void encode_call(struct wire_enc *e, const void *o)
{
	const struct wire_rpc_call *c = o;

	FUZZ_CHECK(!c->has_cred || c->cred.ngroups <= WIRE_MAX_GROUPS);
	FUZZ_CHECK(memchr(c->cred.machine, '\0', sizeof(c->cred.machine)));
	wire_rpc_call_encode(e, c->xid, c->prog, c->vers, c->proc, c->has_cred ? &c->cred : NULL);
}

FUZZ_TARGET(wire_rpc_call)
{
	static const struct fuzz_codec codec = FUZZ_ROW(call);

	fuzz_round_trip(&codec, data, size);
	return 0;
}

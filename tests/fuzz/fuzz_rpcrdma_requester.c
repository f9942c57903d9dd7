/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_rpcrdma_requester.c - a server that answers a client's calls with anything.
 *
 * Three calls are out: a plain one, one with a write chunk, one with a reply chunk. The input's
 * first byte says how long the first message is (in words), and so on until it ends. Four bytes
 * "XID0", "XID1", "XID2" stand for a call's XID, "KEY1" and "KEY2" for the keys of the chunks,
 * eight bytes "IOV1....", "IOV2...." for where they are, so that the input can get past the first
 * look.
 *
 * What must hold: no call ends twice, and when the connection is gone each has ended.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/rpcrdma/rig.h"

enum { CALLS = 3, SINK = 8192, MESSAGE_MAX = 1024 };

struct scene {
	struct rig rig;
	struct outcome first, outcome[CALLS];
	struct mr_lease *lease;
	struct rpcrdma_header h[CALLS];
};

static void scene_open(struct scene *s)
{
	rig_open(&s->rig, &(struct rig_options){.no_poison = true});
	/* the first reply grants the credits the calls need */
	submit(call_null(s->rig.client, &s->first, PROC_NULL));
	rig_expect_call(&s->rig);
	rig_answer(&s->rig, 128);
	transport_client_process(s->rig.client);
	FUZZ_CHECK(s->first.done == 1);
	s->lease = rig_lease(&s->rig, MR_KIND_READ, SINK);
	submit(call_null(s->rig.client, &s->outcome[0], PROC_NULL));
	submit(call_get(s->rig.client, &s->outcome[1], s->lease, s->lease->addr, SINK, 7));
	submit(call_long(s->rig.client, &s->outcome[2], 5000, 7));
	for (unsigned i = 0; i < CALLS; i++) {
		rig_expect_call(&s->rig);
		s->h[i] = s->rig.h;
	}
}

static void put_names(const struct scene *s, uint8_t *p, size_t len)
{
	const struct rpcrdma_segment *sink = &s->h[1].write[0].seg[0],
				     *reply = &s->h[2].reply.seg[0];

	for (size_t i = 0; i + 4 <= len; i++) {
		if (memcmp(p + i, "XID", 3) == 0 && p[i + 3] >= '0' && p[i + 3] < '0' + CALLS)
			util_put_be32(p + i, s->h[p[i + 3] - '0'].xid);
		else if (memcmp(p + i, "KEY1", 4) == 0)
			util_put_be32(p + i, sink->handle);
		else if (memcmp(p + i, "KEY2", 4) == 0)
			util_put_be32(p + i, reply->handle);
		else if (i + 8 <= len && memcmp(p + i, "IOV1....", 8) == 0)
			util_put_be64(p + i, sink->offset);
		else if (i + 8 <= len && memcmp(p + i, "IOV2....", 8) == 0)
			util_put_be64(p + i, reply->offset);
	}
}

static void scene_play(struct scene *s, const uint8_t *data, size_t size)
{
	uint8_t message[MESSAGE_MAX];

	while (size > 0) {
		size_t len = (size_t)data[0] * 4;

		data++;
		size--;
		len = len < size ? len : size;
		memcpy(message, data, len);
		put_names(s, message, len);
		if (fake_peer_send(s->rig.peer, message, len))
			return;
		transport_client_process(s->rig.client);
		data += len;
		size -= len;
	}
}

FUZZ_TARGET(rpcrdma_requester)
{
	struct scene *s = calloc(1, sizeof(*s));

	FUZZ_CHECK(s);
	scene_open(s);
	scene_play(s, data, size);
	rig_close_with(&s->rig, s->lease);
	for (unsigned i = 0; i < CALLS; i++)
		FUZZ_CHECK(s->outcome[i].done == 1);
	free(s);
	return 0;
}

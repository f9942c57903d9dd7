/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_rpcbind.c - rpcbind's arguments and results, and universal addresses.
 */
#include "tests/fuzz/round_trip.h"

FUZZ_CODEC(rpcbind_map)
FUZZ_CODEC(rpcbind_rpcb)

static void results(const uint8_t *data, size_t size)
{
	char uaddr[WIRE_RPCBIND_UADDR_MAX + 1];
	struct wire_dec d;
	uint16_t port;
	bool ok;

	wire_dec_init(&d, data, size);
	wire_rpcbind_bool_decode(&d, &ok);
	wire_dec_init(&d, data, size);
	wire_rpcbind_port_decode(&d, &port);
	wire_dec_init(&d, data, size);
	wire_rpcbind_uaddr_decode(&d, uaddr);
	FUZZ_CHECK(memchr(uaddr, '\0', sizeof(uaddr)));
	wire_rpcbind_uaddr_port(uaddr, &port);
}

FUZZ_TARGET(wire_rpcbind)
{
	static const struct fuzz_codec codecs[] = {FUZZ_ROW(rpcbind_map), FUZZ_ROW(rpcbind_rpcb)};

	if (size == 0)
		return 0;
	if (data[0] & 2)
		results(data + 1, size - 1);
	else
		fuzz_round_trip(&codecs[data[0] & 1], data + 1, size - 1);
	return 0;
}

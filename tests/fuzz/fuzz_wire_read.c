/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_read.c - READ's arguments and results, and the search for the data in half a reply.
 */
#include <errno.h>

#include "tests/fuzz/round_trip.h"

FUZZ_CODEC(read_args)
FUZZ_CODEC_FLAG(read_res, read_res, false)
FUZZ_CODEC_FLAG(read_res, read_res_removed, true)

/* What the search says about a whole reply must be what the decoder says. */
static void find_agrees(const uint8_t *data, size_t size)
{
	struct wire_read_res r;
	struct wire_dec d;
	size_t data_len = 0;
	ssize_t at = wire_read_res_find_data(data, size, &data_len);

	wire_dec_init(&d, data, size);
	if (wire_read_res_decode(&d, &r, false) == 0) {
		FUZZ_CHECK(r.status ? at == -ENODATA : data + at == r.data);
		FUZZ_CHECK(r.status || data_len == r.data_len);
	}
	FUZZ_CHECK(at <= (ssize_t)size);
}

FUZZ_TARGET(wire_read)
{
	static const struct fuzz_codec codecs[] = {
		FUZZ_ROW(read_args),
		FUZZ_ROW(read_res),
		FUZZ_ROW(read_res_removed),
	};

	if (size > 0)
		find_agrees(data + 1, size - 1);
	return fuzz_pick(codecs, 3, data, size);
}

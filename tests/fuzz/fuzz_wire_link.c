/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_link.c - READLINK's results and SYMLINK's arguments, targets in the stream and removed.
 */
#include <errno.h>

#include "tests/fuzz/round_trip.h"

FUZZ_CODEC_FLAG(readlink_res, readlink_res, false)
FUZZ_CODEC_FLAG(readlink_res, readlink_res_removed, true)
FUZZ_CODEC_FLAG(symlink_args, symlink_args, false)
FUZZ_CODEC_FLAG(symlink_args, symlink_args_removed, true)

static void find_agrees(const uint8_t *data, size_t size)
{
	struct wire_readlink_res r;
	struct wire_dec d;
	size_t target_len = 0;
	ssize_t at = wire_readlink_res_find_data(data, size, &target_len);

	wire_dec_init(&d, data, size);
	if (wire_readlink_res_decode(&d, &r, false) == 0) {
		FUZZ_CHECK(r.status ? at == -ENODATA : data + at == r.target);
		FUZZ_CHECK(r.status || target_len == r.target_len);
	}
}

FUZZ_TARGET(wire_link)
{
	static const struct fuzz_codec codecs[] = {
		FUZZ_ROW(readlink_res),
		FUZZ_ROW(readlink_res_removed),
		FUZZ_ROW(symlink_args),
		FUZZ_ROW(symlink_args_removed),
	};

	if (size > 0)
		find_agrees(data + 1, size - 1);
	return fuzz_pick(codecs, 4, data, size);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_write.c - WRITE's arguments, with the data in the stream and without, and results.
 */
#include "tests/fuzz/round_trip.h"

FUZZ_CODEC(write_res)
FUZZ_CODEC_FLAG(write_args, write_args, false)
FUZZ_CODEC_FLAG(write_args, write_args_removed, true)

FUZZ_TARGET(wire_write)
{
	static const struct fuzz_codec codecs[] = {
		FUZZ_ROW(write_args),
		FUZZ_ROW(write_args_removed),
		FUZZ_ROW(write_res),
	};

	return fuzz_pick(codecs, 3, data, size);
}

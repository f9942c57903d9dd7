/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_iwarp_mpa.c - MPA start-up frames, requests and replies.
 */
#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transport/iwarp/mpa.h"

static void check_frame(const uint8_t *data, size_t size, enum iwarp_mpa_kind kind)
{
	uint8_t buf[IWARP_MPA_FRAME_MAX];
	struct iwarp_mpa_frame f, again;
	ssize_t len = iwarp_mpa_decode(&f, kind, data, size);

	if (len <= 0) {
		FUZZ_CHECK(len == -EAGAIN || len == -EBADMSG || len == -EMSGSIZE);
		return;
	}
	FUZZ_CHECK((size_t)len <= size);
	FUZZ_CHECK(f.private_data >= data && f.private_data + f.private_len == data + len);
	FUZZ_CHECK(iwarp_mark_find(f.private_data, f.private_len) == 0 ||
		   f.private_len >= IWARP_MARK_LEN);
	FUZZ_CHECK(iwarp_mpa_encode(&f, buf) == (size_t)len);
	FUZZ_CHECK(iwarp_mpa_decode(&again, kind, buf, (size_t)len) == len);
	FUZZ_CHECK(again.ird == f.ird && again.ord == f.ord && again.crc == f.crc &&
		   again.revision == f.revision && again.private_len == f.private_len);
}

FUZZ_TARGET(iwarp_mpa)
{
	check_frame(data, size, IWARP_MPA_REQUEST);
	check_frame(data, size, IWARP_MPA_REPLY);
	return 0;
}

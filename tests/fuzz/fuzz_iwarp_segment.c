/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_iwarp_segment.c - one ULPDU: DDP header, and the payloads of Read Requests and Terminates.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transport/iwarp/ddp.h"

static void check_read_request(const uint8_t *p, size_t len)
{
	struct iwarp_read_request req;
	uint8_t buf[IWARP_READ_REQUEST_LEN];

	if (iwarp_read_request_decode(&req, p, len) != IWARP_OK) {
		FUZZ_CHECK(len != IWARP_READ_REQUEST_LEN);
		return;
	}
	iwarp_read_request_encode(&req, buf);
	FUZZ_CHECK(memcmp(buf, p, sizeof(buf)) == 0);
}

static void check_terminate(const uint8_t *p, size_t len)
{
	struct iwarp_terminate term, again;
	uint8_t buf[IWARP_TERMINATE_MAX];
	size_t n;

	if (iwarp_terminate_decode(&term, p, len) != 0) {
		FUZZ_CHECK(len < 4);
		return;
	}
	FUZZ_CHECK(iwarp_fault_name(iwarp_terminate_fault(&term)));
	FUZZ_CHECK(iwarp_fault_status(iwarp_terminate_fault(&term)) != FABRIC_WC_OK);
	n = iwarp_terminate_encode(&term, buf);
	FUZZ_CHECK(n <= sizeof(buf));
	FUZZ_CHECK(iwarp_terminate_decode(&again, buf, n) == 0);
	FUZZ_CHECK(again.header_len == term.header_len && again.has_request == term.has_request);
}

FUZZ_TARGET(iwarp_segment)
{
	struct iwarp_ddp ddp, again;
	uint8_t buf[IWARP_DDP_HEADER_MAX];
	size_t header_len;

	if (!size)
		return 0;
	header_len = iwarp_ddp_header_len(data[0], size);
	if (!header_len)
		return 0;
	check_read_request(data + header_len, size - header_len);
	check_terminate(data + header_len, size - header_len);
	if (iwarp_ddp_decode(&ddp, data) != IWARP_OK)
		return 0;
	FUZZ_CHECK(iwarp_ddp_encode(&ddp, buf) == header_len);
	FUZZ_CHECK(iwarp_ddp_decode(&again, buf) == IWARP_OK);
	FUZZ_CHECK(memcmp(&ddp, &again, sizeof(ddp)) == 0);
	return 0;
}

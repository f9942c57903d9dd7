/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of transport/rpcrdma/private.c; the vectors follow RFC 8797 section 4. */
#include <criterion/criterion.h>

#include "transport/rpcrdma/private.h"

static const uint8_t kernel_server[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};

Test(rpcrdma_private, encodes_sizes_and_flag)
{
	struct rpcrdma_private p = {.send_size = 4096, .recv_size = 4096};
	uint8_t buf[RPCRDMA_PRIVATE_LEN];

	rpcrdma_private_encode(&p, buf);
	cr_assert_arr_eq(buf, kernel_server, sizeof(buf));
	p.remote_invalidation = true;
	p.send_size = 1024;
	p.recv_size = 65536;
	rpcrdma_private_encode(&p, buf);
	cr_assert_eq(buf[5], 1);
	cr_assert_eq(buf[6], 0);
	cr_assert_eq(buf[7], 63);
}

Test(rpcrdma_private, sizes_out_of_range_are_cut_to_it)
{
	struct rpcrdma_private p = {.send_size = 0, .recv_size = 1 << 30};
	uint8_t buf[RPCRDMA_PRIVATE_LEN];

	rpcrdma_private_encode(&p, buf);
	cr_assert_eq(buf[6], 0);
	cr_assert_eq(buf[7], 255);
}

Test(rpcrdma_private, decodes_padded_data_and_unknown_flags)
{
	uint8_t buf[56] = {0xf6, 0xab, 0x0e, 0x18, 1, 0xff, 0, 255};
	struct rpcrdma_private p;

	rpcrdma_private_decode(&p, buf, sizeof(buf));
	cr_assert(p.remote_invalidation);
	cr_assert_eq(p.send_size, 1024);
	cr_assert_eq(p.recv_size, 256 * 1024);
}

Test(rpcrdma_private, anything_else_means_the_defaults)
{
	uint8_t magic[8] = {0xf6, 0xab, 0x0e, 0x19, 1, 1, 3, 3};
	uint8_t version[8] = {0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3};
	const uint8_t *bad[] = {magic, version, kernel_server, NULL};
	size_t len[] = {8, 8, 7, 0};

	for (int i = 0; i < 4; i++) {
		struct rpcrdma_private p = {.send_size = 7, .remote_invalidation = true};

		rpcrdma_private_decode(&p, bad[i], len[i]);
		cr_assert_eq(p.send_size, 1024);
		cr_assert_eq(p.recv_size, 1024);
		cr_assert_not(p.remote_invalidation);
	}
}

Test(rpcrdma_private, a_wish_becomes_whole_kib_in_range)
{
	cr_assert_eq(rpcrdma_inline_size(0), 4096);
	cr_assert_eq(rpcrdma_inline_size(1), 1024);
	cr_assert_eq(rpcrdma_inline_size(5000), 4096);
	cr_assert_eq(rpcrdma_inline_size(1 << 20), 65536);
	cr_assert_eq(rpcrdma_inline_threshold(1024, 4096), 1024);
	cr_assert_eq(rpcrdma_inline_threshold(8192, 4096), 4096);
}

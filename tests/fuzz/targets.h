/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * targets.h - the fuzz targets there are, one a line: FUZZ_TARGETS(X) expands X(name) for each.
 */
#ifndef TESTS_FUZZ_TARGETS_H
#define TESTS_FUZZ_TARGETS_H

/* clang-format off */
#define FUZZ_TARGETS(X) \
	X(wire_rpc_call) \
	X(wire_rpc_reply) \
	X(wire_read) \
	X(wire_write) \
	X(wire_link) \
	X(wire_readdir) \
	X(wire_mount) \
	X(wire_rpcbind) \
	X(wire_generated) \
	X(rpcrdma_header) \
	X(rpcrdma_private) \
	X(iwarp_mpa) \
	X(iwarp_segment) \
	X(iwarp_stream) \
	X(rpcrdma_requester) \
	X(client_target) \
	X(iommu_figures)

/* Those that make files, and take a millisecond for it: a binary of their own. */
#define FUZZ_SLOW_TARGETS(X) \
	X(iommu_probe) \
	X(server_call)
/* clang-format on */

#endif

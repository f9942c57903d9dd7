/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client_libnfs_none.c - built without libnfs.
 */
#include "tools/nfsrdma-bench/client.h"

const struct bench_client_ops *bench_client_libnfs(void)
{
	return NULL;
}

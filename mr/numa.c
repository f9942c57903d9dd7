/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numa.c - memory near the device, with libnuma.
 *
 * A preference: on a node that is full, memory elsewhere beats no memory.
 */
#include <numa.h>
#include <numaif.h>

#include "mr/internal.h"

void mr_numa_bind(void *addr, size_t len, int node)
{
	struct bitmask *mask;

	if (node < 0 || numa_available() < 0 || node > numa_max_node())
		return;
	mask = numa_allocate_nodemask();
	if (!mask)
		return;
	numa_bitmask_setbit(mask, (unsigned)node);
	mbind(addr, len, MPOL_PREFERRED, mask->maskp, mask->size + 1, 0);
	numa_free_nodemask(mask);
}

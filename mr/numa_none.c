/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numa_none.c - built without libnuma: memory comes from where the kernel likes.
 */
#include "mr/internal.h"

void mr_numa_bind(void *addr, size_t len, int node)
{
	(void)addr;
	(void)len;
	(void)node;
}

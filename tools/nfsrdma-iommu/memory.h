/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - memory of each page size, for cost.
 */
#ifndef NFSRDMA_IOMMU_MEMORY_H
#define NFSRDMA_IOMMU_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum memory_kind { MEMORY_4K, MEMORY_THP, MEMORY_2M, MEMORY_1G, MEMORY_KINDS };

struct memory {
	void *addr; /* aligned to the page */
	void *map;
	size_t map_len;
};

/* "4k", "thp", "2m", "1g" */
const char *memory_name(enum memory_kind kind);
uint64_t memory_page(enum memory_kind kind);
/* Faulted in.  -ENOMEM: the machine has no such pages free. */
int memory_map(struct memory *m, enum memory_kind kind, uint64_t len);
void memory_unmap(struct memory *m);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - memory made of pages of a wanted size, faulted in: what is registered and mapped here.
 */
#include <errno.h>
#include <linux/mman.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/nfsrdma-iommu/memory.h"

#define MEMORY_HUGE (UINT64_C(2) << 20)

static const struct {
	char name[8];
	uint64_t size;
	int flags, advice;
} memory_pages[MEMORY_KINDS] = {
	[MEMORY_4K] = {"4k", 4096, 0, MADV_NOHUGEPAGE},
	[MEMORY_THP] = {"thp", MEMORY_HUGE, 0, MADV_HUGEPAGE},
	[MEMORY_2M] = {"2m", MEMORY_HUGE, MAP_HUGETLB | MAP_HUGE_2MB, 0},
	[MEMORY_1G] = {"1g", UINT64_C(1) << 30, MAP_HUGETLB | MAP_HUGE_1GB, 0},
};

const char *memory_name(enum memory_kind kind)
{
	return memory_pages[kind].name;
}

uint64_t memory_page(enum memory_kind kind)
{
	return memory_pages[kind].size;
}

int memory_map(struct memory *m, enum memory_kind kind, uint64_t len)
{
	uint64_t page = memory_pages[kind].size;
	uint64_t slack = kind == MEMORY_THP ? page : 0;
	uintptr_t start;

	m->map_len = (len + page - 1) / page * page + slack;
	m->map = mmap(NULL, m->map_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | memory_pages[kind].flags, -1, 0);
	if (m->map == MAP_FAILED)
		return -errno;
	start = ((uintptr_t)m->map + page - 1) / page * page;
	m->addr = kind == MEMORY_THP ? (void *)start : m->map;
	if (memory_pages[kind].advice)
		madvise(m->map, m->map_len, memory_pages[kind].advice);
	memset(m->addr, 1, len);
	return 0;
}

void memory_unmap(struct memory *m)
{
	munmap(m->map, m->map_len);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - the pages under a slab: huge where the machine has them, faulted in before use.
 *
 * In order of preference: 1 GiB pages (only when asked for), 2 MiB pages from the reserve, 2 MiB
 * pages the kernel puts together by itself, 4 KiB pages.  A step that fails falls to the next.
 *
 * NB: pins are charged by whole pages of what backs the memory.  A range smaller than 2 MiB that
 * happens to lie in a huge page is charged 512 small pages, so small mappings turn transparent
 * huge pages off, and larger ones are aligned, so that each huge page lies in one mapping.
 *
 * Everything is faulted in here: a populate that the machine cannot honour is an error to report,
 * a fault it cannot honour later is a SIGBUS.
 *
 * A child of fork() does not get the mapping: pinned pages would be copied at fork, and no child
 * may keep memory reachable that its parent registered.
 */
#include <errno.h>
#include <linux/mman.h>
#include <sys/mman.h>

#include "mr/internal.h"

/* Linux 5.14; named here for older headers. */
#define MR_MADV_POPULATE_WRITE 23

const char *mr_backing_name(enum mr_backing backing)
{
	static const char names[][32] = {"4 KiB pages", "transparent huge pages",
					 "2 MiB huge pages", "1 GiB huge pages"};

	return names[backing];
}

/* THP is a hope, not a promise: only small pages are sure. */
size_t mr_backing_page(enum mr_backing backing)
{
	static const size_t sizes[] = {MR_PAGE, MR_PAGE, MR_HUGE, MR_GIANT};

	return sizes[backing];
}

size_t mr_backing_align(enum mr_backing backing)
{
	return backing == MR_BACKING_THP ? MR_HUGE : mr_backing_page(backing);
}

static bool mr_backing_fits(enum mr_backing backing, size_t len)
{
	if (backing == MR_BACKING_THP)
		return len >= MR_HUGE;
	return len % mr_backing_page(backing) == 0;
}

static int mr_backing_flags(enum mr_backing backing)
{
	if (backing == MR_BACKING_1G)
		return MAP_HUGETLB | MAP_HUGE_1GB;
	return backing == MR_BACKING_2M ? MAP_HUGETLB | MAP_HUGE_2MB : 0;
}

/* Anonymous memory aligned to align: map too much, give back both ends. */
static void *mr_map_aligned(size_t len, size_t align, int flags)
{
	size_t slack = align > MR_PAGE && !(flags & MAP_HUGETLB) ? align - MR_PAGE : 0;
	uintptr_t start, end, addr;
	void *map;

	map = mmap(NULL, len + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
		   -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	start = (uintptr_t)map;
	end = start + len + slack;
	addr = mr_round_up(start, align);
	if (addr > start)
		munmap(map, addr - start);
	if (end > addr + len)
		munmap((void *)(addr + len), end - (addr + len));
	return (void *)addr;
}

/* Before Linux 5.14 there is no advice that populates: touch each page. */
static int mr_populate(void *addr, size_t len)
{
	if (!madvise(addr, len, MR_MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return -ENOMEM;
	for (size_t at = 0; at < len; at += MR_PAGE)
		((volatile char *)addr)[at] = 0;
	return 0;
}

static int mr_memory_try(struct mr_memory *memory, size_t len, enum mr_backing backing, int node)
{
	void *addr = mr_map_aligned(len, mr_backing_align(backing), mr_backing_flags(backing));
	int err;

	if (!addr)
		return -ENOMEM;
	mr_numa_bind(addr, len, node);
	if (backing == MR_BACKING_THP)
		madvise(addr, len, MADV_HUGEPAGE);
	if (backing == MR_BACKING_4K)
		madvise(addr, len, MADV_NOHUGEPAGE);
	madvise(addr, len, MADV_DONTFORK);
	err = mr_populate(addr, len);
	if (err) {
		munmap(addr, len);
		return err;
	}
	*memory = (struct mr_memory){.addr = addr, .len = len, .backing = backing};
	return 0;
}

int mr_memory_map(struct mr_memory *memory, size_t len, enum mr_backing best, int node,
		  struct util_err *err)
{
	char text[24];

	for (int backing = (int)best; backing >= MR_BACKING_4K; backing--)
		if (mr_backing_fits((enum mr_backing)backing, len) &&
		    !mr_memory_try(memory, len, (enum mr_backing)backing, node))
			return 0;
	util_err_set(err, -ENOMEM, "map %s of memory: the machine has no more",
		     util_size_format(len, text, sizeof(text)));
	util_err_hint(err, "free memory, or use fewer or smaller buffers");
	return -ENOMEM;
}

void mr_memory_unmap(struct mr_memory *memory)
{
	munmap(memory->addr, memory->len);
	memory->addr = NULL;
}

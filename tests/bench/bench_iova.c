/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_iova.c - does the address allocator grow?  A billion operations, with what it holds at each
 * power of ten.
 *
 *   bench_iova [OPERATIONS]
 *
 * Two caches, as two threads would have them.  Each operation gives back the oldest of 1000 ranges
 * through the one and takes a new one, of a random size of 4 KiB to 2 MiB, through the other; every
 * now and then the two change roles.  So addresses wander through the depot all the time, which is
 * where growth would show.
 */
#include <stdio.h>
#include <stdlib.h>

#include "iommu-aware/iommu.h"
#include "util/util.h"

#define LIVE 1000
#define EXCHANGE 100000 /* operations between two changes of roles */

static uint64_t size_of(uint64_t random)
{
	return UINT64_C(4096) << random % 10;
}

static void report(struct iommu_iova *iova, uint64_t done, uint64_t begun_ns)
{
	struct iommu_iova_stats s;

	iommu_iova_stats(iova, &s);
	printf("%12llu operations %6.1f ns each: magazines %llu (depot %llu), tree nodes %llu, "
	       "%llu MiB taken\n",
	       (unsigned long long)done,
	       (double)(util_clock_ns() - begun_ns) / (double)(done ? done : 1),
	       (unsigned long long)s.magazines, (unsigned long long)s.depot_magazines,
	       (unsigned long long)s.tree_nodes, (unsigned long long)(s.bytes_out >> 20));
}

int main(int argc, char **argv)
{
	static struct {
		uint64_t addr, len;
	} live[LIVE];
	uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000000, next = 10000;
	uint64_t random = 88172645463325252u, begun_ns;
	struct iommu_iova_cache *cache[2];
	struct iommu_iova *iova;

	if (iommu_iova_create(&iova, UINT64_C(1) << 32, UINT64_C(1) << 47) ||
	    iommu_iova_cache_open(iova, &cache[0]) || iommu_iova_cache_open(iova, &cache[1]))
		return 1;
	begun_ns = util_clock_ns();
	for (uint64_t i = 0; i < operations; i++) {
		unsigned slot = (unsigned)(i % LIVE), role = (unsigned)(i / EXCHANGE % 2);

		if (live[slot].len)
			iommu_iova_free(cache[role], live[slot].addr, live[slot].len);
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		live[slot].len = size_of(random);
		if (iommu_iova_alloc(cache[!role], live[slot].len, 0, &live[slot].addr))
			return 1;
		if (i + 1 == next || i + 1 == operations) {
			report(iova, i + 1, begun_ns);
			next *= 10;
		}
	}
	return 0;
}

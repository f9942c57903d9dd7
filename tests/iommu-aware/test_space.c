/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "iommu-aware/internal.h"

#define BASE UINT64_C(0x100000000)
#define LIMIT UINT64_C(0x200000000)
#define HUGE UINT64_C(0x200000)

TestSuite(iommu_space);

Test(iommu_space, addresses_are_congruent_to_the_memory)
{
	struct iommu_space *space;
	uint64_t addr;

	cr_assert_eq(iommu_space_create(&space, BASE, LIMIT), 0);
	for (uint64_t residue = 0; residue < HUGE; residue += 0x1000 * 37) {
		cr_assert_eq(iommu_space_alloc(space, 5000, HUGE, residue, &addr), 0);
		cr_assert_eq(addr % HUGE, residue);
		cr_assert(addr >= BASE && addr + 8192 <= LIMIT);
	}
	iommu_space_destroy(space);
}

Test(iommu_space, bad_arguments_are_refused)
{
	struct iommu_space *space;
	uint64_t addr;

	cr_assert_eq(iommu_space_create(&space, BASE, BASE), -EINVAL);
	cr_assert_eq(iommu_space_create(&space, 1, LIMIT), -EINVAL);
	cr_assert_eq(iommu_space_create(&space, BASE, LIMIT), 0);
	cr_assert_eq(iommu_space_alloc(space, 0, 4096, 0, &addr), -EINVAL);
	cr_assert_eq(iommu_space_alloc(space, UINT64_MAX, 4096, 0, &addr), -EINVAL);
	cr_assert_eq(iommu_space_alloc(space, 4096, 1000, 0, &addr), -EINVAL);
	cr_assert_eq(iommu_space_alloc(space, 4096, 12288, 0, &addr), -EINVAL);
	cr_assert_eq(iommu_space_alloc(space, 4096, 8192, 8192, &addr), -EINVAL);
	cr_assert_eq(iommu_space_alloc(space, 4096, 8192, 100, &addr), -EINVAL);
	cr_assert_eq(iommu_space_alloc(space, LIMIT - BASE + 1, 4096, 0, &addr), -ENOSPC);
	iommu_space_destroy(space);
	iommu_space_destroy(NULL);
}

Test(iommu_space, a_full_space_says_so_and_recovers)
{
	struct iommu_space *space;
	uint64_t addr, again;

	cr_assert_eq(iommu_space_create(&space, BASE, LIMIT), 0);
	cr_assert_eq(iommu_space_alloc(space, LIMIT - BASE, 4096, 0, &addr), 0);
	cr_assert_eq(addr, BASE);
	cr_assert_eq(iommu_space_alloc(space, 1, 4096, 0, &again), -ENOSPC);
	iommu_space_free(space, addr, LIMIT - BASE);
	cr_assert_eq(iommu_space_used(space), 0);
	cr_assert_eq(iommu_space_alloc(space, LIMIT - BASE, 4096, 0, &again), 0);
	iommu_space_destroy(space);
}

/* A thousand pages, each either ours or free, against a table. */
Test(iommu_space, random_allocations_never_overlap_and_coalesce_when_freed)
{
	enum { PAGES = 1000, HELD = 60 };
	static bool taken[PAGES];
	struct {
		uint64_t addr, len;
	} held[HELD] = {0};
	struct iommu_space *space;
	uint64_t used = 0, addr;
	uint32_t rng = 5;

	cr_assert_eq(iommu_space_create(&space, BASE, BASE + PAGES * 4096), 0);
	for (unsigned step = 0; step < 50000; step++) {
		unsigned i = (rng = rng * 1664525u + 1013904223u) >> 8, slot = i % HELD;
		uint64_t len = (i / HELD % 40 + 1) * 4096;
		uint64_t modulus = i & 1 ? 4096 : 65536, residue = i & 2 ? modulus - 4096 : 0;

		if (held[slot].len) {
			iommu_space_free(space, held[slot].addr, held[slot].len);
			for (uint64_t p = 0; p < held[slot].len / 4096; p++)
				taken[(held[slot].addr - BASE) / 4096 + p] = false;
			used -= held[slot].len;
			held[slot].len = 0;
		} else if (!iommu_space_alloc(space, len, modulus, residue, &addr)) {
			cr_assert_eq(addr % modulus, residue);
			for (uint64_t p = 0; p < len / 4096; p++) {
				cr_assert_not(taken[(addr - BASE) / 4096 + p]);
				taken[(addr - BASE) / 4096 + p] = true;
			}
			held[slot].addr = addr;
			held[slot].len = len;
			used += len;
		}
		cr_assert_eq(iommu_space_used(space), used);
	}
	for (unsigned i = 0; i < HELD; i++)
		if (held[i].len)
			iommu_space_free(space, held[i].addr, held[i].len);
	cr_assert_eq(iommu_space_alloc(space, PAGES * 4096, 4096, 0, &addr), 0, "one range again");
	iommu_space_destroy(space);
}

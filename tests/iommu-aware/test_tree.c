/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "iommu-aware/internal.h"
#include "iommu-aware/tree.h"

enum { PAGES = 2048, HELD = 200 };
#define BASE UINT64_C(0x40000000)
#define LIMIT (BASE + PAGES * IOMMU_UNIT)

TestSuite(iommu_tree, .timeout = 60);

struct walk {
	uint64_t last_end, free, gaps;
};

/* Order, distance, heap and augmentation of everything below gap. */
static void check_below(const struct iommu_gap *gap, struct walk *walk)
{
	uint64_t longest = gap->end - gap->start;

	cr_assert_lt(gap->start, gap->end);
	if (gap->left) {
		cr_assert_leq(gap->left->priority, gap->priority);
		check_below(gap->left, walk);
		longest = gap->left->longest > longest ? gap->left->longest : longest;
	}
	cr_assert(gap->start > walk->last_end || walk->gaps == 0, "adjacent gaps are one");
	walk->last_end = gap->end;
	walk->free += gap->end - gap->start;
	walk->gaps++;
	if (gap->right) {
		cr_assert_leq(gap->right->priority, gap->priority);
		check_below(gap->right, walk);
		longest = gap->right->longest > longest ? gap->right->longest : longest;
	}
	cr_assert_eq(gap->longest, longest);
}

static void check_tree(const struct iommu_tree *tree)
{
	struct walk walk = {0};

	if (tree->root)
		check_below(tree->root, &walk);
	cr_assert_eq(walk.free + tree->used, LIMIT - BASE);
	cr_assert_leq(walk.gaps, tree->taken + 1);
	cr_assert_geq(tree->nodes, tree->taken + 1);
}

static uint32_t next(uint32_t *rng)
{
	return (*rng = *rng * 1664525u + 1013904223u) >> 8;
}

/* Is there any address that want could have?  By looking at all. */
static bool possible(const bool *taken, const struct iommu_want *want)
{
	for (uint64_t at = BASE; at + want->len <= LIMIT && at + want->len <= want->limit;
	     at += IOMMU_UNIT) {
		uint64_t page = (at - BASE) / IOMMU_UNIT, n = 0;

		if (at % want->modulus != want->residue)
			continue;
		while (n < want->len / IOMMU_UNIT && !taken[page + n])
			n++;
		if (n == want->len / IOMMU_UNIT)
			return true;
	}
	return false;
}

static void mark(bool *taken, uint64_t addr, uint64_t len, bool value)
{
	for (uint64_t p = (addr - BASE) / IOMMU_UNIT; len > 0; len -= IOMMU_UNIT, p++) {
		cr_assert_eq(taken[p], !value);
		taken[p] = value;
	}
}

Test(iommu_tree, agrees_with_a_table_of_pages_on_everything)
{
	static bool taken[PAGES];
	struct {
		uint64_t addr, len;
	} held[HELD] = {0};
	struct iommu_tree tree;
	uint64_t full = 0;
	uint32_t rng = 1;

	cr_assert_eq(iommu_tree_init(&tree, BASE, LIMIT), 0);
	for (unsigned step = 0; step < 60000; step++) {
		unsigned slot = next(&rng) % HELD;
		unsigned shift = next(&rng) % 6;
		struct iommu_want want = {
			.len = (next(&rng) % 24 + 1) * IOMMU_UNIT,
			.modulus = IOMMU_UNIT << shift,
			.residue = (next(&rng) % (1u << shift)) * IOMMU_UNIT,
			.limit = next(&rng) % 4 ? UINT64_MAX
						: BASE + next(&rng) % PAGES * IOMMU_UNIT,
		};
		uint64_t addr;
		int err;

		if (held[slot].len) {
			iommu_tree_give(&tree, held[slot].addr, held[slot].addr + held[slot].len);
			mark(taken, held[slot].addr, held[slot].len, false);
			held[slot].len = 0;
			continue;
		}
		err = iommu_tree_take(&tree, &want, &addr);
		cr_assert_eq(err, possible(taken, &want) ? 0 : -ENOSPC, "step %u", step);
		full += err != 0;
		if (err)
			continue;
		cr_assert_eq(addr % want.modulus, want.residue);
		cr_assert_leq(addr + want.len, want.limit);
		mark(taken, addr, want.len, true);
		held[slot].addr = addr;
		held[slot].len = want.len;
		if (step % 64 == 0)
			check_tree(&tree);
	}
	cr_assert_gt(full, 100, "the space was often short");
	for (unsigned i = 0; i < HELD; i++)
		if (held[i].len)
			iommu_tree_give(&tree, held[i].addr, held[i].addr + held[i].len);
	check_tree(&tree);
	cr_assert_eq(tree.root->start, BASE);
	cr_assert_eq(tree.root->end, LIMIT);
	cr_assert_eq(tree.taken, 0);
	cr_assert_leq(tree.nodes, 66, "nodes of the burst are given back");
	iommu_tree_fini(&tree);
}

Test(iommu_tree, a_crowd_of_gaps_that_do_not_fit_hides_none_that_does)
{
	struct iommu_tree tree;
	struct iommu_want page = {.len = IOMMU_UNIT, .modulus = IOMMU_UNIT, .limit = UINT64_MAX};
	/* Two pages on an odd page: every second gap is placed so, but for the last. */
	struct iommu_want odd = {.len = 2 * IOMMU_UNIT,
				 .modulus = 2 * IOMMU_UNIT,
				 .residue = IOMMU_UNIT,
				 .limit = UINT64_MAX};
	uint64_t addr;

	cr_assert_eq(iommu_tree_init(&tree, BASE, LIMIT), 0);
	for (unsigned i = 0; i < PAGES; i++)
		cr_assert_eq(iommu_tree_take(&tree, &page, &addr), 0);
	for (unsigned i = 0; i < PAGES - 8; i += 4) /* gaps of two pages on even pages */
		iommu_tree_give(&tree, BASE + i * IOMMU_UNIT, BASE + (i + 2) * IOMMU_UNIT);
	cr_assert_eq(iommu_tree_take(&tree, &odd, &addr), -ENOSPC);
	iommu_tree_give(&tree, LIMIT - 3 * IOMMU_UNIT, LIMIT - IOMMU_UNIT);
	cr_assert_eq(iommu_tree_take(&tree, &odd, &addr), 0);
	cr_assert_eq(addr, LIMIT - 3 * IOMMU_UNIT);
	iommu_tree_fini(&tree);
}

static unsigned depth_of(const struct iommu_gap *gap)
{
	unsigned left = gap ? depth_of(gap->left) : 0, right = gap ? depth_of(gap->right) : 0;

	return gap ? 1 + (left > right ? left : right) : 0;
}

/* Neither depth nor recursion may follow the order things come in. */
Test(iommu_tree, stays_shallow_in_the_worst_order)
{
	struct iommu_tree tree;
	struct iommu_want page = {.len = IOMMU_UNIT, .modulus = IOMMU_UNIT, .limit = UINT64_MAX};
	unsigned pages = 100000;
	uint64_t addr;

	cr_assert_eq(iommu_tree_init(&tree, BASE, BASE + pages * IOMMU_UNIT), 0);
	for (unsigned i = 0; i < pages; i++)
		cr_assert_eq(iommu_tree_take(&tree, &page, &addr), 0);
	for (unsigned i = 0; i < pages; i += 2)
		iommu_tree_give(&tree, BASE + i * IOMMU_UNIT, BASE + (i + 1) * IOMMU_UNIT);
	/* 50 000 gaps: 16 at best, some 40 as random priorities have it. */
	cr_assert_lt(depth_of(tree.root), 64);
	iommu_tree_fini(&tree);
}

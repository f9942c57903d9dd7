/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.c - free ranges by address, each node augmented with the longest range below it.
 *
 * A treap: a search tree by address that is a heap by random priorities, and so of logarithmic
 * depth with two functions, split and merge, instead of a table of rotations.
 *
 * Finding.  A subtree whose longest gap is too short is skipped whole.  Without a wish for
 * alignment the first gap that is long enough fits; with one, it may not, and a crowd of gaps that
 * are long enough and badly placed would be looked at one by one.  So the search gives up after a
 * few of them, looks for a gap so long that it must fit, and only if there is none goes through
 * them all.
 *
 * Giving back.  There is at most one gap more than there are ranges out, so a tree that keeps a
 * node for each range never needs memory to take one back.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "iommu-aware/tree.h"

#define IOMMU_MISFITS 16 /* looked at before a surer gap is sought */
#define IOMMU_SPARES 64	 /* nodes kept beyond what may be needed */

static uint64_t iommu_gap_longest(const struct iommu_gap *gap)
{
	return gap ? gap->longest : 0;
}

static void iommu_gap_update(struct iommu_gap *gap)
{
	uint64_t left = iommu_gap_longest(gap->left), right = iommu_gap_longest(gap->right);
	uint64_t below = left > right ? left : right, own = gap->end - gap->start;

	gap->longest = own > below ? own : below;
}

/* Gaps that start before key, and the others. */
static void iommu_gap_split(struct iommu_gap *gap, uint64_t key, struct iommu_gap **leftp,
			    struct iommu_gap **rightp)
{
	if (!gap) {
		*leftp = *rightp = NULL;
	} else if (gap->start < key) {
		iommu_gap_split(gap->right, key, &gap->right, rightp);
		iommu_gap_update(gap);
		*leftp = gap;
	} else {
		iommu_gap_split(gap->left, key, leftp, &gap->left);
		iommu_gap_update(gap);
		*rightp = gap;
	}
}

/* All of left lies before all of right. */
static struct iommu_gap *iommu_gap_merge(struct iommu_gap *left, struct iommu_gap *right)
{
	if (!left || !right)
		return left ? left : right;
	if (left->priority >= right->priority) {
		left->right = iommu_gap_merge(left->right, right);
		iommu_gap_update(left);
		return left;
	}
	right->left = iommu_gap_merge(left, right->left);
	iommu_gap_update(right);
	return right;
}

/* The gap that starts at key has changed its length: tell those above it. */
static void iommu_gap_fix(struct iommu_gap *gap, uint64_t key)
{
	if (key != gap->start)
		iommu_gap_fix(key < gap->start ? gap->left : gap->right, key);
	iommu_gap_update(gap);
}

static uint64_t iommu_tree_random(struct iommu_tree *tree)
{
	tree->random ^= tree->random << 13;
	tree->random ^= tree->random >> 7;
	tree->random ^= tree->random << 17;
	return tree->random;
}

static void iommu_tree_insert(struct iommu_tree *tree, uint64_t start, uint64_t end)
{
	struct iommu_gap *gap = tree->spare, *left, *right;

	tree->spare = gap->right;
	*gap = (struct iommu_gap){
		.start = start,
		.end = end,
		.longest = end - start,
		.priority = iommu_tree_random(tree),
	};
	iommu_gap_split(tree->root, start, &left, &right);
	tree->root = iommu_gap_merge(iommu_gap_merge(left, gap), right);
}

static void iommu_tree_remove(struct iommu_tree *tree, struct iommu_gap *gap)
{
	struct iommu_gap *left, *middle, *right;

	iommu_gap_split(tree->root, gap->start, &left, &middle);
	iommu_gap_split(middle, gap->start + 1, &middle, &right);
	tree->root = iommu_gap_merge(left, right);
	gap->right = tree->spare;
	tree->spare = gap;
}

/* A node for every range that is out, one more for the gap beyond the last, one for a cut. */
static int iommu_tree_reserve(struct iommu_tree *tree)
{
	while (tree->nodes < tree->taken + 2) {
		struct iommu_gap *gap = malloc(sizeof(*gap));

		if (!gap)
			return -ENOMEM;
		gap->right = tree->spare;
		tree->spare = gap;
		tree->nodes++;
	}
	return 0;
}

/* After a burst, give back what it took. */
static void iommu_tree_relax(struct iommu_tree *tree)
{
	while (tree->spare && tree->nodes > tree->taken + 2 + IOMMU_SPARES) {
		struct iommu_gap *gap = tree->spare;

		tree->spare = gap->right;
		tree->nodes--;
		free(gap);
	}
}

int iommu_tree_init(struct iommu_tree *tree, uint64_t base, uint64_t limit)
{
	int err;

	memset(tree, 0, sizeof(*tree));
	tree->random = UINT64_C(0x9e3779b97f4a7c15);
	err = iommu_tree_reserve(tree);
	if (err)
		iommu_tree_fini(tree);
	else
		iommu_tree_insert(tree, base, limit);
	return err;
}

static void iommu_gap_free(struct iommu_gap *gap)
{
	if (!gap)
		return;
	iommu_gap_free(gap->left);
	iommu_gap_free(gap->right);
	free(gap);
}

void iommu_tree_fini(struct iommu_tree *tree)
{
	iommu_gap_free(tree->root);
	while (tree->spare) {
		struct iommu_gap *gap = tree->spare;

		tree->spare = gap->right;
		free(gap);
	}
	memset(tree, 0, sizeof(*tree));
}

/* The lowest fitting address in gap, or false. */
static bool iommu_gap_fits(const struct iommu_gap *gap, const struct iommu_want *want,
			   uint64_t *addrp)
{
	uint64_t end = gap->end < want->limit ? gap->end : want->limit;
	uint64_t skip = (want->residue - gap->start) & (want->modulus - 1);

	if (gap->start >= end || skip > end - gap->start || want->len > end - gap->start - skip)
		return false;
	*addrp = gap->start + skip;
	return true;
}

/* From the lowest gap on; at least: gaps shorter than that are not looked at. */
static struct iommu_gap *iommu_gap_find(struct iommu_gap *gap, const struct iommu_want *want,
					uint64_t at_least, uint64_t *misfits, uint64_t *addrp)
{
	while (gap && gap->longest >= at_least && *misfits > 0) {
		struct iommu_gap *found = iommu_gap_find(gap->left, want, at_least, misfits, addrp);

		if (found || gap->start >= want->limit)
			return found;
		if (gap->end - gap->start >= at_least) {
			if (iommu_gap_fits(gap, want, addrp))
				return gap;
			--*misfits;
		}
		gap = gap->right;
	}
	return NULL;
}

static struct iommu_gap *iommu_tree_find(struct iommu_tree *tree, const struct iommu_want *want,
					 uint64_t *addrp)
{
	uint64_t few = IOMMU_MISFITS, all = UINT64_MAX, slack = want->modulus - IOMMU_UNIT;
	struct iommu_gap *gap = iommu_gap_find(tree->root, want, want->len, &few, addrp);

	if (gap || few)
		return gap;
	if (want->len <= UINT64_MAX - slack)
		gap = iommu_gap_find(tree->root, want, want->len + slack, &all, addrp);
	return gap ? gap : iommu_gap_find(tree->root, want, want->len, &all, addrp);
}

int iommu_tree_take(struct iommu_tree *tree, const struct iommu_want *want, uint64_t *addrp)
{
	struct iommu_gap *gap;
	uint64_t addr, end;
	int err = iommu_tree_reserve(tree);

	if (err)
		return err;
	gap = iommu_tree_find(tree, want, &addr);
	if (!gap)
		return -ENOSPC;
	end = gap->end;
	if (addr > gap->start) {
		gap->end = addr;
		iommu_gap_fix(tree->root, gap->start);
		if (addr + want->len < end)
			iommu_tree_insert(tree, addr + want->len, end);
	} else if (addr + want->len < end) {
		gap->start = addr + want->len;
		iommu_gap_fix(tree->root, gap->start);
	} else {
		iommu_tree_remove(tree, gap);
	}
	tree->taken++;
	tree->used += want->len;
	*addrp = addr;
	return 0;
}

/* The last gap before addr and the first behind it. */
static void iommu_tree_around(const struct iommu_tree *tree, uint64_t addr,
			      struct iommu_gap **beforep, struct iommu_gap **afterp)
{
	struct iommu_gap *gap = tree->root;

	*beforep = *afterp = NULL;
	while (gap) {
		if (gap->start < addr) {
			*beforep = gap;
			gap = gap->right;
		} else {
			*afterp = gap;
			gap = gap->left;
		}
	}
}

void iommu_tree_give(struct iommu_tree *tree, uint64_t start, uint64_t end)
{
	struct iommu_gap *before, *after;
	bool touches_before, touches_after;

	tree->taken--;
	tree->used -= end - start;
	iommu_tree_around(tree, start, &before, &after);
	touches_before = before && before->end == start;
	touches_after = after && after->start == end;
	if (touches_before && touches_after) {
		end = after->end;
		iommu_tree_remove(tree, after);
	}
	if (touches_before) {
		before->end = end;
		iommu_gap_fix(tree->root, before->start);
	} else if (touches_after) {
		after->start = start;
		iommu_gap_fix(tree->root, start);
	} else {
		iommu_tree_insert(tree, start, end);
	}
	iommu_tree_relax(tree);
}

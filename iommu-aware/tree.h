/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.h - the free ranges of an address space, in a tree that finds one without looking at all.
 *
 * Not thread-safe: whoever owns a tree locks it.
 */
#ifndef NFSRDMA_IOMMU_TREE_H
#define NFSRDMA_IOMMU_TREE_H

#include <stdint.h>

#define IOMMU_UNIT UINT64_C(4096)

struct iommu_gap {
	uint64_t start, end; /* free, never adjacent to another */
	uint64_t longest;    /* of this gap and all below it */
	uint64_t priority;   /* of the heap: at least that of both children */
	struct iommu_gap *left, *right;
};

struct iommu_tree {
	struct iommu_gap *root;
	struct iommu_gap *spare; /* nodes without a gap, linked by right */
	uint64_t nodes;		 /* with a gap or spare */
	uint64_t taken;		 /* ranges that are out */
	uint64_t used;		 /* bytes that are out */
	uint64_t random;
};

/* What is wanted: r with r % modulus == residue and r + len <= limit. */
struct iommu_want {
	uint64_t len, modulus, residue, limit;
};

/* [base, limit) is free.  -ENOMEM. */
int iommu_tree_init(struct iommu_tree *tree, uint64_t base, uint64_t limit);
void iommu_tree_fini(struct iommu_tree *tree);
/* The lowest address that fits, or nearly.  -ENOSPC, -ENOMEM. */
int iommu_tree_take(struct iommu_tree *tree, const struct iommu_want *want, uint64_t *addrp);
/* Never fails: a node for the gap was set aside when the range was taken. */
void iommu_tree_give(struct iommu_tree *tree, uint64_t start, uint64_t end);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c - region addresses: what peers name instead of process addresses.
 *
 * Giving peers numbers of our own keeps the layout of the process off the wire.  Addresses are
 * handed out once per registration, never per I/O, so a tree (tree.c) under one lock is all it
 * takes; lowest first keeps the ranges together.  What is allocated per I/O goes through magazines
 * in front of such a space (iova.c).
 *
 * The residue makes a region address congruent to its memory modulo the page size the memory is
 * made of, without which a device cannot use large translations.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "iommu-aware/internal.h"
#include "iommu-aware/tree.h"

struct iommu_space {
	pthread_mutex_t lock; /* protects tree; a leaf, nothing is called under it */
	struct iommu_tree tree;
};

int iommu_space_create(struct iommu_space **spacep, uint64_t base, uint64_t limit)
{
	struct iommu_space *space;
	int err;

	if (base >= limit || base % IOMMU_UNIT || limit % IOMMU_UNIT)
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	err = iommu_tree_init(&space->tree, base, limit);
	if (err) {
		free(space);
		return err;
	}
	pthread_mutex_init(&space->lock, NULL);
	*spacep = space;
	return 0;
}

void iommu_space_destroy(struct iommu_space *space)
{
	if (!space)
		return;
	iommu_tree_fini(&space->tree);
	pthread_mutex_destroy(&space->lock);
	free(space);
}

static uint64_t iommu_space_round(uint64_t len)
{
	return (len + IOMMU_UNIT - 1) & ~(IOMMU_UNIT - 1);
}

int iommu_space_alloc_below(struct iommu_space *space, uint64_t len, uint64_t modulus,
			    uint64_t residue, uint64_t limit, uint64_t *addrp)
{
	struct iommu_want want = {
		.len = iommu_space_round(len),
		.modulus = modulus,
		.residue = residue,
		.limit = limit,
	};
	int err;

	if (len == 0 || len > UINT64_MAX - IOMMU_UNIT || modulus < IOMMU_UNIT ||
	    modulus & (modulus - 1) || residue >= modulus || residue % IOMMU_UNIT)
		return -EINVAL;
	pthread_mutex_lock(&space->lock);
	err = iommu_tree_take(&space->tree, &want, addrp);
	pthread_mutex_unlock(&space->lock);
	return err;
}

int iommu_space_alloc(struct iommu_space *space, uint64_t len, uint64_t modulus, uint64_t residue,
		      uint64_t *addrp)
{
	return iommu_space_alloc_below(space, len, modulus, residue, UINT64_MAX, addrp);
}

void iommu_space_free(struct iommu_space *space, uint64_t addr, uint64_t len)
{
	len = iommu_space_round(len);
	pthread_mutex_lock(&space->lock);
	iommu_tree_give(&space->tree, addr, addr + len);
	pthread_mutex_unlock(&space->lock);
}

uint64_t iommu_space_used(const struct iommu_space *space)
{
	struct iommu_space *s = (struct iommu_space *)space; /* for the lock */
	uint64_t used;

	pthread_mutex_lock(&s->lock);
	used = s->tree.used;
	pthread_mutex_unlock(&s->lock);
	return used;
}

uint64_t iommu_space_nodes(struct iommu_space *space)
{
	uint64_t nodes;

	pthread_mutex_lock(&space->lock);
	nodes = space->tree.nodes;
	pthread_mutex_unlock(&space->lock);
	return nodes;
}

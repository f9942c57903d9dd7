/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c - region addresses: what peers name instead of process addresses.
 *
 * Giving peers numbers of our own keeps the layout of the process off the wire.  Addresses are
 * handed out once per registration, never per I/O, so a sorted list of free ranges under one lock
 * is all it takes; first fit keeps the ranges together.
 *
 * The residue makes a region address congruent to its memory modulo the page size the memory is
 * made of, without which a device cannot use large translations.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "iommu-aware/internal.h"

#define IOMMU_SPACE_UNIT UINT64_C(4096)

struct iommu_range {
	struct util_list node;
	uint64_t start, end;
};

struct iommu_space {
	pthread_mutex_t lock;	 /* protects all below; a leaf, nothing is called under it */
	struct util_list ranges; /* free, by address, never adjacent */
	uint64_t used;
};

static struct iommu_range *iommu_range_of(struct util_list *node)
{
	return UTIL_LIST_ENTRY(node, struct iommu_range, node);
}

static struct iommu_range *iommu_range_new(uint64_t start, uint64_t end)
{
	struct iommu_range *range = malloc(sizeof(*range));

	if (range) {
		range->start = start;
		range->end = end;
	}
	return range;
}

int iommu_space_create(struct iommu_space **spacep, uint64_t base, uint64_t limit)
{
	struct iommu_space *space;
	struct iommu_range *range;

	if (base >= limit || base % IOMMU_SPACE_UNIT || limit % IOMMU_SPACE_UNIT)
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	range = iommu_range_new(base, limit);
	if (!range) {
		free(space);
		return -ENOMEM;
	}
	pthread_mutex_init(&space->lock, NULL);
	util_list_init(&space->ranges);
	util_list_add(&space->ranges, &range->node);
	*spacep = space;
	return 0;
}

void iommu_space_destroy(struct iommu_space *space)
{
	struct util_list *node;

	if (!space)
		return;
	while ((node = util_list_pop(&space->ranges)))
		free(iommu_range_of(node));
	pthread_mutex_destroy(&space->lock);
	free(space);
}

/* The lowest fitting address in range, or false. */
static bool iommu_range_fit(const struct iommu_range *range, uint64_t len, uint64_t modulus,
			    uint64_t residue, uint64_t *addrp)
{
	uint64_t skip = (residue - range->start) & (modulus - 1);
	uint64_t room = range->end - range->start;

	if (skip > room || len > room - skip)
		return false;
	*addrp = range->start + skip;
	return true;
}

/* Cut [addr, addr+len) out of range; spare becomes the second half when there are two. */
static bool iommu_range_cut(struct iommu_range *range, uint64_t addr, uint64_t len,
			    struct iommu_range *spare)
{
	uint64_t end = range->end;

	if (addr > range->start && addr + len < end) {
		range->end = addr;
		spare->start = addr + len;
		spare->end = end;
		util_list_insert_after(&range->node, &spare->node);
		return true;
	}
	if (addr > range->start)
		range->end = addr;
	else
		range->start = addr + len;
	return false;
}

static int iommu_space_take(struct iommu_space *space, uint64_t len, uint64_t modulus,
			    uint64_t residue, uint64_t *addrp, struct iommu_range **sparep)
{
	UTIL_LIST_FOR_EACH (node, &space->ranges) {
		struct iommu_range *range = iommu_range_of(node);

		if (!iommu_range_fit(range, len, modulus, residue, addrp))
			continue;
		if (iommu_range_cut(range, *addrp, len, *sparep)) {
			*sparep = NULL;
		} else if (range->start == range->end) {
			util_list_del(&range->node);
			free(*sparep);
			*sparep = range;
		}
		space->used += len;
		return 0;
	}
	return -ENOSPC;
}

int iommu_space_alloc(struct iommu_space *space, uint64_t len, uint64_t modulus, uint64_t residue,
		      uint64_t *addrp)
{
	struct iommu_range *spare;
	int err;

	if (len == 0 || len > UINT64_MAX - IOMMU_SPACE_UNIT || modulus < IOMMU_SPACE_UNIT ||
	    modulus & (modulus - 1) || residue >= modulus || residue % IOMMU_SPACE_UNIT)
		return -EINVAL;
	len = (len + IOMMU_SPACE_UNIT - 1) & ~(IOMMU_SPACE_UNIT - 1);
	/* A cut in the middle leaves two ranges: have the second one's memory at hand. */
	spare = iommu_range_new(0, 0);
	if (!spare)
		return -ENOMEM;
	pthread_mutex_lock(&space->lock);
	err = iommu_space_take(space, len, modulus, residue, addrp, &spare);
	pthread_mutex_unlock(&space->lock);
	free(spare);
	return err;
}

/* The last free range below addr, or the list's head. */
static struct util_list *iommu_space_before(struct iommu_space *space, uint64_t addr)
{
	struct util_list *at = &space->ranges;

	UTIL_LIST_FOR_EACH (node, &space->ranges) {
		if (iommu_range_of(node)->start > addr)
			break;
		at = node;
	}
	return at;
}

/*
 * Both neighbours swallow a range that touches them.  Where none does, a list entry is needed, and
 * freeing must not fail: without memory the range is given up, which costs address space only.
 */
void iommu_space_free(struct iommu_space *space, uint64_t addr, uint64_t len)
{
	uint64_t end = addr + ((len + IOMMU_SPACE_UNIT - 1) & ~(IOMMU_SPACE_UNIT - 1));
	struct iommu_range *fresh = iommu_range_new(addr, end);
	struct iommu_range *before = NULL, *after = NULL, *dead = NULL;
	struct util_list *at;

	pthread_mutex_lock(&space->lock);
	at = iommu_space_before(space, addr);
	if (at != &space->ranges)
		before = iommu_range_of(at);
	if (at->next != &space->ranges)
		after = iommu_range_of(at->next);
	space->used -= end - addr;
	if (before && before->end == addr && after && after->start == end) {
		before->end = after->end;
		util_list_del(&after->node);
		dead = after;
	} else if (before && before->end == addr) {
		before->end = end;
	} else if (after && after->start == end) {
		after->start = addr;
	} else if (fresh) {
		util_list_insert_after(at, &fresh->node);
		fresh = NULL;
	}
	pthread_mutex_unlock(&space->lock);
	free(dead);
	free(fresh);
}

uint64_t iommu_space_used(const struct iommu_space *space)
{
	struct iommu_space *s = (struct iommu_space *)space;
	uint64_t used;

	pthread_mutex_lock(&s->lock);
	used = s->used;
	pthread_mutex_unlock(&s->lock);
	return used;
}

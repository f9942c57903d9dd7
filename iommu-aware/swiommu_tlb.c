/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swiommu_tlb.c - the software IOMMU's IOTLB: 64 sets of 4 ways, pages of both sizes.
 *
 * Finding takes no lock.  An entry is two words, read as tag, leaf, tag again: filling empties the
 * tag first, so that a reader who sees one tag twice has seen the leaf that belongs to it.
 *
 * A page may be unmapped between a walk and the fill of what it found.  So invalidations are
 * counted, the count is read before the walk, and what was walked before the last invalidation is
 * not kept: whoever unmaps changes the table first and invalidates then, so an entry filled with
 * the old leaf either is there to be forgotten, or comes too late to be kept.
 */
#include "iommu-aware/swiommu.h"

void iommu_sw_tlb_init(struct sw_tlb *tlb)
{
	for (unsigned s = 0; s < SW_SETS; s++) {
		for (unsigned w = 0; w < SW_WAYS; w++) {
			atomic_init(&tlb->set[s][w].tag, 0);
			atomic_init(&tlb->set[s][w].leaf, 0);
		}
	}
	pthread_mutex_init(&tlb->lock, NULL);
	atomic_init(&tlb->epoch, 0);
	tlb->victim = 0;
}

void iommu_sw_tlb_fini(struct sw_tlb *tlb)
{
	pthread_mutex_destroy(&tlb->lock);
}

static uint64_t tag_of(uint64_t bus, bool large)
{
	uint64_t size = large ? SW_LARGE : SW_PAGE;

	return (bus & ~(size - 1)) | SW_LEAF | (large ? SW_LEAF_LARGE : 0);
}

static unsigned set_of(uint64_t bus, bool large)
{
	return (unsigned)(bus >> (large ? 21 : 12)) % SW_SETS;
}

static uint64_t find_tag(const struct iommu_sw_tlb_entry *set, uint64_t tag)
{
	for (unsigned w = 0; w < SW_WAYS; w++) {
		uint64_t leaf;

		if (atomic_load_explicit(&set[w].tag, memory_order_acquire) != tag)
			continue;
		/* ORDER: the second look at the tag comes after the leaf was read. */
		leaf = atomic_load_explicit(&set[w].leaf, memory_order_acquire);
		if (atomic_load_explicit(&set[w].tag, memory_order_relaxed) == tag)
			return leaf;
	}
	return 0;
}

uint64_t iommu_sw_tlb_find(const struct sw_tlb *tlb, uint64_t bus)
{
	uint64_t leaf = find_tag(tlb->set[set_of(bus, true)], tag_of(bus, true));

	return leaf ? leaf : find_tag(tlb->set[set_of(bus, false)], tag_of(bus, false));
}

uint64_t iommu_sw_tlb_epoch(const struct sw_tlb *tlb)
{
	return atomic_load_explicit(&tlb->epoch, memory_order_acquire);
}

/* A way that is empty, or has the tag already, or is next to go. */
static struct iommu_sw_tlb_entry *pick(struct sw_tlb *tlb, struct iommu_sw_tlb_entry *set,
				       uint64_t tag)
{
	struct iommu_sw_tlb_entry *empty = NULL;

	for (unsigned w = 0; w < SW_WAYS; w++) {
		uint64_t is = atomic_load_explicit(&set[w].tag, memory_order_relaxed);

		if (is == tag)
			return &set[w];
		if (!is)
			empty = &set[w];
	}
	return empty ? empty : &set[tlb->victim++ % SW_WAYS];
}

void iommu_sw_tlb_fill(struct sw_tlb *tlb, uint64_t bus, uint64_t leaf, uint64_t epoch)
{
	bool large = leaf & SW_LEAF_LARGE;
	uint64_t tag = tag_of(bus, large);
	struct iommu_sw_tlb_entry *entry;

	pthread_mutex_lock(&tlb->lock);
	if (atomic_load_explicit(&tlb->epoch, memory_order_relaxed) == epoch) {
		entry = pick(tlb, tlb->set[set_of(bus, large)], tag);
		atomic_store_explicit(&entry->tag, 0, memory_order_relaxed);
		/* ORDER: the tag is seen empty before the new leaf is seen, and the leaf before the
		 * new tag. */
		atomic_store_explicit(&entry->leaf, leaf, memory_order_release);
		atomic_store_explicit(&entry->tag, tag, memory_order_release);
	}
	pthread_mutex_unlock(&tlb->lock);
}

static void forget_tag(struct iommu_sw_tlb_entry *set, uint64_t tag)
{
	for (unsigned w = 0; w < SW_WAYS; w++)
		if (atomic_load_explicit(&set[w].tag, memory_order_relaxed) == tag)
			atomic_store_explicit(&set[w].tag, 0, memory_order_release);
}

static void forget_each(struct sw_tlb *tlb)
{
	for (unsigned s = 0; s < SW_SETS; s++)
		for (unsigned w = 0; w < SW_WAYS; w++)
			atomic_store_explicit(&tlb->set[s][w].tag, 0, memory_order_release);
}

void iommu_sw_tlb_forget(struct sw_tlb *tlb, uint64_t bus, uint64_t len)
{
	uint64_t end = bus + len;

	pthread_mutex_lock(&tlb->lock);
	atomic_fetch_add_explicit(&tlb->epoch, 1, memory_order_acq_rel);
	if (len / SW_PAGE > (uint64_t)SW_SETS * SW_WAYS) {
		forget_each(tlb);
	} else {
		for (uint64_t at = bus & ~(SW_LARGE - 1); at < end; at += SW_LARGE)
			forget_tag(tlb->set[set_of(at, true)], tag_of(at, true));
		for (uint64_t at = bus & ~(SW_PAGE - 1); at < end; at += SW_PAGE)
			forget_tag(tlb->set[set_of(at, false)], tag_of(at, false));
	}
	pthread_mutex_unlock(&tlb->lock);
}

void iommu_sw_tlb_forget_all(struct sw_tlb *tlb)
{
	pthread_mutex_lock(&tlb->lock);
	atomic_fetch_add_explicit(&tlb->epoch, 1, memory_order_acq_rel);
	forget_each(tlb);
	pthread_mutex_unlock(&tlb->lock);
}

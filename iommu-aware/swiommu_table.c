/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swiommu_table.c - the software IOMMU's page tables: a radix tree of four levels of 512 entries.
 *
 * An entry of the lowest level is a leaf of 4 KiB; one of the level above is a leaf of 2 MiB or
 * leads to a table.  Readers walk without a lock while writers, one at a time, change entries.
 *
 * ORDER: a table is cleared before the entry that leads to it is stored (release), and is never
 * freed nor used for other addresses before the end.  A reader that got hold of it earlier
 * therefore finds entries of the very addresses it looks for, or none.  That is what child is for:
 * it remembers the table while a large leaf stands in its place, so that small leaves find it
 * again. Addresses are handed out lowest first, so the tables kept are bounded by what was ever
 * mapped together.
 */
#include <errno.h>
#include <stdlib.h>

#include "iommu-aware/swiommu.h"

struct sw_node {
	_Atomic uint64_t entry[SW_ENTRIES]; /* a leaf, a node's address, or 0 */
	struct sw_node *child[];	    /* SW_ENTRIES of them, but at the lowest level none */
};

/* level 0 is the lowest. */
static struct sw_node *node_new(unsigned level)
{
	return calloc(1,
		      sizeof(struct sw_node) + (level ? SW_ENTRIES * sizeof(struct sw_node *) : 0));
}

static void node_free(struct sw_node *node, unsigned level)
{
	for (unsigned i = 0; level && i < SW_ENTRIES; i++)
		if (node->child[i])
			node_free(node->child[i], level - 1);
	free(node);
}

static unsigned index_at(uint64_t bus, unsigned level)
{
	return (unsigned)(bus >> (12 + 9 * level)) % SW_ENTRIES;
}

int iommu_sw_table_init(struct sw_table *table)
{
	table->root = node_new(SW_LEVELS - 1);
	if (!table->root)
		return -ENOMEM;
	pthread_mutex_init(&table->lock, NULL);
	atomic_init(&table->leaves_4k, 0);
	atomic_init(&table->leaves_2m, 0);
	return 0;
}

void iommu_sw_table_fini(struct sw_table *table)
{
	node_free(table->root, SW_LEVELS - 1);
	pthread_mutex_destroy(&table->lock);
}

uint64_t iommu_sw_table_walk(const struct sw_table *table, uint64_t bus)
{
	const struct sw_node *node = table->root;

	if (bus >> (12 + 9 * SW_LEVELS))
		return 0;
	for (unsigned level = SW_LEVELS - 1;; level--) {
		uint64_t entry = atomic_load_explicit(&node->entry[index_at(bus, level)],
						      memory_order_acquire);

		if (!entry || entry & SW_LEAF)
			return entry;
		node = (const struct sw_node *)(uintptr_t)entry;
	}
}

/* The node of that level which bus passes through, made if need be; the lock is held. */
static struct sw_node *node_at(struct sw_table *table, uint64_t bus, unsigned want, bool make)
{
	struct sw_node *node = table->root;

	for (unsigned level = SW_LEVELS - 1; level > want; level--) {
		unsigned i = index_at(bus, level);
		uint64_t entry = atomic_load_explicit(&node->entry[i], memory_order_relaxed);

		if (!node->child[i] && make)
			node->child[i] = node_new(level - 1);
		if (!node->child[i])
			return NULL;
		if (!entry && make)
			atomic_store_explicit(&node->entry[i], (uintptr_t)node->child[i],
					      memory_order_release);
		node = node->child[i];
	}
	return node;
}

static bool fits_large(uint64_t bus, uint64_t addr, uint64_t len, bool large)
{
	return large && len >= SW_LARGE && bus % SW_LARGE == 0 && addr % SW_LARGE == 0;
}

int iommu_sw_table_map(struct sw_table *table, uint64_t bus, uint64_t addr, uint64_t len,
		       bool large, unsigned rights)
{
	uint64_t size;

	pthread_mutex_lock(&table->lock);
	for (uint64_t off = 0; off < len; off += size) {
		bool big = fits_large(bus + off, addr + off, len - off, large);
		struct sw_node *node = node_at(table, bus + off, big, true);
		uint64_t leaf = (addr + off) | SW_LEAF | (big ? SW_LEAF_LARGE : 0) | rights;

		if (!node) {
			pthread_mutex_unlock(&table->lock);
			iommu_sw_table_unmap(table, bus, off);
			return -ENOMEM;
		}
		size = big ? SW_LARGE : SW_PAGE;
		atomic_store_explicit(&node->entry[index_at(bus + off, big)], leaf,
				      memory_order_release);
		atomic_fetch_add_explicit(big ? &table->leaves_2m : &table->leaves_4k, 1,
					  memory_order_relaxed);
	}
	pthread_mutex_unlock(&table->lock);
	return 0;
}

/* Clear bus's leaf; the bytes from bus to its end, or to the end of what is known to be empty. */
static uint64_t clear_leaf(struct sw_table *table, uint64_t bus)
{
	struct sw_node *node = node_at(table, bus, 1, false);
	_Atomic uint64_t *entry;

	if (!node)
		return SW_LARGE - bus % SW_LARGE;
	entry = &node->entry[index_at(bus, 1)];
	if (atomic_load_explicit(entry, memory_order_relaxed) & SW_LEAF) {
		atomic_store_explicit(entry, 0, memory_order_release);
		return SW_LARGE - bus % SW_LARGE;
	}
	node = node->child[index_at(bus, 1)];
	if (!node)
		return SW_LARGE - bus % SW_LARGE;
	atomic_store_explicit(&node->entry[index_at(bus, 0)], 0, memory_order_release);
	return SW_PAGE;
}

void iommu_sw_table_unmap(struct sw_table *table, uint64_t bus, uint64_t len)
{
	pthread_mutex_lock(&table->lock);
	for (uint64_t off = 0; off < len;)
		off += clear_leaf(table, bus + off);
	pthread_mutex_unlock(&table->lock);
}

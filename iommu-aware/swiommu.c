/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swiommu.c - an IOMMU in software, between a device in software and the process's memory.
 *
 * Mapping takes a bus address and writes leaves (swiommu_table.c).  The device hands over bus
 * addresses and gets memory: from the IOTLB (swiommu_tlb.c), or after a walk of the tables.
 * "Memory" is the process's, by its virtual address, which plays the part of the physical one.
 *
 * Unmapping clears the leaves first.  In strict mode the IOTLB is told at once and waited for, so
 * that from the return on every use is a fault.  In lazy mode the range goes to a flush queue
 * (swiommu_flush.c), and until that is flushed a page which the IOTLB happens to hold can still be
 * used: the price of lazy mode, here as in hardware.
 *
 * Threads.  All calls are for any thread.  Whoever translates keeps the memory from going away
 * while he uses it, by means of his own: the IOMMU answers for translations made after unmapping.
 */
#include <errno.h>
#include <stdlib.h>

#include "iommu-aware/swiommu.h"
#include "util/util.h"

/* Far from 0, and beyond what 32 bits can name; 46 bits of room. */
#define BUS_BASE (UINT64_C(1) << 33)
#define BUS_LIMIT (UINT64_C(1) << 46)

struct iommu_sw {
	struct sw_tlb tlb;
	struct sw_table table;
	struct iommu_sw_inval_queue inval;
	struct sw_flush flush;
	struct iommu_space *space;
	enum iommu_sw_policy policy;
	_Atomic uint64_t maps, unmaps, flushes, faults;
	_Atomic uint64_t lookups __attribute__((aligned(64))); /* written by each segment */
	_Atomic uint64_t misses;
	pthread_mutex_t fault_lock; /* protects last_fault; a leaf */
	struct iommu_sw_fault last_fault;
};

const char *iommu_sw_policy_name(enum iommu_sw_policy policy)
{
	static const char *const names[] = {
		[IOMMU_SW_OFF] = "off",
		[IOMMU_SW_PASSTHROUGH] = "passthrough",
		[IOMMU_SW_LAZY] = "lazy",
		[IOMMU_SW_STRICT] = "strict",
	};

	return names[policy];
}

const char *iommu_sw_reason_name(enum iommu_sw_reason reason)
{
	return reason == IOMMU_SW_NOT_MAPPED ? "not mapped" : "not mapped for that";
}

int iommu_sw_create(struct iommu_sw **swp, const struct iommu_sw_options *opts)
{
	struct iommu_sw *sw;
	int err;

	if (opts->policy == IOMMU_SW_OFF)
		return -EINVAL;
	sw = aligned_alloc(64, (sizeof(*sw) + 63) & ~(size_t)63);
	if (!sw)
		return -ENOMEM;
	memset(sw, 0, sizeof(*sw));
	sw->policy = opts->policy;
	err = iommu_space_create(&sw->space, BUS_BASE, BUS_LIMIT);
	if (err)
		goto err_free;
	err = iommu_sw_table_init(&sw->table);
	if (err)
		goto err_space;
	iommu_sw_tlb_init(&sw->tlb);
	iommu_sw_inval_init(&sw->inval, &sw->tlb, opts->inval_ns);
	err = iommu_sw_flush_init(&sw->flush, &sw->inval, sw->space, sw->policy == IOMMU_SW_LAZY);
	if (err)
		goto err_table;
	pthread_mutex_init(&sw->fault_lock, NULL);
	*swp = sw;
	return 0;

err_table:
	iommu_sw_inval_fini(&sw->inval);
	iommu_sw_tlb_fini(&sw->tlb);
	iommu_sw_table_fini(&sw->table);
err_space:
	iommu_space_destroy(sw->space);
err_free:
	free(sw);
	return err;
}

void iommu_sw_destroy(struct iommu_sw *sw)
{
	if (!sw)
		return;
	iommu_sw_flush_fini(&sw->flush);
	iommu_sw_inval_fini(&sw->inval);
	iommu_sw_tlb_fini(&sw->tlb);
	iommu_sw_table_fini(&sw->table);
	iommu_space_destroy(sw->space);
	pthread_mutex_destroy(&sw->fault_lock);
	free(sw);
}

/* Whole pages around a range: the first one's address, and the bytes of all. */
static uint64_t pages_around(uint64_t addr, uint64_t len, uint64_t *firstp)
{
	*firstp = addr & ~(SW_PAGE - 1);
	return (addr - *firstp + len + SW_PAGE - 1) & ~(SW_PAGE - 1);
}

int iommu_sw_map(struct iommu_sw *sw, void *ptr, uint64_t len, uint64_t page_size, unsigned rights,
		 uint64_t *busp)
{
	uint64_t addr = (uintptr_t)ptr, first, bus, bytes;
	uint64_t modulus;
	bool large;
	int err;

	if (!ptr || !len || len > BUS_LIMIT || addr >= BUS_LIMIT << 1 || rights & ~SW_RIGHTS)
		return -EINVAL;
	if (sw->policy == IOMMU_SW_PASSTHROUGH) {
		*busp = addr;
		return 0;
	}
	bytes = pages_around(addr, len, &first);
	large = page_size >= SW_LARGE && bytes >= SW_LARGE;
	modulus = large ? SW_LARGE : SW_PAGE;
	err = iommu_space_alloc(sw->space, bytes, modulus, first % modulus, &bus);
	if (err)
		return err;
	err = iommu_sw_table_map(&sw->table, bus, first, bytes, large, rights);
	if (err) {
		iommu_space_free(sw->space, bus, bytes);
		return err;
	}
	atomic_fetch_add_explicit(&sw->maps, 1, memory_order_relaxed);
	*busp = bus + (addr - first);
	return 0;
}

void iommu_sw_unmap(struct iommu_sw *sw, uint64_t bus, uint64_t len)
{
	uint64_t first, bytes = pages_around(bus, len, &first);

	if (sw->policy == IOMMU_SW_PASSTHROUGH)
		return;
	iommu_sw_table_unmap(&sw->table, first, bytes);
	atomic_fetch_add_explicit(&sw->unmaps, 1, memory_order_relaxed);
	if (sw->policy == IOMMU_SW_LAZY) {
		iommu_sw_flush_add(&sw->flush, first, bytes);
		return;
	}
	iommu_sw_inval_sync(&sw->inval, first, bytes);
	atomic_fetch_add_explicit(&sw->flushes, 1, memory_order_relaxed);
	iommu_space_free(sw->space, first, bytes);
}

void iommu_sw_revoke(struct iommu_sw *sw, uint64_t bus, uint64_t len)
{
	uint64_t first, bytes = pages_around(bus, len, &first);

	if (sw->policy == IOMMU_SW_PASSTHROUGH)
		return;
	iommu_sw_table_unmap(&sw->table, first, bytes);
	iommu_sw_inval_sync(&sw->inval, first, bytes);
}

static void *refuse(struct iommu_sw *sw, struct iommu_sw_fault *fault, uint64_t bus, unsigned right,
		    uint64_t leaf)
{
	*fault = (struct iommu_sw_fault){
		.bus = bus,
		.right = right,
		.reason = leaf ? IOMMU_SW_NO_RIGHT : IOMMU_SW_NOT_MAPPED,
	};
	atomic_fetch_add_explicit(&sw->faults, 1, memory_order_relaxed);
	pthread_mutex_lock(&sw->fault_lock);
	sw->last_fault = *fault;
	pthread_mutex_unlock(&sw->fault_lock);
	return NULL;
}

/* The IOTLB does not have it. */
static uint64_t walk(struct iommu_sw *sw, uint64_t bus)
{
	uint64_t epoch = iommu_sw_tlb_epoch(&sw->tlb);
	uint64_t leaf = iommu_sw_table_walk(&sw->table, bus);

	atomic_fetch_add_explicit(&sw->misses, 1, memory_order_relaxed);
	if (leaf)
		iommu_sw_tlb_fill(&sw->tlb, bus, leaf, epoch);
	return leaf;
}

/* What leaf, looked up when epoch was the IOTLB's, says of the page around bus. */
static void remember(struct iommu_sw *sw, struct iommu_sw_last *last, uint64_t bus, uint64_t leaf,
		     uint64_t epoch)
{
	uint64_t size = SW_LEAF_SIZE(leaf);

	*last = (struct iommu_sw_last){
		.epoch = &sw->tlb.epoch,
		.seen = epoch,
		.lookups = &sw->lookups,
		.bus = bus & ~(size - 1),
		.len = size,
		.delta = SW_LEAF_ADDR(leaf) - (bus & ~(size - 1)),
	};
}

void *iommu_sw_translate(struct iommu_sw *sw, uint64_t bus, uint64_t len, unsigned right,
			 struct iommu_sw_fault *fault)
{
	struct iommu_sw_last last;

	return iommu_sw_translate_last(sw, bus, len, right, fault, &last);
}

void *iommu_sw_translate_last(struct iommu_sw *sw, uint64_t bus, uint64_t len, unsigned right,
			      struct iommu_sw_fault *fault, struct iommu_sw_last *last)
{
	const uint64_t epoch = iommu_sw_tlb_epoch(&sw->tlb); /* before the look-up */
	uint64_t start = 0, lookups = 0, off = 0, leaf = 0;

	if (sw->policy == IOMMU_SW_PASSTHROUGH)
		return (void *)(uintptr_t)bus;
	if (len > UINT64_MAX - bus)
		return refuse(sw, fault, bus, right, 0);
	do {
		uint64_t within, addr;

		leaf = iommu_sw_tlb_find(&sw->tlb, bus + off);
		if (!leaf)
			leaf = walk(sw, bus + off);
		lookups++;
		within = (bus + off) & (SW_LEAF_SIZE(leaf) - 1);
		addr = SW_LEAF_ADDR(leaf) + within;
		if (!off)
			start = addr;
		if (!(leaf & right) || addr != start + off) {
			start = 0;
			break;
		}
		off += SW_LEAF_SIZE(leaf) - within;
	} while (off < len);
	atomic_fetch_add_explicit(&sw->lookups, lookups, memory_order_relaxed);
	if (start && lookups == 1)
		remember(sw, last, bus, leaf, epoch);
	return start ? (void *)(uintptr_t)start : refuse(sw, fault, bus + off, right, leaf);
}

void iommu_sw_flush(struct iommu_sw *sw)
{
	iommu_sw_flush_all(&sw->flush);
}

void iommu_sw_stats(struct iommu_sw *sw, struct iommu_sw_stats *stats)
{
	*stats = (struct iommu_sw_stats){
		.lookups = atomic_load(&sw->lookups),
		.misses = atomic_load(&sw->misses),
		.maps = atomic_load(&sw->maps),
		.unmaps = atomic_load(&sw->unmaps),
		.leaves_4k = atomic_load(&sw->table.leaves_4k),
		.leaves_2m = atomic_load(&sw->table.leaves_2m),
		.flushes = atomic_load(&sw->flushes),
		.flush_batches = atomic_load(&sw->flush.batches),
		.flushed = atomic_load(&sw->flush.flushed),
		.delay_most_ns = atomic_load(&sw->flush.delay_most_ns),
		.faults = atomic_load(&sw->faults),
		.bus_bytes_now = iommu_space_used(sw->space),
	};
	stats->queued_now = iommu_sw_flush_queued(&sw->flush, &stats->queued_most);
	pthread_mutex_lock(&sw->fault_lock);
	stats->last_fault = sw->last_fault;
	pthread_mutex_unlock(&sw->fault_lock);
}

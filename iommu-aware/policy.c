/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.c - from facts to the shape of a pool.  Pure.
 *
 * Why few and large slabs: an IOVA range above 128 KiB misses the kernel's IOVA caches when it is
 * made, and every region costs the device a table entry.  Why huge pages: with everything
 * registered once, what is left of the IOMMU is its TLB's misses, and one 2 MiB entry stands for
 * 512 small ones.
 *
 * Why small slabs all the same under a small limit: pins are charged per *user*, so the server, the
 * client and the bench of one person share 8 MiB on a stock machine, and a huge page is charged
 * whole.  An eighth of the limit each leaves room for the two kinds of both sides.
 *
 * Why invalidations wait for each other, and how long: what is saved is a doorbell, so the wait is
 * some ten times what one costs.  A software device's is a system call, some microseconds.  A NIC's
 * is a store across PCIe, a microsecond or less; but the NIC then fetches the requests by DMA, and
 * behind an IOMMU that translates each fetch may miss the IOTLB and walk the tables, some hundred
 * nanoseconds more for each chain.  A NIC works through a chain in order before the Sends behind
 * it, so its chains are half as long.
 */
#include <stdio.h>
#include <string.h>

#include "iommu-aware/internal.h"

#define IOMMU_4K UINT64_C(4096)
#define IOMMU_2M (UINT64_C(2) << 20)
#define IOMMU_1M (UINT64_C(1) << 20)

/* Below this budget slabs are small and of 4 KiB pages: eight slabs of 2 MiB and room to spare. */
#define IOMMU_SMALL_BUDGET (UINT64_C(64) << 20)
#define IOMMU_SLAB_MIN (UINT64_C(16) << 10)
#define IOMMU_SLAB_MAX (UINT64_C(32) << 20)

static uint64_t iommu_pow2_down(uint64_t v)
{
	return v ? UINT64_C(1) << (63 - __builtin_clzll(v)) : 0;
}

static uint64_t iommu_clamp(uint64_t v, uint64_t low, uint64_t high)
{
	return v < low ? low : v > high ? high : v;
}

void iommu_policy_geometry(struct iommu_geometry *geo, const struct iommu_facts *facts,
			   const struct iommu_device *dev, uint64_t max_pinned)
{
	uint64_t limit = facts->ipc_lock ? UINT64_MAX : facts->memlock_soft;
	const char *binding = "the memlock limit";
	char budget_text[24], slab_text[24];
	uint64_t budget = limit;

	memset(geo, 0, sizeof(*geo));
	geo->node = dev && facts->nodes > 1 ? dev->node : -1;
	if (max_pinned && max_pinned <= limit) {
		budget = max_pinned;
		binding = "max-pinned";
	}
	if (budget < IOMMU_SMALL_BUDGET) {
		geo->page_size = IOMMU_4K;
		geo->slab_size = iommu_clamp(iommu_pow2_down(budget / 8), IOMMU_SLAB_MIN, IOMMU_1M);
	} else {
		geo->page_size = IOMMU_2M;
		geo->slab_size =
			iommu_clamp(iommu_pow2_down(budget / 32), IOMMU_2M, IOMMU_SLAB_MAX);
	}
	util_size_format(geo->slab_size, slab_text, sizeof(slab_text));
	if (budget == UINT64_MAX)
		snprintf(geo->why, sizeof(geo->why), "slabs grow to %s: no limit binds", slab_text);
	else
		snprintf(geo->why, sizeof(geo->why), "slabs of at most %s: %s is %s", slab_text,
			 binding, util_size_format(budget, budget_text, sizeof(budget_text)));
}

#define IOMMU_BATCH_SOFTWARE 128u
#define IOMMU_BATCH_NIC 64u
#define IOMMU_HOLD_SOFTWARE_NS UINT64_C(50000)
#define IOMMU_HOLD_NIC_NS UINT64_C(10000)
#define IOMMU_HOLD_TRANSLATED_NS UINT64_C(20000)

/* Hardware that does RDMA: not an interface that a software device rides on. */
static bool iommu_is_nic(const struct iommu_device *dev)
{
	return dev->found && dev->rdma && !dev->rides_on[0];
}

static bool iommu_translates(const struct iommu_device *dev)
{
	return dev->domain == IOMMU_DOMAIN_DMA || dev->domain == IOMMU_DOMAIN_DMA_FQ;
}

void iommu_policy_batching(struct iommu_batching *batching, const struct iommu_device *dev)
{
	const char *why = "each doorbell of a software device is a system call";

	*batching = (struct iommu_batching){
		.most = IOMMU_BATCH_SOFTWARE,
		.hold_ns = IOMMU_HOLD_SOFTWARE_NS,
	};
	if (iommu_is_nic(dev)) {
		bool translated = iommu_translates(dev);

		batching->most = IOMMU_BATCH_NIC;
		batching->hold_ns = translated ? IOMMU_HOLD_TRANSLATED_NS : IOMMU_HOLD_NIC_NS;
		why = translated ? "a NIC fetches each chain through the IOMMU"
				 : "a NIC's doorbell is one store, and no IOMMU is seen to translate";
	}
	snprintf(batching->why, sizeof(batching->why),
		 "at most %u share a doorbell, none waits longer than %u us: %s", batching->most,
		 (unsigned)(batching->hold_ns / 1000), why);
}

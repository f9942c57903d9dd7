/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice_memory.c - advice from pages, limits and nodes.
 */
#include <stdio.h>
#include <string.h>

#include "iommu-aware/advice.h"

/* Below it the pool is a handful of small slabs of 4 KiB pages (policy.c). */
#define IOMMU_MEMLOCK_ROOMY (UINT64_C(64) << 20)

static void iommu_advise_huge(struct iommu_advisor *a)
{
	const struct iommu_facts *f = a->facts;
	bool never = !f->thp[0] || !strcmp(f->thp, "never");
	struct iommu_advice *advice;

	if (f->huge_2m_free || f->huge_1g_free)
		return;
	advice = iommu_advice_add(
		a, never ? IOMMU_ADVICE_WARN : IOMMU_ADVICE_NOTE, "no-huge-pages",
		"no 2 MiB page is free (%llu reserved), transparent huge pages: %s",
		(unsigned long long)f->huge_2m_total, f->thp[0] ? f->thp : "none");
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "%s: up to 512 times as many IOTLB entries, pins and page table entries "
			  "for the same memory",
			  never ? "pools are made of 4 KiB pages"
				: "pools depend on the kernel finding huge pages when they grow");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "sysctl vm.nr_hugepages=N (2 MiB each), or hugepages=N when booting, so "
			  "that memory is not fragmented yet");
	IOMMU_ADVICE_TEXT(advice->source, "/sys/kernel/mm/hugepages, transparent_hugepage/enabled");
}

static void iommu_advise_limit(struct iommu_advisor *a)
{
	const struct iommu_facts *f = a->facts;
	struct iommu_advice *advice;
	char soft[24], hard[24];

	if (!f->memlock_known || f->ipc_lock || f->memlock_soft >= IOMMU_MEMLOCK_ROOMY)
		return;
	util_size_format(f->memlock_soft, soft, sizeof(soft));
	util_size_format(f->memlock_hard, hard, sizeof(hard));
	advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "memlock-small",
				  "the memlock limit is %s (hard: %s)", soft,
				  f->memlock_hard == UINT64_MAX ? "unlimited" : hard);
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "pinned memory of all of this user's processes must fit: small slabs of "
			  "4 KiB pages, and ENOMEM from registration when it is used up");
	IOMMU_ADVICE_TEXT(advice->remedy, "ulimit -l, LimitMEMLOCK= of a service, or memlock in "
					  "/etc/security/limits.conf: 64 MiB and more is roomy");
	IOMMU_ADVICE_TEXT(advice->source, "/proc/self/limits, CapEff of /proc/self/status");
}

/* Others of this user draw on the same limit. */
static void iommu_advise_shared(struct iommu_advisor *a)
{
	const struct iommu_lockers *l = &a->survey->lockers;
	const struct iommu_facts *f = a->facts;
	uint64_t held = (l->pinned_kb + l->locked_kb) << 10;
	struct iommu_advice *advice;
	char held_text[24];

	if (!f->memlock_known || f->ipc_lock || f->memlock_soft == UINT64_MAX || !l->listed ||
	    held < f->memlock_soft / 4)
		return;
	util_size_format(held, held_text, sizeof(held_text));
	advice = iommu_advice_add(
		a, IOMMU_ADVICE_WARN, "memlock-shared",
		"%u process%s of user %u hold%s %s pinned or locked, most of it %s (%d)", l->count,
		l->count == 1 ? "" : "es", l->uid, l->count == 1 ? "s" : "", held_text,
		l->locker[0].name, l->locker[0].pid);
	IOMMU_ADVICE_TEXT(
		advice->consequence,
		"io_uring's pins are charged to the user, not to the process: so much less "
		"is left for the next one");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "raise the limit by that, or give each its share by max-pinned=");
	IOMMU_ADVICE_TEXT(advice->source, "VmPin and VmLck of /proc/*/status");
}

void iommu_advise_node(struct iommu_advisor *a)
{
	const struct iommu_numa *numa = &a->survey->numa;
	struct iommu_advice *advice;
	unsigned away = 0;
	uint64_t here;
	int node;

	if (a->facts->nodes < 2 || a->dev->node < 0 || !numa->threads)
		return;
	node = a->dev->node;
	here = UINT64_C(1) << node;
	if (numa->threads == here)
		return;
	for (unsigned i = 0; i < IOMMU_MAX_NODES; i++)
		if (numa->threads >> i & 1 && numa->distance[node][i] > away)
			away = numa->distance[node][i];
	advice = iommu_advice_add(
		a, numa->threads & here ? IOMMU_ADVICE_NOTE : IOMMU_ADVICE_WARN,
		"device-on-other-node",
		"%s is on node %d, and this process may %s (distance up to %u)", a->dev->name, node,
		numa->threads & here ? "run on other nodes too" : "not run there at all", away);
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "memory of the pool is on the device's node; threads elsewhere reach it "
			  "and its doorbells across the interconnect, and unmaps from there have "
			  "been seen to cost ten times as much");
	IOMMU_ADVICE_TEXT(advice->remedy, "numactl --cpunodebind=%d, and measure both ways", node);
	IOMMU_ADVICE_TEXT(advice->source,
			  "numa_node of the device, cpulist of the nodes, Cpus_allowed_list");
}

void iommu_advise_memory(struct iommu_advisor *a)
{
	iommu_advise_huge(a);
	iommu_advise_limit(a);
	iommu_advise_shared(a);
}

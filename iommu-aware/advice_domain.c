/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice_domain.c - advice from what the IOMMU really does with the device's DMA.
 *
 * What each mode costs, and when: a registration maps once and its release unmaps once, whatever
 * the mode.  A pool that stays registered therefore meets the IOMMU when it grows and when it ends,
 * and its I/O meets the IOTLB alone.  The kernel's NFS client, registration per I/O, and every
 * Ethernet driver below rxe, siw, the software RNIC or TCP map and unmap per I/O or per packet, and
 * pay each time.
 */
#include <stdio.h>
#include <string.h>

#include "iommu-aware/advice.h"

/* From so many on, one invalidation queue per IOMMU is where they meet. */
#define IOMMU_MANY_CPUS 16
#define IOMMU_CACHED_RANGE (UINT64_C(128) << 10)

static const char iommu_src_type[] =
	"/sys/kernel/iommu_groups/N/type; Linux ABI/testing/sysfs-kernel-iommu_groups";

static void iommu_advise_strict(struct iommu_advisor *a)
{
	struct iommu_advice *advice;

	if (a->dev->domain != IOMMU_DOMAIN_DMA)
		return;
	advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "strict-invalidation",
				  "group %d of %s is of type DMA: invalidation is strict",
				  a->dev->group, a->dev->name);
	IOMMU_ADVICE_TEXT(
		advice->consequence,
		"each unmap waits until the IOTLB is flushed: dear for whatever maps per "
		"I/O (mr=per-io, the kernel's NFS client, the driver below rxe, siw, iwarp "
		"and tcp); mr=pool on an RDMA device unmaps only when its pool shrinks");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "echo DMA-FQ >/sys/kernel/iommu_groups/%d/type (as root, since Linux "
			  "5.15), or boot with iommu.strict=0 and without intel_iommu=strict; it "
			  "gives up that a device loses freed memory at once: up to 10 ms it may "
			  "still reach it",
			  a->dev->group);
	IOMMU_ADVICE_TEXT(advice->source, "%s", iommu_src_type);
	if (a->facts->cpus < IOMMU_MANY_CPUS)
		return;
	advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "strict-many-cpus",
				  "strict invalidation on a machine with %u CPUs", a->facts->cpus);
	IOMMU_ADVICE_TEXT(
		advice->consequence,
		"all CPUs that unmap wait in one invalidation queue per IOMMU: rates that "
		"map per I/O stop growing with threads");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "mr=pool takes the I/O path out of it; else as for strict-invalidation");
	IOMMU_ADVICE_TEXT(advice->source, "/sys/devices/system/cpu/online and the group's type");
}

static void iommu_advise_lazy(struct iommu_advisor *a)
{
	struct iommu_advice *advice;

	if (a->dev->domain != IOMMU_DOMAIN_DMA_FQ)
		return;
	advice = iommu_advice_add(a, IOMMU_ADVICE_NOTE, "lazy-invalidation",
				  "group %d of %s is of type DMA-FQ: invalidation is batched",
				  a->dev->group, a->dev->name);
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "an unmap is queued and flushed with others (256, or after 10 ms); until "
			  "then the device may reach the memory that was freed");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "nothing for speed; where a device is not trusted, boot with "
			  "iommu.strict=1");
	IOMMU_ADVICE_TEXT(advice->source, "%s", iommu_src_type);
}

static void iommu_advise_untranslated(struct iommu_advisor *a)
{
	struct iommu_advice *advice;

	if (a->dev->domain == IOMMU_DOMAIN_UNKNOWN) {
		advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "domain-unknown",
					  "the type of group %d of %s cannot be read, or is new",
					  a->dev->group, a->dev->name);
		IOMMU_ADVICE_TEXT(advice->consequence,
				  "whether its DMA is translated, and how, is not known; nothing "
				  "else is concluded");
		IOMMU_ADVICE_TEXT(advice->remedy, "cat /sys/kernel/iommu_groups/%d/type as root",
				  a->dev->group);
		IOMMU_ADVICE_TEXT(advice->source, "%s", iommu_src_type);
	}
	if (a->dev->domain != IOMMU_DOMAIN_IDENTITY &&
	    (a->dev->domain != IOMMU_DOMAIN_NONE || !a->dev->found))
		return;
	advice = iommu_advice_add(
		a, IOMMU_ADVICE_NOTE, "not-translated", "DMA of %s is not translated (%s)",
		a->dev->name, a->dev->domain == IOMMU_DOMAIN_NONE ? "no group" : "identity domain");
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "maps, unmaps and IOTLB misses cost nothing; nothing keeps the device "
			  "from any memory either");
	IOMMU_ADVICE_TEXT(advice->remedy, "none needed for speed");
	IOMMU_ADVICE_TEXT(advice->source, "%s", iommu_src_type);
}

static void iommu_advise_caching(struct iommu_advisor *a, const struct iommu_unit *unit)
{
	struct iommu_advice *advice;

	if (!unit->caching_mode || !iommu_advisor_translated(a))
		return;
	advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "caching-mode",
				  "%s has caching mode on (cap 0x%llx): a hypervisor's IOMMU",
				  unit->name, (unsigned long long)unit->cap);
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "a map flushes as an unmap does, each an exit to the hypervisor, and the "
			  "kernel refuses batched invalidation whatever iommu.strict says");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "keep memory registered (mr=pool, the default); boot the guest with "
			  "iommu.passthrough=1 if it trusts its devices, or take the virtual IOMMU "
			  "away");
	IOMMU_ADVICE_TEXT(advice->source, "/sys/class/iommu/%s: VT-d CAP_REG bit 7, AMD NpCache",
			  unit->name);
}

static void iommu_advise_walk(struct iommu_advisor *a, const struct iommu_unit *unit)
{
	struct iommu_advice *advice;

	if (!iommu_advisor_translated(a))
		return;
	if (!unit->coherent_walk) {
		advice = iommu_advice_add(
			a, IOMMU_ADVICE_WARN, "incoherent-page-walk",
			"%s reads its page tables past the CPU's caches (ecap 0x%llx, bit 0 clear)",
			unit->name, (unsigned long long)unit->ecap);
		IOMMU_ADVICE_TEXT(advice->consequence,
				  "each map flushes the cache lines of the entries it writes: "
				  "mapping page by page costs several times mapping at once");
		IOMMU_ADVICE_TEXT(advice->remedy,
				  "few, large registrations of huge pages (mr=pool does that)");
		IOMMU_ADVICE_TEXT(advice->source, "VT-d ECAP_REG, page-walk coherency");
	}
	if (!unit->super_2m) {
		advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "no-superpages",
					  "%s maps 4 KiB pages only (cap 0x%llx, bit 34 clear)",
					  unit->name, (unsigned long long)unit->cap);
		IOMMU_ADVICE_TEXT(advice->consequence,
				  "huge pages spare page table walks of the CPU, not of the IOMMU: "
				  "512 IOTLB entries for each 2 MiB");
		IOMMU_ADVICE_TEXT(advice->remedy,
				  "look for a firmware update, or passthrough for this device");
		IOMMU_ADVICE_TEXT(advice->source, "VT-d CAP_REG, second-stage large page support");
	}
}

static void iommu_advise_slab(struct iommu_advisor *a)
{
	struct iommu_advice *advice;
	char slab[24];

	if (!iommu_advisor_translated(a) || a->geo->slab_size <= IOMMU_CACHED_RANGE ||
	    !a->dev->rdma || a->dev->rides_on[0])
		return;
	advice = iommu_advice_add(
		a, IOMMU_ADVICE_NOTE, "slab-beyond-iova-cache",
		"slabs of up to %s are beyond the 128 KiB that the kernel's IOVA caches serve",
		util_size_format(a->geo->slab_size, slab, sizeof(slab)));
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "each slab's range comes from the domain's tree, under its lock: once "
			  "when a slab is registered, never per I/O; with mr=per-io, every record "
			  "above 128 KiB pays it");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "none in mr=pool or window; for mr=per-io or the kernel's client, "
			  "records of 128 KiB or less scale better with threads");
	IOMMU_ADVICE_TEXT(advice->source, "Linux drivers/iommu/iova.c: IOVA_RANGE_CACHE_MAX_SIZE");
}

static void iommu_advise_software(struct iommu_advisor *a)
{
	struct iommu_advice *advice;

	if (!a->dev->found || (a->dev->rdma && !a->dev->rides_on[0]))
		return;
	advice = iommu_advice_add(a, IOMMU_ADVICE_NOTE, "driver-maps-packets",
				  "%s%s%s moves data through an Ethernet driver", a->dev->name,
				  a->dev->rides_on[0] ? " on " : "", a->dev->rides_on);
	IOMMU_ADVICE_TEXT(
		advice->consequence,
		"registering memory never touches the IOMMU here, but the driver maps and "
		"unmaps packets: what the IOMMU costs shows in every mode alike");
	IOMMU_ADVICE_TEXT(
		advice->remedy,
		"an RDMA NIC maps registered memory once; until then, lazy or passthrough "
		"for the interface's group");
	IOMMU_ADVICE_TEXT(advice->source, "software RDMA devices use virtual DMA in Linux");
}

static void iommu_advise_ordering(struct iommu_advisor *a)
{
	struct iommu_advice *advice;

	if (!a->dev->rdma || a->dev->relaxed_ordering != 0)
		return;
	advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "relaxed-ordering-unused",
				  "PCIe relaxed ordering is switched off in %s (%s)", a->dev->name,
				  a->dev->pci);
	IOMMU_ADVICE_TEXT(
		advice->consequence,
		"regions are registered with relaxed ordering where the provider takes it, "
		"but the device may not use it: writes of READ data wait for each other, "
		"most where the root complex is of another die or node");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "setpci -s %s CAP_EXP+8.w=10:10 until the next boot, or the firmware's "
			  "setup; leave it off where the platform is known to reorder wrongly",
			  a->dev->pci);
	IOMMU_ADVICE_TEXT(advice->source, "PCI Express Device Control, bit 4 (config space)");
}

void iommu_advise_domain(struct iommu_advisor *a)
{
	const struct iommu_unit *unit = iommu_advisor_unit(a);

	iommu_advise_strict(a);
	iommu_advise_lazy(a);
	iommu_advise_untranslated(a);
	if (unit) {
		iommu_advise_caching(a, unit);
		iommu_advise_walk(a, unit);
	}
	iommu_advise_slab(a);
	iommu_advise_software(a);
	iommu_advise_ordering(a);
}

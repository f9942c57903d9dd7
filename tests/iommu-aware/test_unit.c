/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "iommu-aware/internal.h"

#define TREE(name) TEST_TREES name

TestSuite(iommu_unit, .timeout = 20);

static struct iommu_unit first_unit(const char *tree)
{
	struct iommu_facts facts;

	iommu_probe(&facts, tree);
	cr_assert_gt(facts.units, 0);
	return facts.unit[0];
}

Test(iommu_unit, vtd_registers_are_decoded)
{
	struct iommu_unit unit = first_unit(TREE("intel-strict"));

	cr_assert_str_eq(unit.name, "dmar0");
	cr_assert(unit.known);
	cr_assert_eq(unit.cap, 0x8d2078c106f0466);
	cr_assert_eq(unit.ecap, 0xf020df);
	cr_assert_not(unit.caching_mode);
	cr_assert(unit.coherent_walk);
	cr_assert(unit.super_2m);
	cr_assert(unit.super_1g);
	cr_assert(unit.passthrough);
	cr_assert(unit.queued);
	cr_assert_eq(unit.address_bits, 48);
	cr_assert_eq(unit.domains, 65536);
}

Test(iommu_unit, an_old_unit_lacks_coherency_and_large_pages)
{
	struct iommu_unit unit = first_unit(TREE("intel-old"));

	cr_assert(unit.known);
	cr_assert_not(unit.coherent_walk);
	cr_assert_not(unit.super_2m);
	cr_assert(unit.queued);
}

Test(iommu_unit, caching_mode_is_seen)
{
	cr_assert(first_unit(TREE("guest-caching-mode")).caching_mode);
}

Test(iommu_unit, amd_registers_are_decoded)
{
	struct iommu_unit unit = first_unit(TREE("amd-lazy"));

	cr_assert_str_eq(unit.name, "ivhd0");
	cr_assert(unit.known);
	cr_assert_eq(unit.ecap, 0x246577efa2254afa);
	cr_assert_not(unit.caching_mode);
	cr_assert(unit.super_1g);
	cr_assert_eq(unit.address_bits, 64);
}

Test(iommu_unit, nothing_is_claimed_for_what_tells_nothing)
{
	struct iommu_unit unit = first_unit(TREE("smmu"));

	cr_assert_str_eq(unit.driver, "smmu");
	cr_assert_not(unit.known);
	cr_assert_not(unit.coherent_walk);
	unit = first_unit(TREE("guest-virtio"));
	cr_assert_str_eq(unit.driver, "virtio");
	cr_assert_not(unit.known);
}

Test(iommu_unit, more_than_fit_are_counted_and_the_first_kept_in_order)
{
	struct iommu_facts facts;

	iommu_probe(&facts, TREE("many"));
	cr_assert_eq(facts.units, 12);
	for (unsigned i = 1; i < IOMMU_MAX_UNITS; i++)
		cr_assert_lt(strcmp(facts.unit[i - 1].name, facts.unit[i].name), 0);
	cr_assert_str_eq(facts.unit[0].name, "dmar0");
	cr_assert_eq(facts.groups_of[IOMMU_DOMAIN_DMA], 1);
	cr_assert_eq(facts.groups_of[IOMMU_DOMAIN_DMA_FQ], 1);
	cr_assert_eq(facts.cpus, 8192);
}

TestSuite(iommu_numa, .timeout = 20);

Test(iommu_numa, nodes_distances_and_where_threads_may_run)
{
	struct iommu_numa numa;

	iommu_probe_numa(&numa, TREE("intel-strict"));
	cr_assert_eq(numa.memory, 3);
	cr_assert_eq(numa.threads, 1);
	cr_assert_eq(numa.distance[0][0], 10);
	cr_assert_eq(numa.distance[0][1], 21);
	cr_assert_eq(numa.distance[1][0], 21);
	cr_assert_eq(numa.distance[2][0], 0);
}

Test(iommu_numa, more_nodes_than_fit_and_rubbish_are_answered)
{
	struct iommu_numa numa;

	iommu_probe_numa(&numa, TREE("many"));
	cr_assert_eq(numa.memory, UINT64_MAX);
	cr_assert_eq(numa.threads, 0);
	iommu_probe_numa(&numa, TREE("hostile"));
	cr_assert_eq(numa.memory, 1);
	cr_assert_eq(numa.distance[0][0], 255);
	cr_assert_eq(numa.distance[0][1], 0);
	cr_assert_eq(numa.distance[1][0], 0);
}

TestSuite(iommu_lockers, .timeout = 20);

Test(iommu_lockers, this_users_processes_are_listed_largest_first)
{
	struct iommu_lockers l;

	iommu_probe_lockers(&l, TREE("software"));
	cr_assert_eq(l.uid, 1000);
	cr_assert_eq(l.count, 2, "not root's, and not who holds nothing");
	cr_assert_eq(l.listed, 2);
	cr_assert_eq(l.pinned_kb, 4096);
	cr_assert_eq(l.locked_kb, 512);
	cr_assert_eq(l.locker[0].pid, 100);
	cr_assert_str_eq(l.locker[0].name, "nfsrdmad");
	cr_assert_eq(l.locker[1].pid, 101);
}

Test(iommu_lockers, a_machine_without_processes_is_answered)
{
	struct iommu_lockers l;

	iommu_probe_lockers(&l, "/nonexistent");
	cr_assert_eq(l.count, 0);
	iommu_probe_lockers(&l, TREE("endless"));
	cr_assert_eq(l.count, 0);
}

TestSuite(iommu_list, .timeout = 20);

Test(iommu_list, rdma_devices_or_the_interface_that_routes)
{
	char names[4][IOMMU_NAME_MAX];

	cr_assert_eq(iommu_list_devices(names, 4, TREE("intel-strict")), 2);
	cr_assert_str_eq(names[0], "mlx5_0");
	cr_assert_str_eq(names[1], "mlx5_1");
	cr_assert_eq(iommu_list_devices(names, 4, TREE("guest-caching-mode")), 1);
	cr_assert_str_eq(names[0], "eth0", "the default route's, not the first");
	cr_assert_eq(iommu_list_devices(names, 4, TREE("many")), 4);
	cr_assert_eq(iommu_list_devices(names, 4, TREE("none")), 0);
}

Test(iommu_list, a_virtio_interface_is_judged_by_its_pci_device)
{
	struct iommu_device dev;

	iommu_probe_device(&dev, "eth0", TREE("guest-caching-mode"));
	cr_assert_str_eq(dev.pci, "0000:00:10.0");
	cr_assert_str_eq(dev.driver, "virtio-pci");
	cr_assert_eq(dev.group, 3);
	cr_assert_eq(dev.domain, IOMMU_DOMAIN_DMA);
	cr_assert_str_eq(dev.unit, "dmar0");
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "iommu-aware/internal.h"

#define TREE(name) TEST_TREES name

TestSuite(iommu_device);

Test(iommu_device, an_rdma_device_has_group_domain_node_and_rate)
{
	struct iommu_device dev;

	iommu_probe_device(&dev, "mlx4_0", TREE("intel"));
	cr_assert(dev.found);
	cr_assert_eq(dev.group, 12);
	cr_assert_eq(dev.domain, IOMMU_DOMAIN_DMA_FQ);
	cr_assert_eq(dev.node, 1);
	cr_assert_eq(dev.link_bps, 40000000000);
	iommu_probe_device(&dev, "mlx5_0", TREE("amd"));
	cr_assert_eq(dev.domain, IOMMU_DOMAIN_DMA, "strict, though the command line says pt");
	cr_assert_eq(dev.link_bps, 100000000000);
}

Test(iommu_device, an_interface_is_found_by_name)
{
	struct iommu_device dev;

	iommu_probe_device(&dev, "eth0", TREE("intel"));
	cr_assert(dev.found);
	cr_assert_eq(dev.domain, IOMMU_DOMAIN_IDENTITY);
	cr_assert_eq(dev.node, 0);
	cr_assert_eq(dev.link_bps, 10000000000);
	iommu_probe_device(&dev, "enp1s0", TREE("amd"));
	cr_assert_eq(dev.domain, IOMMU_DOMAIN_BLOCKED);
	cr_assert_eq(dev.node, -1);
	cr_assert_eq(dev.link_bps, 0, "no link");
}

Test(iommu_device, a_software_device_is_judged_by_its_interface)
{
	struct iommu_device dev;

	iommu_probe_device(&dev, "rxe0", TREE("intel"));
	cr_assert_str_eq(dev.name, "rxe0");
	cr_assert_eq(dev.domain, IOMMU_DOMAIN_IDENTITY);
	cr_assert_eq(dev.link_bps, 10000000000);
}

/* siw names no parent: by the interface of its GID, else by its GUID. */
Test(iommu_device, siw_is_judged_by_its_interface_too)
{
	static const char names[][8] = {"siw0", "siw1"};
	struct iommu_device dev;

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(names); i++) {
		iommu_probe_device(&dev, names[i], TREE("software"));
		cr_assert_str_eq(dev.rides_on, "eth1", "%s", names[i]);
		cr_assert(dev.rdma);
		cr_assert(dev.found);
		cr_assert_eq(dev.domain, IOMMU_DOMAIN_IDENTITY);
	}
}

Test(iommu_device, siw_with_a_guid_of_nobodys_rides_on_nothing)
{
	struct iommu_device dev;

	iommu_probe_device(&dev, "siw2", TREE("software"));
	cr_assert(dev.rdma);
	cr_assert_not(dev.found);
	cr_assert_str_eq(dev.rides_on, "");
}

Test(iommu_device, a_device_without_a_bus_has_no_domain)
{
	struct iommu_device dev;

	iommu_probe_device(&dev, "lo", TREE("none"));
	cr_assert_not(dev.found);
	cr_assert_eq(dev.domain, IOMMU_DOMAIN_NONE);
	cr_assert_eq(dev.group, -1);
}

Test(iommu_device, rubbish_is_answered)
{
	struct iommu_device dev;

	iommu_probe_device(&dev, "odd0", TREE("broken"));
	cr_assert_eq(dev.domain, IOMMU_DOMAIN_UNKNOWN);
	cr_assert_eq(dev.node, -1);
	cr_assert_eq(dev.link_bps, 0);
	iommu_probe_device(&dev, "loop0", TREE("broken"));
	cr_assert_eq(dev.group, -1);
	iommu_probe_device(&dev, "up0", TREE("broken"));
	cr_assert_not(dev.found);
}

Test(iommu_device, a_name_cannot_lead_out_of_its_folder)
{
	static const char names[][16] = {"", ".", "..", "../net/eth0", "a/b"};
	struct iommu_device dev;

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(names); i++) {
		iommu_probe_device(&dev, names[i], TREE("intel"));
		cr_assert_not(dev.found, "%s", names[i]);
		cr_assert_eq(dev.link_bps, 0);
	}
}

TestSuite(iommu_summary);

static void check_line(const char *tree, const char *device, const char *expected)
{
	struct iommu_facts facts;
	struct iommu_device dev;
	char line[320];

	iommu_probe(&facts, tree);
	if (device)
		iommu_probe_device(&dev, device, tree);
	cr_assert_str_eq(iommu_summary(&facts, device ? &dev : NULL, line, sizeof(line)), expected);
}

Test(iommu_summary, the_effective_domain_stands_beside_the_command_line)
{
	check_line(TREE("intel"), "mlx4_0",
		   "iommu DMA-FQ (intel, 3 groups; command line: intel_iommu=on iommu=pt) device "
		   "mlx4_0 group 12 node 1 hugepages-2m 500/512 thp madvise memlock 8 MiB");
	check_line(TREE("amd"), "mlx5_0",
		   "iommu DMA (amd, 2 groups; command line: amd_iommu=pt) device mlx5_0 group 3 "
		   "node 0 hugepages-2m 0/0 thp always memlock unlimited (privileged)");
	check_line(TREE("none"), "lo",
		   "iommu none (no groups; command line: intel_iommu=on) device lo "
		   "hugepages-2m 0/0 thp never memlock 8 MiB");
	check_line(TREE("intel"), NULL,
		   "iommu intel (3 groups; command line: intel_iommu=on iommu=pt) "
		   "hugepages-2m 500/512 thp madvise memlock 8 MiB");
}

Test(iommu_summary, a_short_buffer_is_filled_and_ended)
{
	struct iommu_facts facts;
	char line[20];

	iommu_probe(&facts, TREE("intel"));
	for (size_t len = 1; len <= sizeof(line); len++) {
		memset(line, 'x', sizeof(line));
		iommu_summary(&facts, NULL, line, len);
		cr_assert_eq(strlen(line), len - 1);
	}
}

TestSuite(iommu_pins);

Test(iommu_pins, are_read_as_the_kernel_books_them)
{
	struct iommu_pins pins;

	cr_assert_eq(iommu_pins_read(&pins, 0, TREE("intel")), 0);
	cr_assert_eq(pins.vm_pin_kb, 2048);
	cr_assert_eq(pins.vm_lck_kb, 64);
	cr_assert(pins.foll_pin_known);
	cr_assert_eq(pins.foll_pin_acquired, 1044);
	cr_assert_eq(pins.foll_pin_released, 20);
	cr_assert_eq(iommu_pins_read(&pins, 0, NULL), 0);
	cr_assert_eq(iommu_pins_read(&pins, 4194303, NULL), -ENOENT);
	cr_assert_eq(iommu_pins_read(&pins, -1, NULL), -EINVAL);
}

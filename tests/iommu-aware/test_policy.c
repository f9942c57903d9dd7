/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>

#include "iommu-aware/internal.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

TestSuite(iommu_policy);

Test(iommu_policy, table_of_budgets)
{
	static const struct {
		uint64_t memlock, max_pinned;
		bool ipc_lock;
		uint64_t slab, page;
		char why[80];
	} cases[] = {
		{8 * MIB, 0, false, MIB, 4096,
		 "slabs of at most 1 MiB: the memlock limit is 8 MiB"},
		{64 * KIB, 0, false, 16 * KIB, 4096,
		 "slabs of at most 16 KiB: the memlock limit is 64 KiB"},
		{0, 0, false, 16 * KIB, 4096, "slabs of at most 16 KiB: the memlock limit is 0 B"},
		{8 * MIB, 4 * MIB, false, 512 * KIB, 4096,
		 "slabs of at most 512 KiB: max-pinned is 4 MiB"},
		{8 * MIB, 64 * MIB, false, MIB, 4096,
		 "slabs of at most 1 MiB: the memlock limit is 8 MiB"},
		{64 * MIB, 0, false, 2 * MIB, 2 * MIB,
		 "slabs of at most 2 MiB: the memlock limit is 64 MiB"},
		{8 * MIB, 0, true, 32 * MIB, 2 * MIB, "slabs grow to 32 MiB: no limit binds"},
		{UINT64_MAX, 0, false, 32 * MIB, 2 * MIB, "slabs grow to 32 MiB: no limit binds"},
		{UINT64_MAX, 256 * MIB, false, 8 * MIB, 2 * MIB,
		 "slabs of at most 8 MiB: max-pinned is 256 MiB"},
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct iommu_facts facts = {.memlock_soft = cases[i].memlock,
					    .ipc_lock = cases[i].ipc_lock,
					    .nodes = 1};
		struct iommu_geometry geo;

		iommu_policy_geometry(&geo, &facts, NULL, cases[i].max_pinned);
		cr_assert_eq(geo.slab_size, cases[i].slab, "case %u: %lu", i,
			     (unsigned long)geo.slab_size);
		cr_assert_eq(geo.page_size, cases[i].page, "case %u", i);
		cr_assert_str_eq(geo.why, cases[i].why);
		cr_assert_eq(geo.node, -1);
	}
}

Test(iommu_policy, binds_to_the_device_only_where_there_are_nodes)
{
	struct iommu_facts facts = {.memlock_soft = UINT64_MAX, .nodes = 2};
	struct iommu_device dev = {.node = 1};
	struct iommu_geometry geo;

	iommu_policy_geometry(&geo, &facts, &dev, 0);
	cr_assert_eq(geo.node, 1);
	facts.nodes = 1;
	iommu_policy_geometry(&geo, &facts, &dev, 0);
	cr_assert_eq(geo.node, -1);
}

/* What share a doorbell, and how long, depends on what a doorbell costs there. */
Test(iommu_policy, a_wait_for_others_is_some_ten_doorbells_long)
{
	static const struct {
		struct iommu_device dev;
		unsigned most;
		uint64_t hold_ns;
		char word[24];
	} cases[] = {
		{{.name = "none"}, 128, 50000, "system call"},
		{{.name = "eth0", .found = true, .domain = IOMMU_DOMAIN_DMA},
		 128,
		 50000,
		 "system call"}, /* iwarp on a NIC that does no RDMA */
		{{.name = "rxe0", .found = true, .rdma = true, .rides_on = "eth0"},
		 128,
		 50000,
		 "system call"},
		{{.name = "mlx5_0", .found = true, .rdma = true, .domain = IOMMU_DOMAIN_IDENTITY},
		 64,
		 10000,
		 "no IOMMU is seen"},
		{{.name = "mlx5_0", .found = true, .rdma = true}, 64, 10000, "no IOMMU is seen"},
		{{.name = "mlx5_0", .found = true, .rdma = true, .domain = IOMMU_DOMAIN_DMA},
		 64,
		 20000,
		 "through the IOMMU"},
		{{.name = "mlx5_0", .found = true, .rdma = true, .domain = IOMMU_DOMAIN_DMA_FQ},
		 64,
		 20000,
		 "through the IOMMU"},
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct iommu_batching batching;
		char number[32];

		iommu_policy_batching(&batching, &cases[i].dev);
		cr_expect_eq(batching.most, cases[i].most, "case %u: %u", i, batching.most);
		cr_expect_eq(batching.hold_ns, cases[i].hold_ns, "case %u", i);
		cr_expect(strstr(batching.why, cases[i].word), "case %u: %s", i, batching.why);
		snprintf(number, sizeof(number), "at most %u share", cases[i].most);
		cr_expect(strstr(batching.why, number), "case %u: %s", i, batching.why);
	}
}

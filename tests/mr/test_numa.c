/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libnuma is asked for when a slab is made, on a machine of four nodes that is played.  (Where
 * the pages then really lie: the guest of tests/vm/scenarios/iommu-numa.sh.)
 */
#include <criterion/criterion.h>
#include <numaif.h>
#include <sys/mman.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_numa);

/* Where in the order of what was asked; -1: nowhere. */
static int find_ask(enum wrap_verb verb, int arg)
{
	for (unsigned i = 0; i < wrap_machine.nasks; i++)
		if (wrap_machine.asks[i].verb == verb && wrap_machine.asks[i].arg == arg)
			return (int)i;
	return -1;
}

Test(mr_numa, a_slab_prefers_the_devices_node_before_its_pages_are_there)
{
	static const size_t lens[] = {MR_PAGE, 1 << 20, MR_HUGE, 6 << 20};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		struct mr_memory memory;
		int bound, populated;

		wrap_machine = (struct wrap_machine){.on = true, .has_2m = i % 2};
		cr_assert_eq(mr_memory_map(&memory, lens[i], MR_BACKING_2M, 2, NULL), 0);
		bound = find_ask(WRAP_MBIND, MPOL_PREFERRED);
		populated = find_ask(WRAP_MADVISE, MADV_POPULATE_WRITE);
		cr_assert_geq(bound, 0, "%zu bytes", lens[i]);
		cr_expect_lt(bound, populated, "a page that is there stays where it is");
		cr_expect_eq(wrap_machine.asks[bound].addr, memory.addr);
		cr_expect_eq(wrap_machine.asks[bound].len, memory.len);
		cr_expect_eq(wrap_machine.asks[bound].node, 1ul << 2);
		mr_memory_unmap(&memory);
	}
}

Test(mr_numa, each_step_down_is_bound_too)
{
	struct mr_memory memory;
	unsigned bound = 0;

	wrap_machine = (struct wrap_machine){
		.on = true, .has_2m = true, .has_1g = true, .populate_fails = 3};
	cr_assert_eq(mr_memory_map(&memory, MR_GIANT, MR_BACKING_1G, 1, NULL), 0);
	for (unsigned i = 0; i < wrap_machine.nasks; i++)
		bound += wrap_machine.asks[i].verb == WRAP_MBIND;
	cr_expect_eq(bound, 4);
	mr_memory_unmap(&memory);
}

Test(mr_numa, no_node_or_one_the_machine_has_not_binds_nothing)
{
	static const int nodes[] = {-1, 4, 1 << 20};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(nodes); i++) {
		struct mr_memory memory;

		wrap_machine = (struct wrap_machine){.on = true};
		cr_assert_eq(mr_memory_map(&memory, MR_PAGE, MR_BACKING_4K, nodes[i], NULL), 0);
		cr_expect_lt(find_ask(WRAP_MBIND, MPOL_PREFERRED), 0, "node %d", nodes[i]);
		mr_memory_unmap(&memory);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pages a slab gets, on machines that are played: 1 GiB, 2 MiB, transparent huge, 4 KiB, each
 * where the one above is not to be had.  (Real huge pages of both sizes: the guest of
 * tests/vm/scenarios/mr-limits.sh.)
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/mman.h>
#include <sys/mman.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_pages);

#define HUGE_FLAGS (MAP_HUGETLB | (int)((unsigned)MAP_HUGE_MASK << MAP_HUGE_SHIFT))

static void machine(bool has_2m, bool has_1g)
{
	wrap_machine = (struct wrap_machine){.on = true, .has_2m = has_2m, .has_1g = has_1g};
}

/* The n-th mapping asked for: its flags of huge pages. */
static int asked_flags(unsigned n)
{
	for (unsigned i = 0; i < wrap_machine.nasks; i++)
		if (wrap_machine.asks[i].verb == WRAP_MMAP && n-- == 0)
			return wrap_machine.asks[i].arg & HUGE_FLAGS;
	return -1;
}

static bool advised(int advice)
{
	for (unsigned i = 0; i < wrap_machine.nasks; i++)
		if (wrap_machine.asks[i].verb == WRAP_MADVISE && wrap_machine.asks[i].arg == advice)
			return true;
	return false;
}

Test(mr_pages, each_kind_of_page_is_tried_from_the_largest_wished_for_down)
{
	static const struct {
		enum mr_backing best;
		bool has_2m, has_1g;
		size_t len;
		enum mr_backing got;
		int flags[4]; /* of the mappings asked for, ended by -1 */
	} cases[] = {
		{MR_BACKING_1G,
		 true,
		 true,
		 MR_GIANT,
		 MR_BACKING_1G,
		 {MAP_HUGETLB | MAP_HUGE_1GB, -1}},
		{MR_BACKING_1G,
		 true,
		 false,
		 MR_GIANT,
		 MR_BACKING_2M,
		 {MAP_HUGETLB | MAP_HUGE_1GB, MAP_HUGETLB | MAP_HUGE_2MB, -1}},
		{MR_BACKING_1G,
		 false,
		 false,
		 MR_GIANT,
		 MR_BACKING_THP,
		 {MAP_HUGETLB | MAP_HUGE_1GB, MAP_HUGETLB | MAP_HUGE_2MB, 0, -1}},
		{MR_BACKING_1G,
		 true,
		 true,
		 MR_HUGE,
		 MR_BACKING_2M,
		 {MAP_HUGETLB | MAP_HUGE_2MB, -1}}, /* not a whole one of 1 GiB */
		{MR_BACKING_2M,
		 true,
		 true,
		 MR_GIANT,
		 MR_BACKING_2M,
		 {MAP_HUGETLB | MAP_HUGE_2MB, -1}}, /* 1 GiB pages only on request */
		{MR_BACKING_2M, true, true, MR_HUGE + MR_PAGE, MR_BACKING_THP, {0, -1}},
		{MR_BACKING_2M,
		 false,
		 true,
		 MR_HUGE,
		 MR_BACKING_THP,
		 {MAP_HUGETLB | MAP_HUGE_2MB, 0, -1}},
		{MR_BACKING_2M, true, true, MR_HUGE / 2, MR_BACKING_4K, {0, -1}},
		{MR_BACKING_4K, true, true, MR_HUGE, MR_BACKING_4K, {0, -1}},
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		size_t align =
			cases[i].got == MR_BACKING_THP ? MR_HUGE : mr_backing_page(cases[i].got);
		struct mr_memory memory;
		unsigned n = 0;

		machine(cases[i].has_2m, cases[i].has_1g);
		cr_assert_eq(mr_memory_map(&memory, cases[i].len, cases[i].best, -1, NULL), 0);
		cr_expect_eq(memory.backing, cases[i].got, "case %u: %s", i,
			     mr_backing_name(memory.backing));
		cr_expect_eq((uintptr_t)memory.addr % align, 0, "case %u", i);
		for (; cases[i].flags[n] >= 0; n++)
			cr_expect_eq(asked_flags(n), cases[i].flags[n], "case %u, mapping %u", i,
				     n);
		cr_expect_eq(asked_flags(n), -1, "case %u: nothing else is asked for", i);
		mr_memory_unmap(&memory);
	}
}

Test(mr_pages, what_is_advised_fits_the_pages)
{
	struct mr_memory memory;

	machine(false, false);
	cr_assert_eq(mr_memory_map(&memory, MR_HUGE, MR_BACKING_THP, -1, NULL), 0);
	cr_expect(advised(MADV_HUGEPAGE) && !advised(MADV_NOHUGEPAGE));
	cr_expect(advised(MADV_DONTFORK), "no child keeps registered memory");
	cr_expect(advised(MADV_POPULATE_WRITE), "faulted in");
	mr_memory_unmap(&memory);

	machine(false, false);
	cr_assert_eq(mr_memory_map(&memory, MR_PAGE, MR_BACKING_THP, -1, NULL), 0);
	cr_expect(advised(MADV_NOHUGEPAGE) && !advised(MADV_HUGEPAGE),
		  "a page of a huge one would be charged as all of it");
	mr_memory_unmap(&memory);
}

/* A reserve that has address space but, on this node or in this cgroup, no page left. */
Test(mr_pages, pages_that_cannot_be_had_are_let_go_for_smaller_ones)
{
	static const enum mr_backing got[] = {MR_BACKING_1G, MR_BACKING_2M, MR_BACKING_THP,
					      MR_BACKING_4K};

	for (unsigned fails = 0; fails < UTIL_ARRAY_SIZE(got); fails++) {
		struct mr_memory memory;
		long before = wrap_mapped;

		machine(true, true);
		wrap_machine.populate_fails = fails;
		wrap_machine.populate_errno = ENOMEM;
		cr_assert_eq(mr_memory_map(&memory, MR_GIANT, MR_BACKING_1G, -1, NULL), 0);
		cr_expect_eq(memory.backing, got[fails], "after %u", fails);
		mr_memory_unmap(&memory);
		cr_expect_eq(wrap_mapped, before, "after %u", fails);
	}
}

Test(mr_pages, none_at_all_is_an_error_and_leaves_nothing)
{
	long before = wrap_mapped;
	struct mr_memory memory;
	struct util_err err = {0};

	machine(true, true);
	wrap_machine.populate_fails = 4;
	wrap_machine.populate_errno = EFAULT;
	cr_assert_eq(mr_memory_map(&memory, MR_GIANT, MR_BACKING_1G, -1, &err), -ENOMEM);
	cr_expect(strstr(err.what, "map 1 GiB of memory"), "%s", err.what);
	cr_expect_eq(wrap_mapped, before);
}

/* The pool over played pages: nothing is registered, so that no limit is in the way. */
static const char *pool_pages(enum mr_hugepages wish, char *words, size_t len)
{
	struct mr_pool_params params = {
		.hugepages = wish, .max_pinned = 2 * MR_GIANT, .numa_node = -1};
	struct mr_provider plain;
	struct mr_lease *lease;
	struct mr_pool *pool;

	mr_provider_plain_init(&plain);
	pool = fake_pool(&plain, &params);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 1 << 20, &lease, NULL), 0);
	mr_pool_describe(pool, words, len);
	mr_lease_give(lease);
	mr_pool_destroy(pool);
	return words;
}

Test(mr_pages, a_pool_takes_1_gib_pages_only_on_request)
{
	static const struct {
		enum mr_hugepages wish;
		bool has_2m, has_1g;
		char words[24];
	} cases[] = {
		{MR_HUGE_1G, true, true, "1 GiB huge pages"},
		{MR_HUGE_1G, true, false, "2 MiB huge pages"},
		{MR_HUGE_1G, false, false, ""}, /* transparent ones or not */
		{MR_HUGE_2M, true, true, "2 MiB huge pages"},
		{MR_HUGE_2M, false, true, ""},
		{MR_HUGE_AUTO, true, true, "2 MiB huge pages"},
		{MR_HUGE_AUTO, false, true, ""},
		{MR_HUGE_OFF, true, true, "4 KiB pages"},
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		long before = wrap_mapped;
		char words[160];

		machine(cases[i].has_2m, cases[i].has_1g);
		pool_pages(cases[i].wish, words, sizeof(words));
		cr_expect_eq(strncmp(words, cases[i].words, strlen(cases[i].words)), 0,
			     "case %u: %s", i, words);
		cr_expect_eq(!strstr(words, "slabs of at most 1 GiB: one page each"),
			     cases[i].wish != MR_HUGE_1G, "case %u: %s", i, words);
		if (!cases[i].words[0])
			cr_expect(!strstr(words, "MiB huge") && !strstr(words, "GiB huge"),
				  "case %u: %s", i, words);
		cr_expect_eq(wrap_mapped, before, "case %u", i);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_memory);

static void check_resident(const struct mr_memory *memory)
{
	size_t pages = memory->len / MR_PAGE;
	unsigned char *core = malloc(pages);

	cr_assert_eq(mincore(memory->addr, memory->len, core), 0);
	for (size_t i = 0; i < pages; i++)
		cr_assert(core[i] & 1, "page %zu is not there yet", i);
	free(core);
}

Test(mr_memory, is_faulted_in_and_aligned_to_its_pages)
{
	static const size_t lens[] = {4096, 1 << 20, 2 << 20, 3 << 20, 6 << 20};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		struct mr_memory memory;

		cr_assert_eq(mr_memory_map(&memory, lens[i], MR_BACKING_2M, -1, NULL), 0);
		cr_assert_eq(memory.len, lens[i]);
		cr_assert_eq((uintptr_t)memory.addr % (lens[i] >= MR_HUGE ? MR_HUGE : MR_PAGE), 0);
		check_resident(&memory);
		memset(memory.addr, 1, memory.len);
		mr_memory_unmap(&memory);
	}
}

Test(mr_memory, falls_back_to_smaller_pages)
{
	struct mr_memory memory;

	wrap_calls = 0;
	wrap_fail_at = 1; /* the reserve of huge pages is empty */
	cr_assert_eq(mr_memory_map(&memory, 4 << 20, MR_BACKING_2M, -1, NULL), 0);
	cr_assert_eq(memory.backing, MR_BACKING_THP);
	mr_memory_unmap(&memory);
	cr_assert_eq(mr_memory_map(&memory, 1 << 20, MR_BACKING_2M, -1, NULL), 0);
	cr_assert_eq(memory.backing, MR_BACKING_4K, "less than a huge page is small pages");
	mr_memory_unmap(&memory);
}

Test(mr_memory, too_much_is_an_error_with_words)
{
	struct mr_memory memory;
	struct util_err err = {0};

	cr_assert_eq(mr_memory_map(&memory, (size_t)1 << 46, MR_BACKING_2M, -1, &err), -ENOMEM);
	cr_assert(err.what[0]);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/walk.h"

TestSuite(bench_walk);

static const uint64_t sizes[] = {1, 2, 3, 7, 16, 17, 100, 1000, 4096, 5000};

/* Every record once per pass, and never one that is not there. */
static void visits_each_once(enum bench_order order, uint64_t stride, bool jitter)
{
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(sizes); i++) {
		uint64_t n = sizes[i];
		unsigned *seen = calloc(n, sizeof(*seen));
		struct bench_walk walk;

		walk_start(&walk, order, n, stride, 5, jitter);
		for (uint64_t k = 0; k < 2 * n; k++) {
			uint64_t record = walk_step(&walk, k);

			cr_assert_lt(record, n);
			seen[record]++;
		}
		for (uint64_t k = 0; k < n; k++)
			cr_assert_eq(seen[k], 2, "%llu of %llu", (unsigned long long)k,
				     (unsigned long long)n);
		free(seen);
	}
}

Test(bench_walk, forward_visits_each_record_once)
{
	visits_each_once(BENCH_FORWARD, 17, false);
}

Test(bench_walk, backward_visits_each_record_once)
{
	visits_each_once(BENCH_BACKWARD, 17, false);
}

Test(bench_walk, strides_visit_each_record_once)
{
	static const uint64_t strides[] = {1, 2, 17, 100, 1000000};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(strides); i++)
		visits_each_once(BENCH_STRIDED, strides[i], false);
}

Test(bench_walk, random_order_visits_each_record_once)
{
	visits_each_once(BENCH_RANDOM, 17, false);
}

Test(bench_walk, jitter_visits_each_record_once_and_some_out_of_turn)
{
	struct bench_walk walk;
	unsigned turned = 0;

	visits_each_once(BENCH_FORWARD, 17, true);
	walk_start(&walk, BENCH_FORWARD, 100, 17, 0, true);
	for (uint64_t k = 0; k < 100; k++)
		turned += walk_step(&walk, k) != k;
	cr_assert_eq(turned, 20);
}

Test(bench_walk, random_order_is_not_sequential_and_differs_by_seed)
{
	struct bench_walk a, b;
	unsigned next = 0, same = 0;
	uint64_t last = 0;

	walk_start(&a, BENCH_RANDOM, 4096, 17, 1, false);
	walk_start(&b, BENCH_RANDOM, 4096, 17, 2, false);
	for (uint64_t k = 0; k < 4096; k++) {
		uint64_t x = walk_step(&a, k);

		next += x == last + 1;
		same += x == walk_step(&b, k);
		last = x;
	}
	/* Of 4096 draws about one follows its predecessor, and about one is the other's. */
	cr_assert_lt(next, 20);
	cr_assert_lt(same, 20);
}

Test(bench_walk, a_stride_is_the_distance_between_records)
{
	struct bench_walk walk;

	walk_start(&walk, BENCH_STRIDED, 100, 17, 0, false);
	for (uint64_t k = 0; k < 6; k++)
		cr_assert_eq(walk_step(&walk, k), 17 * k % 102);
}

Test(bench_walk, the_same_record_is_always_the_first)
{
	struct bench_walk walk;

	walk_start(&walk, BENCH_SAME, 100, 17, 0, false);
	for (uint64_t k = 0; k < 10; k++)
		cr_assert_eq(walk_step(&walk, k), 0);
}

Test(bench_walk, verified_data_knows_its_file_and_its_place)
{
	uint64_t buf[512];

	data_fill(buf, sizeof(buf), 3, 8192);
	cr_assert_eq(data_check(buf, sizeof(buf), 3, 8192), -1);
	cr_assert_eq(data_check(buf, sizeof(buf), 4, 8192), 0);
	cr_assert_eq(data_check(buf, sizeof(buf), 3, 4096), 0);
	((uint8_t *)buf)[1001] ^= 1;
	cr_assert_eq(data_check(buf, sizeof(buf), 3, 8192), 1000);
}

Test(bench_walk, a_pattern_is_checked_to_the_last_byte)
{
	uint8_t buf[100];

	memset(buf, 0xa5, sizeof(buf));
	cr_assert_eq(data_check_pattern(buf, sizeof(buf), 0xa5), -1);
	cr_assert_eq(data_check_pattern(buf, sizeof(buf), 0x5a), 0);
	buf[99] = 0;
	cr_assert_eq(data_check_pattern(buf, sizeof(buf), 0xa5), 99);
	cr_assert_eq(data_check_pattern(buf, 0, 0xa5), -1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <math.h>

#include "tools/nfsrdma-bench/bench.h"
#include "tools/nfsrdma-bench/stats.h"

TestSuite(bench_stats);

/* A generator good enough for a million draws, the same on every machine. */
static double draw(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static void near(double is, double should, double tolerance)
{
	cr_assert(fabs(is - should) <= tolerance * should, "%g is not %g within %g", is, should,
		  tolerance);
}

/* The histogram is exact within 1.6 % of the value; what is left is the draw's own error. */
#define TOLERANCE 0.03

Test(bench_stats, latencies_of_an_exponential_distribution_are_its_quantiles)
{
	struct bench_latency latency;
	static struct util_hist h;
	uint64_t state = 1;

	util_hist_init(&h);
	for (unsigned i = 0; i < 1000000; i++)
		util_hist_add(&h, (uint64_t)(-log(draw(&state)) * 100e3));
	bench_latency_of(&latency, &h);
	near(latency.p50, 100 * log(2), TOLERANCE);
	near(latency.p95, 100 * log(20), TOLERANCE);
	near(latency.p99, 100 * log(100), TOLERANCE);
	near(latency.p999, 100 * log(1000), TOLERANCE);
}

Test(bench_stats, latencies_of_a_uniform_distribution_are_its_quantiles)
{
	struct bench_latency latency;
	static struct util_hist h;
	uint64_t state = 2;

	util_hist_init(&h);
	for (unsigned i = 0; i < 1000000; i++)
		util_hist_add(&h, (uint64_t)(draw(&state) * 1e6));
	bench_latency_of(&latency, &h);
	near(latency.p50, 500, TOLERANCE);
	near(latency.p99, 990, TOLERANCE);
	near(latency.max, 1000, TOLERANCE);
}

Test(bench_stats, a_rare_slow_operation_is_the_maximum_and_nothing_else)
{
	struct bench_latency latency;
	static struct util_hist h;

	util_hist_init(&h);
	for (unsigned i = 0; i < 100000; i++)
		util_hist_add(&h, 50000);
	util_hist_add(&h, 80000000);
	bench_latency_of(&latency, &h);
	near(latency.p999, 50, 0.02);
	cr_assert_eq(latency.max, 80000);
}

Test(bench_stats, the_median_is_the_middle_or_between_the_middle_two)
{
	double odd[] = {5, 1, 9}, even[] = {4, 1, 3, 100};

	cr_assert_eq(stats_median(odd, 3), 5);
	cr_assert_eq(stats_median(even, 4), 3.5);
}

/* The machine becomes four times slower while it is measured, and the ratio stands. */
Test(bench_stats, a_drift_of_the_machine_is_not_in_the_ratio)
{
	double a[] = {200, 150, 100, 50}, b[] = {100, 75, 50, 25};
	struct stats_ratio ratio;

	cr_assert(stats_ratio(a, b, 4, &ratio));
	near(ratio.mean, 2, 1e-9);
	near(ratio.low, 2, 1e-6);
	near(ratio.high, 2, 1e-6);
}

/* By hand: logarithms of 1 and e^0.2 have mean 0.1 and deviation 0.1414; t(1) is 12.706. */
Test(bench_stats, the_interval_is_students)
{
	double a[] = {1, exp(0.2)}, b[] = {1, 1};
	struct stats_ratio ratio;

	cr_assert(stats_ratio(a, b, 2, &ratio));
	near(ratio.mean, exp(0.1), 1e-9);
	near(ratio.low, exp(0.1 - 1.2706), 1e-6);
	near(ratio.high, exp(0.1 + 1.2706), 1e-6);
}

Test(bench_stats, the_interval_holds_the_truth_nineteen_times_in_twenty)
{
	unsigned held = 0, trials = 4000;
	uint64_t state = 3;

	for (unsigned i = 0; i < trials; i++) {
		double a[5], b[5];
		struct stats_ratio ratio;

		for (unsigned k = 0; k < 5; k++) {
			/* Sums of twelve draws are normal enough. */
			double noise = -6;

			for (unsigned j = 0; j < 12; j++)
				noise += draw(&state);
			b[k] = 1000 + 500 * draw(&state);
			a[k] = b[k] * 1.3 * exp(0.05 * noise);
		}
		cr_assert(stats_ratio(a, b, 5, &ratio));
		held += ratio.low <= 1.3 && 1.3 <= ratio.high;
	}
	near((double)held / trials, 0.95, 0.015);
}

Test(bench_stats, one_round_has_no_interval_and_zeros_have_no_ratio)
{
	double a[] = {3, 1}, b[] = {2, 0};
	struct stats_ratio ratio;

	cr_assert(stats_ratio(a, b, 1, &ratio));
	cr_assert_eq(ratio.high, 0);
	cr_assert_not(stats_ratio(a, b, 2, &ratio));
	cr_assert_not(stats_ratio(a, b, 0, &ratio));
}

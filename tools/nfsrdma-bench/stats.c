/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.c - medians, and ratios with their confidence.
 *
 * On a shared machine throughput drifts by more than what is to be found, but it drifts slowly: two
 * measurements of the same round see much the same machine.  So ratios are taken within rounds, and
 * what is told is their geometric mean (a ratio of 2 and one of 1/2 make 1) with Student's interval
 * of their logarithms.  It supposes that logarithms of ratios are spread evenly about a mean, not
 * that throughputs are.
 */
#include <math.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/stats.h"

static int stats_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), stats_order);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Two-sided 95 % points of Student's t, by degrees of freedom. */
static double stats_t95(unsigned freedom)
{
	static const double t[] = {0,	  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
				   2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
				   2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
				   2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

	return freedom < sizeof(t) / sizeof(t[0]) ? t[freedom] : 1.96 + 2.4 / freedom;
}

bool stats_ratio(const double *a, const double *b, unsigned count, struct stats_ratio *ratio)
{
	double sum = 0, squares = 0, mean, half;

	for (unsigned i = 0; i < count; i++) {
		if (!(a[i] > 0 && b[i] > 0))
			return false;
		sum += log(a[i] / b[i]);
	}
	if (!count)
		return false;
	mean = sum / count;
	*ratio = (struct stats_ratio){.mean = exp(mean)};
	if (count < 2)
		return true;
	for (unsigned i = 0; i < count; i++) {
		double d = log(a[i] / b[i]) - mean;

		squares += d * d;
	}
	half = stats_t95(count - 1) * sqrt(squares / (count - 1) / count);
	ratio->low = exp(mean - half);
	ratio->high = exp(mean + half);
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.h - what a handful of rounds allow to say.
 */
#ifndef NFSRDMA_BENCH_STATS_H
#define NFSRDMA_BENCH_STATS_H

#include <stdbool.h>

/* count values, at least one; they are put in order. */
double stats_median(double *values, unsigned count);

struct stats_ratio {
	double mean;	  /* geometric */
	double low, high; /* 95 % confidence; both 0 with less than two rounds */
};

/* Of a[i] to b[i], which were measured one after the other in round i.  false: nothing to divide.
 */
bool stats_ratio(const double *a, const double *b, unsigned count, struct stats_ratio *ratio);

#endif

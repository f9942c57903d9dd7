/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.h - a moment before and one after, and what lies between them.
 */
#ifndef NFSRDMA_BENCH_MEASURE_H
#define NFSRDMA_BENCH_MEASURE_H

#include "tools/nfsrdma-bench/child.h"

struct bench_moment {
	uint64_t ns;
	struct bench_cpu cpu;
	struct bench_counters counters;
	bool counted;
};

struct run_round {
	struct bench_run *run;
	struct bench_team team;
	struct bench_child *children;
	unsigned count;
};

/* Reading counters costs, too: before the clock is read first, after it is read last. */
void measure_before(const struct run_round *round, struct bench_moment *m);
/* The warm-up is over: the clock alone, while the children work. */
void measure_clock(const struct run_round *round, struct bench_moment *m);
void measure_after(const struct run_round *round, struct bench_moment *m);
/* Of all ranks, on the first one.  0 or -ENOMEM. */
int measure_result(const struct run_round *round, const struct bench_moment *before,
		   const struct bench_moment *after, struct bench_result *r);

#endif

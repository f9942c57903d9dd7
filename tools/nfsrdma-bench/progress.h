/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - a line on the terminal that says how far a test is.
 */
#ifndef NFSRDMA_BENCH_PROGRESS_H
#define NFSRDMA_BENCH_PROGRESS_H

#include "tools/nfsrdma-bench/measure.h"

struct bench_progress {
	bool wanted, shown;
	uint64_t begin_ns, shown_ns, counted_ns; /* counted: something moved at that time */
	uint64_t records;			 /* seen then */
};

void progress_begin(struct bench_progress *p, const struct run_round *round);
/* Looks at the children; shows a line at most once a second.  Returns for how long nothing has
 * moved, in ns. */
uint64_t progress_look(struct bench_progress *p, const struct run_round *round);
void progress_end(struct bench_progress *p);

/* The line's text. */
void progress_format(char *line, size_t len, const char *test, double done, double rate_bps,
		     double left_s);

#endif

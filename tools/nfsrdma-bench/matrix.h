/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * matrix.h - the pairs of file and record size that -a goes through.
 */
#ifndef NFSRDMA_BENCH_MATRIX_H
#define NFSRDMA_BENCH_MATRIX_H

#include "tools/nfsrdma-bench/options.h"

struct bench_matrix {
	const struct bench_options *opts;
	uint64_t file, record; /* of the pair that was given last; 0: none yet */
};

void matrix_start(struct bench_matrix *matrix, const struct bench_options *opts);
bool matrix_next(struct bench_matrix *matrix, uint64_t *filep, uint64_t *recordp);
/* The largest file, and all record sizes there may be (for the reports' first line). */
uint64_t matrix_largest(const struct bench_options *opts);
uint64_t matrix_record_after(const struct bench_options *opts, uint64_t record);

#endif

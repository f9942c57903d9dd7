/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * matrix.c - the automatic matrix, as iozone goes through it.
 *
 * Files double from the smallest to the largest (or are those of -s), and for each of them records
 * double as long as they fit (or are those of -r).  Files above 16 MiB skip records below 64 KiB,
 * because that takes long and tells little, unless -z is given or sizes were chosen.
 */
#include "tools/nfsrdma-bench/matrix.h"

#define MATRIX_CROSS_FILE (UINT64_C(16) << 20)
#define MATRIX_CROSS_RECORD (UINT64_C(64) << 10)

/* The next size after last (0: the first) of a list, or of a range; 0: there is none. */
static uint64_t matrix_after(const uint64_t *list, unsigned count, uint64_t min, uint64_t max,
			     unsigned multiplier, uint64_t last)
{
	if (!count) {
		if (!last)
			return min;
		return last <= max / multiplier ? last * multiplier : 0;
	}
	if (!last)
		return list[0];
	for (unsigned i = 0; i + 1 < count; i++)
		if (list[i] == last)
			return list[i + 1];
	return 0;
}

static uint64_t matrix_file_after(const struct bench_options *opts, uint64_t file)
{
	return matrix_after(opts->files, opts->nfiles, opts->file_min, opts->file_max,
			    opts->multiplier, file);
}

uint64_t matrix_record_after(const struct bench_options *opts, uint64_t record)
{
	return matrix_after(opts->records, opts->nrecords, opts->record_min, opts->record_max,
			    opts->multiplier, record);
}

static bool matrix_skips(const struct bench_options *opts, uint64_t file, uint64_t record)
{
	return file > MATRIX_CROSS_FILE && record < MATRIX_CROSS_RECORD && !opts->no_cross &&
	       !opts->sizes_chosen;
}

void matrix_start(struct bench_matrix *matrix, const struct bench_options *opts)
{
	*matrix = (struct bench_matrix){.opts = opts};
	matrix->file = matrix_file_after(opts, 0);
}

bool matrix_next(struct bench_matrix *matrix, uint64_t *filep, uint64_t *recordp)
{
	const struct bench_options *opts = matrix->opts;

	while (matrix->file) {
		matrix->record = matrix_record_after(opts, matrix->record);
		if (!matrix->record || matrix->record > matrix->file) {
			matrix->file = matrix_file_after(opts, matrix->file);
			matrix->record = 0;
		} else if (!matrix_skips(opts, matrix->file, matrix->record)) {
			*filep = matrix->file;
			*recordp = matrix->record;
			return true;
		}
	}
	return false;
}

uint64_t matrix_largest(const struct bench_options *opts)
{
	uint64_t largest = 0;

	for (uint64_t file = matrix_file_after(opts, 0); file; file = matrix_file_after(opts, file))
		if (file > largest)
			largest = file;
	return largest;
}

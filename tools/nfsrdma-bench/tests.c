/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tests.c - the tests: what they are called, where their figures stand, what they do.
 *
 * A row is one test.  Names, tabs and widths are iozone's lines of throughput mode (notice the
 * count, padded to two places for some and bare for others); the column is that of the table.
 */
#include "tools/nfsrdma-bench/bench.h"

const struct bench_test_info bench_test_info[BENCH_TESTS] = {
	[BENCH_WRITE] = {"initial writers", "\t", "Writer", "  Initial write", 2, BENCH_I_WRITE, 0,
			 true, false, BENCH_FORWARD, BENCH_RECORDS},
	[BENCH_REWRITE] = {"rewriters", "\t", "Re-writer", "        Rewrite", 2, BENCH_I_WRITE, 1,
			   true, true, BENCH_FORWARD, BENCH_RECORDS},
	[BENCH_READ] = {"readers", "\t\t", "Reader", "           Read", 2, BENCH_I_READ, 2, false,
			false, BENCH_FORWARD, BENCH_RECORDS},
	[BENCH_REREAD] = {"re-readers", "\t", "Re-Reader", "        Re-read", 0, BENCH_I_READ, 3,
			  false, true, BENCH_FORWARD, BENCH_RECORDS},
	[BENCH_REVERSE] = {"reverse readers", "\t", "Backward read", "   Reverse Read", 0,
			   BENCH_I_REVERSE, 6, false, false, BENCH_BACKWARD, BENCH_RECORDS},
	[BENCH_STRIDE] = {"stride readers", "\t", "Stride read", "    Stride read", 0,
			  BENCH_I_STRIDE, 8, false, false, BENCH_STRIDED, BENCH_RECORDS},
	[BENCH_RANDOM_READ] = {"random readers", "\t", "Random read", "    Random read", 0,
			       BENCH_I_RANDOM, 4, false, false, BENCH_RANDOM, BENCH_RECORDS},
	[BENCH_MIXED] = {"mixed workload", "\t", "Mixed workload", " Mixed workload", 0,
			 BENCH_I_MIX, -1, true, false, BENCH_RANDOM, BENCH_RECORDS},
	[BENCH_RANDOM_WRITE] = {"random writers", "\t", "Random write", "   Random write", 0,
				BENCH_I_RANDOM, 5, true, false, BENCH_RANDOM, BENCH_RECORDS},
	[BENCH_PWRITE] = {"pwrite writers", "\t", "Pwrite", "         Pwrite", 0, BENCH_I_PWRITE,
			  13, true, false, BENCH_FORWARD, BENCH_RECORDS},
	[BENCH_PREAD] = {"pread readers", "\t", "Pread", "          Pread", 0, BENCH_I_PREAD, 15,
			 false, false, BENCH_FORWARD, BENCH_RECORDS},
	[BENCH_FWRITE] = {"fwriters", "\t\t", "Fwrite", "         Fwrite", 2, BENCH_I_FWRITE, 9,
			  true, false, BENCH_FORWARD, BENCH_STREAM},
	[BENCH_FREAD] = {"freaders", "\t\t", "Fread", "          Fread", 2, BENCH_I_FREAD, 11,
			 false, false, BENCH_FORWARD, BENCH_STREAM},
	[BENCH_RECORD_REWRITE] = {"record rewriters", "\t", "Record rewrite", " Record rewrite", 0,
				  BENCH_I_RECORD_REWRITE, 7, true, false, BENCH_SAME,
				  BENCH_RECORDS},
	[BENCH_REFWRITE] = {"re-fwriters", "\t", "Re-Fwrite", "      Re-Fwrite", 0, BENCH_I_FWRITE,
			    10, true, true, BENCH_FORWARD, BENCH_STREAM},
	[BENCH_REFREAD] = {"re-freaders", "\t", "Re-Fread", "       Re-Fread", 0, BENCH_I_FREAD, 12,
			   false, true, BENCH_FORWARD, BENCH_STREAM},
	[BENCH_REPWRITE] = {"re-pwriters", "\t", "Re-Pwrite", "      Re-Pwrite", 0, BENCH_I_PWRITE,
			    14, true, true, BENCH_FORWARD, BENCH_RECORDS},
	[BENCH_REPREAD] = {"re-preaders", "\t", "Re-Pread", "       Re-Pread", 0, BENCH_I_PREAD, 16,
			   false, true, BENCH_FORWARD, BENCH_RECORDS},
	[BENCH_PWRITEV] = {"pwritev writers", "\t", "Pwritev", "        Pwritev", 0,
			   BENCH_I_PWRITEV, 17, true, false, BENCH_FORWARD, BENCH_VECTOR},
	[BENCH_REPWRITEV] = {"re-pwritev writers", "\t", "Re-Pwritev", "     Re-Pwritev", 0,
			     BENCH_I_PWRITEV, 18, true, true, BENCH_FORWARD, BENCH_VECTOR},
	[BENCH_PREADV] = {"preadv readers", "\t", "Preadv", "         Preadv", 0, BENCH_I_PREADV,
			  19, false, false, BENCH_FORWARD, BENCH_VECTOR},
	[BENCH_REPREADV] = {"re-preadv readers", "\t", "Re-Preadv", "      Re-Preadv", 0,
			    BENCH_I_PREADV, 20, false, true, BENCH_FORWARD, BENCH_VECTOR},
};

enum bench_test bench_column_test(unsigned column)
{
	for (unsigned t = 0; t < BENCH_TESTS; t++)
		if (bench_test_info[t].column == (int)column)
			return (enum bench_test)t;
	return BENCH_TESTS;
}

bool bench_wants(const struct bench_options *opts, enum bench_test test)
{
	const struct bench_test_info *info = &bench_test_info[test];

	if (!(opts->tests >> info->number & 1))
		return false;
	if (opts->throughput ? test >= BENCH_THROUGHPUT_TESTS : info->column < 0)
		return false;
	return !opts->no_retest || !info->retest;
}

unsigned bench_test_order(const struct bench_options *opts, enum bench_test list[BENCH_TESTS])
{
	unsigned count = 0, last = opts->throughput ? BENCH_THROUGHPUT_TESTS : BENCH_COLUMNS;

	for (unsigned i = 0; i < last; i++) {
		enum bench_test test = opts->throughput ? (enum bench_test)i : bench_column_test(i);

		if (bench_wants(opts, test))
			list[count++] = test;
	}
	return count;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - iozone's lines, letter for letter, so that what parses iozone parses us.
 *
 * Notice what looks like mistakes and is not ours to mend: "CPU Utilization:" for the first test
 * and "CPU utilization:" for the others, a blank behind the unit of the least throughput only, and
 * a count padded to two places in the first three tests and bare in the fourth.
 */
#include "tools/nfsrdma-bench/bench.h"

#define REPORT_KB 1024

static const struct {
	char name[20], tabs[4];
	int width; /* of the count */
} report_tests[BENCH_TESTS] = {
	[BENCH_WRITE] = {"initial writers", "\t", 2},
	[BENCH_REWRITE] = {"rewriters", "\t", 2},
	[BENCH_READ] = {"readers", "\t\t", 2},
	[BENCH_REREAD] = {"re-readers", "\t", 0},
};

const char *bench_test_name(enum bench_test test)
{
	return report_tests[test].name;
}

bool bench_test_writes(enum bench_test test)
{
	return test == BENCH_WRITE || test == BENCH_REWRITE;
}

static const char *report_child(const struct bench_options *opts)
{
	return opts->say_threads ? "thread" : "process";
}

static const char *report_children(const struct bench_options *opts)
{
	return opts->say_threads ? "threads" : "processes";
}

void report_preamble(FILE *out, const struct bench_options *opts, const char *date)
{
	fprintf(out, "\tRun began: %s\n", date);
	for (unsigned i = 0; i < opts->npreamble; i++) {
		fprintf(out, "%s\n", opts->preamble[i]);
		if (i == opts->twice)
			fprintf(out, "%s\n", opts->preamble[i]);
	}
	fputs("\tCommand line used:", out);
	for (int i = 0; i < opts->argc; i++)
		fprintf(out, " %s", opts->argv[i]);
	fputc('\n', out);
	if (!opts->ops && !opts->usec)
		fputs("\tOutput is in kBytes/sec\n", out);
	fputs("\tTime Resolution = 0.000001 seconds.\n"
	      "\tProcessor cache size set to 1024 kBytes.\n"
	      "\tProcessor cache line size set to 32 bytes.\n"
	      "\tFile stride size set to 17 * record size.\n",
	      out);
	if (opts->range)
		fprintf(out, "\tMin %s = %u \n\tMax %s = %u \n", report_child(opts),
			opts->threads_min, report_child(opts), opts->threads_max);
}

void report_round(FILE *out, const struct bench_options *opts, unsigned children, bool first)
{
	if (first)
		fprintf(out, "\tThroughput test with %u %s\n", children,
			children == 1 ? report_child(opts) : report_children(opts));
	fprintf(out, "\tEach %s writes a %llu kByte file in %llu kByte records\n",
		report_child(opts), (unsigned long long)(opts->file_size / REPORT_KB),
		(unsigned long long)(opts->record / REPORT_KB));
	fflush(out);
}

void report_test(FILE *out, const struct bench_options *opts, const struct bench_result *r)
{
	const char *unit = opts->ops ? "ops/sec" : "kB/sec", *child = report_child(opts);
	double cpu = r->cpu.user + r->cpu.system;
	char label[48];

	snprintf(label, sizeof(label), "%*u %s %s", report_tests[r->test].width, r->children,
		 report_tests[r->test].name, report_tests[r->test].tabs);
	fprintf(out, "\n\tChildren see throughput for %s= %10.2f %s\n", label, r->children_rate,
		unit);
	fprintf(out, "\tParent sees throughput for %s= %10.2f %s\n", label, r->parent_rate, unit);
	fprintf(out, "\tMin throughput per %s \t\t\t= %10.2f %s \n", child, r->min_rate, unit);
	fprintf(out, "\tMax throughput per %s \t\t\t= %10.2f %s\n", child, r->max_rate, unit);
	fprintf(out, "\tAvg throughput per %s \t\t\t= %10.2f %s\n", child, r->avg_rate, unit);
	fprintf(out, "\tMin xfer \t\t\t\t\t= %10.2f %s\n", r->min_xfer, opts->ops ? "ops" : "kB");
	if (opts->cpu)
		fprintf(out,
			"\tCPU %ctilization: Wall time %8.3f    CPU time %8.3f    "
			"CPU utilization %6.2f %%\n\n",
			r->test == BENCH_WRITE ? 'U' : 'u', r->wall_s, cpu,
			r->wall_s > 0 ? 100 * cpu / r->wall_s : 0.0);
	fflush(out);
}

void report_round_end(FILE *out)
{
	fputs("\n\n", out);
}

/* ---- the table ------------------------------------------------------------------------------- */

void report_table_head(FILE *out)
{
	fprintf(out, "%62srandom    random     bkwd    record    stride%36s\n", "", "");
	fprintf(out,
		"%16s  reclen    write  rewrite    read    reread    read     write     read   "
		"rewrite      read   fwrite frewrite    fread  freread\n",
		"kB");
}

static double report_cell(const struct bench_options *opts, const struct bench_result *r)
{
	if (opts->usec)
		return r->ops ? r->wall_s * 1e6 / (double)r->ops : 0;
	return r->children_rate;
}

/* Thirteen columns; ours are the first four, the rest stays blank to the line's full length. */
void report_table_row(FILE *out, const struct bench_options *opts, const struct bench_result *r,
		      unsigned count)
{
	const struct bench_result *cell[BENCH_TESTS] = {NULL};

	for (unsigned i = 0; i < count; i++)
		cell[r[i].test] = &r[i];
	fprintf(out, "%16llu%8llu", (unsigned long long)(opts->file_size / REPORT_KB),
		(unsigned long long)(opts->record / REPORT_KB));
	for (unsigned i = 0; i < BENCH_TESTS; i++)
		if (cell[i])
			fprintf(out, " %8.0f", report_cell(opts, cell[i]));
		else
			fprintf(out, "%9s", "");
	fprintf(out, "%82s\n", "");
	fflush(out);
}

void report_end(FILE *out)
{
	fputs("\niozone test complete.\n", out);
	fflush(out);
}

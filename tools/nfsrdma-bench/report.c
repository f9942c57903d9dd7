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
	if (opts->think_ms)
		fprintf(out, "\tCompute time %f seconds for reads and writes.\n",
			opts->think_ms / 1e3);
	fprintf(out,
		"\tTime Resolution = 0.000001 seconds.\n"
		"\tProcessor cache size set to %u kBytes.\n"
		"\tProcessor cache line size set to %u bytes.\n"
		"\tFile stride size set to %llu * record size.\n",
		opts->cache_kb, opts->cache_line, (unsigned long long)opts->stride);
	if (opts->range)
		fprintf(out, "\tMin %s = %u \n\tMax %s = %u \n", report_child(opts),
			opts->children[0], report_child(opts), opts->children_max);
}

void report_round(FILE *out, const struct bench_options *opts, unsigned children, bool first)
{
	uint64_t size = opts->file_size / (opts->constant_total ? children : 1);

	if (first)
		fprintf(out, "\tThroughput test with %u %s\n", children,
			children == 1 ? report_child(opts) : report_children(opts));
	fprintf(out, "\tEach %s writes a %llu kByte file in %llu kByte records\n",
		report_child(opts), (unsigned long long)(size / REPORT_KB),
		(unsigned long long)(opts->record / REPORT_KB));
	fflush(out);
}

/* -C */
static void report_parts(FILE *out, const struct bench_options *opts, const struct bench_result *r)
{
	const char *unit = opts->ops ? "ops" : "kB";

	for (unsigned i = 0; i < r->children; i++) {
		const struct bench_part *part = &r->parts[i];

		fprintf(out, "\tChild[%u] xfer count = %10.2f %s, Throughput = %10.2f %s/sec", i,
			part->xfer, unit, part->rate, unit);
		if (opts->cpu)
			fprintf(out, ", wall=%6.3f, cpu=%6.3f, %%=%6.2f", part->wall_s, part->cpu_s,
				part->wall_s > 0 ? 100 * part->cpu_s / part->wall_s : 0.0);
		fputc('\n', out);
	}
}

void report_test(FILE *out, const struct bench_options *opts, const struct bench_result *r)
{
	const char *unit = opts->ops ? "ops/sec" : "kB/sec", *child = report_child(opts);
	const struct bench_test_info *info = &bench_test_info[r->test];
	double cpu = r->cpu.user + r->cpu.system;
	char label[48];

	snprintf(label, sizeof(label), "%*u %s %s", (int)info->width, r->children, info->name,
		 info->tabs);
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
	if (opts->each_child)
		report_parts(out, opts, r);
	fflush(out);
}

/* Between rounds, and before the last line. */
void report_round_end(FILE *out)
{
	fputs("\n\n", out);
	fflush(out);
}

/* ---- the table -------------------------------------------------------------------------------
 */

void report_table_head(FILE *out, const struct bench_options *opts)
{
	fprintf(out, "%62srandom    random     bkwd    record    stride%36s\n", "", "");
	fprintf(out,
		"%16s  reclen    write  rewrite    read    reread    read     write     read   "
		"rewrite      read   fwrite frewrite    fread  freread%s\n",
		"kB",
		opts->extended ? "   pwrite repwrite    pread  repread  pwritev repwritv   preadv "
				 "repreadv"
			       : "");
}

double report_cell(const struct bench_options *opts, const struct bench_result *r)
{
	if (opts->usec)
		return r->ops ? r->wall_s * 1e6 / (double)r->ops : 0;
	return r->children_rate;
}

/* iozone's cells are nine places wide, but for two of ten; the last of its thirteen is one short
 * when it is blank. */
static int report_width(unsigned column)
{
	enum bench_test test = bench_column_test(column);

	return test == BENCH_RECORD_REWRITE || test == BENCH_STRIDE ? 10 : 9;
}

/* Cells of tests that were not run stay blank to the line's full length. */
void report_table_row(FILE *out, const struct bench_options *opts, const struct bench_result *r,
		      unsigned count)
{
	unsigned columns = opts->extended ? BENCH_COLUMNS : BENCH_COLUMNS_PLAIN;

	fprintf(out, "%16llu%8llu", (unsigned long long)(opts->file_size / REPORT_KB),
		(unsigned long long)(opts->record / REPORT_KB));
	for (unsigned column = 0; column < columns; column++) {
		unsigned i = 0;

		while (i < count && bench_test_info[r[i].test].column != (int)column)
			i++;
		if (i < count)
			fprintf(out, "%*.0f", report_width(column), report_cell(opts, &r[i]));
		else
			fprintf(out, "%*s", report_width(column) - (column + 1 == columns), "");
	}
	fputc('\n', out);
	fflush(out);
}

void report_end(FILE *out)
{
	fputs("\niozone test complete.\n", out);
	fflush(out);
}

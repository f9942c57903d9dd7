/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_excel.c - -R: iozone's tables to be pasted into a spreadsheet.
 *
 * Of the matrix there is one table per test, a line per file size and a column per record size,
 * after the last line of the run; of throughput mode there is one chart, a line per test and a
 * column per number of children, before it.
 */
#include "tools/nfsrdma-bench/bench.h"
#include "tools/nfsrdma-bench/matrix.h"

static const struct bench_result *excel_find(const struct bench_results *results,
					     enum bench_test test, uint64_t file, uint64_t record)
{
	for (unsigned i = 0; i < results->count; i++) {
		const struct bench_result *r = &results->result[i];

		if (r->test == test && r->file_size == file && r->record == record)
			return r;
	}
	return NULL;
}

/* Without -a there is one record size. */
static uint64_t excel_record_after(const struct bench_options *opts, uint64_t record)
{
	if (opts->matrix)
		return matrix_record_after(opts, record);
	return record ? 0 : opts->record;
}

static void excel_line(FILE *out, const struct bench_options *opts,
		       const struct bench_results *results, enum bench_test test, uint64_t file)
{
	fprintf(out, "\"%llu\"  ", (unsigned long long)(file / 1024));
	for (uint64_t record = excel_record_after(opts, 0); record && record <= file;
	     record = excel_record_after(opts, record)) {
		const struct bench_result *r = excel_find(results, test, file, record);

		fprintf(out, " %.0f ", r ? report_cell(opts, r) : 0.0);
	}
	fputc('\n', out);
}

static void excel_table(FILE *out, const struct bench_options *opts,
			const struct bench_results *results, enum bench_test test)
{
	uint64_t file = 0;

	fprintf(out, "\n\"%s report\"\n      ", bench_test_info[test].excel);
	for (uint64_t record = excel_record_after(opts, 0); record;
	     record = excel_record_after(opts, record))
		fprintf(out, "  \"%llu\"", (unsigned long long)(record / 1024));
	fputc('\n', out);
	for (unsigned i = 0; i < results->count; i++) {
		const struct bench_result *r = &results->result[i];

		if (r->test != test || r->file_size == file)
			continue;
		file = r->file_size;
		excel_line(out, opts, results, test, file);
	}
}

void report_excel_tables(FILE *out, const struct bench_options *opts,
			 const struct bench_results *results)
{
	enum bench_test list[BENCH_TESTS];
	unsigned count = bench_test_order(opts, list);

	fputs("Excel output is below:\n", out);
	for (unsigned i = 0; i < count; i++)
		excel_table(out, opts, results, list[i]);
}

/* ---- throughput mode --------------------------------------------------------------------------
 */

static double excel_cpu(const struct bench_result *r)
{
	return r->wall_s > 0 ? 100 * (r->cpu.user + r->cpu.system) / r->wall_s : 0;
}

static void excel_rows(FILE *out, const struct bench_options *opts,
		       const struct bench_results *results, bool cpu)
{
	enum bench_test list[BENCH_TESTS];
	unsigned count = bench_test_order(opts, list);

	for (unsigned i = 0; i < count; i++) {
		fprintf(out, "\"%s \"", bench_test_info[list[i]].chart);
		for (unsigned j = 0; j < results->count; j++)
			if (results->result[j].test == list[i])
				fprintf(out, " %10.2f ",
					cpu ? excel_cpu(&results->result[j])
					    : results->result[j].children_rate);
		fputs("\n\n", out);
	}
}

void report_excel_chart(FILE *out, const struct bench_options *opts,
			const struct bench_results *results)
{
	unsigned long long record = opts->record / 1024;

	fprintf(out,
		"\n\"Throughput report Y-axis is type of test X-axis is number of %s\"\n"
		"\"Record size = %llu kBytes \"\n\"Output is in %s\"\n\n",
		opts->say_threads ? "threads" : "processes", record,
		opts->ops ? "ops/sec" : "kBytes/sec");
	excel_rows(out, opts, results, false);
	if (!opts->cpu)
		return;
	fprintf(out,
		"\n\"CPU utilization report Y-axis is type of test X-axis is number of %s\"\n"
		"\"Record size = %llu kBytes \"\n\"Output is in CPU%%\"\n\n",
		opts->say_threads ? "threads" : "processes", record);
	excel_rows(out, opts, results, true);
}

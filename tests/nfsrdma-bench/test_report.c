/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Golden tests: the figures of a sample of iozone's own output are put into results, printed by
 * report.c, and the text must be the sample's, byte for byte.  The command line comes from the
 * sample, too, so the lines iozone prints for its options are compared with it.
 *
 * Masked are the CPU utilizations, which iozone works out from times it prints rounded.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/bench.h"
#include "tools/nfsrdma-bench/matrix.h"

TestSuite(bench_report);

struct sample {
	char *text; /* without its first line */
	struct bench_options opts;
	char command[256];
	char *argv[32];
	struct bench_result result[16];
	unsigned count;
};

static char *read_all(const char *name)
{
	char path[400], *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), TEST_DATA "/iozone/%s.txt", name);
	f = fopen(path, "r");
	cr_assert_not_null(f, "%s", path);
	fread(text, 1, 65535, f);
	fclose(f);
	return text;
}

/* "$ iozone -O -i0" */
static void parse_command(struct sample *s)
{
	struct util_err err = {0};
	char host[72] = "", *save = NULL, *word;
	int argc = 0;

	cr_assert_eq(sscanf(s->text, "$ %255[^\n]", s->command), 1);
	for (word = strtok_r(s->command, " ", &save); word; word = strtok_r(NULL, " ", &save))
		s->argv[argc++] = word;
	cr_assert_eq(bench_options_parse(&s->opts, argc, s->argv, &err), 0, "%s", err.what);
	gethostname(host, sizeof(host) - 1);
	for (unsigned i = 0; i < s->opts.npreamble; i++) {
		char *at = strstr(s->opts.preamble[i], "Machine = Linux ");

		if (at)
			strcpy(at + strlen("Machine = Linux "), "HOST");
	}
	s->text = strchr(s->text, '\n') + 1;
}

static enum bench_test test_of(const char *line)
{
	for (unsigned t = BENCH_THROUGHPUT_TESTS; t-- > 0;)
		if (strstr(line, bench_test_name((enum bench_test)t)))
			return (enum bench_test)t;
	cr_assert_fail("%s", line);
	return BENCH_TESTS;
}

static double figure_of(const char *line)
{
	double value;

	cr_assert_eq(sscanf(strrchr(line, '=') + 1, "%lf", &value), 1, "%s", line);
	return value;
}

static void parse_line(struct sample *s, const char *line)
{
	struct bench_result *r = &s->result[s->count ? s->count - 1 : 0];
	double cpu;

	if (strstr(line, "Children see")) {
		r = &s->result[s->count++];
		r->test = test_of(line);
		r->children = (unsigned)atoi(strstr(line, " for ") + 5);
		r->children_rate = figure_of(line);
	} else if (strstr(line, "Parent sees")) {
		r->parent_rate = figure_of(line);
	} else if (strstr(line, "Min throughput")) {
		r->min_rate = figure_of(line);
	} else if (strstr(line, "Max throughput")) {
		r->max_rate = figure_of(line);
	} else if (strstr(line, "Avg throughput")) {
		r->avg_rate = figure_of(line);
	} else if (strstr(line, "Min xfer")) {
		r->min_xfer = figure_of(line);
	} else if (strstr(line, "tilization: Wall")) {
		cr_assert_eq(sscanf(strstr(line, "Wall time"), "Wall time %lf CPU time %lf",
				    &r->wall_s, &cpu),
			     2);
		r->cpu.user = cpu;
	}
}

static void parse_figures(struct sample *s)
{
	char *copy = strdup(s->text), *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		parse_line(s, line);
	free(copy);
}

/* "CPU utilization 151.96 %" to "CPU utilization ???.?? %" */
static void mask(char *text)
{
	char *chart = strstr(text, "\"Output is in CPU%\"");

	for (char *at = text; (at = strstr(at, "    CPU utilization ")); at++)
		memcpy(at + strlen("    CPU utilization "), "???.??", 6);
	for (; chart && *chart; chart++)
		if (*chart >= '0' && *chart <= '9')
			*chart = '?';
}

static void compare(struct sample *s, char *printed)
{
	char *a = s->text, *b = printed;

	mask(a);
	mask(b);
	while (*a || *b) {
		size_t alen = strcspn(a, "\n"), blen = strcspn(b, "\n");

		cr_assert(alen == blen && !memcmp(a, b, alen), "iozone: '%.*s'\n  ours: '%.*s'",
			  (int)alen, a, (int)blen, b);
		cr_assert_eq(a[alen], b[blen], "one text ends before the other");
		a += alen + (a[alen] == '\n');
		b += blen + (b[blen] == '\n');
	}
}

static void print_throughput(struct sample *s, FILE *out)
{
	unsigned children = 0;

	report_preamble(out, &s->opts, "DATE\n");
	for (unsigned i = 0; i < s->count; i++) {
		if (s->result[i].children != children) {
			if (children)
				report_round_end(out);
			report_round(out, &s->opts, s->result[i].children, !children);
			children = s->result[i].children;
		}
		report_test(out, &s->opts, &s->result[i]);
	}
	report_round_end(out);
	if (s->opts.excel) {
		struct bench_results results = {.result = s->result, .count = s->count};

		report_excel_chart(out, &s->opts, &results);
	}
	report_end(out);
}

static void golden_throughput(const char *name, unsigned results)
{
	struct sample s = {.text = read_all(name)};
	char *printed = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&printed, &len);

	parse_command(&s);
	parse_figures(&s);
	cr_assert_eq(s.count, results);
	print_throughput(&s, out);
	fclose(out);
	compare(&s, printed);
}

Test(bench_report, twelve_children_print_as_iozone_does)
{
	golden_throughput("throughput-12", 4);
}

Test(bench_report, a_range_of_children_prints_as_iozone_does)
{
	golden_throughput("throughput-range", 8);
}

Test(bench_report, no_stonewall_and_no_retest_print_as_iozone_does)
{
	golden_throughput("throughput-x-n", 2);
}

Test(bench_report, all_throughput_tests_print_as_iozone_does)
{
	golden_throughput("throughput-all", 9);
}

Test(bench_report, operations_per_second_print_as_iozone_does)
{
	golden_throughput("throughput-ops", 6);
}

Test(bench_report, the_chart_of_throughput_mode_prints_as_iozone_does)
{
	golden_throughput("excel-throughput", 4);
}

/* ---- the table --------------------------------------------------------------------------------
 */

#define ROOM 512

/* One row: sizes, then cells of nine places (two of ten), blank where a test was not run. */
static unsigned parse_row(const char *line, struct bench_result *r)
{
	unsigned count = 0;
	unsigned long long file, record;

	if (sscanf(line, "%llu %llu", &file, &record) != 2)
		return 0;
	for (unsigned column = 0, at = 24; column < BENCH_COLUMNS_PLAIN; column++) {
		unsigned width = column == 7 || column == 8 ? 10 : 9;
		char cell[11] = "";

		if (strlen(line) < at + width)
			break;
		memcpy(cell, line + at, width);
		at += width;
		if (strspn(cell, " ") == width)
			continue;
		r[count++] = (struct bench_result){.test = bench_column_test(column),
						   .children = 1,
						   .file_size = file * 1024,
						   .record = record * 1024,
						   .children_rate = atof(cell)};
	}
	return count;
}

/* The rows of a sample as results; the matrix must go through the same sizes. */
static void parse_table(struct sample *s, struct bench_results *results)
{
	char *copy = strdup(s->text), *save = NULL;

	results->result = calloc(ROOM, sizeof(*results->result));
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (line[0] == ' ' && !strstr(line, "r"))
			results->count += parse_row(line, &results->result[results->count]);
	free(copy);
}

static void golden_matrix(const char *name, unsigned tests)
{
	struct sample s = {.text = read_all(name)};
	struct bench_results results = {NULL, 0, 0};
	struct bench_matrix matrix;
	char *printed = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&printed, &len);
	unsigned at = 0;

	parse_command(&s);
	parse_table(&s, &results);
	report_preamble(out, &s.opts, "DATE\n");
	report_table_head(out, &s.opts);
	matrix_start(&matrix, &s.opts);
	while (at < results.count) {
		if (s.opts.matrix)
			cr_assert(matrix_next(&matrix, &s.opts.file_size, &s.opts.record),
				  "no sizes for result %u of %u", at, results.count);
		report_table_row(out, &s.opts, &results.result[at], tests);
		at += tests;
	}
	cr_assert(!s.opts.matrix || !matrix_next(&matrix, &s.opts.file_size, &s.opts.record));
	report_end(out);
	if (s.opts.excel)
		report_excel_tables(out, &s.opts, &results);
	fclose(out);
	compare(&s, printed);
}

Test(bench_report, the_matrix_goes_through_iozones_sizes_and_prints_its_rows)
{
	golden_matrix("auto-small", 9);
}

Test(bench_report, chosen_records_print_as_iozone_does)
{
	golden_matrix("auto-yq", 4);
}

Test(bench_report, a_single_row_prints_as_iozone_does)
{
	golden_matrix("single", 6);
}

Test(bench_report, tables_for_a_spreadsheet_print_as_iozone_does)
{
	golden_matrix("excel", 4);
}

Test(bench_report, microseconds_print_as_iozone_does)
{
	struct bench_result results[] = {
		{.test = BENCH_WRITE, .ops = 16, .wall_s = 16 * 30e-6},
		{.test = BENCH_REWRITE, .ops = 16, .wall_s = 16 * 6e-6},
	};
	struct sample s = {.text = read_all("latency-ops-single")};
	char *printed = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&printed, &len);

	parse_command(&s);
	report_preamble(out, &s.opts, "DATE\n");
	report_table_head(out, &s.opts);
	report_table_row(out, &s.opts, results, 2);
	report_end(out);
	fclose(out);
	compare(&s, printed);
}

Test(bench_report, large_files_skip_small_records_unless_told_otherwise)
{
	char *argv[] = {"iozone", "-a", "-n16m", "-g32m", NULL, NULL};
	struct bench_options opts;
	struct bench_matrix matrix;
	struct util_err err = {0};
	uint64_t file, record;

	cr_assert_eq(bench_options_parse(&opts, 4, argv, &err), 0);
	matrix_start(&matrix, &opts);
	while (matrix_next(&matrix, &file, &record))
		cr_assert(file <= 16 << 20 || record >= 64 << 10);
	argv[4] = "-z";
	cr_assert_eq(bench_options_parse(&opts, 5, argv, &err), 0);
	matrix_start(&matrix, &opts);
	for (unsigned i = 0; matrix_next(&matrix, &file, &record); i++)
		cr_assert(i != 13 || (file == 32 << 20 && record == 4 << 10));
	cr_assert_eq(matrix_largest(&opts), 32u << 20);
}

Test(bench_report, each_child_is_told_when_asked)
{
	char *argv[] = {"iozone", "-C", "-t2", "-i0", NULL}, *printed = NULL;
	struct bench_part parts[] = {{.xfer = 512, .rate = 1000}, {.xfer = 256, .rate = 500}};
	struct bench_result r = {.test = BENCH_WRITE, .children = 2, .parts = parts};
	struct bench_options opts;
	struct util_err err = {0};
	size_t len = 0;
	FILE *out = open_memstream(&printed, &len);

	cr_assert_eq(bench_options_parse(&opts, 4, argv, &err), 0);
	bench_result_sum(&r);
	report_test(out, &opts, &r);
	fclose(out);
	cr_assert(
		strstr(printed, "\tChildren see throughput for  2 initial writers \t=    1500.00"));
	cr_assert(strstr(printed, "\tMin xfer \t\t\t\t\t=     256.00 kB\n"));
	cr_assert(strstr(printed, "\tChild[1] xfer count =     256.00 kB, Throughput =     500.00 "
				  "kB/sec\n"));
}

Test(bench_report, threads_are_called_threads_when_asked)
{
	char *argv[] = {"iozone", "-T", "-t2", "-i0", NULL}, *printed = NULL;
	struct bench_result r = {.test = BENCH_WRITE, .children = 2};
	struct bench_options opts;
	struct util_err err = {0};
	size_t len = 0;
	FILE *out = open_memstream(&printed, &len);

	cr_assert_eq(bench_options_parse(&opts, 4, argv, &err), 0);
	report_round(out, &opts, 2, true);
	report_test(out, &opts, &r);
	fclose(out);
	cr_assert(strstr(printed, "\tThroughput test with 2 threads\n"));
	cr_assert(strstr(printed, "\tEach thread writes a 512 kByte file in 4 kByte records\n"));
	cr_assert(strstr(printed, "\tMin throughput per thread \t\t\t=       0.00 kB/sec \n"));
	cr_assert_null(strstr(printed, "process"));
}

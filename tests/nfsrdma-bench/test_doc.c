/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Documents: what is built of results, read back as rows, compared, and printed.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/doc.h"

TestSuite(bench_doc);

/* line is split at blanks. */
static struct bench_plan *plan_of(const char *line)
{
	struct bench_options *opts = calloc(1, sizeof(*opts));
	struct bench_plan *plan = calloc(1, sizeof(*plan));
	char **argv = calloc(64, sizeof(char *)), *save = NULL, *copy = strdup(line);
	struct util_err err = {0};
	int argc = 0;

	argv[argc++] = "nfsrdma-bench";
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	cr_assert_eq(bench_options_parse(opts, argc, argv, &err), 0, "%s", err.what);
	cr_assert_eq(bench_plan_make(plan, opts, &err), 0, "%s", err.what);
	plan->complete = true;
	return plan;
}

static void result_add(struct bench_plan *plan, unsigned c, unsigned round, enum bench_test test,
		       double kbps)
{
	struct bench_result *r;

	cr_assert_eq(bench_results_room(&plan->cases[c].round[round], &r), 0);
	r->test = test;
	r->children = 4;
	r->file_size = 1 << 20;
	r->record = 64 << 10;
	r->children_rate = kbps;
	r->ops = 16;
	r->bytes = 1 << 20;
	r->cpu.user = 0.001;
	r->counted = true;
	r->counters.ledger[0] = 32;
	plan->cases[c].round[round].count++;
}

static struct doc_row *rows_of(const json_t *doc, unsigned should)
{
	struct doc_row *rows;
	unsigned count;

	cr_assert_eq(doc_rows(doc, &rows, &count), 0);
	cr_assert_eq(count, should);
	return rows;
}

Test(bench_doc, a_plan_has_all_combinations_the_last_sweep_turning_fastest)
{
	static const char labels[][40] = {
		"mr=pool proto=rdma",  "mr=pool proto=tcp",    "mr=window proto=rdma",
		"mr=window proto=tcp", "mr=per-io proto=rdma", "mr=per-io proto=tcp",
	};
	struct bench_plan *plan =
		plan_of("-o rsize=64k --sweep mr=pool,window,per-io --sweep proto=rdma,tcp");

	cr_assert_eq(plan->ncases, 6);
	cr_assert_eq(plan->rounds, 3);
	for (unsigned i = 0; i < 6; i++)
		cr_assert_str_eq(plan->cases[i].label, labels[i]);
	cr_assert_str_eq(plan->cases[3].opts.mount_opts, "rsize=64k,mr=window,proto=tcp");
}

Test(bench_doc, depth_and_record_can_be_swept_too)
{
	struct bench_plan *plan = plan_of("-s1m --sweep depth=1,8 --sweep record=4k,256k");

	cr_assert_eq(plan->ncases, 4);
	cr_assert_eq(plan->cases[3].opts.depth, 8);
	cr_assert_eq(plan->cases[3].opts.record, 256 << 10);
	cr_assert_null(plan->cases[3].opts.mount_opts);
}

Test(bench_doc, another_client_is_one_case_beside_the_sweep)
{
	struct bench_plan *plan =
		plan_of("--client nfsrdma --client posix:/tmp --sweep mr=pool,window");

	cr_assert_eq(plan->ncases, 3);
	cr_assert_str_eq(plan->cases[1].label, "client=nfsrdma mr=window");
	cr_assert_str_eq(plan->cases[2].label, "client=posix");
}

Test(bench_doc, what_cannot_be_swept_is_a_usage_error)
{
	static const char lines[][40] = {
		"--sweep mr=pool,nonsense", "--sweep nosuch=1,2",      "--sweep mr=pool,,window",
		"--sweep depth=0,1",	    "--sweep record=3000m,4k", "--sweep depth=1,x",
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lines); i++) {
		char copy[40], *argv[] = {"b", "--sweep", copy, NULL};
		struct bench_options opts;
		struct bench_plan plan;
		struct util_err err = {0};

		strcpy(copy, strchr(lines[i], ' ') + 1);
		cr_assert_eq(bench_options_parse(&opts, 3, argv, &err), 0, "%s", err.what);
		cr_assert_eq(bench_plan_make(&plan, &opts, &err), BENCH_USAGE, "%s", lines[i]);
		cr_assert(err.what[0]);
		bench_plan_free(&plan);
	}
}

Test(bench_doc, rounds_become_their_median_with_all_of_them_beside_it)
{
	struct bench_plan *plan = plan_of("--sweep mr=pool,per-io");
	double pool[] = {1000, 1400, 1200}, per_io[] = {500, 700, 600};
	struct doc_row *rows;
	json_t *doc, *tests;

	for (unsigned k = 0; k < 3; k++) {
		result_add(plan, 0, k, BENCH_READ, pool[k]);
		result_add(plan, 1, k, BENCH_READ, per_io[k]);
	}
	doc = doc_build(plan);
	tests = json_object_get(json_array_get(json_object_get(doc, "runs"), 1), "tests");
	cr_assert_eq(json_array_size(tests), 1);
	cr_assert_float_eq(doc_number(json_array_get(tests, 0), "children_kBps"), 600, 1e-9);
	rows = rows_of(doc, 2);
	cr_assert_str_eq(rows[1].label, "mr=per-io");
	cr_assert_float_eq(rows[1].kbps, 600, 1e-9);
	cr_assert_float_eq(rows[1].low_kbps, 500, 1e-9);
	cr_assert_float_eq(rows[1].high_kbps, 700, 1e-9);
	cr_assert_float_eq(rows[1].ratio, 0.5, 1e-9);
	cr_assert(rows[1].has_interval);
	cr_assert_not(rows[0].has_ratio);
}

Test(bench_doc, a_plain_run_has_tests_and_counts_per_io)
{
	struct bench_plan *plan = plan_of("-i0 -O");
	double per_io = 0;
	struct doc_row *rows;
	json_t *doc;

	/* With -O rates are operations, and the document has kB all the same. */
	result_add(plan, 0, 0, BENCH_WRITE, 10);
	doc = doc_build(plan);
	cr_assert_null(json_object_get(doc, "runs"));
	rows = rows_of(doc, 1);
	cr_assert_float_eq(rows[0].kbps, 640, 1e-9);
	cr_assert(doc_per_io(rows[0].test, "ledger", "registrations", &per_io));
	cr_assert_eq(per_io, 2);
	cr_assert_not(doc_per_io(rows[0].test, "ledger", "nonsense", &per_io));
	cr_assert(json_is_true(json_object_get(doc, "complete")));
}

Test(bench_doc, buffers_are_local_on_the_devices_node_else_on_the_threads)
{
	static const struct {
		struct bench_numa numa;
		char placement[12];
	} table[] = {
		{{.device = 1, .buffers = 1, .threads = 0}, "local"},
		{{.device = 1, .buffers = 0, .threads = 0}, "remote"},
		{{.device = 0, .buffers = BENCH_NODE_SEVERAL, .threads = 0}, "mixed"},
		{{.device = BENCH_NODE_UNKNOWN, .buffers = 1, .threads = 1}, "local"},
		{{.device = BENCH_NODE_UNKNOWN, .buffers = 0, .threads = 1}, "remote"},
		{{.device = BENCH_NODE_UNKNOWN, .buffers = 0, .threads = BENCH_NODE_SEVERAL},
		 "mixed"},
		{{.device = 0, .buffers = BENCH_NODE_UNKNOWN, .threads = 0}, "unknown"},
		{{.device = BENCH_NODE_UNKNOWN, .buffers = 0, .threads = BENCH_NODE_UNKNOWN},
		 "unknown"},
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(table); i++)
		cr_assert_str_eq(bench_numa_placement(&table[i].numa), table[i].placement, "%u", i);
}

Test(bench_doc, buffers_on_different_nodes_are_on_several)
{
	struct bench_part parts[3] = {{.node_buffers = 0, .node_thread = 1},
				      {.node_buffers = 0, .node_thread = 1},
				      {.node_buffers = 1, .node_thread = 1}};
	struct bench_result r = {.children = 2, .parts = parts};

	bench_result_sum(&r);
	cr_assert_eq(r.numa.buffers, 0);
	cr_assert_eq(r.numa.threads, 1);
	r.children = 3;
	bench_result_sum(&r);
	cr_assert_eq(r.numa.buffers, BENCH_NODE_SEVERAL);
	cr_assert_eq(r.numa.threads, 1);
}

Test(bench_doc, a_page_lies_on_a_node_that_is_there)
{
	char *page = malloc(8192);

	memset(page, 1, 8192);
	cr_assert_geq(bench_node_here(), 0);
	/* Where the system call is forbidden, as in some containers, it is not known. */
	cr_assert_geq(bench_node_of(page), BENCH_NODE_UNKNOWN);
	free(page);
}

Test(bench_doc, a_run_that_broke_off_says_why)
{
	struct bench_plan *plan = plan_of("--sweep mr=pool,per-io");
	json_t *doc;

	result_add(plan, 0, 0, BENCH_WRITE, 10);
	plan->complete = false;
	util_err_set(&plan->err, -EPIPE, "the server is gone");
	doc = doc_build(plan);
	cr_assert(json_is_false(json_object_get(doc, "complete")));
	cr_assert_str_eq(json_string_value(json_object_get(doc, "error")), "the server is gone");
	rows_of(doc, 1);
}

static json_t *doc_of(double kbps)
{
	struct bench_plan *plan = plan_of("-i1");

	result_add(plan, 0, 0, BENCH_READ, kbps);
	return doc_build(plan);
}

Test(bench_doc, the_baseline_fails_what_is_slower_and_nothing_else)
{
	struct util_err err = {0};
	FILE *out = fopen("/dev/null", "w");

	cr_assert_eq(compare_baseline(out, doc_of(960), doc_of(1000), 0.95, &err), 0);
	cr_assert_eq(compare_baseline(out, doc_of(940), doc_of(1000), 0.95, &err), 1);
	cr_assert_eq(compare_baseline(out, doc_of(2000), doc_of(1000), 0.95, &err), 0);
	cr_assert_eq(compare_baseline(out, doc_of(1), doc_of(1000), 0, &err), 0);
	cr_assert_eq(compare_baseline(out, doc_of(1), json_object(), 0.95, &err), -ENOENT);
	cr_assert(err.hint[0]);
}

Test(bench_doc, a_comparison_has_a_ratio_for_each_file)
{
	json_t *docs[] = {doc_of(1000), doc_of(1500), doc_of(1)};
	char *names[] = {"a", "b", "c"}, *printed = NULL;
	struct util_err err = {0};
	size_t len = 0;
	FILE *out = open_memstream(&printed, &len);

	/* another test's document */
	json_object_set_new(json_array_get(json_object_get(docs[2], "tests"), 0), "name",
			    json_string("rewriters"));
	cr_assert_eq(compare_print(out, docs, names, 3, &err), 0);
	docs[2] = json_object();
	cr_assert_eq(compare_print(out, docs, names, 3, &err), -ENODATA);
	cr_assert_str_eq(err.what, "c: it has no tests");
	fclose(out);
	cr_assert(strstr(printed, "ratio  1.500"), "%s", printed);
	cr_assert(strstr(printed, "  c                                     -\n"), "%s", printed);
}

Test(bench_doc, documents_of_others_are_refused_by_name)
{
	static const char texts[][60] = {"", "{", "[]", "{\"schema\":\"other/1\"}",
					 "{\"schema\":7}"};
	char name[] = "/tmp/bench-doc-XXXXXX";
	int fd = mkstemp(name);

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(texts); i++) {
		struct util_err err = {0};

		cr_assert_eq(ftruncate(fd, 0), 0);
		cr_assert_eq(pwrite(fd, texts[i], strlen(texts[i]), 0), (ssize_t)strlen(texts[i]));
		cr_assert_null(doc_read(name, &err), "%s", texts[i]);
		cr_assert(strstr(err.what, name));
	}
	close(fd);
	unlink(name);
}

Test(bench_doc, a_document_with_wrong_types_reads_as_nothing)
{
	static const char text[] =
		"{\"runs\":[{\"set\":{\"mr\":7},\"tests\":[{\"name\":3,\"children_kBps\":\"x\","
		"\"rounds_kBps\":[\"a\",null],\"ratio\":5,\"latency_us\":[]},8]},9],\"tests\":{}}";
	json_t *doc = json_loads(text, 0, NULL);
	struct doc_row *rows = rows_of(doc, 2);
	FILE *out = fopen("/dev/null", "w");

	cr_assert_eq(rows[0].kbps, 0);
	cr_assert_str_eq(rows[0].name, "");
	cr_assert_eq(table_print(out, doc, ""), 0);
	cr_assert_eq(report_html_write(doc, out), 0);
}

Test(bench_doc, a_page_holds_the_figures_and_no_markup_from_outside)
{
	struct bench_plan *plan =
		plan_of("--sweep mr=pool,per-io --json <script>alert(1)</script>");
	char *printed = NULL;
	size_t len = 0;
	FILE *out;

	for (unsigned k = 0; k < 3; k++) {
		result_add(plan, 0, k, BENCH_READ, 2000000);
		result_add(plan, 1, k, BENCH_READ, 1000000);
	}
	strcpy(plan->cases[0].env.host, "<b>&\"host\"");
	out = open_memstream(&printed, &len);
	cr_assert_eq(report_html_write(doc_build(plan), out), 0);
	fclose(out);
	cr_assert(strstr(printed, "50 % slower"), "%s", printed);
	cr_assert(strstr(printed, "data-kbps=\"1000000.00\">1024.0<"));
	cr_assert(strstr(printed, "&lt;b&gt;&amp;&quot;host&quot;"));
	cr_assert_null(strstr(printed, "<b>&"));
	cr_assert_null(strstr(printed, "<script>alert"));
	cr_assert_null(strstr(printed, "http"));
}

Test(bench_doc, csv_quotes_what_it_must_and_has_a_line_per_test)
{
	struct bench_plan *plan = plan_of("--sweep mr=pool,per-io");
	char name[] = "/tmp/bench-csv-XXXXXX", line[2000];
	unsigned commas = 0, lines = 0;
	struct util_err err = {0};
	FILE *f;

	close(mkstemp(name));
	strcpy(plan->cases[1].set[0].value, "a,\"b\"");
	result_add(plan, 0, 0, BENCH_READ, 1000);
	result_add(plan, 1, 0, BENCH_READ, 500);
	cr_assert_eq(csv_write(doc_build(plan), name, &err), 0);
	f = fopen(name, "r");
	while (fgets(line, sizeof(line), f)) {
		unsigned n = 0;

		for (const char *p = line; *p; p++)
			n += *p == ',';
		if (!lines)
			commas = n;
		else
			cr_assert_eq(n, commas + (lines == 2), "%s", line);
		cr_assert(lines != 2 || strstr(line, "\"mr=a,\"\"b\"\"\",readers,"), "%s", line);
		lines++;
	}
	cr_assert_eq(lines, 3);
	unlink(name);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doc.h - results as a document, schema "nfsrdma-bench/1", and the document as rows.
 *
 * A plain run's document has "tests".  That of several cases has "runs", one per case, each with
 * what it "set", its "env" and its "tests".  A test that was run in several rounds stands there as
 * the round with the median throughput, with all rounds' throughputs beside it.
 */
#ifndef NFSRDMA_BENCH_DOC_H
#define NFSRDMA_BENCH_DOC_H

#include <jansson.h>

#include "tools/nfsrdma-bench/bench.h"

/* A new reference; NULL: no memory. */
json_t *doc_build(const struct bench_plan *plan);
/* 0 or -errno with err filled; "-" is standard output. */
int doc_write(const json_t *doc, const char *name, struct util_err *err);
/* A new reference, or NULL with err filled: not there, not JSON, not ours. */
json_t *doc_read(const char *name, struct util_err *err);

/* One test of one case; strings and json belong to the document. */
struct doc_row {
	const char *label; /* of the case, "" in a plain run */
	const json_t *run; /* NULL in a plain run */
	const json_t *test;
	const char *name;
	unsigned children;
	double file_kb, record_kb;
	double kbps, low_kbps, high_kbps; /* median, least, most */
	unsigned rounds;
	double cpu_per_gib, server_cpu_s, p50, p99;
	bool has_ratio, has_interval;
	double ratio, ratio_low, ratio_high;
};

/* 0 or -ENOMEM; *rowsp is to be freed. */
int doc_rows(const json_t *doc, struct doc_row **rowsp, unsigned *countp);
/* Same test, children and sizes? */
bool doc_row_same_test(const struct doc_row *a, const struct doc_row *b);
/* A number beneath an object's member, 0 where there is none. */
double doc_number(const json_t *object, const char *name);
/* "ledger" or "transport" per I/O: false where it was not counted. */
bool doc_per_io(const json_t *test, const char *group, const char *name, double *valuep);

/* ---- printers of documents ---- */

/* The table of several cases, each line prefixed. */
int table_print(FILE *out, const json_t *doc, const char *prefix);
/* --compare: names[i] is documents[i]'s file. */
int compare_print(FILE *out, json_t *const *docs, char *const *names, unsigned count,
		  struct util_err *err);
/* --baseline: 0, or 1 when a test is slower than limit times the baseline's, or -errno. */
int compare_baseline(FILE *out, const json_t *doc, const json_t *baseline, double limit,
		     struct util_err *err);
int csv_write(const json_t *doc, const char *name, struct util_err *err);
/* By the name's ending. */
int report_file_write(const json_t *doc, const char *name, struct util_err *err);
int report_html_write(const json_t *doc, FILE *out);
int report_gnuplot_write(const json_t *doc, const char *name, struct util_err *err);

#endif

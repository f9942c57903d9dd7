/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doc_rows.c - a document as rows, for tables, pictures and comparisons.
 *
 * Documents come from files, too: whatever is missing or of another type reads as 0 or "".
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/doc.h"
#include "tools/nfsrdma-bench/stats.h"

double doc_number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

bool doc_per_io(const json_t *test, const char *group, const char *name, double *valuep)
{
	const json_t *counters = json_object_get(test, group);
	char key[64];

	snprintf(key, sizeof(key), "%s_per_io", name);
	if (!json_object_get(counters, key))
		return false;
	*valuep = doc_number(counters, key);
	return true;
}

/* The median, the least and the most; of one round, three times the same. */
static void rows_throughput(struct doc_row *row)
{
	const json_t *rounds = json_object_get(row->test, "rounds_kBps");
	double kbps[BENCH_ROUNDS_MAX];
	size_t n = json_array_size(rounds);

	row->kbps = row->low_kbps = row->high_kbps = doc_number(row->test, "children_kBps");
	row->rounds = 1;
	if (!n || n > BENCH_ROUNDS_MAX)
		return;
	for (size_t i = 0; i < n; i++)
		kbps[i] = json_number_value(json_array_get(rounds, i));
	row->rounds = (unsigned)n;
	row->kbps = stats_median(kbps, (unsigned)n);
	row->low_kbps = kbps[0];
	row->high_kbps = kbps[n - 1];
}

static void rows_one(struct doc_row *row, const json_t *run, const char *label, const json_t *test)
{
	const json_t *ratio = json_object_get(test, "ratio");
	const json_t *latency = json_object_get(test, "latency_us");
	const char *name = json_string_value(json_object_get(test, "name"));

	*row = (struct doc_row){.label = label, .run = run, .test = test, .name = name ? name : ""};
	row->children = (unsigned)doc_number(test, "children");
	row->file_kb = doc_number(test, "file_kB");
	row->record_kb = doc_number(test, "record_kB");
	row->cpu_per_gib = doc_number(test, "cpu_s_per_GiB");
	row->server_cpu_s = doc_number(test, "server_cpu_s");
	row->p50 = doc_number(latency, "p50");
	row->p99 = doc_number(latency, "p99");
	rows_throughput(row);
	row->has_ratio = ratio != NULL;
	row->ratio = doc_number(ratio, "mean");
	row->ratio_low = doc_number(ratio, "low95");
	row->ratio_high = doc_number(ratio, "high95");
	row->has_interval = row->ratio_high > 0;
}

/* Invalidations of the software IOMMU that were made to last (iommu-inval-ns): its figures are not
 * measurements, and whatever shows them says so. */
static bool rows_modelled(const json_t *run)
{
	const char *iommu =
		json_string_value(json_object_get(json_object_get(run, "env"), "iommu"));

	return iommu && strstr(iommu, "modelled");
}

/* "mr=pool proto=rdma": kept in the document, so that it lives as long. */
static const char *rows_label(json_t *run)
{
	json_t *set = json_object_get(run, "set"), *value;
	char label[BENCH_SETS_MAX * 100] = "";
	const char *key, *known = json_string_value(json_object_get(run, "label"));

	if (known)
		return known;
	json_object_foreach(set, key, value)
	{
		size_t len = strlen(label);
		const char *text = json_string_value(value);

		snprintf(label + len, sizeof(label) - len, "%s%s=%s", len ? " " : "", key,
			 text ? text : "");
	}
	if (rows_modelled(run))
		snprintf(label + strlen(label), sizeof(label) - strlen(label), " modelled");
	json_object_set_new(run, "label", json_string(label));
	known = json_string_value(json_object_get(run, "label"));
	return known ? known : "";
}

static size_t rows_count(const json_t *doc)
{
	const json_t *runs = json_object_get(doc, "runs");
	size_t n = json_array_size(json_object_get(doc, "tests"));

	for (size_t i = 0; i < json_array_size(runs); i++)
		n += json_array_size(json_object_get(json_array_get(runs, i), "tests"));
	return n;
}

static unsigned rows_tests(struct doc_row *rows, const json_t *run, const char *label,
			   const json_t *tests)
{
	unsigned n = 0;

	for (size_t i = 0; i < json_array_size(tests); i++)
		rows_one(&rows[n++], run, label, json_array_get(tests, i));
	return n;
}

int doc_rows(const json_t *doc, struct doc_row **rowsp, unsigned *countp)
{
	const json_t *runs = json_object_get(doc, "runs");
	size_t room = rows_count(doc);
	struct doc_row *rows = calloc(room + 1, sizeof(*rows));
	unsigned n;

	if (!rows)
		return -ENOMEM;
	n = rows_tests(rows, NULL, rows_modelled(doc) ? "modelled" : "",
		       json_object_get(doc, "tests"));
	for (size_t i = 0; i < json_array_size(runs); i++) {
		json_t *run = json_array_get(runs, i);

		n += rows_tests(rows + n, run, rows_label(run), json_object_get(run, "tests"));
	}
	*rowsp = rows;
	*countp = n;
	return 0;
}

bool doc_row_same_test(const struct doc_row *a, const struct doc_row *b)
{
	return !strcmp(a->name, b->name) && a->children == b->children &&
	       (long)a->file_kb == (long)b->file_kb && (long)a->record_kb == (long)b->record_kb;
}

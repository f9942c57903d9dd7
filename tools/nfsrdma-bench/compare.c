/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare.c - documents against each other: a table with ratios, and the verdict for a bisection.
 *
 * A test of one document belongs to the test of the other that has the same case, name, number of
 * children and sizes.  Ratios are of medians: the documents were not measured in turns, so nothing
 * better can be said, and the spread stands beside them.
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/doc.h"

struct compare_table {
	struct doc_row *rows;
	unsigned count;
};

static const struct doc_row *compare_find(const struct compare_table *table,
					  const struct doc_row *like)
{
	for (unsigned i = 0; i < table->count; i++)
		if (!strcmp(table->rows[i].label, like->label) &&
		    doc_row_same_test(&table->rows[i], like))
			return &table->rows[i];
	return NULL;
}

static void compare_line(FILE *out, const char *name, const struct doc_row *row,
			 const struct doc_row *first)
{
	fprintf(out, "  %-30s ", name);
	if (!row) {
		fputs("       -\n", out);
		return;
	}
	fprintf(out,
		"%8.1f (%.1f .. %.1f) MB/s  ratio %6.3f  %6.3f s/GiB  p50 %.0f us, p99 %.0f us\n",
		row->kbps * 1.024e-3, row->low_kbps * 1.024e-3, row->high_kbps * 1.024e-3,
		first->kbps > 0 ? row->kbps / first->kbps : 0.0, row->cpu_per_gib, row->p50,
		row->p99);
}

static void compare_tables(FILE *out, const struct compare_table *tables, char *const *names,
			   unsigned count)
{
	for (unsigned i = 0; i < tables[0].count; i++) {
		const struct doc_row *first = &tables[0].rows[i];

		fprintf(out, "%u %s, files of %.0f kB, records of %.0f kB%s%s\n", first->children,
			first->name, first->file_kb, first->record_kb, first->label[0] ? ", " : "",
			first->label);
		for (unsigned k = 0; k < count; k++)
			compare_line(out, names[k], compare_find(&tables[k], first), first);
	}
}

int compare_print(FILE *out, json_t *const *docs, char *const *names, unsigned count,
		  struct util_err *err)
{
	struct compare_table *tables = calloc(count, sizeof(*tables));
	int ret = tables ? 0 : -ENOMEM;

	for (unsigned i = 0; i < count && !ret; i++)
		ret = doc_rows(docs[i], &tables[i].rows, &tables[i].count);
	for (unsigned i = 0; i < count && !ret; i++)
		if (!tables[i].count)
			ret = util_err_set(err, -ENODATA, "%s: it has no tests", names[i]);
	if (!ret)
		compare_tables(out, tables, names, count);
	for (unsigned i = 0; tables && i < count; i++)
		free(tables[i].rows);
	free(tables);
	return ret;
}

/* ---- the baseline -----------------------------------------------------------------------------
 */

static bool compare_slower(FILE *out, const struct doc_row *now, const struct doc_row *then,
			   double limit)
{
	double ratio = then->kbps > 0 ? now->kbps / then->kbps : 0;
	bool slower = ratio < limit;

	fprintf(out, "# baseline: %u %s%s%s: %.1f MB/s, was %.1f: ratio %.3f%s\n", now->children,
		now->name, now->label[0] ? ", " : "", now->label, now->kbps * 1.024e-3,
		then->kbps * 1.024e-3, ratio, slower ? ", slower than --fail-below allows" : "");
	return slower;
}

int compare_baseline(FILE *out, const json_t *doc, const json_t *baseline, double limit,
		     struct util_err *err)
{
	struct compare_table now = {NULL, 0}, then = {NULL, 0};
	unsigned compared = 0;
	int ret = doc_rows(doc, &now.rows, &now.count), slower = 0;

	if (!ret)
		ret = doc_rows(baseline, &then.rows, &then.count);
	if (ret)
		util_err_set(err, ret, "no memory");
	for (unsigned i = 0; i < now.count && !ret; i++) {
		const struct doc_row *was = compare_find(&then, &now.rows[i]);

		if (!was)
			continue;
		compared++;
		slower |= compare_slower(out, &now.rows[i], was, limit);
	}
	if (!ret && !compared) {
		ret = util_err_set(err, -ENOENT, "the baseline has none of these tests");
		util_err_hint(err, "same -i, -s, -r, -t and --sweep as then?");
	}
	free(now.rows);
	free(then.rows);
	return ret ? ret : slower;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c - several cases side by side, as text: test by test, a line per case.
 */
#include <stdlib.h>

#include "tools/nfsrdma-bench/doc.h"

static int table_label_width(const struct doc_row *rows, unsigned count)
{
	size_t width = 4;

	for (unsigned i = 0; i < count; i++)
		if (strlen(rows[i].label) > width)
			width = strlen(rows[i].label);
	return (int)width;
}

static void table_ratio(FILE *out, const struct doc_row *row)
{
	if (!row->has_ratio)
		fprintf(out, "  %6s %16s", "1", "");
	else if (row->has_interval)
		fprintf(out, "  %6.3f  [%5.3f .. %5.3f]", row->ratio, row->ratio_low,
			row->ratio_high);
	else
		fprintf(out, "  %6.3f %16s", row->ratio, "");
}

/* How near the buffers were, where anything can be far: several nodes. */
static const char *table_placement(const struct doc_row *row)
{
	if (!row->run || doc_number(json_object_get(row->run, "env"), "numa_nodes") < 2)
		return NULL;
	return json_string_value(json_object_get(json_object_get(row->test, "numa"), "placement"));
}

static void table_line(FILE *out, const struct doc_row *row, int width)
{
	const char *placement;
	double maps;

	fprintf(out, "  %-*s %8.1f (%.1f .. %.1f) MB/s", width, row->label, row->kbps * 1.024e-3,
		row->low_kbps * 1.024e-3, row->high_kbps * 1.024e-3);
	table_ratio(out, row);
	fprintf(out, "  %6.3f s/GiB  p50 %.0f us, p99 %.0f us", row->cpu_per_gib, row->p50,
		row->p99);
	if (doc_per_io(row->test, "ledger", "registrations", &maps))
		fprintf(out, "  registrations %.3g/IO", maps);
	if (doc_per_io(row->test, "ledger", "iotlb_lookups", &maps) && maps > 0)
		fprintf(out, "  IOTLB look-ups %.3g/IO", maps);
	if (doc_per_io(row->test, "ledger", "iova_maps", &maps) && maps > 0)
		fprintf(out, "  maps %.3g/IO", maps);
	if (doc_per_io(row->test, "ledger", "iommu_flushes", &maps) && maps > 0)
		fprintf(out, "  flushes %.3g/IO", maps);
	placement = table_placement(row);
	if (placement)
		fprintf(out, "  %s", placement);
	fputc('\n', out);
}

static bool table_seen(const struct doc_row *rows, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (doc_row_same_test(&rows[k], &rows[i]))
			return true;
	return false;
}

int table_print(FILE *out, const json_t *doc, const char *prefix)
{
	struct doc_row *rows;
	unsigned count;
	int ret = doc_rows(doc, &rows, &count), width;

	if (ret)
		return ret;
	width = table_label_width(rows, count);
	if (count)
		fprintf(out,
			"%sthroughput: median of %u round%s (least .. most); ratio to %s [95 %% "
			"confidence]; CPU of the bench\n",
			prefix, rows[0].rounds, rows[0].rounds == 1 ? "" : "s",
			rows[0].label[0] ? rows[0].label : "the first");
	for (unsigned i = 0; i < count; i++) {
		if (table_seen(rows, i))
			continue;
		fprintf(out, "%s%u %s, files of %.0f kB, records of %.0f kB\n", prefix,
			rows[i].children, rows[i].name, rows[i].file_kb, rows[i].record_kb);
		for (unsigned k = i; k < count; k++) {
			if (!doc_row_same_test(&rows[k], &rows[i]))
				continue;
			fputs(prefix, out);
			table_line(out, &rows[k], width);
		}
	}
	free(rows);
	return 0;
}

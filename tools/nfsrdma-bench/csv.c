/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csv.c - a line per case and test, RFC 4180's way, the first line with the names.
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/doc.h"

static const char csv_numbers[][20] = {
	"children",	 "file_kB",	 "record_kB",  "children_kBps",
	"parent_kBps",	 "min_kBps",	 "max_kBps",   "avg_kBps",
	"min_xfer_kB",	 "wall_s",	 "cpu_user_s", "cpu_system_s",
	"cpu_s_per_GiB", "server_cpu_s", "ios",	       "bytes",
};
static const char csv_latency[][8] = {"p50", "p95", "p99", "p99.9", "max"};

/* Quoted where it must be. */
static void csv_text(FILE *f, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void csv_head(FILE *f)
{
	fputs("case,test", f);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(csv_numbers); i++)
		fprintf(f, ",%s", csv_numbers[i]);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(csv_latency); i++)
		fprintf(f, ",latency_us_%s", csv_latency[i]);
	for (unsigned i = 0; i < BENCH_LEDGER_FIELDS; i++)
		fprintf(f, ",%s", bench_ledger_name(i));
	for (unsigned i = 0; i < BENCH_TRANSPORT_FIELDS; i++)
		fprintf(f, ",%s", bench_transport_name(i));
	fputs(",ratio,ratio_low95,ratio_high95,rounds_least_kBps,rounds_most_kBps\n", f);
}

static void csv_number(FILE *f, const json_t *o, const char *name)
{
	fputc(',', f);
	if (json_is_number(json_object_get(o, name)))
		fprintf(f, "%.9g", doc_number(o, name));
}

static void csv_row(FILE *f, const struct doc_row *row)
{
	const json_t *test = row->test, *ratio = json_object_get(test, "ratio");

	csv_text(f, row->label);
	fputc(',', f);
	csv_text(f, row->name);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(csv_numbers); i++)
		csv_number(f, test, csv_numbers[i]);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(csv_latency); i++)
		csv_number(f, json_object_get(test, "latency_us"), csv_latency[i]);
	for (unsigned i = 0; i < BENCH_LEDGER_FIELDS; i++)
		csv_number(f, json_object_get(test, "ledger"), bench_ledger_name(i));
	for (unsigned i = 0; i < BENCH_TRANSPORT_FIELDS; i++)
		csv_number(f, json_object_get(test, "transport"), bench_transport_name(i));
	csv_number(f, ratio, "mean");
	csv_number(f, ratio, "low95");
	csv_number(f, ratio, "high95");
	fprintf(f, ",%.9g,%.9g\n", row->low_kbps, row->high_kbps);
}

int csv_write(const json_t *doc, const char *name, struct util_err *err)
{
	bool own = strcmp(name, "-") != 0;
	struct doc_row *rows;
	unsigned count;
	int ret = doc_rows(doc, &rows, &count);
	FILE *f;

	if (ret)
		return util_err_set(err, ret, "no memory");
	f = own ? fopen(name, "we") : stdout;
	if (!f) {
		free(rows);
		return util_err_set(err, -errno, "write %s: %s", name, strerror(errno));
	}
	csv_head(f);
	for (unsigned i = 0; i < count; i++)
		csv_row(f, &rows[i]);
	free(rows);
	errno = 0;
	ret = fflush(f) || ferror(f) ? -(errno ? errno : EIO) : 0;
	if (own && fclose(f) && !ret)
		ret = -errno;
	return ret ? util_err_set(err, ret, "write %s: %s", name, strerror(-ret)) : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_gnuplot.c - the throughput of every case and test as one picture, drawn by gnuplot.
 *
 * gnuplot is started with a script on its standard input.  Names go into it as quoted data, in
 * which a double quote and a backslash would end or change a name, so those become blanks.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/doc.h"

static void gnuplot_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++)
		fputc(*text == '"' || *text == '\\' || (unsigned char)*text < 0x20 ? ' ' : *text,
		      out);
	fputc('"', out);
}

static bool gnuplot_new_case(const struct doc_row *rows, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (!strcmp(rows[k].label, rows[i].label))
			return false;
	return true;
}

static bool gnuplot_new_test(const struct doc_row *rows, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (doc_row_same_test(&rows[k], &rows[i]))
			return false;
	return true;
}

/* A block per case: a line per test, in the order of the first case. */
static unsigned gnuplot_data(FILE *out, const struct doc_row *rows, unsigned count)
{
	unsigned cases = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!gnuplot_new_case(rows, i))
			continue;
		fprintf(out, "$case%u << END\n", cases++);
		for (unsigned t = 0; t < count; t++) {
			const struct doc_row *found = NULL;

			if (!gnuplot_new_test(rows, t))
				continue;
			for (unsigned k = 0; k < count && !found; k++)
				if (!strcmp(rows[k].label, rows[i].label) &&
				    doc_row_same_test(&rows[k], &rows[t]))
					found = &rows[k];
			gnuplot_quoted(out, rows[t].name);
			fprintf(out, " %.2f %.2f %.2f\n", found ? found->kbps * 1.024e-3 : 0,
				found ? found->low_kbps * 1.024e-3 : 0,
				found ? found->high_kbps * 1.024e-3 : 0);
		}
		fputs("END\n", out);
	}
	return cases;
}

static void gnuplot_plot(FILE *out, const struct doc_row *rows, unsigned count)
{
	unsigned drawn = 0;

	fputs("plot ", out);
	for (unsigned i = 0; i < count; i++) {
		if (!gnuplot_new_case(rows, i))
			continue;
		fprintf(out, "%s$case%u using 2:3:4:xtic(1) title ", drawn ? ", " : "", drawn);
		gnuplot_quoted(out, rows[i].label[0] ? rows[i].label : "median, least to most");
		drawn++;
	}
	fputc('\n', out);
}

static void gnuplot_script(FILE *out, const json_t *doc, const struct doc_row *rows, unsigned count,
			   const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *host = json_string_value(json_object_get(json_object_get(doc, "env"), "host"));

	fprintf(out, "set terminal %s size 1100,600\nset output ",
		!strcmp(dot, ".png") ? "pngcairo" : "svg");
	gnuplot_quoted(out, name);
	fputs("\nset title noenhanced\nset key outside top center horizontal noenhanced\n"
	      "set xtics noenhanced rotate by -20\nset title ",
	      out);
	gnuplot_quoted(out, host ? host : "nfsrdma-bench");
	fputs("\nset style data histograms\nset style histogram errorbars gap 1 lw 1\n"
	      "set style fill solid 0.8 border -1\nset ylabel 'MB/s'\nset yrange [0:*]\n"
	      "set grid ytics\nset datafile separator whitespace\n",
	      out);
	gnuplot_data(out, rows, count);
	gnuplot_plot(out, rows, count);
}

/* popen() leaves it to a shell to find gnuplot: 127 is its word for "not found". */
static int gnuplot_run(const json_t *doc, const struct doc_row *rows, unsigned count,
		       const char *name, struct util_err *err)
{
	FILE *out = popen("exec gnuplot - >&2", "we");
	int status;

	if (!out)
		return util_err_set(err, -errno, "start gnuplot: %s", strerror(errno));
	gnuplot_script(out, doc, rows, count, name);
	status = pclose(out);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		util_err_set(err, -ENOENT, "--report %s: there is no gnuplot", name);
		util_err_hint(err, "install gnuplot-nox, or ask for a page: --report FILE.html");
		return -ENOENT;
	}
	return status ? util_err_set(err, -EIO, "--report %s: gnuplot failed", name) : 0;
}

int report_gnuplot_write(const json_t *doc, const char *name, struct util_err *err)
{
	struct doc_row *rows;
	unsigned count;
	int ret = doc_rows(doc, &rows, &count);

	if (ret)
		return util_err_set(err, ret, "no memory");
	ret = gnuplot_run(doc, rows, count, name, err);
	free(rows);
	return ret;
}

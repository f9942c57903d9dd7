/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_file.c - --report: which kind of report a name asks for.
 */
#include <errno.h>

#include "tools/nfsrdma-bench/doc.h"

int report_file_write(const json_t *doc, const char *name, struct util_err *err)
{
	const char *dot = strrchr(name, '.');
	FILE *out;
	int ret;

	if (!dot || strcmp(dot, ".html"))
		return report_gnuplot_write(doc, name, err);
	out = fopen(name, "we");
	if (!out)
		return util_err_set(err, -errno, "write %s: %s", name, strerror(errno));
	ret = report_html_write(doc, out);
	if (!ret && (fflush(out) || ferror(out)))
		ret = -EIO;
	if (fclose(out) && !ret)
		ret = -EIO;
	return ret ? util_err_set(err, ret, "write %s: %s", name, strerror(-ret)) : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * picture.h - inline SVG for the page of --report: bars per case, grouped by test.
 */
#ifndef NFSRDMA_BENCH_PICTURE_H
#define NFSRDMA_BENCH_PICTURE_H

#include "tools/nfsrdma-bench/doc.h"

/* How a case is drawn: a hue for the first thing it sets, a strength for the rest. */
struct picture_style {
	unsigned hue, strength;
};

/* styles[i] for rows[i]. */
void picture_styles(const struct doc_row *rows, unsigned count, struct picture_style *styles);

/* What a bar shows: its length, and a whisker from low to high (low == high: none). */
struct picture_value {
	double value, low, high;
	char text[64]; /* beside the bar */
};

typedef void picture_value_of(const struct doc_row *row, struct picture_value *v);

void picture_bars(FILE *out, const struct doc_row *rows, unsigned count,
		  const struct picture_style *styles, picture_value_of *value_of, const char *title,
		  const char *unit);
/* From p50 over p99 to the maximum, on a logarithmic axis. */
void picture_latency(FILE *out, const struct doc_row *rows, unsigned count,
		     const struct picture_style *styles);

/* Text into HTML and XML, safe. */
void picture_text(FILE *out, const char *text);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * picture.c - bars and latency ranges as SVG.
 *
 * Everything is laid out in one column: a heading per test, below it a bar per case with its name
 * to the left and its figure to the right, so that nothing has to be looked up in a legend. Colours
 * are classes (h0s0: first hue, full strength) and come from the page's style, which has a light
 * and a dark set.
 */
#include <math.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/picture.h"

#define PICTURE_WIDTH 900.0
#define PICTURE_LABEL 230.0 /* room for names */
#define PICTURE_LETTER 7.0  /* what one takes of it, or somewhat less */
#define PICTURE_TEXT 190.0  /* room for figures */
#define PICTURE_BAR 20.0
#define PICTURE_GAP 4.0
#define PICTURE_HEADING 34.0
#define PICTURE_AXIS 26.0
#define PICTURE_HUES 6
#define PICTURE_STRENGTHS 3

void picture_text(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
		}
}

/* ---- styles -----------------------------------------------------------------------------------
 */

/* A label's first word, or what follows it. */
static const char *picture_part(const char *label, bool first, size_t *lenp)
{
	size_t len = strcspn(label, " ");

	if (first) {
		*lenp = len;
		return label;
	}
	*lenp = strlen(label + len);
	return label + len;
}

/* The place of row's part among the distinct ones, in order of appearance. */
static unsigned picture_rank(const struct doc_row *rows, unsigned row, bool first)
{
	size_t len, other_len;
	const char *part = picture_part(rows[row].label, first, &len), *other, *earlier;
	unsigned rank = 0;

	for (unsigned i = 0; i < row; i++) {
		bool seen = false;

		other = picture_part(rows[i].label, first, &other_len);
		if (other_len == len && !memcmp(other, part, len))
			return rank;
		for (unsigned k = 0; k < i && !seen; k++) {
			size_t earlier_len;

			earlier = picture_part(rows[k].label, first, &earlier_len);
			seen = earlier_len == other_len && !memcmp(earlier, other, other_len);
		}
		rank += !seen;
	}
	return rank;
}

void picture_styles(const struct doc_row *rows, unsigned count, struct picture_style *styles)
{
	for (unsigned i = 0; i < count; i++) {
		styles[i].hue = picture_rank(rows, i, true) % PICTURE_HUES;
		styles[i].strength = picture_rank(rows, i, false) % PICTURE_STRENGTHS;
	}
}

/* ---- groups: the rows of one test -------------------------------------------------------------
 */

static bool picture_leads(const struct doc_row *rows, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (doc_row_same_test(&rows[k], &rows[i]))
			return false;
	return true;
}

static unsigned picture_groups(const struct doc_row *rows, unsigned count)
{
	unsigned groups = 0;

	for (unsigned i = 0; i < count; i++)
		groups += picture_leads(rows, i);
	return groups;
}

static void picture_begin(FILE *out, double height, const char *title)
{
	fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", PICTURE_WIDTH,
		height);
	picture_text(out, title);
	fputs("\">\n", out);
}

static void picture_heading(FILE *out, const struct doc_row *row, double y)
{
	fprintf(out, "<text class=\"g\" x=\"0\" y=\"%.1f\">%u ", y + PICTURE_HEADING - 10,
		row->children);
	picture_text(out, row->name);
	fprintf(out, ", %.0f kB records</text>\n", row->record_kb);
}

static void picture_name(FILE *out, const struct doc_row *row, double y)
{
	const char *name = row->label[0] ? row->label : row->name;

	fprintf(out, "<text class=\"l\" x=\"%.0f\" y=\"%.1f\"", PICTURE_LABEL - 8, y + 14);
	if ((double)strlen(name) * PICTURE_LETTER > PICTURE_LABEL - 8) /* squeezed, not cut off */
		fprintf(out, " textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\"",
			PICTURE_LABEL - 10);
	fputc('>', out);
	picture_text(out, name);
	fputs("</text>\n", out);
}

/* 1, 2 or 5 times a power of ten: about five steps up to max. */
static double picture_step(double max)
{
	double raw = max / 5, power = pow(10, floor(log10(raw))), digit = raw / power;

	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static void picture_grid(FILE *out, double x, double top, double bottom, const char *text)
{
	fprintf(out,
		"<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
		"<text class=\"t\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		x, x, top, bottom, x, bottom + 16, text);
}

static double picture_room(void)
{
	return PICTURE_WIDTH - PICTURE_LABEL - PICTURE_TEXT;
}

/* ---- bars -------------------------------------------------------------------------------------
 */

static void picture_bar(FILE *out, const struct picture_value *v, const struct picture_style *style,
			double y, double scale)
{
	double low = PICTURE_LABEL + v->low * scale, high = PICTURE_LABEL + v->high * scale;
	double end = PICTURE_LABEL + v->value * scale, middle = y + PICTURE_BAR / 2;

	fprintf(out,
		"<rect class=\"h%us%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" "
		"rx=\"2\"/>\n",
		style->hue, style->strength, PICTURE_LABEL, y, end - PICTURE_LABEL, PICTURE_BAR);
	if (v->high > v->low)
		fprintf(out, "<path class=\"w\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8\"/>\n",
			low, middle, high, low, middle - 4, high, middle - 4);
	fprintf(out, "<text class=\"v\" x=\"%.1f\" y=\"%.1f\">", (high > end ? high : end) + 8,
		y + 14);
	picture_text(out, v->text);
	fputs("</text>\n", out);
}

static double picture_max(const struct doc_row *rows, unsigned count, picture_value_of *value_of)
{
	double max = 0;

	for (unsigned i = 0; i < count; i++) {
		struct picture_value v = {0};

		value_of(&rows[i], &v);
		max = fmax(max, fmax(v.value, v.high));
	}
	return max > 0 ? max : 1;
}

static void picture_bar_axis(FILE *out, double max, double scale, double height, const char *unit)
{
	double step = picture_step(max);
	char text[32];

	for (double at = 0; at <= max * 1.0001; at += step) {
		snprintf(text, sizeof(text), "%g", at);
		picture_grid(out, PICTURE_LABEL + at * scale, PICTURE_HEADING / 2,
			     height - PICTURE_AXIS, text);
	}
	fprintf(out, "<text class=\"v\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		PICTURE_LABEL + picture_room() + 8, height - PICTURE_AXIS + 16, unit);
}

void picture_bars(FILE *out, const struct doc_row *rows, unsigned count,
		  const struct picture_style *styles, picture_value_of *value_of, const char *title,
		  const char *unit)
{
	double height = picture_groups(rows, count) * PICTURE_HEADING +
			count * (PICTURE_BAR + PICTURE_GAP) + PICTURE_AXIS + 8;
	double max = picture_max(rows, count, value_of), scale = picture_room() / max, y = 0;

	picture_begin(out, height, title);
	picture_bar_axis(out, max, scale, height, unit);
	for (unsigned i = 0; i < count; i++) {
		if (!picture_leads(rows, i))
			continue;
		picture_heading(out, &rows[i], y);
		y += PICTURE_HEADING;
		for (unsigned k = i; k < count; k++) {
			struct picture_value v = {0};

			if (!doc_row_same_test(&rows[k], &rows[i]))
				continue;
			value_of(&rows[k], &v);
			picture_name(out, &rows[k], y);
			picture_bar(out, &v, &styles[k], y, scale);
			y += PICTURE_BAR + PICTURE_GAP;
		}
	}
	fputs("</svg>\n", out);
}

/* ---- latency ----------------------------------------------------------------------------------
 */

struct picture_log {
	double min, max; /* powers of ten */
};

static double picture_log_x(const struct picture_log *axis, double us)
{
	double at = (log10(fmax(us, axis->min)) - log10(axis->min)) /
		    (log10(axis->max) - log10(axis->min));

	return PICTURE_LABEL + at * picture_room();
}

static void picture_log_range(const struct doc_row *rows, unsigned count, struct picture_log *axis)
{
	double min = 1e12, max = 1;

	for (unsigned i = 0; i < count; i++) {
		const json_t *latency = json_object_get(rows[i].test, "latency_us");

		if (rows[i].p50 > 0)
			min = fmin(min, rows[i].p50);
		max = fmax(max, doc_number(latency, "max"));
	}
	axis->min = pow(10, floor(log10(fmin(min, max))));
	axis->max = pow(10, ceil(log10(fmax(max, axis->min * 1.01))));
}

static void picture_span(FILE *out, const struct picture_log *axis, const struct doc_row *row,
			 const struct picture_style *style, double y)
{
	const json_t *latency = json_object_get(row->test, "latency_us");
	double max = doc_number(latency, "max"), middle = y + PICTURE_BAR / 2;
	double x50 = picture_log_x(axis, row->p50), x99 = picture_log_x(axis, row->p99);
	double x = picture_log_x(axis, max);

	fprintf(out,
		"<path class=\"w\" d=\"M%.1f %.1fH%.1fm0 -4v8\"/>"
		"<rect class=\"h%us%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" "
		"rx=\"2\"/>\n",
		x50, middle, x, style->hue, style->strength, x50, y + 4, fmax(x99 - x50, 2),
		PICTURE_BAR - 8);
	fprintf(out, "<text class=\"v\" x=\"%.1f\" y=\"%.1f\">%.0f / %.0f / %.0f us</text>\n",
		x + 8, y + 14, row->p50, row->p99, max);
}

void picture_latency(FILE *out, const struct doc_row *rows, unsigned count,
		     const struct picture_style *styles)
{
	double height = picture_groups(rows, count) * PICTURE_HEADING +
			count * (PICTURE_BAR + PICTURE_GAP) + PICTURE_AXIS + 8;
	struct picture_log axis;
	double y = 0;
	char text[32];

	picture_log_range(rows, count, &axis);
	picture_begin(out, height, "latency of an operation");
	for (double at = axis.min; at <= axis.max * 1.01; at *= 10) {
		if (at < 1e3)
			snprintf(text, sizeof(text), "%g us", at);
		else
			snprintf(text, sizeof(text), at < 1e6 ? "%g ms" : "%g s",
				 at / (at < 1e6 ? 1e3 : 1e6));
		picture_grid(out, picture_log_x(&axis, at), PICTURE_HEADING / 2,
			     height - PICTURE_AXIS, text);
	}
	for (unsigned i = 0; i < count; i++) {
		if (!picture_leads(rows, i))
			continue;
		picture_heading(out, &rows[i], y);
		y += PICTURE_HEADING;
		for (unsigned k = i; k < count; k++) {
			if (!doc_row_same_test(&rows[k], &rows[i]))
				continue;
			picture_name(out, &rows[k], y);
			picture_span(out, &axis, &rows[k], &styles[k], y);
			y += PICTURE_BAR + PICTURE_GAP;
		}
	}
	fputs("</svg>\n", out);
}

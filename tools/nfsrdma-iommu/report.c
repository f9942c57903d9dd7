/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - one walk over the facts, two forms: lines for people, a JSON document for programs.
 *
 * jansson's setters take the new value over and do nothing with NULL, so memory that runs out shows
 * at the end, when the document is incomplete: every failure to make a value is remembered.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nfsrdma-iommu/tool.h"

#define REPORT_DEPTH 8
#define REPORT_NAME_WIDTH 30
#define REPORT_LINE_WIDTH 100

struct report {
	FILE *out;
	bool json, one_line, failed;
	unsigned depth;
	json_t *at[REPORT_DEPTH]; /* borrowed, but for the root */
};

struct report *report_begin(FILE *out, bool json, const char *schema)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->out = out;
	r->json = json;
	if (!json)
		return r;
	r->at[0] = json_object();
	r->failed = !r->at[0];
	report_text(r, "schema", schema);
	return r;
}

void report_one_line(struct report *r)
{
	r->one_line = true;
}

int report_flush(FILE *out)
{
	errno = 0;
	if (fflush(out))
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}

int report_end(struct report *r)
{
	int ret = 0;

	if (r->json) {
		errno = 0;
		if (r->failed ||
		    json_dumpf(r->at[0], r->out, r->one_line ? JSON_COMPACT : JSON_INDENT(1)))
			ret = ferror(r->out) && errno ? -errno : -ENOMEM;
		else
			fputc('\n', r->out);
		json_decref(r->at[0]);
	}
	if (!ret)
		ret = report_flush(r->out);
	free(r);
	return ret;
}

static void report_put(struct report *r, const char *name, json_t *value)
{
	int bad = name ? json_object_set_new(r->at[r->depth], name, value)
		       : json_array_append_new(r->at[r->depth], value);

	r->failed |= bad != 0;
}

static void report_enter(struct report *r, const char *name, const char *title, json_t *made)
{
	if (r->json) {
		report_put(r, name, made);
		r->at[r->depth + 1] = made;
	} else if (title[0]) {
		fprintf(r->out, "%*s%s\n", (int)r->depth * 2, "", title);
	}
	r->depth++;
}

void report_open(struct report *r, const char *name, const char *title)
{
	report_enter(r, name, title, r->json ? json_object() : NULL);
}

void report_list(struct report *r, const char *name, const char *title)
{
	report_enter(r, name, title, r->json ? json_array() : NULL);
}

void report_item(struct report *r, const char *title)
{
	report_enter(r, NULL, title, r->json ? json_object() : NULL);
}

void report_close(struct report *r)
{
	r->depth--;
}

/* "  huge 2m free            12" without the end of its line; in text alone. */
static void report_label(struct report *r, const char *name)
{
	int indent = (int)r->depth * 2, width = REPORT_NAME_WIDTH - indent;

	fprintf(r->out, "%*s", indent, "");
	for (; *name; name++, width--)
		fputc(*name == '_' ? ' ' : *name, r->out);
	fprintf(r->out, "%*s", width > 1 ? width : 1, "");
}

static void UTIL_PRINTF(3, 4) report_row(struct report *r, const char *name, const char *fmt, ...)
{
	va_list ap;

	report_label(r, name);
	va_start(ap, fmt);
	vfprintf(r->out, fmt, ap);
	va_end(ap);
	fputc('\n', r->out);
}

/* Words, broken into lines below each other; a word that is too long gets a line of its own. */
static void report_words(struct report *r, const char *text)
{
	int column = REPORT_NAME_WIDTH;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > REPORT_NAME_WIDTH && column + 1 + len > REPORT_LINE_WIDTH) {
			fprintf(r->out, "\n%*s", REPORT_NAME_WIDTH, "");
			column = REPORT_NAME_WIDTH;
		} else if (column > REPORT_NAME_WIDTH) {
			fputc(' ', r->out);
			column++;
		}
		fwrite(text, 1, (size_t)len, r->out);
		column += len;
		text += len + (int)strspn(text + len, " ");
	}
	fputc('\n', r->out);
}

void report_text(struct report *r, const char *name, const char *value)
{
	json_t *text;

	if (!r->json) {
		report_label(r, name);
		report_words(r, value[0] ? value : "-");
		return;
	}
	/* Not UTF-8: a name from outside. */
	text = json_string(value);
	report_put(r, name, text ? text : json_null());
}

void report_number(struct report *r, const char *name, uint64_t value, const char *unit)
{
	/* Beyond what the library's integers hold: rounded, rather than negative. */
	if (r->json)
		report_put(r, name,
			   value > INT64_MAX ? json_real((double)value)
					     : json_integer((json_int_t)value));
	else
		report_row(r, name, "%" PRIu64 "%s%s", value, unit[0] ? " " : "", unit);
}

void report_signed(struct report *r, const char *name, int64_t value)
{
	if (r->json)
		report_put(r, name, json_integer((json_int_t)value));
	else
		report_row(r, name, "%" PRId64, value);
}

void report_real(struct report *r, const char *name, double value, const char *unit)
{
	if (r->json)
		report_put(r, name, json_real(value));
	else
		report_row(r, name, "%.1f%s%s", value, unit[0] ? " " : "", unit);
}

void report_bool(struct report *r, const char *name, bool value)
{
	if (r->json)
		report_put(r, name, json_boolean(value));
	else
		report_row(r, name, "%s", value ? "yes" : "no");
}

void report_null(struct report *r, const char *name, const char *word)
{
	if (r->json)
		report_put(r, name, json_null());
	else
		report_row(r, name, "%s", word);
}

/* JSON has no hexadecimal, and 64 bits do not fit every reader's numbers: a string. */
void report_hex(struct report *r, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	report_text(r, name, text);
}

void report_line(struct report *r, const char *fmt, ...)
{
	va_list ap;

	if (r->json)
		return;
	fprintf(r->out, "%*s", (int)r->depth * 2, "");
	va_start(ap, fmt);
	vfprintf(r->out, fmt, ap);
	va_end(ap);
	fputc('\n', r->out);
}

bool report_is_json(const struct report *r)
{
	return r->json;
}

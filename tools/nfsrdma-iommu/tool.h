/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool.h - what the commands of nfsrdma-iommu share: their entry points, and the report.
 *
 * A *report* is written once and comes out as text for people or as one JSON document for programs;
 * so nothing can be in the one and missing from the other.  Names are the JSON keys; in text their
 * underscores become blanks.
 */
#ifndef NFSRDMA_IOMMU_TOOL_H
#define NFSRDMA_IOMMU_TOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "iommu-aware/iommu.h"
#include "util/util.h"

#define TOOL_USAGE 2
#define TOOL_INTERRUPTED 130

/* argv[0] is the command's name.  Return the exit status. */
int cmd_show(int argc, char **argv);
int cmd_cost(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_iova(int argc, char **argv);
int cmd_model(int argc, char **argv);

/* "nfsrdma-iommu: COMMAND: WHAT: why (hint)" on stderr; returns 1. */
int tool_fail(const char *command, const struct util_err *err);
/* The same for a bad argument; returns TOOL_USAGE. */
int tool_usage(const char *command, const char *fmt, ...) UTIL_PRINTF(2, 3);
/* The same for what getopt_long() gave as c, ':' or '?'. */
int tool_option(const char *command, int c, char **argv);
/* The number of an option within [min, max], else a usage error is printed and false returned. */
bool tool_number(const char *command, const char *option, const char *text, uint64_t min,
		 uint64_t max, uint64_t *valuep);

/* ---- report ------------------------------------------------------------------------------- */

struct report;

/* json: one document, printed by report_end(); else text, printed as it comes. */
struct report *report_begin(FILE *out, bool json, const char *schema);
/* A document that is one of many, one per line. */
void report_one_line(struct report *r);
/* What was printed is out, or -errno says why it is not. */
int report_flush(FILE *out);
/* Frees it.  0 or -errno: memory ran out, or out refuses. */
int report_end(struct report *r);

/* A named object; title is what text puts above it ("": nothing). */
void report_open(struct report *r, const char *name, const char *title);
/* A named list, and an object in it. */
void report_list(struct report *r, const char *name, const char *title);
void report_item(struct report *r, const char *title);
void report_close(struct report *r);

void report_text(struct report *r, const char *name, const char *value);
void report_number(struct report *r, const char *name, uint64_t value, const char *unit);
void report_signed(struct report *r, const char *name, int64_t value);
void report_real(struct report *r, const char *name, double value, const char *unit);
void report_bool(struct report *r, const char *name, bool value);
/* JSON null; word is what text says: "unknown", "unlimited". */
void report_null(struct report *r, const char *name, const char *word);
void report_hex(struct report *r, const char *name, uint64_t value);
/* In text alone: a line as it is. */
void report_line(struct report *r, const char *fmt, ...) UTIL_PRINTF(2, 3);
/* In JSON alone, for what text shows in another form. */
bool report_is_json(const struct report *r);

#endif

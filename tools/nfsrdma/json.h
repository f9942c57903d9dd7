/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h - the little JSON that --json prints, over jansson.
 *
 * Everything may fail for want of memory; that shows when the document is printed.  In a build
 * without jansson cli_json_available() is false and main refuses --json.
 */
#ifndef TOOLS_NFSRDMA_JSON_H
#define TOOLS_NFSRDMA_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct cli_json;

bool cli_json_available(void);
struct cli_json *cli_json_object(void);
/* An object within an object; the document's, not to be freed. */
struct cli_json *cli_json_child(struct cli_json *object, const char *key);
void cli_json_u64(struct cli_json *object, const char *key, uint64_t value);
void cli_json_real(struct cli_json *object, const char *key, double value);
void cli_json_bool(struct cli_json *object, const char *key, bool value);
void cli_json_text(struct cli_json *object, const char *key, const char *text);
/* A name: any bytes.  What is no UTF-8 is escaped, and key_escaped is true beside it. */
void cli_json_name(struct cli_json *object, const char *key, const char *name);
/* type, mode, nlink, uid, gid, size, mtime, ... */
void cli_json_stat(struct cli_json *object, const struct stat *st);
/* One line; frees the document. */
void cli_json_print(struct cli_json *object, FILE *out);

#endif

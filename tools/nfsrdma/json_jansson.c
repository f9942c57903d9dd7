/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_jansson.c - json.h for builds that have jansson.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"

/* A struct cli_json is jansson's value under another name. */
static json_t *value_of(struct cli_json *object)
{
	return (json_t *)object;
}

bool cli_json_available(void)
{
	return true;
}

struct cli_json *cli_json_object(void)
{
	return (struct cli_json *)json_object();
}

struct cli_json *cli_json_child(struct cli_json *object, const char *key)
{
	json_t *child = json_object();

	json_object_set_new(value_of(object), key, child);
	return (struct cli_json *)child;
}

/* JSON's integers are signed here; a value that large is no counter of ours. */
void cli_json_u64(struct cli_json *object, const char *key, uint64_t value)
{
	json_int_t v = value > INT64_MAX ? INT64_MAX : (json_int_t)value;

	json_object_set_new(value_of(object), key, json_integer(v));
}

void cli_json_real(struct cli_json *object, const char *key, double value)
{
	json_object_set_new(value_of(object), key, json_real(value));
}

void cli_json_bool(struct cli_json *object, const char *key, bool value)
{
	json_object_set_new(value_of(object), key, json_boolean(value));
}

void cli_json_text(struct cli_json *object, const char *key, const char *text)
{
	json_object_set_new(value_of(object), key, json_string(text));
}

static void set_escaped(struct cli_json *object, const char *key, const char *name)
{
	size_t len = strlen(name);
	char *safe = malloc(4 * len + 1), *flag = NULL;

	if (safe && asprintf(&flag, "%s_escaped", key) >= 0) {
		util_text_escape(name, len, safe, 4 * len + 1);
		json_object_set_new(value_of(object), key, json_string(safe));
		json_object_set_new(value_of(object), flag, json_true());
		free(flag);
	}
	free(safe);
}

void cli_json_name(struct cli_json *object, const char *key, const char *name)
{
	json_t *value = json_string(name); /* NULL: no UTF-8 */

	if (value)
		json_object_set_new(value_of(object), key, value);
	else
		set_escaped(object, key, name);
}

static double seconds(const struct timespec *t)
{
	return (double)t->tv_sec + (double)t->tv_nsec / 1e9;
}

void cli_json_stat(struct cli_json *object, const struct stat *st)
{
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", (unsigned)(st->st_mode & 07777));
	cli_json_text(object, "type", cli_type_name(st->st_mode));
	cli_json_text(object, "mode", mode);
	cli_json_u64(object, "nlink", st->st_nlink);
	cli_json_u64(object, "uid", st->st_uid);
	cli_json_u64(object, "gid", st->st_gid);
	cli_json_u64(object, "size", (uint64_t)st->st_size);
	cli_json_u64(object, "used", (uint64_t)st->st_blocks * 512);
	cli_json_u64(object, "fsid", st->st_dev);
	cli_json_u64(object, "fileid", st->st_ino);
	cli_json_real(object, "atime", seconds(&st->st_atim));
	cli_json_real(object, "mtime", seconds(&st->st_mtim));
	cli_json_real(object, "ctime", seconds(&st->st_ctim));
}

void cli_json_print(struct cli_json *object, FILE *out)
{
	json_dumpf(value_of(object), out, JSON_COMPACT | JSON_PRESERVE_ORDER);
	fputc('\n', out);
	json_decref(value_of(object));
}

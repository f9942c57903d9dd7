/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_none.c - json.h for builds without jansson: main refuses --json, so nothing here runs.
 */
#include "json.h"

bool cli_json_available(void)
{
	return false;
}

struct cli_json *cli_json_object(void)
{
	return NULL;
}

struct cli_json *cli_json_child(struct cli_json *object, const char *key)
{
	return NULL;
}

void cli_json_u64(struct cli_json *object, const char *key, uint64_t value)
{
}

void cli_json_real(struct cli_json *object, const char *key, double value)
{
}

void cli_json_bool(struct cli_json *object, const char *key, bool value)
{
}

void cli_json_text(struct cli_json *object, const char *key, const char *text)
{
}

void cli_json_name(struct cli_json *object, const char *key, const char *name)
{
}

void cli_json_stat(struct cli_json *object, const struct stat *st)
{
}

void cli_json_print(struct cli_json *object, FILE *out)
{
}

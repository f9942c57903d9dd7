/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_client_target.c - what people type: a target, a server, or a list of mount options.
 *
 * Whatever is refused is refused in words, and what is taken has a host and an absolute path.
 */
#include <errno.h>
#include <string.h>

#include "client/options.h"
#include "tests/fuzz/fuzz.h"

static void check_words(int ret, const struct util_err *err)
{
	FUZZ_CHECK(ret == 0 || ret == -EINVAL || ret == -ENOTTY);
	FUZZ_CHECK(ret != -EINVAL || err->what[0]);
	FUZZ_CHECK(strnlen(err->what, sizeof(err->what)) < sizeof(err->what));
	FUZZ_CHECK(strnlen(err->hint, sizeof(err->hint)) < sizeof(err->hint));
}

static void check_options(const struct client_options *o)
{
	FUZZ_CHECK(strnlen(o->mounthost, sizeof(o->mounthost)) < sizeof(o->mounthost));
	FUZZ_CHECK(o->port <= 65535 && o->mountport <= 65535);
	FUZZ_CHECK(o->nconnect <= 16);
	FUZZ_CHECK(o->numa_node >= -1);
}

static void check_target(const struct client_target *t)
{
	struct client_options o;
	struct util_err err;
	int ret;

	FUZZ_CHECK(t->host[0] && strnlen(t->host, sizeof(t->host)) < sizeof(t->host));
	FUZZ_CHECK(t->path[0] == '/' && strnlen(t->path, sizeof(t->path)) < sizeof(t->path));
	FUZZ_CHECK(t->port <= 65535);
	client_options_init(&o);
	util_err_clear(&err);
	ret = client_target_query(t, &o, &err);
	check_words(ret, &err);
	check_options(&o);
}

FUZZ_TARGET(client_target)
{
	struct client_target t;
	struct client_options o;
	struct util_err err;
	char *text = malloc(size + 1);
	int ret;

	FUZZ_CHECK(text);
	memcpy(text, data, size);
	text[size] = '\0';
	util_err_clear(&err);
	ret = client_target_parse(&t, text, &err);
	check_words(ret, &err);
	if (!ret)
		check_target(&t);
	util_err_clear(&err);
	ret = client_target_parse_server(&t, text, &err);
	check_words(ret, &err);
	if (!ret)
		FUZZ_CHECK(t.host[0] && t.path[0] == '/');
	client_options_init(&o);
	util_err_clear(&err);
	ret = client_options_parse(&o, text, &err);
	check_words(ret, &err);
	check_options(&o);
	free(text);
	return 0;
}

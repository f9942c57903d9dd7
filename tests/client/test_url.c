/* SPDX-License-Identifier: BSD-2-Clause */
/* test_url.c - targets: what is one, and what is in it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "client/nfsrdma.h"
#include "client/options.h"

struct good {
	const char *target, *host;
	uint32_t port;
	const char *path, *query;
};

static const struct good goods[] = {
	{"server:/path", "server", 0, "/path", ""},
	{"server:/", "server", 0, "/", ""},
	{"10.0.0.1:/a:b/c?d%41", "10.0.0.1", 0, "/a:b/c?d%41", ""},
	{"[::1]:/p", "::1", 0, "/p", ""},
	{"[fe80::1%eth0]:/p", "fe80::1%eth0", 0, "/p", ""},
	{"nfs://server", "server", 0, "/", ""},
	{"nfs://server/", "server", 0, "/", ""},
	{"NFS://server/p", "server", 0, "/p", ""},
	{"nfs://server:20049/p", "server", 20049, "/p", ""},
	{"nfs://[2001:db8::1]:2049/p", "2001:db8::1", 2049, "/p", ""},
	{"nfs://[2001:db8::1]/p", "2001:db8::1", 0, "/p", ""},
	{"nfs://server/a%20b%2Fc%3f%25", "server", 0, "/a b/c?%", ""},
	{"nfs://server/p?soft", "server", 0, "/p", "soft"},
	{"nfs://server/p?rsize=4k&soft&x-y=%2C", "server", 0, "/p", "rsize=4k&soft&x-y=%2C"},
	{"nfs://server?soft", "server", 0, "/", "soft"},
	{"nfs://server:1?soft", "server", 1, "/", "soft"},
	{"nfs://server/p?", "server", 0, "/p", ""},
};

Test(client_url, takes_apart_every_form)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(goods); i++) {
		struct client_target t;
		struct util_err err;

		util_err_clear(&err);
		cr_assert_eq(client_target_parse(&t, goods[i].target, &err), 0, "%s: %s",
			     goods[i].target, err.what);
		cr_assert_str_eq(t.host, goods[i].host);
		cr_assert_eq(t.port, goods[i].port, "%s", goods[i].target);
		cr_assert_str_eq(t.path, goods[i].path);
		cr_assert_str_eq(t.query, goods[i].query);
		cr_assert_eq(nfsrdma_target_is_remote(goods[i].target), 1);
	}
}

static const char *const bads[] = {
	"",
	":/x",
	"server:",
	"server:path",
	"server:20049/path",
	"2001:db8::1:/p",
	"[::1/p",
	"[::1]/p",
	"[]:/p",
	"http://server/p",
	"rdma://server/p",
	"nfs://",
	"nfs:///p",
	"nfs://server:/p",
	"nfs://server:0/p",
	"nfs://server:65536/p",
	"nfs://server:99999999999/p",
	"nfs://server:20a/p",
	"nfs://2001:db8::1/p",
	"nfs://[::1]x/p",
	"nfs://server/%",
	"nfs://server/%4",
	"nfs://server/%zz",
	"nfs://server/a%00b",
	"ser ver:/p",
	"user@server:/p",
};

Test(client_url, refuses_every_malformed_one_with_words)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(bads); i++) {
		cr_assert_eq(nfsrdma_target_is_remote(bads[i]), -EINVAL, "%s", bads[i]);
		cr_assert_gt(strlen(nfsrdma_strerror_last()), 5u, "%s", bads[i]);
	}
	cr_assert_eq(nfsrdma_target_is_remote(NULL), -EINVAL);
}

Test(client_url, what_scp_calls_local_is_local)
{
	static const char *const locals[] = {"./a:/b", "/x:y",	 "/x", "x",    "a/b:c",	 "..",
					     "a b",    "./nfs:", "-",  "dir/", "a/b://c"};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(locals); i++)
		cr_assert_eq(nfsrdma_target_is_remote(locals[i]), 0, "%s", locals[i]);
}

Test(client_url, bounds_every_part)
{
	struct client_target t;
	struct util_err err;
	char text[10000];

	for (size_t len = 200; len < 9000; len += 100) {
		int ret;

		memset(text, 'h', len);
		strcpy(text + len, ":/p");
		util_err_clear(&err);
		ret = client_target_parse(&t, text, &err);
		cr_assert_eq(ret, len < 256 ? 0 : -EINVAL, "host of %zu", len);
		memcpy(text, "s:/", 3);
		memset(text + 3, 'p', len);
		text[3 + len] = '\0';
		ret = client_target_parse(&t, text, &err);
		cr_assert_eq(ret, len < WIRE_PATH_MAX ? 0 : -EINVAL, "path of %zu", len);
		sprintf(text, "nfs://s/p?");
		memset(text + 10, 'q', len);
		text[10 + len] = '\0';
		ret = client_target_parse(&t, text, &err);
		cr_assert_eq(ret, len < sizeof(t.query) ? 0 : -EINVAL, "query of %zu", len);
	}
}

Test(client_url, options_in_the_query_are_options)
{
	struct client_target t;
	struct client_options o;
	struct util_err err;

	util_err_clear(&err);
	client_options_init(&o);
	cr_assert_eq(client_target_parse(&t, "nfs://s/p?soft&rsize=4%6B&&mounthost=a", &err), 0);
	cr_assert_eq(client_target_query(&t, &o, &err), 0, "%s", err.what);
	cr_assert(o.soft);
	cr_assert_eq(o.rsize, 4096u);
	cr_assert_str_eq(o.mounthost, "a");
	cr_assert_eq(client_target_parse(&t, "nfs://s/p?sofd", &err), 0);
	cr_assert_eq(client_target_query(&t, &o, &err), -EINVAL);
	cr_assert(strstr(err.what, "soft"));
	cr_assert_eq(client_target_parse(&t, "nfs://s/p?rsize=%4", &err), 0);
	cr_assert_eq(client_target_query(&t, &o, &err), -EINVAL);
}

Test(client_url, a_server_stands_alone_in_many_ways)
{
	static const struct good servers[] = {
		{"server", "server", 0, "/", ""},
		{"server:", "server", 0, "/", ""},
		{"server:/a", "server", 0, "/a", ""},
		{"::1", "::1", 0, "/", ""},
		{"[::1]", "::1", 0, "/", ""},
		{"[::1]:/a", "::1", 0, "/a", ""},
		{"nfs://server:4/", "server", 4, "/", ""},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(servers); i++) {
		struct client_target t;
		struct util_err err;

		util_err_clear(&err);
		cr_assert_eq(client_target_parse_server(&t, servers[i].target, &err), 0, "%s: %s",
			     servers[i].target, err.what);
		cr_assert_str_eq(t.host, servers[i].host);
		cr_assert_eq(t.port, servers[i].port);
		cr_assert_str_eq(t.path, servers[i].path);
	}
}

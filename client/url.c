/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * url.c - targets: SERVER:/PATH, [v6]:/PATH and nfs://SERVER[:PORT]/PATH[?opt=val&opt].
 *
 * What is a target at all is settled as scp(1) does: a slash before the first colon makes a name
 * local ("./a:b", "/x:y"), and so does no colon.  In SERVER:/PATH every byte of PATH stands for
 * itself; in a URL '%XX' is a byte and '?' begins the options, so a file name with '?' in it is
 * written "%3F".
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/options.h"

static int target_bad(struct util_err *err, const char *target, const char *why, const char *hint)
{
	char shown[160];

	util_text_escape(target, strlen(target), shown, sizeof(shown));
	util_err_set(err, -EINVAL, "%s: %s", shown, why);
	util_err_hint(err, "%s", hint);
	return -EINVAL;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Undo % escapes of text[0..len) into out (terminated).  -EINVAL bad escape or a NUL;
 * -ENAMETOOLONG. */
static int unescape(const char *text, size_t len, char *out, size_t out_len)
{
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)text[i];

		if (c == '%') {
			if (len - i < 3 || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0)
				return -EINVAL;
			c = hex(text[i + 1]) << 4 | hex(text[i + 2]);
			if (!c)
				return -EINVAL;
			i += 2;
		}
		if (used + 1 >= out_len)
			return -ENAMETOOLONG;
		out[used++] = (char)c;
	}
	out[used] = '\0';
	return 0;
}

static int host_check(struct client_target *t, const char *target, struct util_err *err)
{
	if (!t->host[0])
		return target_bad(err, target, "no server name", "SERVER:/PATH");
	for (const char *p = t->host; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("-._:%", *p))
			return target_bad(err, target, "the server name has an odd character in it",
					  "a local file with a colon is written ./NAME");
	return 0;
}

/*
 * The host at text: bare up to one of stop, or in brackets.  Returns what follows it, NULL with
 * err.
 */
static const char *host_take(struct client_target *t, const char *target, const char *text,
			     const char *stop, struct util_err *err)
{
	const char *host = text, *end;
	size_t len;

	if (*text == '[') {
		host = text + 1;
		end = strchr(host, ']');
		if (!end) {
			target_bad(err, target, "'[' without ']'", "[2001:db8::1]:/PATH");
			return NULL;
		}
	} else {
		end = text + strcspn(text, stop);
	}
	len = (size_t)(end - host);
	if (len >= sizeof(t->host)) {
		target_bad(err, target, "the server name is too long", "");
		return NULL;
	}
	memcpy(t->host, host, len);
	t->host[len] = '\0';
	if (host_check(t, target, err))
		return NULL;
	return end + (*text == '[');
}

static int port_take(struct client_target *t, const char *target, const char **textp,
		     struct util_err *err)
{
	const char *digits = *textp + 1;
	size_t len = strcspn(digits, "/?");
	char number[8];
	uint64_t port;

	if (len == 0 || len >= sizeof(number))
		return target_bad(err, target, "the port is not a number",
				  "nfs://SERVER:20049/PATH");
	memcpy(number, digits, len);
	number[len] = '\0';
	if (util_u64_parse(number, 65535, &port) || !port)
		return target_bad(err, target, "the port is not a number from 1 to 65535",
				  "nfs://SERVER:20049/PATH; an IPv6 address goes in brackets");
	t->port = (uint32_t)port;
	*textp = digits + len;
	return 0;
}

static int url_parse(struct client_target *t, const char *target, struct util_err *err)
{
	const char *p = host_take(t, target, target + strlen("nfs://"), ":/?", err);
	size_t path_len;
	int ret;

	if (!p)
		return -EINVAL;
	if (*p == ':') {
		ret = port_take(t, target, &p, err);
		if (ret)
			return ret;
	}
	if (*p && *p != '/' && *p != '?')
		return target_bad(err, target, "junk after the server name", "nfs://SERVER/PATH");
	path_len = strcspn(p, "?");
	ret = unescape(p, path_len, t->path, sizeof(t->path));
	if (ret == -ENAMETOOLONG)
		return target_bad(err, target, "the path is too long", "");
	if (ret)
		return target_bad(err, target,
				  "a % that is not followed by two hex digits, or is %00",
				  "write % itself as %25");
	if (!t->path[0])
		strcpy(t->path, "/");
	if (p[path_len] == '?') {
		const char *query = p + path_len + 1;

		if (strlen(query) >= sizeof(t->query))
			return target_bad(err, target, "the options are too long", "");
		strcpy(t->query, query);
	}
	return 0;
}

static int colon_parse(struct client_target *t, const char *target, struct util_err *err)
{
	const char *p = host_take(t, target, target, ":", err);

	if (!p)
		return -EINVAL;
	if (*p != ':')
		return target_bad(err, target, "no ':' after the server name", "SERVER:/PATH");
	if (*target != '[' && strchr(p + 1, ':') && (p[1] != '/'))
		return target_bad(err, target, "an IPv6 address goes in brackets",
				  "[2001:db8::1]:/PATH");
	if (p[1] != '/')
		return target_bad(
			err, target, "a remote path begins with '/'",
			"SERVER:/PATH; with a port: nfs://SERVER:PORT/PATH; a local file: "
			"./NAME");
	if (strlen(p + 1) >= sizeof(t->path))
		return target_bad(err, target, "the path is too long", "");
	strcpy(t->path, p + 1);
	return 0;
}

/* Is there a scheme?  "nfs://" 1, another one -EINVAL, none 0. */
static int scheme(const char *target, struct util_err *err)
{
	size_t len = strcspn(target, ":/");

	if (strncmp(target + len, "://", 3) != 0 || len == 0)
		return 0;
	/* 10.0.0.1://dir is a server and a path: schemes have no dots that we would know of */
	if (memchr(target, '.', len))
		return 0;
	if (len == 3 && !strncasecmp(target, "nfs", 3))
		return 1;
	return target_bad(err, target, "not an nfs:// URL", "nfs://SERVER[:PORT]/PATH");
}

int client_target_parse(struct client_target *t, const char *target, struct util_err *err)
{
	size_t colon;
	int ret;

	memset(t, 0, sizeof(*t));
	if (!target || !*target)
		return util_err_set(err, -EINVAL, "empty target");
	ret = scheme(target, err);
	if (ret)
		return ret < 0 ? ret : url_parse(t, target, err);
	if (*target == '[')
		return colon_parse(t, target, err);
	colon = strcspn(target, ":/");
	if (target[colon] != ':') {
		util_err_set(err, -ENOTTY, "%s: a local path", target);
		util_err_hint(err, "a target is SERVER:/PATH or nfs://SERVER/PATH");
		return -ENOTTY;
	}
	return colon_parse(t, target, err);
}

int client_target_parse_server(struct client_target *t, const char *server, struct util_err *err)
{
	const char *end;
	int ret;

	memset(t, 0, sizeof(*t));
	if (!server || !*server)
		return util_err_set(err, -EINVAL, "empty server name");
	ret = scheme(server, err);
	if (ret)
		return ret < 0 ? ret : url_parse(t, server, err);
	if (*server != '[' && strchr(server, ':') && strchr(server, ':') != strrchr(server, ':') &&
	    !strchr(server, '/')) {
		/* nothing but a server can stand here, so a bare IPv6 address is no riddle */
		if (strlen(server) >= sizeof(t->host))
			return target_bad(err, server, "the server name is too long", "");
		strcpy(t->host, server);
		end = "";
		ret = host_check(t, server, err);
		if (ret)
			return ret;
	} else {
		end = host_take(t, server, server, ":/", err);
		if (!end)
			return -EINVAL;
	}
	strcpy(t->path, "/");
	if (!*end || !strcmp(end, ":"))
		return 0;
	if (!strncmp(end, ":/", 2) && strlen(end + 1) < sizeof(t->path)) {
		strcpy(t->path, end + 1);
		return 0;
	}
	return target_bad(err, server, "not a server name",
			  "SERVER, [v6], SERVER:/PATH or nfs://SERVER:PORT");
}

int client_target_query(const struct client_target *t, struct client_options *o,
			struct util_err *err)
{
	const char *p = t->query;
	char name[512];

	while (*p) {
		size_t len = strcspn(p, "&");
		char *value;
		int ret;

		ret = unescape(p, len, name, sizeof(name));
		if (ret)
			return util_err_set(err, -EINVAL, "bad %% escape or length in option %.*s",
					    (int)(len < 64 ? len : 64), p);
		p += len + (p[len] == '&');
		if (!name[0])
			continue;
		value = strchr(name, '=');
		if (value)
			*value++ = '\0';
		ret = client_options_apply(o, name, value, err);
		if (ret)
			return ret;
	}
	return 0;
}

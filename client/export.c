/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.c - which export holds a path, and the list of all.
 *
 * A target names a path; MOUNT gives out handles of exports only (some servers also of what lies
 * below).  The server's list settles it: the longest export that is the path or a parent of it.
 * Lists may be hidden or absent, so after that the path itself and its parents are tried in turn.
 */
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

#define MAX_EXPORTS (1u << 16) /* a list longer than this is nonsense */
#define GROUPS_MAX 4096

size_t client_export_match(const char *export, size_t len, const char *path)
{
	while (len > 1 && export[len - 1] == '/')
		len--;
	if (!len || export[0] != '/')
		return 0;
	if (len == 1)
		return 1;
	if (strncmp(export, path, len) != 0 || (path[len] && path[len] != '/'))
		return 0;
	return len;
}

/* The longest match in the server's list, "" when there is none, and what it exports for the hint.
 */
static int list_match(struct nfsrdma *mount, struct transport_client *conn, char *best,
		      size_t best_size, struct util_err *hint)
{
	struct wire_export x;
	struct wire_dec dec;
	uint8_t *bytes;
	size_t best_len = 0, used = 0;
	int err;

	best[0] = '\0';
	err = client_exports(mount, conn, &bytes, &dec);
	if (err)
		return err;
	for (unsigned n = 0; n < MAX_EXPORTS && wire_export_next(&dec, &x) == 1; n++) {
		size_t len =
			client_export_match((const char *)x.path, x.path_len, mount->target.path);

		if (len > best_len && x.path_len < best_size) {
			memcpy(best, x.path, x.path_len);
			best[x.path_len] = '\0';
			best_len = len;
		}
		if (used + x.path_len + 3 < sizeof(hint->hint) - 32) {
			memcpy(hint->what + used, used ? ", " : "", used ? 2 : 0);
			used += used ? 2 : 0;
			memcpy(hint->what + used, x.path, x.path_len);
			used += x.path_len;
		}
	}
	hint->what[used] = '\0';
	free(bytes);
	return 0;
}

/* AUTH_SYS must be among the flavors; an empty list is an old server's way of saying any. */
static int check_flavors(struct nfsrdma *mount, const struct wire_mnt_res *res)
{
	for (uint32_t i = 0; i < res->nflavors && i < UTIL_ARRAY_SIZE(res->flavors); i++)
		if (res->flavors[i] == WIRE_AUTH_SYS || res->flavors[i] == WIRE_AUTH_NONE)
			return 0;
	if (!res->nflavors)
		return 0;
	client_error(mount, -EACCES, "the export does not allow sec=sys");
	util_err_hint(&mount->err, "export it with sec=sys: there is no Kerberos here");
	return -EACCES;
}

static int try_export(struct nfsrdma *mount, struct transport_client *conn, const char *path)
{
	const char *rest = mount->target.path;
	struct wire_mnt_res res;
	size_t match;
	int err;

	err = client_mnt(mount, conn, path, &res);
	if (!err)
		err = check_flavors(mount, &res);
	if (err)
		return err;
	match = client_export_match(path, strlen(path), rest);
	rest += match > 1 ? match : 0;
	mount->export_root = res.fh;
	strcpy(mount->export_path, path);
	strcpy(mount->root_path, *rest ? rest : "/");
	return 0;
}

static void denied_hint(struct nfsrdma *mount)
{
	if (mount->err.hint[0])
		return;
	util_err_hint(&mount->err, mount->opts.resvport
					   ? "is this machine in the export's list of clients?"
					   : "is this machine in the export's list of clients? a "
					     "server may also insist on a port below 1024: -o "
					     "resvport (needs CAP_NET_BIND_SERVICE)");
}

/* The path and its parents, longest first; of the failures a refusal tells more than an absence. */
static int try_parents(struct nfsrdma *mount, struct transport_client *conn, const char *skip)
{
	char path[WIRE_PATH_MAX + 1];
	struct util_err denied = {0};
	int err;

	strcpy(path, mount->target.path);
	for (;;) {
		char *slash = strrchr(path, '/');

		if (strcmp(path, skip) != 0) {
			err = try_export(mount, conn, path);
			if (!err || (err != -ENOENT && err != -ENOTDIR && err != -EACCES &&
				     err != -EINVAL && err != -ENAMETOOLONG))
				return err;
			if (err == -EACCES && !denied.code) {
				denied = mount->err;
				denied.code = err;
			}
		}
		if (!path[1])
			break;
		slash[slash == path] = '\0';
	}
	if (!denied.code)
		return -ENOENT;
	mount->err = denied;
	return -EACCES;
}

/* "//a///b/" -> "/a/b" */
static void squeeze(char *path)
{
	char *to = path;

	for (const char *p = path; *p; p++)
		if (*p != '/' || (p[1] && p[1] != '/'))
			*to++ = *p;
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

static int export_find(struct nfsrdma *mount, struct transport_client *conn)
{
	struct util_err exports = {0};
	char best[WIRE_PATH_MAX + 1];
	int err;

	err = list_match(mount, conn, best, sizeof(best), &exports);
	if (err && err != -EOPNOTSUPP && err != -EACCES && err != -EIO)
		return err;
	if (best[0]) {
		err = try_export(mount, conn, best);
		if (err == -EACCES)
			denied_hint(mount);
		if (err != -ENOENT)
			return err;
	}
	err = try_parents(mount, conn, best);
	if (err == -EACCES)
		denied_hint(mount);
	if (err == -ENOENT) {
		client_error(mount, -ENOENT, "no such export");
		if (exports.what[0])
			util_err_hint(&mount->err, "the server exports %s", exports.what);
	}
	return err;
}

/* A slash behind what lies in the export stays: it asks for a directory. */
int client_export_find(struct nfsrdma *mount, struct transport_client *conn)
{
	size_t len = strlen(mount->target.path);
	bool slash = len > 1 && mount->target.path[len - 1] == '/';
	int err;

	squeeze(mount->target.path);
	err = export_find(mount, conn);
	if (!err && slash && mount->root_path[1])
		strcat(mount->root_path, "/");
	if (slash && mount->target.path[1])
		strcat(mount->target.path, "/"); /* for another attempt */
	return err;
}

/* ---- the server's exports ----------------------------------------------------------------- */

struct export_list {
	int (*fn)(void *arg, const char *path, const char *groups);
	void *arg;
};

/* "10.0.0.0/8,host" into out, as far as it holds them; "*" when everybody may. */
static void groups_words(const struct wire_export *x, char *out, size_t len)
{
	struct wire_dec groups = x->groups;
	const uint8_t *name;
	uint32_t name_len;
	size_t used = 0;

	strcpy(out, x->ngroups ? "" : "*");
	while (wire_export_group_next(&groups, &name, &name_len) == 1) {
		if (name_len + 2 > len - used)
			break;
		if (used)
			out[used++] = ',';
		memcpy(out + used, name, name_len);
		used += name_len;
		out[used] = '\0';
	}
}

static int list_exports(struct nfsrdma *mount, struct transport_client *conn, void *arg)
{
	struct export_list *list = arg;
	char path[WIRE_PATH_MAX + 1], groups[GROUPS_MAX];
	struct wire_export x;
	struct wire_dec dec;
	uint8_t *bytes;
	int got, err;

	err = client_exports(mount, conn, &bytes, &dec);
	if (err)
		return err;
	while ((got = wire_export_next(&dec, &x)) == 1) {
		size_t len = x.path_len < WIRE_PATH_MAX ? x.path_len : WIRE_PATH_MAX;

		memcpy(path, x.path, len);
		path[len] = '\0';
		groups_words(&x, groups, sizeof(groups));
		if (list->fn(list->arg, path, groups))
			break;
	}
	free(bytes);
	if (got < 0)
		return client_error(mount, -EIO, "the server's export list is malformed");
	return 0;
}

int nfsrdma_exports(const char *server, const struct nfsrdma_options *opts,
		    int (*fn)(void *arg, const char *path, const char *groups), void *arg)
{
	struct export_list list = {fn, arg};
	struct nfsrdma *mount;
	struct util_err err;
	int ret;

	util_err_clear(&err);
	ret = client_mount_new(&mount, server, true, opts, &err);
	if (ret)
		return client_fail_err(ret, &err);
	ret = client_connect(mount);
	if (!ret)
		ret = client_mountd(mount, list_exports, &list);
	if (ret)
		client_fail_mount(mount, ret, "list exports of", server);
	client_mount_free(mount);
	return ret;
}

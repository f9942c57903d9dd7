/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.c - from what the user typed to a mount and a path beneath its export.
 *
 * Every mount of an invocation lives in one context, so that their pools are shared.  Which export
 * a target belongs to only the server can say (exports nest), so each target is mounted; when that
 * turns out to be an export we have already, the older mount is used and the new one given up.
 * rename and link need that: both names on one mount.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct cli_mount {
	struct nfsrdma *mount;
	char *options; /* what stood behind '?' in the target, "" nothing */
	struct nfsrdma_info info;
};

static const char *target_query(const char *text)
{
	const char *query = strncmp(text, "nfs://", 6) == 0 ? strchr(text, '?') : NULL;

	return query ? query : "";
}

static struct cli_mount *find_same(struct cli *cli, const struct nfsrdma_info *info,
				   const char *options)
{
	for (size_t i = 0; i < cli->nmounts; i++) {
		struct cli_mount *m = &cli->mounts[i];

		if (strcmp(m->info.address, info->address) == 0 &&
		    strcmp(m->info.export_path, info->export_path) == 0 &&
		    strcmp(m->options, options) == 0)
			return m;
	}
	return NULL;
}

static int keep_mount(struct cli *cli, struct nfsrdma *mount, const struct nfsrdma_info *info,
		      const char *options)
{
	struct cli_mount *grown = realloc(cli->mounts, (cli->nmounts + 1) * sizeof(*cli->mounts));
	char *kept = strdup(options);

	if (grown)
		cli->mounts = grown;
	if (!grown || !kept) {
		free(kept);
		return -ENOMEM;
	}
	cli->mounts[cli->nmounts++] =
		(struct cli_mount){.mount = mount, .options = kept, .info = *info};
	return 0;
}

static enum nfsrdma_log_level log_level(const struct cli *cli)
{
	if (cli->verbosity < 0)
		return NFSRDMA_LOG_ERROR;
	if (cli->verbosity == 0)
		return NFSRDMA_LOG_WARN;
	return cli->verbosity == 1 ? NFSRDMA_LOG_INFO : NFSRDMA_LOG_DEBUG;
}

static int mount_target(struct cli *cli, const char *text, struct nfsrdma **mountp)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	int err = 0;

	if (!cli->ctx)
		err = nfsrdma_ctx_create(&cli->ctx);
	if (err)
		return err;
	opts.ctx = cli->ctx;
	opts.opts = cli->opts;
	opts.log = cli_log;
	opts.log_arg = cli;
	opts.log_level = log_level(cli);
	opts.flags = NFSRDMA_AT_EXPORT;
	return nfsrdma_mount(mountp, text, &opts);
}

/* Is it a target at all? */
static int check_remote(struct cli *cli, const char *text)
{
	char name[CLI_NAME_MAX];
	int remote = nfsrdma_target_is_remote(text);

	if (remote > 0)
		return 0;
	if (remote < 0)
		cli_usage(cli, "%s", nfsrdma_strerror_last());
	else
		cli_usage(cli, "%s: not on a server (write SERVER:/PATH or nfs://SERVER/PATH)",
			  cli_safe(text, name, sizeof(name)));
	return -EINVAL;
}

int cli_target_open(struct cli *cli, const char *text, struct cli_target *target)
{
	struct nfsrdma_info info = {.size = sizeof(info)};
	const char *options = target_query(text);
	struct nfsrdma *mount;
	struct cli_mount *same;
	int err = check_remote(cli, text);

	if (err)
		return err;
	err = mount_target(cli, text, &mount);
	if (err) {
		cli_fail(cli);
		return err;
	}
	nfsrdma_info(mount, &info);
	same = find_same(cli, &info, options);
	if (!same)
		err = keep_mount(cli, mount, &info, options);
	if (same || err)
		nfsrdma_umount(mount);
	if (!err)
		target->path = strdup(info.root_path);
	if (err || !target->path) {
		cli_error(cli, "out of memory");
		return -ENOMEM;
	}
	target->mount = same ? same->mount : mount;
	target->text = text;
	return 0;
}

void cli_target_close(struct cli_target *target)
{
	free(target->path);
	target->path = NULL;
}

void cli_each_target(struct cli *cli, int argc, char **argv,
		     void (*fn)(struct cli *cli, const struct cli_target *target))
{
	for (int i = 0; i < argc; i++) {
		struct cli_target target;

		if (cli_target_open(cli, argv[i], &target))
			continue;
		fn(cli, &target);
		cli_target_close(&target);
	}
}

void cli_mounts_close(struct cli *cli)
{
	for (size_t i = 0; i < cli->nmounts; i++) {
		nfsrdma_umount(cli->mounts[i].mount);
		free(cli->mounts[i].options);
	}
	free(cli->mounts);
	cli->mounts = NULL;
	cli->nmounts = 0;
	nfsrdma_ctx_destroy(cli->ctx);
	cli->ctx = NULL;
}

struct nfsrdma *cli_mount_at(const struct cli *cli, size_t i)
{
	return i < cli->nmounts ? cli->mounts[i].mount : NULL;
}

static const struct cli_mount *find_mount(const struct cli *cli, struct nfsrdma *mount)
{
	for (size_t i = 0; i < cli->nmounts; i++)
		if (cli->mounts[i].mount == mount)
			return &cli->mounts[i];
	return NULL;
}

bool cli_same_server(const struct cli *cli, struct nfsrdma *a, struct nfsrdma *b)
{
	const struct cli_mount *ma = find_mount(cli, a), *mb = find_mount(cli, b);

	return ma && mb && strcmp(ma->info.address, mb->info.address) == 0;
}

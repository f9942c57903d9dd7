/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_mv.c - mv SRC... DST: rename within one export.
 *
 * Between exports or servers nothing can be renamed; a copy that pretended to be one could be left
 * half done, so that is for cp and rm.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static void rename_to(struct cli *cli, const struct cli_target *from, const struct cli_target *to,
		      const char *path)
{
	if (from->mount != to->mount)
		cli_error(cli, "%s and %s are not in one export: copy with cp, then remove with rm",
			  from->text, to->text);
	else if (nfsrdma_rename(from->mount, from->path, path))
		cli_fail(cli);
}

static void move_one(struct cli *cli, const char *text, const struct cli_target *dst, bool into)
{
	struct cli_target src;
	char *name, *path;

	if (cli_target_open(cli, text, &src))
		return;
	if (!into) {
		rename_to(cli, &src, dst, dst->path);
	} else {
		name = cli_basename(src.path);
		path = name ? cli_join(dst->path, name) : NULL;
		if (path)
			rename_to(cli, &src, dst, path);
		else
			cli_error(cli, "out of memory");
		free(path);
		free(name);
	}
	cli_target_close(&src);
}

static void run_mv(struct cli *cli, int argc, char **argv)
{
	char name[CLI_NAME_MAX];
	struct cli_target dst;
	struct stat st;
	bool into;
	int err;

	if (cli_target_open(cli, argv[argc - 1], &dst))
		return;
	err = nfsrdma_stat(dst.mount, dst.path, &st);
	into = !err && S_ISDIR(st.st_mode);
	if (err && err != -ENOENT && err != -ELOOP)
		cli_fail(cli);
	else if (argc > 2 && !into)
		cli_error(cli, "%s: is not a directory, and there are several sources",
			  cli_safe(dst.text, name, sizeof(name)));
	else
		for (int i = 0; i < argc - 1; i++)
			move_one(cli, argv[i], &dst, into);
	cli_target_close(&dst);
}

const struct cli_command cmd_mv = {
	.name = "mv",
	.operands = "SRC... DST",
	.summary = "rename within an export",
	.min_operands = 2,
	.max_operands = -1,
	.options = "",
	.run = run_mv,
};

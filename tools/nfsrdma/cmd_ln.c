/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_ln.c - ln SRC-TARGET LINK-TARGET, ln -s TEXT LINK-TARGET
 *
 * A symbolic link's text is any text, and means something only where it is read.
 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

/* LINK, or LINK/NAME where LINK is a directory. */
static char *link_path(const struct cli_target *link, const char *source)
{
	struct stat st;
	char *name, *path;

	if (nfsrdma_stat(link->mount, link->path, &st) || !S_ISDIR(st.st_mode))
		return strdup(link->path);
	name = cli_basename(source);
	path = name ? cli_join(link->path, name) : NULL;
	free(name);
	return path;
}

static void symbolic(struct cli *cli, const char *text, const struct cli_target *link)
{
	char *path = link_path(link, text);

	if (!path)
		cli_error(cli, "out of memory");
	else if (nfsrdma_symlink(link->mount, text, path))
		cli_fail(cli);
	free(path);
}

static void hard(struct cli *cli, const char *text, const struct cli_target *link)
{
	struct cli_target src;
	char *path;

	if (cli_target_open(cli, text, &src))
		return;
	path = link_path(link, src.path);
	if (!path)
		cli_error(cli, "out of memory");
	else if (src.mount != link->mount)
		cli_error(cli, "%s and %s are not in one export", src.text, link->text);
	else if (nfsrdma_link(src.mount, src.path, path))
		cli_fail(cli);
	free(path);
	cli_target_close(&src);
}

static void run_ln(struct cli *cli, int argc, char **argv)
{
	struct cli_target link;

	if (cli_target_open(cli, argv[1], &link))
		return;
	if (cli->flags['s'])
		symbolic(cli, argv[0], &link);
	else
		hard(cli, argv[0], &link);
	cli_target_close(&link);
}

const struct cli_command cmd_ln = {
	.name = "ln",
	.operands = "[-s] SRC LINK",
	.summary = "make a link, with -s a symbolic one",
	.min_operands = 2,
	.max_operands = 2,
	.options = "s",
	.run = run_ln,
};

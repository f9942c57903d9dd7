/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_truncate.c - truncate -s N TARGET...: make files that long, the missing ones too.
 */
#include <errno.h>
#include <fcntl.h>

#include "commands.h"

static void truncate_one(struct cli *cli, const struct cli_target *target)
{
	struct nfsrdma_file *file;
	uint64_t size;
	int err;

	if (util_size_parse(cli->values['s'], 1, &size)) /* checked before */
		return;
	err = nfsrdma_open(target->mount, &file, target->path, O_WRONLY | O_CREAT,
			   0666 & ~cli_umask());
	if (err) {
		cli_fail(cli);
		return;
	}
	err = nfsrdma_ftruncate(file, size);
	if (err)
		cli_fail(cli);
	if (nfsrdma_close(file) && !err)
		cli_fail(cli);
}

static void run_truncate(struct cli *cli, int argc, char **argv)
{
	uint64_t size;

	if (!cli->flags['s'])
		cli_usage(cli, "-s N is missing");
	else if (util_size_parse(cli->values['s'], 1, &size))
		cli_usage(cli, "-s %s: not a size (a number, with k, m, g or t)", cli->values['s']);
	else
		cli_each_target(cli, argc, argv, truncate_one);
}

const struct cli_command cmd_truncate = {
	.name = "truncate",
	.operands = "-s N TARGET...",
	.summary = "set the size of files",
	.min_operands = 1,
	.max_operands = -1,
	.options = "s:",
	.run = run_truncate,
};

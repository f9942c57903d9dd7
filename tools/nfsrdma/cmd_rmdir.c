/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_rmdir.c - rmdir TARGET...
 */
#include "commands.h"

static void rmdir_one(struct cli *cli, const struct cli_target *target)
{
	if (nfsrdma_rmdir(target->mount, target->path))
		cli_fail(cli);
}

static void run_rmdir(struct cli *cli, int argc, char **argv)
{
	cli_each_target(cli, argc, argv, rmdir_one);
}

const struct cli_command cmd_rmdir = {
	.name = "rmdir",
	.operands = "TARGET...",
	.summary = "remove empty directories",
	.min_operands = 1,
	.max_operands = -1,
	.options = "",
	.run = run_rmdir,
};

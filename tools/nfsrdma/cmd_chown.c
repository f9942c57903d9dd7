/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_chown.c - chown USER[:GROUP] TARGET...; names are this machine's.
 */
#include "commands.h"

static void run_chown(struct cli *cli, int argc, char **argv)
{
	uid_t uid;
	gid_t gid;

	if (cli_owner_parse(argv[0], &uid, &gid)) {
		cli_usage(cli, "'%s' is no owner (USER, USER:GROUP, :GROUP; names or numbers)",
			  argv[0]);
		return;
	}
	for (int i = 1; i < argc; i++) {
		struct cli_target target;

		if (cli_target_open(cli, argv[i], &target))
			continue;
		if (nfsrdma_chown(target.mount, target.path, uid, gid))
			cli_fail(cli);
		cli_target_close(&target);
	}
}

const struct cli_command cmd_chown = {
	.name = "chown",
	.operands = "USER[:GROUP] TARGET...",
	.summary = "change the owner",
	.min_operands = 2,
	.max_operands = -1,
	.options = "",
	.run = run_chown,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_chmod.c - chmod MODE TARGET...; MODE is octal or symbolic.
 */
#include "commands.h"

static void chmod_one(struct cli *cli, const char *mode_text, const struct cli_target *target)
{
	struct stat st;
	mode_t mode;
	int err = nfsrdma_stat(target->mount, target->path, &st);

	if (!err && cli_mode_apply(mode_text, st.st_mode, cli_umask(), &mode) == 0)
		err = nfsrdma_chmod(target->mount, target->path, mode);
	if (err)
		cli_fail(cli);
}

static void run_chmod(struct cli *cli, int argc, char **argv)
{
	mode_t mode;

	if (cli_mode_apply(argv[0], 0, 0, &mode)) {
		cli_usage(cli, "'%s' is no mode (0644, u+rwX,go-w)", argv[0]);
		return;
	}
	for (int i = 1; i < argc; i++) {
		struct cli_target target;

		if (cli_target_open(cli, argv[i], &target))
			continue;
		chmod_one(cli, argv[0], &target);
		cli_target_close(&target);
	}
}

const struct cli_command cmd_chmod = {
	.name = "chmod",
	.operands = "MODE TARGET...",
	.summary = "change access rights",
	.min_operands = 2,
	.max_operands = -1,
	.options = "",
	.run = run_chmod,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - nfsrdma: files on an NFSv3 server over RDMA or TCP, from a shell and without a mount.
 *
 * Everything goes through the public library (client/nfsrdma.h), as it would in anybody's program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "json.h"
#include "util/util.h"

static const struct cli_command *const commands[] = {
	&cmd_ls,    &cmd_stat, &cmd_cat,     &cmd_write,    &cmd_cp,	&cmd_mkdir,    &cmd_rm,
	&cmd_rmdir, &cmd_mv,   &cmd_ln,	     &cmd_readlink, &cmd_touch, &cmd_truncate, &cmd_chmod,
	&cmd_chown, &cmd_df,   &cmd_exports, &cmd_doctor,   NULL,
};

/* What would fail in every command is said before one begins. */
static bool options_make_sense(struct cli *cli)
{
	if (cli->json && !cli_json_available()) {
		cli_usage(cli, "--json: this nfsrdma was built without libjansson");
		return false;
	}
	if (nfsrdma_options_check(cli->opts)) {
		cli_usage(cli, "%s", nfsrdma_strerror_last());
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct cli cli = {.out_is_terminal = isatty(1)};
	int operands;

	if (util_stdio_reserve())
		return CLI_FAILED;
	operands = cli_parse(&cli, argc, &argv, commands);
	if (operands >= 0 && options_make_sense(&cli)) {
		cli.command->run(&cli, operands, argv);
		if (cli.stats)
			cli_print_stats(&cli);
	}
	cli_flush(&cli);
	cli_mounts_close(&cli);
	free(cli.opts_joined);
	return cli.status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_exports.c - exports SERVER: what it offers, and to whom.
 */
#include <stdio.h>

#include "commands.h"
#include "json.h"

static int print_export(void *arg, const char *path, const char *groups)
{
	struct cli *cli = arg;
	struct cli_json *doc;

	if (cli->json) {
		doc = cli_json_object();
		cli_json_name(doc, "path", path);
		cli_json_name(doc, "groups", groups ? groups : "");
		cli_json_print(doc, stdout);
		return 0;
	}
	cli_print_name(cli, path);
	if (groups && *groups) {
		putchar('\t');
		cli_print_name(cli, groups);
	}
	putchar('\n');
	return 0;
}

static void run_exports(struct cli *cli, int argc, char **argv)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;

	opts.opts = cli->opts;
	opts.log = cli_log;
	opts.log_arg = cli;
	opts.log_level = cli->verbosity < 0 ? NFSRDMA_LOG_ERROR : NFSRDMA_LOG_WARN;
	if (nfsrdma_exports(argv[0], &opts, print_export, cli))
		cli_fail(cli);
}

const struct cli_command cmd_exports = {
	.name = "exports",
	.operands = "SERVER",
	.summary = "list what a server exports",
	.min_operands = 1,
	.max_operands = 1,
	.options = "",
	.run = run_exports,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_readlink.c - readlink TARGET...
 */
#include <limits.h>
#include <stdio.h>

#include "commands.h"
#include "json.h"

static void readlink_one(struct cli *cli, const struct cli_target *target)
{
	char text[PATH_MAX + 1];
	struct cli_json *doc;

	if (nfsrdma_readlink(target->mount, target->path, text, sizeof(text)) < 0) {
		cli_fail(cli);
		return;
	}
	if (cli->json) {
		doc = cli_json_object();
		cli_json_name(doc, "name", target->text);
		cli_json_name(doc, "target", text);
		cli_json_print(doc, stdout);
		return;
	}
	cli_print_name(cli, text);
	putchar('\n');
}

static void run_readlink(struct cli *cli, int argc, char **argv)
{
	cli_each_target(cli, argc, argv, readlink_one);
}

const struct cli_command cmd_readlink = {
	.name = "readlink",
	.operands = "TARGET...",
	.summary = "print where symbolic links lead",
	.min_operands = 1,
	.max_operands = -1,
	.options = "",
	.run = run_readlink,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_df.c - df [-h] TARGET...
 */
#include <stdio.h>

#include "commands.h"
#include "json.h"

/* Rounded up, as df does; of what users may have. */
static unsigned percent(uint64_t used, uint64_t avail)
{
	double whole = (double)used + (double)avail;
	double share = whole > 0 ? (double)used * 100 / whole : 0;

	return (unsigned)share + (share > (unsigned)share);
}

static void print_size(const struct cli *cli, uint64_t bytes)
{
	char human[8];

	if (cli->flags['h'])
		printf(" %8s", cli_human(bytes, human));
	else
		printf(" %14llu", (unsigned long long)(bytes / 1024));
}

static void print_json(const struct cli_target *target, const struct nfsrdma_statfs *fs)
{
	struct cli_json *doc = cli_json_object();

	cli_json_name(doc, "target", target->text);
	cli_json_u64(doc, "total_bytes", fs->total_bytes);
	cli_json_u64(doc, "free_bytes", fs->free_bytes);
	cli_json_u64(doc, "avail_bytes", fs->avail_bytes);
	cli_json_u64(doc, "total_files", fs->total_files);
	cli_json_u64(doc, "free_files", fs->free_files);
	cli_json_u64(doc, "avail_files", fs->avail_files);
	cli_json_print(doc, stdout);
}

static void df_one(struct cli *cli, const struct cli_target *target)
{
	struct nfsrdma_statfs fs;
	uint64_t used;

	if (nfsrdma_statfs(target->mount, target->path, &fs)) {
		cli_fail(cli);
		return;
	}
	if (cli->json) {
		print_json(target, &fs);
		return;
	}
	used = fs.total_bytes > fs.free_bytes ? fs.total_bytes - fs.free_bytes : 0;
	print_size(cli, fs.total_bytes);
	print_size(cli, used);
	print_size(cli, fs.avail_bytes);
	printf(" %4u%%  ", percent(used, fs.avail_bytes));
	cli_print_name(cli, target->text);
	putchar('\n');
}

static void run_df(struct cli *cli, int argc, char **argv)
{
	if (!cli->json && cli->flags['h'])
		printf(" %8s %8s %8s  Use%%  Target\n", "Size", "Used", "Avail");
	else if (!cli->json)
		printf(" %14s %14s %14s  Use%%  Target\n", "1K-blocks", "Used", "Available");
	cli_each_target(cli, argc, argv, df_one);
}

const struct cli_command cmd_df = {
	.name = "df",
	.operands = "[-h] TARGET...",
	.summary = "show free space",
	.min_operands = 1,
	.max_operands = -1,
	.options = "h",
	.run = run_df,
};

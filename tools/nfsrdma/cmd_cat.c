/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_cat.c - cat TARGET...: files to standard output, one after the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "commands.h"
#include "transfer.h"

static void cat_file(struct cli *cli, struct transfer *transfer, const struct cli_target *target)
{
	struct transfer_job job = {
		.src = {.kind = TRANSFER_REMOTE, .mount = target->mount, .fd = -1},
		.dst = {.kind = TRANSFER_STREAM, .fd = 1},
	};
	char name[CLI_NAME_MAX];
	struct stat st;

	if (nfsrdma_open(target->mount, &job.src.file, target->path, O_RDONLY, 0)) {
		cli_fail(cli);
		return;
	}
	if (nfsrdma_fstat(job.src.file, &st) == 0)
		job.size = (uint64_t)st.st_size;
	if (transfer_run(transfer, &job))
		cli_error(cli, "%s: %s%s%s%s", cli_safe(target->text, name, sizeof(name)), job.why,
			  job.hint[0] ? " (" : "", job.hint, job.hint[0] ? ")" : "");
	nfsrdma_close(job.src.file);
}

static void run_cat(struct cli *cli, int argc, char **argv)
{
	struct transfer *transfer;

	if (transfer_create(&transfer, cli)) {
		cli_error(cli, "out of memory");
		return;
	}
	for (int i = 0; i < argc; i++) {
		struct cli_target target;

		if (cli_target_open(cli, argv[i], &target))
			continue;
		cat_file(cli, transfer, &target);
		cli_target_close(&target);
	}
	transfer_destroy(transfer);
}

const struct cli_command cmd_cat = {
	.name = "cat",
	.operands = "TARGET...",
	.summary = "print files",
	.min_operands = 1,
	.max_operands = -1,
	.options = "",
	.run = run_cat,
};

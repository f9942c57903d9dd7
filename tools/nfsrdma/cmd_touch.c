/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_touch.c - touch TARGET...: the server's time now; a file that is not there is made.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "commands.h"

static int create(const struct cli_target *target)
{
	struct nfsrdma_file *file;
	int err = nfsrdma_open(target->mount, &file, target->path, O_WRONLY | O_CREAT,
			       0666 & ~cli_umask());

	return err ? err : nfsrdma_close(file);
}

static void touch_one(struct cli *cli, const struct cli_target *target)
{
	static const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	int err = nfsrdma_utimens(target->mount, target->path, now);

	if (err == -ENOENT)
		err = create(target);
	if (err)
		cli_fail(cli);
}

static void run_touch(struct cli *cli, int argc, char **argv)
{
	cli_each_target(cli, argc, argv, touch_one);
}

const struct cli_command cmd_touch = {
	.name = "touch",
	.operands = "TARGET...",
	.summary = "set the times to now, or make empty files",
	.min_operands = 1,
	.max_operands = -1,
	.options = "",
	.run = run_touch,
};

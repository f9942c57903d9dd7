/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_mkdir.c - mkdir [-p] TARGET...
 */
#include <errno.h>
#include <string.h>

#include "commands.h"

/* Each directory on the way that is missing; EEXIST is fine where a directory is there. */
static int make_parents(struct nfsrdma *mount, char *path, mode_t mode)
{
	struct stat st;
	int err = 0;

	for (char *p = path + 1; !err; p++) {
		char was = *p;

		if (was && was != '/')
			continue;
		if (p[-1] != '/') {
			*p = '\0';
			/* the way must stay open whatever the umask says */
			err = nfsrdma_mkdir(mount, path, was ? mode | 0300 : mode);
			if (err == -EEXIST && nfsrdma_stat(mount, path, &st) == 0 &&
			    S_ISDIR(st.st_mode))
				err = 0;
			*p = was;
		}
		if (!was)
			break;
	}
	return err;
}

static void mkdir_one(struct cli *cli, const struct cli_target *target)
{
	mode_t mode = 0777 & ~cli_umask();
	int err;

	if (cli->flags['p'])
		err = make_parents(target->mount, target->path, mode);
	else
		err = nfsrdma_mkdir(target->mount, target->path, mode);
	if (err)
		cli_fail(cli);
}

static void run_mkdir(struct cli *cli, int argc, char **argv)
{
	cli_each_target(cli, argc, argv, mkdir_one);
}

const struct cli_command cmd_mkdir = {
	.name = "mkdir",
	.operands = "[-p] TARGET...",
	.summary = "make directories",
	.min_operands = 1,
	.max_operands = -1,
	.options = "p",
	.run = run_mkdir,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_rm.c - rm [-rf] TARGET...
 *
 * Links are removed, never followed.  The export itself, "." and ".." are refused before anything
 * is touched.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "place.h"

#define DEPTH_MAX 2048

static void remove_node(struct cli *cli, const struct place *place, unsigned depth);

/* NB: with -f, what is gone already is as good as removed. */
static void tell(struct cli *cli, int err)
{
	if (err && !(err == -ENOENT && cli->flags['f']))
		cli_fail(cli);
}

static void remove_tree(struct cli *cli, const struct place *place, unsigned depth)
{
	struct place_names names;
	int err = place_list(place, &names);

	if (err) {
		tell(cli, err);
		return;
	}
	for (size_t i = 0; i < names.count; i++) {
		struct place child;

		if (place_child(place, names.names[i], &child)) {
			cli_error(cli, "out of memory");
			break;
		}
		remove_node(cli, &child, depth + 1);
		place_close(&child);
	}
	place_names_free(&names);
	tell(cli, nfsrdma_rmdir(place->mount, place->path));
}

static void remove_node(struct cli *cli, const struct place *place, unsigned depth)
{
	char name[CLI_NAME_MAX];
	struct stat st;
	int err = place_lstat(place, &st);

	if (err)
		tell(cli, err);
	else if (!S_ISDIR(st.st_mode))
		tell(cli, place_unlink(place));
	else if (!cli->flags['r'] && !cli->flags['R'])
		cli_error(cli, "%s: is a directory (rm -r removes it)",
			  cli_safe(place->shown, name, sizeof(name)));
	else if (depth > DEPTH_MAX)
		cli_error(cli, "%s: too many directories in each other",
			  cli_safe(place->shown, name, sizeof(name)));
	else
		remove_tree(cli, place, depth);
}

static void rm_one(struct cli *cli, const struct cli_target *target)
{
	struct place place = {.mount = target->mount, .path = target->path};
	char *last = cli_basename(target->path);
	char name[CLI_NAME_MAX];

	place.shown = strdup(target->text);
	if (!last || !place.shown)
		cli_error(cli, "out of memory");
	else if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		cli_error(cli, "%s: refused: the export itself, '.' and '..' are not removed",
			  cli_safe(target->text, name, sizeof(name)));
	else
		remove_node(cli, &place, 0);
	free(place.shown);
	free(last);
}

static void run_rm(struct cli *cli, int argc, char **argv)
{
	if (argc == 0 && !cli->flags['f'])
		cli_usage(cli, "not enough operands: nfsrdma rm %s", cli->command->operands);
	cli_each_target(cli, argc, argv, rm_one);
}

const struct cli_command cmd_rm = {
	.name = "rm",
	.operands = "[-rf] TARGET...",
	.summary = "remove files, with -r directories",
	.min_operands = 0,
	.max_operands = -1,
	.options = "rRf",
	.run = run_rm,
};

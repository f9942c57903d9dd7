/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_cp.c - cp [-r] [-p] SRC... DST
 *
 * Where the last operand is a directory, sources go into it under their own names; otherwise there
 * is one source, and the last operand is its new name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "copy.h"
#include "interrupt.h"
#include "json.h"

/* -errno after telling the user, who may have typed anything. */
static int copy_init(struct copy *copy, struct cli *cli)
{
	int err;

	memset(copy, 0, sizeof(*copy));
	copy->cli = cli;
	copy->recursive = cli->flags['r'] || cli->flags['R'];
	copy->preserve = cli->flags['p'];
	copy->umask_bits = cli_umask();
	err = transfer_create(&copy->transfer, cli);
	if (err) {
		cli_error(cli, "out of memory");
		return err;
	}
	copy->stop = interrupt_catch();
	return 0;
}

/* Is the destination a directory to copy into?  -errno after telling. */
static int dst_is_directory(struct copy *copy, const struct place *dst, bool many)
{
	char name[CLI_NAME_MAX];
	struct stat st;
	int err = place_stat(dst, &st);

	if (!err && S_ISDIR(st.st_mode))
		return 1;
	if (err && err != -ENOENT && err != -ELOOP) {
		place_fail(copy->cli, dst, "stat", err);
		return err;
	}
	if (many) {
		cli_error(copy->cli, "%s: is not a directory, and there are several sources",
			  cli_safe(dst->shown, name, sizeof(name)));
		return -ENOTDIR;
	}
	return 0;
}

static bool ends_in_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 1 && path[len - 1] == '/';
}

/* The name a source has; "" where it has none of its own ("dir/.", "/"). */
static char *source_name(const struct place *src)
{
	struct nfsrdma_info info = {.size = sizeof(info)};
	char *name = cli_basename(src->path);

	/* a whole export goes by the export's name */
	if (name && !*name && src->mount && nfsrdma_info(src->mount, &info) == 0) {
		free(name);
		name = cli_basename(info.export_path);
	}
	if (name && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
		*name = '\0';
	return name;
}

/* Into the directory dst under its own name; what has none puts its contents there. */
static void copy_into(struct copy *copy, const struct place *src, const struct place *dst)
{
	char *name = source_name(src);
	struct place to;

	if (name && !*name) {
		copy_any(copy, src, dst);
	} else if (!name || place_child(dst, name, &to)) {
		cli_error(copy->cli, "out of memory");
	} else {
		copy_any(copy, src, &to);
		place_close(&to);
	}
	free(name);
}

static void copy_one(struct copy *copy, const char *text, const struct place *dst, bool into)
{
	struct place src;

	if (place_open(copy->cli, text, &src))
		return;
	if (!src.mount && !dst->mount)
		cli_usage(copy->cli, "both sides are local: use cp(1)");
	else if (into)
		copy_into(copy, &src, dst);
	else
		copy_any(copy, &src, dst);
	place_close(&src);
}

static void print_totals(const struct copy *copy, uint64_t elapsed_ns)
{
	struct cli_json *doc;

	if (!copy->cli->json)
		return;
	doc = cli_json_object();
	cli_json_u64(doc, "files", copy->files);
	cli_json_u64(doc, "bytes", copy->bytes);
	cli_json_real(doc, "seconds", (double)elapsed_ns / 1e9);
	cli_json_bool(doc, "complete", copy->cli->status == CLI_OK && !*copy->stop);
	cli_json_print(doc, stdout);
}

static void run_cp(struct cli *cli, int argc, char **argv)
{
	uint64_t start = util_clock_ns();
	struct copy copy;
	struct place dst;
	char name[CLI_NAME_MAX];
	int into;

	if (place_open(cli, argv[argc - 1], &dst))
		return;
	if (copy_init(&copy, cli))
		goto close;
	into = dst_is_directory(&copy, &dst, argc > 2);
	if (into == 0 && ends_in_slash(argv[argc - 1]) && !copy.recursive) {
		cli_error(cli, "%s: no such directory", cli_safe(dst.shown, name, sizeof(name)));
		into = -ENOTDIR;
	}
	for (int i = 0; i < argc - 1 && into >= 0 && !*copy.stop && cli->status != CLI_USAGE; i++)
		copy_one(&copy, argv[i], &dst, into);
	print_totals(&copy, util_clock_ns() - start);
	transfer_destroy(copy.transfer);
	interrupt_release();
close:
	place_close(&dst);
}

const struct cli_command cmd_cp = {
	.name = "cp",
	.operands = "[-r] [-p] SRC... DST",
	.summary = "copy to, from or between servers",
	.min_operands = 2,
	.max_operands = -1,
	.options = "rRp",
	.run = run_cp,
};

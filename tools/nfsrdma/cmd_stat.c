/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_stat.c - stat TARGET...
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "commands.h"
#include "json.h"

static void print_time(const char *label, const struct timespec *t)
{
	char date[64] = "?", zone[16] = "";
	struct tm tm;

	if (localtime_r(&t->tv_sec, &tm)) {
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
		strftime(zone, sizeof(zone), "%z", &tm);
	}
	printf("%s: %s.%09ld %s\n", label, date, t->tv_nsec, zone);
}

static void print_text(const struct cli *cli, const struct cli_target *target,
		       const struct stat *st, const char *link)
{
	char mode[11], user[33], group[33];

	fputs("  File: ", stdout);
	cli_print_name(cli, target->text);
	if (link) {
		fputs(" -> ", stdout);
		cli_print_name(cli, link);
	}
	printf("\n  Size: %-15llu Blocks: %-10llu %s\n", (unsigned long long)st->st_size,
	       (unsigned long long)st->st_blocks, cli_type_name(st->st_mode));
	printf("  Fsid: %-15llx Fileid: %-10llu Links: %lu", (unsigned long long)st->st_dev,
	       (unsigned long long)st->st_ino, (unsigned long)st->st_nlink);
	if (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode))
		printf(" Device: %u,%u", major(st->st_rdev), minor(st->st_rdev));
	printf("\nAccess: (%04o/%s)  Uid: (%u/%s)  Gid: (%u/%s)\n", (unsigned)(st->st_mode & 07777),
	       cli_mode_text(st->st_mode, mode), (unsigned)st->st_uid,
	       cli_user_name(st->st_uid, user), (unsigned)st->st_gid,
	       cli_group_name(st->st_gid, group));
	print_time("Access", &st->st_atim);
	print_time("Modify", &st->st_mtim);
	print_time("Change", &st->st_ctim);
}

static void stat_one(struct cli *cli, const struct cli_target *target)
{
	char link[PATH_MAX + 1];
	const char *shown = NULL;
	struct cli_json *doc;
	struct stat st;

	if (nfsrdma_lstat(target->mount, target->path, &st)) {
		cli_fail(cli);
		return;
	}
	if (S_ISLNK(st.st_mode)) {
		if (nfsrdma_readlink(target->mount, target->path, link, sizeof(link)) < 0)
			cli_fail(cli);
		else
			shown = link;
	}
	if (!cli->json) {
		print_text(cli, target, &st, shown);
		return;
	}
	doc = cli_json_object();
	cli_json_name(doc, "name", target->text);
	cli_json_name(doc, "path", target->path);
	cli_json_stat(doc, &st);
	if (shown)
		cli_json_name(doc, "target", shown);
	cli_json_print(doc, stdout);
}

static void run_stat(struct cli *cli, int argc, char **argv)
{
	cli_each_target(cli, argc, argv, stat_one);
}

const struct cli_command cmd_stat = {
	.name = "stat",
	.operands = "TARGET...",
	.summary = "show all attributes",
	.min_operands = 1,
	.max_operands = -1,
	.options = "",
	.run = run_stat,
};

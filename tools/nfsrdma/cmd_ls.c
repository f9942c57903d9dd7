/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_ls.c - ls [-laRh] TARGET...
 *
 * One name a line, sorted by bytes.  Files come first, then directories, each with its name in
 * front where there is more than one.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "commands.h"
#include "json.h"

struct entry {
	char *name;
	bool known; /* st is filled */
	struct stat st;
};

struct listing {
	struct entry *entries;
	size_t count, room;
};

static int listing_add(struct listing *l, const char *name, const struct stat *st)
{
	struct entry *grown;
	char *kept;

	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 64;

		grown = realloc(l->entries, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		l->entries = grown;
		l->room = room;
	}
	kept = strdup(name);
	if (!kept)
		return -ENOMEM;
	l->entries[l->count] = (struct entry){.name = kept, .known = st != NULL};
	if (st)
		l->entries[l->count].st = *st;
	l->count++;
	return 0;
}

static void listing_free(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->entries[i].name);
	free(l->entries);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* ---- one line ---- */

/* As ls: the hour for what is younger than half a year, else the year. */
static void print_time(time_t t)
{
	time_t now = time(NULL);
	bool recent = t <= now + 3600 && t > now - 365 * 86400 / 2;
	struct tm tm;
	char text[32] = "?";

	if (localtime_r(&t, &tm))
		strftime(text, sizeof(text), recent ? "%b %e %H:%M" : "%b %e  %Y", &tm);
	printf("%s ", text);
}

static void print_long(const struct cli *cli, const struct stat *st)
{
	char mode[11], user[33], group[33], human[8];

	printf("%s %3lu %-8s %-8s ", cli_mode_text(st->st_mode, mode), (unsigned long)st->st_nlink,
	       cli_user_name(st->st_uid, user), cli_group_name(st->st_gid, group));
	if (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode))
		printf("%4u, %4u ", major(st->st_rdev), minor(st->st_rdev));
	else if (cli->flags['h'])
		printf("%6s ", cli_human((uint64_t)st->st_size, human));
	else
		printf("%10llu ", (unsigned long long)st->st_size);
	print_time(st->st_mtim.tv_sec);
}

static void read_link(struct cli *cli, struct nfsrdma *mount, const char *path,
		      char target[PATH_MAX + 1])
{
	if (nfsrdma_readlink(mount, path, target, PATH_MAX + 1) < 0) {
		cli_fail(cli);
		snprintf(target, PATH_MAX + 1, "?");
	}
}

/* path: where the object is; name: how it is to be called; st NULL: unknown. */
static void print_entry(struct cli *cli, struct nfsrdma *mount, const char *path, const char *name,
			const struct stat *st)
{
	bool is_link = st && S_ISLNK(st->st_mode) && (cli->flags['l'] || cli->json);
	char target[PATH_MAX + 1];
	struct cli_json *doc;

	if (is_link)
		read_link(cli, mount, path, target);
	if (cli->json) {
		doc = cli_json_object();
		cli_json_name(doc, "name", name);
		cli_json_name(doc, "path", path);
		if (st)
			cli_json_stat(doc, st);
		if (is_link)
			cli_json_name(doc, "target", target);
		cli_json_print(doc, stdout);
		return;
	}
	if (cli->flags['l'] && st)
		print_long(cli, st);
	else if (cli->flags['l'])
		printf("?????????? ");
	cli_print_name(cli, name);
	if (is_link) {
		fputs(" -> ", stdout);
		cli_print_name(cli, target);
	}
	putchar('\n');
}

/* ---- directories ---- */

static bool hidden(const struct cli *cli, const char *name)
{
	return name[0] == '.' && !cli->flags['a'];
}

static int read_directory(struct cli *cli, struct nfsrdma *mount, const char *path,
			  struct listing *l)
{
	struct nfsrdma_dirent ent;
	struct nfsrdma_dir *dir;
	int got = nfsrdma_opendir(mount, &dir, path);

	if (got) {
		cli_fail(cli);
		return got;
	}
	while ((got = nfsrdma_readdir(dir, &ent)) > 0) {
		if (hidden(cli, ent.name))
			continue;
		got = listing_add(l, ent.name, ent.has_stat ? &ent.st : NULL);
		if (got) {
			cli_error(cli, "out of memory");
			break;
		}
	}
	if (got < 0 && got != -ENOMEM)
		cli_fail(cli);
	nfsrdma_closedir(dir);
	qsort(l->entries, l->count, sizeof(*l->entries), by_name);
	return got; /* what came before an error is shown */
}

/* Some servers send no attributes with their entries: ask one by one, where they are wanted. */
static void complete_entry(struct cli *cli, struct nfsrdma *mount, const char *path,
			   struct entry *ent)
{
	bool wanted = cli->flags['l'] || cli->flags['R'] || cli->json;

	if (ent->known || !wanted)
		return;
	if (nfsrdma_lstat(mount, path, &ent->st) == 0)
		ent->known = true;
	else
		cli_fail(cli);
}

static void list_directory(struct cli *cli, struct nfsrdma *mount, const char *path,
			   const char *shown);

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void list_below(struct cli *cli, struct nfsrdma *mount, const char *path, const char *shown,
		       const struct listing *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct entry *ent = &l->entries[i];
		char *sub, *sub_shown;

		if (!ent->known || !S_ISDIR(ent->st.st_mode) || is_dots(ent->name))
			continue;
		sub = cli_join(path, ent->name);
		sub_shown = cli_join(shown, ent->name);
		if (sub && sub_shown) {
			if (!cli->json)
				putchar('\n');
			list_directory(cli, mount, sub, sub_shown);
		} else {
			cli_error(cli, "out of memory");
		}
		free(sub_shown);
		free(sub);
	}
}

static void print_header(struct cli *cli, const char *shown, const struct listing *l)
{
	uint64_t blocks = 0;

	if (cli->json)
		return;
	if (shown) {
		cli_print_name(cli, shown);
		puts(":");
	}
	if (!cli->flags['l'])
		return;
	for (size_t i = 0; i < l->count; i++)
		blocks += l->entries[i].known ? (uint64_t)l->entries[i].st.st_blocks : 0;
	printf("total %llu\n", (unsigned long long)(blocks / 2));
}

/* shown: the name in front, NULL when there is none to be. */
static void list_directory(struct cli *cli, struct nfsrdma *mount, const char *path,
			   const char *shown)
{
	struct listing l = {.count = 0};

	read_directory(cli, mount, path, &l);
	for (size_t i = 0; i < l.count; i++) {
		char *sub = cli_join(path, l.entries[i].name);

		if (sub)
			complete_entry(cli, mount, sub, &l.entries[i]);
		free(sub);
	}
	print_header(cli, shown, &l);
	for (size_t i = 0; i < l.count; i++) {
		struct entry *ent = &l.entries[i];
		char *sub = cli_join(path, ent->name);

		if (sub)
			print_entry(cli, mount, sub, ent->name, ent->known ? &ent->st : NULL);
		free(sub);
	}
	if (cli->flags['R'])
		list_below(cli, mount, path, shown ? shown : path, &l);
	listing_free(&l);
}

/* ---- the command ---- */

struct operand {
	struct cli_target target;
	bool open, is_dir;
	struct stat st;
};

static void look_at(struct cli *cli, const char *text, struct operand *o)
{
	bool follow = !cli->flags['l'];
	int err;

	if (cli_target_open(cli, text, &o->target))
		return;
	o->open = true;
	err = nfsrdma_lstat(o->target.mount, o->target.path, &o->st);
	/* a link to a directory is listed as one, but not with -l: as ls does */
	if (!err && S_ISLNK(o->st.st_mode) && follow) {
		struct stat behind;

		if (nfsrdma_stat(o->target.mount, o->target.path, &behind) == 0)
			o->st = behind;
	}
	if (err) {
		cli_fail(cli);
		cli_target_close(&o->target);
		o->open = false;
		return;
	}
	o->is_dir = S_ISDIR(o->st.st_mode);
}

static void run_ls(struct cli *cli, int argc, char **argv)
{
	struct operand *ops = calloc((size_t)argc, sizeof(*ops));
	bool printed = false;

	if (!ops) {
		cli_error(cli, "out of memory");
		return;
	}
	for (int i = 0; i < argc; i++)
		look_at(cli, argv[i], &ops[i]);
	for (int i = 0; i < argc; i++) {
		if (!ops[i].open || ops[i].is_dir)
			continue;
		print_entry(cli, ops[i].target.mount, ops[i].target.path, argv[i], &ops[i].st);
		printed = true;
	}
	for (int i = 0; i < argc; i++) {
		if (!ops[i].open || !ops[i].is_dir)
			continue;
		if (printed && !cli->json)
			putchar('\n');
		list_directory(cli, ops[i].target.mount, ops[i].target.path,
			       argc > 1 || cli->flags['R'] ? argv[i] : NULL);
		printed = true;
	}
	for (int i = 0; i < argc; i++)
		if (ops[i].open)
			cli_target_close(&ops[i].target);
	free(ops);
}

const struct cli_command cmd_ls = {
	.name = "ls",
	.operands = "[-laRh] TARGET...",
	.summary = "list directories",
	.min_operands = 1,
	.max_operands = -1,
	.options = "laRh",
	.run = run_ls,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.c - names, sizes and modes as people read them.
 *
 * A name comes from a server and may hold anything.  On a terminal it is escaped, since control
 * characters could drive it; into a pipe it goes as it is, since programs want the bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

void cli_flush(struct cli *cli)
{
	bool failed = ferror(stdout); /* of a write whose errno is gone */

	errno = 0;
	failed |= fflush(stdout) != 0;
	if (failed)
		cli_error(cli, "write to standard output: %s", strerror(errno ? errno : EIO));
}

const char *cli_safe(const char *name, char *buf, size_t len)
{
	util_text_escape(name, strlen(name), buf, len);
	return buf;
}

void cli_print_name(const struct cli *cli, const char *name)
{
	size_t len = strlen(name);
	/* at worst every byte becomes \xNN */
	char *safe = cli->out_is_terminal ? malloc(4 * len + 1) : NULL;

	if (safe) {
		util_text_escape(name, len, safe, 4 * len + 1);
		fputs(safe, stdout);
	} else {
		fputs(name, stdout);
	}
	free(safe);
}

/* Three digits at most, rounded up as ls does: no file is shown smaller than it is. */
const char *cli_human(uint64_t bytes, char buf[8])
{
	static const char units[] = "KMGTPE";
	uint64_t unit = 1024;
	size_t u = 0;
	uint64_t whole, tenths;

	if (bytes < 1024) {
		snprintf(buf, 8, "%u", (unsigned)bytes);
		return buf;
	}
	while (units[u + 1] && bytes > 1023 * unit) {
		unit *= 1024;
		u++;
	}
	whole = bytes / unit;
	/* unit is 2^60 at most, and 11 * 2^60 fits */
	tenths = (bytes % unit * 10 + unit - 1) / unit;
	if (tenths >= 10) {
		whole++;
		tenths = 0;
	}
	if (whole < 10)
		snprintf(buf, 8, "%u.%u%c", (unsigned)whole, (unsigned)tenths, units[u]);
	else
		snprintf(buf, 8, "%u%c", (unsigned)(whole + (tenths != 0)), units[u]);
	return buf;
}

static char type_letter(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFBLK:
		return 'b';
	case S_IFCHR:
		return 'c';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	case S_IFREG:
		return '-';
	default:
		return '?';
	}
}

const char *cli_type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	case S_IFBLK:
		return "block device";
	case S_IFCHR:
		return "character device";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFREG:
		return "regular file";
	default:
		return "unknown";
	}
}

static char execute_letter(mode_t mode, mode_t bit, mode_t special, char letter)
{
	if (mode & special)
		return mode & bit ? letter : (char)(letter - 'a' + 'A');
	return mode & bit ? 'x' : '-';
}

const char *cli_mode_text(mode_t mode, char buf[11])
{
	static const char letters[] = "rwxrwxrwx";

	buf[0] = type_letter(mode);
	for (int i = 0; i < 9; i++)
		buf[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
	buf[3] = execute_letter(mode, S_IXUSR, S_ISUID, 's');
	buf[6] = execute_letter(mode, S_IXGRP, S_ISGID, 's');
	buf[9] = execute_letter(mode, S_IXOTH, S_ISVTX, 't');
	buf[10] = '\0';
	return buf;
}

char *cli_basename(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	return strndup(path + start, end - start);
}

char *cli_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);
	char *path;

	while (len > 0 && dir[len - 1] == '/')
		len--;
	if (asprintf(&path, "%.*s/%s", (int)len, dir, name) < 0)
		return NULL;
	return path;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode.c - modes as chmod(1) takes them: octal, or clauses like "u+rwX,go-w".
 */
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static int parse_octal(const char *text, mode_t *resultp)
{
	mode_t mode = 0;

	for (; *text; text++) {
		if (*text < '0' || *text > '7')
			return -EINVAL;
		mode = mode * 8 + (mode_t)(*text - '0');
		if (mode > 07777)
			return -EINVAL;
	}
	*resultp = mode;
	return 0;
}

/* "ugoa" at *p: whose bits, 0 when none is named. */
static mode_t parse_who(const char **p)
{
	mode_t who = 0;

	for (;; (*p)++) {
		switch (**p) {
		case 'u':
			who |= S_ISUID | S_IRWXU;
			break;
		case 'g':
			who |= S_ISGID | S_IRWXG;
			break;
		case 'o':
			who |= S_ISVTX | S_IRWXO;
			break;
		case 'a':
			who |= 07777;
			break;
		default:
			return who;
		}
	}
}

/* "rwxXst" or one of "ugo" at *p, for all three classes. */
static mode_t parse_perms(const char **p, mode_t mode)
{
	mode_t perms = 0;

	for (;; (*p)++) {
		switch (**p) {
		case 'r':
			perms |= 0444;
			break;
		case 'w':
			perms |= 0222;
			break;
		case 'x':
			perms |= 0111;
			break;
		case 'X':
			perms |= S_ISDIR(mode) || mode & 0111 ? 0111 : 0;
			break;
		case 's':
			perms |= S_ISUID | S_ISGID;
			break;
		case 't':
			perms |= S_ISVTX;
			break;
		case 'u':
			perms |= (mode >> 6 & 7) * 0111;
			break;
		case 'g':
			perms |= (mode >> 3 & 7) * 0111;
			break;
		case 'o':
			perms |= (mode & 7) * 0111;
			break;
		default:
			return perms;
		}
	}
}

/* One clause: who, then at least one operator with its permissions. */
static int apply_clause(const char **p, mode_t *mode, mode_t umask_bits)
{
	mode_t named = parse_who(p), who = named ? named : 07777 & ~umask_bits;

	if (!**p || !strchr("+-=", **p))
		return -EINVAL;
	while (**p && strchr("+-=", **p)) {
		char op = *(*p)++;
		mode_t perms = parse_perms(p, *mode) & who;

		if (op == '+')
			*mode |= perms;
		else if (op == '-')
			*mode &= ~perms;
		else
			*mode = (*mode & ~(named ? named : 07777)) | perms;
	}
	return 0;
}

int cli_mode_apply(const char *text, mode_t mode, mode_t umask_bits, mode_t *resultp)
{
	mode_t result = mode;
	int err;

	if (*text >= '0' && *text <= '7')
		return parse_octal(text, resultp);
	for (;;) {
		err = apply_clause(&text, &result, umask_bits);
		if (err)
			return err;
		if (!*text)
			break;
		if (*text++ != ',')
			return -EINVAL;
	}
	*resultp = result & 07777;
	return 0;
}

/* umask(2) can only be read by setting it; /proc says it without (since Linux 4.7). */
mode_t cli_umask(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	unsigned mask = 022;

	if (!f)
		return (mode_t)mask;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Umask: %o", &mask) == 1)
			break;
	fclose(f);
	return (mode_t)mask;
}

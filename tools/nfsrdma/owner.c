/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner.c - users and groups, by name where this machine knows one.
 *
 * NFSv3 carries numbers.  Names are this machine's idea of them, as they would be on a mount.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static int parse_user(const char *text, uid_t *uidp)
{
	const struct passwd *pw = getpwnam(text);
	uint64_t number;

	if (pw) {
		*uidp = pw->pw_uid;
		return 0;
	}
	/* -1 means "leave it" */
	if (util_u64_parse(text, UINT32_MAX - 1, &number))
		return -EINVAL;
	*uidp = (uid_t)number;
	return 0;
}

static int parse_group(const char *text, gid_t *gidp)
{
	const struct group *gr = getgrnam(text);
	uint64_t number;

	if (gr) {
		*gidp = gr->gr_gid;
		return 0;
	}
	if (util_u64_parse(text, UINT32_MAX - 1, &number))
		return -EINVAL;
	*gidp = (gid_t)number;
	return 0;
}

int cli_owner_parse(const char *text, uid_t *uidp, gid_t *gidp)
{
	const char *colon = strchr(text, ':');
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	char user[256];
	size_t user_len = colon ? (size_t)(colon - text) : strlen(text);
	int err = 0;

	if (user_len >= sizeof(user) || !*text || (colon == text && !colon[1]))
		return -EINVAL;
	memcpy(user, text, user_len);
	user[user_len] = '\0';
	if (user_len)
		err = parse_user(user, &uid);
	if (!err && colon && colon[1])
		err = parse_group(colon + 1, &gid);
	if (err)
		return err;
	*uidp = uid;
	*gidp = gid;
	return 0;
}

const char *cli_user_name(uid_t uid, char buf[33])
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(buf, 33, "%s", pw->pw_name);
	else
		snprintf(buf, 33, "%u", (unsigned)uid);
	return buf;
}

const char *cli_group_name(gid_t gid, char buf[33])
{
	const struct group *gr = getgrgid(gid);

	if (gr)
		snprintf(buf, 33, "%s", gr->gr_name);
	else
		snprintf(buf, 33, "%u", (unsigned)gid);
	return buf;
}

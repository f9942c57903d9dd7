/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.c - a name here or on a server.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "place.h"

static int errno_of(int result)
{
	return result < 0 ? -errno : 0;
}

static int place_set(struct place *place, struct nfsrdma *mount, char *path, char *shown)
{
	if (!path || !shown) {
		free(path);
		free(shown);
		return -ENOMEM;
	}
	*place = (struct place){.mount = mount, .path = path, .shown = shown};
	return 0;
}

int place_open(struct cli *cli, const char *text, struct place *place)
{
	int remote = nfsrdma_target_is_remote(text), err;
	struct cli_target target;

	if (remote < 0) {
		cli_usage(cli, "%s", nfsrdma_strerror_last());
		return -EINVAL;
	}
	if (remote) {
		err = cli_target_open(cli, text, &target);
		if (err)
			return err;
		err = place_set(place, target.mount, target.path, strdup(text));
	} else {
		err = place_set(place, NULL, strdup(text), strdup(text));
	}
	if (err)
		cli_error(cli, "out of memory");
	return err;
}

int place_child(const struct place *dir, const char *name, struct place *child)
{
	return place_set(child, dir->mount, cli_join(dir->path, name), cli_join(dir->shown, name));
}

/* What stands before the last name, slash included; "" when there is none. */
static char *replace_last(const char *path, const char *name)
{
	size_t end = strlen(path);
	char *result;

	while (end > 0 && path[end - 1] == '/')
		end--;
	while (end > 0 && path[end - 1] != '/')
		end--;
	if (asprintf(&result, "%.*s%s", (int)end, path, name) < 0)
		return NULL;
	return result;
}

int place_sibling(const struct place *place, const char *name, struct place *sibling)
{
	return place_set(sibling, place->mount, replace_last(place->path, name),
			 replace_last(place->shown, name));
}

void place_close(struct place *place)
{
	free(place->path);
	free(place->shown);
	place->path = place->shown = NULL;
}

void place_fail(struct cli *cli, const struct place *place, const char *doing, int error)
{
	if (place->mount)
		cli_fail(cli);
	else
		cli_fail_local(cli, doing, place->path, error);
}

int place_stat(const struct place *place, struct stat *st)
{
	return place->mount ? nfsrdma_stat(place->mount, place->path, st)
			    : errno_of(stat(place->path, st));
}

int place_lstat(const struct place *place, struct stat *st)
{
	return place->mount ? nfsrdma_lstat(place->mount, place->path, st)
			    : errno_of(lstat(place->path, st));
}

int place_access(const struct place *place, int mode)
{
	return place->mount ? nfsrdma_access(place->mount, place->path, mode)
			    : errno_of(faccessat(AT_FDCWD, place->path, mode, AT_EACCESS));
}

int place_mkdir(const struct place *place, mode_t mode)
{
	return place->mount ? nfsrdma_mkdir(place->mount, place->path, mode)
			    : errno_of(mkdir(place->path, mode));
}

int place_unlink(const struct place *place)
{
	return place->mount ? nfsrdma_unlink(place->mount, place->path)
			    : errno_of(unlink(place->path));
}

int place_rename(const struct place *from, const struct place *to)
{
	return from->mount ? nfsrdma_rename(from->mount, from->path, to->path)
			   : errno_of(rename(from->path, to->path));
}

int place_symlink(const char *target, const struct place *place)
{
	return place->mount ? nfsrdma_symlink(place->mount, target, place->path)
			    : errno_of(symlink(target, place->path));
}

int place_readlink(const struct place *place, char *buf, size_t len)
{
	ssize_t n;

	if (place->mount) {
		n = nfsrdma_readlink(place->mount, place->path, buf, len);
		return n < 0 ? (int)n : 0;
	}
	n = readlink(place->path, buf, len);
	if (n < 0)
		return -errno;
	if ((size_t)n == len)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return 0;
}

int place_mknod(const struct place *place, mode_t mode, dev_t dev)
{
	return place->mount ? nfsrdma_mknod(place->mount, place->path, mode, dev)
			    : errno_of(mknod(place->path, mode, dev));
}

int place_chmod(const struct place *place, mode_t mode)
{
	return place->mount ? nfsrdma_chmod(place->mount, place->path, mode)
			    : errno_of(chmod(place->path, mode));
}

int place_lchown(const struct place *place, uid_t uid, gid_t gid)
{
	return place->mount ? nfsrdma_lchown(place->mount, place->path, uid, gid)
			    : errno_of(lchown(place->path, uid, gid));
}

int place_lutimens(const struct place *place, const struct timespec times[2])
{
	return place->mount
		       ? nfsrdma_lutimens(place->mount, place->path, times)
		       : errno_of(utimensat(AT_FDCWD, place->path, times, AT_SYMLINK_NOFOLLOW));
}

int place_utimens(const struct place *place, const struct timespec times[2])
{
	return place->mount ? nfsrdma_utimens(place->mount, place->path, times)
			    : errno_of(utimensat(AT_FDCWD, place->path, times, 0));
}

/* ---- directories ---- */

static int names_add(struct place_names *names, const char *name)
{
	char *kept;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	/* grows at powers of two */
	if ((names->count & (names->count - 1)) == 0) {
		size_t room = names->count ? 2 * names->count : 1;
		char **grown = realloc(names->names, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		names->names = grown;
	}
	kept = strdup(name);
	if (!kept)
		return -ENOMEM;
	names->names[names->count++] = kept;
	return 0;
}

static int list_remote(const struct place *place, struct place_names *names)
{
	struct nfsrdma_dirent ent;
	struct nfsrdma_dir *dir;
	int err = nfsrdma_opendir(place->mount, &dir, place->path);

	if (err)
		return err;
	while ((err = nfsrdma_readdir(dir, &ent)) > 0) {
		err = names_add(names, ent.name);
		if (err)
			break;
	}
	nfsrdma_closedir(dir);
	return err;
}

static int list_local(const struct place *place, struct place_names *names)
{
	DIR *dir = opendir(place->path);
	struct dirent *ent;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err) {
		errno = 0;
		ent = readdir(dir);
		if (!ent) {
			err = -errno;
			break;
		}
		err = names_add(names, ent->d_name);
	}
	closedir(dir);
	return err;
}

int place_list(const struct place *place, struct place_names *names)
{
	int err;

	memset(names, 0, sizeof(*names));
	err = place->mount ? list_remote(place, names) : list_local(place, names);
	if (err)
		place_names_free(names);
	return err;
}

void place_names_free(struct place_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	memset(names, 0, sizeof(*names));
}

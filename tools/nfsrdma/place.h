/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.h - a name here or on a server, so that cp need not care which.
 *
 * Every function returns 0 or -errno and says nothing; place_fail says what went wrong with the
 * call just made.
 */
#ifndef TOOLS_NFSRDMA_PLACE_H
#define TOOLS_NFSRDMA_PLACE_H

#include <dirent.h>

#include "cli.h"

struct place {
	struct nfsrdma *mount; /* NULL: the local file system */
	char *path;
	char *shown; /* as the user would write it */
};

/* From an operand: remote ones are mounted.  -errno after telling the user. */
int place_open(struct cli *cli, const char *text, struct place *place);
/* place + '/' + name.  -ENOMEM. */
int place_child(const struct place *dir, const char *name, struct place *child);
/* The directory that holds it, for a name beside it.  -ENOMEM. */
int place_sibling(const struct place *place, const char *name, struct place *sibling);
void place_close(struct place *place);

void place_fail(struct cli *cli, const struct place *place, const char *doing, int error);

int place_stat(const struct place *place, struct stat *st);
int place_lstat(const struct place *place, struct stat *st);
int place_access(const struct place *place, int mode);
int place_mkdir(const struct place *place, mode_t mode);
int place_unlink(const struct place *place);
int place_rename(const struct place *from, const struct place *to); /* both on one side */
int place_symlink(const char *target, const struct place *place);
int place_readlink(const struct place *place, char *buf, size_t len); /* terminated */
int place_mknod(const struct place *place, mode_t mode, dev_t dev);
int place_chmod(const struct place *place, mode_t mode);
int place_lchown(const struct place *place, uid_t uid, gid_t gid);
int place_lutimens(const struct place *place, const struct timespec times[2]);
int place_utimens(const struct place *place, const struct timespec times[2]);

/* All the names in a directory but "." and "..", read in one go: what is done to them may change
 * the directory.  The caller frees with place_names_free.  On failure with -errno *namesp is NULL.
 */
struct place_names {
	char **names;
	size_t count;
};
int place_list(const struct place *place, struct place_names *names);
void place_names_free(struct place_names *names);

#endif

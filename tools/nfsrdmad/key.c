/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key.c - the server's secret, kept in its state folder.
 *
 * File handles are good after a restart because the key under which they were issued is.  The file
 * "handle.key" holds 16 random bytes, mode 0600.  It appears whole or not at all: written under a
 * name of its own, synced, then linked to its real name, which fails if another server was
 * first; then that one's key is used.  A file anybody else could have read or written is refused.
 *
 * The default folder is /var/lib/nfsrdmad for root, else $XDG_STATE_HOME/nfsrdmad, else
 * ~/.local/state/nfsrdmad.
 */
#include "tools/nfsrdmad/key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE "handle.key"

static int default_dir(char *dir, size_t len)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	if (geteuid() == 0)
		n = snprintf(dir, len, "/var/lib/nfsrdmad");
	else if (state && state[0] == '/')
		n = snprintf(dir, len, "%s/nfsrdmad", state);
	else if (home && home[0] == '/')
		n = snprintf(dir, len, "%s/.local/state/nfsrdmad", home);
	else
		return -ENOENT;
	return n > 0 && (size_t)n < len ? 0 : -ENAMETOOLONG;
}

/* mkdir -p, the last one for us alone. */
static int make_dirs(const char *dir)
{
	char path[PATH_MAX];
	size_t len = strlen(dir);

	if (len == 0 || len >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, dir, len + 1);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

static int key_read(int dirfd, uint8_t key[SERVER_KEY_LEN])
{
	uint8_t extra[SERVER_KEY_LEN + 1];
	struct stat st;
	ssize_t n;
	int fd, err = 0;

	fd = openat(dirfd, KEY_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || (st.st_mode & 077) || st.st_uid != geteuid())
		err = -EPERM;
	else if ((n = read(fd, extra, sizeof(extra))) != SERVER_KEY_LEN)
		err = n < 0 ? -errno : -EBADMSG;
	else
		memcpy(key, extra, SERVER_KEY_LEN);
	close(fd);
	return err;
}

static int key_write(int dirfd, const char *name, const uint8_t key[SERVER_KEY_LEN])
{
	int fd, err = 0;

	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, key, SERVER_KEY_LEN) != SERVER_KEY_LEN)
		err = errno ? -errno : -EIO;
	else if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

/* 0, -EEXIST (somebody was first), or another -errno. */
static int key_make(int dirfd)
{
	uint8_t key[SERVER_KEY_LEN], salt[8];
	char name[64];
	int err;

	err = util_random_bytes(key, sizeof(key));
	if (!err)
		err = util_random_bytes(salt, sizeof(salt));
	if (err)
		return err;
	snprintf(name, sizeof(name), "." KEY_FILE ".%016llx",
		 (unsigned long long)util_get_be64(salt));
	errno = 0;
	err = key_write(dirfd, name, key);
	if (!err && linkat(dirfd, name, dirfd, KEY_FILE, 0))
		err = -errno;
	unlinkat(dirfd, name, 0);
	if (!err)
		fsync(dirfd);
	return err;
}

static int key_get(const char *dir, uint8_t key[SERVER_KEY_LEN], struct util_err *err)
{
	int dirfd, ret;

	ret = make_dirs(dir);
	if (ret)
		return util_err_set(err, ret, "state folder %s: %s", dir, strerror(-ret));
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0) {
		ret = -errno;
		return util_err_set(err, ret, "state folder %s: %s", dir, strerror(-ret));
	}
	ret = key_read(dirfd, key);
	if (ret == -ENOENT) {
		ret = key_make(dirfd);
		if (!ret || ret == -EEXIST)
			ret = key_read(dirfd, key);
	}
	close(dirfd);
	if (!ret)
		return 0;
	util_err_set(err, ret, "%s/%s: %s", dir, KEY_FILE,
		     ret == -EBADMSG ? "not a key of ours"
		     : ret == -EPERM ? "must be a file of this user with mode 0600"
				     : strerror(-ret));
	util_err_hint(err,
		      "remove it (clients must mount again), or choose another --state folder");
	return ret;
}

int server_key_load(const char *dir, uint8_t key[SERVER_KEY_LEN], bool *keptp, struct util_err *err)
{
	char path[PATH_MAX];
	int ret;

	*keptp = true;
	if (dir)
		return key_get(dir, key, err);
	ret = default_dir(path, sizeof(path));
	if (!ret)
		ret = key_get(path, key, err);
	else
		util_err_set(err, ret, "no state folder: HOME is not set");
	if (!ret)
		return 0;
	*keptp = false;
	return util_random_bytes(key, SERVER_KEY_LEN);
}

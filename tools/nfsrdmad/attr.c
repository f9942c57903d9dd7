/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attr.c - attributes between stat(2) and RFC 1813, weak cache consistency, and names.
 *
 * Weak cache consistency tells a client the attributes just before and just after a change: if the
 * former are what it has cached, nobody else interfered and its cache stays good.  So both are read
 * under the object's change lock, which every worker takes to change it.  WRITE does not hold it,
 * so changes are counted: where one overlapped another, attributes from before are left out.
 * Changes made on the server past us cannot be locked out; nor can nfsd do that in file systems it
 * does not own.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "wire/nfs3_xdr.h"

static uint32_t attr_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return NF3DIR;
	case S_IFBLK:
		return NF3BLK;
	case S_IFCHR:
		return NF3CHR;
	case S_IFLNK:
		return NF3LNK;
	case S_IFSOCK:
		return NF3SOCK;
	case S_IFIFO:
		return NF3FIFO;
	default:
		return NF3REG;
	}
}

static struct wire_time attr_time(const struct timespec *ts)
{
	return (struct wire_time){(uint32_t)ts->tv_sec, (uint32_t)ts->tv_nsec};
}

void server_attr(const struct server_export *exp, const struct stat *st, struct wire_attr *attr)
{
	*attr = (struct wire_attr){
		.type = attr_type(st->st_mode),
		.mode = st->st_mode & 07777,
		.nlink = (uint32_t)st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = (uint64_t)st->st_size,
		.used = (uint64_t)st->st_blocks * 512,
		.rdev_major = major(st->st_rdev),
		.rdev_minor = minor(st->st_rdev),
		.fsid = exp->fsid,
		.fileid = st->st_ino,
		.atime = attr_time(&st->st_atim),
		.mtime = attr_time(&st->st_mtim),
		.ctime = attr_time(&st->st_ctim),
	};
}

void server_post(const struct server_export *exp, const struct stat *st,
		 struct wire_post_attr *post)
{
	post->present = true;
	server_attr(exp, st, &post->attr);
}

void server_pre(const struct stat *st, struct wire_pre_attr *pre)
{
	pre->present = true;
	pre->size = (uint64_t)st->st_size;
	pre->mtime = attr_time(&st->st_mtim);
	pre->ctime = attr_time(&st->st_ctim);
}

void server_post_now(struct server_object *obj, struct wire_post_attr *post)
{
	struct stat st;

	post->present = false;
	if (!fstat(obj->path_fd, &st))
		server_post(obj->exp, &st, post);
}

/* 0: another change was under way already. */
uint64_t server_change_enter(struct server_object *obj)
{
	bool first = atomic_fetch_add(&obj->changers, 1) == 0;
	uint64_t seq = atomic_fetch_add(&obj->changes, 1) + 1;

	return first ? seq : 0;
}

/* After the attributes were read: a change that begins from here on is not in them. */
bool server_change_leave(struct server_object *obj, uint64_t seq)
{
	bool alone = seq && atomic_load(&obj->changes) == seq;

	atomic_fetch_sub(&obj->changers, 1);
	return alone;
}

void server_change_begin(struct server_object *obj, struct wire_wcc *wcc)
{
	struct stat st;

	memset(wcc, 0, sizeof(*wcc));
	pthread_mutex_lock(&obj->change);
	obj->change_seq = server_change_enter(obj);
	if (!fstat(obj->path_fd, &st))
		server_pre(&st, &wcc->before);
}

void server_change_end(struct server_object *obj, struct wire_wcc *wcc)
{
	server_post_now(obj, &wcc->after);
	if (!server_change_leave(obj, obj->change_seq))
		wcc->before.present = false;
	pthread_mutex_unlock(&obj->change);
}

static struct timespec set_time(enum wire_set_time how, const struct wire_time *t)
{
	switch (how) {
	case WIRE_SET_TO_SERVER_TIME:
		return (struct timespec){0, UTIME_NOW};
	case WIRE_SET_TO_CLIENT_TIME:
		/* A billion is no time; UTIME_NOW and UTIME_OMIT are above it. */
		return (struct timespec){t->sec, t->nsec < 1000000000 ? (long)t->nsec : -1};
	default:
		return (struct timespec){0, UTIME_OMIT};
	}
}

/* chmod(2) and utimensat(2) want a path: the link in /proc leads to the very inode. */
static int set_mode_and_times(const struct wire_sattr *sattr, int path_fd)
{
	struct timespec times[2] = {set_time(sattr->set_atime, &sattr->atime),
				    set_time(sattr->set_mtime, &sattr->mtime)};
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	if (sattr->set_mode && chmod(link, sattr->mode & 07777))
		return -errno;
	if ((sattr->set_atime || sattr->set_mtime) && utimensat(AT_FDCWD, link, times, 0))
		return -errno;
	return 0;
}

/* Size first, which may take away set-user-id; owner before mode, for the same reason. */
int server_set_attr(struct server_op *op, const struct wire_sattr *sattr, int path_fd, int write_fd)
{
	uid_t uid = sattr->set_uid ? sattr->uid : (uid_t)-1;
	gid_t gid = sattr->set_gid ? sattr->gid : (gid_t)-1;
	int err = server_as_caller(op);

	if (err)
		return err;
	if (sattr->set_size && sattr->size > INT64_MAX)
		return -EINVAL;
	if (sattr->set_size && ftruncate(write_fd, (off_t)sattr->size))
		return -errno;
	if ((sattr->set_uid || sattr->set_gid) && fchownat(path_fd, "", uid, gid, AT_EMPTY_PATH))
		return -errno;
	return set_mode_and_times(sattr, path_fd);
}

int server_name(struct wire_dec *d, char name[WIRE_NAME_MAX + 1])
{
	size_t len;
	const uint8_t *text = wire_get_opaque(d, WIRE_PATH_MAX, &len);

	name[0] = '\0';
	if (!text)
		return -EINVAL;
	if (len > WIRE_NAME_MAX)
		return -ENAMETOOLONG;
	if (len == 0 || memchr(text, '/', len) || memchr(text, '\0', len))
		return -EACCES;
	memcpy(name, text, len);
	name[len] = '\0';
	return 0;
}

bool server_name_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

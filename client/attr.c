/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attr.c - GETATTR, SETATTR and ACCESS (RFC 1813 sections 3.3.1, 3.3.2, 3.3.4), and what stat,
 * chmod, chown, truncate, utimens and access make of them.
 */
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "client/internal.h"

int client_getattr(struct nfsrdma *mount, const struct wire_fh *fh, struct wire_attr *attr)
{
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_GETATTR);
	wire_put_fh(&p.args, fh);
	err = client_proc_run(&p);
	if (err)
		return err;
	wire_get_attr(&p.res, attr);
	return client_proc_check(&p);
}

/* Without a guard, so sending it twice does no harm. */
int client_setattr(struct nfsrdma *mount, const struct wire_fh *fh, const struct wire_sattr *set)
{
	struct client_proc p;
	int err;

	if (set->set_size)
		client_rewrite_wait(mount, fh);
	client_proc_init(&p, mount, WIRE_NFS3_SETATTR);
	wire_put_fh(&p.args, fh);
	wire_put_sattr(&p.args, set);
	wire_put_bool(&p.args, false);
	err = client_proc_run(&p);
	if (!err && set->set_size)
		client_unstable_truncated(mount, fh, set->size);
	return err;
}

int client_access(struct nfsrdma *mount, const struct wire_fh *fh, uint32_t want, uint32_t *gotp)
{
	struct wire_post_attr attr;
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_ACCESS);
	wire_put_fh(&p.args, fh);
	wire_put_u32(&p.args, want);
	err = client_proc_run(&p);
	if (err)
		return err;
	wire_get_post_attr(&p.res, &attr);
	*gotp = wire_get_u32(&p.res);
	return client_proc_check(&p);
}

static mode_t type_mode(uint32_t type)
{
	static const mode_t modes[] = {
		[CLIENT_REG] = S_IFREG,	 [CLIENT_DIR] = S_IFDIR, [CLIENT_BLK] = S_IFBLK,
		[CLIENT_CHR] = S_IFCHR,	 [CLIENT_LNK] = S_IFLNK, [CLIENT_SOCK] = S_IFSOCK,
		[CLIENT_FIFO] = S_IFIFO,
	};

	return type < UTIL_ARRAY_SIZE(modes) ? modes[type] : 0;
}

void client_attr_stat(const struct wire_attr *attr, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_dev = attr->fsid;
	st->st_ino = attr->fileid;
	st->st_mode = type_mode(attr->type) | (attr->mode & 07777);
	st->st_nlink = attr->nlink;
	st->st_uid = attr->uid;
	st->st_gid = attr->gid;
	st->st_rdev = makedev(attr->rdev_major, attr->rdev_minor);
	/* a size no off_t holds cannot be right, and must not turn negative */
	st->st_size = attr->size > INT64_MAX ? INT64_MAX : (off_t)attr->size;
	st->st_blksize = 4096;
	st->st_blocks = (blkcnt_t)(attr->used / 512 + (attr->used % 512 != 0));
	st->st_atim = (struct timespec){attr->atime.sec, attr->atime.nsec};
	st->st_mtim = (struct timespec){attr->mtime.sec, attr->mtime.nsec};
	st->st_ctim = (struct timespec){attr->ctime.sec, attr->ctime.nsec};
}

static int stat_path(struct nfsrdma *mount, const char *path, unsigned flags, const char *doing,
		     struct stat *st)
{
	struct client_walk walk;
	int err = client_enter(mount, doing, path);

	if (err)
		return err;
	err = client_walk(mount, path, flags, &walk);
	if (!err)
		err = client_node_attr(mount, &walk.node);
	if (err)
		return client_fail_mount(mount, err, doing, path);
	client_attr_stat(&walk.node.attr.attr, st);
	st->st_blksize = mount->rsize;
	return 0;
}

int nfsrdma_stat(struct nfsrdma *mount, const char *path, struct stat *st)
{
	return stat_path(mount, path, CLIENT_WALK_FOLLOW, "stat", st);
}

int nfsrdma_lstat(struct nfsrdma *mount, const char *path, struct stat *st)
{
	return stat_path(mount, path, 0, "lstat", st);
}

static int access_node(struct nfsrdma *mount, struct client_node *node, int mode)
{
	uint32_t want = 0, got;
	bool dir;
	int err = client_node_attr(mount, node);

	if (err || mode == F_OK)
		return err;
	if ((mode & W_OK) && mount->opts.read_only)
		return client_error(mount, -EROFS, "mounted read-only (ro)");
	dir = node->attr.attr.type == CLIENT_DIR;
	if (mode & R_OK)
		want |= CLIENT_MAY_READ;
	if (mode & W_OK)
		want |= CLIENT_MAY_MODIFY | (dir ? CLIENT_MAY_EXTEND : 0);
	if (mode & X_OK)
		want |= dir ? CLIENT_MAY_LOOKUP : CLIENT_MAY_EXECUTE;
	err = client_access(mount, &node->fh, want, &got);
	if (err)
		return err;
	if ((got & want) != want) {
		client_error(mount, -EACCES, "%s", strerror(EACCES));
		util_err_hint(&mount->err, "%s",
			      mode & W_OK ? CLIENT_HINT_IDS ", or the export is read-only"
					  : CLIENT_HINT_IDS "; -o uid=,gid= choose others");
		return -EACCES;
	}
	return 0;
}

int nfsrdma_access(struct nfsrdma *mount, const char *path, int mode)
{
	struct client_walk walk;
	int err = client_enter(mount, "access", path);

	if (err)
		return err;
	if (mode & ~(R_OK | W_OK | X_OK))
		return client_fail(-EINVAL, "access", path, NULL, 0);
	err = client_walk(mount, path, CLIENT_WALK_FOLLOW, &walk);
	if (!err)
		err = access_node(mount, &walk.node, mode);
	return err ? client_fail_mount(mount, err, "access", path) : 0;
}

static int set_path(struct nfsrdma *mount, const char *path, unsigned flags, const char *doing,
		    const struct wire_sattr *set)
{
	struct client_walk walk;
	int err = client_enter_change(mount, doing, path);

	if (err)
		return err;
	err = client_walk(mount, path, flags, &walk);
	if (!err)
		err = client_setattr(mount, &walk.node.fh, set);
	return err ? client_fail_mount(mount, err, doing, path) : 0;
}

int nfsrdma_chmod(struct nfsrdma *mount, const char *path, mode_t mode)
{
	struct wire_sattr set = {.set_mode = true, .mode = mode & 07777};

	return set_path(mount, path, CLIENT_WALK_FOLLOW, "chmod", &set);
}

static int chown_path(struct nfsrdma *mount, const char *path, unsigned flags, uid_t uid, gid_t gid)
{
	struct wire_sattr set = {
		.set_uid = uid != (uid_t)-1,
		.uid = uid,
		.set_gid = gid != (gid_t)-1,
		.gid = gid,
	};

	return set_path(mount, path, flags, "chown", &set);
}

int nfsrdma_chown(struct nfsrdma *mount, const char *path, uid_t uid, gid_t gid)
{
	return chown_path(mount, path, CLIENT_WALK_FOLLOW, uid, gid);
}

int nfsrdma_lchown(struct nfsrdma *mount, const char *path, uid_t uid, gid_t gid)
{
	return chown_path(mount, path, 0, uid, gid);
}

int nfsrdma_truncate(struct nfsrdma *mount, const char *path, uint64_t size)
{
	struct wire_sattr set = {.set_size = true, .size = size};

	if (size > INT64_MAX)
		return client_fail(-EINVAL, "truncate", path, NULL, 0);
	return set_path(mount, path, CLIENT_WALK_FOLLOW, "truncate", &set);
}

/* -EINVAL: a time that NFSv3's 32 bits of seconds do not hold. */
static int set_time(const struct timespec *ts, enum wire_set_time *how, struct wire_time *time)
{
	*how = WIRE_DONT_CHANGE;
	if (ts->tv_nsec == UTIME_OMIT)
		return 0;
	*how = WIRE_SET_TO_SERVER_TIME;
	if (ts->tv_nsec == UTIME_NOW)
		return 0;
	if (ts->tv_nsec < 0 || ts->tv_nsec > 999999999 || ts->tv_sec < 0 || ts->tv_sec > UINT32_MAX)
		return -EINVAL;
	*how = WIRE_SET_TO_CLIENT_TIME;
	time->sec = (uint32_t)ts->tv_sec;
	time->nsec = (uint32_t)ts->tv_nsec;
	return 0;
}

static int set_times(struct nfsrdma *mount, const char *path, unsigned flags,
		     const struct timespec times[2])
{
	struct wire_sattr set = {0};

	if (!times) {
		set.set_atime = set.set_mtime = WIRE_SET_TO_SERVER_TIME;
	} else if (set_time(&times[0], &set.set_atime, &set.atime) ||
		   set_time(&times[1], &set.set_mtime, &set.mtime)) {
		struct util_err err;

		util_err_set(&err, -EINVAL, "a time before 1970 or after 2106 does not fit NFSv3");
		return client_fail(-EINVAL, "set times of", path, &err, 0);
	}
	return set_path(mount, path, flags, "set times of", &set);
}

int nfsrdma_utimens(struct nfsrdma *mount, const char *path, const struct timespec times[2])
{
	return set_times(mount, path, CLIENT_WALK_FOLLOW, times);
}

int nfsrdma_lutimens(struct nfsrdma *mount, const char *path, const struct timespec times[2])
{
	return set_times(mount, path, 0, times);
}

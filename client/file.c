/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c - open files: open, close, fstat, ftruncate, fsync.
 *
 * NFSv3 has no open: a file is a handle.  What open(2) promises is put together from LOOKUP,
 * CREATE, SETATTR and ACCESS, the last so that "Permission denied" comes from open and not from the
 * first read. O_EXCL is an EXCLUSIVE CREATE, whose verifier makes a second sending harmless; the
 * file's mode follows in a SETATTR, since EXCLUSIVE has no room for it.
 */
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

static int open_exclusive(struct nfsrdma *mount, struct client_walk *walk, mode_t mode)
{
	struct wire_sattr set = {
		.set_mode = true,
		.mode = mode & 07777,
		/* the server may have kept the verifier in the times */
		.set_atime = WIRE_SET_TO_SERVER_TIME,
		.set_mtime = WIRE_SET_TO_SERVER_TIME,
	};
	int err;

	err = client_create(mount, &walk->parent, walk->name, CLIENT_EXCLUSIVE, NULL, &walk->node);
	if (err == -EOPNOTSUPP)
		return client_create(mount, &walk->parent, walk->name, CLIENT_GUARDED, &set,
				     &walk->node);
	if (err)
		return err;
	walk->node.attr.present = false;
	return client_setattr(mount, &walk->node.fh, &set);
}

static int open_create(struct nfsrdma *mount, struct client_walk *walk, int flags, mode_t mode)
{
	struct wire_sattr set = {.set_mode = true, .mode = mode & 07777};
	int err;

	if (walk->trailing_slash)
		return client_error(mount, -EISDIR, "%s", strerror(EISDIR));
	if (mount->opts.read_only)
		return client_error(mount, -EROFS, "mounted read-only (ro)");
	if (flags & O_EXCL)
		return open_exclusive(mount, walk, mode);
	set.set_size = flags & O_TRUNC;
	err = client_create(mount, &walk->parent, walk->name, CLIENT_UNCHECKED, &set, &walk->node);
	if (!err && set.set_size) /* somebody may have made it since the walk */
		client_unstable_truncated(mount, &walk->node.fh, 0);
	return err;
}

static int open_check_type(struct nfsrdma *mount, struct client_walk *walk, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	int code = 0, err = client_node_attr(mount, &walk->node);

	if (err)
		return err;
	switch (walk->node.attr.attr.type) {
	case CLIENT_DIR:
		code = writes || flags & O_CREAT ? -EISDIR : 0;
		break;
	case CLIENT_LNK: /* only with O_NOFOLLOW */
		code = -ELOOP;
		break;
	case CLIENT_REG:
		code = flags & O_DIRECTORY ? -ENOTDIR : 0;
		break;
	default:
		return client_error(mount, -ENXIO, "not a regular file");
	}
	return code ? client_error(mount, code, "%s", strerror(-code)) : 0;
}

static int open_check_access(struct nfsrdma *mount, struct client_walk *walk, int flags)
{
	uint32_t want = 0, got;
	int err;

	if ((flags & O_ACCMODE) != O_WRONLY)
		want |= CLIENT_MAY_READ;
	if ((flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC)
		want |= CLIENT_MAY_MODIFY;
	err = client_access(mount, &walk->node.fh, want, &got);
	if (err)
		return err;
	/* MODIFY without EXTEND, or the other way round, is for the server to settle at the write
	 */
	if ((got & want) != want)
		return client_error(mount, -EACCES, "%s", strerror(EACCES));
	return 0;
}

static int open_existing(struct nfsrdma *mount, struct client_walk *walk, int flags)
{
	struct wire_sattr empty = {.set_size = true, .size = 0};
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	int err;

	if ((flags & O_CREAT) && (flags & O_EXCL))
		return client_error(mount, -EEXIST, "%s", strerror(EEXIST));
	err = open_check_type(mount, walk, flags);
	if (!err && writes && mount->opts.read_only)
		err = client_error(mount, -EROFS, "mounted read-only (ro)");
	if (!err)
		err = open_check_access(mount, walk, flags);
	if (!err && flags & O_TRUNC) {
		err = client_setattr(mount, &walk->node.fh, &empty);
		walk->node.attr.present = false;
	}
	return err;
}

static int file_new(struct nfsrdma *mount, const struct client_walk *walk, const char *path,
		    int flags, struct nfsrdma_file **filep)
{
	struct nfsrdma_file *file = calloc(1, sizeof(*file));

	if (!file)
		return client_error(mount, -ENOMEM, "out of memory");
	file->path = strdup(path);
	if (!file->path) {
		free(file);
		return client_error(mount, -ENOMEM, "out of memory");
	}
	file->mount = mount;
	file->fh = walk->node.fh;
	file->readable = (flags & O_ACCMODE) != O_WRONLY;
	file->writable = (flags & O_ACCMODE) != O_RDONLY;
	file->append = flags & O_APPEND;
	file->dir = walk->node.attr.present && walk->node.attr.attr.type == CLIENT_DIR;
	file->stable = WIRE_UNSTABLE;
	if (flags & O_DSYNC)
		file->stable = WIRE_DATA_SYNC;
	if ((flags & O_SYNC) == O_SYNC || mount->opts.file_sync)
		file->stable = WIRE_FILE_SYNC;
	util_list_init(&file->writes);
	util_list_init(&file->syncs);
	client_unstable_init(&file->now);
	client_unstable_init(&file->committing);
	util_list_add(&mount->files, &file->node);
	*filep = file;
	return 0;
}

static int open_walk(struct nfsrdma *mount, const char *path, int flags, struct client_walk *walk)
{
	unsigned how = CLIENT_WALK_FOLLOW;

	if ((flags & O_NOFOLLOW) || ((flags & O_CREAT) && (flags & O_EXCL)))
		how = 0;
	if (flags & O_CREAT)
		how |= CLIENT_WALK_MAYBE;
	return client_walk(mount, path, how, walk);
}

int nfsrdma_open(struct nfsrdma *mount, struct nfsrdma_file **filep, const char *path, int flags,
		 mode_t mode)
{
	struct client_walk walk;
	int err = client_enter(mount, "open", path);

	if (err)
		return err;
	if ((flags & O_ACCMODE) == O_ACCMODE)
		return client_fail(-EINVAL, "open", path, NULL, 0);
	err = open_walk(mount, path, flags, &walk);
	if (!err)
		err = walk.exists ? open_existing(mount, &walk, flags)
				  : open_create(mount, &walk, flags, mode);
	if (!err && !walk.exists)
		err = open_check_type(mount, &walk, flags & ~O_CREAT);
	if (!err && flags & O_APPEND)
		err = client_node_attr(mount, &walk.node);
	if (!err)
		err = file_new(mount, &walk, path, flags, filep);
	if (err)
		return client_fail_mount(mount, err, "open", path);
	if (flags & O_APPEND)
		(*filep)->append_pos = walk.node.attr.attr.size;
	return 0;
}

/* ---- fsync -------------------------------------------------------------------------------- */

static int sync_submit(struct nfsrdma_file *file, nfsrdma_done *done, void *arg,
		       struct client_io **iop)
{
	struct client_io *io = client_io_get(file, CLIENT_IO_SYNC);

	if (!io)
		return client_fail(-ENOMEM, "fsync", file->path, NULL, 0);
	io->done = done;
	io->arg = arg;
	io->seq = file->seq++;
	util_list_add(&file->syncs, &io->node);
	if (done)
		file->mount->outstanding++;
	io->submitting = true;
	client_commit_kick(file);
	io->submitting = false;
	client_rearm(file->mount);
	*iop = io;
	return 0;
}

static int sync_wait(struct nfsrdma_file *file)
{
	struct client_io *io;
	int err = sync_submit(file, NULL, NULL, &io);

	if (err)
		return err;
	err = (int)client_io_wait(io);
	return err ? client_fail_mount(file->mount, err, "fsync", file->path) : 0;
}

int nfsrdma_fsync(struct nfsrdma_file *file)
{
	int err = client_enter(file->mount, "fsync", file->path);

	return err ? err : sync_wait(file);
}

int nfsrdma_fsync_async(struct nfsrdma_file *file, nfsrdma_done *done, void *arg)
{
	struct client_io *io;

	if (!done)
		return client_fail(-EINVAL, "fsync", file->path, NULL, 0);
	if (file->mount->closing)
		return client_fail(-ESHUTDOWN, "fsync", file->path, NULL, 0);
	return sync_submit(file, done, arg, &io);
}

/* ---- the rest ----------------------------------------------------------------------------- */

bool client_file_is(const struct nfsrdma_file *file, const struct wire_fh *fh)
{
	return file->fh.len == fh->len && memcmp(file->fh.data, fh->data, fh->len) == 0;
}

void client_file_free(struct nfsrdma_file *file)
{
	client_unstable_drop(file, &file->now);
	client_unstable_drop(file, &file->committing);
	util_list_del(&file->node);
	free(file->path);
	free(file);
}

int nfsrdma_close(struct nfsrdma_file *file)
{
	struct nfsrdma *mount;
	int err = 0;

	if (!file)
		return 0;
	mount = file->mount;
	if (mount->in_callback)
		return client_fail(-EDEADLK, "close", file->path, NULL, 0);
	if (file->writable)
		err = sync_wait(file);
	while (file->ios || file->commit_running)
		client_drive(mount, -1);
	client_file_free(file);
	return err;
}

int nfsrdma_fstat(struct nfsrdma_file *file, struct stat *st)
{
	struct nfsrdma *mount = file->mount;
	struct wire_attr attr;
	int err = client_enter(mount, "stat", file->path);

	if (err)
		return err;
	err = client_getattr(mount, &file->fh, &attr);
	if (err)
		return client_fail_mount(mount, err, "stat", file->path);
	client_attr_stat(&attr, st);
	st->st_blksize = mount->rsize;
	return 0;
}

int nfsrdma_ftruncate(struct nfsrdma_file *file, uint64_t size)
{
	struct nfsrdma *mount = file->mount;
	struct wire_sattr set = {.set_size = true, .size = size};
	int err = client_enter_change(mount, "truncate", file->path);

	if (err)
		return err;
	if (size > INT64_MAX || !file->writable)
		return client_fail(-EINVAL, "truncate", file->path, NULL, 0);
	err = client_setattr(mount, &file->fh, &set);
	return err ? client_fail_mount(mount, err, "truncate", file->path) : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy_out.c - a destination that is whole or not there.
 *
 * Normally the data goes to ".nfsrdma-XXXXXXXX.part" beside the destination, which rename puts in
 * its place at the end: nobody sees half a file under the final name, and an old file stays until
 * its successor is complete.  In place is written what a rename would change: a file with several
 * links, one behind a symbolic link, a device; and a file in a directory where we may not create
 * another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy.h"

static int end_open(const struct place *place, int flags, mode_t mode, struct transfer_end *end)
{
	int err;

	memset(end, 0, sizeof(*end));
	end->fd = -1;
	if (place->mount) {
		end->kind = TRANSFER_REMOTE;
		end->mount = place->mount;
		err = nfsrdma_open(place->mount, &end->file, place->path, flags, mode);
		return err;
	}
	end->kind = TRANSFER_LOCAL;
	end->fd = open(place->path, flags | O_CLOEXEC | O_NOCTTY, mode);
	return end->fd < 0 ? -errno : 0;
}

static int end_close(struct transfer_end *end)
{
	int err = 0;

	if (end->file)
		err = nfsrdma_close(end->file);
	if (end->fd >= 0 && close(end->fd))
		err = -errno;
	end->file = NULL;
	end->fd = -1;
	return err;
}

int copy_in_open(struct copy *copy, const struct place *src, struct transfer_end *end)
{
	int err = end_open(src, O_RDONLY, 0, end);

	if (err)
		place_fail(copy->cli, src, "open", err);
	return err;
}

int copy_in_close(struct transfer_end *end)
{
	return end_close(end);
}

static int temp_open(struct copy_out *out, const struct place *dst)
{
	char name[32];
	uint32_t tag;
	int err;

	for (int tries = 0; tries < 16; tries++) {
		err = util_random_bytes(&tag, sizeof(tag));
		if (err)
			return err;
		snprintf(name, sizeof(name), ".nfsrdma-%08x.part", tag);
		err = place_sibling(dst, name, &out->temp);
		if (err)
			return err;
		err = end_open(&out->temp, O_WRONLY | O_CREAT | O_EXCL, out->temp_mode, &out->end);
		if (!err)
			return 0;
		place_close(&out->temp);
		if (err != -EEXIST)
			return err;
	}
	return err;
}

/* Would a rename change more than the contents? */
static bool in_place(const struct place *dst, const struct stat *dst_st)
{
	struct stat link_st;

	if (!dst_st)
		return false;
	if (!S_ISREG(dst_st->st_mode) || dst_st->st_nlink > 1)
		return true;
	return place_lstat(dst, &link_st) == 0 && S_ISLNK(link_st.st_mode);
}

static int open_in_place(struct copy *copy, const struct place *dst, const struct stat *dst_st,
			 struct copy_out *out)
{
	int flags = O_WRONLY | (S_ISREG(dst_st->st_mode) ? O_TRUNC : 0);
	int err = end_open(dst, flags, 0, &out->end);

	if (err) {
		place_fail(copy->cli, dst, "open", err);
		return err;
	}
	/* no offsets in a terminal or a pipe */
	if (!dst->mount && !S_ISREG(dst_st->st_mode) && !S_ISBLK(dst_st->st_mode))
		out->end.kind = TRANSFER_STREAM;
	out->final_mode = out->temp_mode = dst_st->st_mode & 07777;
	out->opened = true;
	return 0;
}

/* The user knows nothing of the temporary file: name what he asked for. */
static void create_fail(struct copy *copy, const struct place *dst, int err)
{
	const char *hint = nfsrdma_hint_last();

	switch (err) {
	case -EROFS:
	case -EACCES:
	case -EPERM:
	case -ENOENT:
	case -ENOTDIR:
	case -ENOSPC:
	case -EDQUOT:
		if (dst->mount) {
			cli_error(copy->cli, "create %s: %s%s%s%s", dst->shown, strerror(-err),
				  hint[0] ? " (" : "", hint, hint[0] ? ")" : "");
			return;
		}
	}
	place_fail(copy->cli, dst, "create", err);
}

int copy_out_open(struct copy *copy, const struct place *dst, const struct stat *dst_st,
		  mode_t mode, struct copy_out *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	out->end.fd = -1;
	if (in_place(dst, dst_st))
		return open_in_place(copy, dst, dst_st, out);
	/* a rename would get around the old file's protection */
	err = dst_st ? place_access(dst, W_OK) : 0;
	if (err) {
		place_fail(copy->cli, dst, "write", err);
		return err;
	}
	out->final_mode = dst_st ? dst_st->st_mode & 07777 : mode & 0777 & ~copy->umask_bits;
	out->temp_mode = (out->final_mode & 0777) | S_IWUSR;
	err = temp_open(out, dst);
	if (!err) {
		out->opened = true;
		return 0;
	}
	if (dst_st && (err == -EACCES || err == -EPERM))
		return open_in_place(copy, dst, dst_st, out);
	create_fail(copy, dst, err);
	return err;
}

int copy_out_truncate(struct copy_out *out, uint64_t size)
{
	if (out->end.file)
		return nfsrdma_ftruncate(out->end.file, size);
	return ftruncate(out->end.fd, (off_t)size) ? -errno : 0;
}

/* Local files are made safe by whoever wants that, as after cp. */
int copy_out_sync(struct copy_out *out)
{
	return out->end.file ? nfsrdma_fsync(out->end.file) : 0;
}

int copy_attributes(struct copy *copy, const struct place *dst, const struct stat *src_st)
{
	const struct timespec times[2] = {src_st->st_atim, src_st->st_mtim};
	mode_t mode = src_st->st_mode & 07777;
	int err;

	err = place_lchown(dst, src_st->st_uid, src_st->st_gid);
	if (err == -EPERM || err == -EACCES || err == -EINVAL)
		mode &= ~(mode_t)(S_ISUID | S_ISGID); /* not for another owner */
	else if (err)
		goto fail;
	err = place_chmod(dst, mode);
	if (!err)
		err = place_utimens(dst, times);
	if (!err)
		return 0;
fail:
	place_fail(copy->cli, dst, "preserve attributes of", err);
	return err;
}

int copy_out_commit(struct copy *copy, struct copy_out *out, const struct place *dst,
		    const struct stat *src_st)
{
	const struct place *now = out->temp.path ? &out->temp : dst;
	int err = end_close(&out->end);

	out->opened = false;
	if (err) {
		place_fail(copy->cli, now, "close", err);
		return err;
	}
	if (copy->preserve && src_st) {
		err = copy_attributes(copy, now, src_st);
	} else if (out->temp.path && out->final_mode != out->temp_mode) {
		err = place_chmod(now, out->final_mode);
		if (err)
			place_fail(copy->cli, dst, "set the mode of", err);
	}
	if (!out->temp.path || err)
		return err;
	err = place_rename(&out->temp, dst);
	if (err) {
		place_fail(copy->cli, dst, "rename to", err);
		return err;
	}
	place_close(&out->temp);
	return 0;
}

void copy_out_abandon(struct copy_out *out, char *left, size_t len)
{
	char name[CLI_NAME_MAX];
	int err;

	if (left)
		left[0] = '\0';
	if (out->opened)
		end_close(&out->end);
	out->opened = false;
	if (!out->temp.path)
		return;
	err = place_unlink(&out->temp);
	if (left && err && err != -ENOENT)
		snprintf(left, len, ", but %s may be left",
			 cli_safe(out->temp.shown, name, sizeof(name)));
	place_close(&out->temp);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfs3_status.c - nfsstat3 (RFC 1813 section 2.6) to errno and back, and names for people.
 *
 * The NFS status stays readable beside the errno (nfsrdma_nfs_status_last), so several may share
 * one. Towards the client, JUKEBOX is -EAGAIN: callers wait and try again before any user sees it.
 */
#include "wire/wire.h"

#include <errno.h>

#include "util/util.h"
#include "wire/nfs3_xdr.h"

static const char proc_names[WIRE_NFS3_PROC_COUNT][12] = {
	"NULL",	   "GETATTR",	  "SETATTR", "LOOKUP", "ACCESS",   "READLINK", "READ",	 "WRITE",
	"CREATE",  "MKDIR",	  "SYMLINK", "MKNOD",  "REMOVE",   "RMDIR",    "RENAME", "LINK",
	"READDIR", "READDIRPLUS", "FSSTAT",  "FSINFO", "PATHCONF", "COMMIT",
};

const char *wire_nfs3_proc_name(uint32_t proc)
{
	return proc < WIRE_NFS3_PROC_COUNT ? proc_names[proc] : "unknown procedure";
}

/*
 * In the order in which an errno looks for its status: the first row with that errno wins, so
 * EINVAL becomes NFS3ERR_INVAL and not BADTYPE.
 */
static const struct status_row {
	uint32_t status;
	int error;
	const char *name;
} status_rows[] = {
	{NFS3_OK, 0, "NFS3_OK"},
	{NFS3ERR_PERM, EPERM, "NFS3ERR_PERM"},
	{NFS3ERR_NOENT, ENOENT, "NFS3ERR_NOENT"},
	{NFS3ERR_IO, EIO, "NFS3ERR_IO"},
	{NFS3ERR_NXIO, ENXIO, "NFS3ERR_NXIO"},
	{NFS3ERR_ACCES, EACCES, "NFS3ERR_ACCES"},
	{NFS3ERR_EXIST, EEXIST, "NFS3ERR_EXIST"},
	{NFS3ERR_XDEV, EXDEV, "NFS3ERR_XDEV"},
	{NFS3ERR_NODEV, ENODEV, "NFS3ERR_NODEV"},
	{NFS3ERR_NOTDIR, ENOTDIR, "NFS3ERR_NOTDIR"},
	{NFS3ERR_ISDIR, EISDIR, "NFS3ERR_ISDIR"},
	{NFS3ERR_INVAL, EINVAL, "NFS3ERR_INVAL"},
	{NFS3ERR_FBIG, EFBIG, "NFS3ERR_FBIG"},
	{NFS3ERR_NOSPC, ENOSPC, "NFS3ERR_NOSPC"},
	{NFS3ERR_ROFS, EROFS, "NFS3ERR_ROFS"},
	{NFS3ERR_MLINK, EMLINK, "NFS3ERR_MLINK"},
	{NFS3ERR_NAMETOOLONG, ENAMETOOLONG, "NFS3ERR_NAMETOOLONG"},
	{NFS3ERR_NOTEMPTY, ENOTEMPTY, "NFS3ERR_NOTEMPTY"},
	{NFS3ERR_DQUOT, EDQUOT, "NFS3ERR_DQUOT"},
	{NFS3ERR_STALE, ESTALE, "NFS3ERR_STALE"},
	{NFS3ERR_REMOTE, EREMOTE, "NFS3ERR_REMOTE"},
	{NFS3ERR_BADHANDLE, EBADF, "NFS3ERR_BADHANDLE"},
	{NFS3ERR_NOT_SYNC, ESTALE, "NFS3ERR_NOT_SYNC"},
	{NFS3ERR_BAD_COOKIE, EBADMSG, "NFS3ERR_BAD_COOKIE"},
	{NFS3ERR_NOTSUPP, EOPNOTSUPP, "NFS3ERR_NOTSUPP"},
	{NFS3ERR_TOOSMALL, ENOBUFS, "NFS3ERR_TOOSMALL"},
	{NFS3ERR_SERVERFAULT, EREMOTEIO, "NFS3ERR_SERVERFAULT"},
	{NFS3ERR_BADTYPE, EINVAL, "NFS3ERR_BADTYPE"},
	{NFS3ERR_JUKEBOX, EAGAIN, "NFS3ERR_JUKEBOX"},
};

static const struct status_row *find_status(uint32_t status)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(status_rows); i++)
		if (status_rows[i].status == status)
			return &status_rows[i];
	return NULL;
}

int wire_nfs3_errno(uint32_t status)
{
	const struct status_row *row = find_status(status);

	return row ? -row->error : -EIO;
}

const char *wire_nfs3_status_name(uint32_t status)
{
	const struct status_row *row = find_status(status);

	return row ? row->name : "unknown NFS status";
}

/* What a local file system says and NFS has no word for. */
static uint32_t closest_status(int error)
{
	switch (error) {
	case ELOOP: /* O_NOFOLLOW met a link where none was expected */
		return NFS3ERR_INVAL;
	case ENOMEM:
	case ENFILE:
	case EMFILE:
		return NFS3ERR_JUKEBOX;
	case EOVERFLOW:
		return NFS3ERR_FBIG;
	case ETXTBSY:
		return NFS3ERR_ACCES;
	case ENOSYS:
		return NFS3ERR_NOTSUPP;
	default:
		return NFS3ERR_IO;
	}
}

uint32_t wire_nfs3_status(int error)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(status_rows); i++)
		if (status_rows[i].error == error)
			return status_rows[i].status;
	return closest_status(error);
}

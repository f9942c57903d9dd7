/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_status.c - NFS statuses, errnos and names.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "wire/nfs3_xdr.h"
#include "wire/wire.h"

static const struct row {
	uint32_t status;
	int err;
	char name[24];
} rows[] = {
	{NFS3_OK, 0, "NFS3_OK"},
	{NFS3ERR_PERM, -EPERM, "NFS3ERR_PERM"},
	{NFS3ERR_NOENT, -ENOENT, "NFS3ERR_NOENT"},
	{NFS3ERR_IO, -EIO, "NFS3ERR_IO"},
	{NFS3ERR_ACCES, -EACCES, "NFS3ERR_ACCES"},
	{NFS3ERR_NAMETOOLONG, -ENAMETOOLONG, "NFS3ERR_NAMETOOLONG"},
	{NFS3ERR_NOTEMPTY, -ENOTEMPTY, "NFS3ERR_NOTEMPTY"},
	{NFS3ERR_DQUOT, -EDQUOT, "NFS3ERR_DQUOT"},
	{NFS3ERR_STALE, -ESTALE, "NFS3ERR_STALE"},
	{NFS3ERR_BADHANDLE, -EBADF, "NFS3ERR_BADHANDLE"},
	{NFS3ERR_NOT_SYNC, -ESTALE, "NFS3ERR_NOT_SYNC"},
	{NFS3ERR_BAD_COOKIE, -EBADMSG, "NFS3ERR_BAD_COOKIE"},
	{NFS3ERR_NOTSUPP, -EOPNOTSUPP, "NFS3ERR_NOTSUPP"},
	{NFS3ERR_TOOSMALL, -ENOBUFS, "NFS3ERR_TOOSMALL"},
	{NFS3ERR_SERVERFAULT, -EREMOTEIO, "NFS3ERR_SERVERFAULT"},
	{NFS3ERR_BADTYPE, -EINVAL, "NFS3ERR_BADTYPE"},
	{NFS3ERR_JUKEBOX, -EAGAIN, "NFS3ERR_JUKEBOX"},
	{12345, -EIO, "unknown NFS status"},
};

Test(wire_status, every_status_has_its_errno_and_its_name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(wire_nfs3_errno(rows[i].status), rows[i].err, "%s", rows[i].name);
		cr_assert_str_eq(wire_nfs3_status_name(rows[i].status), rows[i].name);
	}
}

Test(wire_status, an_errno_of_the_file_system_survives_the_way_to_the_client)
{
	static const int same[] = {EPERM,  ENOENT, EIO,	      ENXIO,	    EACCES,
				   EEXIST, EXDEV,  ENODEV,    ENOTDIR,	    EISDIR,
				   EINVAL, EFBIG,  ENOSPC,    EROFS,	    EMLINK,
				   EDQUOT, ESTALE, ENOTEMPTY, ENAMETOOLONG, EOPNOTSUPP};

	cr_assert_eq(wire_nfs3_status(0), NFS3_OK);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		cr_assert_eq(wire_nfs3_errno(wire_nfs3_status(same[i])), -same[i], "%s",
			     strerror(same[i]));
}

Test(wire_status, errnos_nfs_has_no_word_for_become_the_closest)
{
	cr_assert_eq(wire_nfs3_status(ENOMEM), NFS3ERR_JUKEBOX);
	cr_assert_eq(wire_nfs3_status(EMFILE), NFS3ERR_JUKEBOX);
	cr_assert_eq(wire_nfs3_status(EOVERFLOW), NFS3ERR_FBIG);
	cr_assert_eq(wire_nfs3_status(ENOSYS), NFS3ERR_NOTSUPP);
	cr_assert_eq(wire_nfs3_status(ELOOP), NFS3ERR_INVAL);
	cr_assert_eq(wire_nfs3_status(123456), NFS3ERR_IO);
}

Test(wire_status, procedures_have_names)
{
	cr_assert_str_eq(wire_nfs3_proc_name(WIRE_NFS3_NULL), "NULL");
	cr_assert_str_eq(wire_nfs3_proc_name(WIRE_NFS3_READ), "READ");
	cr_assert_str_eq(wire_nfs3_proc_name(WIRE_NFS3_READDIRPLUS), "READDIRPLUS");
	cr_assert_str_eq(wire_nfs3_proc_name(WIRE_NFS3_COMMIT), "COMMIT");
	cr_assert_str_eq(wire_nfs3_proc_name(22), "unknown procedure");
	cr_assert_str_eq(wire_nfs3_proc_name(UINT32_MAX), "unknown procedure");
}

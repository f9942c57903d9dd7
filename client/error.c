/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.c - the thread's last error: a sentence, a hint, an NFS status.
 *
 * errno alone cannot say which of three things was too long.  Like errno the text is per thread, so
 * that two threads with a mount each do not read each other's; that makes it the one piece of state
 * here that hangs from no handle.
 */
#include <stdio.h>
#include <string.h>

#include "client/internal.h"

struct last_error {
	int code;
	uint32_t nfs_status;
	char what[768];
	char hint[256];
};

static _Thread_local struct last_error last;

/* What to try, where the errno alone suggests it. */
static const char *default_hint(int code, uint32_t nfs_status)
{
	switch (code) {
	case -ESTALE:
		return "the file or its export was removed or replaced on the server: open it "
		       "again";
	case -EACCES:
	case -EPERM:
		return nfs_status ? CLIENT_HINT_IDS "; -o uid=,gid= choose others" : "";
	case -ENOSPC:
		return nfs_status ? "the file system on the server is full" : "";
	case -EROFS:
		return nfs_status ? "the export is read-only on the server" : "";
	case -EMFILE:
		return "raise ulimit -n";
	case -EDQUOT:
		return "the quota on the server is used up";
	case -EDEADLK:
		return "inside a completion callback only asynchronous calls may be made";
	default:
		return "";
	}
}

int client_fail(int code, const char *doing, const char *path, const struct util_err *err,
		uint32_t nfs_status)
{
	char shown[400];

	shown[0] = '\0';
	if (path)
		util_text_escape(path, strlen(path), shown, sizeof(shown));
	snprintf(last.what, sizeof(last.what), "%s%s%s: %s", doing, path ? " " : "", shown,
		 err && err->what[0] ? err->what : strerror(-code));
	snprintf(last.hint, sizeof(last.hint), "%s",
		 err && err->hint[0] ? err->hint : default_hint(code, nfs_status));
	last.code = code;
	last.nfs_status = nfs_status;
	return code;
}

int client_fail_err(int code, const struct util_err *err)
{
	snprintf(last.what, sizeof(last.what), "%s", err->what[0] ? err->what : strerror(-code));
	snprintf(last.hint, sizeof(last.hint), "%s", err->hint);
	last.code = code;
	last.nfs_status = 0;
	return code;
}

int client_fail_mount(struct nfsrdma *mount, int code, const char *doing, const char *path)
{
	return client_fail(code, doing, path, &mount->err, mount->nfs_status);
}

int client_error(struct nfsrdma *mount, int code, const char *fmt, ...)
{
	va_list ap;

	util_err_clear(&mount->err);
	mount->err.code = code;
	mount->nfs_status = 0;
	va_start(ap, fmt);
	vsnprintf(mount->err.what, sizeof(mount->err.what), fmt, ap);
	va_end(ap);
	return code;
}

int client_enter(struct nfsrdma *mount, const char *doing, const char *path)
{
	if (mount->in_callback)
		return client_fail(-EDEADLK, doing, path, NULL, 0);
	if (mount->closing)
		return client_fail(-ESHUTDOWN, doing, path, NULL, 0);
	util_err_clear(&mount->err);
	mount->nfs_status = 0;
	return 0;
}

int client_enter_change(struct nfsrdma *mount, const char *doing, const char *path)
{
	int err = client_enter(mount, doing, path);

	if (err || !mount->opts.read_only)
		return err;
	client_error(mount, -EROFS, "mounted read-only (ro)");
	return client_fail_mount(mount, -EROFS, doing, path);
}

const char *nfsrdma_strerror_last(void)
{
	return last.what[0] ? last.what : "no error";
}

const char *nfsrdma_hint_last(void)
{
	return last.hint;
}

uint32_t nfsrdma_nfs_status_last(void)
{
	return last.nfs_status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_link.c - LINK (RFC 1813 section 3.3.15).
 *
 * The object is already open; the link in /proc names that very inode, so no name can be exchanged
 * under us.  (linkat() with AT_EMPTY_PATH would want a capability the caller does not have.)
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void link_reply(struct server_op *op)
{
	struct wire_post_attr post;

	if (op->io_error) {
		server_fail(op, op->io_error);
		return;
	}
	if (!server_begin(op, 256))
		return;
	server_post_now(op->obj, &post);
	wire_put_post_attr(&op->req->results, &post);
	wire_put_wcc(&op->req->results, &op->wcc2);
	server_reply(op);
}

static int link_check(const struct server_op *op, int name_err, const char *name)
{
	if (op->obj->exp != op->obj2->exp)
		return -EXDEV;
	if (!S_ISDIR(op->obj2->type))
		return -ENOTDIR;
	if (name_err)
		return name_err;
	if (server_name_dots(name))
		return -EEXIST;
	if (op->obj->exp->read_only)
		return -EROFS;
	return S_ISDIR(op->obj->type) ? -EINVAL : 0;
}

static int link_make(struct server_op *op, const char *name)
{
	char link[32];
	int err = server_as_caller(op);

	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", op->obj->path_fd);
	if (linkat(AT_FDCWD, link, op->obj2->path_fd, name, AT_SYMLINK_FOLLOW))
		return -errno;
	return 0;
}

void server_proc_link(struct server_op *op)
{
	struct wire_dec *d = &op->req->args;
	struct wire_fh fh, dir;
	char name[WIRE_NAME_MAX + 1];
	int err, name_err;

	wire_get_fh(d, &fh);
	wire_get_fh(d, &dir);
	name_err = server_name(d, name);
	if (d->bad) {
		server_garbage(op);
		return;
	}
	err = server_resolve(op->w, &fh, &op->obj, &op->st);
	if (!err)
		err = server_resolve(op->w, &dir, &op->obj2, &op->st2);
	if (!err)
		err = link_check(op, name_err, name);
	if (err) {
		server_fail(op, err);
		return;
	}
	server_change_begin(op->obj2, &op->wcc2);
	err = link_make(op, name);
	server_change_end(op->obj2, &op->wcc2);
	if (err)
		server_fail(op, err);
	else
		server_sync(op, server_sync_fd(op, op->obj2), -1, false, link_reply);
}

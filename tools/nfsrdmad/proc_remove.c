/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_remove.c - REMOVE, RMDIR, RENAME (RFC 1813 sections 3.3.12 to 3.3.14).
 *
 * What loses its last name here may still be held open by the object cache, and its blocks with it.
 * So what the name stood for is noted before, and forgotten after if it has no name left.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "wire/nfs3_xdr.h"

/* The cached object that name stands for in dir, if there is one; referenced. */
static struct server_object *victim_find(struct server_op *op, const struct server_object *dir,
					 const char *name)
{
	struct server_object *victim = NULL;
	struct server_id id;
	struct stat st;
	int fd = server_open_at(dir->path_fd, name, O_PATH);

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && !server_id_of(dir->exp, fd, &st, &id))
		victim = server_objects_get(op->srv->objects, dir->exp, &id);
	close(fd);
	return victim;
}

static void victim_forget(struct server_op *op, struct server_object *victim)
{
	struct stat st;

	if (!victim)
		return;
	if (fstat(victim->path_fd, &st) || st.st_nlink == 0)
		server_objects_drop(op->srv->objects, victim);
	server_objects_put(op->srv->objects, victim);
}

/* ---- REMOVE and RMDIR ------------------------------------------------------------------- */

static int remove_check(const struct server_op *op, int name_err)
{
	if (!S_ISDIR(op->obj->type))
		return -ENOTDIR;
	if (name_err)
		return name_err;
	return op->obj->exp->read_only ? -EROFS : 0;
}

static int remove_name(struct server_op *op, const char *name, int flags)
{
	struct server_object *victim;
	int err = server_as_caller(op);

	if (err)
		return err;
	victim = victim_find(op, op->obj, name);
	if (unlinkat(op->obj->path_fd, name, flags))
		err = -errno;
	victim_forget(op, victim);
	return err;
}

static void remove_run(struct server_op *op, int flags, int dot_err, int dotdot_err)
{
	char name[WIRE_NAME_MAX + 1];
	struct wire_fh fh;
	int err, name_err;

	wire_get_fh(&op->req->args, &fh);
	name_err = server_name(&op->req->args, name);
	if (op->req->args.bad) {
		server_garbage(op);
		return;
	}
	if (!name_err && server_name_dots(name))
		name_err = name[1] ? dotdot_err : dot_err;
	err = server_resolve(op->w, &fh, &op->obj, &op->st);
	if (!err)
		err = remove_check(op, name_err);
	if (err) {
		server_fail(op, err);
		return;
	}
	server_change_begin(op->obj, &op->wcc);
	err = remove_name(op, name, flags);
	server_change_end(op->obj, &op->wcc);
	if (err)
		server_fail(op, err);
	else
		server_sync(op, server_sync_fd(op, op->obj), -1, false, server_wcc_reply);
}

void server_proc_remove(struct server_op *op)
{
	remove_run(op, 0, -EACCES, -EACCES);
}

void server_proc_rmdir(struct server_op *op)
{
	remove_run(op, AT_REMOVEDIR, -EINVAL, -EEXIST);
}

/* ---- RENAME ----------------------------------------------------------------------------- */

struct rename_args {
	struct wire_fh from_dir, to_dir;
	char from[WIRE_NAME_MAX + 1], to[WIRE_NAME_MAX + 1];
	int from_err, to_err;
};

static void rename_reply(struct server_op *op)
{
	if (op->io_error) {
		server_fail(op, op->io_error);
		return;
	}
	if (!server_begin(op, 256))
		return;
	wire_put_wcc(&op->req->results, &op->wcc);
	wire_put_wcc(&op->req->results, &op->wcc2);
	server_reply(op);
}

static int rename_check(const struct server_op *op, const struct rename_args *a)
{
	if (op->obj->exp != op->obj2->exp)
		return -EXDEV;
	if (!S_ISDIR(op->obj->type) || !S_ISDIR(op->obj2->type))
		return -ENOTDIR;
	if (a->from_err || a->to_err)
		return a->from_err ? a->from_err : a->to_err;
	if (server_name_dots(a->from) || server_name_dots(a->to))
		return -EINVAL;
	return op->obj->exp->read_only ? -EROFS : 0;
}

static int rename_name(struct server_op *op, const struct rename_args *a)
{
	struct server_object *victim;
	int err = server_as_caller(op);

	if (err)
		return err;
	victim = victim_find(op, op->obj2, a->to);
	if (renameat(op->obj->path_fd, a->from, op->obj2->path_fd, a->to))
		err = -errno;
	victim_forget(op, victim);
	return err;
}

/* Two folders' locks in the order of their addresses; one folder's once. */
static int rename_locked(struct server_op *op, const struct rename_args *a)
{
	struct server_object *from = op->obj, *to = op->obj2;
	int err;

	if (from == to) {
		server_change_begin(from, &op->wcc);
		err = rename_name(op, a);
		server_change_end(from, &op->wcc);
		op->wcc2 = op->wcc;
		return err;
	}
	if (from < to) {
		server_change_begin(from, &op->wcc);
		server_change_begin(to, &op->wcc2);
	} else {
		server_change_begin(to, &op->wcc2);
		server_change_begin(from, &op->wcc);
	}
	err = rename_name(op, a);
	server_change_end(from, &op->wcc);
	server_change_end(to, &op->wcc2);
	return err;
}

void server_proc_rename(struct server_op *op)
{
	struct wire_dec *d = &op->req->args;
	struct rename_args a;
	int err, fd;

	wire_get_fh(d, &a.from_dir);
	a.from_err = server_name(d, a.from);
	wire_get_fh(d, &a.to_dir);
	a.to_err = server_name(d, a.to);
	if (d->bad) {
		server_garbage(op);
		return;
	}
	err = server_resolve(op->w, &a.from_dir, &op->obj, &op->st);
	if (!err)
		err = server_resolve(op->w, &a.to_dir, &op->obj2, &op->st2);
	if (!err)
		err = rename_check(op, &a);
	if (!err)
		err = rename_locked(op, &a);
	if (err) {
		server_fail(op, err);
		return;
	}
	fd = op->obj == op->obj2 ? -1 : server_sync_fd(op, op->obj2);
	server_sync(op, server_sync_fd(op, op->obj), fd, false, rename_reply);
}

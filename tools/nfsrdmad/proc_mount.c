/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_mount.c - the MOUNT program, version 3 (RFC 1813 appendix I, sections 5.2.0 to 5.2.5).
 *
 * MNT gives the handle of an export's root, or of a folder below it: the rest of the path is walked
 * one component at a time from the root, without following links.  That is done with the server's
 * own identity, as mountd does: the caller is mostly the client's superuser on behalf of others,
 * and a handle permits nothing by itself.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdmad/null.h"
#include "wire/mount_xdr.h"

static uint32_t mount_status(int err)
{
	switch (-err) {
	case 0:
		return MNT3_OK;
	case EPERM:
		return MNT3ERR_PERM;
	case ENOENT:
		return MNT3ERR_NOENT;
	case EACCES:
	case EXDEV:
	case ELOOP:
		return MNT3ERR_ACCES;
	case ENOTDIR:
		return MNT3ERR_NOTDIR;
	case EINVAL:
		return MNT3ERR_INVAL;
	case ENAMETOOLONG:
		return MNT3ERR_NAMETOOLONG;
	case EIO:
		return MNT3ERR_IO;
	default:
		return MNT3ERR_SERVERFAULT;
	}
}

/* op->obj = its child of that name. */
static int mount_step(struct server_op *op, const char *name)
{
	struct server_object *child;
	int fd, err;

	fd = server_open_at(op->obj->path_fd, name, O_PATH);
	if (fd < 0)
		return fd;
	err = server_adopt(op->w, op->obj->exp, op->obj, fd, &child, &op->st);
	if (err)
		return err;
	server_objects_put(op->srv->objects, op->obj);
	op->obj = child;
	return S_ISDIR(child->type) ? 0 : -ENOTDIR;
}

static int mount_walk(struct server_op *op, const struct server_export *exp, const char *rest)
{
	char name[WIRE_NAME_MAX + 1];
	int err = server_root(op->w, exp, &op->obj, &op->st);

	while (!err && *rest) {
		size_t len;

		rest += strspn(rest, "/");
		len = strcspn(rest, "/");
		if (len == 0)
			break;
		if (len > WIRE_NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, rest, len);
		name[len] = '\0';
		rest += len;
		err = mount_step(op, name);
	}
	return err;
}

static int mount_lookup(struct server_op *op, const char *path, struct wire_fh *fh)
{
	struct server_export *exp;
	const char *rest;
	int err;

	if (!server_exports_allowed(&op->srv->exports, op->req->peer))
		return -EACCES;
	exp = server_exports_match(&op->srv->exports, path, &rest);
	if (!exp)
		return -ENOENT;
	if (!exp->dir) {
		server_null_root(op->srv, fh);
		return *rest ? -ENOENT : 0;
	}
	err = mount_walk(op, exp, rest);
	if (!err)
		*fh = op->obj->fh;
	return err;
}

static void mount_mnt(struct server_op *op)
{
	struct wire_mnt_res res = {.nflavors = 1, .flavors = {WIRE_AUTH_SYS}};
	char given[WIRE_PATH_MAX + 1];
	char *path;
	int err = -EINVAL;

	if (wire_mnt_args_decode(&op->req->args, given)) {
		server_garbage(op);
		return;
	}
	path = server_path_clean(given);
	if (path)
		err = mount_lookup(op, path, &res.fh);
	if (!err)
		server_mounts_add(&op->srv->mounts, op->req->peer, path);
	free(path);
	res.status = mount_status(err);
	if (!server_begin_bare(op, 128))
		return;
	wire_mnt_res_encode(&op->req->results, &res);
	server_reply(op);
}

static void mount_umnt(struct server_op *op, bool all)
{
	char given[WIRE_PATH_MAX + 1];
	char *path = NULL;

	if (!all && wire_mnt_args_decode(&op->req->args, given)) {
		server_garbage(op);
		return;
	}
	if (!all)
		path = server_path_clean(given);
	if (all || path)
		server_mounts_remove(&op->srv->mounts, op->req->peer, path);
	free(path);
	if (server_begin_bare(op, 0))
		server_reply(op);
}

/* Under the list's lock, so that it stays as long as it was measured. */
static void mount_dump(struct server_op *op)
{
	struct server_mounts *mounts = &op->srv->mounts;
	size_t size = 4;
	bool begun;

	pthread_mutex_lock(&mounts->lock);
	UTIL_LIST_FOR_EACH (node, &mounts->list) {
		struct server_mount *m = UTIL_LIST_ENTRY(node, struct server_mount, node);

		size += 4 + 4 + strlen(m->host) + 3 + 4 + strlen(m->path) + 3;
	}
	begun = server_begin_bare(op, size);
	UTIL_LIST_FOR_EACH (node, &mounts->list) {
		struct server_mount *m = UTIL_LIST_ENTRY(node, struct server_mount, node);

		if (begun)
			wire_mountent_encode(&op->req->results, m->host, m->path);
	}
	pthread_mutex_unlock(&mounts->lock);
	if (!begun)
		return;
	wire_mountent_end_encode(&op->req->results);
	server_reply(op);
}

/* An export's groups are the networks that may come in; none: everyone. */
static void export_put(const struct server_exports *exports, const struct server_export *exp,
		       struct wire_enc *e)
{
	wire_put_bool(e, true);
	wire_put_opaque(e, exp->name, strlen(exp->name));
	for (unsigned i = 0; i < exports->nnets; i++) {
		wire_put_bool(e, true);
		wire_put_opaque(e, exports->nets[i].text, strlen(exports->nets[i].text));
	}
	wire_put_bool(e, false);
}

static void mount_export(struct server_op *op)
{
	const struct server_exports *exports = &op->srv->exports;
	size_t size = 4;

	for (unsigned i = 0; i < exports->count; i++)
		size += 4 + 4 + strlen(exports->list[i].name) + 3 + 4 +
			exports->nnets * (4 + 4 + sizeof(exports->nets[0].text));
	if (!server_begin_bare(op, size))
		return;
	for (unsigned i = 0; i < exports->count; i++)
		export_put(exports, &exports->list[i], &op->req->results);
	wire_export_end_encode(&op->req->results);
	server_reply(op);
}

void server_mount_dispatch(struct server_op *op)
{
	struct wire_rpc_error error = {.stat = WIRE_PROC_UNAVAIL};

	switch (op->proc_num) {
	case WIRE_MOUNT_NULL:
		if (server_begin_bare(op, 0))
			server_reply(op);
		return;
	case WIRE_MOUNT_MNT:
		mount_mnt(op);
		return;
	case WIRE_MOUNT_DUMP:
		mount_dump(op);
		return;
	case WIRE_MOUNT_UMNT:
	case WIRE_MOUNT_UMNTALL:
		mount_umnt(op, op->proc_num == WIRE_MOUNT_UMNTALL);
		return;
	case WIRE_MOUNT_EXPORT:
		mount_export(op);
		return;
	default:
		server_refuse(op, &error);
	}
}

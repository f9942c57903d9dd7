/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_lookup.c - LOOKUP and READLINK (RFC 1813 sections 3.3.3 and 3.3.5).
 *
 * A link's target is the client's to follow; here it is text.  ".." of the export's root is the
 * root.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool lookup_decode(struct wire_dec *d, struct wire_fh *fh, char name[WIRE_NAME_MAX + 1],
			  int *name_err)
{
	wire_get_fh(d, fh);
	*name_err = server_name(d, name);
	return !d->bad;
}

/* The folder above, which must lie beneath the export as well. */
static int lookup_parent(struct server_op *op)
{
	const struct server_export *exp = op->obj->exp;
	struct server_object like = {.exp = exp, .id = op->obj->id, .hint = op->obj->hint};
	int fd;

	if (server_is_root(op->obj, &op->st))
		return server_root(op->w, exp, &op->obj2, &op->st2);
	fd = server_open_at(op->obj->path_fd, "..", O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fd;
	server_as_self(op->w);
	if (!server_proved(exp, fd)) {
		close(fd);
		return -EACCES;
	}
	/* As if seen from its own parent: a walked id's chain is two shorter, then one longer. */
	like.hint.len = like.hint.len > 1 ? like.hint.len - 2 : 0;
	return server_adopt(op->w, exp, &like, fd, &op->obj2, &op->st2);
}

static int lookup_name(struct server_op *op, const char *name)
{
	int fd, err;

	if (!S_ISDIR(op->obj->type))
		return -ENOTDIR;
	err = server_as_caller(op);
	if (err)
		return err;
	if (server_name_dots(name) && !(server_granted(op, op->obj, &op->st, X_OK)))
		return -EACCES;
	if (!strcmp(name, ".")) {
		fd = openat(op->obj->path_fd, ".", O_PATH | O_CLOEXEC);
		return fd < 0 ? -errno
			      : server_adopt(op->w, op->obj->exp, NULL, fd, &op->obj2, &op->st2);
	}
	if (!strcmp(name, ".."))
		return lookup_parent(op);
	fd = server_open_at(op->obj->path_fd, name, O_PATH);
	if (fd < 0)
		return fd;
	return server_adopt(op->w, op->obj->exp, op->obj, fd, &op->obj2, &op->st2);
}

void server_proc_lookup(struct server_op *op)
{
	struct wire_post_attr post;
	char name[WIRE_NAME_MAX + 1];
	struct wire_fh fh;
	int err, name_err;

	if (!lookup_decode(&op->req->args, &fh, name, &name_err)) {
		server_garbage(op);
		return;
	}
	err = server_resolve(op->w, &fh, &op->obj, &op->st);
	if (!err)
		err = name_err ? name_err : lookup_name(op, name);
	if (err) {
		server_fail(op, err);
		return;
	}
	if (!server_begin(op, 4 + 4 + WIRE_NFS3_FHSIZE + 2 * (4 + WIRE_ATTR_LEN)))
		return;
	wire_put_fh(&op->req->results, &op->obj2->fh);
	server_post(op->obj2->exp, &op->st2, &post);
	wire_put_post_attr(&op->req->results, &post);
	server_post(op->obj->exp, &op->st, &post);
	wire_put_post_attr(&op->req->results, &post);
	server_reply(op);
}

/* ---- READLINK --------------------------------------------------------------------------- */

/* The target goes into a bulk buffer: by RDMA it may travel in a write chunk (RFC 8267). */
static void readlink_reply(struct server_op *op, const char *target, size_t len)
{
	struct transport_request *req = op->req;
	struct wire_readlink_res res = {.target_len = (uint32_t)len};
	void *buf = transport_request_buffer(req, len);

	if (!buf) {
		server_fail(op, -ENOMEM);
		return;
	}
	if (!server_begin_bare(op, 128))
		return;
	memcpy(buf, target, len);
	server_post(op->obj->exp, &op->st, &res.attr);
	wire_readlink_res_encode(&req->results, &res, true);
	req->reply_data = buf;
	req->reply_data_len = len;
	req->reply_data_pos = wire_enc_len(&req->results);
	server_reply(op);
}

void server_proc_readlink(struct server_op *op)
{
	char target[WIRE_PATH_MAX];
	struct wire_fh fh;
	ssize_t len;
	int err;

	wire_get_fh(&op->req->args, &fh);
	if (!server_target(op, &fh))
		return;
	err = S_ISLNK(op->obj->type) ? server_as_caller(op) : -EINVAL;
	if (err) {
		server_fail(op, err);
		return;
	}
	len = readlinkat(op->obj->path_fd, "", target, sizeof(target));
	if (len < 0)
		server_fail(op, -errno);
	else
		readlink_reply(op, target, (size_t)len);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_attr.c - GETATTR, SETATTR, ACCESS (RFC 1813 sections 3.3.1, 3.3.2, 3.3.4).
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <unistd.h>

#include "wire/nfs3_xdr.h"

void server_proc_getattr(struct server_op *op)
{
	struct wire_attr attr;
	struct wire_fh fh;

	wire_get_fh(&op->req->args, &fh);
	if (!server_target(op, &fh) || !server_begin(op, 4 + WIRE_ATTR_LEN))
		return;
	server_attr(op->obj->exp, &op->st, &attr);
	wire_put_attr(&op->req->results, &attr);
	server_reply(op);
}

/* ---- SETATTR ---------------------------------------------------------------------------- */

struct setattr_args {
	struct wire_fh fh;
	struct wire_sattr sattr;
	bool guard;
	struct wire_time ctime;
};

static void setattr_decode(struct wire_dec *d, struct setattr_args *a)
{
	wire_get_fh(d, &a->fh);
	wire_get_sattr(d, &a->sattr);
	a->guard = wire_get_bool(d);
	if (a->guard) {
		a->ctime.sec = wire_get_u32(d);
		a->ctime.nsec = wire_get_u32(d);
	}
}

/* Under the change lock. */
static int setattr_apply(struct server_op *op, const struct setattr_args *a)
{
	const struct wire_time *ctime = &op->wcc.before.ctime;
	int write_fd = -1, err;

	if (op->obj->exp->read_only)
		return -EROFS;
	if (a->guard && (a->ctime.sec != ctime->sec || a->ctime.nsec != ctime->nsec))
		return -ECANCELED; /* stands for NOT_SYNC here */
	if (a->sattr.set_size) {
		err = server_may_write(op, op->obj, &op->st);
		if (err)
			return err;
		write_fd = server_write_fd(op, op->obj);
		if (write_fd < 0)
			return write_fd;
	}
	return server_set_attr(op, &a->sattr, op->obj->path_fd, write_fd);
}

void server_proc_setattr(struct server_op *op)
{
	struct setattr_args a;
	int err;

	setattr_decode(&op->req->args, &a);
	if (!server_target(op, &a.fh))
		return;
	server_change_begin(op->obj, &op->wcc);
	err = setattr_apply(op, &a);
	server_change_end(op->obj, &op->wcc);
	if (err == -ECANCELED) {
		server_fail_status(op, NFS3ERR_NOT_SYNC);
		return;
	}
	if (err) {
		server_fail(op, err);
		return;
	}
	server_sync(op, server_sync_fd(op, op->obj), -1, false, server_wcc_reply);
}

/* ---- ACCESS ----------------------------------------------------------------------------- */

/* Each bit asked for, as what the kernel knows of this kind of object. */
static unsigned access_bits(const struct server_object *obj, unsigned granted)
{
	bool dir = S_ISDIR(obj->type), write = granted & W_OK, exec = granted & X_OK;
	unsigned bits = 0;

	if (obj->exp->read_only)
		write = false;
	if (granted & R_OK)
		bits |= ACCESS3_READ;
	if (exec)
		bits |= dir ? ACCESS3_LOOKUP : ACCESS3_EXECUTE;
	if (write && (!dir || exec))
		bits |= ACCESS3_MODIFY | ACCESS3_EXTEND;
	if (write && exec && dir)
		bits |= ACCESS3_DELETE;
	return bits;
}

void server_proc_access(struct server_op *op)
{
	struct wire_post_attr post;
	struct wire_fh fh;
	unsigned granted;
	uint32_t want;

	wire_get_fh(&op->req->args, &fh);
	want = wire_get_u32(&op->req->args);
	if (!server_target(op, &fh))
		return;
	granted = server_granted(op, op->obj, &op->st, R_OK | W_OK | X_OK);
	if (!server_begin(op, 128))
		return;
	server_post(op->obj->exp, &op->st, &post);
	wire_put_post_attr(&op->req->results, &post);
	wire_put_u32(&op->req->results, want & access_bits(op->obj, granted));
	server_reply(op);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_write.c - WRITE and COMMIT (RFC 1813 sections 3.3.7 and 3.3.21).
 *
 * Normal operation: UNSTABLE data is copied into the page cache and acknowledged at once, with a
 * verifier; COMMIT syncs the file.  Whoever finds another verifier at COMMIT than at WRITE writes
 * again. DATA_SYNC and FILE_SYNC are synced before the reply, by the ring.
 *
 * A sync that fails may have dropped any unstable data of the file, and the kernel tells only once.
 * So it changes the verifier of the whole server: every client writes again what it has not
 * committed.
 *
 * The copy itself is done by this thread.  The kernel may hold it up when too much memory is dirty;
 * a worker thread of the ring for each WRITE would cost more than the copy.
 *
 * The caller's identity is taken for the copy: it is what strips set-user-id bits and what quotas
 * see.
 *
 * Attributes from before are told only if no other change to the file overlapped: else they would
 * not be those of just before this one (attr.c).
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <unistd.h>

static void write_fail(struct server_op *op, int err)
{
	server_change_leave(op->obj, op->u.write.seq);
	server_fail(op, err);
}

static void write_reply(struct server_op *op)
{
	struct wire_write_res res = {.count = op->u.write.done, .committed = op->u.write.stable};
	struct stat st;

	if (op->io_error) {
		server_verifier_change(op->srv);
		write_fail(op, op->io_error);
		return;
	}
	if (!fstat(op->u.write.fd, &st))
		server_post(op->obj->exp, &st, &res.wcc.after);
	if (server_change_leave(op->obj, op->u.write.seq))
		server_pre(&op->st, &res.wcc.before);
	server_verifier_get(op->srv, res.verf);
	if (!server_begin_bare(op, 160))
		return;
	wire_write_res_encode(&op->req->results, &res);
	op->moved = res.count;
	server_reply(op);
}

/* All of it, or until the disk is full: what was written is then the answer. */
static int write_copy(struct server_op *op)
{
	while (op->u.write.done < op->u.write.count) {
		ssize_t n = pwrite(op->u.write.fd, op->u.write.data + op->u.write.done,
				   op->u.write.count - op->u.write.done,
				   (off_t)(op->u.write.offset + op->u.write.done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return op->u.write.done ? 0 : -errno;
		op->u.write.done += (uint32_t)n;
	}
	return 0;
}

static void write_start(struct server_op *op)
{
	int err;

	op->u.write.seq = server_change_enter(op->obj);
	if (fstat(op->u.write.fd, &op->st))
		op->u.write.seq = 0;
	err = write_copy(op);
	if (err) {
		write_fail(op, err);
		return;
	}
	if (op->u.write.stable == WIRE_UNSTABLE) {
		atomic_store(&op->obj->unstable, true);
		write_reply(op);
		return;
	}
	server_sync(op, op->u.write.fd, -1, op->u.write.stable == WIRE_DATA_SYNC, write_reply);
}

static int write_prepare(struct server_op *op, const struct wire_write_args *a)
{
	const struct transport_request *req = op->req;
	int err;

	if (!S_ISREG(op->obj->type))
		return -EINVAL;
	if (a->offset > INT64_MAX || a->count > INT64_MAX - a->offset)
		return -EFBIG;
	err = server_may_write(op, op->obj, &op->st);
	if (err)
		return err;
	op->u.write.fd = server_write_fd(op, op->obj);
	if (op->u.write.fd < 0)
		return op->u.write.fd;
	op->u.write.data = req->data ? req->data : a->data;
	op->u.write.offset = a->offset;
	op->u.write.count = a->count;
	op->u.write.stable = a->stable;
	return server_as_caller(op);
}

void server_proc_write(struct server_op *op)
{
	const struct transport_request *req = op->req;
	struct wire_write_args a;
	int err;

	err = wire_write_args_decode(&op->req->args, &a, req->data);
	if (err || !server_bulk_belongs(op) || (req->data && req->data_len < a.count) ||
	    a.count > op->srv->max_data) {
		server_garbage(op);
		return;
	}
	err = server_resolve(op->w, &a.fh, &op->obj, &op->st);
	if (!err)
		err = write_prepare(op, &a);
	if (err)
		server_fail(op, err);
	else
		write_start(op);
}

/* ---- COMMIT ----------------------------------------------------------------------------- */

static void commit_synced(struct server_op *op)
{
	uint8_t verf[8];
	struct stat st;

	if (op->io_error) {
		atomic_store(&op->obj->unstable, true);
		server_verifier_change(op->srv);
		server_fail(op, op->io_error);
		return;
	}
	/* COMMIT changes no attribute: before and after are the same moment. */
	if (!fstat(op->obj->path_fd, &st)) {
		server_pre(&st, &op->wcc.before);
		server_post(op->obj->exp, &st, &op->wcc.after);
	}
	server_verifier_get(op->srv, verf);
	if (!server_begin(op, 160))
		return;
	wire_put_wcc(&op->req->results, &op->wcc);
	wire_put_fixed(&op->req->results, verf, sizeof(verf));
	server_reply(op);
}

void server_proc_commit(struct server_op *op)
{
	struct wire_fh fh;
	int fd = -EINVAL;

	wire_get_fh(&op->req->args, &fh);
	/* Offset and count are a hint of how little would do (the whole file is done). */
	wire_get_u64(&op->req->args);
	wire_get_u32(&op->req->args);
	if (!server_target(op, &fh))
		return;
	if (S_ISREG(op->obj->type))
		fd = server_sync_fd(op, op->obj);
	if (fd < 0) {
		server_fail(op, fd);
		return;
	}
	/* Before the sync: a WRITE that comes meanwhile sets it again. */
	atomic_store(&op->obj->unstable, false);
	server_sync(op, fd, -1, true, commit_synced);
}

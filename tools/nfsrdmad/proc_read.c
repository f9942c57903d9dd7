/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_read.c - READ (RFC 1813 section 3.3.6).
 *
 * Normal operation: the data is in the page cache.  preadv2() with RWF_NOWAIT copies it straight
 * into the buffer it is sent from, and nothing waits.  What is not in the cache is left to the
 * ring; a file system that does not know RWF_NOWAIT (tmpfs) has nothing to wait for.
 *
 * End of file is judged by the size seen after the data was read, which is also the one the
 * attributes tell.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

/* Status, attributes, count, eof and the data's length word. */
#define READ_RESULTS_MAX (4 + 4 + WIRE_ATTR_LEN + 4 + 4 + 4)

static void read_reply(struct server_op *op)
{
	struct transport_request *req = op->req;
	uint64_t end = op->u.read.offset + op->u.read.done;
	struct wire_read_res res = {
		.count = op->u.read.done,
		.data_len = op->u.read.done,
	};
	struct stat st;

	if (!server_begin_bare(op, READ_RESULTS_MAX))
		return;
	if (!fstat(op->u.read.fd, &st)) {
		server_post(op->obj->exp, &st, &res.attr);
		res.eof = end >= (uint64_t)st.st_size;
	}
	wire_read_res_encode(&req->results, &res, true);
	req->reply_data = op->u.read.buf;
	req->reply_data_len = op->u.read.done;
	req->reply_data_pos = wire_enc_len(&req->results);
	op->moved = op->u.read.done;
	server_reply(op);
}

static void read_rest(struct server_op *op);

static void read_done(struct server_io *io, int res)
{
	struct server_op *op = io->arg;

	if (res < 0) {
		server_fail(op, res);
		return;
	}
	op->u.read.done += (uint32_t)res;
	if (res == 0 || op->u.read.done == op->u.read.count)
		read_reply(op);
	else
		read_rest(op);
}

/* What the page cache did not have. */
static void read_rest(struct server_op *op)
{
	op->io[0] = (struct server_io){
		.kind = SERVER_IO_READ,
		.fd = op->u.read.fd,
		.buf = op->u.read.buf + op->u.read.done,
		.len = op->u.read.count - op->u.read.done,
		.offset = op->u.read.offset + op->u.read.done,
		.done = read_done,
		.arg = op,
	};
	server_aio_submit(op->w->aio, &op->io[0]);
}

static ssize_t read_cached(const struct server_op *op)
{
	struct iovec iov = {op->u.read.buf, op->u.read.count};
	ssize_t n;

	if (!atomic_load_explicit(&op->obj->always_cached, memory_order_relaxed)) {
		n = preadv2(op->u.read.fd, &iov, 1, (off_t)op->u.read.offset, RWF_NOWAIT);
		if (n >= 0 || errno != EOPNOTSUPP)
			return n < 0 ? -errno : n;
		atomic_store_explicit(&op->obj->always_cached, true, memory_order_relaxed);
	}
	n = pread(op->u.read.fd, iov.iov_base, iov.iov_len, (off_t)op->u.read.offset);
	return n < 0 ? -errno : n;
}

static void read_start(struct server_op *op)
{
	ssize_t n = 0;

	if (op->u.read.count)
		n = read_cached(op);
	if (n < 0 && n != -EAGAIN) {
		server_fail(op, (int)n);
		return;
	}
	op->u.read.done = n > 0 ? (uint32_t)n : 0;
	/* A short count is the file's end, or the page cache's: only asking again tells. */
	if (n == 0 || op->u.read.done == op->u.read.count ||
	    op->u.read.offset + op->u.read.done >= (uint64_t)op->st.st_size)
		read_reply(op);
	else
		read_rest(op);
}

/* No more than the client has room for and the file holds. */
static uint32_t read_count(const struct server_op *op, const struct wire_read_args *a)
{
	const struct transport_request *req = op->req;
	uint64_t count = a->count, room = req->sink_room;

	if (room == 0)
		room = req->reply_room > READ_RESULTS_MAX ? req->reply_room - READ_RESULTS_MAX : 0;
	if (count > room)
		count = room;
	if (count > op->srv->max_data)
		count = op->srv->max_data;
	if (a->offset >= (uint64_t)op->st.st_size)
		return 0;
	if (count > (uint64_t)op->st.st_size - a->offset)
		count = (uint64_t)op->st.st_size - a->offset;
	return (uint32_t)count;
}

static int read_prepare(struct server_op *op, const struct wire_read_args *a)
{
	int err;

	if (!S_ISREG(op->obj->type) || a->offset > INT64_MAX)
		return -EINVAL;
	err = server_may_read(op, op->obj, &op->st);
	if (err)
		return err;
	op->u.read.fd = server_read_fd(op, op->obj);
	if (op->u.read.fd < 0)
		return op->u.read.fd;
	op->u.read.offset = a->offset;
	op->u.read.count = read_count(op, a);
	if (op->u.read.count == 0)
		return 0;
	op->u.read.buf = transport_request_buffer(op->req, op->u.read.count);
	return op->u.read.buf ? 0 : -ENOMEM;
}

void server_proc_read(struct server_op *op)
{
	struct wire_read_args a;
	int err;

	if (wire_read_args_decode(&op->req->args, &a)) {
		server_garbage(op);
		return;
	}
	err = server_resolve(op->w, &a.fh, &op->obj, &op->st);
	if (!err)
		err = read_prepare(op, &a);
	if (err)
		server_fail(op, err);
	else
		read_start(op);
}

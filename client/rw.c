/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rw.c - pread, pwrite and their kin: checks at the door, then io.c.
 *
 * All arithmetic on offsets is done here, once, in 64 bits unsigned: an offset is at most 2^63-1,
 * and offset plus length never passes it.  A read that would is cut there (no file is longer); a
 * write is -EFBIG.
 */
#include <limits.h>
#include <string.h>

#include "client/internal.h"

struct rw {
	struct nfsrdma_file *file;
	enum client_io_kind kind;
	const struct nfsrdma_iov *iov;
	int iovcnt;
	void *mem;
	size_t len;
	uint64_t off;
};

static const char *rw_doing(const struct rw *rw)
{
	return rw->kind == CLIENT_IO_READ ? "read" : "write";
}

static int rw_fail(const struct rw *rw, int code, const char *what)
{
	struct util_err err;

	util_err_set(&err, code, "%s", what);
	return client_fail(code, rw_doing(rw), rw->file->path, &err, 0);
}

static int rw_check_buf(const struct rw *rw, const struct nfsrdma_iov *iov)
{
	int need = rw->kind == CLIENT_IO_READ ? NFSRDMA_BUF_READ : NFSRDMA_BUF_WRITE;
	const struct nfsrdma_buf *buf = iov->buf;

	if (!buf)
		return rw_fail(rw, -EFAULT, "no buffer");
	if (iov->buf_off > buf->len || iov->len > buf->len - iov->buf_off)
		return rw_fail(rw, -EINVAL, "past the end of the buffer");
	if (!(buf->flags & need))
		return rw_fail(rw, -EINVAL,
			       need == NFSRDMA_BUF_READ
				       ? "the buffer was not got with NFSRDMA_BUF_READ"
				       : "the buffer was not got with NFSRDMA_BUF_WRITE");
	if (buf->lease->pool != transport_client_pool(rw->file->mount->conn[0]))
		return rw_fail(rw, -EXDEV, "the buffer belongs to another server or context");
	return 0;
}

static int rw_check_iov(struct rw *rw)
{
	rw->len = 0;
	if (rw->file->mount->closing) /* buffers may be gone already */
		return client_fail(-ESHUTDOWN, rw_doing(rw), rw->file->path, NULL, 0);
	if (rw->iovcnt < 0 || rw->iovcnt > IOV_MAX)
		return rw_fail(rw, -EINVAL, "too many pieces");
	for (int i = 0; i < rw->iovcnt; i++) {
		int err = rw_check_buf(rw, &rw->iov[i]);

		if (err)
			return err;
		if (rw->iov[i].len > (size_t)SSIZE_MAX - rw->len)
			return rw_fail(rw, -EINVAL, "too long");
		rw->len += rw->iov[i].len;
	}
	return 0;
}

static int rw_check(struct rw *rw)
{
	struct nfsrdma_file *file = rw->file;
	bool read = rw->kind == CLIENT_IO_READ;

	if (read ? !file->readable : !file->writable)
		return rw_fail(rw, -EBADF, read ? "not open for reading" : "not open for writing");
	if (file->dir)
		return rw_fail(rw, -EISDIR, strerror(EISDIR));
	if (rw->len > SSIZE_MAX)
		return rw_fail(rw, -EINVAL, "too long");
	if (!read && file->append)
		rw->off = file->append_pos;
	if (rw->off > INT64_MAX)
		return rw_fail(rw, -EINVAL, "the offset is beyond 2^63-1");
	if (rw->len > INT64_MAX - rw->off) {
		if (!read)
			return rw_fail(rw, -EFBIG, "would end beyond 2^63-1");
		rw->len = INT64_MAX - rw->off;
	}
	return 0;
}

/* I/O begins on every piece, or on none. */
static int rw_hold(const struct rw *rw, struct client_io *io)
{
	for (int i = 0; i < io->iovcnt; i++) {
		const struct nfsrdma_iov *iov = &io->iov[i];

		if (!client_buf_hold(iov->buf)) {
			while (i--)
				client_buf_release(io->iov[i].buf);
			return rw_fail(rw, -EINVAL, "the buffer was put");
		}
		if (iov->len)
			client_buf_touch(iov->buf, iov->buf_off, iov->len);
	}
	return 0;
}

/* rw is checked.  On success io is on its way, and done, if any, will run. */
static int rw_submit(const struct rw *rw, nfsrdma_done *done, void *arg, struct client_io **iop)
{
	struct nfsrdma_file *file = rw->file;
	struct client_io *io = client_io_get(file, rw->kind);
	int err;

	if (!io)
		return client_fail(-ENOMEM, rw_doing(rw), file->path, NULL, 0);
	io->iov = rw->iov;
	io->iovcnt = rw->iovcnt;
	if (rw->iovcnt == 1) { /* the caller's may be gone when submit returns */
		io->one = rw->iov[0];
		io->iov = &io->one;
	}
	io->mem = rw->mem;
	io->off = rw->off;
	io->len = io->end = rw->len;
	io->stable = file->stable;
	io->done = done;
	io->arg = arg;
	err = rw_hold(rw, io);
	if (err) {
		file->ios--;
		util_list_push(&file->mount->free_ios, &io->node);
		return err;
	}
	if (rw->kind == CLIENT_IO_WRITE) {
		io->seq = file->seq++;
		util_list_add(&file->writes, &io->file_node);
		if (file->append)
			file->append_pos += rw->len;
	}
	if (done)
		file->mount->outstanding++;
	io->submitting = true;
	client_io_issue(io);
	io->submitting = false;
	client_rearm(file->mount);
	*iop = io;
	return 0;
}

/* An append starts at the end of the file as it is now, unless writes of ours are on their way
 * there. */
static int rw_append_pos(const struct rw *rw)
{
	struct nfsrdma_file *file = rw->file;
	struct wire_attr attr;
	int err;

	if (rw->kind != CLIENT_IO_WRITE || !file->append || !util_list_empty(&file->writes))
		return 0;
	err = client_getattr(file->mount, &file->fh, &attr);
	if (err)
		return client_fail_mount(file->mount, err, "write", file->path);
	file->append_pos = attr.size;
	return 0;
}

static ssize_t rw_sync(struct rw *rw)
{
	struct nfsrdma_file *file = rw->file;
	struct client_io *io;
	ssize_t n;
	int err;

	err = client_enter(file->mount, rw_doing(rw), file->path);
	if (!err)
		err = rw_append_pos(rw);
	if (!err)
		err = rw_check(rw);
	if (err || !rw->len)
		return err;
	err = rw_submit(rw, NULL, NULL, &io);
	if (err)
		return err;
	n = client_io_wait(io);
	return n < 0 ? client_fail_mount(file->mount, (int)n, rw_doing(rw), file->path) : n;
}

static ssize_t rw_vector(struct nfsrdma_file *file, enum client_io_kind kind,
			 const struct nfsrdma_iov *iov, int iovcnt, uint64_t off)
{
	struct rw rw = {.file = file, .kind = kind, .iov = iov, .iovcnt = iovcnt, .off = off};
	int err = rw_check_iov(&rw);

	return err ? err : rw_sync(&rw);
}

ssize_t nfsrdma_pread(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
		      size_t len, uint64_t off)
{
	struct nfsrdma_iov iov = {buf, buf_off, len};

	return rw_vector(file, CLIENT_IO_READ, &iov, 1, off);
}

ssize_t nfsrdma_pwrite(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
		       size_t len, uint64_t off)
{
	struct nfsrdma_iov iov = {buf, buf_off, len};

	return rw_vector(file, CLIENT_IO_WRITE, &iov, 1, off);
}

ssize_t nfsrdma_preadv(struct nfsrdma_file *file, const struct nfsrdma_iov *iov, int iovcnt,
		       uint64_t off)
{
	return rw_vector(file, CLIENT_IO_READ, iov, iovcnt, off);
}

ssize_t nfsrdma_pwritev(struct nfsrdma_file *file, const struct nfsrdma_iov *iov, int iovcnt,
			uint64_t off)
{
	return rw_vector(file, CLIENT_IO_WRITE, iov, iovcnt, off);
}

ssize_t nfsrdma_pread_copy(struct nfsrdma_file *file, void *mem, size_t len, uint64_t off)
{
	struct rw rw = {.file = file, .kind = CLIENT_IO_READ, .mem = mem, .len = len, .off = off};

	return rw_sync(&rw);
}

ssize_t nfsrdma_pwrite_copy(struct nfsrdma_file *file, const void *mem, size_t len, uint64_t off)
{
	struct rw rw = {
		.file = file,
		.kind = CLIENT_IO_WRITE,
		.mem = (void *)(uintptr_t)mem, /* only read from */
		.len = len,
		.off = off,
	};

	return rw_sync(&rw);
}

static int rw_async(struct nfsrdma_file *file, enum client_io_kind kind,
		    const struct nfsrdma_iov *iov, uint64_t off, nfsrdma_done *done, void *arg)
{
	struct rw rw = {.file = file, .kind = kind, .iov = iov, .iovcnt = 1, .off = off};
	struct client_io *io;
	int err;

	if (!done)
		return rw_fail(&rw, -EINVAL, "no callback");
	err = rw_check_iov(&rw);
	if (!err)
		err = rw_check(&rw);
	return err ? err : rw_submit(&rw, done, arg, &io);
}

int nfsrdma_pread_async(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
			size_t len, uint64_t off, nfsrdma_done *done, void *arg)
{
	struct nfsrdma_iov iov = {buf, buf_off, len};

	return rw_async(file, CLIENT_IO_READ, &iov, off, done, arg);
}

int nfsrdma_pwrite_async(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
			 size_t len, uint64_t off, nfsrdma_done *done, void *arg)
{
	struct nfsrdma_iov iov = {buf, buf_off, len};

	return rw_async(file, CLIENT_IO_WRITE, &iov, off, done, arg);
}

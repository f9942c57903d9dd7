/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * local_io.c - local files beside the network.
 *
 * The ring is made once per command and asked for nothing special, so that old kernels do.
 * Submission is gathered: local_io_start fills entries, local_io_process submits them with one
 * system call and takes what is done.  A submission the kernel does not take at once (EAGAIN,
 * EBUSY) stays in the ring and is submitted the next time.
 */
#include "local_io.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

struct local_io {
	bool uring;
	struct io_uring ring;
	unsigned unsubmitted;
	struct local_req *finished, **finished_tail; /* plain mode */
};

int local_io_create(struct local_io **iop, unsigned depth)
{
	struct local_io *io = calloc(1, sizeof(*io));

	if (!io)
		return -ENOMEM;
	io->finished_tail = &io->finished;
	io->uring = io_uring_queue_init(depth, &io->ring, 0) == 0;
	*iop = io;
	return 0;
}

void local_io_destroy(struct local_io *io)
{
	if (!io)
		return;
	if (io->uring)
		io_uring_queue_exit(&io->ring);
	free(io);
}

static ssize_t run_plain(const struct local_req *req)
{
	ssize_t n;

	do {
		if (req->off == LOCAL_IO_STREAM)
			n = req->write ? write(req->fd, req->mem, req->len)
				       : read(req->fd, req->mem, req->len);
		else
			n = req->write ? pwrite(req->fd, req->mem, req->len, (off_t)req->off)
				       : pread(req->fd, req->mem, req->len, (off_t)req->off);
	} while (n < 0 && errno == EINTR && req->off != LOCAL_IO_STREAM);
	return n < 0 ? -errno : n;
}

static void finish(struct local_io *io, struct local_req *req, ssize_t result)
{
	req->result = result;
	req->next = NULL;
	*io->finished_tail = req;
	io->finished_tail = &req->next;
}

void local_io_start(struct local_io *io, struct local_req *req)
{
	struct io_uring_sqe *sqe = io->uring ? io_uring_get_sqe(&io->ring) : NULL;

	if (!sqe) { /* plain mode; a full ring cannot be, since depth bounds the requests */
		finish(io, req, run_plain(req));
		return;
	}
	/* LOCAL_IO_STREAM is the -1 io_uring takes for "where the file stands" */
	if (req->write)
		io_uring_prep_write(sqe, req->fd, req->mem, (unsigned)req->len, req->off);
	else
		io_uring_prep_read(sqe, req->fd, req->mem, (unsigned)req->len, req->off);
	io_uring_sqe_set_data(sqe, req);
	io->unsubmitted++;
}

void local_io_cancel(struct local_io *io, struct local_req *req)
{
	struct io_uring_sqe *sqe = io->uring ? io_uring_get_sqe(&io->ring) : NULL;

	req->cancelled = true;
	if (!sqe)
		return;
	io_uring_prep_cancel(sqe, req, 0);
	io_uring_sqe_set_data(sqe, NULL);
	io->unsubmitted++;
}

static unsigned deliver_plain(struct local_io *io)
{
	struct local_req *req;
	unsigned count = 0;

	while ((req = io->finished)) {
		io->finished = req->next;
		if (!io->finished)
			io->finished_tail = &io->finished;
		req->done(req->arg, req->result);
		count++;
	}
	return count;
}

static unsigned deliver_ring(struct local_io *io)
{
	struct io_uring_cqe *cqe;
	unsigned count = 0;

	while (io_uring_peek_cqe(&io->ring, &cqe) == 0) {
		struct local_req *req = io_uring_cqe_get_data(cqe);
		ssize_t result = cqe->res;

		io_uring_cqe_seen(&io->ring, cqe);
		if (!req)
			continue; /* a cancellation's own end */
		/* a signal cut it short before it began: again */
		if ((result == -EINTR || result == -EAGAIN) && !req->cancelled)
			local_io_start(io, req);
		else
			req->done(req->arg, result);
		count++;
	}
	return count;
}

unsigned local_io_process(struct local_io *io)
{
	unsigned count = deliver_plain(io);

	if (!io->uring)
		return count;
	if (io->unsubmitted) {
		int n = io_uring_submit(&io->ring);

		if (n > 0)
			io->unsubmitted -=
				(unsigned)n < io->unsubmitted ? (unsigned)n : io->unsubmitted;
	}
	return count + deliver_ring(io);
}

int local_io_fd(const struct local_io *io)
{
	return io->uring ? io->ring.ring_fd : -1;
}

bool local_io_is_uring(const struct local_io *io)
{
	return io->uring;
}

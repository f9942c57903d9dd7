/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * aio.c - file I/O that waits for a disk, without the worker waiting.
 *
 * Each worker has an io_uring of its own.  What is submitted while requests are handled goes to the
 * kernel with one system call before the worker sleeps; completions make the ring's descriptor
 * readable, which the worker's loop watches.  At most AIO_DEPTH operations are in the kernel, so
 * the completion queue cannot overflow; more wait in line.
 *
 * Where io_uring is forbidden the operation is done at once, and the worker does wait.
 */
#include "tools/nfsrdmad/aio.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdmad/server.h"

#define AIO_DEPTH 256

struct server_aio {
	struct io_uring ring;
	struct util_list waiting;
	struct transport_worker *worker;
	unsigned in_flight; /* in the kernel or in the submission queue */
	unsigned queued;    /* in the submission queue */
};

static void io_prepare(struct io_uring_sqe *sqe, struct server_io *io)
{
	switch (io->kind) {
	case SERVER_IO_READ:
		io_uring_prep_read(sqe, io->fd, io->buf, (unsigned)io->len, io->offset);
		break;
	case SERVER_IO_WRITE:
		io_uring_prep_write(sqe, io->fd, io->buf, (unsigned)io->len, io->offset);
		break;
	case SERVER_IO_FSYNC:
		io_uring_prep_fsync(sqe, io->fd, 0);
		break;
	case SERVER_IO_FDATASYNC:
		io_uring_prep_fsync(sqe, io->fd, IORING_FSYNC_DATASYNC);
		break;
	}
	io_uring_sqe_set_data(sqe, io);
}

static int io_at_once(const struct server_io *io)
{
	ssize_t n = 0;

	switch (io->kind) {
	case SERVER_IO_READ:
		n = pread(io->fd, io->buf, io->len, (off_t)io->offset);
		break;
	case SERVER_IO_WRITE:
		n = pwrite(io->fd, io->buf, io->len, (off_t)io->offset);
		break;
	case SERVER_IO_FSYNC:
		n = fsync(io->fd);
		break;
	case SERVER_IO_FDATASYNC:
		n = fdatasync(io->fd);
		break;
	}
	return n < 0 ? -errno : (int)n;
}

static void aio_queue(struct server_aio *aio, struct server_io *io)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&aio->ring);

	if (!sqe) { /* the submission queue is as long as AIO_DEPTH, so only after a failed submit
		     */
		util_list_add(&aio->waiting, &io->node);
		return;
	}
	io_prepare(sqe, io);
	aio->in_flight++;
	aio->queued++;
}

static void aio_flush(void *arg)
{
	struct server_aio *aio = arg;
	struct util_list *node;
	int n;

	while (aio->in_flight < AIO_DEPTH && (node = util_list_pop(&aio->waiting)))
		aio_queue(aio, UTIL_LIST_ENTRY(node, struct server_io, node));
	if (!aio->queued)
		return;
	n = io_uring_submit(&aio->ring);
	if (n > 0)
		aio->queued -= (unsigned)n;
	if (aio->queued) /* the kernel was short of memory: again */
		transport_worker_again(aio->worker);
}

struct io_end {
	struct server_io *io;
	int res;
};

static void io_ended(void *arg)
{
	const struct io_end *end = arg;

	end->io->done(end->io, end->res);
}

static void aio_ready(void *arg)
{
	struct server_aio *aio = arg;
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&aio->ring, &cqe)) {
		struct io_end end = {.io = io_uring_cqe_get_data(cqe), .res = cqe->res};

		io_uring_cqe_seen(&aio->ring, cqe);
		aio->in_flight--;
		server_run(transport_worker_priv(aio->worker), io_ended, &end);
	}
}

int server_aio_create(struct server_aio **aiop, struct transport_worker *worker, bool no_io_uring)
{
	struct server_aio *aio;
	int err;

	*aiop = NULL;
	if (no_io_uring)
		return 0;
	aio = calloc(1, sizeof(*aio));
	if (!aio)
		return -ENOMEM;
	util_list_init(&aio->waiting);
	aio->worker = worker;
	if (io_uring_queue_init(AIO_DEPTH, &aio->ring, 0)) {
		free(aio);
		return 0;
	}
	err = transport_worker_watch(worker, aio->ring.ring_fd, aio_ready, aio);
	if (!err)
		err = transport_worker_before_sleep(worker, aio_flush, aio);
	if (err) { /* the worker does not start, so it will not call us either */
		io_uring_queue_exit(&aio->ring);
		free(aio);
		return err;
	}
	*aiop = aio;
	return 0;
}

/* The worker is being stopped: wait for what the kernel still has, its buffers are ours. */
void server_aio_destroy(struct server_aio *aio)
{
	struct io_uring_cqe *cqe;

	if (!aio)
		return;
	aio_flush(aio);
	while (aio->in_flight && !io_uring_wait_cqe(&aio->ring, &cqe)) {
		aio_ready(aio);
		aio_flush(aio);
	}
	io_uring_queue_exit(&aio->ring);
	free(aio);
}

void server_aio_submit(struct server_aio *aio, struct server_io *io)
{
	if (!aio)
		io->done(io, io_at_once(io));
	else if (aio->in_flight < AIO_DEPTH)
		aio_queue(aio, io);
	else
		util_list_add(&aio->waiting, &io->node);
}

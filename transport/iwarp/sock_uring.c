/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sock_uring.c - sockets driven by io_uring, one ring per completion queue.
 *
 * Normal operation.  The ring is for waiting: a receive into the connection's own stage, or a poll,
 * lies in the kernel until something comes.  Bytes that are awaited in the stage arrive by the very
 * call that waits for them.  Such requests are queued here and go in with the next wait.
 *
 * What is possible at once is a plain sendmsg() or recvmsg() with MSG_DONTWAIT: through the ring it
 * would be a system call as well, and a dearer one.  Memory a key names is touched by these only,
 * with the caller holding it, so that no request for it is still out when the key ends.
 *
 * The ring is not SINGLE_ISSUER: threads may take turns driving a completion queue.  A thread that
 * ends takes its requests with it (they complete as cancelled); they are simply made again.
 */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "transport/iwarp/internal.h"

#define SQ_ENTRIES 256u
#define CQ_ENTRIES 2048u

/* What a completion is about, in the low bits of its connection's address. */
enum request_kind {
	REQUEST_CANCEL, /* nobody waits for it */
	REQUEST_RX_STAGE,
	REQUEST_RX_POLL,
	REQUEST_TX_POLL,
};

#define KIND_MASK UINT64_C(7)

struct driver {
	struct io_uring ring;
	bool polled; /* requests were queued at the last poll already */
};

static struct driver *driver_of(const struct iwarp_cq *cq)
{
	return cq->driver;
}

static uint64_t tag(const struct iwarp_conn *conn, enum request_kind kind)
{
	return (uint64_t)(uintptr_t)conn | kind;
}

static int uring_open(struct iwarp_cq *cq, uint32_t depth, struct util_err *err)
{
	struct driver *d = calloc(1, sizeof(*d));
	struct io_uring_params params = {.flags = IORING_SETUP_CQSIZE, .cq_entries = CQ_ENTRIES};
	int code;

	if (!d)
		return util_err_set(err, -ENOMEM, "create a completion queue: out of memory");
	code = io_uring_queue_init_params(SQ_ENTRIES, &d->ring, &params);
	if (code) {
		free(d);
		return util_err_set(err, code, "create a completion queue: io_uring: %s",
				    strerror(-code));
	}
	cq->driver = d;
	return 0;
}

static void uring_close(struct iwarp_cq *cq)
{
	struct driver *d = driver_of(cq);

	io_uring_queue_exit(&d->ring);
	free(d);
	cq->driver = NULL;
}

/* ---- completions ------------------------------------------------------------------------ */

static void stage_filled(struct iwarp_conn *conn, int result)
{
	struct iwarp_sock *sock = &conn->sock;

	sock->rx_armed = false;
	if (result > 0) {
		conn->rx.tail += (uint32_t)result;
		conn->rx.any = true;
		conn->cq->counters.bytes_received += (uint64_t)result;
		sock->rx_ready = (uint32_t)result == sock->rx_asked;
	} else if (result != -ECANCELED && result != -EAGAIN && result != -EINTR) {
		sock->shut = true; /* end of file or an error: the next recv says so */
		sock->rx_result = result;
		sock->rx_ready = true;
	}
}

static void dispatch(struct iwarp_cq *cq, uint64_t data, int result)
{
	struct iwarp_conn *conn = (struct iwarp_conn *)(uintptr_t)(data & ~KIND_MASK);

	switch ((enum request_kind)(data & KIND_MASK)) {
	case REQUEST_CANCEL:
		return;
	case REQUEST_RX_STAGE:
		stage_filled(conn, result);
		break;
	case REQUEST_RX_POLL:
		conn->sock.rx_armed = false;
		conn->sock.rx_ready = result != -ECANCELED;
		break;
	case REQUEST_TX_POLL:
		conn->sock.tx_armed = false;
		conn->tx.blocked = false;
		break;
	}
	iwarp_cq_activate(conn);
}

static unsigned reap(struct iwarp_cq *cq)
{
	struct driver *d = driver_of(cq);
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&d->ring, head, cqe)
	{
		dispatch(cq, cqe->user_data, cqe->res);
		n++;
	}
	io_uring_cq_advance(&d->ring, n);
	return n;
}

/* ---- requests --------------------------------------------------------------------------- */

static struct io_uring_sqe *get_sqe(struct iwarp_cq *cq)
{
	struct driver *d = driver_of(cq);
	struct io_uring_sqe *sqe = io_uring_get_sqe(&d->ring);

	while (!sqe) {
		io_uring_submit(&d->ring);
		sqe = io_uring_get_sqe(&d->ring);
	}
	return sqe;
}

static ssize_t uring_send(struct iwarp_conn *conn, struct msghdr *msg)
{
	ssize_t n = sendmsg(conn->sock.fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);

	iwarp_cq_count_send(conn->cq);
	return n < 0 ? -errno : n;
}

static ssize_t uring_recv(struct iwarp_conn *conn, struct msghdr *msg)
{
	struct iwarp_sock *sock = &conn->sock;
	size_t want = 0;
	ssize_t n;

	if (sock->shut)
		return sock->rx_result;
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		want += msg->msg_iov[i].iov_len;
	conn->cq->counters.receive_calls++;
	n = recvmsg(sock->fd, msg, MSG_DONTWAIT);
	n = n < 0 ? -errno : n;
	if (n == -EAGAIN || (n > 0 && (size_t)n < want))
		sock->rx_ready = false;
	return n;
}

static void uring_want_rx(struct iwarp_conn *conn)
{
	struct iwarp_sock *sock = &conn->sock;
	struct iwarp_rx *rx = &conn->rx;
	struct io_uring_sqe *sqe;

	if (sock->rx_armed || sock->shut)
		return;
	sqe = get_sqe(conn->cq);
	if (conn->phase == IWARP_CONNECTING ||
	    (rx->state == IWARP_RX_PAYLOAD && rx->left >= IWARP_DIRECT_MIN && !rx->fault)) {
		io_uring_prep_poll_add(sqe, sock->fd, POLLIN | POLLRDHUP);
		sqe->user_data = tag(conn, REQUEST_RX_POLL);
	} else {
		sock->rx_asked = iwarp_rx_stage_want(conn);
		io_uring_prep_recv(sqe, sock->fd, rx->stage + rx->tail, sock->rx_asked, 0);
		sqe->user_data = tag(conn, REQUEST_RX_STAGE);
	}
	sock->rx_armed = true;
}

static void uring_want_tx(struct iwarp_conn *conn)
{
	struct io_uring_sqe *sqe;

	if (conn->sock.tx_armed)
		return;
	sqe = get_sqe(conn->cq);
	io_uring_prep_poll_add(sqe, conn->sock.fd, POLLOUT);
	sqe->user_data = tag(conn, REQUEST_TX_POLL);
	conn->sock.tx_armed = true;
}

/* ---- attach and detach ------------------------------------------------------------------ */

static int uring_attach(struct iwarp_conn *conn)
{
	conn->sock.attached = true;
	return 0;
}

static void cancel(struct iwarp_conn *conn, enum request_kind kind)
{
	struct io_uring_sqe *sqe = get_sqe(conn->cq);

	io_uring_prep_cancel64(sqe, tag(conn, kind), 0);
	sqe->user_data = tag(NULL, REQUEST_CANCEL);
}

static void uring_detach(struct iwarp_conn *conn)
{
	struct iwarp_sock *sock = &conn->sock;
	struct driver *d = driver_of(conn->cq);
	struct io_uring_cqe *cqe;

	/* Nothing goes on the wire for this; it ends a receive that waits, whoever submitted it. */
	if (sock->rx_armed)
		shutdown(sock->fd, SHUT_RD);
	if (sock->rx_armed) {
		cancel(conn, REQUEST_RX_STAGE);
		cancel(conn, REQUEST_RX_POLL);
	}
	if (sock->tx_armed)
		cancel(conn, REQUEST_TX_POLL);
	if (sock->rx_armed || sock->tx_armed)
		io_uring_submit(&d->ring);
	while (sock->rx_armed || sock->tx_armed) {
		if (!reap(conn->cq))
			io_uring_wait_cqe(&d->ring, &cqe);
	}
	sock->attached = false;
}

/* ---- waiting ---------------------------------------------------------------------------- */

static void uring_poll(struct iwarp_cq *cq)
{
	struct driver *d = driver_of(cq);

	/* Who polls once and then waits has them submitted by the wait; who only polls, here. */
	if (io_uring_sq_ready(&d->ring) && d->polled) {
		cq->counters.receive_calls++;
		io_uring_submit(&d->ring);
	}
	d->polled = io_uring_sq_ready(&d->ring) != 0;
	reap(cq);
}

static int uring_wait(struct iwarp_cq *cq, int timeout_ms)
{
	struct driver *d = driver_of(cq);
	struct __kernel_timespec ts = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = (long long)(timeout_ms % 1000) * (long long)UTIL_NS_PER_MS,
	};
	struct io_uring_cqe *cqe;
	int err;

	if (reap(cq))
		return 0;
	cq->counters.receive_calls++;
	err = io_uring_submit_and_wait_timeout(&d->ring, &cqe, 1, timeout_ms < 0 ? NULL : &ts,
					       NULL);
	if (reap(cq))
		return 0;
	return err < 0 ? err : 0;
}

static int uring_fd(struct iwarp_cq *cq)
{
	return driver_of(cq)->ring.ring_fd;
}

static bool uring_arm(struct iwarp_cq *cq)
{
	driver_of(cq)->polled = true;
	uring_poll(cq);
	return false; /* what poll found has put its connection on the active list */
}

const struct iwarp_sock_ops iwarp_sock_uring = {
	.name = "uring",
	.open = uring_open,
	.close = uring_close,
	.attach = uring_attach,
	.detach = uring_detach,
	.send = uring_send,
	.recv = uring_recv,
	.want_rx = uring_want_rx,
	.want_tx = uring_want_tx,
	.poll = uring_poll,
	.wait = uring_wait,
	.fd = uring_fd,
	.arm = uring_arm,
};

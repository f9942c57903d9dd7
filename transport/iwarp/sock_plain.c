/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sock_plain.c - sockets driven by epoll, sendmsg and recvmsg, where io_uring is forbidden.
 *
 * Each socket is watched once, edge-triggered, for both directions: there is no call per wait.  A
 * read that brings less than was asked for has emptied the socket, and a write that takes less has
 * filled it, so either is taken as the edge's end without asking again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/iwarp/internal.h"

#define EVENTS_PER_CALL 64

struct driver {
	int epoll;
	struct epoll_event events[EVENTS_PER_CALL];
};

static struct driver *driver_of(const struct iwarp_cq *cq)
{
	return cq->driver;
}

static int plain_open(struct iwarp_cq *cq, uint32_t depth, struct util_err *err)
{
	struct driver *d = calloc(1, sizeof(*d));

	if (!d)
		return util_err_set(err, -ENOMEM, "create a completion queue: out of memory");
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll < 0) {
		int code = -errno;

		free(d);
		return util_err_set(err, code, "create a completion queue: epoll: %s",
				    strerror(-code));
	}
	cq->driver = d;
	return 0;
}

static void plain_close(struct iwarp_cq *cq)
{
	struct driver *d = driver_of(cq);

	close(d->epoll);
	free(d);
	cq->driver = NULL;
}

static int plain_attach(struct iwarp_conn *conn)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = conn,
	};

	if (epoll_ctl(driver_of(conn->cq)->epoll, EPOLL_CTL_ADD, conn->sock.fd, &event) != 0)
		return -errno;
	conn->sock.attached = true;
	return 0;
}

static void plain_detach(struct iwarp_conn *conn)
{
	epoll_ctl(driver_of(conn->cq)->epoll, EPOLL_CTL_DEL, conn->sock.fd, NULL);
	conn->sock.attached = false;
}

static ssize_t plain_send(struct iwarp_conn *conn, struct msghdr *msg)
{
	ssize_t n;

	iwarp_cq_count_send(conn->cq);
	do
		n = sendmsg(conn->sock.fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t plain_recv(struct iwarp_conn *conn, struct msghdr *msg)
{
	size_t want = 0;
	ssize_t n;

	for (size_t i = 0; i < msg->msg_iovlen; i++)
		want += msg->msg_iov[i].iov_len;
	conn->cq->counters.receive_calls++;
	do
		n = recvmsg(conn->sock.fd, msg, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		conn->sock.rx_ready = false;
	/* ORDER: the hang-up's edge may have come before these bytes; then there is one more read,
	 * which says end of file. */
	if (n > 0 && (size_t)n < want && !conn->sock.shut)
		conn->sock.rx_ready = false;
	return n < 0 ? -errno : n;
}

static void plain_want(struct iwarp_conn *conn)
{
	/* watched since attach */
}

static void note(struct iwarp_conn *conn, uint32_t events)
{
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		conn->sock.shut = true;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		conn->sock.rx_ready = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		conn->tx.blocked = false;
	iwarp_cq_activate(conn);
}

static int collect(struct iwarp_cq *cq, int timeout_ms)
{
	struct driver *d = driver_of(cq);
	int n;

	cq->counters.receive_calls++;
	n = epoll_wait(d->epoll, d->events, EVENTS_PER_CALL, timeout_ms);
	for (int i = 0; i < n; i++)
		note(d->events[i].data.ptr, d->events[i].events);
	return n < 0 ? -errno : n;
}

static void plain_poll(struct iwarp_cq *cq)
{
	collect(cq, 0);
}

static int plain_wait(struct iwarp_cq *cq, int timeout_ms)
{
	int n = collect(cq, timeout_ms);

	if (n < 0)
		return n;
	return n ? 0 : -ETIME;
}

static int plain_fd(struct iwarp_cq *cq)
{
	return driver_of(cq)->epoll;
}

static bool plain_arm(struct iwarp_cq *cq)
{
	return false; /* edges since the last epoll_wait make the descriptor readable by themselves
		       */
}

const struct iwarp_sock_ops iwarp_sock_plain = {
	.name = "plain",
	.open = plain_open,
	.close = plain_close,
	.attach = plain_attach,
	.detach = plain_detach,
	.send = plain_send,
	.recv = plain_recv,
	.want_rx = plain_want,
	.want_tx = plain_want,
	.poll = plain_poll,
	.wait = plain_wait,
	.fd = plain_fd,
	.arm = plain_arm,
};

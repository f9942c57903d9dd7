/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drive.c - whose turn it is: progress, sleep, and the descriptor.
 *
 * Nothing moves but inside progress_once(), which every synchronous call and nfsrdma_process()
 * come down to: process the connections, send what waited out its JUKEBOX, retry what lacked
 * memory, run the callbacks that are due.
 *
 * Sleeping costs least with one connection, where the transport knows how to wait for exactly its
 * own events; with several, poll(2) over their descriptors.
 *
 * The user's code may run inside progress.  It may submit, and may even ask for the mount's end:
 * that is remembered and happens when the stack is free of us.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client/internal.h"

/* How long to sleep where a connection has no descriptor to wait on. */
#define BLIND_MS 10

void client_callback(struct nfsrdma *mount, nfsrdma_done *done, void *arg, ssize_t n)
{
	mount->outstanding--;
	mount->callbacks++;
	mount->in_callback++;
	done(arg, n);
	mount->in_callback--;
}

/* Operations whose wait is over; returns whether there were any. */
static bool progress_delayed(struct nfsrdma *mount)
{
	uint64_t now;
	bool any = false;

	if (util_list_empty(&mount->delayed))
		return false;
	now = util_clock_ns();
	while (!util_list_empty(&mount->delayed)) {
		struct client_op *op = UTIL_LIST_ENTRY(mount->delayed.next, struct client_op, node);

		if (op->due_ns > now)
			break;
		util_list_del(&op->node);
		if (client_op_start(op))
			op->ops->done(op);
		any = true;
	}
	return any;
}

static bool progress_ready(struct nfsrdma *mount)
{
	struct util_list batch, *node;
	bool any = false;

	/* what callbacks add waits for the next round, or a callback that resubmits never ends it
	 */
	util_list_init(&batch);
	util_list_splice(&batch, &mount->ready);
	while ((node = util_list_pop(&batch))) {
		client_io_complete(UTIL_LIST_ENTRY(node, struct client_io, node));
		any = true;
	}
	return any;
}

/* Returns whether anything happened. */
static bool progress_once(struct nfsrdma *mount)
{
	bool any = false;

	mount->in_progress = true;
	any |= progress_ready(mount);
	for (unsigned i = 0; i < mount->nconns; i++)
		any |= transport_client_process(mount->conn[i]) > 0;
	if (mount->aux)
		any |= transport_client_process(mount->aux) > 0;
	any |= progress_delayed(mount);
	client_io_unstarve(mount);
	mount->in_progress = false;
	client_rearm(mount);
	return any;
}

/* The earlier of timeout_ms from now and the first delayed operation. */
static int sleep_ms(const struct nfsrdma *mount, int timeout_ms)
{
	int until;

	if (!util_list_empty(&mount->ready))
		return 0;
	if (util_list_empty(&mount->delayed))
		return timeout_ms;
	until = util_clock_until_ms(
		UTIL_LIST_ENTRY(mount->delayed.next, struct client_op, node)->due_ns);
	return timeout_ms < 0 || until < timeout_ms ? until : timeout_ms;
}

static void sleep_poll(struct nfsrdma *mount, int timeout_ms)
{
	struct pollfd fds[CLIENT_MAX_CONNS + 1];
	nfds_t n = 0;

	for (unsigned i = 0; i < mount->nconns; i++)
		fds[n++] = (struct pollfd){.fd = transport_client_fd(mount->conn[i]),
					   .events = POLLIN};
	if (mount->aux)
		fds[n++] = (struct pollfd){.fd = transport_client_fd(mount->aux), .events = POLLIN};
	/* Out of descriptors, a connection has none to wait on: look at it from time to time. */
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd < 0 && (timeout_ms < 0 || timeout_ms > BLIND_MS))
			timeout_ms = BLIND_MS;
	poll(fds, n, timeout_ms);
	if (mount->epoll_fd >= 0)
		return; /* somebody else may sleep there */
	for (unsigned i = 0; i < mount->nconns; i++)
		transport_client_fd_done(mount->conn[i]);
	if (mount->aux)
		transport_client_fd_done(mount->aux);
}

static void sleep_and_progress(struct nfsrdma *mount, int timeout_ms)
{
	struct transport_client *only = mount->aux ? mount->aux : mount->conn[0];

	timeout_ms = sleep_ms(mount, timeout_ms);
	if (!timeout_ms)
		return;
	if (mount->nconns + (mount->aux != NULL) == 1)
		transport_client_wait(only, timeout_ms);
	else
		sleep_poll(mount, timeout_ms);
	progress_once(mount);
}

void client_drive(struct nfsrdma *mount, int timeout_ms)
{
	if (!progress_once(mount) && timeout_ms)
		sleep_and_progress(mount, timeout_ms);
}

/* What is left of timeout_ms; the clock is first read when there was nothing to do. */
static int time_left(int timeout_ms, uint64_t *deadline)
{
	if (timeout_ms <= 0)
		return timeout_ms;
	if (*deadline)
		return util_clock_until_ms(*deadline);
	*deadline = util_clock_ns() + (uint64_t)timeout_ms * UTIL_NS_PER_MS;
	return timeout_ms;
}

int nfsrdma_process(struct nfsrdma *mount, int timeout_ms)
{
	unsigned before = mount->callbacks;
	uint64_t deadline = 0;

	if (mount->in_callback)
		return client_fail(-EDEADLK, "process", NULL, NULL, 0);
	for (;;) {
		bool any = progress_once(mount);
		unsigned ran = mount->callbacks - before;
		int left = 0;

		if (!ran && mount->outstanding)
			left = time_left(timeout_ms, &deadline);
		if (!any && left)
			sleep_and_progress(mount, left);
		ran = mount->callbacks - before;
		if (mount->umount_due) {
			nfsrdma_umount(mount);
			return (int)ran;
		}
		if (ran || !left || !mount->outstanding)
			return ran > INT_MAX ? INT_MAX : (int)ran;
	}
}

unsigned nfsrdma_outstanding(const struct nfsrdma *mount)
{
	return mount->outstanding;
}

/* ---- the descriptor ---------------------------------------------------------------------- */

static int watch(int epoll_fd, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0)
		return -EIO;
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void client_rearm(struct nfsrdma *mount)
{
	struct itimerspec when = {0};
	uint64_t due = 0;

	if (mount->timer_fd < 0 || mount->in_progress)
		return;
	for (unsigned i = 0; i < mount->nconns; i++)
		transport_client_fd(mount->conn[i]);
	if (!util_list_empty(&mount->ready))
		due = 1; /* long past: fires at once */
	else if (!util_list_empty(&mount->delayed))
		due = UTIL_LIST_ENTRY(mount->delayed.next, struct client_op, node)->due_ns;
	if (due == mount->timer_ns && due != 1)
		return;
	mount->timer_ns = due;
	when.it_value.tv_sec = (time_t)(due / UTIL_NS_PER_S);
	when.it_value.tv_nsec = (long)(due % UTIL_NS_PER_S);
	timerfd_settime(mount->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static int fd_open(struct nfsrdma *mount)
{
	int err = 0;

	mount->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (mount->epoll_fd < 0)
		return -errno;
	mount->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (mount->timer_fd < 0)
		err = -errno;
	if (!err)
		err = watch(mount->epoll_fd, mount->timer_fd);
	for (unsigned i = 0; i < mount->nconns && !err; i++)
		err = watch(mount->epoll_fd, transport_client_fd(mount->conn[i]));
	if (err)
		client_drive_close(mount);
	return err;
}

void client_drive_close(struct nfsrdma *mount)
{
	if (mount->timer_fd >= 0)
		close(mount->timer_fd);
	if (mount->epoll_fd >= 0)
		close(mount->epoll_fd);
	mount->timer_fd = mount->epoll_fd = -1;
	mount->timer_ns = 0;
}

int nfsrdma_fd(struct nfsrdma *mount)
{
	if (mount->epoll_fd < 0) {
		int err = fd_open(mount);

		if (err)
			return client_fail(err, "make a descriptor", NULL, NULL, 0);
	}
	client_rearm(mount);
	return mount->epoll_fd;
}

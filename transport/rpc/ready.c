/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ready.c - one descriptor that is readable when transport_client_process() has work.
 *
 * An epoll descriptor over the link's own descriptor and a timerfd.  It exists from the first
 * transport_client_fd() on and is kept up to date until somebody waits otherwise
 * (transport_client_wait) or says that he slept enough (transport_client_fd_done): a program that
 * only waits, or has ceased to ask, does not pay for it.
 * Both are touched only when what they should say differs from what they say, so that a
 * busy client makes no system call here: the timer's bound moves about once per timeo.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "transport/rpc/internal.h"

void transport_core_ready_init(struct transport_core *core)
{
	core->epoll_fd = core->timer_fd = core->watched_fd = -1;
}

void transport_core_ready_free(struct transport_core *core)
{
	if (core->timer_fd >= 0)
		close(core->timer_fd);
	if (core->epoll_fd >= 0)
		close(core->epoll_fd);
	transport_core_ready_init(core);
}

static int ready_create(struct transport_core *core)
{
	struct epoll_event event = {.events = EPOLLIN};
	int err;

	core->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	core->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (core->epoll_fd >= 0 && core->timer_fd >= 0 &&
	    epoll_ctl(core->epoll_fd, EPOLL_CTL_ADD, core->timer_fd, &event) == 0)
		return 0;
	err = -errno;
	transport_core_ready_free(core);
	return err;
}

void transport_core_ready_forget(struct transport_core *core)
{
	if (core->watched_fd >= 0)
		epoll_ctl(core->epoll_fd, EPOLL_CTL_DEL, core->watched_fd, NULL);
	core->watched_fd = -1;
}

static void watch_link(struct transport_core *core, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events};

	if (fd == core->watched_fd && (fd < 0 || events == core->watched_events))
		return;
	if (fd >= 0 && fd == core->watched_fd) {
		epoll_ctl(core->epoll_fd, EPOLL_CTL_MOD, fd, &event);
	} else {
		transport_core_ready_forget(core);
		if (fd >= 0 && epoll_ctl(core->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
			core->watched_fd = fd;
	}
	core->watched_events = events;
}

static void set_timer(struct transport_core *core, uint64_t at_ns)
{
	struct itimerspec when = {0};

	/* An armed timer that has run out stays readable until it is set anew. */
	if (at_ns == core->armed_ns && (at_ns == 0 || at_ns > util_clock_ns()))
		return;
	when.it_value.tv_sec = (time_t)(at_ns / UTIL_NS_PER_S);
	when.it_value.tv_nsec = (long)(at_ns % UTIL_NS_PER_S);
	timerfd_settime(core->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	core->armed_ns = at_ns;
}

void transport_core_ready_update(struct transport_core *core)
{
	struct transport_link *link = core->client.link;
	uint32_t events = 0;
	uint64_t at_ns;
	int fd = -1;

	if (core->epoll_fd < 0 || !core->fd_asked)
		return;
	at_ns = transport_core_next_ns(core);
	if (core->state == TRANSPORT_CORE_CONNECTING || core->state == TRANSPORT_CORE_UP) {
		if (link->ops->arm(link))
			at_ns = 1;
		fd = link->ops->fd(link, &events);
	}
	watch_link(core, fd, events);
	set_timer(core, at_ns);
}

void transport_client_fd_done(struct transport_client *client)
{
	transport_core_of(client)->fd_asked = false;
}

int transport_client_fd(struct transport_client *client)
{
	struct transport_core *core = transport_core_of(client);
	int err;

	if (core->epoll_fd < 0) {
		err = ready_create(core);
		if (err)
			return err;
	}
	core->fd_asked = true;
	transport_core_ready_update(core);
	return core->epoll_fd;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor.c - hear of memory that goes away: a userfaultfd and the one thread that reads it.
 *
 * Normal operation.  Ranges are registered with the userfaultfd before they are registered with the
 * device.  munmap(), mremap() and madvise(MADV_DONTNEED or MADV_REMOVE) of any of it then do not
 * return before their event has been read.  The thread polls, takes the cache's lock, reads (which
 * lets the caller of munmap go on), drops what is stale, and unlocks: whoever looks into the cache
 * after his munmap has returned waits for the lock, and finds nothing stale.  Registrations end
 * after that, without the lock.
 *
 * Ranges are registered for write-protect faults that nobody ever asks for, so the application's
 * own page faults are not touched; only the events are wanted.
 *
 * Privilege.  A userfaultfd that sees faults of the kernel needs CAP_SYS_PTRACE or a sysctl.  Where
 * that is missing the monitor stays off, unless it was asked for: then a descriptor for faults of
 * user mode alone is opened, which any process may, and which carries the same events.
 *
 * What cannot be watched, such as mappings of files, is registered for one use only.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mr/cache.h"

#define USER_MODE_ONLY 1 /* UFFD_USER_MODE_ONLY, Linux 5.11; named here for older headers */
#define EVENTS (UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP)

struct mr_monitor {
	struct mr_cache *cache;
	int fd, stop;
	pthread_t thread;
};

/* ---- the thread ------------------------------------------------------------------------- */

/* Under the cache's lock. */
static void handle(struct mr_monitor *monitor, const struct uffd_msg *msg, struct util_list *dead)
{
	struct mr_cache *cache = monitor->cache;
	uintptr_t start, end;

	if (msg->event == UFFD_EVENT_REMAP) {
		start = (uintptr_t)msg->arg.remap.from;
		end = start + (uintptr_t)msg->arg.remap.len;
	} else if (msg->event == UFFD_EVENT_UNMAP || msg->event == UFFD_EVENT_REMOVE) {
		start = (uintptr_t)msg->arg.remove.start;
		end = (uintptr_t)msg->arg.remove.end;
	} else {
		return;
	}
	cache->changes++;
	MR_LEDGER_ADD(&cache->pool->ledger, cache_unmaps_seen, 1);
	mr_cache_drop_locked(cache, start, end, dead);
}

static void read_events(struct mr_monitor *monitor)
{
	struct util_list dead;
	struct uffd_msg msg;

	util_list_init(&dead);
	pthread_mutex_lock(&monitor->cache->lock);
	while (read(monitor->fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg))
		handle(monitor, &msg, &dead);
	pthread_mutex_unlock(&monitor->cache->lock);
	mr_cache_close_all(monitor->cache, &dead);
}

static void *monitor_main(void *arg)
{
	struct mr_monitor *monitor = arg;
	struct pollfd fds[2] = {
		{.fd = monitor->fd, .events = POLLIN},
		{.fd = monitor->stop, .events = POLLIN},
	};

	while (!(fds[1].revents & POLLIN)) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents & POLLIN)
			read_events(monitor);
	}
	return NULL;
}

/* ---- open and close --------------------------------------------------------------------- */

static int open_descriptor(enum mr_monitor_wish wish)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && wish == MR_MONITOR_ON)
		fd = (int)syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
	if (fd < 0)
		return -errno;
	api.features = EVENTS | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
	if (ioctl(fd, UFFDIO_API, &api)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int refuse(enum mr_monitor_wish wish, int code, struct util_err *err)
{
	if (wish != MR_MONITOR_ON)
		return 0;
	util_err_set(err, code, "the cache's monitor: userfaultfd: %s", strerror(-code));
	util_err_hint(err, "containers often forbid it; with mr-monitor=off memory must be "
			   "registered and deregistered explicitly");
	return code;
}

/* 0 with *monitorp NULL: there is none, and none was insisted on. */
int mr_monitor_open(struct mr_monitor **monitorp, struct mr_cache *cache, enum mr_monitor_wish wish,
		    struct util_err *err)
{
	struct mr_monitor *monitor;
	int code;

	*monitorp = NULL;
	if (wish == MR_MONITOR_OFF)
		return 0;
	monitor = calloc(1, sizeof(*monitor));
	if (!monitor)
		return refuse(wish, -ENOMEM, err);
	monitor->cache = cache;
	monitor->fd = open_descriptor(wish);
	code = monitor->fd;
	if (code < 0)
		goto err_free;
	monitor->stop = eventfd(0, EFD_CLOEXEC);
	code = -errno;
	if (monitor->stop < 0)
		goto err_fd;
	code = -pthread_create(&monitor->thread, NULL, monitor_main, monitor);
	if (code)
		goto err_stop;
	*monitorp = monitor;
	return 0;

err_stop:
	close(monitor->stop);
err_fd:
	close(monitor->fd);
err_free:
	free(monitor);
	return refuse(wish, code, err);
}

void mr_monitor_close(struct mr_monitor *monitor)
{
	const uint64_t one = 1;

	if (!monitor)
		return;
	if (write(monitor->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
		pthread_join(monitor->thread, NULL);
	close(monitor->stop);
	close(monitor->fd); /* what was watched is let go, waiting callers included */
	free(monitor);
}

bool mr_monitor_watch(struct mr_monitor *monitor, const void *addr, size_t len)
{
	uint64_t start = (uintptr_t)addr / MR_PAGE * MR_PAGE;
	struct uffdio_register range = {
		.range = {.start = start,
			  .len = mr_round_up((uintptr_t)addr + len, MR_PAGE) - start},
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	return ioctl(monitor->fd, UFFDIO_REGISTER, &range) == 0;
}

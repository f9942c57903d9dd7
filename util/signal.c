/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal.c - the signals that ask a tool to end, as a descriptor.
 *
 * Threads made afterwards inherit the mask, so they are the main thread's alone.  A pipe whose
 * reader has gone is an error of write(2), not the end.
 */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "util/util.h"

int util_signal_fd(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupt.c - the one mutable global of this program: a signal handler has nothing else to hang
 * from.
 *
 * Stopping in order takes the server's help: what is in flight must end, the temporary file must
 * go.  A server that is gone helps nobody, so an alarm bounds it; and the handler is reset by its
 * first use, so that a second Ctrl-C ends the program at once.
 */
#include "interrupt.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"

/* Long enough for a few calls to a slow server. */
#define GRACE_S 10

static volatile sig_atomic_t caught;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))

static void on_alarm(int signo)
{
	static const char text[] = "\nnfsrdma: interrupted; the server does not answer, so a "
				   ".nfsrdma-*.part file may be left on it\n";

	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(CLI_FAILED);
	raise(caught);
}

static void on_signal(int signo)
{
	caught = signo;
	for (size_t i = 0; i < NSIGNALS; i++)
		signal(signals[i], SIG_DFL);
	signal(SIGALRM, on_alarm);
	alarm(GRACE_S);
}

const volatile sig_atomic_t *interrupt_catch(void)
{
	/* no SA_RESTART: what waits shall notice */
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction old;

	for (size_t i = 0; i < NSIGNALS; i++) {
		/* nohup's and the shell's wish for background jobs stands */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &action, NULL);
	}
	return &caught;
}

void interrupt_release(void)
{
	if (caught) {
		fflush(stdout);
		raise(caught);
	}
	for (size_t i = 0; i < NSIGNALS; i++) {
		struct sigaction old;

		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == on_signal)
			signal(signals[i], SIG_DFL);
	}
}

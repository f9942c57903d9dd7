/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupt.c - the one mutable global of this program: a signal handler has nothing else to hang
 * from.
 *
 * The handler is reset by its first use, so that somebody who waits for a server that does not
 * answer can always leave with a second Ctrl-C.
 */
#include "interrupt.h"

#include <stddef.h>
#include <stdio.h>

static volatile sig_atomic_t caught;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))

static void on_signal(int signo)
{
	caught = signo;
	for (size_t i = 0; i < NSIGNALS; i++)
		signal(signals[i], SIG_DFL);
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

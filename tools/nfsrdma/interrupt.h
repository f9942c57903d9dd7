/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupt.h - Ctrl-C during a copy: stop, clean up, and then die of the signal as a shell
 * expects.
 */
#ifndef TOOLS_NFSRDMA_INTERRUPT_H
#define TOOLS_NFSRDMA_INTERRUPT_H

#include <signal.h>

/* From here on the first SIGINT, SIGTERM or SIGHUP sets the flag; a second one ends the program at
 * once. */
const volatile sig_atomic_t *interrupt_catch(void);
/* If the flag is set, die of that signal; else put the default back. */
void interrupt_release(void);

#endif

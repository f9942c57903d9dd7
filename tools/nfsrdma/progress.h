/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - the bar on a terminal: name, share, amount, rate, time left.
 */
#ifndef TOOLS_NFSRDMA_PROGRESS_H
#define TOOLS_NFSRDMA_PROGRESS_H

#include "cli.h"

struct progress {
	struct cli *cli;
	bool enabled;
	char name[64];
	uint64_t total; /* bytes, 0 unknown */
	uint64_t done;
	uint64_t start_ns, shown_ns;
};

/* Only where standard error is a terminal and nothing speaks against it. */
void progress_start(struct progress *p, struct cli *cli, const char *name, uint64_t total);
/* Cheap: looks at the clock, draws at most five times a second. */
void progress_update(struct progress *p, uint64_t done);
/* Leave the last state standing, or wipe the bar where it never got that far. */
void progress_end(struct progress *p, bool completed);
/* The line itself, at most width columns; pure, for progress_update and the tests. */
void progress_format(const struct progress *p, uint64_t now_ns, unsigned width, char *line,
		     size_t len);

#endif

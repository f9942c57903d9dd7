/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child.h - one child of a round: a thread, its client, its file, what it measured.
 */
#ifndef NFSRDMA_BENCH_CHILD_H
#define NFSRDMA_BENCH_CHILD_H

#include <pthread.h>

#include "tools/nfsrdma-bench/bench.h"

struct bench_child;

/* One record in flight. */
struct bench_slot {
	struct bench_child *child;
	unsigned index;
	uint64_t start_ns;
};

enum team_command {
	TEAM_OPEN,    /* mount */
	TEAM_PREPARE, /* open the file, get buffers */
	TEAM_RUN,     /* the timed part */
	TEAM_FINISH,  /* close, give buffers back */
	TEAM_REMOVE,  /* remove the file */
	TEAM_CLOSE,   /* unmount and end */
};

/* What the parent and its children share. */
struct bench_team {
	const struct bench_options *opts;
	const struct bench_client_ops *client;
	struct bench_site *site;
	int report_fd; /* eventfd: each child adds one per command */

	pthread_mutex_t lock; /* protects the two below */
	pthread_cond_t go;
	unsigned step; /* raised with each command */
	enum team_command command;
	enum bench_test test; /* set while all children wait */

	_Atomic bool stop;   /* the first is done (stone-walling), failed, or the user said so */
	_Atomic bool failed; /* some child did */
	_Atomic bool interrupted; /* the user said so: complete no file either */
};

/* Touched by its thread between command and report, by the parent otherwise. */
struct bench_child {
	struct bench_team *team;
	unsigned number;
	pthread_t thread;
	struct bench_io *io;
	char file[40];
	bool file_open, have_buffers;
	bool write;
	bool untimed;			  /* completing a file after the clock has stopped */
	uint64_t records, next, finished; /* of this test: all, submitted, completed */
	unsigned outstanding;
	int failed; /* first error */
	struct util_err err;
	uint64_t begin_ns, end_ns;
	struct util_hist latency; /* ns */
	struct bench_slot *slots;
	void **buffers;
};

int child_create(struct bench_child *child, struct bench_team *team, unsigned number,
		 struct util_err *err);
/* Joins the thread, which must have had TEAM_CLOSE. */
void child_destroy(struct bench_child *child);

#endif

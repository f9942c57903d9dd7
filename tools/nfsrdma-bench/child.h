/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child.h - one child of a round: a thread, its client, its file, what it measured.
 */
#ifndef NFSRDMA_BENCH_CHILD_H
#define NFSRDMA_BENCH_CHILD_H

#include <pthread.h>

#include "tools/nfsrdma-bench/client.h"
#include "tools/nfsrdma-bench/walk.h"

struct bench_child;

/* One record in flight. */
struct bench_slot {
	struct bench_child *child;
	unsigned index, turn; /* turn: which of its buffers */
	bool counted;	      /* started after the warm-up */
	uint64_t start_ns, off;
	unsigned buffer;
};

/* -Q: one record's line, written when the clock has stopped. */
struct bench_log_entry {
	uint64_t off, ns;
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
	uint64_t file_size;    /* of each child */
	unsigned first, count; /* number of the first child, and of all of them on all ranks */
	int report_fd;	       /* eventfd: each child adds one per command */

	pthread_mutex_t lock; /* protects the two below */
	pthread_cond_t go;
	unsigned step; /* raised with each command */
	enum team_command command;
	enum bench_test test; /* set while all children wait */

	_Atomic bool stop;     /* the first is done (stone-walling), failed, or the user said so */
	_Atomic bool finished; /* the first is done */
	_Atomic bool counting; /* the warm-up is over */
	_Atomic bool failed;   /* some child did */
	_Atomic bool interrupted; /* the user said so: complete no file either */
	_Atomic bool abandon;	  /* wait for nothing any more */
	const char *why;	  /* set before abandon is */
};

/* Touched by its thread between command and report, by the parent otherwise; progress is read by
 * the parent at any time. */
struct bench_child {
	struct bench_team *team;
	unsigned number, file_number;
	pthread_t thread;
	struct bench_io *io;
	char file[300];
	bool file_open, have_buffers;
	bool write, chained; /* chained: a completion submits the next */
	bool untimed;	     /* completing a file after the clock has stopped */
	bool counting, abandoned;
	struct bench_walk walk;
	uint64_t records, goal, next, finished; /* of this test: of the file, to do, submitted,
						   completed and counted */
	_Atomic uint64_t progress;
	unsigned outstanding;
	int failed; /* first error */
	struct util_err err;
	struct util_ticker ticker; /* what latencies are taken with */
	uint64_t begin_ns, end_ns, think_ns;
	double cpu_s;
	int node_buffers, node_thread;
	struct util_hist latency;   /* ns */
	struct bench_counters warm; /* when it prepared, then when the warm-up was over */
	struct bench_slot *slots;
	struct bench_slot **idle; /* those without a record, when not chained */
	unsigned nidle;
	uint64_t due_ns; /* not before */
	void **buffers;
	unsigned turns; /* buffers per slot */
	size_t buffer_len;
	char *record; /* of a stream: the user's memory */
	size_t moved; /* by the stream's last transfer */
	struct bench_log_entry *log;
};

int child_create(struct bench_child *child, struct bench_team *team, unsigned number,
		 struct util_err *err);
/* Joins the thread, which must have had TEAM_CLOSE. */
void child_destroy(struct bench_child *child);

/* ---- move.c: the timed part ---- */

void child_fail(struct bench_child *child, int code);
/* Until child->goal, or until told to stop. */
void child_move(struct bench_child *child);
/* Buffers for the test at hand. */
unsigned child_buffer_count(const struct bench_child *child);
size_t child_buffer_len(const struct bench_child *child);

#endif

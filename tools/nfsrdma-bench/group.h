/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - the ranks of an MPI run, which act as one bench; without MPI there is one.
 *
 * group_mpi.c or group_one.c implements it.  Only a rank's main thread calls in.  All but
 * group_tell_stop() and group_heard_stop() are collective: every rank calls them in the same order.
 */
#ifndef NFSRDMA_BENCH_GROUP_H
#define NFSRDMA_BENCH_GROUP_H

#include "tools/nfsrdma-bench/bench.h"

struct bench_group {
	unsigned rank, ranks;
	bool one_host;	    /* all ranks are on it */
	unsigned stops_due; /* messages of the test at hand that are still to be received */
	bool told;	    /* we told the others to stop */
};

/* mpi: --mpi was given.  -ENOSYS: built without it. */
int group_open(struct bench_group *group, bool mpi, struct util_err *err);
void group_close(struct bench_group *group);
/* End all ranks: this one cannot go on, and the others would wait for it. */
void group_abort(struct bench_group *group);

/* A test begins, everywhere at once. */
void group_begin(struct bench_group *group);
/* The first rank's failure is everybody's: its code and words; 0 when there is none. */
int group_agree(struct bench_group *group, int ret, struct util_err *err);
/* The first rank's bytes become everybody's. */
void group_share(struct bench_group *group, void *bytes, size_t len);

/* Stone-walling: a child is done. */
void group_tell_stop(struct bench_group *group);
bool group_heard_stop(struct bench_group *group);
/* Between tests: all messages of the last one are received. */
void group_settle(struct bench_group *group);

/* On the first rank, r and latency become those of all; r->parts has room for all children. */
void group_gather(struct bench_group *group, struct bench_result *r, struct util_hist *latency);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_mpi.c - ranks on several hosts as one bench, by MPI.
 *
 * Each test begins with a barrier and ends with a gathering, so ranks never are more than one test
 * apart.  In between, the first rank with a child that is done tells all others, who look for such
 * a message every few milliseconds while their children work; every rank tells every other one
 * exactly once per test, so all messages of a test can be received before the next begins.
 */
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/group.h"

#define GROUP_TAG_STOP 1

int group_open(struct bench_group *group, bool mpi, struct util_err *err)
{
	int rank, ranks, here;
	MPI_Comm host;

	*group = (struct bench_group){.ranks = 1, .one_host = true};
	if (!mpi)
		return 0;
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return util_err_set(err, -EIO, "--mpi: MPI does not start");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
	MPI_Comm_size(host, &here);
	MPI_Comm_free(&host);
	group->rank = (unsigned)rank;
	group->ranks = (unsigned)ranks;
	group->one_host = here == ranks;
	return 0;
}

static bool group_alone(const struct bench_group *group)
{
	int initialized = 0;

	MPI_Initialized(&initialized);
	return !initialized || group->ranks == 1;
}

void group_close(struct bench_group *group)
{
	int initialized = 0;

	(void)group;
	MPI_Initialized(&initialized);
	if (initialized)
		MPI_Finalize();
}

void group_abort(struct bench_group *group)
{
	if (!group_alone(group))
		MPI_Abort(MPI_COMM_WORLD, 1);
}

void group_begin(struct bench_group *group)
{
	if (group_alone(group))
		return;
	/* Before the barrier: a message of this test comes only after it. */
	group->stops_due = group->ranks - 1;
	group->told = false;
	MPI_Barrier(MPI_COMM_WORLD);
}

int group_agree(struct bench_group *group, int ret, struct util_err *err)
{
	struct {
		int ret, rank;
	} mine = {ret, (int)group->rank}, worst;
	struct util_err words = *err;

	if (group_alone(group))
		return ret;
	/* The most negative, of the lowest rank. */
	MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
	if (!worst.ret)
		return 0;
	MPI_Bcast(&words, sizeof(words), MPI_BYTE, worst.rank, MPI_COMM_WORLD);
	*err = words;
	return worst.ret;
}

void group_share(struct bench_group *group, void *bytes, size_t len)
{
	if (!group_alone(group))
		MPI_Bcast(bytes, (int)len, MPI_BYTE, 0, MPI_COMM_WORLD);
}

void group_tell_stop(struct bench_group *group)
{
	if (group_alone(group) || group->told)
		return;
	group->told = true;
	for (unsigned i = 0; i < group->ranks; i++) {
		MPI_Request request;

		if (i == group->rank)
			continue;
		/* Nothing is in it that could be overwritten. */
		MPI_Isend(NULL, 0, MPI_BYTE, (int)i, GROUP_TAG_STOP, MPI_COMM_WORLD, &request);
		MPI_Request_free(&request);
	}
}

static bool group_receive(struct bench_group *group)
{
	int there = 0;

	MPI_Iprobe(MPI_ANY_SOURCE, GROUP_TAG_STOP, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
	if (!there)
		return false;
	MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, GROUP_TAG_STOP, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	group->stops_due--;
	return true;
}

bool group_heard_stop(struct bench_group *group)
{
	return !group_alone(group) && group->stops_due && group_receive(group);
}

void group_settle(struct bench_group *group)
{
	if (group_alone(group))
		return;
	group_tell_stop(group);
	while (group->stops_due)
		group_receive(group);
}

static void group_add(const struct bench_group *group, double *values, int count)
{
	MPI_Reduce(group->rank ? values : MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, 0,
		   MPI_COMM_WORLD);
}

static void group_gather_parts(const struct bench_group *group, struct bench_result *r)
{
	const int bytes = (int)(r->children * sizeof(*r->parts));

	MPI_Gather(group->rank ? r->parts : MPI_IN_PLACE, bytes, MPI_BYTE, r->parts, bytes,
		   MPI_BYTE, 0, MPI_COMM_WORLD);
	if (!group->rank)
		r->children *= group->ranks;
}

static void group_gather_latency(const struct bench_group *group, struct util_hist *latency)
{
	struct util_hist *all = group->rank ? NULL : calloc(group->ranks, sizeof(*all));

	if (!group->rank && !all)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Gather(latency, sizeof(*latency), MPI_BYTE, all, sizeof(*latency), MPI_BYTE, 0,
		   MPI_COMM_WORLD);
	for (unsigned i = 1; all && i < group->ranks; i++)
		util_hist_merge(latency, &all[i]);
	free(all);
}

void group_gather(struct bench_group *group, struct bench_result *r, struct util_hist *latency)
{
	double sums[4 + BENCH_LEDGER_FIELDS + BENCH_TRANSPORT_FIELDS], *at = sums + 4, wall;

	if (group_alone(group))
		return;
	sums[0] = (double)r->ops;
	sums[1] = r->cpu.user;
	sums[2] = r->cpu.system;
	sums[3] = r->cpu.server > 0 ? r->cpu.server : 0;
	for (unsigned i = 0; i < BENCH_LEDGER_FIELDS; i++)
		*at++ = (double)r->counters.ledger[i];
	for (unsigned i = 0; i < BENCH_TRANSPORT_FIELDS; i++)
		*at++ = (double)r->counters.transport[i];
	group_add(group, sums, UTIL_ARRAY_SIZE(sums));
	MPI_Reduce(&r->wall_s, &wall, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	group_gather_parts(group, r);
	group_gather_latency(group, latency);
	if (group->rank)
		return;
	r->wall_s = wall;
	r->ops = (uint64_t)sums[0];
	r->cpu.user = sums[1];
	r->cpu.system = sums[2];
	r->cpu.server = r->cpu.server < 0 ? -1 : sums[3];
	at = sums + 4;
	for (unsigned i = 0; i < BENCH_LEDGER_FIELDS; i++)
		r->counters.ledger[i] = (uint64_t)*at++;
	for (unsigned i = 0; i < BENCH_TRANSPORT_FIELDS; i++)
		r->counters.transport[i] = (uint64_t)*at++;
}

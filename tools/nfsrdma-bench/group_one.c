/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_one.c - the group of one, where MPI was left out.
 */
#include <errno.h>

#include "tools/nfsrdma-bench/group.h"

int group_open(struct bench_group *group, bool mpi, struct util_err *err)
{
	*group = (struct bench_group){.ranks = 1, .one_host = true};
	return mpi ? util_err_set(err, -ENOSYS, "--mpi: built without MPI (configure --enable-mpi)")
		   : 0;
}

void group_close(struct bench_group *group)
{
	(void)group;
}

void group_abort(struct bench_group *group)
{
	(void)group;
}

void group_begin(struct bench_group *group)
{
	(void)group;
}

int group_agree(struct bench_group *group, int ret, struct util_err *err)
{
	(void)group;
	(void)err;
	return ret;
}

void group_share(struct bench_group *group, void *bytes, size_t len)
{
	(void)group;
	(void)bytes;
	(void)len;
}

void group_tell_stop(struct bench_group *group)
{
	(void)group;
}

bool group_heard_stop(struct bench_group *group)
{
	(void)group;
	return false;
}

void group_settle(struct bench_group *group)
{
	(void)group;
}

void group_gather(struct bench_group *group, struct bench_result *r, struct util_hist *latency)
{
	(void)group;
	(void)r;
	(void)latency;
}

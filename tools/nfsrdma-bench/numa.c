/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numa.c - on which nodes a test's buffers and threads really were, and whether that is near the
 * device.
 *
 * Found, not assumed: the kernel is asked where the pages of the buffers lie, and each thread where
 * it runs when its clock stops.  What is near is judged for the buffers, since it is their pages
 * that the device reads and writes: on its node they are local.  For a device that has no node of
 * its own (the software RNIC: threads copy), the threads' node takes its place.
 */
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/bench.h"

int bench_node_of(void *addr)
{
	int node;

	if (syscall(SYS_get_mempolicy, &node, NULL, 0L, addr,
		    (unsigned long)(MPOL_F_NODE | MPOL_F_ADDR)))
		return BENCH_NODE_UNKNOWN;
	return node;
}

int bench_node_here(void)
{
	unsigned cpu, node;

	return getcpu(&cpu, &node) ? BENCH_NODE_UNKNOWN : (int)node;
}

int bench_node_fold(int a, int b)
{
	return a == b ? a : BENCH_NODE_SEVERAL;
}

const char *bench_node_name(int node, char *buf, size_t len)
{
	if (node == BENCH_NODE_UNKNOWN)
		return "unknown";
	if (node == BENCH_NODE_SEVERAL)
		return "several";
	snprintf(buf, len, "%d", node);
	return buf;
}

const char *bench_numa_placement(const struct bench_numa *numa)
{
	int home = numa->device >= 0 ? numa->device : numa->threads;

	if (home < 0 || numa->buffers == BENCH_NODE_UNKNOWN)
		return home == BENCH_NODE_SEVERAL ? "mixed" : "unknown";
	if (numa->buffers == BENCH_NODE_SEVERAL)
		return "mixed";
	return numa->buffers == home ? "local" : "remote";
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.c - what a test came to, from its children and two moments.
 *
 * A child's rate is what it moved over its own time, less its think time; the sum of them is what
 * the children see.  The parent sees all they moved over the time from the word "go" until the last
 * was back.  CPU time is the whole process's: the library has no threads of its own but one that is
 * documented, and it belongs to the price.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tools/nfsrdma-bench/group.h"
#include "tools/nfsrdma-bench/measure.h"

static double measure_seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

/* Transport counters are per mount and summed; the ledger is one pool's, whichever mount is asked.
 */
static void measure_counters(const struct run_round *round, struct bench_moment *m)
{
	unsigned mounts = round->run->opts->shared ? 1 : round->count;
	struct bench_counters one;

	memset(&m->counters, 0, sizeof(m->counters));
	m->counted = true;
	for (unsigned i = 0; i < mounts; i++) {
		memset(&one, 0, sizeof(one));
		m->counted &= round->team.client->counters(round->children[i].io, &one);
		if (i)
			memset(one.ledger, 0, sizeof(one.ledger));
		bench_counters_add(&m->counters, &one);
	}
}

void measure_clock(const struct run_round *round, struct bench_moment *m)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	m->ns = util_clock_ns();
	m->cpu.user = measure_seconds(&usage.ru_utime);
	m->cpu.system = measure_seconds(&usage.ru_stime);
	m->cpu.server = round->run->server ? bench_server_cpu_s(round->run->server) : -1;
}

void measure_before(const struct run_round *round, struct bench_moment *m)
{
	measure_counters(round, m);
	measure_clock(round, m);
}

void measure_after(const struct run_round *round, struct bench_moment *m)
{
	measure_clock(round, m);
	measure_counters(round, m);
}

/* What the children had counted when their warm-up was over (of one that did not get there, when it
 * prepared). */
static void measure_warm(const struct run_round *round, struct bench_counters *sum)
{
	unsigned mounts = round->run->opts->shared ? 1 : round->count;

	memset(sum, 0, sizeof(*sum));
	for (unsigned i = 0; i < mounts; i++) {
		struct bench_counters one = round->children[i].warm;

		if (i)
			memset(one.ledger, 0, sizeof(one.ledger));
		bench_counters_add(sum, &one);
	}
}

/* Seconds of the timed part; a child that never ended has none. */
static double measure_child_s(const struct bench_child *child)
{
	double s = (double)(child->end_ns - child->begin_ns - child->think_ns) / 1e9;

	return s > 1e-9 ? s : 1e-9;
}

static void measure_part(const struct run_round *round, const struct bench_child *child,
			 struct bench_part *part)
{
	const struct bench_options *opts = round->run->opts;
	double unit = opts->ops ? 1 : (double)opts->record / BENCH_KB;

	part->xfer = (double)child->finished * unit;
	part->wall_s = child->end_ns ? (double)(child->end_ns - child->begin_ns) / 1e9 : 0;
	part->cpu_s = child->end_ns ? child->cpu_s : 0;
	part->rate = child->end_ns ? part->xfer / measure_child_s(child) : 0;
	part->node_buffers = child->node_buffers;
	part->node_thread = child->node_thread;
}

int measure_result(const struct run_round *round, const struct bench_moment *before,
		   const struct bench_moment *after, struct bench_result *r)
{
	const struct bench_options *opts = round->run->opts;
	struct util_hist *latency = malloc(sizeof(*latency));
	struct bench_counters warm;
	double unit = opts->ops ? 1 : (double)opts->record / BENCH_KB;

	r->parts = calloc((size_t)round->count * round->run->group->ranks, sizeof(*r->parts));
	if (!latency || !r->parts) {
		free(latency);
		free(r->parts);
		r->parts = NULL;
		return -ENOMEM;
	}
	util_hist_init(latency);
	r->test = round->team.test;
	r->children = round->count;
	r->file_size = round->team.file_size;
	r->record = opts->record;
	r->cut = round->run->interrupted || atomic_load(&round->team.failed);
	r->wall_s = (double)(after->ns - before->ns) / 1e9;
	r->cpu.user = after->cpu.user - before->cpu.user;
	r->cpu.system = after->cpu.system - before->cpu.system;
	r->cpu.server = before->cpu.server < 0 ? -1 : after->cpu.server - before->cpu.server;
	r->numa.device =
		round->run->env->mounted ? round->run->env->device.node : BENCH_NODE_UNKNOWN;
	r->counted = before->counted && after->counted;
	r->counters = after->counters;
	warm = before->counters;
	if (opts->warmup_s > 0)
		measure_warm(round, &warm);
	bench_counters_sub(&r->counters, &warm);
	for (unsigned i = 0; i < round->count; i++) {
		measure_part(round, &round->children[i], &r->parts[i]);
		r->ops += round->children[i].finished;
		util_hist_merge(latency, &round->children[i].latency);
	}
	group_gather(round->run->group, r, latency);
	r->bytes = r->ops * opts->record;
	r->parent_rate = r->wall_s > 0 ? (double)r->ops * unit / r->wall_s : 0;
	bench_result_sum(r);
	bench_latency_of(&r->latency, latency);
	free(latency);
	return 0;
}

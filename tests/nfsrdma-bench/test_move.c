/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops that are timed, on a made-up server and a made-up clock: the server takes requests one
 * after the other and the clock moves only when somebody looks at it or waits.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "tools/nfsrdma-bench/child.h"

TestSuite(bench_move);

#define RECORD 4096u
#define MS UINT64_C(1000000)

uint64_t __wrap_util_clock_ns(void);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
			   struct timespec *left);

static uint64_t clock_ns = 1000 * MS;

uint64_t __wrap_util_clock_ns(void)
{
	return clock_ns += 100;
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
			   struct timespec *left)
{
	uint64_t until = (uint64_t)ts->tv_sec * UTIL_NS_PER_S + (uint64_t)ts->tv_nsec;

	(void)clock;
	(void)flags;
	(void)left;
	if (until > clock_ns)
		clock_ns = until;
	return 0;
}

/* ---- the server -------------------------------------------------------------------------------
 */

#define QUEUE 64

struct bench_io {
	struct bench_request queue[QUEUE];
	uint64_t ready_ns[QUEUE];
	unsigned head, queued, most;
	uint64_t free_ns, service_ns, stall_ns;
	unsigned served, stall_at, count_at; /* the number of a request */
	ssize_t answer;			     /* 0: what was asked for */
	struct bench_team *team;
	struct bench_request log[4096];
	unsigned logged;
};

static int fake_submit(struct bench_io *io, const struct bench_request *rq)
{
	unsigned at = (io->head + io->queued++) % QUEUE;

	cr_assert_leq(io->queued, QUEUE);
	if (io->queued > io->most)
		io->most = io->queued;
	if (io->free_ns < clock_ns)
		io->free_ns = clock_ns;
	io->free_ns += io->service_ns;
	if (++io->served == io->stall_at)
		io->free_ns += io->stall_ns;
	if (io->served == io->count_at)
		atomic_store(&io->team->counting, true);
	io->queue[at] = *rq;
	io->ready_ns[at] = io->free_ns;
	io->log[io->logged++ % 4096] = *rq;
	return 0;
}

static int fake_wait(struct bench_io *io, int timeout_ms, struct util_err *err)
{
	uint64_t until = timeout_ms < 0 ? UINT64_MAX : clock_ns + (uint64_t)timeout_ms * MS;
	struct bench_request rq = io->queue[io->head];

	(void)err;
	if (!io->queued || io->ready_ns[io->head] > until) {
		clock_ns = until == UINT64_MAX ? clock_ns : until;
		return 0;
	}
	if (io->ready_ns[io->head] > clock_ns)
		clock_ns = io->ready_ns[io->head];
	io->head = (io->head + 1) % QUEUE;
	io->queued--;
	bench_slot_done(rq.slot, io->answer ? io->answer : (ssize_t)rq.len);
	return 0;
}

static bool fake_counters(struct bench_io *io, struct bench_counters *counters)
{
	counters->transport[BENCH_T_RPCS] = io->served;
	return true;
}

static const struct bench_client_ops fake_client = {
	.submit = fake_submit, .wait = fake_wait, .counters = fake_counters};

/* ---- one child --------------------------------------------------------------------------------
 */

struct stage {
	struct bench_options opts;
	struct bench_team team;
	struct bench_child child;
	struct bench_io io;
	struct bench_slot slots[QUEUE], *idle[QUEUE];
	void *buffers[QUEUE];
};

static struct stage *stage_make(enum bench_test test, uint64_t records, unsigned depth)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct bench_child *child = &s->child;

	s->opts.depth = depth;
	s->opts.record = RECORD;
	s->team.opts = &s->opts;
	s->team.client = &fake_client;
	s->team.test = test;
	atomic_store(&s->team.counting, true);
	s->io.team = &s->team;
	s->io.service_ns = MS / 10;
	child->team = &s->team;
	child->io = &s->io;
	child->write = bench_test_writes(test);
	child->records = child->goal = records;
	child->counting = true;
	child->slots = s->slots;
	child->idle = s->idle;
	child->buffers = s->buffers;
	child->turns = 1;
	child->buffer_len = child_buffer_len(child);
	child->record = calloc(1, RECORD);
	strcpy(child->file, "f");
	for (unsigned i = 0; i < depth; i++) {
		s->slots[i] = (struct bench_slot){.child = child, .index = i};
		s->buffers[i] = calloc(1, child->buffer_len);
	}
	util_hist_init(&child->latency);
	walk_start(&child->walk, bench_test_info[test].order, records, 17, 1, false);
	return s;
}

Test(bench_move, the_plain_loop_keeps_the_depth_and_moves_each_record_once)
{
	struct stage *s = stage_make(BENCH_RANDOM_READ, 1000, 8);
	static unsigned seen[1000];

	child_move(&s->child);
	cr_assert_eq(s->child.failed, 0);
	cr_assert_eq(s->child.finished, 1000);
	cr_assert_eq(s->io.most, 8);
	for (unsigned i = 0; i < 1000; i++)
		seen[s->io.log[i].off / RECORD]++;
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(seen[i], 1);
}

Test(bench_move, the_plain_loop_stops_when_told_and_waits_for_what_is_out)
{
	struct stage *s = stage_make(BENCH_READ, 1000, 4);

	atomic_store(&s->team.stop, true);
	child_move(&s->child);
	cr_assert_eq(s->io.served, 0);
	atomic_store(&s->team.stop, false);
	s->child.goal = 10;
	child_move(&s->child);
	cr_assert_eq(s->child.finished, 10);
	cr_assert_eq(s->child.outstanding, 0);
}

/* The server stands still for 200 ms once.  Without a rate one operation is slow; at a rate all
 * that were due meanwhile are. */
Test(bench_move, a_stall_is_one_slow_operation_without_a_rate)
{
	struct stage *s = stage_make(BENCH_READ, 1000, 1);
	struct bench_latency latency;

	s->io.stall_at = 500;
	s->io.stall_ns = 200 * MS;
	child_move(&s->child);
	bench_latency_of(&latency, &s->child.latency);
	cr_assert_lt(latency.p999, 1000);
	cr_assert_geq(latency.max, 200000);
}

Test(bench_move, at_a_rate_the_wait_of_all_that_were_due_is_counted)
{
	struct stage *s = stage_make(BENCH_READ, 1000, 1);
	struct bench_latency latency;

	s->opts.rate = 1000;
	s->io.stall_at = 500;
	s->io.stall_ns = 200 * MS;
	child_move(&s->child);
	cr_assert_eq(s->child.finished, 1000);
	bench_latency_of(&latency, &s->child.latency);
	/* 222 operations wait, the first for 200 ms, each further one 0.9 ms less. */
	cr_assert_lt(latency.p50, 1000);
	cr_assert(latency.p95 > 140000 && latency.p95 < 170000, "%g", latency.p95);
	cr_assert(latency.p99 > 180000 && latency.p99 < 200000, "%g", latency.p99);
}

Test(bench_move, at_a_rate_operations_start_when_they_are_due)
{
	struct stage *s = stage_make(BENCH_READ, 500, 4);
	uint64_t begin = clock_ns, s_ns;

	s->opts.rate = 2000;
	child_move(&s->child);
	s_ns = clock_ns - begin;
	cr_assert(s_ns > 249 * MS && s_ns < 251 * MS, "%llu", (unsigned long long)s_ns);
}

Test(bench_move, think_time_is_waited_and_taken_off)
{
	struct stage *s = stage_make(BENCH_READ, 100, 1);
	uint64_t begin = clock_ns;

	s->opts.think_ms = 5;
	child_move(&s->child);
	cr_assert_geq(clock_ns - begin, 99 * 5 * MS);
	cr_assert_eq(s->child.think_ns, 99 * 5 * MS);
	cr_assert_lt(clock_ns - begin - s->child.think_ns, 20 * MS);
}

Test(bench_move, what_was_started_in_the_warm_up_does_not_count)
{
	struct stage *s = stage_make(BENCH_READ, 1000, 4);
	uint64_t begin = clock_ns;

	s->child.counting = false;
	s->child.goal = UINT64_MAX;
	atomic_store(&s->team.counting, false);
	s->io.count_at = 300;
	child_move(&s->child);
	cr_assert_eq(s->child.finished, 1000);
	cr_assert_eq(s->child.latency.count, 1000);
	cr_assert_eq(s->io.served, 1300);
	cr_assert_eq(s->child.warm.transport[BENCH_T_RPCS], 300);
	cr_assert_gt(s->child.begin_ns, begin + 20 * MS);
}

Test(bench_move, a_short_read_is_an_error_with_a_hint)
{
	struct stage *s = stage_make(BENCH_READ, 10, 2);

	s->io.answer = 100;
	child_move(&s->child);
	cr_assert_eq(s->child.failed, -EIO);
	cr_assert(strstr(s->child.err.hint, "-i0"));
	cr_assert_eq(s->child.outstanding, 0);
}

Test(bench_move, an_error_ends_the_loop_and_stops_the_team)
{
	struct stage *s = stage_make(BENCH_WRITE, 100, 4);

	s->io.answer = -ENOSPC;
	child_move(&s->child);
	cr_assert_eq(s->child.failed, -ENOSPC);
	cr_assert_eq(s->io.served, 4);
	cr_assert(atomic_load(&s->team.stop));
}

Test(bench_move, a_server_that_was_given_up_is_not_waited_for)
{
	struct stage *s = stage_make(BENCH_READ, 100, 4);

	s->team.why = "the server is gone";
	atomic_store(&s->team.abandon, true);
	child_move(&s->child);
	cr_assert_eq(s->child.failed, -ETIMEDOUT);
	cr_assert(s->child.abandoned);
}

Test(bench_move, verifying_finds_what_was_not_written_and_names_the_place)
{
	struct stage *s = stage_make(BENCH_READ, 4, 1);

	s->opts.verify = BENCH_VERIFY_ALL;
	data_fill(s->buffers[0], RECORD, 0, 0);
	child_move(&s->child);
	/* The made-up server returns the first record's bytes for the second, too. */
	cr_assert_eq(s->child.failed, -EILSEQ);
	cr_assert(strstr(s->child.err.what, "at byte 4096"), "%s", s->child.err.what);
	cr_assert_eq(s->child.finished, 2);
}

Test(bench_move, writes_that_will_be_verified_are_filled_by_place)
{
	struct stage *s = stage_make(BENCH_WRITE, 3, 1);

	s->opts.verify = BENCH_VERIFY_ALL;
	child_move(&s->child);
	cr_assert_eq(data_check(s->buffers[0], RECORD, 0, 2 * RECORD), -1);
}

/* 1000 records of 4 kB are 4000 kB: three whole buffers of a MiB and the rest. */
static void stream_is_whole(enum bench_test test)
{
	struct stage *s = stage_make(test, 1000, 1);
	uint64_t end = 0;

	child_move(&s->child);
	cr_assert_eq(s->child.failed, 0);
	cr_assert_eq(s->child.finished, 1000);
	cr_assert_eq(s->io.logged, 4);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(s->io.log[i].off, end);
		end += s->io.log[i].len;
	}
	cr_assert_eq(end, 1000 * RECORD);
}

Test(bench_move, fwrite_gathers_records_and_flushes_the_rest)
{
	stream_is_whole(BENCH_FWRITE);
}

Test(bench_move, fread_reads_ahead_and_not_beyond_the_file)
{
	stream_is_whole(BENCH_FREAD);
}

Test(bench_move, fread_verifies_each_record)
{
	struct stage *s = stage_make(BENCH_FREAD, 8, 1);

	s->opts.verify = BENCH_VERIFY_ALL;
	data_fill(s->buffers[0], 8 * RECORD, 0, 0);
	child_move(&s->child);
	cr_assert_eq(s->child.failed, 0);
	((char *)s->buffers[0])[5 * RECORD + 17] ^= 1;
	s->child.next = 0;
	child_move(&s->child);
	cr_assert(strstr(s->child.err.what, "at byte 20496"), "%s", s->child.err.what);
}

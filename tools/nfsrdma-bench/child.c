/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child.c - what a child does on command.
 *
 * Stone-walling as iozone does it: the first child to finish stops all others, who stop submitting
 * and wait for what is out.  Each child's rate is what it moved over its own time.  After the first
 * write a stopped child completes its file when the clock has stopped: the tests that follow need
 * all of it.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/child.h"

static int child_file_close(struct bench_child *child)
{
	child->file_open = false;
	return child->team->client->file_close(child->io, &child->err);
}

static double child_cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* -d: the children start one after the other. */
static void child_delay(const struct bench_child *child)
{
	uint64_t ms = (uint64_t)child->team->opts->delay_ms * (child->number - child->team->first);
	struct timespec ts = {.tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(ms % 1000 * UTIL_NS_PER_MS)};

	if (ms)
		nanosleep(&ts, NULL);
}

static void child_run(struct bench_child *child)
{
	struct bench_team *team = child->team;
	const struct bench_options *opts = team->opts;
	int ret = 0;

	if (child->failed)
		return;
	child_delay(child);
	child->cpu_s = child_cpu_s();
	child->begin_ns = util_clock_ns();
	child_move(child);
	if (child->next >= child->goal && !child->failed) {
		atomic_store(&team->finished, true);
		if (!opts->no_stonewall)
			atomic_store(&team->stop, true);
	}
	if (opts->fsync_timed && child->write && !child->failed)
		ret = team->client->file_sync(child->io, &child->err);
	if (!ret && opts->close_timed && !child->failed)
		ret = child_file_close(child);
	child->end_ns = util_clock_ns();
	child->cpu_s = child_cpu_s() - child->cpu_s;
	child->node_thread = bench_node_here();
	if (ret)
		child_fail(child, ret);
}

/* ---- before and after --------------------------------------------------------------------------
 */

/* Neither zeros nor a page that repeats: no layer may find a short cut. */
static void child_fill(struct bench_child *child, void *buf, size_t len, unsigned salt)
{
	uint64_t *word = buf, x = child->number * 1000003u + salt + 1;

	if (child->team->opts->verify == BENCH_VERIFY_PATTERN) {
		memset(buf, child->team->opts->pattern, len);
		return;
	}
	for (size_t j = 0; j < len / sizeof(*word); j++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		word[j] = x;
	}
}

/* In the mix each child either reads or writes; iozone alternates, or takes -+p's share. */
static bool child_mix_reads(const struct bench_child *child)
{
	unsigned percent = child->team->opts->mix_reads;

	if (!percent)
		return child->number % 2 == 0;
	return child->number < (child->team->count * percent + 50) / 100;
}

static void child_direction(struct bench_child *child)
{
	const struct bench_options *opts = child->team->opts;
	const struct bench_test_info *info = &bench_test_info[child->team->test];
	enum bench_order order = info->order;
	bool jitter = opts->jitter && !info->writes;

	child->write = info->writes;
	if (child->team->test == BENCH_MIXED) {
		child->write = !child_mix_reads(child);
		if (opts->mix_sequential)
			order = BENCH_FORWARD;
	}
	child->records = child->team->file_size / opts->record;
	walk_start(&child->walk, order, child->records, opts->stride,
		   child->number * 64 + (uint64_t)child->team->test, jitter);
}

static bool child_makes_file(const struct bench_child *child)
{
	const struct bench_test_info *info = &bench_test_info[child->team->test];

	return info->writes && !info->retest && info->order == BENCH_FORWARD;
}

static void child_reset(struct bench_child *child)
{
	const struct bench_options *opts = child->team->opts;

	child_direction(child);
	child->next = child->finished = 0;
	atomic_store(&child->progress, 0);
	child->counting = opts->warmup_s <= 0;
	child->goal = opts->warmup_s > 0 || opts->duration_s > 0 ? UINT64_MAX : child->records;
	child->untimed = false;
	child->begin_ns = child->end_ns = child->think_ns = 0;
	util_hist_init(&child->latency);
	memset(&child->warm, 0, sizeof(child->warm));
	child->team->client->counters(child->io, &child->warm);
	child->turns = child_buffer_count(child) / opts->depth;
	child->buffer_len = child_buffer_len(child);
}

/* Buffers, and for -Q the room for a line per record. */
static int child_memory(struct bench_child *child)
{
	const struct bench_options *opts = child->team->opts;
	unsigned count = child_buffer_count(child);
	int ret = child->team->client->buffers_get(child->io, count, child->buffer_len,
						   child->write, child->buffers, &child->err);

	if (ret)
		return ret;
	child->have_buffers = true;
	child->record = malloc(opts->record);
	if (opts->latency_files)
		child->log = calloc(child->records, sizeof(*child->log));
	if (!child->record || (opts->latency_files && !child->log))
		return util_err_set(&child->err, -ENOMEM, "no memory for child %u", child->number);
	child_fill(child, child->record, opts->record, 0);
	for (unsigned i = 0; i < count && child->write; i++)
		child_fill(child, child->buffers[i], child->buffer_len, i);
	child->node_buffers = bench_node_of(child->buffers[0]);
	for (unsigned i = 1; i < count; i++)
		child->node_buffers =
			bench_node_fold(child->node_buffers, bench_node_of(child->buffers[i]));
	return 0;
}

static void child_prepare(struct bench_child *child)
{
	const struct bench_client_ops *client = child->team->client;
	enum bench_open how;

	child_reset(child);
	how = !child->write		? BENCH_OPEN_READ
	      : child_makes_file(child) ? BENCH_OPEN_CREATE
					: BENCH_OPEN_WRITE;
	child->failed = child_memory(child);
	if (child->failed)
		return;
	child->failed = client->file_open(child->io, child->file, how, &child->err);
	if (child->failed == -ENOENT && how != BENCH_OPEN_CREATE)
		util_err_hint(&child->err,
			      "no file to work on: write one first with -i0 (-w keeps it)");
	child->file_open = !child->failed;
}

/* Only after a timed part that went well.  With -c it has closed the file already. */
static void child_complete(struct bench_child *child)
{
	if (!child_makes_file(child) || child->next >= child->records)
		return;
	if (child->failed || !child->end_ns || atomic_load(&child->team->failed))
		return;
	if (!child->file_open)
		child->failed = child->team->client->file_open(child->io, child->file,
							       BENCH_OPEN_WRITE, &child->err);
	if (child->failed)
		return;
	child->file_open = true;
	child->untimed = true;
	child->goal = child->records;
	child_move(child);
}

/* -Q's files are in the folder the bench was started in, named as iozone names them. */
static void child_log_write(struct bench_child *child)
{
	bool alone = !child->team->opts->throughput;
	char name[64], stem[16];
	FILE *f;

	snprintf(stem, sizeof(stem), "%s%s",
		 bench_test_info[child->team->test].retest		    ? "r"
		 : bench_test_info[child->team->test].order == BENCH_RANDOM ? "ran_"
									    : "",
		 child->write ? "wol" : "rol");
	if (alone)
		snprintf(name, sizeof(name), "%s.dat", stem);
	else
		snprintf(name, sizeof(name), "Child_%u_%s.dat", child->number, stem);
	f = fopen(name, "we");
	if (!f) {
		child->failed =
			util_err_set(&child->err, -errno, "write %s: %s", name, strerror(errno));
		return;
	}
	fputs("Offset in kBytes   Latency in microseconds  Transfer size in bytes\n", f);
	for (uint64_t i = 0; i < child->finished; i++)
		fprintf(f, "%10llu %10.0f %10llu\n", (unsigned long long)(child->log[i].off / 1024),
			(double)child->log[i].ns / 1e3,
			(unsigned long long)child->team->opts->record);
	if (fclose(f))
		child->failed =
			util_err_set(&child->err, -errno, "write %s: %s", name, strerror(errno));
}

static void child_finish(struct bench_child *child)
{
	int ret = 0;

	child_complete(child);
	/* What is still out there ends when the mount does. */
	if (child->file_open && !child->abandoned)
		ret = child_file_close(child);
	/* Only now: until the close, unstable writes may have to be sent again from them. */
	if (child->have_buffers && !child->abandoned)
		child->team->client->buffers_put(child->io);
	child->have_buffers = false;
	if (child->log && !child->failed)
		child_log_write(child);
	free(child->log);
	free(child->record);
	child->log = NULL;
	child->record = NULL;
	if (ret && !child->failed)
		child_fail(child, ret);
}

static void child_open(struct bench_child *child)
{
	child->failed = child->team->client->io_open(&child->io, child->team->site, &child->err);
}

/* A file that was never made is no reason to complain. */
static void child_remove(struct bench_child *child)
{
	if (child->io && !child->abandoned)
		child->team->client->file_remove(child->io, child->file, NULL);
}

static void child_close(struct bench_child *child)
{
	if (child->io)
		child->team->client->io_close(child->io);
	child->io = NULL;
}

static void child_obey(struct bench_child *child, enum team_command command)
{
	static void (*const commands[])(struct bench_child *) = {
		[TEAM_OPEN] = child_open,     [TEAM_PREPARE] = child_prepare,
		[TEAM_RUN] = child_run,	      [TEAM_FINISH] = child_finish,
		[TEAM_REMOVE] = child_remove, [TEAM_CLOSE] = child_close,
	};

	commands[command](child);
}

/* -P: best effort, as in iozone. */
static void child_bind(const struct bench_child *child)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	if (child->team->opts->bind < 0 || cpus < 1)
		return;
	CPU_ZERO(&set);
	CPU_SET(((unsigned)child->team->opts->bind + child->number) % (unsigned)cpus, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *child_main(void *arg)
{
	struct bench_child *child = arg;
	struct bench_team *team = child->team;
	enum team_command command;
	unsigned step = 0;

	child_bind(child);
	do {
		pthread_mutex_lock(&team->lock);
		while (team->step == step)
			pthread_cond_wait(&team->go, &team->lock);
		step = team->step;
		command = team->command;
		pthread_mutex_unlock(&team->lock);
		child_obey(child, command);
		eventfd_write(team->report_fd, 1);
	} while (command != TEAM_CLOSE);
	return NULL;
}

/* ---- life --------------------------------------------------------------------------------------
 */

static void child_name_file(struct bench_child *child)
{
	const struct bench_options *opts = child->team->opts;

	child->file_number = opts->one_file ? 0 : child->number;
	if (opts->file_names)
		snprintf(child->file, sizeof(child->file), "%s",
			 opts->file_names[child->file_number % opts->children_max]);
	else if (opts->file)
		snprintf(child->file, sizeof(child->file), "%s", opts->file);
	else
		snprintf(child->file, sizeof(child->file), "iozone.DUMMY.%u", child->file_number);
}

static void child_free(struct bench_child *child)
{
	free(child->slots);
	free(child->idle);
	free(child->buffers);
}

int child_create(struct bench_child *child, struct bench_team *team, unsigned number,
		 struct util_err *err)
{
	unsigned depth = team->opts->depth;
	int ret = ENOMEM;

	memset(child, 0, sizeof(*child));
	child->team = team;
	child->number = number;
	util_ticker_init(&child->ticker, UTIL_TICKER_AUTO);
	child_name_file(child);
	child->slots = calloc(depth, sizeof(*child->slots));
	child->idle = calloc(depth, sizeof(struct bench_slot *));
	/* As many as child_buffer_count() may ask for. */
	child->buffers = calloc((size_t)depth * 8, sizeof(void *));
	if (!child->slots || !child->idle || !child->buffers)
		goto err_free;
	for (unsigned i = 0; i < depth; i++)
		child->slots[i] = (struct bench_slot){.child = child, .index = i};
	ret = pthread_create(&child->thread, NULL, child_main, child);
	if (ret)
		goto err_free;
	return 0;

err_free:
	child_free(child);
	return util_err_set(err, -ret, "start child %u: %s", number, strerror(ret));
}

void child_destroy(struct bench_child *child)
{
	pthread_join(child->thread, NULL);
	child_free(child);
}

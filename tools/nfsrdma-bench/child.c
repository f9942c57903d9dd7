/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child.c - what a child does on command, and the loop that is timed.
 *
 * The loop keeps depth records outstanding: a completion submits the next one itself, so that a
 * client that gathers submissions sends them together.  Nothing is allocated or printed between
 * the first record and the last; slots, buffers and histogram are there before the clock starts.
 *
 * Stone-walling as iozone does it: the first child to finish stops all others, who stop submitting
 * and wait for what is out.  Each child's rate is what it moved over its own time.  After the first
 * write a stopped child completes its file when the clock has stopped: the tests that follow need
 * all of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/child.h"

static void child_fail(struct bench_child *child, int code)
{
	if (!child->failed)
		child->failed = code;
	if (!child->err.code)
		util_err_set(&child->err, code, "%s %s: %s", child->write ? "write" : "read",
			     child->file, strerror(-code));
	atomic_store(&child->team->failed, true);
	atomic_store(&child->team->stop, true);
}

/* ---- the timed part ----------------------------------------------------------------------------
 */

static void child_submit(struct bench_child *child, struct bench_slot *slot)
{
	struct bench_team *team = child->team;
	uint64_t off = child->next * team->opts->record;
	int ret;

	slot->start_ns = util_clock_ns();
	child->next++;
	child->outstanding++;
	ret = team->client->submit(child->io, slot, slot->index, child->write, off);
	if (ret) {
		child->outstanding--;
		child_fail(child, ret);
	}
}

static bool child_goes_on(const struct bench_child *child)
{
	const _Atomic bool *stop = child->untimed ? &child->team->interrupted : &child->team->stop;

	return child->next < child->records && !child->failed &&
	       !atomic_load_explicit(stop, memory_order_relaxed);
}

void bench_slot_done(struct bench_slot *slot, ssize_t n)
{
	struct bench_child *child = slot->child;

	child->outstanding--;
	if (!child->untimed)
		util_hist_add(&child->latency, util_clock_ns() - slot->start_ns);
	if (n < 0) {
		child_fail(child, (int)n);
		return;
	}
	if ((uint64_t)n != child->team->opts->record) {
		util_err_set(&child->err, -EIO, "%s %s: %zd bytes of %llu",
			     child->write ? "write" : "read", child->file, n,
			     (unsigned long long)child->team->opts->record);
		util_err_hint(&child->err, "%s",
			      child->write ? ""
					   : "is the file as long as -s says? write it with -i0");
		child_fail(child, -EIO);
		return;
	}
	child->finished += !child->untimed;
	if (child_goes_on(child))
		child_submit(child, slot);
}

static void child_move(struct bench_child *child)
{
	const struct bench_client_ops *client = child->team->client;

	for (unsigned i = 0; i < child->team->opts->depth && child_goes_on(child); i++)
		child_submit(child, &child->slots[i]);
	while (child->outstanding) {
		int ret = client->wait(child->io, &child->err);

		if (ret) {
			child_fail(child, ret);
			return;
		}
	}
}

static int child_file_close(struct bench_child *child)
{
	child->file_open = false;
	return child->team->client->file_close(child->io, &child->err);
}

static void child_run(struct bench_child *child)
{
	const struct bench_options *opts = child->team->opts;
	int ret = 0;

	if (child->failed)
		return;
	child->begin_ns = util_clock_ns();
	child_move(child);
	if (child->finished == child->records && !opts->no_stonewall)
		atomic_store(&child->team->stop, true);
	if (opts->fsync_timed && child->write && !child->failed)
		ret = child->team->client->file_sync(child->io, &child->err);
	if (!ret && opts->close_timed && !child->failed)
		ret = child_file_close(child);
	child->end_ns = util_clock_ns();
	if (ret)
		child_fail(child, ret);
}

/* ---- before and after --------------------------------------------------------------------------
 */

/* Neither zeros nor a page that repeats: no layer may find a short cut. */
static void child_fill(struct bench_child *child)
{
	size_t words = child->team->opts->record / sizeof(uint64_t);

	for (unsigned i = 0; i < child->team->opts->depth; i++) {
		uint64_t *word = child->buffers[i], x = child->number * 1000003u + i + 1;

		for (size_t j = 0; j < words; j++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			word[j] = x;
		}
	}
}

static void child_prepare(struct bench_child *child)
{
	const struct bench_client_ops *client = child->team->client;
	enum bench_test test = child->team->test;
	enum bench_open how = test == BENCH_WRITE	? BENCH_OPEN_CREATE
			      : bench_test_writes(test) ? BENCH_OPEN_WRITE
							: BENCH_OPEN_READ;

	child->write = bench_test_writes(test);
	child->records = child->team->opts->file_size / child->team->opts->record;
	child->next = child->finished = 0;
	child->untimed = false;
	child->begin_ns = child->end_ns = 0;
	util_hist_init(&child->latency);
	child->failed = client->buffers_get(child->io, child->write, child->buffers, &child->err);
	if (child->failed)
		return;
	child->have_buffers = true;
	if (child->write)
		child_fill(child);
	child->failed = client->file_open(child->io, child->file, how, &child->err);
	if (child->failed == -ENOENT && !child->write)
		util_err_hint(&child->err,
			      "no file to read: write one first with -i0 (-w keeps it)");
	child->file_open = !child->failed;
}

/* Only after a timed part that went well.  With -c it has closed the file already. */
static void child_complete(struct bench_child *child)
{
	if (child->team->test != BENCH_WRITE || child->next == child->records)
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
	child_move(child);
}

static void child_finish(struct bench_child *child)
{
	int ret = 0;

	child_complete(child);
	if (child->file_open)
		ret = child_file_close(child);
	/* Only now: until the close, unstable writes may have to be sent again from them. */
	if (child->have_buffers)
		child->team->client->buffers_put(child->io);
	child->have_buffers = false;
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
	if (child->io)
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

static void *child_main(void *arg)
{
	struct bench_child *child = arg;
	struct bench_team *team = child->team;
	enum team_command command;
	unsigned step = 0;

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

int child_create(struct bench_child *child, struct bench_team *team, unsigned number,
		 struct util_err *err)
{
	unsigned depth = team->opts->depth;
	int ret;

	memset(child, 0, sizeof(*child));
	child->team = team;
	child->number = number;
	snprintf(child->file, sizeof(child->file), "iozone.DUMMY.%u", number);
	child->slots = calloc(depth, sizeof(*child->slots));
	child->buffers = calloc(depth, sizeof(*child->buffers));
	if (!child->slots || !child->buffers) {
		ret = ENOMEM;
		goto err_free;
	}
	for (unsigned i = 0; i < depth; i++)
		child->slots[i] = (struct bench_slot){.child = child, .index = i};
	ret = pthread_create(&child->thread, NULL, child_main, child);
	if (ret)
		goto err_free;
	return 0;

err_free:
	free(child->slots);
	free(child->buffers);
	return util_err_set(err, -ret, "start child %u: %s", number, strerror(ret));
}

void child_destroy(struct bench_child *child)
{
	pthread_join(child->thread, NULL);
	free(child->slots);
	free(child->buffers);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * move.c - the loops that are timed.
 *
 * The plain loop keeps depth records outstanding: a completion submits the next one itself, so that
 * a client that gathers submissions sends them together.  Nothing is allocated or printed between
 * the first record and the last; slots, buffers and histogram are there before the clock starts.
 *
 * With a rate (-+O) a record is due at a fixed time, whether or not the one before is back, and its
 * latency counts from when it was due: what waits for a slow server in a queue of ours is not left
 * out (coordinated omission).  With think time (-J) a record is due that long after one came back.
 *
 * fwrite and fread gather small records in one large buffer, as stdio does, with one copy from or
 * to the user's memory; pwritev and preadv hand each record over in pieces.  Both are synchronous.
 *
 * Verifying looks at every byte when a read has come back.  Its time is not latency, but it is the
 * child's time.
 */
#include <errno.h>
#include <time.h>

#include "tools/nfsrdma-bench/child.h"

/* What stdio would call its buffer; a record beyond it is moved by itself. */
#define MOVE_STREAM_BYTES (UINT64_C(1) << 20)
/* -i 11 and 12: pieces of a record, none below a page (O_DIRECT). */
#define MOVE_PIECES 16
#define MOVE_PIECE UINT64_C(4096)
/* -m: that many buffers per slot, within iozone's work area. */
#define MOVE_TURNS 8
#define MOVE_WORK_AREA (UINT64_C(16) << 20)

void child_fail(struct bench_child *child, int code)
{
	if (!child->failed)
		child->failed = code;
	if (!child->err.code)
		util_err_set(&child->err, code, "%s %s: %s", child->write ? "write" : "read",
			     child->file, strerror(-code));
	atomic_store(&child->team->failed, true);
	atomic_store(&child->team->stop, true);
}

unsigned child_buffer_count(const struct bench_child *child)
{
	const struct bench_options *opts = child->team->opts;
	uint64_t turns = MOVE_WORK_AREA / (opts->depth * opts->record);

	if (bench_test_info[child->team->test].how != BENCH_RECORDS)
		return 1;
	if (!opts->multi_buffer || turns < 1)
		return opts->depth;
	return opts->depth * (unsigned)(turns < MOVE_TURNS ? turns : MOVE_TURNS);
}

size_t child_buffer_len(const struct bench_child *child)
{
	uint64_t record = child->team->opts->record;

	if (bench_test_info[child->team->test].how != BENCH_STREAM || record > MOVE_STREAM_BYTES)
		return record;
	return MOVE_STREAM_BYTES - MOVE_STREAM_BYTES % record;
}

/* ---- one record -------------------------------------------------------------------------------
 */

static bool move_goes_on(const struct bench_child *child)
{
	const _Atomic bool *stop = child->untimed ? &child->team->interrupted : &child->team->stop;

	return child->next < child->goal && !child->failed &&
	       !atomic_load_explicit(stop, memory_order_relaxed);
}

/* The warm-up is over: from here on everything counts, and the clock starts now.  The counters are
 * read here, because a mount is its thread's. */
static void move_count(struct bench_child *child, uint64_t now)
{
	const struct bench_options *opts = child->team->opts;

	child->team->client->counters(child->io, &child->warm);
	child->counting = true;
	child->begin_ns = now;
	child->think_ns = 0;
	child->goal = opts->duration_s > 0 ? UINT64_MAX : child->next + child->records;
}

/* The next record into slot: its place in the file, its buffer, and when it began. */
static void move_start(struct bench_child *child, struct bench_slot *slot, uint64_t now)
{
	const struct bench_options *opts = child->team->opts;

	if (!child->counting && atomic_load_explicit(&child->team->counting, memory_order_relaxed))
		move_count(child, now);
	slot->off = walk_step(&child->walk, child->next++) * opts->record;
	slot->counted = child->counting && !child->untimed;
	slot->start_ns = now;
	slot->buffer = slot->index;
	if (child->turns > 1) {
		slot->turn = (slot->turn + 1) % child->turns;
		slot->buffer += slot->turn * opts->depth;
	}
}

static void move_fill(const struct bench_child *child, const struct bench_slot *slot, void *buf)
{
	if (child->write && child->team->opts->verify == BENCH_VERIFY_ALL)
		data_fill(buf, child->team->opts->record, child->file_number, slot->off);
}

static void move_submit(struct bench_child *child, struct bench_slot *slot, uint64_t now)
{
	struct bench_request rq = {.slot = slot, .write = child->write};
	int ret;

	move_start(child, slot, now);
	rq.buffer = slot->buffer;
	rq.off = slot->off;
	rq.len = child->team->opts->record;
	move_fill(child, slot, child->buffers[slot->buffer]);
	child->outstanding++;
	ret = child->team->client->submit(child->io, &rq);
	if (ret) {
		child->outstanding--;
		child_fail(child, ret);
	}
}

static void move_verify(struct bench_child *child, const struct bench_slot *slot, const void *buf)
{
	const struct bench_options *opts = child->team->opts;
	int64_t bad;

	if (opts->verify == BENCH_VERIFY_PATTERN)
		bad = data_check_pattern(buf, opts->record, opts->pattern);
	else
		bad = data_check(buf, opts->record, child->file_number, slot->off);
	if (bad < 0)
		return;
	util_err_set(&child->err, -EILSEQ, "verify %s: not what was written at byte %llu",
		     child->file, (unsigned long long)(slot->off + (uint64_t)bad));
	util_err_hint(&child->err, "record of %llu bytes at %llu", (unsigned long long)opts->record,
		      (unsigned long long)slot->off);
	child_fail(child, -EILSEQ);
}

static void move_short(struct bench_child *child, ssize_t n, size_t len)
{
	util_err_set(&child->err, -EIO, "%s %s: %zd bytes of %zu", child->write ? "write" : "read",
		     child->file, n, len);
	util_err_hint(&child->err, "%s",
		      child->write ? "" : "is the file as long as -s says? write it with -i0");
	child_fail(child, -EIO);
}

/* A record is where it should be: count it. */
static void move_counted(struct bench_child *child, struct bench_slot *slot, uint64_t now)
{
	if (!slot->counted)
		return;
	util_hist_add(&child->latency, now - slot->start_ns);
	if (child->log)
		child->log[child->finished] =
			(struct bench_log_entry){.off = slot->off, .ns = now - slot->start_ns};
	child->finished++;
	atomic_store_explicit(&child->progress, child->finished, memory_order_relaxed);
}

void bench_slot_done(struct bench_slot *slot, ssize_t n)
{
	struct bench_child *child = slot->child;
	const struct bench_options *opts = child->team->opts;
	uint64_t now = util_ticker_ns(&child->ticker);

	child->outstanding--;
	if (n < 0) {
		child_fail(child, (int)n);
		return;
	}
	if (bench_test_info[child->team->test].how == BENCH_STREAM) {
		child->moved = (size_t)n;
		return;
	}
	if ((uint64_t)n != opts->record) {
		move_short(child, n, opts->record);
		return;
	}
	move_counted(child, slot, now);
	if (opts->verify && !child->write) {
		move_verify(child, slot, child->buffers[slot->buffer]);
		now = util_ticker_ns(&child->ticker);
	}
	if (!child->chained) {
		child->idle[child->nidle++] = slot;
		if (opts->think_ms)
			child->due_ns = now + opts->think_ms * UTIL_NS_PER_MS;
	} else if (move_goes_on(child)) {
		move_submit(child, slot, now);
	}
}

/* ---- loops ------------------------------------------------------------------------------------
 */

/* false: nothing more is to be had. */
static bool move_wait(struct bench_child *child, int timeout_ms)
{
	int ret = child->team->client->wait(child->io, timeout_ms, &child->err);

	if (!ret && atomic_load_explicit(&child->team->abandon, memory_order_relaxed)) {
		util_err_set(&child->err, -ETIMEDOUT, "%s %s: %s", child->write ? "write" : "read",
			     child->file, child->team->why);
		ret = -ETIMEDOUT;
	}
	if (!ret)
		return true;
	child_fail(child, ret);
	child->abandoned = child->outstanding > 0;
	return false;
}

static void move_chained(struct bench_child *child)
{
	for (unsigned i = 0; i < child->team->opts->depth && move_goes_on(child); i++)
		move_submit(child, &child->slots[i], util_ticker_ns(&child->ticker));
	while (child->outstanding)
		if (!move_wait(child, -1))
			return;
}

static void move_sleep_until(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / UTIL_NS_PER_S),
			      .tv_nsec = (long)(ns % UTIL_NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		continue;
}

/* How long to wait for completions; what is due within a millisecond is waited for awake, because
 * a nap would make completions look late. */
static int move_patience_ms(const struct bench_child *child, uint64_t now)
{
	if (!child->nidle || !move_goes_on(child))
		return -1;
	return child->due_ns > now ? (int)((child->due_ns - now) / UTIL_NS_PER_MS) : 0;
}

static void move_paced(struct bench_child *child)
{
	const struct bench_options *opts = child->team->opts;
	uint64_t interval = opts->rate ? UTIL_NS_PER_S / opts->rate : 0;

	child->due_ns = util_ticker_ns(&child->ticker);
	for (child->nidle = 0; child->nidle < opts->depth; child->nidle++)
		child->idle[child->nidle] = &child->slots[child->nidle];
	while (child->outstanding || move_goes_on(child)) {
		uint64_t now = util_ticker_ns(&child->ticker);

		if (child->nidle && move_goes_on(child) && now >= child->due_ns) {
			struct bench_slot *slot = child->idle[--child->nidle];

			child->think_ns += opts->think_timed || !child->next
						   ? 0
						   : opts->think_ms * UTIL_NS_PER_MS;
			move_submit(child, slot, interval ? child->due_ns : now);
			child->due_ns += interval;
		} else if (child->outstanding) {
			if (!move_wait(child, move_patience_ms(child, now)))
				return;
		} else {
			move_sleep_until(child->due_ns);
		}
	}
}

static void move_vectors(struct bench_child *child)
{
	const struct bench_client_ops *client = child->team->client;
	struct bench_slot *slot = &child->slots[0];
	struct bench_request rq = {.slot = slot, .write = child->write};
	uint64_t pieces = child->team->opts->record / MOVE_PIECE;

	rq.len = child->team->opts->record;
	while (pieces > MOVE_PIECES || (pieces > 1 && rq.len % pieces))
		pieces--;
	while (move_goes_on(child)) {
		move_start(child, slot, util_ticker_ns(&child->ticker));
		rq.off = slot->off;
		move_fill(child, slot, child->buffers[0]);
		child->outstanding++;
		child->nidle = 0;
		bench_slot_done(slot,
				client->vector(child->io, &rq, pieces ? (unsigned)pieces : 1));
	}
}

/* ---- streams: fwrite and fread ----------------------------------------------------------------
 */

/* Move len bytes between the buffer and the file. */
static bool stream_transfer(struct bench_child *child, uint64_t off, size_t len)
{
	struct bench_request rq = {
		.slot = &child->slots[0], .write = child->write, .len = len, .off = off};
	int ret;

	if (!len)
		return true;
	child->outstanding++;
	ret = child->team->client->submit(child->io, &rq);
	if (ret) {
		child->outstanding--;
		child_fail(child, ret);
	}
	while (child->outstanding)
		if (!move_wait(child, -1))
			return false;
	if (!child->failed && child->moved != len)
		move_short(child, (ssize_t)child->moved, len);
	return !child->failed;
}

static void stream_write(struct bench_child *child)
{
	size_t record = child->team->opts->record, have = 0;
	uint64_t start = child->next % child->records * record;
	struct bench_slot *slot = &child->slots[0];
	char *buf = child->buffers[0];

	while (move_goes_on(child)) {
		move_start(child, slot, util_ticker_ns(&child->ticker));
		if (slot->off != start + have) { /* a new pass over the file */
			if (!stream_transfer(child, start, have))
				return;
			start = slot->off;
			have = 0;
		}
		move_fill(child, slot, child->record);
		memcpy(buf + have, child->record, record);
		have += record;
		if (have == child->buffer_len) {
			if (!stream_transfer(child, start, have))
				return;
			start += have;
			have = 0;
		}
		move_counted(child, slot, util_ticker_ns(&child->ticker));
	}
	if (!child->failed)
		stream_transfer(child, start, have);
}

static void stream_read(struct bench_child *child)
{
	size_t record = child->team->opts->record, have = 0;
	uint64_t start = UINT64_MAX, end = child->records * record;
	struct bench_slot *slot = &child->slots[0];

	while (move_goes_on(child)) {
		move_start(child, slot, util_ticker_ns(&child->ticker));
		if (slot->off < start || slot->off - start >= have) {
			start = slot->off;
			have = end - start < child->buffer_len ? end - start : child->buffer_len;
			if (!stream_transfer(child, start, have))
				return;
		}
		memcpy(child->record, (char *)child->buffers[0] + (slot->off - start), record);
		move_counted(child, slot, util_ticker_ns(&child->ticker));
		if (child->team->opts->verify)
			move_verify(child, slot, child->record);
	}
}

void child_move(struct bench_child *child)
{
	const struct bench_options *opts = child->team->opts;

	child->chained = false;
	switch (bench_test_info[child->team->test].how) {
	case BENCH_STREAM:
		if (child->write)
			stream_write(child);
		else
			stream_read(child);
		return;
	case BENCH_VECTOR:
		move_vectors(child);
		return;
	case BENCH_RECORDS:
		break;
	}
	child->chained = child->untimed || (!opts->rate && !opts->think_ms);
	if (child->chained)
		move_chained(child);
	else
		move_paced(child);
}

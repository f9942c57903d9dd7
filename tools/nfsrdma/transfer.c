/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer.c - the pipeline behind cp, cat and write.
 *
 * Normal operation.  The file is cut into pieces.  A slot carries one piece: read it (all of it, or
 * up to the file's end), then write it, then take the next.  With several slots, reads and writes
 * of different pieces run side by side, and the buffers of the slots are the mount's registered
 * memory: a local file is read right into what the server will fetch, and the other way round.
 * Between two servers, whose pools never mix, a slot has two buffers and one copy.
 *
 * The end.  The source is read to its end, not to the size it had: past that size one piece at a
 * time is asked for.  A read that returns nothing marks the end; what slots beyond it still bring
 * is dropped.
 *
 * Streams.  A stream as source is read by one slot at a time; as destination it is written piece by
 * piece, in order: slots whose turn has not come wait with their data.
 *
 * Durable.  When the source cannot be read again and the server may lose what it has not committed,
 * slots keep their buffers after the write.  When none is left, one fsync makes them all safe; had
 * the server restarted meanwhile, the library writes them again out of those buffers.
 *
 * Failure.  The first error stops new work and is kept; what is in flight is waited for, since
 * buffers belong to hardware or peer until then.
 */
#include "transfer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "local_io.h"

#define SLOTS 8
#define PIECE_MIN ((size_t)64 << 10)
#define PIECE_MAX ((size_t)1 << 20)
/* Progress is drawn, and an interrupt noticed, at least this often. */
#define WAKE_MS 200

enum slot_state { SLOT_FREE, SLOT_READING, SLOT_READ, SLOT_WRITING, SLOT_HELD };

struct slot {
	struct transfer *transfer;
	enum slot_state state;
	struct nfsrdma_buf *src_buf, *dst_buf; /* the same when one serves both */
	uint64_t off;			       /* of the piece, from the beginning of the job */
	uint64_t seq;
	size_t len, done; /* bytes read; bytes written */
	struct local_req req;
};

struct transfer {
	struct cli *cli;
	struct local_io *io;
	struct slot slot[SLOTS];
	unsigned nslots;  /* those that got their buffers */
	bool slots_final; /* memory is short: no more */
	size_t piece;
	struct nfsrdma *src_mount, *dst_mount; /* whom the buffers are for */
	/* the running job */
	struct transfer_job *job;
	int err;
	uint64_t next_off, next_seq, write_seq, end;
	unsigned reading, writing, held;
	bool syncing, cancelled;
};

int transfer_create(struct transfer **transferp, struct cli *cli)
{
	struct transfer *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->cli = cli;
	for (unsigned i = 0; i < SLOTS; i++)
		t->slot[i].transfer = t;
	err = local_io_create(&t->io, SLOTS * 2);
	if (err) {
		free(t);
		return err;
	}
	*transferp = t;
	return 0;
}

static void slots_release(struct transfer *t)
{
	for (unsigned i = 0; i < t->nslots; i++) {
		struct slot *s = &t->slot[i];

		if (s->dst_buf != s->src_buf)
			nfsrdma_buf_put(s->dst_buf);
		nfsrdma_buf_put(s->src_buf);
		s->src_buf = s->dst_buf = NULL;
	}
	t->nslots = 0;
	t->slots_final = false;
}

void transfer_destroy(struct transfer *t)
{
	if (!t)
		return;
	slots_release(t);
	local_io_destroy(t->io);
	free(t);
}

/* ---- failure ---- */

static void fail_with(struct transfer *t, int err, const char *why, const char *hint)
{
	if (t->err)
		return; /* the first cause stands */
	t->err = err;
	snprintf(t->job->why, sizeof(t->job->why), "%s", why);
	snprintf(t->job->hint, sizeof(t->job->hint), "%s", hint);
}

static void fail_remote(struct transfer *t, int err)
{
	fail_with(t, err, nfsrdma_strerror_last(), nfsrdma_hint_last());
}

static void fail_local(struct transfer *t, const char *doing, int err)
{
	char why[128];

	snprintf(why, sizeof(why), "%s: %s", doing, strerror(-err));
	fail_with(t, err, why, "");
}

static void fail_end(struct transfer *t, const struct transfer_end *end, const char *doing, int err)
{
	if (end->kind == TRANSFER_REMOTE)
		fail_remote(t, err);
	else
		fail_local(t, doing, err);
}

/* ---- buffers ---- */

static size_t piece_size(const struct transfer_end *end, size_t at_least)
{
	struct nfsrdma_info info = {.size = sizeof(info)};
	size_t size = at_least;

	if (end->kind != TRANSFER_REMOTE || nfsrdma_info(end->mount, &info))
		return size;
	size = info.rsize > size ? info.rsize : size;
	size = info.wsize > size ? info.wsize : size;
	return size < PIECE_MAX ? size : PIECE_MAX;
}

static int slot_buffers(struct transfer *t, struct slot *s)
{
	const struct transfer_end *src = &t->job->src, *dst = &t->job->dst;
	bool two = src->kind == TRANSFER_REMOTE && dst->kind == TRANSFER_REMOTE;
	bool shared = two && cli_same_server(t->cli, src->mount, dst->mount);
	int err;

	if (shared || !two) {
		struct nfsrdma *mount = src->kind == TRANSFER_REMOTE ? src->mount : dst->mount;
		int flags = (src->kind == TRANSFER_REMOTE ? NFSRDMA_BUF_READ : 0) |
			    (dst->kind == TRANSFER_REMOTE ? NFSRDMA_BUF_WRITE : 0);

		err = nfsrdma_buf_get(mount, &s->src_buf, t->piece, flags);
		s->dst_buf = s->src_buf;
		return err;
	}
	err = nfsrdma_buf_get(src->mount, &s->src_buf, t->piece, NFSRDMA_BUF_READ);
	if (err)
		return err;
	err = nfsrdma_buf_get(dst->mount, &s->dst_buf, t->piece, NFSRDMA_BUF_WRITE);
	if (err) {
		nfsrdma_buf_put(s->src_buf);
		s->src_buf = NULL;
	}
	return err;
}

/* One more slot, or not: with one at least the copy works, if slowly. */
static int slots_grow(struct transfer *t)
{
	int err;

	if (t->slots_final || t->nslots == SLOTS)
		return -EAGAIN;
	err = slot_buffers(t, &t->slot[t->nslots]);
	while (err == -ENOMEM && t->nslots == 0 && t->piece > PIECE_MIN) {
		t->piece /= 2;
		err = slot_buffers(t, &t->slot[0]);
	}
	if (err) {
		t->slots_final = true;
		if (t->nslots == 0)
			fail_remote(t, err);
		return err;
	}
	t->slot[t->nslots++].state = SLOT_FREE;
	return 0;
}

static struct slot *slot_take(struct transfer *t)
{
	for (unsigned i = 0; i < t->nslots; i++)
		if (t->slot[i].state == SLOT_FREE)
			return &t->slot[i];
	return slots_grow(t) ? NULL : &t->slot[t->nslots - 1];
}

static void slot_free(struct slot *s)
{
	s->state = SLOT_FREE;
	s->len = s->done = 0;
}

/* ---- reading ---- */

static void slot_read_more(struct slot *s);

static void slot_read_done(void *arg, ssize_t n)
{
	struct slot *s = arg;
	struct transfer *t = s->transfer;
	bool short_read = n >= 0 && (size_t)n < t->piece - s->len;
	uint64_t at;

	t->reading--;
	if (n < 0)
		fail_end(t, &t->job->src, "read", (int)n);
	if (t->err) {
		slot_free(s);
		return;
	}
	s->len += (size_t)n;
	at = s->off + s->len;
	/* a file ends where a read comes short at or past the size it was said to have */
	if (n == 0 || (short_read && t->job->src.kind != TRANSFER_STREAM && at >= t->job->size)) {
		if (at < t->end)
			t->end = at;
	} else if (s->len < t->piece) {
		slot_read_more(s);
		return;
	}
	if (s->off >= t->end || s->len == 0) {
		slot_free(s);
		return;
	}
	if (at > t->end)
		s->len = (size_t)(t->end - s->off);
	s->state = SLOT_READ;
}

static void slot_read_more(struct slot *s)
{
	struct transfer *t = s->transfer;
	const struct transfer_end *src = &t->job->src;
	size_t want = t->piece - s->len;
	int err;

	s->state = SLOT_READING;
	t->reading++;
	if (src->kind == TRANSFER_REMOTE) {
		err = nfsrdma_pread_async(src->file, s->src_buf, s->len, want,
					  t->job->src_off + s->off + s->len, slot_read_done, s);
		if (err) {
			t->reading--;
			fail_remote(t, err);
			slot_free(s);
		}
		return;
	}
	s->req = (struct local_req){
		.fd = src->fd,
		.mem = (uint8_t *)nfsrdma_buf_addr(s->src_buf) + s->len,
		.len = want,
		.off = src->kind == TRANSFER_STREAM ? LOCAL_IO_STREAM
						    : t->job->src_off + s->off + s->len,
		.done = slot_read_done,
		.arg = s,
	};
	local_io_start(t->io, &s->req);
}

/* May another piece be asked for now? */
static bool may_read(const struct transfer *t)
{
	if (t->err || t->end != UINT64_MAX)
		return false;
	if (t->job->src.kind == TRANSFER_STREAM || t->next_off >= t->job->size)
		return t->reading == 0;
	return true;
}

/* Where a sparse local file has nothing, nothing is read. */
static void skip_hole(struct transfer *t)
{
	struct transfer_job *job = t->job;
	uint64_t to = job->size;
	off_t data;

	if (!job->skip_zeros || job->src.kind != TRANSFER_LOCAL || t->next_off >= job->size)
		return;
	data = lseek(job->src.fd, (off_t)(job->src_off + t->next_off), SEEK_DATA);
	if (data < 0 && errno != ENXIO)
		return; /* this file system cannot tell */
	if (data >= 0)
		to = (uint64_t)data - job->src_off;
	if (to <= t->next_off || to > job->size)
		return;
	job->moved += to - t->next_off;
	t->next_off = to;
}

static bool start_reads(struct transfer *t)
{
	bool any = false;
	struct slot *s;

	while (may_read(t) && (s = slot_take(t))) {
		skip_hole(t);
		if (!may_read(t))
			break;
		s->len = s->done = 0;
		s->off = t->next_off;
		s->seq = t->next_seq++;
		t->next_off += t->piece;
		slot_read_more(s);
		any = true;
	}
	return any;
}

/* ---- writing ---- */

static void slot_write_more(struct slot *s);

static bool all_zeros(const uint8_t *p, size_t len)
{
	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

static void slot_written(struct slot *s)
{
	struct transfer *t = s->transfer;

	t->job->moved += s->len;
	t->write_seq = s->seq + 1;
	if (t->job->durable) {
		s->state = SLOT_HELD;
		t->held++;
	} else {
		slot_free(s);
	}
}

static void slot_write_done(void *arg, ssize_t n)
{
	struct slot *s = arg;
	struct transfer *t = s->transfer;

	t->writing--;
	if (n == 0)
		n = -EIO; /* neither progress nor error */
	if (n < 0)
		fail_end(t, &t->job->dst, "write", (int)n);
	if (t->err) {
		slot_free(s);
		return;
	}
	s->done += (size_t)n;
	if (s->done < s->len)
		slot_write_more(s);
	else
		slot_written(s);
}

static void slot_write_more(struct slot *s)
{
	struct transfer *t = s->transfer;
	const struct transfer_end *dst = &t->job->dst;
	uint64_t off = t->job->dst_off + s->off + s->done;
	int err;

	s->state = SLOT_WRITING;
	t->writing++;
	if (dst->kind == TRANSFER_REMOTE) {
		err = nfsrdma_pwrite_async(dst->file, s->dst_buf, s->done, s->len - s->done, off,
					   slot_write_done, s);
		if (err) {
			t->writing--;
			fail_remote(t, err);
			slot_free(s);
		}
		return;
	}
	s->req = (struct local_req){
		.fd = dst->fd,
		.write = true,
		.mem = (uint8_t *)nfsrdma_buf_addr(s->dst_buf) + s->done,
		.len = s->len - s->done,
		.off = dst->kind == TRANSFER_STREAM ? LOCAL_IO_STREAM : off,
		.done = slot_write_done,
		.arg = s,
	};
	local_io_start(t->io, &s->req);
}

static void slot_write(struct slot *s)
{
	struct transfer *t = s->transfer;

	if (t->job->skip_zeros && all_zeros(nfsrdma_buf_addr(s->src_buf), s->len)) {
		slot_written(s);
		return;
	}
	if (s->dst_buf != s->src_buf)
		memcpy(nfsrdma_buf_addr(s->dst_buf), nfsrdma_buf_addr(s->src_buf), s->len);
	slot_write_more(s);
}

/* A stream takes one piece at a time, and the right one. */
static bool may_write(const struct transfer *t, const struct slot *s)
{
	if (s->state != SLOT_READ)
		return false;
	return t->job->dst.kind != TRANSFER_STREAM || (!t->writing && s->seq == t->write_seq);
}

static bool start_writes(struct transfer *t)
{
	bool any = false;

	for (unsigned i = 0; i < t->nslots; i++) {
		struct slot *s = &t->slot[i];

		if (t->err && s->state == SLOT_READ)
			slot_free(s);
		if (!may_write(t, s))
			continue;
		slot_write(s);
		any = true;
	}
	return any;
}

/* ---- holding until it is safe ---- */

static void sync_done(void *arg, ssize_t n)
{
	struct transfer *t = arg;

	t->syncing = false;
	if (n < 0)
		fail_remote(t, (int)n);
	for (unsigned i = 0; i < t->nslots; i++)
		if (t->slot[i].state == SLOT_HELD)
			slot_free(&t->slot[i]);
	t->held = 0;
}

/* When every slot holds data, or nothing else is left to do. */
static bool start_sync(struct transfer *t)
{
	bool idle = !t->reading && !t->writing;
	int err;

	if (!t->held || t->syncing || !idle ||
	    (t->held < t->nslots && t->end == UINT64_MAX && !t->err))
		return false;
	t->syncing = true;
	err = nfsrdma_fsync_async(t->job->dst.file, sync_done, t);
	if (err) {
		fail_remote(t, err);
		sync_done(t, 0);
	}
	return true;
}

/* ---- the loop ---- */

static bool finished(const struct transfer *t)
{
	if (t->reading || t->writing || t->syncing)
		return false;
	for (unsigned i = 0; i < t->nslots; i++)
		if (t->slot[i].state != SLOT_FREE && !t->err)
			return false;
	return t->err || t->end != UINT64_MAX;
}

/* A read of a terminal or a pipe may never end by itself. */
static void cancel_streams(struct transfer *t)
{
	if (!t->err || t->cancelled)
		return;
	t->cancelled = true;
	for (unsigned i = 0; i < t->nslots; i++) {
		struct slot *s = &t->slot[i];

		if ((s->state == SLOT_READING && t->job->src.kind == TRANSFER_STREAM) ||
		    (s->state == SLOT_WRITING && t->job->dst.kind == TRANSFER_STREAM))
			local_io_cancel(t->io, &s->req);
	}
}

static bool drive(struct transfer *t, const struct transfer_end *end)
{
	int n;

	if (end->kind != TRANSFER_REMOTE)
		return false;
	n = nfsrdma_process(end->mount, 0);
	if (n < 0)
		fail_remote(t, n);
	return n > 0;
}

static void wait_for_work(struct transfer *t)
{
	const struct transfer_end *ends[] = {&t->job->src, &t->job->dst};
	struct pollfd fds[3];
	nfds_t n = 0;

	for (int i = 0; i < 2; i++)
		if (ends[i]->kind == TRANSFER_REMOTE)
			fds[n++] =
				(struct pollfd){.fd = nfsrdma_fd(ends[i]->mount), .events = POLLIN};
	if (local_io_fd(t->io) >= 0)
		fds[n++] = (struct pollfd){.fd = local_io_fd(t->io), .events = POLLIN};
	poll(fds, n, WAKE_MS);
}

static void job_begin(struct transfer *t, struct transfer_job *job)
{
	struct nfsrdma *src_mount = job->src.kind == TRANSFER_REMOTE ? job->src.mount : NULL;
	struct nfsrdma *dst_mount = job->dst.kind == TRANSFER_REMOTE ? job->dst.mount : NULL;

	if (src_mount != t->src_mount || dst_mount != t->dst_mount) {
		slots_release(t);
		t->src_mount = src_mount;
		t->dst_mount = dst_mount;
		t->piece = piece_size(&job->dst, piece_size(&job->src, PIECE_MIN));
	}
	for (unsigned i = 0; i < t->nslots; i++)
		slot_free(&t->slot[i]);
	t->job = job;
	t->err = 0;
	t->next_off = t->next_seq = t->write_seq = 0;
	t->end = UINT64_MAX;
	t->reading = t->writing = t->held = 0;
	t->syncing = t->cancelled = false;
	job->moved = job->end = 0;
	job->why[0] = job->hint[0] = '\0';
}

int transfer_run(struct transfer *t, struct transfer_job *job)
{
	job_begin(t, job);
	while (!finished(t)) {
		bool any = start_reads(t);

		any |= start_writes(t);
		any |= start_sync(t);
		any |= local_io_process(t->io) > 0;
		any |= drive(t, &job->src);
		if (job->dst.mount != job->src.mount)
			any |= drive(t, &job->dst);
		if (job->stop && *job->stop)
			fail_with(t, -EINTR, "interrupted", "");
		cancel_streams(t);
		if (job->progress)
			job->progress(job->progress_arg, job->moved);
		if (!any && !finished(t))
			wait_for_work(t);
	}
	job->end = t->end == UINT64_MAX ? 0 : t->end;
	return t->err;
}

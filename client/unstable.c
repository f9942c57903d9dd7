/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unstable.c - what the server holds only in its memory, and where its bytes can still be found.
 *
 * An UNSTABLE WRITE may be lost when the server restarts, until a COMMIT was answered with the same
 * verifier (RFC 1813 sections 3.3.7 and 3.3.21).  So for each file there is a set of
 *
 *   held    ranges whose bytes are still in a buffer: they can be written again;
 *   lost    ranges whose buffer went on to other things: if the verifier changes, all that can be
 *           done is to say so.  Merged when they touch; past CLIENT_MAX_LOST they grow into each
 * other, which makes the message vaguer and nothing less safe.
 *
 * A user's buffer "went on" when he put it or handed the same part to another request: cells count
 * that (buf.c).  What he scribbles without telling cannot be seen; nfsrdma.h forbids it.
 *
 * Newer writes void older ranges of the same bytes, or a rewrite would bring back the past.  Held
 * ranges are therefore disjoint, and low/high spare sequential writers the search.
 */
#include <string.h>

#include "client/internal.h"

void client_unstable_init(struct client_unstable *u)
{
	util_list_init(&u->held);
	u->nheld = 0;
	u->low = UINT64_MAX;
	u->high = 0;
	u->nlost = 0;
}

bool client_unstable_empty(const struct client_unstable *u)
{
	return !u->nheld && !u->nlost;
}

bool client_range_intact(const struct client_range *range)
{
	if (range->staging)
		return true;
	return (atomic_load_explicit(&range->buf->hold, memory_order_acquire) & CLIENT_BUF_OWNED) &&
	       client_buf_stamp(range->buf, range->buf_off, range->len) == range->stamp;
}

void client_lost_add(struct client_unstable *u, const uint8_t verf[8], uint64_t start, uint64_t end)
{
	struct client_lost *same = NULL;

	for (unsigned i = 0; i < u->nlost; i++) {
		struct client_lost *lost = &u->lost[i];

		if (memcmp(lost->verf, verf, sizeof(lost->verf)) != 0)
			continue;
		same = lost;
		if (start <= lost->end && end >= lost->start)
			break; /* touches */
	}
	if (same && start <= same->end && end >= same->start) {
		same->start = start < same->start ? start : same->start;
		same->end = end > same->end ? end : same->end;
		return;
	}
	if (u->nlost < CLIENT_MAX_LOST) {
		same = &u->lost[u->nlost++];
		memcpy(same->verf, verf, sizeof(same->verf));
		same->start = start;
		same->end = end;
		return;
	}
	if (!same) /* eight lives of the server between two COMMITs: the oldest is lost for sure */
		same = &u->lost[0];
	same->start = start < same->start ? start : same->start;
	same->end = end > same->end ? end : same->end;
}

void client_range_drop(struct nfsrdma_file *file, struct client_unstable *u,
		       struct client_range *range)
{
	struct nfsrdma *mount = file->mount;

	util_list_del(&range->node);
	u->nheld--;
	if (!u->nheld) {
		u->low = UINT64_MAX;
		u->high = 0;
	}
	if (range->staging) {
		mount->dirty -= range->len;
		client_buf_release(range->buf);
	} else {
		client_buf_unref(range->buf);
	}
	util_list_push(&mount->free_ranges, &range->node);
}

static void range_lose(struct nfsrdma_file *file, struct client_unstable *u,
		       struct client_range *range)
{
	client_lost_add(u, range->verf, range->off, range->off + range->len);
	client_range_drop(file, u, range);
}

void client_unstable_sweep(struct nfsrdma_file *file, struct client_unstable *u)
{
	UTIL_LIST_FOR_EACH_SAFE (node, &u->held) {
		struct client_range *range = UTIL_LIST_ENTRY(node, struct client_range, node);

		if (!client_range_intact(range))
			range_lose(file, u, range);
	}
}

void client_unstable_shed(struct nfsrdma_file *file, struct client_unstable *u)
{
	UTIL_LIST_FOR_EACH_SAFE (node, &u->held) {
		struct client_range *range = UTIL_LIST_ENTRY(node, struct client_range, node);

		if (file->mount->dirty < file->mount->dirty_max / 2)
			return;
		if (range->staging)
			range_lose(file, u, range);
	}
}

void client_unstable_drop(struct nfsrdma_file *file, struct client_unstable *u)
{
	while (!util_list_empty(&u->held))
		client_range_drop(file, u,
				  UTIL_LIST_ENTRY(u->held.next, struct client_range, node));
	u->nlost = 0;
}

void client_unstable_move(struct client_unstable *to, struct client_unstable *from)
{
	/* from is older: its ranges go in front */
	util_list_splice(&from->held, &to->held);
	util_list_splice(&to->held, &from->held);
	to->nheld += from->nheld;
	to->low = from->low < to->low ? from->low : to->low;
	to->high = from->high > to->high ? from->high : to->high;
	for (unsigned i = 0; i < from->nlost; i++)
		client_lost_add(to, from->lost[i].verf, from->lost[i].start, from->lost[i].end);
	client_unstable_init(from);
}

/* ---- adding ------------------------------------------------------------------------------- */

static struct client_range *range_new(struct nfsrdma_file *file, struct client_unstable *u,
				      struct nfsrdma_buf *buf, bool staging)
{
	struct client_range *range;

	range = client_pool_take(file->mount, &file->mount->free_ranges, sizeof(*range));
	if (!range)
		return NULL;
	if (staging && !client_buf_hold(buf)) {
		util_list_push(&file->mount->free_ranges, &range->node);
		return NULL;
	}
	if (!staging)
		client_buf_ref(buf);
	range->buf = buf;
	range->staging = staging;
	util_list_add(&u->held, &range->node);
	u->nheld++;
	return range;
}

/* The bytes of [off, off+len) lie in buf from buf_off on. */
static void unstable_add(struct nfsrdma_file *file, const struct client_range *what)
{
	struct client_unstable *u = &file->now;
	struct client_range *range = NULL;

	if (u->nheld < CLIENT_MAX_RANGES)
		range = range_new(file, u, what->buf, what->staging);
	if (!range) {
		client_lost_add(u, what->verf, what->off, what->off + what->len);
		return;
	}
	range->off = what->off;
	range->len = what->len;
	range->buf_off = what->buf_off;
	range->stamp = client_buf_stamp(what->buf, what->buf_off, what->len);
	memcpy(range->verf, what->verf, sizeof(range->verf));
	if (range->staging)
		file->mount->dirty += range->len;
	u->low = range->off < u->low ? range->off : u->low;
	u->high = range->off + range->len > u->high ? range->off + range->len : u->high;
}

/* Cut [start, end) out of one range. */
static void range_cut(struct nfsrdma_file *file, struct client_unstable *u,
		      struct client_range *range, uint64_t start, uint64_t end)
{
	uint64_t range_end = range->off + range->len;
	uint32_t cut;

	if (start <= range->off && end >= range_end) {
		client_range_drop(file, u, range);
		return;
	}
	if (start > range->off && end < range_end) {
		/* a hole in the middle: the tail becomes a range of its own */
		struct client_range *tail = range_new(file, u, range->buf, range->staging);

		cut = (uint32_t)(end - range->off);
		if (tail) {
			tail->off = end;
			tail->len = range->len - cut;
			tail->buf_off = range->buf_off + cut;
			tail->stamp = client_buf_stamp(tail->buf, tail->buf_off, tail->len);
			memcpy(tail->verf, range->verf, sizeof(tail->verf));
			if (tail->staging)
				file->mount->dirty += tail->len;
		} else {
			client_lost_add(u, range->verf, end, range_end);
		}
		end = range_end;
	}
	if (start > range->off) {
		cut = (uint32_t)(range_end - start);
	} else {
		cut = (uint32_t)(end - range->off);
		range->off += cut;
		range->buf_off += cut;
	}
	range->len -= cut;
	if (range->staging)
		file->mount->dirty -= cut;
	else
		range->stamp = client_buf_stamp(range->buf, range->buf_off, range->len);
}

void client_unstable_overwrite(struct nfsrdma_file *file, struct client_unstable *u, uint64_t start,
			       uint64_t end)
{
	if (start >= u->high || end <= u->low)
		return;
	UTIL_LIST_FOR_EACH_SAFE (node, &u->held) {
		struct client_range *range = UTIL_LIST_ENTRY(node, struct client_range, node);

		if (start >= range->off + range->len || end <= range->off)
			continue;
		if (client_range_intact(range))
			range_cut(file, u, range, start, end);
		else
			range_lose(file, u, range);
	}
}

void client_unstable_truncated(struct nfsrdma *mount, const struct wire_fh *fh, uint64_t size)
{
	UTIL_LIST_FOR_EACH (node, &mount->files) {
		struct nfsrdma_file *file = UTIL_LIST_ENTRY(node, struct nfsrdma_file, node);

		if (file->fh.len != fh->len || memcmp(file->fh.data, fh->data, fh->len) != 0)
			continue;
		client_unstable_overwrite(file, &file->now, size, UINT64_MAX);
		client_unstable_overwrite(file, &file->committing, size, UINT64_MAX);
	}
}

bool client_unstable_room(struct nfsrdma_file *file)
{
	if (file->now.nheld < CLIENT_MAX_RANGES)
		return true;
	client_unstable_sweep(file, &file->now);
	return file->now.nheld < CLIENT_MAX_RANGES;
}

static void unstable_remember(struct client_chunk *chunk, uint32_t count)
{
	struct client_io *io = chunk->io;
	struct nfsrdma_file *file = io->file;
	size_t pos = chunk->pos + chunk->got;
	struct client_range what = {.off = io->off + pos, .len = count};

	memcpy(what.verf, chunk->verf, sizeof(what.verf));
	if (io->mem) {
		what.staging = true;
		what.buf = chunk->staging;
		what.buf_off = chunk->got;
		unstable_add(file, &what);
		return;
	}
	for (int i = 0; i < io->iovcnt && count; i++) {
		const struct nfsrdma_iov *iov = &io->iov[i];

		if (pos >= iov->len) {
			pos -= iov->len;
			continue;
		}
		what.len = iov->len - pos < count ? (uint32_t)(iov->len - pos) : count;
		what.buf = iov->buf;
		what.buf_off = iov->buf_off + pos;
		unstable_add(file, &what);
		what.off += what.len;
		count -= what.len;
		pos = 0;
	}
}

void client_unstable_wrote(struct client_chunk *chunk, uint32_t count)
{
	struct nfsrdma_file *file = chunk->io->file;
	struct nfsrdma *mount = file->mount;
	uint64_t start = chunk->io->off + chunk->pos + chunk->got;

	if (chunk->io->rewrite || mount->closing)
		return; /* the very bytes of a remembered range, which goes when all are there */
	client_unstable_overwrite(file, &file->now, start, start + count);
	client_unstable_overwrite(file, &file->committing, start, start + count);
	if (chunk->committed != WIRE_UNSTABLE)
		return;
	unstable_remember(chunk, count);
	if (file->now.nheld > CLIENT_MAX_RANGES / 2)
		client_unstable_sweep(file, &file->now);
	if (file->now.nheld > CLIENT_MAX_RANGES / 2 || mount->dirty > mount->dirty_max / 2)
		client_commit_background(file);
}

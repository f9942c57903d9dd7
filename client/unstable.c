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
 * A user's buffer "went on" when he put it or handed the same bytes of it to another request (buf.c
 * marks the range gone).  What he scribbles without telling cannot be seen; nfsrdma.h forbids it.
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
	       !atomic_load_explicit(&range->gone, memory_order_relaxed);
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
		client_buf_forget(range);
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

/* Another range like what; false: no memory, or too many. */
static bool range_add(struct nfsrdma_file *file, struct client_unstable *u,
		      const struct client_range *what)
{
	struct nfsrdma *mount = file->mount;
	struct client_range *range;

	range = client_pool_take(mount, &mount->free_ranges, sizeof(*range));
	if (!range)
		return false;
	*range = *what;
	util_list_init(&range->node);
	util_list_init(&range->buf_node);
	if (range->staging && !client_buf_hold(range->buf)) {
		util_list_push(&mount->free_ranges, &range->node);
		return false;
	}
	if (range->staging) {
		mount->dirty += range->len;
	} else {
		client_buf_ref(range->buf);
		client_buf_remember(range);
	}
	util_list_add(&u->held, &range->node);
	u->nheld++;
	u->low = range->off < u->low ? range->off : u->low;
	u->high = range->off + range->len > u->high ? range->off + range->len : u->high;
	return true;
}

static void unstable_add(struct nfsrdma_file *file, struct client_unstable *u,
			 const struct client_range *what)
{
	if (u->nheld >= CLIENT_MAX_RANGES || !range_add(file, u, what))
		client_lost_add(u, what->verf, what->off, what->off + what->len);
}

/* Keep [from, to) of the range, which is not all of it. */
static void range_trim(struct nfsrdma_file *file, struct client_range *range, uint64_t from,
		       uint64_t to)
{
	size_t skip = (size_t)(from - range->off);
	uint32_t len = (uint32_t)(to - from);

	if (range->staging) {
		file->mount->dirty -= range->len - len;
		range->buf_off += skip;
		range->len = len;
	} else {
		client_buf_resize(range, range->buf_off + skip, len);
	}
	range->off = from;
}

/* Cut [start, end) out of one range that has some of it. */
static void range_cut(struct nfsrdma_file *file, struct client_unstable *u,
		      struct client_range *range, uint64_t start, uint64_t end)
{
	uint64_t range_end = range->off + range->len;

	if (start <= range->off && end >= range_end) {
		client_range_drop(file, u, range);
	} else if (start <= range->off) {
		range_trim(file, range, end, range_end);
	} else {
		struct client_range tail = *range;

		range_trim(file, range, range->off, start);
		if (end >= range_end)
			return;
		/* a hole in the middle: what is behind it becomes a range of its own */
		tail.buf_off += (size_t)(end - tail.off);
		tail.len = (uint32_t)(range_end - end);
		tail.off = end;
		unstable_add(file, u, &tail);
	}
}

/* Cut [start, end) off the lost; out of the middle of one it cannot be cut. */
static void lost_cut(struct client_unstable *u, uint64_t start, uint64_t end)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < u->nlost; i++) {
		struct client_lost lost = u->lost[i];

		if (start <= lost.start && end > lost.start)
			lost.start = end;
		else if (start < lost.end && end >= lost.end)
			lost.end = start;
		if (lost.start < lost.end)
			u->lost[kept++] = lost;
	}
	u->nlost = kept;
}

void client_unstable_overwrite(struct nfsrdma_file *file, struct client_unstable *u, uint64_t start,
			       uint64_t end)
{
	lost_cut(u, start, end);
	if (start >= u->high || end <= u->low)
		return;
	UTIL_LIST_FOR_EACH_SAFE (node, &u->held) {
		struct client_range *range = UTIL_LIST_ENTRY(node, struct client_range, node);

		if (start < range->off + range->len && end > range->off)
			range_cut(file, u, range, start, end);
	}
}

void client_unstable_truncated(struct nfsrdma *mount, const struct wire_fh *fh, uint64_t size)
{
	UTIL_LIST_FOR_EACH (node, &mount->files) {
		struct nfsrdma_file *file = UTIL_LIST_ENTRY(node, struct nfsrdma_file, node);

		if (!client_file_is(file, fh))
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
		unstable_add(file, &file->now, &what);
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
		unstable_add(file, &file->now, &what);
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

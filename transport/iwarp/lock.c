/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.c - mlock with a memory: which ranges are locked, so that releasing one leaves the pages it
 * shares with another locked.
 *
 * The kernel keeps one bit per page, not a count: munlock of a range unlocks pages that an
 * overlapping registration still needs.  Releasing therefore walks the range and unlocks only the
 * stretches that no other range covers.  There are tens of ranges, not thousands (slabs), so the
 * walk over a plain array is cheap.  The caller (pin.c) serialises.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "transport/iwarp/pin.h"

#define PAGE_BYTES ((uintptr_t)4096)

struct range {
	uintptr_t first, end; /* page aligned */
};

struct iwarp_locks {
	struct range *range;
	size_t n, cap;
};

int iwarp_locks_create(struct iwarp_locks **locksp)
{
	*locksp = calloc(1, sizeof(**locksp));
	return *locksp ? 0 : -ENOMEM;
}

void iwarp_locks_destroy(struct iwarp_locks *locks)
{
	if (!locks)
		return;
	free(locks->range);
	free(locks);
}

static struct range to_pages(const void *addr, size_t len)
{
	return (struct range){
		.first = (uintptr_t)addr & ~(PAGE_BYTES - 1),
		.end = ((uintptr_t)addr + len + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1),
	};
}

/* The first address at or after at that no range covers. */
static uintptr_t skip_covered(const struct iwarp_locks *locks, uintptr_t at)
{
	for (size_t i = 0; i < locks->n; i++) {
		if (locks->range[i].first <= at && at < locks->range[i].end) {
			at = locks->range[i].end;
			i = (size_t)-1; /* begin again: another may cover the new place */
		}
	}
	return at;
}

/* The first address after at that some range covers, at most end. */
static uintptr_t next_covered(const struct iwarp_locks *locks, uintptr_t at, uintptr_t end)
{
	for (size_t i = 0; i < locks->n; i++)
		if (locks->range[i].first > at && locks->range[i].first < end)
			end = locks->range[i].first;
	return end;
}

static void unlock_uncovered(const struct iwarp_locks *locks, struct range r)
{
	uintptr_t at = skip_covered(locks, r.first);

	while (at < r.end) {
		uintptr_t end = next_covered(locks, at, r.end);

		munlock((void *)at, end - at);
		at = skip_covered(locks, end);
	}
}

int iwarp_locks_add(struct iwarp_locks *locks, void *addr, size_t len)
{
	struct range r = to_pages(addr, len);

	if (locks->n == locks->cap) {
		size_t cap = locks->cap ? locks->cap * 2 : 16;
		struct range *grown = reallocarray(locks->range, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		locks->range = grown;
		locks->cap = cap;
	}
	if (mlock((void *)r.first, r.end - r.first) != 0) {
		int err = -errno;

		unlock_uncovered(locks, r); /* mlock may have locked a part */
		return err;
	}
	locks->range[locks->n++] = r;
	return 0;
}

void iwarp_locks_del(struct iwarp_locks *locks, void *addr, size_t len)
{
	struct range r = to_pages(addr, len);

	for (size_t i = 0; i < locks->n; i++) {
		if (locks->range[i].first == r.first && locks->range[i].end == r.end) {
			locks->range[i] = locks->range[--locks->n];
			break;
		}
	}
	unlock_uncovered(locks, r);
}

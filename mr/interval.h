/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interval.h - a set of half-open ranges that may overlap, found by what they cover.
 */
#ifndef NFSRDMA_MR_INTERVAL_H
#define NFSRDMA_MR_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* Embedded by whoever is in the set. */
struct mr_interval {
	uintptr_t start, end;
	/* the set's */
	struct mr_interval *left, *right;
	uintptr_t max_end; /* of this subtree */
	uint32_t priority;
};

struct mr_intervals {
	struct mr_interval *root;
	uint32_t seed;
};

void mr_intervals_init(struct mr_intervals *set);
/* start < end. */
void mr_intervals_add(struct mr_intervals *set, struct mr_interval *item);
/* item is in the set. */
void mr_intervals_del(struct mr_intervals *set, struct mr_interval *item);
/* Visit every item that shares a byte with [start, end), by start; until visit says false.  The set
 * may not change meanwhile. */
void mr_intervals_overlapping(const struct mr_intervals *set, uintptr_t start, uintptr_t end,
			      bool (*visit)(void *arg, struct mr_interval *item), void *arg);

#endif

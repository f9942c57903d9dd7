/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poison.c - verify mode: idle memory holds a pattern, and is looked at before it is lent again.
 *
 * A difference means that somebody, this process or a peer with a live key, wrote to a lease that
 * had been given back: exactly the mistake the pool's rules exist to prevent.
 */
#include "mr/internal.h"

#define MR_POISON UINT64_C(0x6b5f6b5f6b5f6b5f)

/* Class sizes are multiples of 64, large leases of a page. */
void mr_poison_fill(const struct mr_cell *cell)
{
	uint64_t *word = cell->lease.addr;

	for (size_t i = 0; i < cell->lease.size / sizeof(*word); i++)
		word[i] = MR_POISON;
}

void mr_poison_check(struct mr_pool *pool, const struct mr_cell *cell)
{
	const uint64_t *word = cell->lease.addr;

	for (size_t i = 0; i < cell->lease.size / sizeof(*word); i++) {
		if (word[i] == MR_POISON)
			continue;
		atomic_fetch_add_explicit(&pool->poison_hits, 1, memory_order_relaxed);
		util_log(&pool->log, UTIL_LOG_ERROR,
			 "a %s lease of %zu bytes was written to after it was given back, at "
			 "offset %zu",
			 mr_kind_name(cell->lease.kind), cell->lease.size, i * sizeof(*word));
		return;
	}
}

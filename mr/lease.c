/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.c - take and give: the path every RPC with bulk data walks.
 *
 * Normal operation: find the thread's slot, pop a cell off its magazine, count, done; giving is
 * the way back.  One compare-and-exchange each on a line no other thread is interested in, no
 * lock, no allocation, no system call.  What a magazine lacks the depot has, and what both lack
 * mr_grow() makes.
 */
#include <assert.h>
#include <errno.h>

#include "mr/internal.h"

/* Counters have one writer, the slot's thread; readers only need to see whole values. */
static void mr_count_own(_Atomic uint64_t *counter)
{
	uint64_t v = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, v + 1, memory_order_relaxed);
}

static void mr_count_taken(struct mr_pool *pool, struct mr_slot *slot)
{
	if (slot)
		mr_count_own(&slot->lane->taken);
	else
		atomic_fetch_add_explicit(&pool->shared->taken, 1, memory_order_relaxed);
}

static void mr_count_given(struct mr_pool *pool, struct mr_slot *slot)
{
	if (slot)
		mr_count_own(&slot->lane->given);
	else
		atomic_fetch_add_explicit(&pool->shared->given, 1, memory_order_relaxed);
}

static int mr_lease_refuse(const struct mr_pool *pool, size_t len, struct util_err *err)
{
	char len_text[24], max_text[24];
	size_t max = pool->max_lease;

	if (len <= max)
		return util_err_set(err, -EINVAL, "a buffer needs a length and a kind");
	util_err_set(err, -EINVAL, "a buffer of %s: the most is %s",
		     util_size_format(len, len_text, sizeof(len_text)),
		     util_size_format(max, max_text, sizeof(max_text)));
	util_err_hint(err, "the most is what %s allows", pool->budget.name);
	return -EINVAL;
}

int mr_lease_take(struct mr_pool *pool, enum mr_kind kind, size_t len, struct mr_lease **leasep,
		  struct util_err *err)
{
	struct mr_slot *slot = mr_slot_get(pool);
	struct mr_cell *cell = NULL;
	int ret;

	if (len == 0 || len > pool->max_lease || (unsigned)kind >= MR_KIND_COUNT)
		return mr_lease_refuse(pool, len, err);
	if (len <= MR_CLASS_MAX)
		cell = mr_magazine_take(pool, slot, kind, mr_class_of(len));
	if (!cell) {
		ret = mr_grow(pool, kind, len, &cell, err);
		if (ret)
			return ret;
	}
	if (pool->poison)
		mr_poison_check(pool, cell);
	atomic_store_explicit(&cell->state, MR_CELL_OUT, memory_order_relaxed);
	cell->lease.len = len;
	mr_count_taken(pool, slot);
	*leasep = &cell->lease;
	return 0;
}

void mr_lease_give(struct mr_lease *lease)
{
	struct mr_cell *cell;
	struct mr_pool *pool;
	struct mr_slot *slot;

	if (!lease)
		return;
	cell = UTIL_CONTAINER_OF(lease, struct mr_cell, lease);
	pool = lease->pool;
	slot = mr_slot_get(pool);
	assert(atomic_load_explicit(&cell->state, memory_order_relaxed) != MR_CELL_IDLE);
	mr_quarantine_end(cell);
	if (cell->class == MR_CLASS_FOREIGN) {
		mr_foreign_give(pool, cell);
		return;
	}
	if (pool->poison)
		mr_poison_fill(cell);
	mr_count_given(pool, slot);
	/* ORDER: the last touch.  A large lease is free for others from here on. */
	atomic_store_explicit(&cell->state, MR_CELL_IDLE, memory_order_release);
	if (cell->class != MR_CLASS_LARGE)
		mr_magazine_give(pool, slot, cell);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grow.c - the slow path of taking a lease: neither magazine nor depot has one.
 *
 * In order, under the pool's lock:
 *   1. look again (another thread may have grown the pool meanwhile), also in other threads'
 *      magazines;
 *   2. cut a span out of a slab with room;
 *   3. beyond a quarter of the budget: sweep up what lies idle in other classes, and cut again;
 *   4. register another slab.  Each is as large as all of its kind so far, within bounds, so that
 *      slabs stay few; where that is refused, half as large, down to what the lease needs;
 *   5. release idle slabs of every kind, and register once more.
 *
 * Then the limit is real, unless it is shared: pins are charged per user, and what another process
 * has just released, or what a killed one held, is credited late.  Where our own share would fit,
 * the whole is repeated after a short sleep, without the lock, a few times; a back-off that was in
 * vain is not repeated within the next second, so a caller who can do without is not slowed down.
 */
#include <errno.h>
#include <time.h>

#include "mr/internal.h"

static const unsigned mr_backoff_ms[] = {2, 8, 30, 60};
#define MR_IMPATIENT_NS UTIL_NS_PER_S

struct mr_want {
	enum mr_kind kind;
	unsigned class;
	size_t len;
	size_t slab_min;  /* least slab that will do */
	bool asked_below; /* the provider, not our own look, had the last word */
};

static size_t mr_want_slab(const struct mr_pool *pool, unsigned class, size_t len)
{
	size_t huge;

	if (class != MR_CLASS_LARGE)
		return mr_class_span_cells(class) * mr_class_size(class);
	/* Whole huge pages where that wastes at most an eighth. */
	huge = mr_round_up(len, MR_HUGE);
	if (pool->best >= MR_BACKING_2M && huge - len <= huge / 8)
		return huge;
	return mr_round_up(len, MR_PAGE);
}

/* The smallest idle large slab that holds len without wasting more than a quarter. */
static struct mr_cell *mr_grow_idle_large(struct mr_pool *pool, const struct mr_want *want)
{
	struct mr_slab *best = NULL;

	UTIL_LIST_FOR_EACH (node, &pool->slabs) {
		struct mr_slab *slab = UTIL_LIST_ENTRY(node, struct mr_slab, node);

		if (!slab->large || slab->kind != want->kind || !mr_slab_idle(slab))
			continue;
		if (slab->memory.len < want->len ||
		    slab->memory.len - want->len > slab->memory.len / 4)
			continue;
		if (!best || slab->memory.len < best->memory.len)
			best = slab;
	}
	return best ? best->large : NULL;
}

static struct mr_cell *mr_grow_idle(struct mr_pool *pool, const struct mr_want *want)
{
	struct mr_cell *cell;

	if (want->class == MR_CLASS_LARGE)
		return mr_grow_idle_large(pool, want);
	cell = mr_stack_pop_one(pool, &pool->depot[want->kind][want->class]);
	return cell ? cell : mr_magazine_steal(pool, want->kind, want->class);
}

/* One cell for the caller, the rest of the span for the depot. */
static int mr_grow_carve(struct mr_pool *pool, struct mr_slab *slab, const struct mr_want *want,
			 struct mr_cell **cellp)
{
	struct mr_chain chain = {0};
	int err = mr_span_carve(pool, slab, want->class, &chain);

	if (err)
		return err;
	*cellp = mr_chain_take(pool, &chain);
	if (want->class == MR_CLASS_LARGE)
		slab->large = *cellp;
	else if (chain.first)
		mr_stack_push(&pool->depot[want->kind][want->class], &chain);
	return 0;
}

static struct mr_cell *mr_grow_room(struct mr_pool *pool, const struct mr_want *want)
{
	struct mr_cell *cell;

	if (want->class == MR_CLASS_LARGE)
		return NULL;
	UTIL_LIST_FOR_EACH (node, &pool->slabs) {
		struct mr_slab *slab = UTIL_LIST_ENTRY(node, struct mr_slab, node);

		if (slab->kind == want->kind && !slab->large &&
		    !mr_grow_carve(pool, slab, want, &cell))
			return cell;
	}
	return NULL;
}

static size_t mr_grow_size(const struct mr_pool *pool, const struct mr_want *want)
{
	size_t most = pool->geometry.slab_size, size = most < MR_HUGE ? most : MR_HUGE;

	if (want->class == MR_CLASS_LARGE)
		return want->slab_min;
	if (pool->best == MR_BACKING_1G)
		size = most;
	if (size < pool->kind_bytes[want->kind])
		size = pool->kind_bytes[want->kind] < most ? pool->kind_bytes[want->kind] : most;
	if (size < want->slab_min)
		size = want->slab_min;
	return mr_round_up(size, size > MR_HUGE && most >= MR_HUGE ? MR_HUGE : MR_PAGE);
}

static int mr_grow_try(struct mr_pool *pool, struct mr_want *want, size_t size,
		       struct mr_slab **slabp, struct util_err *err)
{
	int ret = mr_budget_look(pool, want->kind, size, err);

	want->asked_below = !ret;
	if (ret)
		return ret;
	ret = mr_slab_create(pool, want->kind, size, slabp, err);
	if (ret == -ENOMEM)
		mr_budget_refused(pool, size, err);
	return ret;
}

/* Register a slab of size, or what is granted of it. */
static int mr_grow_slab(struct mr_pool *pool, struct mr_want *want, size_t size,
			struct mr_cell **cellp, struct util_err *err)
{
	struct mr_slab *slab;
	int ret;

	while ((ret = mr_grow_try(pool, want, size, &slab, err)) == -ENOMEM &&
	       size > want->slab_min) {
		size = mr_round_up(size / 2, MR_PAGE);
		if (size < want->slab_min)
			size = want->slab_min;
	}
	if (ret)
		return ret;
	ret = mr_grow_carve(pool, slab, want, cellp);
	if (ret) {
		mr_slab_destroy(pool, slab);
		return util_err_set(err, ret, "no memory to manage leases");
	}
	if (pool->provider->registers)
		atomic_fetch_add_explicit(&pool->shared->fresh, 1, memory_order_relaxed);
	return 0;
}

static int mr_grow_locked(struct mr_pool *pool, struct mr_want *want, struct mr_cell **cellp,
			  struct util_err *err)
{
	struct mr_cell *cell = mr_grow_idle(pool, want);
	int ret;

	if (!cell)
		cell = mr_grow_room(pool, want);
	if (!cell && pool->bytes + want->slab_min > pool->budget.soft) {
		mr_span_sweep(pool, want->kind);
		cell = mr_grow_room(pool, want);
	}
	*cellp = cell;
	if (cell)
		return 0;
	ret = mr_grow_slab(pool, want, mr_grow_size(pool, want), cellp, err);
	if (ret != -ENOMEM)
		return ret;
	if (mr_pool_trim_locked(pool))
		ret = mr_grow_slab(pool, want, mr_grow_size(pool, want), cellp, err);
	if (!ret || want->class == MR_CLASS_LARGE)
		return ret;
	/* The trim swept: a slab that is in use may have room now. */
	*cellp = mr_grow_room(pool, want);
	return *cellp ? 0 : ret;
}

/* Is a sibling's release worth waiting for? */
static bool mr_grow_patient(struct mr_pool *pool, const struct mr_want *want, unsigned tries)
{
	uint64_t now = util_clock_ns();

	if (!want->asked_below || !pool->provider->registers || now < pool->impatient_until_ns)
		return false;
	if (tries < UTIL_ARRAY_SIZE(mr_backoff_ms))
		return true;
	pool->impatient_until_ns = now + MR_IMPATIENT_NS;
	return false;
}

int mr_grow(struct mr_pool *pool, enum mr_kind kind, size_t len, struct mr_cell **cellp,
	    struct util_err *err)
{
	unsigned class = len > MR_CLASS_MAX ? MR_CLASS_LARGE : mr_class_of(len);
	struct mr_want want = {
		.kind = kind,
		.class = class,
		.len = len,
		.slab_min = mr_want_slab(pool, class, len),
	};

	for (unsigned tries = 0;; tries++) {
		struct timespec pause = {0};
		bool again = false;
		int ret;

		pthread_mutex_lock(&pool->lock);
		ret = mr_grow_locked(pool, &want, cellp, err);
		if (!ret)
			atomic_store_explicit(&(*cellp)->state, MR_CELL_OUT, memory_order_relaxed);
		if (ret == -ENOMEM)
			again = mr_grow_patient(pool, &want, tries);
		pthread_mutex_unlock(&pool->lock);
		if (!again)
			return ret;
		pause.tv_nsec = (long)(mr_backoff_ms[tries] * UTIL_NS_PER_MS);
		nanosleep(&pause, NULL);
	}
}

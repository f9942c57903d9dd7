/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.c - memory of the application, registered on first use and kept.
 *
 * Normal operation.  Entries lie in an interval tree by the bytes they cover.  A request is served
 * by any entry that covers it whole and grants the right; it then holds the entry until it is put,
 * and entries nobody holds wait in order of their last use.  On a miss the memory is registered; a
 * limit met there evicts the entry that has been idle longest, and tries again.
 *
 * What is registered is exactly what was asked for, to the byte, so no neighbour on the same page
 * comes within a peer's reach.  Ranges are merged only where they overlap, then the union is
 * registered and what it replaces ends; and only where nothing else can have come to live at the
 * addresses of the older one: in our own slabs, or under the eyes of the monitor.  Otherwise the
 * application may have unmapped it without a word, and a union would lay open what it keeps there
 * now.  Ranges that merely touch stay apart, or reading through a long buffer piece by piece would
 * register it again and again.
 *
 * Staleness.  The application may unmap memory without a word, and map other memory there.  A
 * device would go on using the pages it was given.  The monitor (monitor.c) hears of it; without
 * one the application has to say so, by not using the cache for memory that moves.  Verify mode
 * compares the page frames with those that were registered, on every hit.
 *
 * A registration that is made while the address space changes may be stale before it is entered.
 * The monitor's count of changes tells: if it moved meanwhile, the registration serves this one
 * request and is not kept.
 *
 * Locks.  See cache.h: registrations begin and end without the lock.  Entries that are to end are
 * gathered on a list under it, and closed after it is dropped.
 */
#include <errno.h>
#include <stdlib.h>

#include "mr/cache.h"

static struct mr_entry *entry_of(struct mr_interval *item)
{
	return UTIL_CONTAINER_OF(item, struct mr_entry, range);
}

/* ---- life ------------------------------------------------------------------------------- */

int mr_cache_create(struct mr_cache **cachep, struct mr_pool *pool,
		    const struct mr_pool_params *params, struct util_err *err)
{
	struct mr_cache *cache;
	bool verify = params->verify && pool->mode == MR_MODE_CACHE;
	int ret = verify ? mr_witness_allowed(err) : 0;

	if (ret)
		return ret;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return util_err_set(err, -ENOMEM, "no memory for a cache");
	cache->pool = pool;
	cache->verify = verify;
	pthread_mutex_init(&cache->lock, NULL);
	mr_intervals_init(&cache->tree);
	util_list_init(&cache->idle);
	if (pool->mode == MR_MODE_CACHE)
		ret = mr_monitor_open(&cache->monitor, cache, params->monitor, err);
	if (ret) {
		pthread_mutex_destroy(&cache->lock);
		free(cache);
		return ret;
	}
	*cachep = cache;
	return 0;
}

void mr_cache_destroy(struct mr_cache *cache)
{
	if (!cache)
		return;
	mr_monitor_close(cache->monitor);
	mr_cache_forget(cache, NULL, UINTPTR_MAX);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* ---- ends ------------------------------------------------------------------------------- */

static void entry_close(struct mr_cache *cache, struct mr_entry *entry)
{
	mr_piece_close(cache->pool, &entry->reg);
	free(entry->seen);
	free(entry);
}

void mr_cache_close_all(struct mr_cache *cache, struct util_list *dead)
{
	struct util_list *node;

	while ((node = util_list_pop(dead)))
		entry_close(cache, UTIL_LIST_ENTRY(node, struct mr_entry, node));
}

/* Out of the tree; onto dead if nobody uses it, else it ends when it is put. */
static void entry_drop(struct mr_cache *cache, struct mr_entry *entry, struct util_list *dead)
{
	mr_intervals_del(&cache->tree, &entry->range);
	cache->entries--;
	entry->cached = false;
	if (entry->refs)
		return;
	util_list_del(&entry->node);
	util_list_add(dead, &entry->node);
}

static bool take_first(void *arg, struct mr_interval *item)
{
	struct mr_entry **entryp = arg;

	*entryp = entry_of(item);
	return false;
}

void mr_cache_drop_locked(struct mr_cache *cache, uintptr_t start, uintptr_t end,
			  struct util_list *dead)
{
	struct mr_entry *entry;

	do {
		entry = NULL;
		mr_intervals_overlapping(&cache->tree, start, end, take_first, &entry);
		if (entry)
			entry_drop(cache, entry, dead);
	} while (entry);
}

void mr_cache_forget(struct mr_cache *cache, const void *addr, size_t len)
{
	struct util_list dead;

	util_list_init(&dead);
	pthread_mutex_lock(&cache->lock);
	cache->changes++;
	mr_cache_drop_locked(cache, (uintptr_t)addr, (uintptr_t)addr + len, &dead);
	pthread_mutex_unlock(&cache->lock);
	mr_cache_close_all(cache, &dead);
}

/* End what has been idle longest.  false: nothing is idle. */
static bool evict_one(struct mr_cache *cache)
{
	struct util_list dead;
	bool any;

	util_list_init(&dead);
	pthread_mutex_lock(&cache->lock);
	any = !util_list_empty(&cache->idle);
	if (any)
		entry_drop(cache, UTIL_LIST_ENTRY(cache->idle.next, struct mr_entry, node), &dead);
	pthread_mutex_unlock(&cache->lock);
	mr_cache_close_all(cache, &dead);
	if (any)
		MR_LEDGER_ADD(&cache->pool->ledger, cache_evictions, 1);
	return any;
}

/* ---- look-up ---------------------------------------------------------------------------- */

struct wanted {
	const struct mr_cache_want *want;
	uintptr_t start, end;
	unsigned access;
	bool merge;
	struct mr_entry *hit;
	uintptr_t union_start, union_end; /* with what overlaps and nobody uses */
};

static bool covers(const struct mr_entry *entry, const struct wanted *w)
{
	return entry->range.start <= w->start && entry->range.end >= w->end &&
	       (entry->reg.access & w->access) == w->access;
}

static bool consider(void *arg, struct mr_interval *item)
{
	struct wanted *w = arg;
	struct mr_entry *entry = entry_of(item);

	if (covers(entry, w)) {
		w->hit = entry;
		return false;
	}
	if (!w->merge || entry->refs || (entry->reg.access & w->access) != w->access)
		return true;
	if (item->start < w->union_start)
		w->union_start = item->start;
	if (item->end > w->union_end)
		w->union_end = item->end;
	return true;
}

/* An entry that covers what is wanted, held; NULL: none, and the union is set. */
static struct mr_entry *look_up(struct mr_cache *cache, struct wanted *w)
{
	w->hit = NULL;
	w->union_start = w->start;
	w->union_end = w->end;
	mr_intervals_overlapping(&cache->tree, w->start, w->end, consider, w);
	if (w->hit && !w->hit->refs++)
		util_list_del(&w->hit->node);
	return w->hit;
}

/* Verify mode: are the pages still those that were registered?  A liar leaves the tree. */
static bool verified(struct mr_cache *cache, struct mr_entry *entry)
{
	struct util_list dead;

	if (!entry->seen || mr_witness_same(entry->seen, entry->reg.addr, entry->reg.len))
		return true;
	MR_LEDGER_ADD(&cache->pool->ledger, cache_stale, 1);
	util_log(&cache->pool->log, UTIL_LOG_ERROR,
		 "a cached registration of %zu bytes is stale: the memory was unmapped and mapped "
		 "anew; deregister before unmapping, or turn the monitor on",
		 entry->reg.len);
	util_list_init(&dead);
	pthread_mutex_lock(&cache->lock);
	if (entry->cached)
		entry_drop(cache, entry, &dead);
	pthread_mutex_unlock(&cache->lock);
	mr_cache_put(cache, entry);
	return false;
}

/* ---- a miss ----------------------------------------------------------------------------- */

/* [start, end) for what is wanted. */
static int entry_register(struct mr_cache *cache, struct mr_entry *entry,
			  const struct mr_cache_want *want, uintptr_t start, uintptr_t end,
			  struct util_err *err)
{
	int ret;

	do
		ret = mr_piece_open(cache->pool, (void *)start, end - start, want->access,
				    want->small, &entry->reg, err);
	while ((ret == -ENOMEM || ret == -ENOSPC) && evict_one(cache));
	entry->range.start = start;
	entry->range.end = end;
	return ret;
}

/* Entries the new one makes needless. */
struct replaced {
	const struct mr_entry *by;
	struct mr_entry *entry;
};

static bool find_replaced(void *arg, struct mr_interval *item)
{
	struct replaced *r = arg;
	struct mr_entry *entry = entry_of(item);

	if (entry->refs || item->start < r->by->range.start || item->end > r->by->range.end ||
	    (entry->reg.access & ~r->by->reg.access & ~(unsigned)MR_ACCESS_PAGES_KNOWN))
		return true;
	r->entry = entry;
	return false;
}

static void enter(struct mr_cache *cache, struct mr_entry *entry, uint64_t changes)
{
	struct replaced r = {.by = entry};
	struct util_list dead;

	util_list_init(&dead);
	pthread_mutex_lock(&cache->lock);
	if (cache->changes != changes)
		entry->keep = false; /* the memory may be another by now */
	if (entry->keep) {
		do {
			r.entry = NULL;
			mr_intervals_overlapping(&cache->tree, entry->range.start, entry->range.end,
						 find_replaced, &r);
			if (r.entry)
				entry_drop(cache, r.entry, &dead);
		} while (r.entry);
		mr_intervals_add(&cache->tree, &entry->range);
		cache->entries++;
		entry->cached = true;
	}
	pthread_mutex_unlock(&cache->lock);
	mr_cache_close_all(cache, &dead);
}

static struct mr_entry *entry_new(struct mr_cache *cache, const struct wanted *w)
{
	struct mr_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	util_list_init(&entry->node);
	entry->refs = 1;
	entry->keep = w->want->keep;
	if (entry->keep && cache->monitor && !w->want->ours)
		entry->keep = mr_monitor_watch(cache->monitor, (void *)w->union_start,
					       w->union_end - w->union_start);
	return entry;
}

static int miss(struct mr_cache *cache, const struct wanted *w, uint64_t changes,
		struct mr_entry **entryp, struct util_err *err)
{
	struct mr_entry *entry = entry_new(cache, w);
	bool merged = w->union_start != w->start || w->union_end != w->end;
	int ret;

	if (!entry)
		return util_err_set(err, -ENOMEM, "no memory to manage a registration");
	ret = entry_register(cache, entry, w->want, w->union_start, w->union_end, err);
	if (ret && merged) /* what it was to be merged with may be gone */
		ret = entry_register(cache, entry, w->want, w->start, w->end, err);
	if (ret) {
		free(entry);
		return ret;
	}
	if (cache->verify && entry->keep) {
		entry->seen = mr_witness_take(entry->reg.addr, entry->reg.len);
		entry->keep = entry->seen != NULL;
	}
	enter(cache, entry, changes);
	*entryp = entry;
	return 0;
}

/* ---- get and put ------------------------------------------------------------------------ */

int mr_cache_get(struct mr_cache *cache, const struct mr_cache_want *want, struct mr_entry **entryp,
		 struct util_err *err)
{
	struct wanted w = {
		.want = want,
		.start = (uintptr_t)want->addr,
		.end = (uintptr_t)want->addr + want->len,
		.access = want->access,
		.merge = want->ours || cache->monitor,
	};
	struct mr_entry *entry;
	uint64_t changes;

	pthread_mutex_lock(&cache->lock);
	entry = look_up(cache, &w);
	changes = cache->changes;
	pthread_mutex_unlock(&cache->lock);
	if (entry && verified(cache, entry)) {
		MR_LEDGER_ADD(&cache->pool->ledger, iova_reuses, 1);
		*entryp = entry;
		return 0;
	}
	if (entry) { /* a stale one: alone, this time */
		w.union_start = w.start;
		w.union_end = w.end;
	}
	return miss(cache, &w, changes, entryp, err);
}

void mr_cache_put(struct mr_cache *cache, struct mr_entry *entry)
{
	bool dead = false;

	pthread_mutex_lock(&cache->lock);
	if (!--entry->refs) {
		dead = !entry->cached;
		if (!dead)
			util_list_add(&cache->idle, &entry->node);
	}
	pthread_mutex_unlock(&cache->lock);
	if (dead)
		entry_close(cache, entry);
}

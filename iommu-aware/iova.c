/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iova.c - addresses allocated per I/O: magazines of each thread, a depot behind them, then a tree.
 *
 * *Normal operation.*  A thread opens a *cache* and keeps it to itself.  For each size of 4 KiB to
 * 2 MiB (powers of two; a range is a multiple of its size, so it never straddles a larger page of
 * the tables) it holds two *magazines* of addresses.  To allocate is to pop from the loaded one, to
 * free is to push; where it is empty or full, the other is loaded instead.  Two, so that a thread
 * at the border does not go to the depot at each step.  Neither locks nor atomic read-modify-write
 * are involved, and whoever frees need not be who allocated.
 *
 * The *depot* has, for each size, full magazines and empty ones under a lock, taken once in a
 * magazine's worth of operations.  It grows with whatever threads bring, and is trimmed: when it
 * holds more than a full magazine for each cache, one of them goes back to the tree per visit, at
 * most every IOMMU_TRIM_NS.  A burst is forgotten, a steady exchange between threads is left alone.
 *
 * The *tree* (space.c) is what remains: larger sizes, and the first allocation of each address.
 *
 * *Limits.*  A device may reach less than the whole space.  A magazine is searched for an address
 * below the limit, newest first; if none is, the tree is asked.
 *
 * *Shortage.*  When the tree has none, addresses may lie idle in magazines.  The depot and the
 * thread's own are emptied, and the others are asked to do so, by a number they look at in each
 * operation: a thread that works gives back what it keeps, one that sleeps keeps at most two
 * magazines per size.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "iommu-aware/internal.h"
#include "iommu-aware/tree.h"

#define IOMMU_LINE 64
#define IOMMU_CLASSES 10			  /* 4 KiB << 0 to 4 KiB << 9 */
#define IOMMU_ROUNDS 127			  /* addresses of a magazine of small ranges */
#define IOMMU_MAGAZINE_BYTES (UINT64_C(16) << 20) /* and no magazine holds more space than that */
#define IOMMU_TRIM_NS (100 * UTIL_NS_PER_MS)

struct iommu_magazine {
	struct iommu_magazine *next;
	uint64_t count;
	uint64_t addr[IOMMU_ROUNDS];
};

struct iommu_shelf {
	struct iommu_magazine *first;
	unsigned count;
};

struct iommu_depot {
	_Alignas(IOMMU_LINE)
		pthread_mutex_t lock; /* protects all below; nests outside the space's */
	struct iommu_shelf full, empty;
	uint64_t trimmed_ns;
};

struct iommu_iova {
	struct iommu_space *space;
	uint64_t limit;
	_Atomic uint64_t shortage; /* rises with each: caches empty themselves */
	_Atomic uint64_t magazines;
	_Atomic uint32_t caches;
	struct iommu_depot depot[IOMMU_CLASSES];
};

struct iommu_pair {
	struct iommu_magazine *loaded, *previous;
};

struct iommu_iova_cache {
	struct iommu_iova *iova;
	uint64_t shortage; /* the last one heeded */
	struct iommu_pair pair[IOMMU_CLASSES];
};

/* ---- sizes -------------------------------------------------------------------------------- */

/* The smallest class that holds len; IOMMU_CLASSES or more: none does.  len is not 0. */
static inline unsigned iommu_class_of(uint64_t len)
{
	return len <= IOMMU_UNIT ? 0 : 64 - 12 - (unsigned)__builtin_clzll(len - 1);
}

static inline uint64_t iommu_class_size(unsigned class)
{
	return IOMMU_UNIT << class;
}

static inline uint64_t iommu_class_rounds(unsigned class)
{
	uint64_t rounds = IOMMU_MAGAZINE_BYTES >> 12 >> class;

	return rounds < IOMMU_ROUNDS ? rounds : IOMMU_ROUNDS;
}

/* ---- magazines ---------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct iommu_magazine *iommu_magazine_new(struct iommu_iova *iova)
{
	size_t size = (sizeof(struct iommu_magazine) + IOMMU_LINE - 1) / IOMMU_LINE * IOMMU_LINE;
	struct iommu_magazine *m = aligned_alloc(IOMMU_LINE, size);

	if (!m)
		return NULL;
	m->next = NULL;
	m->count = 0;
	atomic_fetch_add_explicit(&iova->magazines, 1, memory_order_relaxed);
	return m;
}

static void iommu_magazine_free(struct iommu_iova *iova, struct iommu_magazine *m)
{
	if (!m)
		return;
	free(m);
	atomic_fetch_sub_explicit(&iova->magazines, 1, memory_order_relaxed);
}

/* All of it back to the tree. */
static void iommu_magazine_empty(struct iommu_iova *iova, struct iommu_magazine *m, unsigned class)
{
	while (m && m->count > 0)
		iommu_space_free(iova->space, m->addr[--m->count], iommu_class_size(class));
}

/* The newest address that ends at or below limit. */
static inline bool iommu_magazine_pop(struct iommu_magazine *m, uint64_t size, uint64_t limit,
				      uint64_t *addrp)
{
	for (uint64_t i = m->count; i > 0; i--) {
		uint64_t addr = m->addr[i - 1];

		if (addr > limit - size)
			continue;
		m->addr[i - 1] = m->addr[m->count - 1];
		m->count--;
		*addrp = addr;
		return true;
	}
	return false;
}

/* ---- depot; all under its lock -------------------------------------------------------------- */

static void iommu_shelf_put(struct iommu_shelf *shelf, struct iommu_magazine *m)
{
	m->next = shelf->first;
	shelf->first = m;
	shelf->count++;
}

static struct iommu_magazine *iommu_shelf_take(struct iommu_shelf *shelf)
{
	struct iommu_magazine *m = shelf->first;

	if (m) {
		shelf->first = m->next;
		shelf->count--;
	}
	return m;
}

/* One surplus magazine of each kind, now and then. */
static void iommu_depot_trim(struct iommu_iova *iova, unsigned class)
{
	struct iommu_depot *depot = &iova->depot[class];
	unsigned keep = atomic_load_explicit(&iova->caches, memory_order_relaxed) + 1;
	struct iommu_magazine *m;
	uint64_t now;

	if (depot->full.count <= keep && depot->empty.count <= keep)
		return;
	now = util_clock_ns();
	if (now - depot->trimmed_ns < IOMMU_TRIM_NS)
		return;
	depot->trimmed_ns = now;
	if (depot->full.count > keep) {
		m = iommu_shelf_take(&depot->full);
		iommu_magazine_empty(iova, m, class);
		iommu_magazine_free(iova, m);
	}
	if (depot->empty.count > keep)
		iommu_magazine_free(iova, iommu_shelf_take(&depot->empty));
}

static void iommu_depot_empty(struct iommu_iova *iova, unsigned class)
{
	struct iommu_depot *depot = &iova->depot[class];
	struct iommu_magazine *m;

	pthread_mutex_lock(&depot->lock);
	while ((m = iommu_shelf_take(&depot->full))) {
		iommu_magazine_empty(iova, m, class);
		iommu_magazine_free(iova, m);
	}
	while ((m = iommu_shelf_take(&depot->empty)))
		iommu_magazine_free(iova, m);
	pthread_mutex_unlock(&depot->lock);
}

/* A full magazine for an empty one; false: the depot has none. */
static bool iommu_depot_refill(struct iommu_iova *iova, unsigned class, struct iommu_pair *pair)
{
	struct iommu_depot *depot = &iova->depot[class];
	struct iommu_magazine *m;

	pthread_mutex_lock(&depot->lock);
	m = iommu_shelf_take(&depot->full);
	if (m) {
		iommu_shelf_put(&depot->empty, pair->loaded);
		pair->loaded = m;
		iommu_depot_trim(iova, class);
	}
	pthread_mutex_unlock(&depot->lock);
	return m != NULL;
}

/* An empty magazine for a full one; false: there is no memory for one. */
static bool iommu_depot_drain(struct iommu_iova *iova, unsigned class, struct iommu_pair *pair)
{
	struct iommu_depot *depot = &iova->depot[class];
	struct iommu_magazine *m;

	pthread_mutex_lock(&depot->lock);
	m = iommu_shelf_take(&depot->empty);
	if (!m)
		m = iommu_magazine_new(iova);
	if (m) {
		iommu_shelf_put(&depot->full, pair->loaded);
		pair->loaded = m;
		iommu_depot_trim(iova, class);
	}
	pthread_mutex_unlock(&depot->lock);
	return m != NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

int iommu_iova_create(struct iommu_iova **iovap, uint64_t base, uint64_t limit)
{
	struct iommu_iova *iova = aligned_alloc(IOMMU_LINE, sizeof(*iova));
	int err;

	if (!iova)
		return -ENOMEM;
	memset(iova, 0, sizeof(*iova));
	err = iommu_space_create(&iova->space, base, limit);
	if (err) {
		free(iova);
		return err;
	}
	iova->limit = limit;
	for (unsigned i = 0; i < IOMMU_CLASSES; i++)
		pthread_mutex_init(&iova->depot[i].lock, NULL);
	*iovap = iova;
	return 0;
}

void iommu_iova_destroy(struct iommu_iova *iova)
{
	if (!iova)
		return;
	for (unsigned i = 0; i < IOMMU_CLASSES; i++) {
		iommu_depot_empty(iova, i);
		pthread_mutex_destroy(&iova->depot[i].lock);
	}
	iommu_space_destroy(iova->space);
	free(iova);
}

int iommu_iova_cache_open(struct iommu_iova *iova, struct iommu_iova_cache **cachep)
{
	size_t size = (sizeof(struct iommu_iova_cache) + IOMMU_LINE - 1) / IOMMU_LINE * IOMMU_LINE;
	struct iommu_iova_cache *cache = aligned_alloc(IOMMU_LINE, size);

	if (!cache)
		return -ENOMEM;
	memset(cache, 0, sizeof(*cache));
	cache->iova = iova;
	cache->shortage = atomic_load_explicit(&iova->shortage, memory_order_relaxed);
	atomic_fetch_add_explicit(&iova->caches, 1, memory_order_relaxed);
	for (unsigned i = 0; i < IOMMU_CLASSES; i++) {
		cache->pair[i].loaded = iommu_magazine_new(iova);
		cache->pair[i].previous = iommu_magazine_new(iova);
		if (!cache->pair[i].loaded || !cache->pair[i].previous) {
			iommu_iova_cache_close(cache);
			return -ENOMEM;
		}
	}
	*cachep = cache;
	return 0;
}

static void iommu_cache_empty(struct iommu_iova_cache *cache)
{
	for (unsigned i = 0; i < IOMMU_CLASSES; i++) {
		iommu_magazine_empty(cache->iova, cache->pair[i].loaded, i);
		iommu_magazine_empty(cache->iova, cache->pair[i].previous, i);
	}
}

void iommu_iova_cache_close(struct iommu_iova_cache *cache)
{
	if (!cache)
		return;
	iommu_cache_empty(cache);
	for (unsigned i = 0; i < IOMMU_CLASSES; i++) {
		iommu_magazine_free(cache->iova, cache->pair[i].loaded);
		iommu_magazine_free(cache->iova, cache->pair[i].previous);
	}
	atomic_fetch_sub_explicit(&cache->iova->caches, 1, memory_order_relaxed);
	free(cache);
}

void iommu_iova_trim(struct iommu_iova *iova)
{
	for (unsigned i = 0; i < IOMMU_CLASSES; i++)
		iommu_depot_empty(iova, i);
}

/* ---- allocating ------------------------------------------------------------------------------ */

static void iommu_pair_swap(struct iommu_pair *pair)
{
	struct iommu_magazine *m = pair->loaded;

	pair->loaded = pair->previous;
	pair->previous = m;
}

/* Somebody found nothing: give back what lies idle here. */
static void iommu_cache_heed(struct iommu_iova_cache *cache, uint64_t shortage)
{
	cache->shortage = shortage;
	iommu_cache_empty(cache);
}

/* A range from the tree, or after everybody's magazines were emptied. */
static int iommu_iova_fresh(struct iommu_iova_cache *cache, uint64_t len, uint64_t align,
			    uint64_t limit, uint64_t *addrp)
{
	struct iommu_iova *iova = cache->iova;
	int err = iommu_space_alloc_below(iova->space, len, align, 0, limit, addrp);

	if (err != -ENOSPC)
		return err;
	iommu_cache_heed(cache,
			 1 + atomic_fetch_add_explicit(&iova->shortage, 1, memory_order_relaxed));
	iommu_iova_trim(iova);
	return iommu_space_alloc_below(iova->space, len, align, 0, limit, addrp);
}

/* The loaded magazine had none: the other, the depot, the tree. */
static __attribute__((noinline)) int iommu_iova_alloc_slow(struct iommu_iova_cache *cache,
							   unsigned class, uint64_t limit,
							   uint64_t *addrp)
{
	struct iommu_pair *pair = &cache->pair[class];
	uint64_t size = iommu_class_size(class);

	if (iommu_magazine_pop(pair->previous, size, limit, addrp)) {
		if (pair->loaded->count == 0)
			iommu_pair_swap(pair);
		return 0;
	}
	if (pair->loaded->count == 0 && iommu_depot_refill(cache->iova, class, pair) &&
	    iommu_magazine_pop(pair->loaded, size, limit, addrp))
		return 0;
	return iommu_iova_fresh(cache, size, size, limit, addrp);
}

static int iommu_iova_alloc_large(struct iommu_iova_cache *cache, uint64_t len, uint64_t limit,
				  uint64_t *addrp)
{
	/* Above half of the space of numbers there is no power of two to align to. */
	if (len > UINT64_C(1) << 62)
		return -ENOSPC;
	return iommu_iova_fresh(cache, len, iommu_class_size(iommu_class_of(len)), limit, addrp);
}

int iommu_iova_alloc(struct iommu_iova_cache *cache, uint64_t len, uint64_t limit, uint64_t *addrp)
{
	uint64_t shortage = atomic_load_explicit(&cache->iova->shortage, memory_order_relaxed);
	unsigned class;

	if (len == 0)
		return -EINVAL;
	if (shortage != cache->shortage)
		iommu_cache_heed(cache, shortage);
	if (limit == 0 || limit > cache->iova->limit)
		limit = cache->iova->limit;
	class = iommu_class_of(len);
	if (class >= IOMMU_CLASSES)
		return iommu_iova_alloc_large(cache, len, limit, addrp);
	if (limit < iommu_class_size(class))
		return -ENOSPC;
	if (iommu_magazine_pop(cache->pair[class].loaded, iommu_class_size(class), limit, addrp))
		return 0;
	return iommu_iova_alloc_slow(cache, class, limit, addrp);
}

static __attribute__((noinline)) void iommu_iova_free_slow(struct iommu_iova_cache *cache,
							   unsigned class, uint64_t addr)
{
	struct iommu_pair *pair = &cache->pair[class];

	if (pair->previous->count < iommu_class_rounds(class))
		iommu_pair_swap(pair);
	else if (!iommu_depot_drain(cache->iova, class, pair)) {
		iommu_space_free(cache->iova->space, addr, iommu_class_size(class));
		return;
	}
	pair->loaded->addr[pair->loaded->count++] = addr;
}

void iommu_iova_free(struct iommu_iova_cache *cache, uint64_t addr, uint64_t len)
{
	uint64_t shortage = atomic_load_explicit(&cache->iova->shortage, memory_order_relaxed);
	unsigned class = iommu_class_of(len);
	struct iommu_magazine *m;

	if (shortage != cache->shortage)
		iommu_cache_heed(cache, shortage);
	if (class >= IOMMU_CLASSES) {
		iommu_space_free(cache->iova->space, addr, len);
		return;
	}
	m = cache->pair[class].loaded;
	if (m->count < iommu_class_rounds(class))
		m->addr[m->count++] = addr;
	else
		iommu_iova_free_slow(cache, class, addr);
}

void iommu_iova_stats(struct iommu_iova *iova, struct iommu_iova_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->magazines = atomic_load_explicit(&iova->magazines, memory_order_relaxed);
	stats->shortages = atomic_load_explicit(&iova->shortage, memory_order_relaxed);
	stats->bytes_out = iommu_space_used(iova->space);
	stats->tree_nodes = iommu_space_nodes(iova->space);
	for (unsigned i = 0; i < IOMMU_CLASSES; i++) {
		struct iommu_depot *depot = &iova->depot[i];

		pthread_mutex_lock(&depot->lock);
		stats->depot_magazines += depot->full.count + depot->empty.count;
		pthread_mutex_unlock(&depot->lock);
	}
}

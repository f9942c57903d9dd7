/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.h - registrations of memory we do not own, kept from use to use.  Private to mr/.
 */
#ifndef NFSRDMA_MR_CACHE_H
#define NFSRDMA_MR_CACHE_H

#include "mr/internal.h"
#include "mr/interval.h"

struct mr_monitor;

/* One cached registration. */
struct mr_entry {
	struct mr_interval range; /* exactly the bytes registered */
	struct mr_registration reg;
	unsigned refs;		 /* users; protected by the cache's lock, as is all below */
	bool cached;		 /* in the tree */
	bool keep;		 /* stays when nobody uses it */
	struct util_list node;	 /* idle, by last use; or a list of those to be closed */
	struct mr_witness *seen; /* verify mode: the pages that were registered */
};

struct mr_cache {
	struct mr_pool *pool;
	pthread_mutex_t lock; /* protects all below.  Nests inside the pool's; nothing that maps,
			       * unmaps, registers or frees memory is done under it, because the
			       * monitor's reader needs it to let an munmap() through */
	struct mr_intervals tree;
	struct util_list idle; /* oldest first */
	uint64_t changes;      /* of the address space, as the monitor reports them */
	unsigned entries;
	bool verify;
	struct mr_monitor *monitor; /* NULL: off */
};

/* monitor as the user asked for.  -ENOMEM; -EPERM: asked for what privilege is missing for. */
int mr_cache_create(struct mr_cache **cachep, struct mr_pool *pool,
		    const struct mr_pool_params *params, struct util_err *err);
/* No entry is in use.  NULL is fine. */
void mr_cache_destroy(struct mr_cache *cache);
struct mr_cache_want {
	void *addr;
	size_t len;
	unsigned access; /* at least */
	bool keep;	 /* it may stay when it is put */
	bool ours;	 /* a slab's: no mapping of it changes behind our back */
	bool small;	 /* see mr_piece_open() */
};

/*
 * A registration that covers what is wanted.  -ENOMEM: a limit, and nothing idle is left to evict;
 * -EFAULT: the memory cannot be pinned.
 */
int mr_cache_get(struct mr_cache *cache, const struct mr_cache_want *want, struct mr_entry **entryp,
		 struct util_err *err);
void mr_cache_put(struct mr_cache *cache, struct mr_entry *entry);
/* The memory is about to be unmapped or has been: idle registrations of any of it end before this
 * returns, those in use when they are put. */
void mr_cache_forget(struct mr_cache *cache, const void *addr, size_t len);

/* For the monitor, under the lock: take entries that touch the range out of the tree; those that
 * nobody uses go to dead, to be closed by mr_cache_close_all() without the lock. */
void mr_cache_drop_locked(struct mr_cache *cache, uintptr_t start, uintptr_t end,
			  struct util_list *dead);
void mr_cache_close_all(struct mr_cache *cache, struct util_list *dead);

/* monitor.c */
int mr_monitor_open(struct mr_monitor **monitorp, struct mr_cache *cache, enum mr_monitor_wish wish,
		    struct util_err *err);
void mr_monitor_close(struct mr_monitor *monitor);
/* Watch the pages of a range.  false: this kind of memory cannot be watched. */
bool mr_monitor_watch(struct mr_monitor *monitor, const void *addr, size_t len);

/* witness.c: which page frames are behind a range */
/* -EPERM: this process may not see them. */
int mr_witness_allowed(struct util_err *err);
/* NULL: no memory. */
struct mr_witness *mr_witness_take(const void *addr, size_t len);
bool mr_witness_same(const struct mr_witness *seen, const void *addr, size_t len);

#endif

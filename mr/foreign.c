/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * foreign.c - leases of memory that is not ours.
 *
 * Such a lease looks like one of the pool's and goes the same ways, but its memory stays the
 * owner's.  It holds a registration from the cache (cache.c): in cache mode one that may stay when
 * the lease is given, in the other modes one of its own.  In window mode that registration grants
 * the peer nothing by itself, as with slabs.  Over a provider that registers nothing it is empty.
 */
#include <errno.h>

#include "mr/cache.h"

static struct mr_cell *foreign_cell(struct mr_pool *pool)
{
	struct mr_cell *cell;

	pthread_mutex_lock(&pool->lock);
	cell = mr_cell_spare(pool);
	pthread_mutex_unlock(&pool->lock);
	return cell;
}

static void foreign_fill(struct mr_cell *cell, enum mr_kind kind, void *addr, size_t len)
{
	const struct mr_entry *entry = cell->entry;

	cell->class = MR_CLASS_FOREIGN;
	cell->span = NULL;
	cell->lease.addr = addr;
	cell->lease.len = cell->lease.size = len;
	cell->lease.kind = kind;
	cell->lease.lkey = cell->lease.rkey = 0;
	cell->lease.iova = (uintptr_t)addr;
	if (entry) {
		cell->lease.lkey = entry->reg.lkey;
		cell->lease.rkey = entry->reg.rkey;
		cell->lease.iova = entry->reg.iova + ((uintptr_t)addr - (uintptr_t)entry->reg.addr);
	}
	atomic_store_explicit(&cell->state, MR_CELL_OUT, memory_order_relaxed);
}

int mr_lease_take_memory(struct mr_pool *pool, enum mr_kind kind, void *addr, size_t len,
			 struct mr_lease **leasep, struct util_err *err)
{
	struct mr_cache_want want = {
		.addr = addr,
		.len = len,
		.keep = pool->mode == MR_MODE_CACHE,
	};
	struct mr_entry *entry = NULL;
	struct mr_cell *cell;
	int ret;

	if (!addr || !len || len > UINTPTR_MAX - (uintptr_t)addr || kind > MR_KIND_BOTH)
		return util_err_set(err, -EINVAL, "memory needs an address, a length and a kind");
	cell = foreign_cell(pool);
	if (!cell)
		return util_err_set(err, -ENOMEM, "no memory to manage a lease");
	if (pool->provider->registers) {
		want.access = mr_mode_slab_access(pool->mode, kind);
		ret = mr_cache_get(pool->cache, &want, &entry, err);
		if (ret)
			goto err_cell;
	}
	cell->entry = entry;
	foreign_fill(cell, kind, addr, len);
	atomic_fetch_add_explicit(&pool->shared->fresh, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&pool->shared->taken, 1, memory_order_relaxed);
	*leasep = &cell->lease;
	return 0;

err_cell:
	mr_foreign_cell_give(pool, cell);
	return ret;
}

void mr_foreign_cell_give(struct mr_pool *pool, struct mr_cell *cell)
{
	pthread_mutex_lock(&pool->lock);
	mr_chain_add(&pool->spare, cell);
	pthread_mutex_unlock(&pool->lock);
}

void mr_foreign_give(struct mr_pool *pool, struct mr_cell *cell)
{
	if (cell->entry)
		mr_cache_put(pool->cache, cell->entry);
	cell->entry = NULL;
	atomic_fetch_add_explicit(&pool->shared->given, 1, memory_order_relaxed);
	atomic_store_explicit(&cell->state, MR_CELL_IDLE, memory_order_release);
	mr_foreign_cell_give(pool, cell);
}

const struct mr_registration *mr_cell_registration(const struct mr_cell *cell)
{
	return cell->class == MR_CLASS_FOREIGN ? &cell->entry->reg : &cell->span->slab->reg;
}

void mr_lease_bounced(struct mr_pool *pool)
{
	MR_LEDGER_ADD(&pool->ledger, bounces, 1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.c - a pool's life: what it is made for, what it holds, what it gives back.
 *
 * A pool belongs to one protection domain and one server.  It starts empty, grows by slabs when a
 * lease is wanted (grow.c), shrinks when told to trim or when a limit makes it, and releases
 * everything at its end.  Registrations that are not slabs, of pieces of a keyless slab or of the
 * application's memory, are its cache's.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "mr/cache.h"

static const struct mr_pool *mr_pool_of_source(const struct mr_ledger_source *source)
{
	return UTIL_CONTAINER_OF(source, struct mr_pool, source);
}

/* A take that had to register is no reuse; without a device or with memory that is not registered
 * yet there is no mapping to reuse. */
bool mr_pool_reuses(const struct mr_pool *pool)
{
	return pool->provider->registers && !pool->keyless;
}

/*
 * Given is read before taken: a lease's give comes after its take, so the difference is never
 * negative, whatever moves meanwhile.
 */
static void mr_pool_fold(const struct mr_ledger_source *source, struct mr_ledger_snapshot *snap)
{
	const struct mr_pool *pool = mr_pool_of_source(source);
	struct mr_slot *slot;
	uint64_t taken, given, fresh;

	given = atomic_load_explicit(&pool->shared->given, memory_order_acquire);
	for (unsigned i = 0; i < MR_SLOTS; i++)
		if ((slot = atomic_load_explicit(&pool->slots[i], memory_order_acquire)))
			given += atomic_load_explicit(&slot->lane->given, memory_order_acquire);
	fresh = atomic_load_explicit(&pool->shared->fresh, memory_order_relaxed);
	taken = atomic_load_explicit(&pool->shared->taken, memory_order_acquire);
	for (unsigned i = 0; i < MR_SLOTS; i++)
		if ((slot = atomic_load_explicit(&pool->slots[i], memory_order_acquire)))
			taken += atomic_load_explicit(&slot->lane->taken, memory_order_acquire);
	snap->leases_taken += taken;
	snap->leases_given += given;
	snap->leases_now += taken > given ? taken - given : 0;
	if (mr_pool_reuses(pool) && taken > fresh)
		snap->iova_reuses += taken - fresh;
	if (pool->provider->ops->count_iommu)
		pool->provider->ops->count_iommu(pool->provider, snap);
}

/* What was counted is in the ledgers. */
static void mr_pool_fold_end(struct mr_ledger_source *source)
{
	struct mr_pool *pool = UTIL_CONTAINER_OF(source, struct mr_pool, source);
	struct mr_slot *slot;

	for (unsigned i = 0; i < MR_SLOTS; i++)
		if ((slot = atomic_load_explicit(&pool->slots[i], memory_order_acquire)))
			mr_lane_give(slot->lane);
	mr_lane_give(pool->shared);
}

static enum mr_backing mr_pool_backing(const struct mr_pool *pool, enum mr_hugepages hugepages)
{
	switch (hugepages) {
	case MR_HUGE_OFF:
		return MR_BACKING_4K;
	case MR_HUGE_2M:
		return MR_BACKING_2M;
	case MR_HUGE_1G:
		return MR_BACKING_1G;
	case MR_HUGE_AUTO:
		break;
	}
	/* A piece of a huge page is charged as all of it: no good where pieces are registered. */
	if (pool->keyless)
		return MR_BACKING_4K;
	return pool->geometry.page_size > MR_PAGE ? MR_BACKING_2M : MR_BACKING_4K;
}

/* Before there is a slab to look at. */
static enum mr_backing mr_pool_likely(const struct mr_pool *pool, const struct iommu_facts *facts)
{
	if (pool->best == MR_BACKING_1G && facts->huge_1g_free)
		return MR_BACKING_1G;
	if (pool->best >= MR_BACKING_2M && facts->huge_2m_free)
		return MR_BACKING_2M;
	if (pool->best >= MR_BACKING_THP && pool->thp)
		return MR_BACKING_THP;
	return MR_BACKING_4K;
}

/* What was asked for goes before the policy, and one registration must hold a slab. */
static void mr_pool_slab_size(struct mr_pool *pool, const struct mr_pool_params *params)
{
	size_t page = params->hugepages == MR_HUGE_AUTO ? MR_PAGE : mr_backing_page(pool->best);
	uint64_t size = params->slab_size ? params->slab_size : pool->geometry.slab_size;
	const struct mr_provider *provider = pool->provider;
	const char *why = params->slab_size ? "as asked for" : "one page each";
	char text[24];

	size = mr_round_up(size, page);
	if (provider->max_region >= MR_PAGE && size > provider->max_region) {
		size = provider->max_region / MR_PAGE * MR_PAGE;
		why = "the longest registration of the device";
	}
	if (size == pool->geometry.slab_size)
		return;
	pool->geometry.slab_size = size;
	snprintf(pool->geometry.why, sizeof(pool->geometry.why), "slabs of at most %s: %s",
		 util_size_format(size, text, sizeof(text)), why);
}

/* Machine, device and wishes to a geometry. */
static void mr_pool_shape(struct mr_pool *pool, const struct mr_pool_params *params)
{
	struct iommu_facts facts;
	struct iommu_device device;
	struct mr_cgroup cgroup;

	iommu_probe(&facts, NULL);
	iommu_probe_device(&device, pool->provider->device, NULL);
	if (params->numa_node >= 0)
		device.node = params->numa_node;
	else if (pool->provider->numa_node >= 0)
		device.node = pool->provider->numa_node;
	mr_cgroup_read(&cgroup, "");
	mr_budget_init(&pool->budget, params, pool->provider, &facts, &cgroup);
	if (!pool->provider->registers)
		facts.ipc_lock = true; /* nothing is pinned: the limit does not bind */
	iommu_policy_geometry(&pool->geometry, &facts, &device, params->max_pinned);
	iommu_policy_batching(&pool->batching, &device);
	pool->node = pool->geometry.node;
	pool->best = mr_pool_backing(pool, params->hugepages);
	pool->thp = facts.thp[0] && strcmp(facts.thp, "never");
	pool->likely = mr_pool_likely(pool, &facts);
	mr_pool_slab_size(pool, params);
}

static size_t mr_pool_longest(const struct mr_pool *pool)
{
	uint64_t max = pool->budget.bytes_max;

	if (pool->provider->registers && pool->budget.pinned_max < max)
		max = pool->budget.pinned_max;
	if (pool->provider->max_region && pool->provider->max_region < max)
		max = pool->provider->max_region;
	return max / MR_PAGE * MR_PAGE;
}

int mr_pool_create(struct mr_pool **poolp, struct mr_provider *provider,
		   const struct mr_pool_params *params, struct util_err *err)
{
	enum mr_mode mode = provider->registers ? params->mode : MR_MODE_POOL;
	struct mr_pool *pool;
	int ret = mr_mode_check(mode, provider, err);

	if (ret)
		return ret;
	if (params->slab_size > UINT64_MAX / 2)
		return util_err_set(err, -EINVAL, "a slab of %llu bytes is too large",
				    (unsigned long long)params->slab_size);
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return util_err_set(err, -ENOMEM, "no memory for a pool");
	pool->provider = provider;
	pool->mode = mode;
	pool->keyless = mode == MR_MODE_PER_IO || mode == MR_MODE_CACHE;
	pool->poison = params->poison;
	if (params->log)
		pool->log = *params->log;
	pthread_mutex_init(&pool->lock, NULL);
	util_list_init(&pool->slabs);
	for (unsigned i = 0; i < MR_KIND_COUNT; i++)
		util_list_init(&pool->spans[i]);
	mr_pool_shape(pool, params);
	pool->max_lease = mr_pool_longest(pool);
	mr_ledger_init(&pool->ledger, params->ledger_parent);
	pool->source.fold = mr_pool_fold;
	pool->source.end = mr_pool_fold_end;
	ret = mr_cache_create(&pool->cache, pool, params, err);
	if (ret) {
		pthread_mutex_destroy(&pool->lock);
		free(pool);
		return ret;
	}
	pool->shared = mr_lane_take(&pool->ledger, &pool->own, mr_pool_reuses(pool));
	mr_ledger_attach(&pool->ledger, &pool->source);
	*poolp = pool;
	return 0;
}

static void mr_pool_release_slab(struct mr_pool *pool, struct mr_slab *slab)
{
	if (slab->large) {
		mr_span_destroy(pool, slab->large->span);
		mr_chain_add(&pool->spare, slab->large);
	}
	mr_slab_destroy(pool, slab);
}

uint64_t mr_pool_trim_locked(struct mr_pool *pool)
{
	uint64_t before = pool->bytes;

	for (unsigned kind = 0; kind < MR_KIND_COUNT; kind++)
		mr_span_sweep(pool, (enum mr_kind)kind);
	UTIL_LIST_FOR_EACH_SAFE (node, &pool->slabs) {
		struct mr_slab *slab = UTIL_LIST_ENTRY(node, struct mr_slab, node);

		if (mr_slab_idle(slab))
			mr_pool_release_slab(pool, slab);
	}
	return before - pool->bytes;
}

uint64_t mr_pool_trim(struct mr_pool *pool)
{
	uint64_t released;

	pthread_mutex_lock(&pool->lock);
	released = mr_pool_trim_locked(pool);
	pthread_mutex_unlock(&pool->lock);
	return released;
}

void mr_pool_destroy(struct mr_pool *pool)
{
	if (!pool)
		return;
	mr_pool_trim_locked(pool);
	assert(util_list_empty(&pool->slabs)); /* every lease was given back */
	mr_cache_destroy(pool->cache);
	mr_ledger_detach(&pool->ledger, &pool->source);
	for (unsigned i = 0; i < MR_SLOTS; i++)
		free(pool->slots[i]);
	for (unsigned i = 0; i < MR_CHUNKS && pool->chunks[i]; i++)
		free(pool->chunks[i]);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void mr_pool_forget_memory(struct mr_pool *pool, const void *addr, size_t len)
{
	mr_cache_forget(pool->cache, addr, len);
}

size_t mr_pool_max_lease(const struct mr_pool *pool)
{
	return pool->max_lease;
}

struct mr_ledger *mr_pool_ledger(struct mr_pool *pool)
{
	return &pool->ledger;
}

enum mr_mode mr_pool_mode(const struct mr_pool *pool)
{
	return pool->mode;
}

struct mr_provider *mr_pool_provider(struct mr_pool *pool)
{
	return pool->provider;
}

const struct iommu_batching *mr_pool_batching(const struct mr_pool *pool)
{
	return &pool->batching;
}

uint64_t mr_pool_poison_hits(const struct mr_pool *pool)
{
	return atomic_load_explicit(&pool->poison_hits, memory_order_relaxed);
}

/* The best backing that slabs really got; before the first one, what it is likely to be.  Hoping
 * for transparent huge pages is in vain where they are switched off. */
static enum mr_backing mr_pool_backing_now(struct mr_pool *pool)
{
	enum mr_backing best = MR_BACKING_4K;

	if (util_list_empty(&pool->slabs))
		return pool->likely;
	UTIL_LIST_FOR_EACH (node, &pool->slabs) {
		struct mr_slab *slab = UTIL_LIST_ENTRY(node, struct mr_slab, node);

		if (slab->memory.backing > best)
			best = slab->memory.backing;
	}
	if (best == MR_BACKING_THP && !pool->thp)
		return MR_BACKING_4K;
	return best;
}

const char *mr_pool_describe(const struct mr_pool *pool, char *buf, size_t len)
{
	struct mr_pool *p = (struct mr_pool *)pool; /* for the lock */
	char node[24] = "any node";
	enum mr_backing backing;

	pthread_mutex_lock(&p->lock);
	backing = mr_pool_backing_now(p);
	pthread_mutex_unlock(&p->lock);
	if (pool->node >= 0)
		snprintf(node, sizeof(node), "node %d", pool->node);
	snprintf(buf, len, "%s, %s, %s", mr_backing_name(backing), node, pool->geometry.why);
	return buf;
}

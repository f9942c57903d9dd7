/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grant.c - what the peer may reach for one call, in whatever mode the pool is.
 *
 * Normal operation.  A connection has a binder, and the binder a list of grants.  Opening one costs
 * what the mode costs: nothing (the slab's key is good already), a bind that travels with the call
 * in one doorbell, a registration, or a look into the cache.  Closing is the way back; in window
 * mode the peer's own invalidation saves the local one.
 *
 * Rotation.  A window's key has eight bits that change with each bind, so on a device an old key is
 * good again after 256 binds of the same window.  Grants with windows are therefore reused first
 * in, first out, and never while fewer than ROTATION of them are idle: an old key comes back after
 * 256 turns of all of them at the earliest.  Other grants are reused last in, first out: warm.
 *
 * Recovery.  With its connection a window's binding ends, but what the device thinks of the window
 * is not worth knowing: mr_binder_reset() starts a new generation, and a window of an older one is
 * freed and allocated anew before it is bound again.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "mr/cache.h"

#define ROTATION 64u
#define CHUNK 64u
#define PREPARED_MAX 512u /* windows allocated ahead of their first use */

enum grant_state {
	GRANT_IDLE,
	GRANT_DIRECT,	  /* the lease's own key */
	GRANT_BOUND,	  /* a window, bound or about to be */
	GRANT_CLOSING,	  /* its invalidation is posted */
	GRANT_REGISTERED, /* a registration of its own */
	GRANT_CACHED,	  /* one of the cache's */
};

struct chunk {
	struct util_list node;
	struct mr_grant grants[CHUNK];
};

struct mr_binder {
	struct mr_pool *pool;
	struct mr_grant *first, *last; /* idle */
	unsigned idle, open, made;
	unsigned generation;
	bool windows;
	struct util_list chunks;
};

/* ---- the idle list ---------------------------------------------------------------------- */

static void idle_add_last(struct mr_binder *binder, struct mr_grant *grant)
{
	grant->next = NULL;
	if (binder->last)
		binder->last->next = grant;
	else
		binder->first = grant;
	binder->last = grant;
	binder->idle++;
}

static void idle_add_first(struct mr_binder *binder, struct mr_grant *grant)
{
	grant->next = binder->first;
	binder->first = grant;
	if (!binder->last)
		binder->last = grant;
	binder->idle++;
}

static struct mr_grant *idle_take(struct mr_binder *binder)
{
	struct mr_grant *grant = binder->first;

	binder->first = grant->next;
	if (!binder->first)
		binder->last = NULL;
	binder->idle--;
	return grant;
}

static int binder_grow(struct mr_binder *binder)
{
	struct chunk *chunk;

	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	util_list_add(&binder->chunks, &chunk->node);
	for (unsigned i = 0; i < CHUNK; i++) {
		chunk->grants[i].generation = binder->generation;
		idle_add_last(binder, &chunk->grants[i]);
	}
	binder->made += CHUNK;
	return 0;
}

/* ---- windows ---------------------------------------------------------------------------- */

static void window_free(struct mr_binder *binder, struct mr_grant *grant)
{
	struct mr_provider *provider = binder->pool->provider;

	if (grant->window.priv) {
		provider->ops->window_free(provider, &grant->window);
		atomic_fetch_sub_explicit(&provider->windows, 1, memory_order_relaxed);
	}
	grant->window = (struct mr_window){0};
}

/* A window of this generation. */
static int window_ready(struct mr_binder *binder, struct mr_grant *grant)
{
	struct mr_provider *provider = binder->pool->provider;
	int ret;

	if (grant->generation != binder->generation)
		window_free(binder, grant);
	grant->generation = binder->generation;
	if (grant->window.priv)
		return 0;
	ret = -ENOSPC;
	if (atomic_fetch_add_explicit(&provider->windows, 1, memory_order_relaxed) <
	    provider->max_windows)
		ret = provider->ops->window_alloc(provider, &grant->window);
	if (ret)
		atomic_fetch_sub_explicit(&provider->windows, 1, memory_order_relaxed);
	return ret;
}

/* Words for a window that is not to be had. */
static int window_refused(struct mr_binder *binder, int code, struct util_err *err)
{
	const struct mr_provider *provider = binder->pool->provider;

	MR_LEDGER_ADD(&binder->pool->ledger, limit_refusals, 1);
	util_err_set(err, code, "memory windows: device %s has %u (max_mw), and %u are in use",
		     provider->device, provider->max_windows,
		     atomic_load_explicit(&provider->windows, memory_order_relaxed));
	util_err_hint(err, "use fewer slots= or connections, or mr=pool");
	return code;
}

/* Allocate the windows the first calls will want, so that none of them has to. */
static int windows_prepare(struct mr_binder *binder, uint32_t calls)
{
	uint64_t want = (uint64_t)calls + ROTATION;
	unsigned done = 0;
	int err = 0;

	if (want > PREPARED_MAX)
		want = PREPARED_MAX;
	while (!err && binder->made < want)
		err = binder_grow(binder);
	for (struct mr_grant *grant = binder->first; !err && grant && done < want; done++) {
		err = window_ready(binder, grant);
		grant = grant->next;
	}
	return done > 1 ? 0 : err; /* the first calls may have to wait for each other */
}

/* ---- binder ----------------------------------------------------------------------------- */

int mr_binder_create(struct mr_binder **binderp, struct mr_pool *pool, uint32_t calls,
		     struct util_err *err)
{
	struct mr_binder *binder = calloc(1, sizeof(*binder));
	int ret;

	if (!binder)
		return util_err_set(err, -ENOMEM, "no memory to manage grants");
	util_list_init(&binder->chunks);
	binder->pool = pool;
	binder->windows = pool->mode == MR_MODE_WINDOW;
	ret = binder->windows ? windows_prepare(binder, calls) : binder_grow(binder);
	if (ret) {
		if (binder->windows)
			window_refused(binder, ret, err);
		else
			util_err_set(err, ret, "no memory to manage grants");
		mr_binder_destroy(binder);
		return ret;
	}
	*binderp = binder;
	return 0;
}

void mr_binder_destroy(struct mr_binder *binder)
{
	struct util_list *node;

	if (!binder)
		return;
	assert(!binder->open);
	while ((node = util_list_pop(&binder->chunks))) {
		struct chunk *chunk = UTIL_LIST_ENTRY(node, struct chunk, node);

		for (unsigned i = 0; i < CHUNK; i++)
			window_free(binder, &chunk->grants[i]);
		free(chunk);
	}
	free(binder);
}

void mr_binder_reset(struct mr_binder *binder)
{
	binder->generation++;
}

bool mr_binder_all_windows(const struct mr_binder *binder)
{
	return binder->windows;
}

unsigned mr_binder_ops(const struct mr_binder *binder, unsigned npieces)
{
	return binder->windows ? npieces : 0;
}

/* ---- open ------------------------------------------------------------------------------- */

static unsigned peer_access(enum mr_kind kind)
{
	return kind == MR_KIND_READ ? MR_ACCESS_REMOTE_WRITE : MR_ACCESS_REMOTE_READ;
}

static int open_bound(struct mr_binder *binder, const struct mr_cell *cell, struct mr_grant *grant,
		      enum mr_kind kind, struct util_err *err)
{
	struct mr_provider *provider = binder->pool->provider;
	int ret = window_ready(binder, grant);

	if (!ret)
		ret = provider->ops->window_next_key(provider, &grant->window, &grant->rkey);
	if (ret)
		return window_refused(binder, ret, err);
	grant->op = (struct mr_op){
		.kind = MR_OP_BIND,
		.window = &grant->window,
		.rkey = grant->rkey,
		.reg = mr_cell_registration(cell),
		.iova = grant->iova,
		.len = grant->len,
		.access = peer_access(kind),
	};
	grant->state = GRANT_BOUND;
	mr_window_count_bound(&binder->pool->ledger);
	return 1;
}

/* Slabs of the modes that register pieces are made of small pages, unless the user said otherwise.
 */
static bool small_pages(const struct mr_cell *cell)
{
	return cell->span->slab->memory.backing == MR_BACKING_4K;
}

static int open_registered(struct mr_binder *binder, const struct mr_cell *cell,
			   struct mr_grant *grant, void *addr, enum mr_kind kind,
			   struct util_err *err)
{
	int ret = mr_piece_open(binder->pool, addr, grant->len, mr_kind_access(kind),
				small_pages(cell), &grant->reg, err);

	if (ret)
		return ret;
	grant->rkey = grant->reg.rkey;
	grant->iova = grant->reg.iova;
	grant->state = GRANT_REGISTERED;
	return 0;
}

static int open_cached(struct mr_binder *binder, const struct mr_cell *cell, struct mr_grant *grant,
		       void *addr, enum mr_kind kind, struct util_err *err)
{
	const struct mr_cache_want want = {
		.addr = addr,
		.len = grant->len,
		.access = mr_kind_access(kind),
		.keep = true,
		.ours = true,
		.small = small_pages(cell),
	};
	struct mr_entry *entry;
	int ret = mr_cache_get(binder->pool->cache, &want, &entry, err);

	if (ret)
		return ret;
	grant->entry = entry;
	grant->rkey = entry->reg.rkey;
	grant->iova = entry->reg.iova + ((uintptr_t)addr - (uintptr_t)entry->reg.addr);
	grant->state = GRANT_CACHED;
	return 0;
}

static int grant_fill(struct mr_binder *binder, const struct mr_lease *lease,
		      struct mr_grant *grant, void *addr, enum mr_kind kind, struct util_err *err)
{
	const struct mr_cell *cell = UTIL_CONTAINER_OF(lease, const struct mr_cell, lease);
	bool keyless = binder->pool->keyless && cell->class != MR_CLASS_FOREIGN;

	if (binder->windows)
		return open_bound(binder, cell, grant, kind, err);
	if (keyless && binder->pool->mode == MR_MODE_PER_IO)
		return open_registered(binder, cell, grant, addr, kind, err);
	if (keyless)
		return open_cached(binder, cell, grant, addr, kind, err);
	grant->rkey = lease->rkey;
	grant->state = GRANT_DIRECT;
	return 0;
}

int mr_grant_open(struct mr_binder *binder, const struct mr_lease *lease, void *addr, size_t len,
		  enum mr_kind kind, struct mr_grant **grantp, struct util_err *err)
{
	uint64_t off = (uintptr_t)addr - (uintptr_t)lease->addr;
	unsigned keep = binder->windows ? ROTATION : 0, tries;
	struct mr_grant *grant;
	int ret = 0;

	if (off > lease->size || len > lease->size - off || len > UINT32_MAX)
		return util_err_set(err, -EINVAL, "a piece that is not of its buffer");
	if (binder->idle <= keep)
		ret = binder_grow(binder);
	/* At the end of memory the rotation gets shorter before anything is refused. */
	if (ret && !binder->idle)
		return util_err_set(err, ret, "no memory left for one more call");
	for (tries = binder->idle;; tries--) {
		grant = idle_take(binder);
		grant->len = (uint32_t)len;
		grant->iova = lease->iova + off;
		ret = grant_fill(binder, lease, grant, addr, kind, err);
		if (ret >= 0)
			break;
		idle_add_last(binder, grant);
		/* The device has no more windows: another idle grant may have one. */
		if (!binder->windows || tries <= 1)
			return ret;
	}
	binder->open++;
	*grantp = grant;
	return ret;
}

/* ---- close ------------------------------------------------------------------------------ */

static void grant_over(struct mr_binder *binder, struct mr_grant *grant)
{
	grant->state = GRANT_IDLE;
	binder->open--;
	if (binder->windows)
		idle_add_last(binder, grant);
	else
		idle_add_first(binder, grant);
}

int mr_grant_close(struct mr_binder *binder, struct mr_grant *grant)
{
	if (grant->state == GRANT_BOUND) {
		grant->op = (struct mr_op){
			.kind = MR_OP_INVALIDATE,
			.window = &grant->window,
			.rkey = grant->rkey,
		};
		grant->state = GRANT_CLOSING;
		return 1;
	}
	mr_grant_end(binder, grant);
	return 0;
}

void mr_grant_invalidated(struct mr_binder *binder, struct mr_grant *grant)
{
	mr_window_count_ended(&binder->pool->ledger, MR_WINDOW_REMOTE);
	grant_over(binder, grant);
}

void mr_grant_end(struct mr_binder *binder, struct mr_grant *grant)
{
	struct mr_ledger *ledger = &binder->pool->ledger;
	bool alive = grant->generation == binder->generation;

	if (grant->state == GRANT_CLOSING)
		mr_window_count_ended(ledger, alive ? MR_WINDOW_LOCAL : MR_WINDOW_DROPPED);
	else if (grant->state == GRANT_BOUND)
		mr_window_count_ended(ledger, MR_WINDOW_DROPPED);
	else if (grant->state == GRANT_REGISTERED)
		mr_piece_close(binder->pool, &grant->reg);
	else if (grant->state == GRANT_CACHED)
		mr_cache_put(binder->pool->cache, grant->entry);
	grant_over(binder, grant);
}

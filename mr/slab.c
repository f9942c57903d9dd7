/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab.c - a mapping registered once, and the pages of it that are in use.
 *
 * A slab belongs to one kind, so its key grants that kind's right and no other: a peer that holds
 * the key of a slab of READ targets can write there and read nothing.
 *
 * Pages are kept in a bitmap and found first fit.  This is the slow path (a span serves many
 * leases before the next is cut), so the search is a plain scan.  Short runs are taken from the
 * front and long ones from the back: in a small slab, a few small spans in the middle would be all
 * it takes to keep a record of 256 KiB out.
 */
#include <errno.h>
#include <stdlib.h>

#include "mr/internal.h"

#define MR_SLAB_LONG_RUN 16 /* pages: 64 KiB */

const char *mr_kind_name(enum mr_kind kind)
{
	static const char names[MR_KIND_COUNT][16] = {
		[MR_KIND_READ] = "READ",	 [MR_KIND_WRITE] = "WRITE",
		[MR_KIND_BOTH] = "READ/WRITE",	 [MR_KIND_SINK] = "RDMA Read",
		[MR_KIND_SOURCE] = "RDMA Write",
	};

	return names[kind];
}

/* The least that works.  Devices want local write wherever they grant remote write. */
unsigned mr_kind_access(enum mr_kind kind)
{
	static const unsigned access[MR_KIND_COUNT] = {
		[MR_KIND_READ] = MR_ACCESS_LOCAL_WRITE | MR_ACCESS_REMOTE_WRITE,
		[MR_KIND_WRITE] = MR_ACCESS_REMOTE_READ,
		[MR_KIND_BOTH] =
			MR_ACCESS_LOCAL_WRITE | MR_ACCESS_REMOTE_WRITE | MR_ACCESS_REMOTE_READ,
		[MR_KIND_SINK] = MR_ACCESS_LOCAL_WRITE | MR_ACCESS_READ_SINK,
		[MR_KIND_SOURCE] = 0,
	};

	return access[kind];
}

static struct mr_slab *mr_slab_alloc(size_t len)
{
	size_t pages = len / MR_PAGE, words = (pages + 63) / 64;
	struct mr_slab *slab = calloc(1, sizeof(*slab) + words * sizeof(slab->used[0]));

	if (slab)
		slab->pages = pages;
	return slab;
}

static void mr_slab_link(struct mr_pool *pool, struct mr_slab *slab)
{
	uint64_t charged = (slab->reg.pages_charged + slab->reg.locked_pages) * MR_PAGE;

	util_list_add(&pool->slabs, &slab->node);
	pool->bytes += slab->memory.len;
	pool->kind_bytes[slab->kind] += slab->memory.len;
	pool->pinned += charged;
	pool->kind_free[slab->kind] = charged == 0;
	MR_LEDGER_ADD(&pool->ledger, slabs_created, 1);
}

/* Map, fault in, register.  len is a multiple of a page. */
int mr_slab_create(struct mr_pool *pool, enum mr_kind kind, size_t len, struct mr_slab **slabp,
		   struct util_err *err)
{
	struct mr_slab *slab = mr_slab_alloc(len);
	struct mr_region_params region = {
		.provider = pool->provider,
		.ledger = &pool->ledger,
		.len = len,
		.access = mr_mode_slab_access(pool->mode, kind),
	};
	int ret;

	if (!slab)
		return util_err_set(err, -ENOMEM, "no memory to manage a slab");
	slab->kind = kind;
	ret = mr_memory_map(&slab->memory, len, pool->best, pool->node, err);
	if (ret)
		goto err_free;
	region.addr = slab->memory.addr;
	region.page_size = mr_backing_page(slab->memory.backing);
	/* Transparent huge pages were asked for; whether they came only the kernel knows. */
	if (len % mr_backing_align(slab->memory.backing) == 0)
		region.page_size = mr_backing_align(slab->memory.backing);
	if (pool->keyless)
		slab->reg = (struct mr_registration){.addr = region.addr, .len = len};
	else
		ret = mr_region_open(&region, &slab->reg, err);
	if (ret)
		goto err_unmap;
	mr_slab_link(pool, slab);
	*slabp = slab;
	return 0;

err_unmap:
	mr_memory_unmap(&slab->memory);
err_free:
	free(slab);
	return ret;
}

void mr_slab_destroy(struct mr_pool *pool, struct mr_slab *slab)
{
	util_list_del(&slab->node);
	pool->bytes -= slab->memory.len;
	pool->kind_bytes[slab->kind] -= slab->memory.len;
	pool->pinned -= (slab->reg.pages_charged + slab->reg.locked_pages) * MR_PAGE;
	if (pool->keyless)
		mr_pool_forget_memory(pool, slab->memory.addr, slab->memory.len);
	else
		mr_region_close(pool->provider, &pool->ledger, &slab->reg);
	mr_memory_unmap(&slab->memory);
	MR_LEDGER_ADD(&pool->ledger, slabs_destroyed, 1);
	free(slab);
}

static bool mr_slab_page_used(const struct mr_slab *slab, size_t page)
{
	return slab->used[page / 64] >> (page % 64) & 1;
}

static void mr_slab_mark(struct mr_slab *slab, size_t first, size_t pages, bool used)
{
	for (size_t i = first; i < first + pages; i++) {
		uint64_t bit = UINT64_C(1) << (i % 64);

		slab->used[i / 64] = used ? slab->used[i / 64] | bit : slab->used[i / 64] & ~bit;
	}
}

/* First fit, from the front for small runs and from the back for long ones. */
bool mr_slab_take_pages(struct mr_slab *slab, size_t pages, size_t *firstp)
{
	bool back = pages >= MR_SLAB_LONG_RUN;
	size_t run = 0;

	if (pages > slab->pages - slab->pages_used)
		return false;
	for (size_t i = 0; i < slab->pages; i++) {
		size_t page = back ? slab->pages - 1 - i : i;

		run = mr_slab_page_used(slab, page) ? 0 : run + 1;
		if (run < pages)
			continue;
		*firstp = back ? page : page + 1 - pages;
		mr_slab_mark(slab, *firstp, pages, true);
		slab->pages_used += pages;
		return true;
	}
	return false;
}

void mr_slab_give_pages(struct mr_slab *slab, size_t first, size_t pages)
{
	mr_slab_mark(slab, first, pages, false);
	slab->pages_used -= pages;
}

bool mr_slab_idle(const struct mr_slab *slab)
{
	if (slab->large)
		return atomic_load_explicit(&slab->large->state, memory_order_acquire) ==
		       MR_CELL_IDLE;
	return slab->pages_used == 0;
}

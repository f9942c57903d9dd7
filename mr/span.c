/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * span.c - runs of pages cut into cells of one class, and swept up again.
 *
 * Spans are what lets a small budget serve many sizes: pages move from a class nobody uses to one
 * that is short.  A sweep gathers every idle cell of a kind from the depot and from all magazines,
 * counts them per span, and gives back the spans that are whole.  Threads go on taking and giving
 * meanwhile: what the sweep holds in its hand is for a moment missing, and whoever runs short then
 * waits for the pool's lock like any slow path.
 */
#include <errno.h>
#include <stdlib.h>

#include "mr/internal.h"

static int mr_chunk_add(struct mr_pool *pool)
{
	uint32_t at = pool->cells / MR_CHUNK_CELLS;
	struct mr_cell *chunk;

	if (at >= MR_CHUNKS)
		return -ENOMEM;
	chunk = aligned_alloc(MR_CELL_ALIGN, MR_CHUNK_CELLS * sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	memset(chunk, 0, MR_CHUNK_CELLS * sizeof(*chunk));
	atomic_store_explicit(&pool->chunks[at], chunk, memory_order_release);
	for (uint32_t i = 0; i < MR_CHUNK_CELLS; i++) {
		chunk[i].index = pool->cells + i + 1;
		chunk[i].lease.pool = pool;
		chunk[i].lease.priv = &chunk[i];
		mr_chain_add(&pool->spare, &chunk[i]);
	}
	pool->cells += MR_CHUNK_CELLS;
	return 0;
}

static int mr_cells_reserve(struct mr_pool *pool, unsigned count)
{
	int err = 0;

	while (!err && pool->spare.count < count)
		err = mr_chunk_add(pool);
	return err;
}

struct mr_cell *mr_cell_spare(struct mr_pool *pool)
{
	return mr_cells_reserve(pool, 1) ? NULL : mr_chain_take(pool, &pool->spare);
}

static void mr_cell_place(struct mr_cell *cell, struct mr_span *span, size_t at, size_t size)
{
	struct mr_slab *slab = span->slab;
	size_t offset = span->first * MR_PAGE + at * size;

	cell->span = span;
	cell->class = (uint8_t)span->class;
	cell->lease.addr = (char *)slab->memory.addr + offset;
	cell->lease.iova = slab->reg.iova + offset;
	cell->lease.size = size;
	cell->lease.lkey = slab->reg.lkey;
	cell->lease.rkey = slab->reg.rkey;
	cell->lease.kind = slab->kind;
	atomic_store_explicit(&cell->state, MR_CELL_IDLE, memory_order_relaxed);
}

int mr_span_carve(struct mr_pool *pool, struct mr_slab *slab, unsigned class,
		  struct mr_chain *chain)
{
	bool large = class == MR_CLASS_LARGE;
	size_t size = large ? slab->memory.len : mr_class_size(class);
	unsigned cells = large ? 1 : mr_class_span_cells(class);
	size_t pages = cells * size / MR_PAGE, first;
	struct mr_span *span;

	if (!mr_slab_take_pages(slab, pages, &first))
		return -ENOSPC;
	span = malloc(sizeof(*span));
	if (!span || mr_cells_reserve(pool, cells)) {
		free(span);
		mr_slab_give_pages(slab, first, pages);
		return -ENOMEM;
	}
	*span = (struct mr_span){
		.slab = slab, .first = first, .pages = pages, .class = class, .cells = cells};
	util_list_init(&span->node);
	if (!large)
		util_list_add(&pool->spans[slab->kind], &span->node);
	for (unsigned i = 0; i < cells; i++) {
		struct mr_cell *cell = mr_chain_take(pool, &pool->spare);

		mr_cell_place(cell, span, i, size);
		if (pool->poison)
			mr_poison_fill(cell);
		mr_chain_add(chain, cell);
	}
	return 0;
}

/* Its cells are the caller's already, or spare. */
void mr_span_destroy(struct mr_pool *pool, struct mr_span *span)
{
	(void)pool;
	util_list_del(&span->node);
	mr_slab_give_pages(span->slab, span->first, span->pages);
	free(span);
}

static void mr_sweep_gather(struct mr_pool *pool, enum mr_kind kind, struct mr_chain *all)
{
	UTIL_LIST_FOR_EACH (node, &pool->spans[kind]) {
		UTIL_LIST_ENTRY(node, struct mr_span, node)->idle = 0;
	}
	for (unsigned class = 0; class < MR_CLASSES; class ++)
		mr_magazine_drain(pool, kind, class, all);
}

/* Cells of whole spans become spare, the others go to the depot. */
static void mr_sweep_sort(struct mr_pool *pool, struct mr_chain *all)
{
	struct mr_cell *cell;

	while ((cell = mr_chain_take(pool, all))) {
		if (cell->span->idle == cell->span->cells)
			mr_chain_add(&pool->spare, cell);
		else
			mr_stack_push_one(&pool->depot[cell->lease.kind][cell->class], cell);
	}
}

void mr_span_sweep(struct mr_pool *pool, enum mr_kind kind)
{
	struct mr_chain all = {0};
	struct mr_cell *cell;

	mr_sweep_gather(pool, kind, &all);
	cell = all.first;
	for (unsigned i = 0; i < all.count; i++) {
		uint32_t next = atomic_load_explicit(&cell->next, memory_order_relaxed);

		cell->span->idle++;
		if (next)
			cell = mr_cell_at(pool, next);
	}
	mr_sweep_sort(pool, &all);
	UTIL_LIST_FOR_EACH_SAFE (node, &pool->spans[kind]) {
		struct mr_span *span = UTIL_LIST_ENTRY(node, struct mr_span, node);

		if (span->idle == span->cells)
			mr_span_destroy(pool, span);
	}
}

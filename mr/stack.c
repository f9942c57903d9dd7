/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack.c - lock-free stacks of idle cells.
 *
 * The head is one 64-bit word: the index of the top cell, how many there are, and a tag that every
 * exchange raises.  The tag is what makes popping safe: between reading the top's link and
 * exchanging the head another thread may pop, use and push the same cell, but not without changing
 * the tag (it would take 2^32 exchanges within one pop to come round).  Links are read through
 * indices into chunks that live as long as the pool, so a stale link is wrong but never wild.
 */
#include "mr/internal.h"

#define MR_HEAD_INDEX 0xfffffu
#define MR_HEAD_COUNT_SHIFT 20
#define MR_HEAD_COUNT 0xfffu
#define MR_HEAD_TAG_SHIFT 32

static uint32_t mr_head_index(uint64_t head)
{
	return (uint32_t)head & MR_HEAD_INDEX;
}

static unsigned mr_head_count(uint64_t head)
{
	return (unsigned)(head >> MR_HEAD_COUNT_SHIFT) & MR_HEAD_COUNT;
}

static uint64_t mr_head_make(uint64_t old, unsigned count, uint32_t index)
{
	uint64_t tag = (old >> MR_HEAD_TAG_SHIFT) + 1;

	return tag << MR_HEAD_TAG_SHIFT | (uint64_t)(count & MR_HEAD_COUNT) << MR_HEAD_COUNT_SHIFT |
	       index;
}

void mr_chain_add(struct mr_chain *chain, struct mr_cell *cell)
{
	atomic_store_explicit(&cell->next, chain->first ? chain->first->index : 0,
			      memory_order_relaxed);
	chain->first = cell;
	if (!chain->last)
		chain->last = cell;
	chain->count++;
}

struct mr_cell *mr_chain_take(struct mr_pool *pool, struct mr_chain *chain)
{
	struct mr_cell *cell = chain->first;
	uint32_t next;

	if (!cell)
		return NULL;
	next = atomic_load_explicit(&cell->next, memory_order_relaxed);
	chain->count--;
	chain->first = chain->count ? mr_cell_at(pool, next) : NULL;
	if (!chain->first)
		chain->last = NULL;
	return cell;
}

/* first to last become the top of the stack. */
static unsigned mr_stack_link(struct mr_stack *stack, struct mr_cell *first, struct mr_cell *last,
			      unsigned n)
{
	uint64_t head = atomic_load_explicit(&stack->head, memory_order_relaxed), fresh;
	unsigned count;

	do {
		count = mr_head_count(head) + n;
		atomic_store_explicit(&last->next, mr_head_index(head), memory_order_relaxed);
		fresh = mr_head_make(head, count, first->index);
	} while (!atomic_compare_exchange_weak_explicit(
		&stack->head, &head, fresh, memory_order_release, memory_order_relaxed));
	return count;
}

unsigned mr_stack_push(struct mr_stack *stack, struct mr_chain *chain)
{
	return mr_stack_link(stack, chain->first, chain->last, chain->count);
}

unsigned mr_stack_push_one(struct mr_stack *stack, struct mr_cell *cell)
{
	return mr_stack_link(stack, cell, cell, 1);
}

struct mr_cell *mr_stack_pop_one(struct mr_pool *pool, struct mr_stack *stack)
{
	uint64_t head = atomic_load_explicit(&stack->head, memory_order_acquire), fresh;
	struct mr_cell *cell;

	do {
		if (!mr_head_index(head))
			return NULL;
		cell = mr_cell_at(pool, mr_head_index(head));
		fresh = mr_head_make(head, mr_head_count(head) - 1,
				     atomic_load_explicit(&cell->next, memory_order_relaxed));
	} while (!atomic_compare_exchange_weak_explicit(
		&stack->head, &head, fresh, memory_order_acquire, memory_order_acquire));
	return cell;
}

/*
 * Walk up to max links from the top, then exchange the head for what follows.  If anything moved
 * meanwhile, the walk was through stale links and the exchange fails.
 */
void mr_stack_pop(struct mr_pool *pool, struct mr_stack *stack, unsigned max,
		  struct mr_chain *chain)
{
	uint64_t head = atomic_load_explicit(&stack->head, memory_order_acquire), fresh;
	uint32_t next;

	do {
		next = mr_head_index(head);
		*chain = (struct mr_chain){0};
		if (!next)
			return;
		chain->first = mr_cell_at(pool, next);
		for (; next && chain->count < max; chain->count++) {
			chain->last = mr_cell_at(pool, next);
			next = atomic_load_explicit(&chain->last->next, memory_order_relaxed);
		}
		fresh = mr_head_make(head, mr_head_count(head) - chain->count, next);
	} while (!atomic_compare_exchange_weak_explicit(
		&stack->head, &head, fresh, memory_order_acquire, memory_order_acquire));
}

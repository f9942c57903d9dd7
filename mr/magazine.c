/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * magazine.c - each thread keeps some idle cells; what is too many or too few goes by the depot.
 *
 * A thread finds its slot by hashing its identity: no thread-local variable, no key that could run
 * out, no destructor that could race with the pool's end.  Since the stacks are open to everybody,
 * a thread that ends needs no farewell: its cells stay within reach of whoever runs short, and a
 * later thread with the same identity takes over slot and cells.
 *
 * Where all slots in reach belong to others, the thread works on the depot: still lock-free, only
 * shared.
 */
#include <stdlib.h>

#include "mr/internal.h"

static unsigned mr_slot_hash(uintptr_t self)
{
	return (unsigned)((uint64_t)self * UINT64_C(0x9e3779b97f4a7c15) >> 57) % MR_SLOTS;
}

/* First use by this thread: the only allocation, and not one of the steady state. */
static struct mr_slot *mr_slot_claim(struct mr_pool *pool, _Atomic(struct mr_slot *) *place,
				     uintptr_t self)
{
	size_t len = mr_round_up(sizeof(struct mr_slot), 64);
	struct mr_slot *slot = aligned_alloc(64, len), *expected = NULL;

	if (!slot)
		return NULL;
	memset(slot, 0, len);
	slot->owner = self;
	slot->lane = mr_lane_take(&pool->ledger, &slot->own, mr_pool_reuses(pool));
	if (atomic_compare_exchange_strong_explicit(place, &expected, slot, memory_order_acq_rel,
						    memory_order_acquire))
		return slot;
	mr_lane_give(slot->lane);
	free(slot);
	return NULL;
}

struct mr_slot *mr_slot_get(struct mr_pool *pool)
{
	uintptr_t self = (uintptr_t)pthread_self();
	unsigned at = mr_slot_hash(self);

	for (unsigned i = 0; i < MR_SLOT_PROBES; i++) {
		_Atomic(struct mr_slot *) *place = &pool->slots[(at + i) % MR_SLOTS];
		struct mr_slot *slot = atomic_load_explicit(place, memory_order_acquire);

		if (!slot)
			slot = mr_slot_claim(pool, place, self);
		if (slot && slot->owner == self)
			return slot;
	}
	return NULL;
}

/* Half a magazine is fetched at once, so that the depot is seen every few leases only. */
struct mr_cell *mr_magazine_take(struct mr_pool *pool, struct mr_slot *slot, enum mr_kind kind,
				 unsigned class)
{
	struct mr_stack *depot = &pool->depot[kind][class];
	struct mr_chain chain;
	struct mr_cell *cell;

	if (!slot)
		return mr_stack_pop_one(pool, depot);
	cell = mr_stack_pop_one(pool, &slot->magazine[kind][class]);
	if (cell)
		return cell;
	mr_stack_pop(pool, depot, mr_class_magazine(class) / 2, &chain);
	cell = mr_chain_take(pool, &chain);
	if (chain.first)
		mr_stack_push(&slot->magazine[kind][class], &chain);
	return cell;
}

void mr_magazine_give(struct mr_pool *pool, struct mr_slot *slot, struct mr_cell *cell)
{
	unsigned keep = mr_class_magazine(cell->class);
	struct mr_stack *depot = &pool->depot[cell->lease.kind][cell->class];
	struct mr_stack *magazine;
	struct mr_chain chain;

	if (!slot) {
		mr_stack_push_one(depot, cell);
		return;
	}
	magazine = &slot->magazine[cell->lease.kind][cell->class];
	if (mr_stack_push_one(magazine, cell) <= keep)
		return;
	mr_stack_pop(pool, magazine, keep / 2, &chain);
	if (chain.first)
		mr_stack_push(depot, &chain);
}

struct mr_cell *mr_magazine_steal(struct mr_pool *pool, enum mr_kind kind, unsigned class)
{
	struct mr_cell *cell = NULL;

	for (unsigned i = 0; i < MR_SLOTS && !cell; i++) {
		struct mr_slot *slot = atomic_load_explicit(&pool->slots[i], memory_order_acquire);

		if (slot)
			cell = mr_stack_pop_one(pool, &slot->magazine[kind][class]);
	}
	return cell;
}

static void mr_stack_drain(struct mr_pool *pool, struct mr_stack *stack, struct mr_chain *to)
{
	struct mr_chain chain;
	struct mr_cell *cell;

	for (mr_stack_pop(pool, stack, 64, &chain); chain.first;
	     mr_stack_pop(pool, stack, 64, &chain))
		while ((cell = mr_chain_take(pool, &chain)))
			mr_chain_add(to, cell);
}

void mr_magazine_drain(struct mr_pool *pool, enum mr_kind kind, unsigned class,
		       struct mr_chain *chain)
{
	mr_stack_drain(pool, &pool->depot[kind][class], chain);
	for (unsigned i = 0; i < MR_SLOTS; i++) {
		struct mr_slot *slot = atomic_load_explicit(&pool->slots[i], memory_order_acquire);

		if (slot)
			mr_stack_drain(pool, &slot->magazine[kind][class], chain);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.c - what a connection has posted and not yet seen complete, in posting order.  Pure.
 *
 * Positions run freely over 32 bits; the device gets the position as wr_id and hands it back.  A
 * position that is not outstanding (a second completion for one request, or nonsense) is refused.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/verbs/internal.h"

int verbs_ring_init(struct verbs_ring *ring, uint32_t depth)
{
	uint32_t slots = 1;

	while (slots < depth)
		slots <<= 1;
	ring->slots = calloc(slots, sizeof(*ring->slots));
	if (!ring->slots)
		return -ENOMEM;
	ring->mask = slots - 1;
	ring->depth = depth;
	ring->head = ring->tail = 0;
	return 0;
}

void verbs_ring_fini(struct verbs_ring *ring)
{
	free(ring->slots);
	ring->slots = NULL;
}

/* The caller has looked at the room.  Returns the position. */
uint32_t verbs_ring_push(struct verbs_ring *ring, uint64_t wr_id, bool signaled)
{
	struct verbs_slot *slot = &ring->slots[ring->head & ring->mask];

	slot->wr_id = wr_id;
	slot->signaled = signaled;
	return ring->head++;
}

/*
 * The request at position is complete, and with it all before it (they were unsignalled: what is
 * signalled completes by itself, in order).  false: position is not outstanding.
 */
bool verbs_ring_retire(struct verbs_ring *ring, uint32_t position, struct verbs_slot *slot)
{
	if (position - ring->tail >= verbs_ring_used(ring))
		return false;
	*slot = ring->slots[position & ring->mask];
	ring->tail = position + 1;
	return true;
}

/* The oldest outstanding one; false: none. */
bool verbs_ring_pop(struct verbs_ring *ring, struct verbs_slot *slot)
{
	return verbs_ring_used(ring) > 0 && verbs_ring_retire(ring, ring->tail, slot);
}

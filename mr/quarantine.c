/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quarantine.c - leases whose call was not answered.
 *
 * After a time-out, a cancellation or a soft failure the peer may still write to the memory: the
 * key is live and the call may be executed late.  Such a lease stays with whoever watches the
 * connection, and comes back through mr_lease_give() when the reply arrives or the queue pair is
 * gone, which are the two ways a peer's access ends.  Here is only the account of it.
 */
#include "mr/internal.h"

void mr_lease_quarantine(struct mr_lease *lease)
{
	struct mr_cell *cell = UTIL_CONTAINER_OF(lease, struct mr_cell, lease);
	uint8_t out = MR_CELL_OUT;

	/* Twice is once. */
	if (!atomic_compare_exchange_strong(&cell->state, &out, MR_CELL_QUARANTINED))
		return;
	MR_LEDGER_ADD(&lease->pool->ledger, leases_quarantined, 1);
	MR_LEDGER_ADD(&lease->pool->ledger, quarantined_now, 1);
}

void mr_quarantine_end(struct mr_cell *cell)
{
	if (atomic_load_explicit(&cell->state, memory_order_relaxed) == MR_CELL_QUARANTINED)
		MR_LEDGER_SUB(&cell->lease.pool->ledger, quarantined_now, 1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.c - a window's binding begins and ends here, as far as the ledger is concerned.
 *
 * A binding counts from the moment its key is given away until it is known to be over: by a
 * completed local invalidation, by the peer's, or because its connection is gone.  So windows_bound
 * always equals the sum of the three ends and what is still bound.
 */
#include "mr/internal.h"

void mr_window_count_bound(struct mr_ledger *ledger)
{
	MR_LEDGER_EACH(l, ledger)
	{
		MR_COUNT(l->now, windows_bound, 1);
		MR_COUNT(l->now, windows_now, 1);
	}
}

void mr_window_count_ended(struct mr_ledger *ledger, enum mr_window_fate fate)
{
	MR_LEDGER_EACH(l, ledger)
	{
		struct mr_ledger_counters *now = l->now;

		if (fate == MR_WINDOW_REMOTE)
			MR_COUNT(now, invalidations_remote, 1);
		else if (fate == MR_WINDOW_LOCAL)
			MR_COUNT(now, invalidations_local, 1);
		else
			MR_COUNT(now, windows_dropped, 1);
		MR_COUNT(now, windows_now, -UINT64_C(1));
	}
}

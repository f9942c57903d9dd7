/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * piece.c - registrations of less than a slab: per call, or kept in the cache.
 *
 * They count against the same budget as slabs do.  The look comes first, as for slabs, and books
 * what the piece is expected to cost; once the kernel has spoken, the true cost is booked.
 */
#include <errno.h>

#include "mr/internal.h"

static uint64_t mr_piece_charged(const struct mr_registration *reg)
{
	return (reg->pages_charged + reg->locked_pages) * MR_PAGE;
}

/*
 * small: the memory is made of 4 KiB pages for sure.  -ENOMEM: a limit, err names it; else as
 * register_memory.
 */
int mr_piece_open(struct mr_pool *pool, void *addr, size_t len, unsigned access, bool small,
		  struct mr_registration *reg, struct util_err *err)
{
	struct mr_region_params region = {
		.provider = pool->provider,
		.ledger = &pool->ledger,
		.addr = addr,
		.len = len,
		.page_size = MR_PAGE,
		.access = access | (small ? MR_ACCESS_PAGES_KNOWN : 0),
	};
	uint64_t span = mr_pages_touched(addr, len) * MR_PAGE;
	int ret;

	ret = mr_budget_reserve(pool, span, err);
	if (ret)
		return ret;
	ret = mr_region_open(&region, reg, err);
	/* In one go: in between, another thread would find room that there is not. */
	mr_budget_return(pool, ret ? span : span - mr_piece_charged(reg));
	return ret;
}

void mr_piece_close(struct mr_pool *pool, struct mr_registration *reg)
{
	uint64_t charged = mr_piece_charged(reg);

	mr_region_close(pool->provider, &pool->ledger, reg);
	mr_budget_return(pool, charged);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * region.c - a registration begins and ends here, and nowhere else.
 *
 * One function in, one out: whatever is registered, for a slab or for local buffers, passes
 * through these two, so the ledger can be held against VmPin to the page.  What a registration
 * costs is the provider's word (struct mr_registration); the same numbers are taken back when it
 * ends.
 */
#include <errno.h>

#include "mr/internal.h"

static void mr_region_count_open(struct mr_ledger *ledger, const struct mr_registration *reg)
{
	const uint64_t pages = reg->pages_charged;

	MR_LEDGER_EACH(l, ledger)
	{
		struct mr_ledger_counters *now = l->now;

		MR_COUNT(now, registrations, 1);
		MR_COUNT(now, bytes_registered_now, reg->len);
		MR_COUNT(now, pages_charged, pages);
		MR_COUNT(now, pages_charged_now, pages);
		if (reg->iova_maps)
			MR_COUNT(now, iova_maps, reg->iova_maps);
		if (reg->locked_pages)
			MR_COUNT(now, locked_pages_now, reg->locked_pages);
	}
}

static void mr_region_count_close(struct mr_ledger *ledger, const struct mr_registration *reg)
{
	const uint64_t pages = reg->pages_charged;

	MR_LEDGER_EACH(l, ledger)
	{
		struct mr_ledger_counters *now = l->now;

		MR_COUNT(now, deregistrations, 1);
		MR_COUNT(now, bytes_registered_now, -(uint64_t)reg->len);
		MR_COUNT(now, pages_released, pages);
		MR_COUNT(now, pages_charged_now, -pages);
		if (reg->iova_maps)
			MR_COUNT(now, iova_unmaps, reg->iova_maps);
		if (reg->locked_pages)
			MR_COUNT(now, locked_pages_now, -reg->locked_pages);
	}
}

/* One more region, if the device has room for it. */
static int mr_region_reserve(struct mr_provider *provider, struct mr_ledger *ledger,
			     struct util_err *err)
{
	if (atomic_fetch_add_explicit(&provider->regions, 1, memory_order_relaxed) <
	    provider->max_regions)
		return 0;
	atomic_fetch_sub_explicit(&provider->regions, 1, memory_order_relaxed);
	MR_LEDGER_ADD(ledger, limit_refusals, 1);
	util_err_set(err, -ENOSPC,
		     "device %s holds at most %u registrations (max_mr), and so many "
		     "are there",
		     provider->device, provider->max_regions);
	util_err_hint(err, "mr=pool needs the fewest; larger buffers need fewer");
	return -ENOSPC;
}

/*
 * Register; *reg is set only on success.  Errors are the provider's (mr.h).  A refusal for want of
 * memory is counted: it is how a limit shows.
 */
int mr_region_open(const struct mr_region_params *params, struct mr_registration *reg,
		   struct util_err *err)
{
	struct mr_provider *provider = params->provider;
	struct mr_registration made = {0};
	int ret = mr_region_reserve(provider, params->ledger, err);

	if (ret)
		return ret;
	ret = provider->ops->register_memory(provider, params->addr, params->len, params->page_size,
					     params->access, &made, err);
	if (ret == -ENOMEM)
		MR_LEDGER_ADD(params->ledger, limit_refusals, 1);
	if (ret) {
		atomic_fetch_sub_explicit(&provider->regions, 1, memory_order_relaxed);
		return ret;
	}
	if (provider->registers)
		mr_region_count_open(params->ledger, &made);
	*reg = made;
	return 0;
}

/* On return pins are released and no peer reaches the memory; it may be unmapped. */
void mr_region_close(struct mr_provider *provider, struct mr_ledger *ledger,
		     struct mr_registration *reg)
{
	struct mr_registration made = *reg;

	provider->ops->deregister_memory(provider, reg);
	atomic_fetch_sub_explicit(&provider->regions, 1, memory_order_relaxed);
	/* Where mlock stands in for pins, ranges that overlap are unlocked by the last of them. */
	made.locked_pages = reg->locked_pages;
	if (provider->registers)
		mr_region_count_close(ledger, &made);
}

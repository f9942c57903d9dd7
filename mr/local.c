/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * local.c - buffers for sends and receives: the device may use them, no peer can name them.
 *
 * They pass through region.c like everything that is registered; whether that costs anything is
 * the provider's affair (a software RNIC reads and writes them with system calls and pins nothing).
 */
#include <errno.h>

#include "mr/internal.h"

int mr_local_create(struct mr_local *local, struct mr_provider *provider, size_t len,
		    struct mr_ledger *ledger, struct util_err *err)
{
	struct mr_region_params region = {
		.provider = provider,
		.ledger = ledger,
		.page_size = MR_PAGE,
		.access = MR_ACCESS_LOCAL_WRITE,
	};
	struct mr_registration reg;
	struct mr_memory memory;
	int ret;

	if (len == 0 || len > SIZE_MAX / 2)
		return util_err_set(err, -EINVAL, "a local buffer of %zu bytes", len);
	region.len = mr_round_up(len, MR_PAGE);
	ret = mr_memory_map(&memory, region.len, MR_BACKING_4K, -1, err);
	if (ret)
		return ret;
	region.addr = memory.addr;
	ret = mr_region_open(&region, &reg, err);
	if (ret) {
		mr_memory_unmap(&memory);
		return ret;
	}
	*local = (struct mr_local){
		.addr = memory.addr,
		.len = region.len,
		.reg = reg,
		.provider = provider,
		.ledger = ledger,
	};
	return 0;
}

void mr_local_destroy(struct mr_local *local)
{
	struct mr_memory memory = {.addr = local->addr, .len = local->len};

	if (!local->addr)
		return;
	mr_region_close(local->provider, local->ledger, &local->reg);
	mr_memory_unmap(&memory);
	local->addr = NULL;
}

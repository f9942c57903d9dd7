/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode.c - what the five modes ask of a device, and what their slabs allow.
 *
 *	mode	slabs			a call's grant			the peer keeps
 *	pool	registered, reachable	the slab's key			the slab, while it lives
 *	window	registered, no right	a window over the piece		nothing
 *	cache	plain memory		a cached registration		the piece, until evicted
 *	per-io	plain memory		a registration of its own	nothing
 *	odp	reachable, not pinned	the slab's key			the slab, while it lives
 *
 * A mode is refused where the device lacks what it takes; nothing falls back by itself, since what
 * was asked for is a promise about who can reach what.
 */
#include <errno.h>

#include "mr/internal.h"

const char *mr_mode_name(enum mr_mode mode)
{
	static const char names[MR_MODE_COUNT][8] = {
		[MR_MODE_POOL] = "pool",     [MR_MODE_WINDOW] = "window", [MR_MODE_CACHE] = "cache",
		[MR_MODE_PER_IO] = "per-io", [MR_MODE_ODP] = "odp",
	};

	return names[mode];
}

int mr_mode_check(enum mr_mode mode, const struct mr_provider *provider, struct util_err *err)
{
	if ((unsigned)mode >= MR_MODE_COUNT)
		return util_err_set(err, -EINVAL, "no such mode of memory registration");
	if (mode == MR_MODE_WINDOW && !provider->max_windows) {
		util_err_set(err, -EOPNOTSUPP, "mr=window: device %s has no type-2 memory windows",
			     provider->device);
		util_err_hint(err, "mr=per-io leaves the peer no key either; mr=pool is fast");
		return -EOPNOTSUPP;
	}
	if (mode == MR_MODE_ODP && !provider->odp) {
		util_err_set(err, -EOPNOTSUPP, "mr=odp: device %s has no on-demand paging",
			     provider->device);
		util_err_hint(err, "use mr=pool");
		return -EOPNOTSUPP;
	}
	return 0;
}

unsigned mr_mode_slab_access(enum mr_mode mode, enum mr_kind kind)
{
	unsigned access = mr_kind_access(kind);

	if (mode == MR_MODE_WINDOW && kind <= MR_KIND_BOTH)
		return (access & MR_ACCESS_LOCAL_WRITE) | MR_ACCESS_WINDOW_BIND;
	return mode == MR_MODE_ODP ? access | MR_ACCESS_ON_DEMAND : access;
}

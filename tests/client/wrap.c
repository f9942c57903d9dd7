/* SPDX-License-Identifier: BSD-2-Clause */
/* wrap.c - see wrap.h. */
#include <errno.h>
#include <stdlib.h>

#include "mr/mr.h"
#include "tests/client/wrap.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_mr_lease_take(struct mr_pool *pool, enum mr_kind kind, size_t len,
			 struct mr_lease **leasep, struct util_err *err);
void __real_mr_lease_give(struct mr_lease *lease);

_Thread_local struct wrap wrap = {.leases_left = -1};

static int refuse(void)
{
	return ++wrap.allocs == wrap.fail_at;
}

void *__wrap_malloc(size_t size)
{
	return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refuse() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return refuse() ? NULL : __real_realloc(old, size);
}

int __wrap_mr_lease_take(struct mr_pool *pool, enum mr_kind kind, size_t len,
			 struct mr_lease **leasep, struct util_err *err)
{
	int ret;

	if (!wrap.leases_left) {
		wrap.lease_refusals++;
		return util_err_set(err, -ENOMEM, "the tests' limit");
	}
	ret = __real_mr_lease_take(pool, kind, len, leasep, err);
	if (ret)
		return ret;
	wrap.leases++;
	if (wrap.leases_left > 0)
		wrap.leases_left--;
	return 0;
}

void __wrap_mr_lease_give(struct mr_lease *lease)
{
	__real_mr_lease_give(lease);
	if (lease && wrap.leases_left >= 0)
		wrap.leases_left++;
}

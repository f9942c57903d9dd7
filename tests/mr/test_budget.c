/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_budget);

/* As an ordinary user: no capability in force, so that the memlock limit binds. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	cr_assert_eq(syscall(SYS_capset, &head, none), 0);
}

static void set_memlock(rlim_t bytes)
{
	struct rlimit rl = {.rlim_cur = bytes, .rlim_max = bytes};

	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &rl), 0);
	drop_capabilities();
}

Test(mr_budget, max_pinned_is_never_exceeded_and_named)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.max_pinned = 2 << 20};
	struct mr_ledger_snapshot snap;
	struct mr_lease *leases[64];
	struct util_err err = {0};
	struct mr_pool *pool;
	unsigned n = 0;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	while (n < 64 && !mr_lease_take(pool, MR_KIND_READ, 65536, &leases[n], &err))
		n++;
	cr_assert_eq(n, 32, "2 MiB are 32 leases of 64 KiB, not %u", n);
	cr_assert_eq(fake.bytes, 2 << 20);
	cr_assert_eq(err.code, -ENOMEM);
	cr_assert(strstr(err.what, "max-pinned is 2 MiB"), "%s", err.what);
	cr_assert(strstr(err.hint, "raise max-pinned"), "%s", err.hint);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	cr_assert_gt(snap.limit_refusals, 0);
	while (n)
		mr_lease_give(leases[--n]);
	mr_pool_destroy(pool);
}

Test(mr_budget, memlock_limit_is_looked_at_before_asking_and_named)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_lease *leases[16];
	struct util_err err = {0};
	struct mr_pool *pool;
	unsigned n = 0;

	set_memlock(1 << 20);
	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	while (n < 16 && !mr_lease_take(pool, MR_KIND_READ, 131072, &leases[n], &err))
		n++;
	cr_assert_eq(n, 6, "a quarter is left to others");
	cr_assert(strstr(err.what, "three quarters of the memlock limit is 768 KiB"), "%s",
		  err.what);
	cr_assert(strstr(err.hint, "ulimit -l"), "%s", err.hint);
	cr_assert_eq(fake.registered, fake.calls, "nothing beyond the limit was asked for");
	while (n)
		mr_lease_give(leases[--n]);
	mr_pool_destroy(pool);
}

Test(mr_budget, max_pinned_may_claim_the_whole_memlock_limit)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.max_pinned = 1 << 20};
	struct mr_lease *leases[16];
	struct mr_pool *pool;
	unsigned n = 0;

	set_memlock(1 << 20);
	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	while (n < 16 && !mr_lease_take(pool, MR_KIND_READ, 131072, &leases[n], NULL))
		n++;
	cr_assert_eq(n, 8);
	while (n)
		mr_lease_give(leases[--n]);
	mr_pool_destroy(pool);
}

Test(mr_budget, pools_of_one_process_share_the_memlock_limit)
{
	struct fake_provider fake;
	struct mr_ledger process;
	struct mr_pool_params params = {.ledger_parent = &process};
	struct mr_lease *a, *b;
	struct util_err err = {0};
	struct mr_pool *one, *two;

	set_memlock(1 << 20);
	mr_ledger_init(&process, NULL);
	fake_provider_init(&fake);
	one = fake_pool(&fake.p, &params);
	two = fake_pool(&fake.p, &params);
	cr_assert_eq(mr_lease_take(one, MR_KIND_READ, 786432, &a, &err), 0);
	cr_assert_eq(mr_lease_take(two, MR_KIND_READ, 524288, &b, &err), -ENOMEM);
	cr_assert(strstr(err.what, "of which 768 KiB are in use"), "%s", err.what);
	mr_lease_give(a);
	mr_pool_destroy(one);
	mr_pool_destroy(two);
}

Test(mr_budget, slabs_under_a_small_limit_are_an_eighth_of_it)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_lease *lease;
	struct mr_pool *pool;

	set_memlock(8 << 20);
	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 4096, &lease, NULL), 0);
	cr_assert_eq(fake.bytes, 1 << 20);
	mr_lease_give(lease);
	mr_pool_destroy(pool);
}

Test(mr_budget, shrinks_to_what_is_granted)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.slab_size = 4 << 20};
	struct mr_ledger_snapshot snap;
	struct mr_lease *lease;
	struct mr_pool *pool;

	fake_provider_init(&fake);
	fake.refuse_above = 300 << 10;
	pool = fake_pool(&fake.p, &params);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 65536, &lease, NULL), 0);
	cr_assert_eq(fake.bytes, 256 << 10);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	cr_assert_eq(snap.limit_refusals, 3, "2 MiB, 1 MiB and 512 KiB were refused");
	mr_lease_give(lease);
	mr_pool_destroy(pool);
}

Test(mr_budget, a_limit_makes_idle_slabs_of_other_kinds_go)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.max_pinned = 1 << 20, .slab_size = 1 << 20};
	struct mr_lease *lease;
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_WRITE, 1 << 20, &lease, NULL), 0);
	mr_lease_give(lease);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 1 << 20, &lease, NULL), 0);
	cr_assert_eq(fake_live(&fake), 1);
	mr_lease_give(lease);
	mr_pool_destroy(pool);
}

Test(mr_budget, a_small_budget_serves_one_size_after_another)
{
	static const size_t lens[] = {4096, 262144, 20480, 1048576, 512, 131072};
	struct fake_provider fake;
	struct mr_pool_params params = {.max_pinned = 1 << 20, .slab_size = 1 << 20};
	struct mr_lease *leases[64];
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		size_t n = (1 << 20) / lens[i];

		n = n > 32 ? 32 : n;
		for (size_t j = 0; j < n; j++)
			cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, lens[i], &leases[j], NULL),
				     0, "%zu of %zu bytes", j, lens[i]);
		for (size_t j = 0; j < n; j++)
			mr_lease_give(leases[j]);
	}
	cr_assert_eq(fake.registered, 1);
	mr_pool_destroy(pool);
}

Test(mr_budget, the_cgroups_limit_is_named_with_its_number_and_the_remedy)
{
	struct iommu_facts facts = {.memlock_soft = UINT64_MAX, .ipc_lock = true};
	struct mr_cgroup cgroup = {2 << 20, "/sys/fs/cgroup/a/memory.max"};
	struct mr_pool_params params = {.slab_size = 256 << 10};
	struct mr_ledger_snapshot snap;
	struct fake_provider fake;
	struct mr_lease *leases[8];
	struct util_err err = {0};
	struct mr_pool *pool;
	unsigned n = 0;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	mr_budget_init(&pool->budget, &params, &fake.p, &facts, &cgroup);
	while (n < 8 && !mr_lease_take(pool, MR_KIND_READ, 262144, &leases[n], &err))
		n++;
	cr_assert_eq(n, 4, "half of it is for others");
	cr_assert(strstr(err.what, "half of /sys/fs/cgroup/a/memory.max is 1 MiB"), "%s", err.what);
	cr_assert(strstr(err.hint, "raise the group's limit"), "%s", err.hint);
	cr_assert(strstr(err.hint, "max-pinned="), "%s", err.hint);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	cr_assert_gt(snap.limit_refusals, 0);
	cr_assert_eq(snap.bytes_registered_now, 1 << 20);
	cr_assert_eq(fake.registered, fake.calls, "nothing beyond it was asked for");
	while (n)
		mr_lease_give(leases[--n]);
	mr_pool_destroy(pool);
}

Test(mr_budget, max_pinned_may_claim_all_of_what_is_there_but_not_more)
{
	static const struct {
		uint64_t max_pinned, bytes_max, pinned_max;
		char name[40];
	} cases[] = {
		{0, 1 << 20, 1 << 20, "half of /sys/fs/cgroup/memory.max"},
		{512 << 10, 1 << 20, 512 << 10, "half of /sys/fs/cgroup/memory.max"},
		{1536 << 10, 1536 << 10, 1536 << 10, "max-pinned"},
		{2 << 20, 2 << 20, 2 << 20, "/sys/fs/cgroup/memory.max"},
		{64 << 20, 2 << 20, 2 << 20, "/sys/fs/cgroup/memory.max"},
	};
	struct iommu_facts facts = {.memlock_soft = UINT64_MAX, .ipc_lock = true};
	struct mr_cgroup cgroup = {2 << 20, "/sys/fs/cgroup/memory.max"};
	struct fake_provider fake;

	fake_provider_init(&fake);
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct mr_pool_params params = {.max_pinned = cases[i].max_pinned};
		struct mr_budget budget;

		mr_budget_init(&budget, &params, &fake.p, &facts, &cgroup);
		cr_expect_eq(budget.bytes_max, cases[i].bytes_max, "case %u", i);
		cr_expect_eq(budget.pinned_max, cases[i].pinned_max, "case %u", i);
		cr_expect_str_eq(budget.bytes_name, cases[i].name, "case %u", i);
	}
}

Test(mr_budget, a_refusal_from_below_is_waited_out_once_then_not_again)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_lease *lease;
	struct util_err err = {0};
	struct mr_pool *pool;
	unsigned first, second;

	set_memlock(8 << 20);
	fake_provider_init(&fake);
	fake.refuse_above = 1;
	pool = fake_pool(&fake.p, &params);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 1 << 20, &lease, &err), -ENOMEM);
	cr_assert(strstr(err.what, "the memlock limit is 8 MiB"), "%s", err.what);
	cr_assert(strstr(err.hint, "all processes of a user share it"), "%s", err.hint);
	first = fake.calls;
	cr_assert_eq(first, 5, "once, and once after each of four pauses");
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 1 << 20, &lease, &err), -ENOMEM);
	second = fake.calls - first;
	cr_assert_eq(second, 1);
	fake.refuse_above = 0;
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 1 << 20, &lease, &err), 0);
	mr_lease_give(lease);
	mr_pool_destroy(pool);
}

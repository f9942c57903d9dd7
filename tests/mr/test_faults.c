/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fail the n-th registration, allocation or mapping for every n until a run meets none: each time
 * a clean error, and everything afterwards as it was before.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_faults);

/* A little of everything; returns the number of takes that failed. */
static unsigned exercise(struct mr_pool *pool)
{
	static const size_t lens[] = {512, 4096, 262144, 1 << 20, 3 << 20};
	struct mr_lease *leases[MR_KIND_COUNT][UTIL_ARRAY_SIZE(lens)] = {0};
	unsigned failed = 0;

	for (unsigned kind = 0; kind < MR_KIND_COUNT; kind++)
		for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
			struct util_err err = {0};
			int ret = mr_lease_take(pool, (enum mr_kind)kind, lens[i], &leases[kind][i],
						&err);

			if (!ret)
				continue;
			failed++;
			cr_assert_null(leases[kind][i], "outputs only on success");
			cr_assert_eq(err.code, ret);
			cr_assert(err.what[0], "an error has words");
		}
	for (unsigned kind = 0; kind < MR_KIND_COUNT; kind++)
		for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++)
			mr_lease_give(leases[kind][i]);
	return failed;
}

static void check_clean(struct fake_provider *fake, struct mr_ledger *ledger)
{
	struct mr_ledger_snapshot snap;

	mr_ledger_read(ledger, &snap);
	cr_assert_eq(fake_live(fake), 0);
	cr_assert_eq(fake->bytes, 0);
	cr_assert_eq(snap.registrations, fake->registered);
	cr_assert_eq(snap.deregistrations, fake->deregistered);
	cr_assert_eq(snap.pages_charged, snap.pages_released);
	cr_assert_eq(snap.iova_maps, snap.iova_unmaps);
	cr_assert_eq(snap.slabs_created, snap.slabs_destroyed);
	cr_assert_eq(snap.bytes_registered_now + snap.pages_charged_now + snap.locked_pages_now, 0);
	cr_assert_eq(snap.leases_taken, snap.leases_given);
	cr_assert_eq(snap.leases_now, 0);
	cr_assert_eq(wrap_mapped, 0, "%ld bytes are still mapped", wrap_mapped);
}

Test(mr_faults, every_failed_registration_leaves_no_trace)
{
	for (unsigned n = 1;; n++) {
		struct fake_provider fake;
		struct mr_ledger ledger;
		struct mr_pool_params params = {.ledger_parent = &ledger, .slab_size = 1 << 20};
		struct mr_pool *pool;
		unsigned failed;

		mr_ledger_init(&ledger, NULL);
		fake_provider_init(&fake);
		fake.fail_at = n;
		pool = fake_pool(&fake.p, &params);
		failed = exercise(pool);
		mr_pool_destroy(pool);
		check_clean(&fake, &ledger);
		if (fake.calls < n) {
			cr_assert_gt(n, 10);
			break;
		}
		cr_assert_eq(failed, 1, "registration %u", n);
	}
}

Test(mr_faults, every_failed_allocation_or_mapping_leaves_no_trace)
{
	for (long n = 1;; n++) {
		struct fake_provider fake;
		struct mr_ledger ledger;
		struct mr_pool_params params = {
			.ledger_parent = &ledger, .slab_size = 1 << 20, .numa_node = -1};
		struct mr_pool *pool = NULL;
		struct util_err err = {0};
		long live = wrap_live, calls;

		mr_ledger_init(&ledger, NULL);
		fake_provider_init(&fake);
		wrap_calls = 0;
		wrap_fail_at = n;
		if (mr_pool_create(&pool, &fake.p, &params, &err)) {
			cr_assert_eq(err.code, -ENOMEM);
			cr_assert_null(pool);
		} else {
			exercise(pool);
			mr_pool_destroy(pool);
		}
		wrap_fail_at = 0;
		calls = wrap_calls;
		check_clean(&fake, &ledger);
		cr_assert_eq(wrap_live, live, "call %ld: memory is lost", n);
		if (calls < n) {
			cr_assert_gt(n, 20);
			break;
		}
	}
}

Test(mr_faults, a_failed_local_buffer_leaves_no_trace)
{
	struct fake_provider fake;
	struct mr_ledger ledger;
	struct mr_local local = {0};
	struct util_err err = {0};

	mr_ledger_init(&ledger, NULL);
	fake_provider_init(&fake);
	fake.fail_at = 1;
	cr_assert_eq(mr_local_create(&local, &fake.p, 5000, &ledger, &err), -ENOSPC);
	cr_assert_null(local.addr);
	cr_assert_eq(mr_local_create(&local, &fake.p, 5000, &ledger, &err), 0);
	cr_assert_eq(fake.last_access, MR_ACCESS_LOCAL_WRITE, "no peer can reach it");
	cr_assert_eq(local.len, 8192);
	memset(local.addr, 1, local.len);
	mr_local_destroy(&local);
	mr_local_destroy(&local);
	check_clean(&fake, &ledger);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_ledger);

static uint64_t vm_pin_pages(void)
{
	struct iommu_pins pins;

	cr_assert_eq(iommu_pins_read(&pins, 0, NULL), 0);
	return pins.vm_pin_kb / 4;
}

static void check_vm_pin(struct mr_ledger *ledger)
{
	struct mr_ledger_snapshot snap;

	mr_ledger_read(ledger, &snap);
	cr_assert_eq(snap.pages_charged_now, vm_pin_pages(), "ledger %lu, VmPin %lu pages",
		     (unsigned long)snap.pages_charged_now, (unsigned long)vm_pin_pages());
}

Test(mr_ledger, equals_vm_pin_to_the_page)
{
	static const size_t lens[] = {300, 4096, 70000, 262144, 1 << 20, 5 << 20, 2 << 20};
	struct pinning_provider pinning;
	struct mr_ledger ledger;
	struct mr_pool_params params = {.ledger_parent = &ledger};
	struct mr_lease *leases[UTIL_ARRAY_SIZE(lens)];
	struct mr_pool *pool;

	if (pinning_provider_init(&pinning))
		cr_skip_test("io_uring is forbidden here: nothing to pin with");
	mr_ledger_init(&ledger, NULL);
	pool = fake_pool(&pinning.p, &params);
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		cr_assert_eq(mr_lease_take(pool, i % 2 ? MR_KIND_READ : MR_KIND_WRITE, lens[i],
					   &leases[i], NULL),
			     0);
		check_vm_pin(&ledger);
	}
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		mr_lease_give(leases[i]);
		mr_pool_trim(pool);
		check_vm_pin(&ledger);
	}
	mr_pool_destroy(pool);
	check_vm_pin(&ledger);
	cr_assert_eq(vm_pin_pages(), 0);
}

Test(mr_ledger, the_process_counts_all_pools_and_keeps_the_counts_of_ended_ones)
{
	struct fake_provider fake;
	struct mr_ledger process;
	struct mr_pool_params params = {.ledger_parent = &process, .slab_size = 1 << 20};
	struct mr_ledger_snapshot before, after;
	struct mr_pool *one, *two;
	struct mr_lease *a, *b;

	mr_ledger_init(&process, NULL);
	fake_provider_init(&fake);
	one = fake_pool(&fake.p, &params);
	two = fake_pool(&fake.p, &params);
	cr_assert_eq(mr_lease_take(one, MR_KIND_READ, 4096, &a, NULL), 0);
	cr_assert_eq(mr_lease_take(two, MR_KIND_READ, 4096, &b, NULL), 0);
	mr_ledger_read(&process, &before);
	cr_assert_eq(before.registrations, 2);
	cr_assert_eq(before.bytes_registered_now, 2 << 20);
	cr_assert_eq(before.leases_taken, 2);
	cr_assert_eq(before.leases_now, 2);
	mr_lease_give(a);
	mr_lease_give(b);
	mr_pool_destroy(one);
	mr_pool_destroy(two);
	mr_ledger_read(&process, &after);
	cr_assert_eq(after.leases_taken, 2);
	cr_assert_eq(after.leases_given, 2);
	cr_assert_eq(after.leases_now, 0);
	cr_assert_eq(after.pages_released, 512);
	cr_assert_eq(after.bytes_registered_now, 0);
}

Test(mr_ledger, fields_are_named_once_each_in_the_order_of_the_documents)
{
	struct mr_ledger_snapshot snap = {.registrations = 7, .quarantined_now = 9};
	uint64_t value = 0;
	const char *name;
	unsigned n = 0;

	cr_assert_str_eq(mr_ledger_field(&snap, 0, &value), "registrations");
	cr_assert_eq(value, 7);
	while ((name = mr_ledger_field(&snap, n, &value)))
		n++;
	cr_assert_eq(n, sizeof(snap) / sizeof(uint64_t));
	cr_assert_eq(value, 9);
}

Test(mr_ledger, invalidations_are_counted_by_batch)
{
	struct mr_ledger ledger;
	struct mr_ledger_snapshot snap;

	mr_ledger_init(&ledger, NULL);
	mr_ledger_invalidated_batch(&ledger, 5);
	mr_ledger_invalidated_batch(&ledger, 1);
	mr_ledger_invalidated_remote(&ledger);
	mr_ledger_read(&ledger, &snap);
	cr_assert_eq(snap.invalidations_local, 6);
	cr_assert_eq(snap.invalidation_batches, 2);
	cr_assert_eq(snap.invalidations_remote, 1);
}

Test(mr_ledger, quarantine_is_counted_until_the_lease_comes_back)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_ledger_snapshot snap;
	struct mr_lease *lease;
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 4096, &lease, NULL), 0);
	mr_lease_quarantine(lease);
	mr_lease_quarantine(lease);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	cr_assert_eq(snap.leases_quarantined, 1);
	cr_assert_eq(snap.quarantined_now, 1);
	cr_assert_eq(snap.leases_now, 1, "it is still out");
	cr_assert_eq(mr_pool_trim(pool), 0, "its memory stays");
	mr_lease_give(lease);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	cr_assert_eq(snap.leases_quarantined, 1);
	cr_assert_eq(snap.quarantined_now, 0);
	mr_pool_destroy(pool);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"
#include "transport/fabric/fabric.h"

TestSuite(mr_ledger);

/* Lease, give and trim over provider; the ledger is right after every step. */
static void walk_sizes(struct mr_provider *provider, void (*check)(struct mr_ledger *ledger))
{
	/* Less than 6 MiB together, which is what a pool takes of a stock limit of 8. */
	static const size_t lens[] = {300, 4096, 70000, 262144, 1 << 20, 3 << 20, 5 << 18};
	struct mr_ledger ledger;
	struct mr_pool_params params = {.ledger_parent = &ledger, .slab_size = 128 << 10};
	struct mr_lease *leases[UTIL_ARRAY_SIZE(lens)];
	struct mr_pool *pool;

	mr_ledger_init(&ledger, NULL);
	pool = fake_pool(provider, &params);
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		cr_assert_eq(mr_lease_take(pool, (enum mr_kind)(i % MR_KIND_COUNT), lens[i],
					   &leases[i], NULL),
			     0);
		check(&ledger);
	}
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		mr_lease_give(leases[i]);
		mr_pool_trim(pool);
		check(&ledger);
	}
	mr_pool_destroy(pool);
	check(&ledger);
	cr_assert_eq(vm_pin_pages(), 0);
}

Test(mr_ledger, equals_vm_pin_to_the_page)
{
	struct pinning_provider pinning;

	if (pinning_provider_init(&pinning))
		cr_skip_test("io_uring is forbidden here: nothing to pin with");
	walk_sizes(&pinning.p, check_vm_pin);
}

/* A domain of the software RNIC, for loopback. */
static void walk_iwarp(bool no_io_uring, void (*check)(struct mr_ledger *ledger))
{
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct fabric_options opts = {.no_io_uring = no_io_uring};
	struct fabric_domain *domain;
	struct fabric *fabric;
	struct util_err err = {0};

	cr_assert_eq(iwarp_fabric_ops.open(&fabric, &opts, &err), 0, "%s", err.what);
	cr_assert_eq(iwarp_fabric_ops.domain_open(fabric, (struct sockaddr *)&peer, sizeof(peer),
						  1000, &domain, &err),
		     0, "%s", err.what);
	walk_sizes(domain->provider, check);
	iwarp_fabric_ops.domain_put(domain);
	iwarp_fabric_ops.close(fabric);
}

Test(mr_ledger, equals_vm_pin_to_the_page_on_iwarp)
{
	struct pinning_provider pinning;

	if (pinning_provider_init(&pinning))
		cr_skip_test("io_uring is forbidden here: nothing to pin with");
	walk_iwarp(false, check_vm_pin);
}

static void check_vm_lck(struct mr_ledger *ledger)
{
	struct mr_ledger_snapshot snap;
	struct iommu_pins pins;

	cr_assert_eq(iommu_pins_read(&pins, 0, NULL), 0);
	mr_ledger_read(ledger, &snap);
	cr_assert_eq(snap.locked_pages_now, pins.vm_lck_kb / 4);
	cr_assert_eq(snap.pages_charged_now, 0, "locked pages are no pins");
}

Test(mr_ledger, equals_vm_lck_where_mlock_stands_in_for_pins)
{
	walk_iwarp(true, check_vm_lck);
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
	struct mr_ledger_snapshot snap = {.registrations = 7, .iommu_faults = 9};
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

Test(mr_ledger, batches_of_invalidations_fall_into_their_bucket)
{
	struct mr_ledger parent, ledger;
	struct mr_ledger_snapshot snap;

	mr_ledger_init(&parent, NULL);
	mr_ledger_init(&ledger, &parent);
	for (unsigned n = 1; n <= 40; n++)
		mr_ledger_batch(&ledger, n);
	mr_ledger_read(&parent, &snap);
	cr_assert_eq(snap.invalidation_batches, 40);
	cr_assert_eq(snap.invalidation_batches_1, 1);
	cr_assert_eq(snap.invalidation_batches_2, 1);
	cr_assert_eq(snap.invalidation_batches_4, 2);
	cr_assert_eq(snap.invalidation_batches_8, 4);
	cr_assert_eq(snap.invalidation_batches_16, 8);
	cr_assert_eq(snap.invalidation_batches_32, 16);
	cr_assert_eq(snap.invalidation_batches_more, 8);
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

/* ---- the other witness: pins as the whole machine counts them ------------------------------ */

/* Pages or folios pinned at this moment, by anybody. */
static int64_t machine_pins(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	struct iommu_pins pins;

	/* Root has the counters summed up now; for others they are at most a second late. */
	if (fd < 0 || write(fd, "1", 1) != 1)
		usleep(1500000);
	if (fd >= 0)
		close(fd);
	cr_assert_eq(iommu_pins_read(&pins, 0, NULL), 0);
	return (int64_t)(pins.foll_pin_acquired - pins.foll_pin_released);
}

/* One pool from its beginning to its end; how many pins it held, and how many it left. */
static void pins_of_a_pool(struct mr_provider *provider, int64_t *heldp, int64_t *leftp)
{
	struct mr_pool_params params = {.hugepages = MR_HUGE_OFF, .slab_size = 1 << 20};
	struct mr_lease *read, *write;
	int64_t before = machine_pins();
	struct mr_pool *pool = fake_pool(provider, &params);

	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 262144, &read, NULL), 0);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_WRITE, 262144, &write, NULL), 0);
	*heldp = machine_pins() - before;
	mr_lease_give(read);
	mr_lease_give(write);
	mr_pool_destroy(pool);
	*leftp = machine_pins() - before;
}

/* Others on the machine may pin and unpin meanwhile: it must come out even once. */
Test(mr_ledger, pins_taken_are_given_back_by_the_machines_own_count, .timeout = 300)
{
	int64_t held = 0, left = 1;
	struct pinning_provider pinning;

	if (pinning_provider_init(&pinning))
		cr_skip_test("io_uring is forbidden here: nothing to pin with");
	for (unsigned i = 0; i < 1000 && (left || held != 512); i++)
		pins_of_a_pool(&pinning.p, &held, &left);
	cr_expect_eq(held, 512, "two slabs of 256 small pages: %ld", (long)held);
	cr_expect_eq(left, 0, "%ld", (long)left);
}

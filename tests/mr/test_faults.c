/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fail the n-th registration, allocation or mapping for every n until a run meets none: each time
 * a clean error, and everything afterwards as it was before.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include <arpa/inet.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"
#include "transport/fabric/fabric.h"

TestSuite(mr_faults);

static uint64_t registered_now(struct mr_pool *pool)
{
	struct mr_ledger_snapshot snap;

	mr_ledger_read(mr_pool_ledger(pool), &snap);
	return snap.bytes_registered_now;
}

/* What failed left no registration behind; it may have ended idle ones. */
static void check_failed(struct mr_pool *pool, uint64_t before, int ret, const struct util_err *err)
{
	cr_assert_eq(err->code, ret);
	cr_assert(err->what[0], "an error has words");
	cr_assert_leq(registered_now(pool), before, "a failure leaves a registration: %s",
		      err->what);
}

/* A little of everything; returns the number of takes that failed. */
static unsigned exercise(struct mr_pool *pool)
{
	static const size_t lens[] = {512, 4096, 262144, 1 << 20, 3 << 20};
	struct mr_lease *leases[MR_KIND_COUNT][UTIL_ARRAY_SIZE(lens)] = {0};
	unsigned failed = 0;

	for (unsigned kind = 0; kind < MR_KIND_COUNT; kind++)
		for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
			uint64_t before = registered_now(pool);
			struct util_err err = {0};
			int ret = mr_lease_take(pool, (enum mr_kind)kind, lens[i], &leases[kind][i],
						&err);

			if (!ret)
				continue;
			failed++;
			cr_assert_null(leases[kind][i], "outputs only on success");
			check_failed(pool, before, ret, &err);
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
		fake_unlimit(pool);
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

/* Calls in one mode: grants of leases and of memory that is not ours, and a lost connection. */
static void exercise_grants(struct mr_pool *pool, void (*look)(struct mr_pool *pool))
{
	static char foreign[3][4096] __attribute__((aligned(4096)));
	struct mr_grant *grants[6] = {0}, *grant;
	struct mr_lease *leases[6] = {0};
	struct mr_binder *binder = NULL;
	struct util_err err = {0};

	if (mr_binder_create(&binder, pool, 4, &err)) {
		cr_assert(err.code && err.what[0]);
		return;
	}
	for (unsigned i = 0; i < 6; i++) {
		uint64_t before = registered_now(pool);
		int ret = i < 3 ? mr_lease_take(pool, MR_KIND_READ, 8192, &leases[i], &err)
				: mr_lease_take_memory(pool, MR_KIND_WRITE, foreign[i - 3], 4096,
						       &leases[i], &err);

		if (!ret) {
			before = registered_now(pool);
			ret = mr_grant_open(binder, leases[i], leases[i]->addr, leases[i]->len,
					    leases[i]->kind, &grants[i], &err);
		}
		if (ret < 0)
			check_failed(pool, before, ret, &err);
	}
	look(pool);
	for (unsigned i = 0; i < 3; i++)
		if (grants[i] && mr_grant_close(binder, grants[i]))
			mr_grant_end(binder, grants[i]);
	look(pool);
	mr_binder_reset(binder);
	for (unsigned i = 3; i < 6; i++)
		if (grants[i])
			mr_grant_end(binder, grants[i]);
	if (leases[0] &&
	    mr_grant_open(binder, leases[0], leases[0]->addr, 100, MR_KIND_READ, &grant, &err) >= 0)
		mr_grant_end(binder, grant);
	for (unsigned i = 0; i < 6; i++)
		mr_lease_give(leases[i]);
	look(pool);
	mr_binder_destroy(binder);
}

static void look_away(struct mr_pool *pool)
{
	(void)pool;
}

/* One run in one mode with a failure in it; true when the failure was reached. */
static bool fail_grants(enum mr_mode mode, unsigned reg, unsigned window, long alloc)
{
	struct fake_provider fake;
	struct mr_ledger ledger;
	struct mr_ledger_snapshot snap;
	struct mr_pool_params params = {.mode = mode,
					.ledger_parent = &ledger,
					.monitor = MR_MONITOR_OFF,
					.numa_node = -1,
					.slab_size = 1 << 20};
	struct mr_pool *pool = NULL;
	struct util_err err = {0};
	long live = wrap_live, calls;

	mr_ledger_init(&ledger, NULL);
	fake_provider_init(&fake);
	fake.unaligned = true;
	fake.p.max_windows = 1000;
	fake.fail_at = reg;
	fake.window_fail_at = window;
	wrap_calls = 0;
	wrap_fail_at = alloc;
	if (!mr_pool_create(&pool, &fake.p, &params, &err)) {
		exercise_grants(pool, look_away);
		mr_pool_destroy(pool);
	}
	wrap_fail_at = 0;
	calls = wrap_calls;
	check_clean(&fake, &ledger);
	mr_ledger_read(&ledger, &snap);
	cr_assert_eq(fake.windows, 0);
	cr_assert_eq(fake.p.regions, 0);
	cr_assert_eq(fake.p.windows, 0);
	cr_assert_eq(snap.windows_now, 0);
	cr_assert_eq(snap.windows_bound,
		     snap.invalidations_local + snap.invalidations_remote + snap.windows_dropped);
	cr_assert_eq(wrap_live, live, "memory was lost");
	return reg ? fake.calls >= reg : window ? fake.window_calls >= window : calls >= alloc;
}

Test(mr_faults, every_failed_step_of_a_grant_leaves_no_trace_in_any_mode)
{
	for (unsigned mode = 0; mode < MR_MODE_ODP; mode++) {
		unsigned n = 1;

		while (fail_grants((enum mr_mode)mode, n, 0, 0))
			n++;
		cr_expect_gt(n, 3, "registrations in %s", mr_mode_name((enum mr_mode)mode));
		for (n = 1; fail_grants((enum mr_mode)mode, 0, n, 0);)
			n++;
		cr_expect(mode != MR_MODE_WINDOW || n > 64, "windows");
		for (n = 1; fail_grants((enum mr_mode)mode, 0, 0, n);)
			n++;
		cr_expect_gt(n, 5, "allocations");
	}
}

/* ---- the same over real pins -------------------------------------------------------------- */

static void look_at_pins(struct mr_pool *pool)
{
	check_vm_pin(mr_pool_ledger(pool));
}

/* One run over the software RNIC whose n-th call fails; true: it had so many. */
static bool fail_pinned(struct mr_provider *provider, enum mr_mode mode, long n)
{
	struct mr_pool_params params = {
		.mode = mode, .monitor = MR_MONITOR_OFF, .numa_node = -1, .slab_size = 1 << 20};
	struct mr_pool *pool = NULL;
	struct util_err err = {0};
	long mapped = wrap_mapped;

	wrap_calls = 0;
	wrap_fail_at = n;
	if (!mr_pool_create(&pool, provider, &params, &err)) {
		exercise_grants(pool, look_at_pins);
		mr_pool_destroy(pool);
	} else {
		cr_assert(err.what[0], "an error has words");
	}
	wrap_fail_at = 0;
	cr_assert_eq(vm_pin_pages(), 0, "call %ld in %s leaves pins", n, mr_mode_name(mode));
	cr_assert_eq(wrap_mapped, mapped, "call %ld in %s leaves memory", n, mr_mode_name(mode));
	cr_assert_eq(provider->regions, 0);
	cr_assert_eq(provider->windows, 0);
	return wrap_calls >= n;
}

Test(mr_faults, the_ledger_is_vmpin_whatever_fails_on_iwarp, .timeout = 300)
{
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct fabric_options opts = {0};
	struct pinning_provider pinning;
	struct fabric_domain *domain;
	struct fabric *fabric;

	if (pinning_provider_init(&pinning))
		cr_skip_test("io_uring is forbidden here: nothing to pin with");
	cr_assert_eq(iwarp_fabric_ops.open(&fabric, &opts, NULL), 0);
	cr_assert_eq(iwarp_fabric_ops.domain_open(fabric, (struct sockaddr *)&peer, sizeof(peer),
						  1000, &domain, NULL),
		     0);
	for (unsigned mode = 0; mode < MR_MODE_ODP; mode++) {
		long n = 1;

		while (fail_pinned(domain->provider, (enum mr_mode)mode, n))
			n++;
		cr_expect_gt(n, 20, "%s: %ld", mr_mode_name((enum mr_mode)mode), n);
	}
	iwarp_fabric_ops.domain_put(domain);
	iwarp_fabric_ops.close(fabric);
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

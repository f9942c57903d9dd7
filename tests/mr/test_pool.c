/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_pool);

static struct mr_lease *take(struct mr_pool *pool, enum mr_kind kind, size_t len)
{
	struct mr_lease *lease = NULL;
	struct util_err err = {0};

	cr_assert_eq(mr_lease_take(pool, kind, len, &lease, &err), 0, "%zu: %s", len, err.what);
	return lease;
}

Test(mr_pool, nothing_is_registered_before_the_first_lease)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	cr_assert_eq(fake.calls, 0);
	mr_pool_destroy(pool);
}

Test(mr_pool, leases_carry_length_address_and_key_of_their_slab)
{
	static const size_t lens[] = {1,    255,   256,	   257,	    4096,
				      5000, 65536, 262144, 1048576, 4194304};
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		struct mr_lease *lease = take(pool, MR_KIND_READ, lens[i]);
		size_t align = lease->size & -lease->size;

		cr_assert_eq(lease->len, lens[i]);
		cr_assert_geq(lease->size, lens[i]);
		cr_assert_eq((uintptr_t)lease->addr % (align < 4096 ? align : 4096), 0);
		cr_assert_eq((lease->iova - (uintptr_t)lease->addr) % 4096, 0);
		cr_assert_eq(lease->rkey & ~0xffu, lease->lkey);
		memset(lease->addr, 1, lease->size);
		mr_lease_give(lease);
	}
	mr_pool_destroy(pool);
	cr_assert_eq(fake_live(&fake), 0);
}

Test(mr_pool, each_kind_has_its_own_key_and_least_right)
{
	static const unsigned rights[MR_KIND_COUNT] = {
		[MR_KIND_READ] = MR_ACCESS_LOCAL_WRITE | MR_ACCESS_REMOTE_WRITE,
		[MR_KIND_WRITE] = MR_ACCESS_REMOTE_READ,
		[MR_KIND_BOTH] =
			MR_ACCESS_LOCAL_WRITE | MR_ACCESS_REMOTE_WRITE | MR_ACCESS_REMOTE_READ,
		[MR_KIND_SINK] = MR_ACCESS_LOCAL_WRITE | MR_ACCESS_READ_SINK,
		[MR_KIND_SOURCE] = 0,
	};
	struct mr_lease *leases[MR_KIND_COUNT];
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	for (unsigned kind = 0; kind < MR_KIND_COUNT; kind++) {
		leases[kind] = take(pool, (enum mr_kind)kind, 4096);
		cr_assert_eq(fake.last_access, rights[kind], "kind %u", kind);
		for (unsigned other = 0; other < kind; other++)
			cr_assert_neq(leases[kind]->lkey, leases[other]->lkey);
	}
	for (unsigned kind = 0; kind < MR_KIND_COUNT; kind++)
		mr_lease_give(leases[kind]);
	mr_pool_destroy(pool);
}

Test(mr_pool, never_registers_in_steady_state)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_ledger_snapshot snap;
	struct mr_lease *leases[32];
	struct mr_pool *pool;
	unsigned calls = 0;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	for (unsigned round = 0; round < 1000; round++) {
		for (unsigned i = 0; i < 32; i++)
			leases[i] = take(pool, i % 2 ? MR_KIND_READ : MR_KIND_WRITE,
					 i % 4 ? 4096 : 262144);
		for (unsigned i = 0; i < 32; i++)
			mr_lease_give(leases[i]);
		if (!round)
			calls = fake.calls;
	}
	cr_assert_eq(fake.calls, calls);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	cr_assert_eq(snap.leases_taken, 32000);
	cr_assert_eq(snap.leases_given, 32000);
	cr_assert_eq(snap.leases_now, 0);
	cr_assert_eq(snap.registrations, calls);
	cr_assert_eq(snap.iova_reuses, 32000 - calls);
	mr_pool_destroy(pool);
}

Test(mr_pool, no_lock_and_no_allocation_in_steady_state)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_lease *leases[64];
	struct mr_pool *pool;
	long before = 0;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	for (unsigned round = 0; round < 100; round++) {
		/* 64 is twice what a magazine holds: the depot is on this path. */
		for (unsigned i = 0; i < 64; i++)
			leases[i] = take(pool, MR_KIND_READ, 4096);
		for (unsigned i = 0; i < 64; i++)
			mr_lease_give(leases[i]);
		if (!round)
			before = wrap_calls;
	}
	cr_assert_eq(wrap_calls, before);
	mr_pool_destroy(pool);
}

/* The kernel is the witness: in strict seccomp mode any call but read, write and exit kills. */
Test(mr_pool, no_system_call_in_steady_state)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_lease *leases[64];
	struct mr_pool *pool;
	int status;
	pid_t pid;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	for (unsigned i = 0; i < 64; i++)
		leases[i] = take(pool, MR_KIND_WRITE, 65536);
	for (unsigned i = 0; i < 64; i++)
		mr_lease_give(leases[i]);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		for (unsigned i = 0; i < 10000; i++) {
			for (unsigned j = 0; j < 64; j++)
				if (mr_lease_take(pool, MR_KIND_WRITE, 65536, &leases[j], NULL))
					syscall(SYS_exit, 1);
			for (unsigned j = 0; j < 64; j++)
				mr_lease_give(leases[j]);
		}
		syscall(SYS_exit, 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x", status);
	mr_pool_destroy(pool);
}

static void *take_and_end(void *arg)
{
	struct mr_pool *pool = arg;
	struct mr_lease *leases[16];

	for (unsigned i = 0; i < 16; i++)
		leases[i] = take(pool, MR_KIND_READ, 65536);
	for (unsigned i = 0; i < 16; i++)
		mr_lease_give(leases[i]);
	return NULL;
}

Test(mr_pool, what_an_ended_thread_kept_is_found_again)
{
	struct fake_provider fake;
	/* Exactly the 16 leases of 64 KiB fit. */
	struct mr_pool_params params = {.max_pinned = 1 << 20, .slab_size = 1 << 20};
	struct mr_lease *leases[16];
	struct mr_pool *pool;
	pthread_t thread;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	pthread_create(&thread, NULL, take_and_end, pool);
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < 16; i++)
		leases[i] = take(pool, MR_KIND_READ, 65536);
	cr_assert_eq(fake.registered, 1);
	for (unsigned i = 0; i < 16; i++)
		mr_lease_give(leases[i]);
	mr_pool_destroy(pool);
}

Test(mr_pool, more_threads_than_slots_still_work)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_ledger_snapshot snap;
	struct mr_pool *pool;
	pthread_t threads[200];

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	for (unsigned i = 0; i < 200; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, take_and_end, pool), 0);
	for (unsigned i = 0; i < 200; i++)
		pthread_join(threads[i], NULL);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	cr_assert_eq(snap.leases_taken, 3200);
	cr_assert_eq(snap.leases_now, 0);
	mr_pool_destroy(pool);
	cr_assert_eq(fake_live(&fake), 0);
}

/* Two threads that take and give beside each other would otherwise pass the line to and fro. */
Test(mr_pool, no_two_leases_share_a_cache_line)
{
	struct mr_pool_params params = {.max_pinned = 64 << 20};
	struct mr_lease *lease[64];
	struct fake_provider fake;
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	for (unsigned i = 0; i < 64; i++) {
		cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 65536, &lease[i], NULL), 0);
		cr_assert_eq((uintptr_t)lease[i] % 64, 0);
		for (unsigned j = 0; j < i; j++)
			cr_assert_geq(lease[i] > lease[j] ? (char *)lease[i] - (char *)lease[j]
							  : (char *)lease[j] - (char *)lease[i],
				      64 + (long)sizeof(struct mr_lease));
	}
	for (unsigned i = 0; i < 64; i++)
		mr_lease_give(lease[i]);
	mr_pool_destroy(pool);
}

Test(mr_pool, trim_releases_what_no_lease_is_out_of)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.slab_size = 1 << 20};
	struct mr_lease *kept, *other;
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	kept = take(pool, MR_KIND_READ, 4096);
	other = take(pool, MR_KIND_WRITE, 4096);
	mr_lease_give(other);
	cr_assert_eq(mr_pool_trim(pool), 1 << 20);
	cr_assert_eq(fake_live(&fake), 1);
	mr_lease_give(kept);
	cr_assert_eq(mr_pool_trim(pool), 1 << 20);
	cr_assert_eq(fake_live(&fake), 0);
	mr_lease_give(take(pool, MR_KIND_READ, 4096));
	mr_pool_destroy(pool);
}

Test(mr_pool, large_leases_waste_at_most_a_quarter_new_or_reused)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.max_pinned = 1 << 30};
	struct mr_pool *pool;
	unsigned reused = 0;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	fake_unlimit(pool);
	/* Downwards, so that what was larger lies idle. */
	for (size_t len = 9 << 20; len > MR_CLASS_MAX; len -= 40 << 10) {
		unsigned before = fake.registered;
		struct mr_lease *lease = take(pool, MR_KIND_READ, len);

		cr_assert_leq(4 * (lease->size - len), lease->size, "%zu bytes get %zu", len,
			      lease->size);
		reused += fake.registered == before;
		mr_lease_give(lease);
	}
	cr_assert_gt(reused, 50);
	mr_pool_destroy(pool);
}

Test(mr_pool, large_leases_are_contiguous_and_reused)
{
	struct fake_provider fake;
	struct mr_pool_params params = {0};
	struct mr_lease *lease;
	struct mr_pool *pool;
	void *addr;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	fake_unlimit(pool);
	lease = take(pool, MR_KIND_READ, 48 << 20);
	memset(lease->addr, 7, lease->len);
	addr = lease->addr;
	mr_lease_give(lease);
	lease = take(pool, MR_KIND_READ, 47 << 20);
	cr_assert_eq(lease->addr, addr);
	cr_assert_eq(fake.registered, 1);
	mr_lease_give(lease);
	/* Half the size would waste more than a quarter of it. */
	lease = take(pool, MR_KIND_READ, 24 << 20);
	cr_assert_eq(fake.registered, 2);
	cr_assert_leq(4 * (lease->size - lease->len), lease->size);
	mr_lease_give(lease);
	mr_pool_destroy(pool);
	cr_assert_eq(fake_live(&fake), 0);
}

Test(mr_pool, bad_lengths_and_kinds_are_refused)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.max_pinned = 1 << 20};
	struct mr_lease *lease = NULL;
	struct util_err err = {0};
	struct mr_pool *pool;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	cr_assert_eq(mr_pool_max_lease(pool), 1 << 20);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, 0, &lease, &err), -EINVAL);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_COUNT, 1, &lease, &err), -EINVAL);
	cr_assert_eq(mr_lease_take(pool, MR_KIND_READ, (1 << 20) + 1, &lease, &err), -EINVAL);
	cr_assert(strstr(err.hint, "max-pinned"), "%s", err.hint);
	cr_assert_null(lease);
	cr_assert_eq(fake.calls, 0);
	mr_lease_give(NULL);
	mr_pool_destroy(pool);
	mr_pool_destroy(NULL);
}

Test(mr_pool, poison_finds_a_write_after_give)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.poison = true};
	struct mr_lease *lease;
	struct mr_pool *pool;
	char *addr;

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	lease = take(pool, MR_KIND_READ, 8192);
	addr = lease->addr;
	memset(addr, 0, 8192);
	mr_lease_give(lease);
	mr_lease_give(take(pool, MR_KIND_READ, 8192));
	cr_assert_eq(mr_pool_poison_hits(pool), 0);
	addr[5000] = 1;
	mr_lease_give(take(pool, MR_KIND_READ, 8192));
	cr_assert_eq(mr_pool_poison_hits(pool), 1);
	mr_pool_destroy(pool);
}

Test(mr_pool, plain_provider_pins_nothing_and_counts_no_registration)
{
	struct mr_provider plain;
	struct mr_pool_params params = {0};
	struct mr_ledger_snapshot snap;
	struct mr_lease *lease;
	struct mr_pool *pool;

	mr_provider_plain_init(&plain);
	pool = fake_pool(&plain, &params);
	lease = take(pool, MR_KIND_READ, 65536);
	cr_assert_eq(lease->rkey, 0);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	cr_assert_eq(snap.registrations, 0);
	cr_assert_eq(snap.iova_reuses, 0);
	cr_assert_eq(snap.leases_now, 1);
	mr_lease_give(lease);
	mr_pool_destroy(pool);
}

Test(mr_pool, describe_names_pages_and_reason)
{
	struct fake_provider fake;
	struct mr_pool_params params = {.max_pinned = 8 << 20};
	struct mr_pool *pool;
	char text[160];

	fake_provider_init(&fake);
	pool = fake_pool(&fake.p, &params);
	cr_assert_str_eq(mr_pool_describe(pool, text, sizeof(text)),
			 "4 KiB pages, any node, slabs of at most 1 MiB: max-pinned is 8 MiB");
	mr_pool_destroy(pool);
}

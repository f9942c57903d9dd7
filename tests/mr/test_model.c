/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random takes, gives, quarantines and trims from several threads, held against a model: every
 * lease is stamped by its holder from end to end, and must still bear the stamp when it goes back,
 * so two leases that overlap, or one handed out twice, are found.  Half of the leases are given by
 * another thread than the one that took them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_model);

#define THREADS 3
#define HELD 24
#define STEPS 112000 /* times three threads, times three tests: a million */

struct model {
	struct mr_pool *pool;
	_Atomic(struct mr_lease *) mailbox[8];
	_Atomic uint64_t taken, refused;
	unsigned seed;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* One stamp at each page of it and one at its end. */
static void stamp(struct mr_lease *lease, uint64_t value)
{
	for (size_t at = 0; at + 8 <= lease->size; at += 4096)
		memcpy((char *)lease->addr + at, &value, 8);
	memcpy((char *)lease->addr + lease->size - 8, &value, 8);
}

static void check_stamp(const struct mr_lease *lease)
{
	uint64_t first, value;

	memcpy(&first, (char *)lease->addr + lease->size - 8, 8);
	for (size_t at = 0; at + 8 <= lease->size; at += 4096) {
		memcpy(&value, (char *)lease->addr + at, 8);
		cr_assert_eq(value, first, "a lease was written to by another holder");
	}
}

static struct mr_lease *model_take(struct model *m, uint32_t *rng)
{
	size_t len = 1 + next_random(rng) % (1u << (8 + next_random(rng) % 12));
	enum mr_kind kind = (enum mr_kind)(next_random(rng) % 3);
	struct mr_lease *lease = NULL;

	if (mr_lease_take(m->pool, kind, len, &lease, NULL)) {
		m->refused++;
		return NULL;
	}
	cr_assert_eq(lease->kind, kind);
	cr_assert_eq(lease->len, len);
	stamp(lease, ++m->taken << 8 | 1);
	return lease;
}

static void model_give(struct mr_lease *lease, uint32_t *rng)
{
	if (!lease)
		return;
	check_stamp(lease);
	if (next_random(rng) % 64 == 0)
		mr_lease_quarantine(lease);
	mr_lease_give(lease);
}

static void *model_thread(void *arg)
{
	struct model *m = arg;
	struct mr_lease *held[HELD] = {0};
	uint32_t rng = __atomic_add_fetch(&m->seed, 77, __ATOMIC_RELAXED);

	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = next_random(&rng) % HELD;

		if (next_random(&rng) % 2000 == 0)
			mr_pool_trim(m->pool);
		if (!held[i])
			held[i] = model_take(m, &rng);
		else if (next_random(&rng) % 2)
			held[i] = atomic_exchange(&m->mailbox[i % 8], held[i]);
		else {
			model_give(held[i], &rng);
			held[i] = NULL;
		}
	}
	for (unsigned i = 0; i < HELD; i++)
		model_give(held[i], &rng);
	return NULL;
}

static void model_run(struct mr_pool_params *params, unsigned seed)
{
	struct fake_provider fake;
	struct mr_ledger ledger;
	struct mr_ledger_snapshot snap;
	struct model m = {.seed = seed};
	pthread_t threads[THREADS];
	uint32_t rng = seed;

	fake_provider_init(&fake);
	mr_ledger_init(&ledger, NULL);
	params->ledger_parent = &ledger;
	m.pool = fake_pool(&fake.p, params);
	for (unsigned i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, model_thread, &m), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 8; i++)
		model_give(m.mailbox[i], &rng);
	mr_ledger_read(&ledger, &snap);
	cr_assert_eq(snap.leases_taken, m.taken);
	cr_assert_eq(snap.leases_given, m.taken);
	cr_assert_eq(snap.quarantined_now, 0);
	cr_assert_eq(snap.bytes_registered_now, fake.bytes);
	cr_assert_eq(mr_pool_poison_hits(m.pool), 0);
	mr_pool_destroy(m.pool);
	cr_assert_eq(fake_live(&fake), 0);
	cr_assert_gt(m.taken, STEPS / 4);
}

Test(mr_model, leases_never_overlap_and_all_come_back, .timeout = 60)
{
	struct mr_pool_params params = {0};

	model_run(&params, 1);
}

Test(mr_model, leases_never_overlap_under_a_tight_budget, .timeout = 60)
{
	struct mr_pool_params params = {.max_pinned = 4 << 20, .slab_size = 512 << 10};

	model_run(&params, 2);
}

Test(mr_model, nobody_touches_what_is_given, .timeout = 60)
{
	struct mr_pool_params params = {.poison = true, .max_pinned = 16 << 20};

	model_run(&params, 3);
}

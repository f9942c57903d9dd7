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

/* ---- real pins ---------------------------------------------------------------------------- */

#define PHASES 60
#define PHASE_STEPS 400

/* Threads run freely for a phase, then stand still while one of them looks. */
struct pinned {
	struct mr_pool *pool;
	struct mr_ledger ledger;
	pthread_barrier_t barrier;
	unsigned seed, looks;
	uint64_t pinned_most;
};

static uint64_t vm_pin_pages(void)
{
	struct iommu_pins pins;

	cr_assert_eq(iommu_pins_read(&pins, 0, NULL), 0);
	return pins.vm_pin_kb / 4;
}

static void look(struct pinned *p)
{
	struct mr_ledger_snapshot snap;
	uint64_t pages = vm_pin_pages();

	mr_ledger_read(&p->ledger, &snap);
	cr_assert_eq(snap.pages_charged_now, pages, "ledger %lu, VmPin %lu",
		     (unsigned long)snap.pages_charged_now, (unsigned long)pages);
	if (pages > p->pinned_most)
		p->pinned_most = pages;
	p->looks++;
}

/* A lease of this thread, and what a peer may reach of it. */
struct hold {
	struct mr_lease *lease;
	struct mr_grant *grant;
};

static void hold_take(struct pinned *p, struct mr_binder *binder, struct hold *h, uint32_t *rng)
{
	enum mr_kind kind = next_random(rng) % 2 ? MR_KIND_READ : MR_KIND_WRITE;
	size_t len = 4096 * (1 + next_random(rng) % 16);

	if (mr_lease_take(p->pool, kind, len, &h->lease, NULL)) {
		h->lease = NULL;
		return;
	}
	if (mr_grant_open(binder, h->lease, h->lease->addr, len, kind, &h->grant, NULL))
		h->grant = NULL;
}

static void hold_give(struct mr_binder *binder, struct hold *h)
{
	if (h->grant)
		cr_assert_eq(mr_grant_close(binder, h->grant), 0);
	mr_lease_give(h->lease);
	*h = (struct hold){0};
}

static void *pinned_thread(void *arg)
{
	struct pinned *p = arg;
	struct hold held[HELD] = {0};
	uint32_t rng = __atomic_add_fetch(&p->seed, 77, __ATOMIC_RELAXED);
	struct mr_binder *binder;

	cr_assert_eq(mr_binder_create(&binder, p->pool, HELD, NULL), 0);
	for (unsigned step = 0; step < PHASES * PHASE_STEPS; step++) {
		struct hold *h = &held[next_random(&rng) % HELD];

		if (next_random(&rng) % 200 == 0)
			mr_pool_trim(p->pool);
		if (h->lease)
			hold_give(binder, h);
		else
			hold_take(p, binder, h, &rng);
		if (step % PHASE_STEPS)
			continue;
		if (pthread_barrier_wait(&p->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			look(p);
		pthread_barrier_wait(&p->barrier);
	}
	for (unsigned i = 0; i < HELD; i++)
		if (held[i].lease)
			hold_give(binder, &held[i]);
	mr_binder_destroy(binder);
	return NULL;
}

static void pinned_run(enum mr_mode mode)
{
	struct pinning_provider pinning;
	struct mr_pool_params params = {
		.mode = mode, .max_pinned = 6 << 20, .slab_size = 512 << 10};
	struct pinned p = {.seed = 7};
	pthread_t threads[THREADS];

	if (pinning_provider_init(&pinning))
		cr_skip_test("io_uring is forbidden here: nothing to pin with");
	mr_ledger_init(&p.ledger, NULL);
	params.ledger_parent = &p.ledger;
	p.pool = fake_pool(&pinning.p, &params);
	pthread_barrier_init(&p.barrier, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, pinned_thread, &p), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&p.barrier);
	cr_assert_eq(p.looks, PHASES);
	cr_assert_gt(p.pinned_most, 0, "nothing was ever pinned");
	mr_pool_destroy(p.pool);
	look(&p);
	cr_assert_eq(vm_pin_pages(), 0);
}

Test(mr_model, the_ledger_is_vmpin_between_the_steps_of_threads, .timeout = 60)
{
	pinned_run(MR_MODE_POOL);
}

Test(mr_model, the_ledger_is_vmpin_where_threads_register_per_io, .timeout = 60)
{
	pinned_run(MR_MODE_PER_IO);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads over real pins: takes, gives, grows, trims, binds, ends of all three kinds, lost
 * connections and registrations that fail, in any order.  Each thread keeps its own account of what
 * it holds.  They run freely for a phase, then stand still while one of them holds the sum of the
 * accounts against the ledger, and the ledger against what the kernel says.
 */
#include <criterion/criterion.h>
#include <pthread.h>

#include "mr/internal.h"
#include "tests/mr/shaky.h"

/* Where a limit makes tests take turns, waiting counts. */
TestSuite(mr_threads, .timeout = 300);

#define THREADS 3
#define HELD 24
#define PHASES 60
#define PHASE_STEPS 400

/* One thread's account. */
struct account {
	uint64_t taken, given, bound, local, remote, dropped, refused;
	unsigned windows; /* bound now */
};

struct crowd {
	struct shaky_provider shaky;
	struct mr_pool *pool;
	struct mr_ledger ledger;
	pthread_barrier_t barrier;
	_Atomic unsigned seed;
	unsigned looks;
	uint64_t pinned_most, pinned_before;
	struct account account[THREADS];
	_Atomic unsigned next;
};

/* A lease of this thread, and what a peer may reach of it. */
struct hold {
	struct mr_lease *lease;
	struct mr_grant *grant;
};

struct member {
	struct crowd *crowd;
	struct account *mine;
	struct mr_binder *binder;
	struct hold held[HELD];
	uint32_t rng;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static struct account add_up(const struct crowd *c)
{
	struct account sum = {0};

	for (unsigned i = 0; i < THREADS; i++) {
		const struct account *a = &c->account[i];

		sum.taken += a->taken;
		sum.given += a->given;
		sum.bound += a->bound;
		sum.local += a->local;
		sum.remote += a->remote;
		sum.dropped += a->dropped;
		sum.refused += a->refused;
		sum.windows += a->windows;
	}
	return sum;
}

static void look(struct crowd *c)
{
	struct account sum = add_up(c);
	uint64_t pages = vm_pin_pages() - c->pinned_before;
	struct mr_ledger_snapshot snap;

	mr_ledger_read(&c->ledger, &snap);
	cr_assert_eq(snap.pages_charged_now, pages, "ledger %lu, VmPin %lu",
		     (unsigned long)snap.pages_charged_now, (unsigned long)pages);
	cr_assert_eq(snap.registrations - snap.deregistrations, c->shaky.live);
	cr_assert_eq(snap.bytes_registered_now, c->shaky.bytes);
	cr_assert_eq(snap.leases_taken, sum.taken);
	cr_assert_eq(snap.leases_given, sum.given);
	cr_assert_eq(snap.windows_bound, sum.bound);
	cr_assert_eq(snap.windows_now, sum.windows);
	cr_assert_eq(snap.invalidations_local, sum.local);
	cr_assert_eq(snap.invalidations_remote, sum.remote);
	cr_assert_eq(snap.windows_dropped, sum.dropped);
	if (pages > c->pinned_most)
		c->pinned_most = pages;
	c->looks++;
}

static void hold_take(struct member *m, struct hold *h)
{
	enum mr_kind kind = next_random(&m->rng) % 2 ? MR_KIND_READ : MR_KIND_WRITE;
	size_t len = 4096 * (1 + next_random(&m->rng) % 16);
	int ret = mr_lease_take(m->crowd->pool, kind, len, &h->lease, NULL);

	if (ret) {
		h->lease = NULL;
		m->mine->refused++;
		return;
	}
	m->mine->taken++;
	ret = mr_grant_open(m->binder, h->lease, h->lease->addr, len, kind, &h->grant, NULL);
	if (ret < 0) {
		h->grant = NULL;
		m->mine->refused++;
	} else if (ret == 1) {
		h->grant->window.rkey = h->grant->rkey;
		m->mine->bound++;
		m->mine->windows++;
	}
}

/* A bound window ends in one of its three ways. */
static void end_window(struct member *m, struct mr_grant *grant)
{
	switch (next_random(&m->rng) % 4) {
	case 0:
		mr_grant_invalidated(m->binder, grant);
		m->mine->remote++;
		break;
	case 1: /* its bind was never posted */
		mr_grant_end(m->binder, grant);
		m->mine->dropped++;
		break;
	default:
		cr_assert_eq(mr_grant_close(m->binder, grant), 1);
		mr_grant_end(m->binder, grant);
		m->mine->local++;
	}
	m->mine->windows--;
}

static void hold_give(struct member *m, struct hold *h)
{
	if (!h->lease)
		return;
	if (h->grant && mr_binder_all_windows(m->binder))
		end_window(m, h->grant);
	else if (h->grant)
		cr_assert_eq(mr_grant_close(m->binder, h->grant), 0);
	if (next_random(&m->rng) % 64 == 0)
		mr_lease_quarantine(h->lease);
	mr_lease_give(h->lease);
	m->mine->given++;
	*h = (struct hold){0};
}

/* The connection goes: whatever was bound is bound no more, also where its end was under way. */
static void lose_connection(struct member *m)
{
	for (unsigned i = 0; i < HELD; i++)
		if (m->held[i].grant && mr_binder_all_windows(m->binder) && i % 2)
			cr_assert_eq(mr_grant_close(m->binder, m->held[i].grant), 1);
	mr_binder_reset(m->binder);
	for (unsigned i = 0; i < HELD; i++) {
		struct hold *h = &m->held[i];

		if (h->grant && mr_binder_all_windows(m->binder)) {
			mr_grant_end(m->binder, h->grant);
			m->mine->dropped++;
			m->mine->windows--;
			h->grant = NULL;
		}
		hold_give(m, h);
	}
}

static void member_step(struct member *m)
{
	struct hold *h = &m->held[next_random(&m->rng) % HELD];

	if (next_random(&m->rng) % 200 == 0)
		mr_pool_trim(m->crowd->pool);
	if (next_random(&m->rng) % 300 == 0)
		lose_connection(m);
	if (h->lease)
		hold_give(m, h);
	else
		hold_take(m, h);
}

static void *member_main(void *arg)
{
	struct crowd *c = arg;
	struct member m = {.crowd = c, .mine = &c->account[c->next++], .rng = c->seed += 77};

	cr_assert_eq(mr_binder_create(&m.binder, c->pool, HELD, NULL), 0);
	for (unsigned step = 0; step < PHASES * PHASE_STEPS; step++) {
		member_step(&m);
		if (step % PHASE_STEPS)
			continue;
		if (pthread_barrier_wait(&c->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			look(c);
		pthread_barrier_wait(&c->barrier);
	}
	for (unsigned i = 0; i < HELD; i++)
		hold_give(&m, &m.held[i]);
	mr_binder_destroy(m.binder);
	return NULL;
}

static void crowd_run(enum mr_mode mode)
{
	static struct crowd crowd;
	struct crowd *c = &crowd;
	struct mr_pool_params params = {
		.mode = mode,
		.max_pinned = 6 << 20,
		.slab_size = 512 << 10,
		.monitor = MR_MONITOR_OFF,
		.ledger_parent = &c->ledger,
	};
	pthread_t threads[THREADS];

	shaky_provider_init(&c->shaky);
	c->shaky.fail_every = 23;
	c->seed = 7;
	c->pinned_before = vm_pin_pages();
	mr_ledger_init(&c->ledger, NULL);
	c->pool = fake_pool(&c->shaky.p, &params);
	pthread_barrier_init(&c->barrier, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, member_main, c), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&c->barrier);
	cr_assert_eq(c->looks, PHASES);
	cr_assert_gt(c->pinned_most, 0, "nothing was ever pinned");
	cr_assert_gt(c->account[0].taken, PHASE_STEPS);
	mr_pool_destroy(c->pool);
	look(c);
	cr_assert_eq(vm_pin_pages(), c->pinned_before);
	cr_assert_eq(c->shaky.windows, 0);
	cr_assert_eq(add_up(c).taken, add_up(c).given);
}

Test(mr_threads, the_ledger_is_vmpin_between_the_steps_of_threads)
{
	crowd_run(MR_MODE_POOL);
}

Test(mr_threads, every_window_is_accounted_for_among_threads)
{
	crowd_run(MR_MODE_WINDOW);
}

Test(mr_threads, the_ledger_is_vmpin_where_threads_register_per_io)
{
	crowd_run(MR_MODE_PER_IO);
}

Test(mr_threads, the_ledger_is_vmpin_where_threads_share_a_cache)
{
	crowd_run(MR_MODE_CACHE);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "iommu-aware/internal.h"

#define PAGE UINT64_C(4096)
#define MIB (UINT64_C(1) << 20)

TestSuite(iommu_iova, .timeout = 60);

static uint32_t next(uint32_t *rng)
{
	return (*rng = *rng * 1664525u + 1013904223u) >> 8;
}

static uint64_t pow2(uint64_t len)
{
	uint64_t size = PAGE;

	while (size < len)
		size <<= 1;
	return size;
}

/* Ownership of each page, by whom; threads claim and release with compare-and-exchange. */
struct model {
	uint64_t base;
	_Atomic uint8_t *owner;
};

static void claim(const struct model *m, uint64_t addr, uint64_t len, uint8_t who)
{
	for (uint64_t p = (addr - m->base) / PAGE; len > 0; len -= PAGE, p++) {
		uint8_t nobody = 0;

		cr_assert(atomic_compare_exchange_strong(&m->owner[p], &nobody, who),
			  "a page was handed out twice");
	}
}

static void release(const struct model *m, uint64_t addr, uint64_t len, uint8_t who)
{
	for (uint64_t p = (addr - m->base) / PAGE; len > 0; len -= PAGE, p++)
		cr_assert_eq(atomic_exchange(&m->owner[p], 0), who);
}

struct held {
	uint64_t addr, len;
};

/* Random sizes, limits and order; everything is given back at the end. */
static void work(struct iommu_iova_cache *cache, const struct model *m, uint64_t limit,
		 unsigned steps, uint8_t who)
{
	enum { HELD = 300 };
	struct held held[HELD] = {0};
	uint32_t rng = who * 77u + 1;

	for (unsigned step = 0; step < steps; step++) {
		struct held *h = &held[next(&rng) % HELD];
		/* mostly small, now and then beyond the magazines */
		unsigned shift = next(&rng) % 16 ? next(&rng) % 6 : next(&rng) % 11;
		uint64_t len = (next(&rng) % (1u << shift) + 1) * PAGE, addr;
		uint64_t below = next(&rng) % 8 ? 0 : m->base + (limit - m->base) / 2;

		if (h->len) {
			release(m, h->addr, h->len, who);
			iommu_iova_free(cache, h->addr, h->len);
			h->len = 0;
		} else if (!iommu_iova_alloc(cache, len, below, &addr)) {
			cr_assert_eq(addr % pow2(len), 0);
			cr_assert_geq(addr, m->base);
			cr_assert_leq(addr + len, below ? below : limit);
			claim(m, addr, len, who);
			*h = (struct held){addr, len};
		}
	}
	for (unsigned i = 0; i < HELD; i++) {
		if (!held[i].len)
			continue;
		release(m, held[i].addr, held[i].len, who);
		iommu_iova_free(cache, held[i].addr, held[i].len);
	}
}

static void expect_whole(struct iommu_iova *iova, uint64_t base, uint64_t limit)
{
	struct iommu_iova_cache *cache;
	struct iommu_iova_stats stats;
	uint64_t addr;

	iommu_iova_trim(iova);
	iommu_iova_stats(iova, &stats);
	cr_assert_eq(stats.bytes_out, 0);
	cr_assert_eq(stats.magazines, 0);
	cr_assert_eq(iommu_iova_cache_open(iova, &cache), 0);
	cr_assert_eq(iommu_iova_alloc(cache, limit - base, 0, &addr), 0, "one range again");
	iommu_iova_free(cache, addr, limit - base);
	iommu_iova_cache_close(cache);
}

Test(iommu_iova, random_work_never_overlaps_keeps_alignment_and_limits_and_recovers_all)
{
	uint64_t base = 256 * MIB, limit = 512 * MIB;
	struct model m = {.base = base, .owner = calloc((limit - base) / PAGE, 1)};
	struct iommu_iova_cache *cache;
	struct iommu_iova *iova;

	cr_assert_eq(iommu_iova_create(&iova, base, limit), 0);
	cr_assert_eq(iommu_iova_cache_open(iova, &cache), 0);
	work(cache, &m, limit, 400000, 1);
	iommu_iova_cache_close(cache);
	expect_whole(iova, base, limit);
	iommu_iova_destroy(iova);
	free(m.owner);
}

struct worker {
	pthread_t id;
	struct iommu_iova *iova;
	const struct model *m;
	uint64_t limit;
	uint8_t who;
};

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct iommu_iova_cache *cache;

	cr_assert_eq(iommu_iova_cache_open(w->iova, &cache), 0);
	work(cache, w->m, w->limit, 100000, w->who);
	iommu_iova_cache_close(cache);
	return NULL;
}

/* Small enough that it runs short all the time. */
Test(iommu_iova, threads_that_run_short_together_never_overlap_and_recover_all)
{
	uint64_t base = 256 * MIB, limit = 272 * MIB;
	struct model m = {.base = base, .owner = calloc((limit - base) / PAGE, 1)};
	struct iommu_iova_stats stats;
	struct worker w[4];
	struct iommu_iova *iova;

	cr_assert_eq(iommu_iova_create(&iova, base, limit), 0);
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(w); i++) {
		w[i] = (struct worker){
			.iova = iova, .m = &m, .limit = limit, .who = (uint8_t)(i + 1)};
		cr_assert_eq(pthread_create(&w[i].id, NULL, worker_run, &w[i]), 0);
	}
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(w); i++)
		pthread_join(w[i].id, NULL);
	iommu_iova_stats(iova, &stats);
	cr_assert_gt(stats.shortages, 0, "the test is about being short");
	expect_whole(iova, base, limit);
	iommu_iova_destroy(iova);
	free(m.owner);
}

/* One thread's addresses end up with another: the depot carries them back. */
Test(iommu_iova, a_long_exchange_between_two_caches_does_not_grow)
{
	enum { BURST = 1000, ROUNDS = 3000 };
	static uint64_t addr[BURST];
	struct iommu_iova_cache *from, *to;
	struct iommu_iova_stats early, late;
	struct iommu_iova *iova;

	cr_assert_eq(iommu_iova_create(&iova, PAGE, UINT64_C(1) << 40), 0);
	cr_assert_eq(iommu_iova_cache_open(iova, &from), 0);
	cr_assert_eq(iommu_iova_cache_open(iova, &to), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < BURST; i++)
			cr_assert_eq(iommu_iova_alloc(from, 64 << 10, 0, &addr[i]), 0);
		for (unsigned i = 0; i < BURST; i++)
			iommu_iova_free(to, addr[i], 64 << 10);
		if (round == 100)
			iommu_iova_stats(iova, &early);
	}
	iommu_iova_stats(iova, &late);
	cr_assert_leq(late.bytes_out, early.bytes_out + (2 << 20));
	cr_assert_leq(late.magazines, early.magazines + 2);
	cr_assert_leq(late.tree_nodes, early.tree_nodes + 64);
	iommu_iova_cache_close(from);
	iommu_iova_cache_close(to);
	iommu_iova_destroy(iova);
}

Test(iommu_iova, a_depot_that_grew_in_a_burst_is_trimmed_while_work_goes_on)
{
	enum { BURST = 20000 };
	static uint64_t addr[BURST];
	struct iommu_iova_cache *cache;
	struct iommu_iova_stats burst, later;
	struct iommu_iova *iova;
	uint64_t end;

	cr_assert_eq(iommu_iova_create(&iova, PAGE, UINT64_C(1) << 40), 0);
	cr_assert_eq(iommu_iova_cache_open(iova, &cache), 0);
	for (unsigned i = 0; i < BURST; i++)
		cr_assert_eq(iommu_iova_alloc(cache, PAGE, 0, &addr[i]), 0);
	for (unsigned i = 0; i < BURST; i++)
		iommu_iova_free(cache, addr[i], PAGE);
	iommu_iova_stats(iova, &burst);
	cr_assert_gt(burst.depot_magazines, 100);
	/* Three magazines' worth back and forth visits the depot each time. */
	end = util_clock_ns() + 650 * UTIL_NS_PER_MS;
	while (util_clock_ns() < end) {
		for (unsigned i = 0; i < 400; i++)
			cr_assert_eq(iommu_iova_alloc(cache, PAGE, 0, &addr[i]), 0);
		for (unsigned i = 0; i < 400; i++)
			iommu_iova_free(cache, addr[i], PAGE);
	}
	iommu_iova_stats(iova, &later);
	cr_assert_leq(later.depot_magazines, burst.depot_magazines - 3);
	iommu_iova_trim(iova);
	iommu_iova_stats(iova, &later);
	cr_assert_eq(later.depot_magazines, 0);
	iommu_iova_cache_close(cache);
	iommu_iova_destroy(iova);
}

Test(iommu_iova, what_one_cache_keeps_is_given_back_when_another_is_short)
{
	uint64_t base = 64 * MIB, limit = 66 * MIB, addr[513], one;
	unsigned n = 0;
	struct iommu_iova_cache *idle, *needy;
	struct iommu_iova *iova;

	cr_assert_eq(iommu_iova_create(&iova, base, limit), 0);
	cr_assert_eq(iommu_iova_cache_open(iova, &idle), 0);
	cr_assert_eq(iommu_iova_cache_open(iova, &needy), 0);
	for (unsigned i = 0; i < 512; i++)
		cr_assert_eq(iommu_iova_alloc(idle, PAGE, 0, &addr[i]), 0);
	cr_assert_eq(iommu_iova_alloc(needy, PAGE, 0, &one), -ENOSPC);
	for (unsigned i = 0; i < 512; i++)
		iommu_iova_free(idle, addr[i], PAGE);
	/* At most two magazines are with a cache that sleeps; the others were in the depot. */
	while (!iommu_iova_alloc(needy, PAGE, 0, &addr[n]))
		n++;
	cr_assert_geq(n, 512 - 2 * 127);
	cr_assert_lt(n, 512);
	/* It wakes up, and gives back before anything else. */
	cr_assert_eq(iommu_iova_alloc(idle, PAGE, 0, &one), 0);
	iommu_iova_free(idle, one, PAGE);
	while (n < 511)
		cr_assert_eq(iommu_iova_alloc(needy, PAGE, 0, &addr[n++]), 0);
	for (unsigned i = 0; i < 511; i++)
		iommu_iova_free(needy, addr[i], PAGE);
	iommu_iova_cache_close(idle);
	iommu_iova_cache_close(needy);
	expect_whole(iova, base, limit);
	iommu_iova_destroy(iova);
}

Test(iommu_iova, sizes_are_rounded_and_bad_ones_refused)
{
	struct iommu_iova_cache *cache;
	struct iommu_iova *iova;
	uint64_t a, b;

	cr_assert_eq(iommu_iova_create(&iova, 0, 0), -EINVAL);
	cr_assert_eq(iommu_iova_create(&iova, PAGE, UINT64_C(1) << 30), 0);
	cr_assert_eq(iommu_iova_cache_open(iova, &cache), 0);
	cr_assert_eq(iommu_iova_alloc(cache, 0, 0, &a), -EINVAL);
	cr_assert_eq(iommu_iova_alloc(cache, UINT64_MAX, 0, &a), -ENOSPC);
	cr_assert_eq(iommu_iova_alloc(cache, PAGE, PAGE, &a), -ENOSPC);
	cr_assert_eq(iommu_iova_alloc(cache, PAGE, 100, &a), -ENOSPC);
	cr_assert_eq(iommu_iova_alloc(cache, PAGE, 2 * PAGE, &a), 0);
	cr_assert_eq(a, PAGE);
	cr_assert_eq(iommu_iova_alloc(cache, 1, 0, &b), 0);
	cr_assert_neq(a, b);
	iommu_iova_free(cache, a, PAGE);
	iommu_iova_free(cache, b, 1);
	/* A limit that the newest address in the magazine misses and an older one meets. */
	cr_assert_eq(iommu_iova_alloc(cache, PAGE, 2 * PAGE, &a), 0);
	cr_assert_eq(a, PAGE);
	cr_assert_eq(iommu_iova_alloc(cache, 3 * MIB, 0, &b), 0);
	cr_assert_eq(b % (4 * MIB), 0, "beyond the magazines, aligned all the same");
	iommu_iova_free(cache, b, 3 * MIB);
	iommu_iova_free(cache, a, PAGE);
	iommu_iova_cache_close(cache);
	iommu_iova_cache_close(NULL);
	iommu_iova_destroy(iova);
	iommu_iova_destroy(NULL);
}

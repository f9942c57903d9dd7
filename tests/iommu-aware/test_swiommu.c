/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software IOMMU against a model.  It never touches the memory it maps, so most addresses here
 * are invented.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "iommu-aware/swiommu.h"
#include "util/util.h"

#define LIMIT_NS UINT64_C(20000000000)
#define RW (IOMMU_SW_READ | IOMMU_SW_WRITE)

TestSuite(iommu_swiommu, .timeout = 60);

/* What this thread looked up last of the one it made, by right. */
static _Thread_local struct iommu_sw_last last_of[RW + 1];

static struct iommu_sw *made(enum iommu_sw_policy policy)
{
	const struct iommu_sw_options opts = {.policy = policy};
	struct iommu_sw *sw;

	cr_assert_eq(iommu_sw_create(&sw, &opts), 0);
	memset(last_of, 0, sizeof(last_of));
	return sw;
}

static struct iommu_sw_stats stats_of(struct iommu_sw *sw)
{
	struct iommu_sw_stats stats;

	iommu_sw_stats(sw, &stats);
	return stats;
}

static void *at(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static uint64_t map(struct iommu_sw *sw, uint64_t addr, uint64_t len, uint64_t page)
{
	uint64_t bus;

	cr_assert_eq(iommu_sw_map(sw, at(addr), len, page, RW, &bus), 0);
	return bus;
}

/* As the fabric does it: what was looked up last, then the IOMMU. */
static void *use(struct iommu_sw *sw, uint64_t bus, uint64_t len, unsigned right)
{
	struct iommu_sw_last *last = &last_of[right];
	void *ptr = iommu_sw_last_find(last, bus, len);
	struct iommu_sw_fault fault;

	return ptr ? ptr : iommu_sw_translate_last(sw, bus, len, right, &fault, last);
}

static void *look(struct iommu_sw *sw, uint64_t bus, uint64_t len)
{
	return use(sw, bus, len, IOMMU_SW_READ);
}

Test(iommu_swiommu, off_is_no_iommu_and_passthrough_changes_no_address)
{
	const struct iommu_sw_options off = {.policy = IOMMU_SW_OFF};
	struct iommu_sw *sw;
	uint64_t bus;

	cr_assert_eq(iommu_sw_create(&sw, &off), -EINVAL);
	sw = made(IOMMU_SW_PASSTHROUGH);
	bus = map(sw, 0x12345678, 10000, 4096);
	cr_expect_eq(bus, 0x12345678);
	cr_expect_eq(look(sw, bus + 5, 100), at(0x1234567d));
	iommu_sw_unmap(sw, bus, 10000);
	cr_expect_eq(stats_of(sw).lookups, 0);
	cr_expect_eq(stats_of(sw).maps, 0);
	iommu_sw_destroy(sw);
	iommu_sw_destroy(NULL);
}

Test(iommu_swiommu, a_use_after_unmap_is_a_fault_in_strict_mode_always)
{
	struct iommu_sw *sw = made(IOMMU_SW_STRICT);
	struct iommu_sw_fault fault = {0};
	uint64_t bus;

	for (unsigned i = 0; i < 1000; i++) {
		bus = map(sw, 0x7000000, 65536, 4096);
		cr_assert_eq(look(sw, bus, 65536), at(0x7000000));
		iommu_sw_unmap(sw, bus, 65536);
		cr_assert_null(iommu_sw_translate(sw, bus + 4096, 1, IOMMU_SW_WRITE, &fault));
	}
	cr_expect_eq(fault.bus, bus + 4096);
	cr_expect_eq(fault.right, IOMMU_SW_WRITE);
	cr_expect_eq(fault.reason, IOMMU_SW_NOT_MAPPED);
	cr_expect_eq(stats_of(sw).faults, 1000);
	cr_expect_eq(stats_of(sw).last_fault.bus, bus + 4096);
	cr_expect_eq(stats_of(sw).flushes, 1000, "one synchronous invalidation per unmap");
	cr_expect_eq(stats_of(sw).bus_bytes_now, 0);
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, a_use_after_unmap_gets_through_in_lazy_mode_until_the_flush)
{
	struct iommu_sw *sw = made(IOMMU_SW_LAZY);
	bool stale = false;

	/* The timer may flush in between, though not every time. */
	for (unsigned i = 0; i < 10000 && !stale; i++) {
		uint64_t bus = map(sw, 0x7000000, 4096, 4096);

		cr_assert_eq(look(sw, bus, 4096), at(0x7000000));
		iommu_sw_unmap(sw, bus, 4096);
		stale = look(sw, bus, 4096) == at(0x7000000);
		iommu_sw_flush(sw);
		cr_assert_null(look(sw, bus, 4096), "after the flush it is a fault");
	}
	cr_expect(stale, "the IOTLB's entry lived on");
	cr_expect_eq(stats_of(sw).flushes, 0, "nobody waited for an invalidation");
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, what_was_looked_up_last_is_good_until_something_is_invalidated)
{
	struct iommu_sw *sw = made(IOMMU_SW_STRICT);
	struct iommu_sw_last *last = &last_of[IOMMU_SW_READ];
	uint64_t bus = map(sw, 0x7000000, 8192, 4096), other = map(sw, 0x9000000, 4096, 4096);
	uint64_t lookups;

	cr_expect_null(iommu_sw_last_find(last, bus, 1), "nothing was looked up yet");
	cr_assert_eq(look(sw, bus + 100, 8), at(0x7000064));
	lookups = stats_of(sw).lookups;
	cr_expect_eq(iommu_sw_last_find(last, bus, 4096), at(0x7000000));
	cr_expect_eq(iommu_sw_last_find(last, bus + 4095, 1), at(0x7000fff));
	cr_expect_eq(stats_of(sw).lookups, lookups + 2, "each use is counted");
	cr_expect_null(iommu_sw_last_find(last, bus, 4097), "the next page is another");
	cr_expect_null(iommu_sw_last_find(last, bus + 4096, 1));
	cr_expect_null(iommu_sw_last_find(last, bus - 1, 2));
	cr_expect_null(iommu_sw_last_find(last, bus + 1, UINT64_MAX));
	cr_expect_null(iommu_sw_last_find(&last_of[IOMMU_SW_WRITE], bus, 1), "another right");
	iommu_sw_unmap(sw, other, 4096);
	cr_expect_null(iommu_sw_last_find(last, bus, 1), "anything was invalidated");
	cr_expect_eq(look(sw, bus, 8192), at(0x7000000), "two pages are none to remember");
	cr_expect_null(iommu_sw_last_find(last, bus, 1));
	cr_expect_eq(look(sw, bus, 1), at(0x7000000));
	iommu_sw_unmap(sw, bus, 8192);
	cr_expect_null(iommu_sw_last_find(last, bus, 1));
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, a_page_not_in_the_iotlb_is_a_fault_in_lazy_mode_at_once)
{
	struct iommu_sw *sw = made(IOMMU_SW_LAZY);
	uint64_t bus = map(sw, 0x7000000, 4096, 4096);

	iommu_sw_unmap(sw, bus, 4096);
	cr_expect_null(look(sw, bus, 4096));
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, the_timer_flushes_though_no_further_unmap_comes)
{
	struct iommu_sw *sw = made(IOMMU_SW_LAZY);
	uint64_t bus = map(sw, 0x7000000, 4096, 4096), end = util_clock_ns() + LIMIT_NS;
	const struct timespec nap = {.tv_nsec = 1000000};

	look(sw, bus, 4096);
	iommu_sw_unmap(sw, bus, 4096);
	while (stats_of(sw).flushed == 0 && util_clock_ns() < end)
		nanosleep(&nap, NULL);
	cr_expect_eq(stats_of(sw).flushed, 1);
	cr_expect_eq(stats_of(sw).queued_now, 0);
	cr_expect_eq(stats_of(sw).bus_bytes_now, 0);
	cr_expect_null(look(sw, bus, 4096));
	cr_log_info("longest wait in a flush queue: %.3f ms (10 ms and scheduling)",
		    (double)stats_of(sw).delay_most_ns / 1e6);
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, a_flush_queue_never_holds_more_than_256_and_loses_none)
{
	struct iommu_sw *sw = made(IOMMU_SW_LAZY);
	struct iommu_sw_stats stats;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t bus = map(sw, 0x7000000 + i * 4096, 4096, 4096);

		iommu_sw_unmap(sw, bus, 4096);
		if (i % 100 == 0) {
			stats = stats_of(sw);
			cr_assert_leq(stats.queued_most, 256);
		}
	}
	iommu_sw_flush(sw);
	stats = stats_of(sw);
	cr_expect_leq(stats.queued_most, 256);
	cr_expect_eq(stats.flushed, 20000);
	cr_expect_geq(stats.flush_batches, 20000 / 256);
	cr_expect_eq(stats.bus_bytes_now, 0);
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, the_end_flushes_what_is_queued)
{
	static struct sw_flush flush;
	struct iommu_sw_inval_queue inval;
	struct iommu_space *space;
	static struct sw_tlb tlb;
	uint64_t bus;

	for (unsigned lazy = 0; lazy < 2; lazy++) {
		flush = (struct sw_flush){0};
		cr_assert_eq(iommu_space_create(&space, 4096, 1 << 30), 0);
		iommu_sw_tlb_init(&tlb);
		iommu_sw_inval_init(&inval, &tlb, 0);
		cr_assert_eq(iommu_sw_flush_init(&flush, &inval, space, lazy), 0);
		for (unsigned i = 0; i < 100; i++) {
			cr_assert_eq(iommu_space_alloc(space, 4096, 4096, 0, &bus), 0);
			iommu_sw_tlb_fill(&tlb, bus, 0x1000 | SW_LEAF | RW,
					  iommu_sw_tlb_epoch(&tlb));
			iommu_sw_flush_add(&flush, bus, 4096);
		}
		iommu_sw_flush_fini(&flush);
		cr_expect_eq(flush.flushed, 100);
		cr_expect_eq(iommu_space_used(space), 0);
		cr_expect_eq(iommu_sw_tlb_find(&tlb, bus), 0);
		iommu_sw_inval_fini(&inval);
		iommu_sw_tlb_fini(&tlb);
		iommu_space_destroy(space);
	}
}

/* Threads that unmap once each; together: all are there before the first one ends. */
struct crowd {
	struct iommu_sw *sw;
	pthread_barrier_t barrier;
	bool together;
};

static void *unmap_once(void *arg)
{
	struct crowd *crowd = arg;

	iommu_sw_unmap(crowd->sw, map(crowd->sw, 0x7000000, 4096, 4096), 4096);
	if (crowd->together)
		pthread_barrier_wait(&crowd->barrier);
	return NULL;
}

static struct iommu_sw_stats crowd_run(unsigned threads, bool together)
{
	struct crowd crowd = {.sw = made(IOMMU_SW_LAZY), .together = together};
	struct iommu_sw_stats stats;
	pthread_t thread[200];

	pthread_barrier_init(&crowd.barrier, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		cr_assert_eq(pthread_create(&thread[i], NULL, unmap_once, &crowd), 0);
		if (!together)
			pthread_join(thread[i], NULL);
	}
	for (unsigned i = 0; together && i < threads; i++)
		pthread_join(thread[i], NULL);
	iommu_sw_flush(crowd.sw);
	stats = stats_of(crowd.sw);
	iommu_sw_destroy(crowd.sw);
	pthread_barrier_destroy(&crowd.barrier);
	return stats;
}

Test(iommu_swiommu, each_thread_has_a_flush_queue_of_its_own)
{
	struct iommu_sw_stats stats = crowd_run(SW_FLUSH_QUEUES, true);

	cr_expect_eq(stats.queued_most, 1);
	cr_expect_eq(stats.flushed, SW_FLUSH_QUEUES);
	cr_expect_eq(stats.bus_bytes_now, 0);
}

Test(iommu_swiommu, nothing_is_lost_with_threads_that_end_or_are_too_many)
{
	for (unsigned together = 0; together < 2; together++) {
		struct iommu_sw_stats stats = crowd_run(200, together);

		cr_expect_eq(stats.flushed, 200);
		cr_expect_eq(stats.bus_bytes_now, 0);
	}
}

Test(iommu_swiommu, what_was_walked_before_an_invalidation_is_not_kept)
{
	static struct sw_tlb tlb;
	uint64_t epoch;

	iommu_sw_tlb_init(&tlb);
	epoch = iommu_sw_tlb_epoch(&tlb);
	iommu_sw_tlb_forget(&tlb, 0x5000, 4096);
	iommu_sw_tlb_fill(&tlb, 0x5000, 0x9000 | SW_LEAF | RW, epoch);
	cr_expect_eq(iommu_sw_tlb_find(&tlb, 0x5000), 0);
	iommu_sw_tlb_fill(&tlb, 0x5000, 0x9000 | SW_LEAF | RW, iommu_sw_tlb_epoch(&tlb));
	cr_expect_neq(iommu_sw_tlb_find(&tlb, 0x5000), 0);
	iommu_sw_tlb_fini(&tlb);
}

Test(iommu_swiommu, huge_memory_is_mapped_by_2_MiB_leaves)
{
	struct iommu_sw *sw = made(IOMMU_SW_STRICT);
	uint64_t huge, bus;

	huge = map(sw, 0x40000000, 8 << 20, SW_LARGE);
	cr_expect_eq(stats_of(sw).leaves_2m, 4);
	cr_expect_eq(stats_of(sw).leaves_4k, 0);
	cr_expect_eq(look(sw, huge + 5, (8 << 20) - 5), at(0x40000005));
	cr_expect_eq(stats_of(sw).lookups, 4, "one look-up per leaf");
	iommu_sw_unmap(sw, huge, 8 << 20);
	/* The same bus addresses in small leaves, and back. */
	bus = map(sw, 0x40000000, 8 << 20, 4096);
	cr_expect_eq(bus, huge);
	cr_expect_eq(stats_of(sw).leaves_4k, 2048);
	cr_expect_eq(look(sw, bus, 8 << 20), at(0x40000000));
	iommu_sw_unmap(sw, bus, 8 << 20);
	cr_expect_eq(map(sw, 0x80000000, 8 << 20, SW_LARGE), huge);
	cr_expect_eq(stats_of(sw).leaves_2m, 8);
	cr_expect_eq(look(sw, huge, 8 << 20), at(0x80000000));
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, what_is_not_aligned_is_mapped_small_at_its_ends)
{
	struct iommu_sw *sw = made(IOMMU_SW_STRICT);
	uint64_t bus = map(sw, 0x40000000 - 4096, (4 << 20) + 8192, SW_LARGE);

	cr_expect_eq(bus % SW_LARGE, SW_LARGE - 4096, "congruent to the memory");
	cr_expect_eq(stats_of(sw).leaves_2m, 2);
	cr_expect_eq(stats_of(sw).leaves_4k, 2);
	cr_expect_eq(look(sw, bus, (4 << 20) + 8192), at(0x40000000 - 4096));
	cr_expect_null(look(sw, bus, (4 << 20) + 8193));
	cr_expect_null(look(sw, bus - 1, 2));
	iommu_sw_unmap(sw, bus, (4 << 20) + 8192);
	cr_expect_null(look(sw, bus + 4096, 1));
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, a_right_that_was_not_given_is_a_fault)
{
	struct iommu_sw *sw = made(IOMMU_SW_LAZY);
	struct iommu_sw_fault fault;
	uint64_t bus;

	cr_assert_eq(iommu_sw_map(sw, at(0x5000), 4096, 4096, IOMMU_SW_READ, &bus), 0);
	cr_expect_not_null(iommu_sw_translate(sw, bus, 10, IOMMU_SW_READ, &fault));
	cr_expect_null(iommu_sw_translate(sw, bus, 10, IOMMU_SW_WRITE, &fault));
	cr_expect_eq(fault.reason, IOMMU_SW_NO_RIGHT);
	cr_expect_null(iommu_sw_translate(sw, UINT64_MAX - 5, 10, IOMMU_SW_READ, &fault));
	cr_expect_null(iommu_sw_translate(sw, UINT64_C(1) << 60, 10, IOMMU_SW_READ, &fault));
	cr_expect_eq(stats_of(sw).faults, 3);
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, a_modelled_wait_is_waited_once_per_invalidation)
{
	const struct iommu_sw_options opts = {.policy = IOMMU_SW_STRICT, .inval_ns = 1000000};
	uint64_t begin = util_clock_ns();
	struct iommu_sw *sw;

	cr_assert_eq(iommu_sw_create(&sw, &opts), 0);
	for (unsigned i = 0; i < 20; i++)
		iommu_sw_unmap(sw, map(sw, 0x7000000, 4096, 4096), 4096);
	cr_expect_geq(util_clock_ns() - begin, 20 * opts.inval_ns);
	iommu_sw_destroy(sw);
}

/* ---- against a model -------------------------------------------------------------------- */

#define SLOTS 48u

struct mapping {
	uint64_t bus, addr, len, hole, hole_len; /* len 0: not mapped (any more) */
	unsigned rights;
	uint64_t was; /* addr before it was unmapped */
};

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void model_map(struct iommu_sw *sw, struct mapping *all, struct mapping *m, uint64_t *seed)
{
	bool large = next_random(seed) % 4 == 0;
	uint64_t unit = large ? SW_LARGE : 4096;

	*m = (struct mapping){
		.addr = (1 + next_random(seed) % 1000) * unit + (next_random(seed) % 3) * 512,
		.len = 1 + next_random(seed) % (unit * (large ? 3 : 40)),
		.rights = 1 + next_random(seed) % 3,
	};
	cr_assert_eq(iommu_sw_map(sw, at(m->addr), m->len, unit, m->rights, &m->bus), 0);
	for (unsigned i = 0; i < SLOTS; i++)
		if (&all[i] != m && all[i].len)
			cr_assert(all[i].bus + all[i].len <= m->bus ||
					  m->bus + m->len <= all[i].bus,
				  "two mappings share bus addresses");
}

static void model_use(struct iommu_sw *sw, const struct mapping *m, uint64_t *seed)
{
	uint64_t off = next_random(seed) % m->len, len = 1 + next_random(seed) % (m->len - off);
	unsigned right = 1 + next_random(seed) % 2;
	uint64_t hole_end = m->hole + m->hole_len;
	void *ptr = use(sw, m->bus + off, len, right);
	bool torn = m->hole_len && m->bus + off < hole_end && m->hole < m->bus + off + len;

	if (torn || !(m->rights & right))
		cr_assert_null(ptr);
	else
		cr_assert_eq(ptr, at(m->addr + off));
}

static void model_unmap(struct iommu_sw *sw, struct mapping *m, bool strict, uint64_t *seed)
{
	uint64_t len = m->len;
	void *ptr;

	iommu_sw_unmap(sw, m->bus, len);
	m->len = 0;
	if (!strict && next_random(seed) % 8 == 0) {
		iommu_sw_flush(sw);
		strict = true;
	}
	ptr = look(sw, m->bus, 1);
	cr_assert(!ptr || (!strict && ptr == at(m->addr)));
}

/* A small page inside the mapping goes, where no large leaf can stand. */
static void model_revoke(struct iommu_sw *sw, struct mapping *m, uint64_t *seed)
{
	if (m->hole_len || m->len < 8192 || m->len > SW_LARGE - 8192)
		return;
	m->hole = (m->bus + next_random(seed) % m->len) & ~UINT64_C(4095);
	m->hole_len = 4096;
	iommu_sw_revoke(sw, m->hole, m->hole_len);
}

static void model_run(enum iommu_sw_policy policy, unsigned steps)
{
	struct mapping all[SLOTS] = {0};
	struct iommu_sw *sw = made(policy);
	uint64_t seed = UINT64_C(0x1234567) + policy;
	uint64_t maps = 0, unmaps = 0;

	for (unsigned i = 0; i < steps; i++) {
		struct mapping *m = &all[next_random(&seed) % SLOTS];
		unsigned what = next_random(&seed) % 64;

		if (!m->len) {
			model_map(sw, all, m, &seed);
			maps++;
		} else if (what == 0) {
			model_revoke(sw, m, &seed);
		} else if (what < 8) {
			model_unmap(sw, m, policy == IOMMU_SW_STRICT, &seed);
			unmaps++;
		} else {
			model_use(sw, m, &seed);
		}
	}
	for (unsigned i = 0; i < SLOTS; i++)
		if (all[i].len)
			iommu_sw_unmap(sw, all[i].bus, all[i].len), unmaps++;
	iommu_sw_flush(sw);
	cr_expect_eq(stats_of(sw).maps, maps);
	cr_expect_eq(stats_of(sw).unmaps, unmaps);
	cr_expect_eq(stats_of(sw).bus_bytes_now, 0);
	cr_expect_leq(stats_of(sw).queued_most, 256);
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, does_what_the_model_does_for_600000_strict_steps)
{
	model_run(IOMMU_SW_STRICT, 600000);
}

Test(iommu_swiommu, does_what_the_model_does_for_600000_lazy_steps)
{
	model_run(IOMMU_SW_LAZY, 600000);
}

/* ---- threads ---------------------------------------------------------------------------- */

#define THREADS 4u

struct worker {
	struct iommu_sw *sw;
	pthread_t thread;
	uint64_t seed, wrong;
	bool strict;
};

/* Memory of its own, so that an answer with it after unmapping is a stale one. */
static void *worker_main(void *arg)
{
	struct worker *w = arg;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t addr = (w->seed << 32) + (uint64_t)i * 65536, bus;
		uint64_t len = 4096 * (1 + i % 9);

		if (iommu_sw_map(w->sw, at(addr), len, 4096, RW, &bus)) {
			w->wrong++;
			continue;
		}
		w->wrong += look(w->sw, bus, len) != at(addr);
		w->wrong += look(w->sw, bus + len - 1, 1) != at(addr + len - 1);
		iommu_sw_unmap(w->sw, bus, len);
		w->wrong += w->strict && look(w->sw, bus, 1) == at(addr);
	}
	return NULL;
}

static void threads_run(enum iommu_sw_policy policy)
{
	struct iommu_sw *sw = made(policy);
	struct worker worker[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		worker[i] = (struct worker){
			.sw = sw, .seed = 1 + i, .strict = policy == IOMMU_SW_STRICT};
		cr_assert_eq(pthread_create(&worker[i].thread, NULL, worker_main, &worker[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(worker[i].thread, NULL);
		cr_expect_eq(worker[i].wrong, 0);
	}
	iommu_sw_flush(sw);
	cr_expect_eq(stats_of(sw).unmaps, THREADS * 20000);
	cr_expect_eq(stats_of(sw).bus_bytes_now, 0);
	cr_expect_leq(stats_of(sw).queued_most, 256);
	iommu_sw_destroy(sw);
}

Test(iommu_swiommu, threads_never_see_stale_pages_in_strict_mode)
{
	threads_run(IOMMU_SW_STRICT);
}

Test(iommu_swiommu, threads_keep_their_own_mappings_in_lazy_mode)
{
	threads_run(IOMMU_SW_LAZY);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is not ours: registered once, kept, evicted, never with a neighbour, and gone when
 * its mapping is.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mr/cache.h"
#include "tests/mr/fake.h"

TestSuite(mr_cache);

struct scene {
	struct fake_provider fake;
	struct mr_pool *pool;
	char *mem;
	size_t len;
};

static void scene_open(struct scene *s, struct mr_pool_params params)
{
	fake_provider_init(&s->fake);
	s->fake.unaligned = true;
	params.mode = MR_MODE_CACHE;
	if (params.monitor == MR_MONITOR_AUTO)
		params.monitor = MR_MONITOR_OFF;
	s->pool = fake_pool(&s->fake.p, &params);
	s->len = 1 << 20;
	s->mem = mmap(NULL, s->len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	cr_assert_neq(s->mem, MAP_FAILED);
}

static void scene_close(struct scene *s)
{
	mr_pool_destroy(s->pool);
	cr_assert_eq(fake_live(&s->fake), 0);
	munmap(s->mem, s->len);
}

static struct mr_lease *take(struct scene *s, enum mr_kind kind, size_t off, size_t len)
{
	struct mr_lease *lease = NULL;
	struct util_err err = {0};

	cr_assert_eq(mr_lease_take_memory(s->pool, kind, s->mem + off, len, &lease, &err), 0, "%s",
		     err.what);
	cr_assert_eq(lease->addr, s->mem + off);
	cr_assert_eq(lease->len, len);
	return lease;
}

static void use(struct scene *s, enum mr_kind kind, size_t off, size_t len)
{
	mr_lease_give(take(s, kind, off, len));
}

static uint64_t field(struct scene *s, const char *name)
{
	struct mr_ledger_snapshot snap;
	uint64_t value = 0;
	const char *at;

	mr_ledger_read(mr_pool_ledger(s->pool), &snap);
	for (unsigned i = 0; (at = mr_ledger_field(&snap, i, &value)); i++)
		if (!strcmp(at, name))
			return value;
	cr_assert_fail("no field %s", name);
	return 0;
}

Test(mr_cache, memory_is_registered_once_and_found_again)
{
	struct scene s;

	scene_open(&s, (struct mr_pool_params){0});
	for (unsigned i = 0; i < 10; i++) {
		use(&s, MR_KIND_READ, 4096, 65536);
		use(&s, MR_KIND_READ, 8192, 100); /* within it */
	}
	cr_assert_eq(s.fake.registered, 1);
	cr_assert_eq(field(&s, "iova_reuses"), 19);
	scene_close(&s);
}

Test(mr_cache, what_is_registered_is_what_was_asked_for_to_the_byte)
{
	struct mr_lease *a, *b;
	struct scene s;

	scene_open(&s, (struct mr_pool_params){0});
	a = take(&s, MR_KIND_READ, 100, 50);
	cr_assert_eq(s.fake.bytes, 50);
	b = take(&s, MR_KIND_READ, 150, 50); /* touches, and stays apart */
	cr_assert_eq(s.fake.bytes, 100);
	cr_assert_neq(a->rkey, b->rkey);
	mr_lease_give(a);
	mr_lease_give(b);
	scene_close(&s);
}

Test(mr_cache, a_right_is_never_widened_by_a_registration_that_is_there)
{
	struct mr_lease *read, *write;
	struct scene s;

	scene_open(&s, (struct mr_pool_params){0});
	read = take(&s, MR_KIND_READ, 0, 4096);
	cr_assert_eq(s.fake.last_access & (MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE),
		     MR_ACCESS_REMOTE_WRITE);
	write = take(&s, MR_KIND_WRITE, 0, 4096);
	cr_assert_eq(s.fake.last_access & (MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE),
		     MR_ACCESS_REMOTE_READ);
	cr_assert_neq(read->rkey, write->rkey);
	mr_lease_give(read);
	mr_lease_give(write);
	scene_close(&s);
}

/* With a monitor, or skip. */
static void scene_watched(struct scene *s)
{
	struct mr_pool_params params = {
		.mode = MR_MODE_CACHE, .monitor = MR_MONITOR_ON, .numa_node = -1};
	struct util_err err = {0};
	struct mr_pool *probe = NULL;

	fake_provider_init(&s->fake);
	if (mr_pool_create(&probe, &s->fake.p, &params, &err))
		cr_skip_test("%s", err.what);
	mr_pool_destroy(probe);
	scene_open(s, params);
}

Test(mr_cache, nothing_is_merged_where_nobody_watches_what_lives_there_now)
{
	struct scene s;

	scene_open(&s, (struct mr_pool_params){0});
	use(&s, MR_KIND_READ, 0, 8192);
	/* Without a word: the first page is a stranger's now. */
	cr_assert_eq(mmap(s.mem, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		     s.mem);
	use(&s, MR_KIND_READ, 4096, 8192);
	cr_assert_eq(s.fake.bytes, 8192 + 8192, "each is what was asked for");
	use(&s, MR_KIND_READ, 2048, 12288);
	cr_assert_eq(s.fake.bytes, 8192 + 12288, "what lies within the new one is needless");
	scene_close(&s);
}

Test(mr_cache, ranges_that_touch_stay_apart_under_the_monitor_too)
{
	struct scene s;

	scene_watched(&s);
	for (unsigned i = 0; i < 4; i++)
		use(&s, MR_KIND_READ, i * 4096, 4096);
	cr_assert_eq(s.fake.registered, 4);
	cr_assert_eq(s.fake.bytes, 4 * 4096);
	scene_close(&s);
}

Test(mr_cache, ranges_of_different_rights_are_not_merged)
{
	struct scene s;

	scene_watched(&s);
	use(&s, MR_KIND_READ, 0, 8192);
	use(&s, MR_KIND_WRITE, 4096, 8192);
	cr_assert_eq(fake_live(&s.fake), 2);
	cr_assert_eq(s.fake.bytes, 8192 + 8192);
	scene_close(&s);
}

Test(mr_cache, what_is_in_use_is_not_merged)
{
	struct mr_lease *lease;
	struct scene s;

	scene_watched(&s);
	lease = take(&s, MR_KIND_READ, 0, 8192);
	use(&s, MR_KIND_READ, 4096, 8192);
	cr_assert_eq(s.fake.bytes, 8192 + 8192);
	mr_lease_give(lease);
	scene_close(&s);
}

Test(mr_cache, idle_ranges_that_overlap_become_one_under_the_monitor)
{
	struct scene s;

	scene_watched(&s);
	use(&s, MR_KIND_READ, 0, 8192);
	use(&s, MR_KIND_READ, 4096, 8192);
	cr_assert_eq(fake_live(&s.fake), 1);
	cr_assert_eq(s.fake.bytes, 12288);
	use(&s, MR_KIND_READ, 0, 12288);
	cr_assert_eq(s.fake.registered, 2);
	scene_close(&s);
}

Test(mr_cache, a_range_in_use_is_never_taken_away)
{
	struct mr_lease *lease;
	struct scene s;

	scene_open(&s, (struct mr_pool_params){0});
	lease = take(&s, MR_KIND_READ, 0, 8192);
	use(&s, MR_KIND_READ, 4096, 8192);
	cr_assert_eq(fake_live(&s.fake), 2);
	mr_pool_forget_memory(s.pool, s.mem, s.len);
	cr_assert_eq(fake_live(&s.fake), 1, "the one in use");
	mr_lease_give(lease);
	cr_assert_eq(fake_live(&s.fake), 0, "ends when it is given");
	scene_close(&s);
}

Test(mr_cache, the_longest_idle_is_evicted_at_the_budget)
{
	struct scene s;

	scene_open(&s, (struct mr_pool_params){.max_pinned = 3 * 65536});
	for (unsigned i = 0; i < 3; i++)
		use(&s, MR_KIND_READ, i * 65536, 65536);
	use(&s, MR_KIND_READ, 0, 65536); /* now the second is the oldest */
	use(&s, MR_KIND_READ, 3 * 65536, 65536);
	cr_assert_eq(field(&s, "cache_evictions"), 1);
	cr_assert_eq(s.fake.registered, 4);
	use(&s, MR_KIND_READ, 0, 65536);
	cr_assert_eq(s.fake.registered, 4, "the first is still there");
	use(&s, MR_KIND_READ, 65536, 65536);
	cr_assert_eq(s.fake.registered, 5, "the second is not");
	scene_close(&s);
}

Test(mr_cache, nothing_idle_and_no_budget_is_an_error_that_names_the_limit)
{
	struct mr_lease *held, *lease = NULL;
	struct util_err err = {0};
	struct scene s;

	scene_open(&s, (struct mr_pool_params){.max_pinned = 65536});
	held = take(&s, MR_KIND_READ, 0, 65536);
	cr_assert_eq(mr_lease_take_memory(s.pool, MR_KIND_READ, s.mem + 65536, 4096, &lease, &err),
		     -ENOMEM);
	cr_assert_null(lease);
	cr_assert(strstr(err.what, "max-pinned"), "%s", err.what);
	cr_assert(strstr(err.what, "64 KiB"), "%s", err.what);
	mr_lease_give(held);
	use(&s, MR_KIND_READ, 65536, 4096);
	scene_close(&s);
}

Test(mr_cache, the_monitor_drops_what_is_unmapped_before_anybody_can_use_it)
{
	struct scene s;
	char *again;

	scene_watched(&s);
	for (unsigned i = 0; i < 50; i++) {
		unsigned before = s.fake.registered;

		use(&s, MR_KIND_READ, 8192, 65536);
		use(&s, MR_KIND_READ, 8192, 65536);
		cr_assert_eq(s.fake.registered, before + 1);
		if (i % 2) {
			cr_assert_eq(munmap(s.mem + 16384, 4096), 0);
			again = mmap(s.mem + 16384, 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			cr_assert_eq(again, s.mem + 16384);
		} else {
			cr_assert_eq(madvise(s.mem + 16384, 4096, MADV_DONTNEED), 0);
		}
		s.mem[16384] = 1;
	}
	/* munmap() returns when the monitor has the last one, not when it is counted. */
	for (int ms = 0; ms < 5000 && field(&s, "cache_unmaps_seen") < 50; ms++)
		usleep(1000);
	cr_assert_geq(field(&s, "cache_unmaps_seen"), 50);
	scene_close(&s);
}

Test(mr_cache, verify_mode_finds_a_stale_mapping)
{
	struct util_err err = {0};
	struct scene s;

	if (mr_witness_allowed(&err))
		cr_skip_test("%s", err.what);
	scene_open(&s, (struct mr_pool_params){.verify = true});
	use(&s, MR_KIND_READ, 8192, 65536);
	use(&s, MR_KIND_READ, 8192, 65536);
	cr_assert_eq(s.fake.registered, 1);
	cr_assert_eq(field(&s, "cache_stale"), 0);
	cr_assert_eq(mmap(s.mem + 8192, 65536, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0),
		     s.mem + 8192);
	use(&s, MR_KIND_READ, 8192, 65536);
	cr_assert_eq(field(&s, "cache_stale"), 1);
	cr_assert_eq(s.fake.registered, 2);
	cr_assert_eq(fake_live(&s.fake), 1);
	scene_close(&s);
}

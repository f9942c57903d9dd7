/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Grants: what each mode tells the peer, what it asks to be posted, and how keys rotate.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_grant);

struct scene {
	struct fake_provider fake;
	struct mr_pool *pool;
	struct mr_binder *binder;
	struct mr_lease *lease;
};

static void scene_open(struct scene *s, enum mr_mode mode, uint32_t windows)
{
	struct mr_pool_params params = {.mode = mode, .monitor = MR_MONITOR_OFF};
	struct util_err err = {0};

	fake_provider_init(&s->fake);
	s->fake.unaligned = true;
	s->fake.p.max_windows = windows;
	s->fake.p.odp = true;
	s->pool = fake_pool(&s->fake.p, &params);
	cr_assert_eq(mr_binder_create(&s->binder, s->pool, 8, &err), 0, "%s", err.what);
	cr_assert_eq(mr_lease_take(s->pool, MR_KIND_READ, 65536, &s->lease, NULL), 0);
}

static void scene_close(struct scene *s)
{
	mr_lease_give(s->lease);
	mr_binder_destroy(s->binder);
	mr_pool_destroy(s->pool);
	cr_assert_eq(fake_live(&s->fake), 0);
	cr_assert_eq(s->fake.windows, 0);
}

static int open_at(struct scene *s, size_t off, size_t len, struct mr_grant **grantp)
{
	struct util_err err = {0};

	return mr_grant_open(s->binder, s->lease, (char *)s->lease->addr + off, len, MR_KIND_READ,
			     grantp, &err);
}

Test(mr_grant, a_pool_grant_names_the_slab_and_asks_for_nothing)
{
	struct mr_grant *grant;
	struct scene s;

	scene_open(&s, MR_MODE_POOL, 0);
	cr_assert_eq(open_at(&s, 4096, 8192, &grant), 0);
	cr_assert_eq(grant->rkey, s.lease->rkey);
	cr_assert_eq(grant->iova, s.lease->iova + 4096);
	cr_assert_eq(mr_grant_close(s.binder, grant), 0);
	cr_assert_not(mr_binder_all_windows(s.binder));
	scene_close(&s);
}

Test(mr_grant, a_piece_that_is_not_of_its_lease_is_refused_in_every_mode)
{
	static const struct {
		int64_t off;
		size_t len;
	} cases[] = {
		{-1, 2},
		{0, 65537},
		{65535, 2},
		{65536, 1},
		{65537, 0},
		{1, SIZE_MAX},
		{0, (size_t)UINT32_MAX + 1},
		{INT64_MAX, 4096},
	};

	for (unsigned mode = 0; mode < MR_MODE_COUNT; mode++) {
		struct mr_grant *grant = NULL;
		struct scene s;

		scene_open(&s, (enum mr_mode)mode, 100);
		cr_assert_eq(s.lease->size, 65536);
		for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
			cr_expect_eq(open_at(&s, (size_t)cases[i].off, cases[i].len, &grant),
				     -EINVAL, "case %u in %s", i, mr_mode_name((enum mr_mode)mode));
			cr_assert_null(grant);
		}
		scene_close(&s);
	}
}

Test(mr_grant, a_window_grant_binds_the_piece_and_nothing_but_the_piece)
{
	struct mr_grant *grant;
	struct scene s;

	scene_open(&s, MR_MODE_WINDOW, 1000);
	cr_assert(mr_binder_all_windows(s.binder));
	cr_assert_eq(s.fake.last_access, MR_ACCESS_LOCAL_WRITE | MR_ACCESS_WINDOW_BIND,
		     "the slab itself lets no peer in");
	cr_assert_eq(open_at(&s, 4096, 8192, &grant), 1);
	cr_assert_eq(grant->op.kind, MR_OP_BIND);
	cr_assert_eq(grant->op.rkey, grant->rkey);
	cr_assert_eq(grant->op.iova, s.lease->iova + 4096);
	cr_assert_eq(grant->op.len, 8192);
	cr_assert_eq(grant->op.access, MR_ACCESS_REMOTE_WRITE);
	cr_assert_eq(mr_grant_close(s.binder, grant), 1);
	cr_assert_eq(grant->op.kind, MR_OP_INVALIDATE);
	cr_assert_eq(grant->op.rkey, grant->rkey);
	mr_grant_end(s.binder, grant);
	scene_close(&s);
}

/* What transport does when the bind is posted, on a device like the fake. */
static void posted(struct mr_grant *grant)
{
	grant->window.rkey = grant->rkey;
}

Test(mr_grant, a_key_comes_back_after_256_turns_of_all_idle_windows_at_the_earliest)
{
	enum { TURNS = 256 * 64 };
	uint32_t *keys = malloc(TURNS * sizeof(*keys));
	struct mr_grant *grant;
	struct scene s;
	uint8_t *seen = calloc(1, 1 << 20);

	scene_open(&s, MR_MODE_WINDOW, 100000);
	for (unsigned i = 0; i < TURNS; i++) {
		cr_assert_eq(open_at(&s, 0, 4096, &grant), 1);
		keys[i] = grant->rkey;
		cr_assert_lt(keys[i], 1u << 20);
		cr_assert_not(seen[keys[i]], "turn %u", i);
		seen[keys[i]] = 1;
		posted(grant);
		cr_assert_eq(mr_grant_close(s.binder, grant), 1);
		mr_grant_end(s.binder, grant);
	}
	scene_close(&s);
	free(keys);
	free(seen);
}

Test(mr_grant, windows_of_a_lost_connection_are_made_anew)
{
	struct mr_ledger_snapshot snap;
	struct mr_grant *grant;
	struct scene s;
	unsigned before;

	scene_open(&s, MR_MODE_WINDOW, 1000);
	cr_assert_eq(open_at(&s, 0, 4096, &grant), 1);
	mr_binder_reset(s.binder);
	mr_grant_end(s.binder, grant);
	mr_ledger_read(mr_pool_ledger(s.pool), &snap);
	cr_assert_eq(snap.windows_dropped, 1);
	cr_assert_eq(snap.windows_now, 0);
	before = s.fake.window_calls;
	cr_assert_eq(open_at(&s, 0, 4096, &grant), 1);
	cr_assert_eq(s.fake.window_calls, before + 1);
	mr_grant_end(s.binder, grant);
	scene_close(&s);
}

Test(mr_grant, the_devices_windows_are_used_to_the_last_and_then_named)
{
	struct mr_grant *grants[10], *grant;
	struct util_err err = {0};
	struct scene s;

	scene_open(&s, MR_MODE_WINDOW, 10);
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(open_at(&s, 0, 4096, &grants[i]), 1, "window %u", i);
	cr_assert_eq(
		mr_grant_open(s.binder, s.lease, s.lease->addr, 4096, MR_KIND_READ, &grant, &err),
		-ENOSPC);
	cr_assert(strstr(err.what, "10 (max_mw)"), "%s", err.what);
	cr_assert(err.hint[0]);
	mr_grant_end(s.binder, grants[3]);
	cr_assert_eq(open_at(&s, 0, 4096, &grants[3]), 1, "the one that came back");
	for (unsigned i = 0; i < 10; i++)
		mr_grant_end(s.binder, grants[i]);
	scene_close(&s);
}

Test(mr_grant, the_devices_registrations_are_used_to_the_last_and_then_named)
{
	struct mr_grant *grants[4], *grant;
	struct util_err err = {0};
	struct scene s;

	scene_open(&s, MR_MODE_PER_IO, 0);
	s.fake.p.max_regions = 4;
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(open_at(&s, i * 4096, 4096, &grants[i]), 0);
	cr_assert_eq(
		mr_grant_open(s.binder, s.lease, s.lease->addr, 4096, MR_KIND_READ, &grant, &err),
		-ENOSPC);
	cr_assert(strstr(err.what, "4 registrations (max_mr)"), "%s", err.what);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(mr_grant_close(s.binder, grants[i]), 0);
	scene_close(&s);
}

Test(mr_grant, a_mode_the_device_cannot_do_is_refused_by_name)
{
	struct mr_pool_params params = {.mode = MR_MODE_WINDOW, .numa_node = -1};
	struct fake_provider fake;
	struct util_err err = {0};
	struct mr_pool *pool = NULL;

	fake_provider_init(&fake);
	cr_assert_eq(mr_pool_create(&pool, &fake.p, &params, &err), -EOPNOTSUPP);
	cr_assert(strstr(err.what, "fake0 has no type-2 memory windows"), "%s", err.what);
	params.mode = MR_MODE_ODP;
	cr_assert_eq(mr_pool_create(&pool, &fake.p, &params, &err), -EOPNOTSUPP);
	cr_assert(strstr(err.what, "fake0 has no on-demand paging"), "%s", err.what);
	cr_assert_null(pool);
}

Test(mr_grant, on_demand_slabs_are_registered_so_where_the_device_has_it)
{
	struct mr_grant *grant;
	struct scene s;

	scene_open(&s, MR_MODE_ODP, 0);
	cr_assert(s.fake.last_access & MR_ACCESS_ON_DEMAND);
	cr_assert_eq(open_at(&s, 0, 4096, &grant), 0);
	cr_assert_eq(mr_grant_close(s.binder, grant), 0);
	scene_close(&s);
}

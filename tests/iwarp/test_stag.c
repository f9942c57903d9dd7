/* SPDX-License-Identifier: BSD-2-Clause */
/* The key table: who gets at what, and what happens to keys that have ended. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "transport/iwarp/stag.h"
#include "util/util.h"

static int domain_a, domain_b;
static uint8_t memory[4096];

static struct iwarp_mem region(unsigned rights)
{
	return (struct iwarp_mem){
		.base = memory,
		.iova = 0x10000,
		.len = sizeof(memory),
		.rights = rights,
		.domain = &domain_a,
	};
}

static uint32_t add(struct iwarp_stags *stags, const struct iwarp_mem *mem)
{
	uint32_t stag = 0;

	cr_assert_eq(iwarp_stags_reserve(stags, &stag), 0);
	iwarp_stags_activate(stags, stag, mem);
	return stag;
}

static enum iwarp_denial try(struct iwarp_stags *stags, struct iwarp_access access)
{
	struct iwarp_hold hold;
	enum iwarp_denial denial;

	if (!access.domain)
		access.domain = &domain_a;
	denial = iwarp_stags_hold(stags, &access, &hold);
	if (!denial)
		iwarp_stags_release(&hold);
	return denial;
}

#define TRY(...) try(stags, (struct iwarp_access){__VA_ARGS__})

Test(iwarp_stag, access_is_checked_to_the_byte)
{
	struct iwarp_mem mem = region(IWARP_RIGHT_WRITE);
	struct iwarp_stags *stags;
	uint32_t stag;

	cr_assert_eq(iwarp_stags_create(&stags), 0);
	stag = add(stags, &mem);
	cr_expect_eq(TRY(stag, 0x10000, 4096, IWARP_RIGHT_WRITE), IWARP_GRANTED);
	cr_expect_eq(TRY(stag, 0x10fff, 1, IWARP_RIGHT_WRITE), IWARP_GRANTED);
	cr_expect_eq(TRY(stag, 0x11000, 0, IWARP_RIGHT_WRITE), IWARP_GRANTED);
	cr_expect_eq(TRY(stag, 0x10000, 4097, IWARP_RIGHT_WRITE), IWARP_DENIED_BOUNDS);
	cr_expect_eq(TRY(stag, 0x0ffff, 1, IWARP_RIGHT_WRITE), IWARP_DENIED_BOUNDS);
	cr_expect_eq(TRY(stag, 0x11000, 1, IWARP_RIGHT_WRITE), IWARP_DENIED_BOUNDS);
	cr_expect_eq(TRY(stag, 0x10fff, 2, IWARP_RIGHT_WRITE), IWARP_DENIED_BOUNDS);
	cr_expect_eq(TRY(stag, UINT64_MAX, 2, IWARP_RIGHT_WRITE), IWARP_DENIED_WRAP);
	cr_expect_eq(TRY(stag, 0x10001, UINT64_MAX, IWARP_RIGHT_WRITE), IWARP_DENIED_WRAP);
	cr_expect_eq(TRY(stag, 0x10000, 1, IWARP_RIGHT_READ), IWARP_DENIED_RIGHT);
	cr_expect_eq(TRY(stag, 0x10000, 1, IWARP_RIGHT_SINK), IWARP_DENIED_RIGHT);
	cr_expect_eq(TRY(stag, 0x10000, 1, IWARP_RIGHT_WRITE, .domain = &domain_b),
		     IWARP_DENIED_ASSOC);
	iwarp_stags_destroy(stags);
}

Test(iwarp_stag, other_keys_name_nothing)
{
	struct iwarp_mem mem = region(IWARP_RIGHT_READ);
	struct iwarp_stags *stags;
	uint32_t stag;

	cr_assert_eq(iwarp_stags_create(&stags), 0);
	stag = add(stags, &mem);
	cr_expect_eq(TRY(0, 0x10000, 1, IWARP_RIGHT_READ), IWARP_DENIED_STAG);
	cr_expect_eq(TRY(UINT32_MAX, 0x10000, 1, IWARP_RIGHT_READ), IWARP_DENIED_STAG);
	for (unsigned bit = 0; bit < 32; bit++)
		cr_expect_eq(TRY(stag ^ 1u << bit, 0x10000, 1, IWARP_RIGHT_READ),
			     IWARP_DENIED_STAG);
	cr_expect_eq(TRY(stag, 0x10000, 1, IWARP_RIGHT_READ), IWARP_GRANTED);
	iwarp_stags_destroy(stags);
}

Test(iwarp_stag, a_reserved_key_names_nothing_yet)
{
	struct iwarp_stags *stags;
	uint32_t stag;

	cr_assert_eq(iwarp_stags_create(&stags), 0);
	cr_assert_eq(iwarp_stags_reserve(stags, &stag), 0);
	cr_expect_eq(TRY(stag, 0, 0, IWARP_RIGHT_READ), IWARP_DENIED_STAG);
	cr_expect(iwarp_stags_remove(stags, stag));
	cr_expect(!iwarp_stags_remove(stags, stag));
	iwarp_stags_destroy(stags);
}

Test(iwarp_stag, window_serves_its_connection_and_ends_with_its_region)
{
	struct iwarp_mem mem = region(IWARP_RIGHT_BIND), window = region(IWARP_RIGHT_WRITE);
	struct iwarp_stags *stags;
	uint32_t stag;

	cr_assert_eq(iwarp_stags_create(&stags), 0);
	window.parent = add(stags, &mem);
	window.conn = 5;
	window.base = memory + 100;
	window.iova = 0x10064;
	window.len = 100;
	stag = add(stags, &window);
	cr_expect_eq(TRY(stag, 0x10064, 100, IWARP_RIGHT_WRITE, .conn = 5), IWARP_GRANTED);
	cr_expect_eq(TRY(stag, 0x10064, 100, IWARP_RIGHT_WRITE, .conn = 6), IWARP_DENIED_ASSOC);
	cr_expect_eq(TRY(stag, 0x10063, 1, IWARP_RIGHT_WRITE, .conn = 5), IWARP_DENIED_BOUNDS);
	cr_expect_eq(TRY(window.parent, 0x10064, 1, IWARP_RIGHT_WRITE, .conn = 5),
		     IWARP_DENIED_RIGHT);
	cr_expect(iwarp_stags_remove(stags, window.parent));
	cr_expect_eq(TRY(stag, 0x10064, 100, IWARP_RIGHT_WRITE, .conn = 5), IWARP_DENIED_STAG);
	cr_expect(iwarp_stags_remove(stags, stag));
	iwarp_stags_destroy(stags);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

Test(iwarp_stag, keys_do_not_come_back_soon)
{
	enum { TURNS = 200000 };
	struct iwarp_mem mem = region(IWARP_RIGHT_READ);
	uint32_t *seen = malloc(TURNS * sizeof(*seen));
	struct iwarp_stags *stags;

	cr_assert_eq(iwarp_stags_create(&stags), 0);
	for (unsigned i = 0; i < TURNS; i++) {
		seen[i] = add(stags, &mem);
		cr_assert(seen[i]);
		cr_assert(iwarp_stags_remove(stags, seen[i]));
		cr_assert(i < 1024 || seen[i] >> 8 != seen[i - 1] >> 8);
	}
	qsort(seen, TURNS, sizeof(*seen), compare);
	for (unsigned i = 1; i < TURNS; i++)
		cr_assert_neq(seen[i], seen[i - 1], "key %#x came back within %u turns", seen[i],
			      TURNS);
	free(seen);
	iwarp_stags_destroy(stags);
}

Test(iwarp_stag, keys_look_unrelated_and_differ_between_tables)
{
	struct iwarp_mem mem = region(IWARP_RIGHT_READ);
	struct iwarp_stags *a, *b;
	unsigned near = 0, same = 0;
	uint32_t last = 0;

	cr_assert_eq(iwarp_stags_create(&a), 0);
	cr_assert_eq(iwarp_stags_create(&b), 0);
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t x = add(a, &mem), y = add(b, &mem);

		near += (x >> 8) - (last >> 8) + 64 < 128;
		same += x >> 8 == y >> 8;
		last = x;
	}
	cr_expect_lt(near, 10);
	cr_expect_lt(same, 10);
	iwarp_stags_destroy(a);
	iwarp_stags_destroy(b);
}

Test(iwarp_stag, thousands_of_keys_live_side_by_side)
{
	enum { COUNT = 20000 };
	struct iwarp_mem mem = region(IWARP_RIGHT_READ);
	uint32_t *keys = malloc(COUNT * sizeof(*keys));
	struct iwarp_stags *stags;

	cr_assert_eq(iwarp_stags_create(&stags), 0);
	for (unsigned i = 0; i < COUNT; i++) {
		mem.iova = i;
		keys[i] = add(stags, &mem);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		cr_assert_eq(TRY(keys[i], i, 1, IWARP_RIGHT_READ), IWARP_GRANTED);
		cr_assert(!i || TRY(keys[i], i - 1, 1, IWARP_RIGHT_READ) == IWARP_DENIED_BOUNDS);
	}
	free(keys);
	iwarp_stags_destroy(stags);
}

/* ---- threads ----------------------------------------------------------------------------- */

struct race {
	struct iwarp_stags *stags;
	_Atomic uint32_t stag;
	_Atomic bool stop;
	_Atomic uint64_t granted;
	uint8_t *memory;
};

static void *hammer(void *arg)
{
	struct race *race = arg;

	while (!race->stop) {
		const struct iwarp_access access = {
			.stag = race->stag,
			.to = 0x10000,
			.len = 64,
			.right = IWARP_RIGHT_WRITE,
			.domain = &domain_a,
		};
		struct iwarp_hold hold;

		if (iwarp_stags_hold(race->stags, &access, &hold) != IWARP_GRANTED)
			continue;
		memset(hold.ptr, 0xaa, 64);
		race->granted++;
		iwarp_stags_release(&hold);
	}
	return NULL;
}

Test(iwarp_stag, once_removed_nobody_writes_any_more)
{
	struct race race = {.memory = calloc(1, 64)};
	struct iwarp_mem mem = {.base = race.memory,
				.iova = 0x10000,
				.len = 64,
				.rights = IWARP_RIGHT_WRITE,
				.domain = &domain_a};
	pthread_t thread;

	cr_assert_eq(iwarp_stags_create(&race.stags), 0);
	pthread_create(&thread, NULL, hammer, &race);
	for (unsigned i = 0; i < 200; i++) {
		uint32_t stag = add(race.stags, &mem);
		uint64_t before = race.granted;

		race.stag = stag;
		for (unsigned spin = 0; spin < 1000 && race.granted == before; spin++)
			sched_yield();
		cr_assert(iwarp_stags_remove(race.stags, stag));
		memset(race.memory, 0x55, 64);
		sched_yield();
		for (unsigned k = 0; k < 64; k++)
			cr_assert_eq(race.memory[k], 0x55);
	}
	race.stop = true;
	pthread_join(thread, NULL);
	cr_expect_gt(race.granted, 0);
	iwarp_stags_destroy(race.stags);
	free(race.memory);
}

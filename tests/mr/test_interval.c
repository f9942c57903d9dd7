/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interval set against a plain array: what overlaps, in order of start, after any mixture of
 * additions and removals.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "mr/interval.h"
#include "util/util.h"

TestSuite(mr_interval);

#define ITEMS 300
#define SPACE 1000

struct found {
	const struct mr_interval *item[ITEMS];
	unsigned n, limit;
};

static bool note(void *arg, struct mr_interval *item)
{
	struct found *f = arg;

	f->item[f->n++] = item;
	return f->n != f->limit;
}

static unsigned expected(const struct mr_interval *items, const bool *in, uintptr_t start,
			 uintptr_t end)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ITEMS; i++)
		n += in[i] && items[i].start < end && items[i].end > start;
	return n;
}

Test(mr_interval, finds_exactly_what_overlaps_in_order)
{
	struct mr_interval items[ITEMS];
	bool in[ITEMS] = {false};
	struct mr_intervals set;

	mr_intervals_init(&set);
	srand(7);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = (unsigned)rand() % ITEMS;
		uintptr_t start = (uintptr_t)rand() % SPACE,
			  end = start + 1 + (uintptr_t)rand() % 40;
		struct found f = {.n = 0};

		if (in[i]) {
			mr_intervals_del(&set, &items[i]);
		} else {
			items[i].start = start;
			items[i].end = end;
			mr_intervals_add(&set, &items[i]);
		}
		in[i] = !in[i];
		mr_intervals_overlapping(&set, start, end, note, &f);
		cr_assert_eq(f.n, expected(items, in, start, end), "step %u", step);
		for (unsigned k = 0; k < f.n; k++) {
			cr_assert(f.item[k]->start < end && f.item[k]->end > start);
			cr_assert(!k || f.item[k - 1]->start <= f.item[k]->start);
		}
	}
}

Test(mr_interval, a_visit_can_be_cut_short)
{
	struct mr_interval items[10];
	struct found f = {.limit = 3};
	struct mr_intervals set;

	mr_intervals_init(&set);
	for (unsigned i = 0; i < 10; i++) {
		items[i].start = i;
		items[i].end = 100;
		mr_intervals_add(&set, &items[i]);
	}
	mr_intervals_overlapping(&set, 50, 60, note, &f);
	cr_assert_eq(f.n, 3);
	for (unsigned i = 0; i < 10; i++)
		mr_intervals_del(&set, &items[i]);
	cr_assert_null(set.root);
}

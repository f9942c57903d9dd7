/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ticker.c - the clock for those who read it all the time.
 *
 * CLOCK_MONOTONIC costs some 20 ns where the vDSO answers, and then it is what a ticker reads.
 * Where it is a system call (User Mode Linux, gVisor, a machine whose clock source is no counter
 * of the CPU's), a ticker reads the CPU's time stamp counter instead, and the clock only now and
 * then: at an anchor it notes both, and from two anchors follows how long a tick takes.
 *
 * What is off is at most what one tick was misjudged by since the last anchor.  A reading of both
 * takes as long as the system call, gap; so between anchors span apart the ticks are off by gap /
 * span, and after another span by gap.  Spans double from 1 ms to 64 ms, so that the first
 * estimate, which is the roughest, is not used for long.  A reading that took too long (the thread
 * was put aside) is no anchor.
 *
 * Only a counter that CPUID calls invariant is used (leaf 0x80000007, EDX bit 8: one rate in all
 * power states).  One that goes backwards or that disagrees with the clock is not asked again.
 */
#include <string.h>

#include "util/util.h"

#define FIRST_SPAN_NS UTIL_NS_PER_MS
#define LAST_SPAN_NS (64 * UTIL_NS_PER_MS)
#define SYSCALL_TICKS 600 /* the clock took longer: it was no vDSO's */

#if defined(__x86_64__)
#include <cpuid.h>

static uint64_t counter(void)
{
	return __builtin_ia32_rdtsc();
}

static bool counter_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}
#else
static uint64_t counter(void)
{
	return 0;
}

static bool counter_invariant(void)
{
	return false;
}
#endif

/* Both at one moment, as nearly as it goes; returns the ticks the reading took. */
static uint64_t read_both(uint64_t *ticks, uint64_t *ns)
{
	uint64_t before = counter(), after;

	*ns = util_clock_ns();
	after = counter();
	*ticks = before + (after - before) / 2;
	return after - before;
}

/* The shortest of a few readings is the first anchor, and what a reading costs. */
static uint64_t reading_cost(struct util_ticker *t)
{
	uint64_t least = UINT64_MAX, ticks, ns;

	for (unsigned i = 0; i < 5; i++) {
		uint64_t gap = read_both(&ticks, &ns);

		if (gap >= least)
			continue;
		least = gap;
		t->anchor_ticks = ticks;
		t->anchor_ns = ns;
	}
	return least;
}

void util_ticker_init(struct util_ticker *t, enum util_ticker_wish wish)
{
	memset(t, 0, sizeof(*t));
	if (wish == UTIL_TICKER_CLOCK || !counter_invariant())
		return;
	t->gap_ticks = reading_cost(t);
	t->counting = wish == UTIL_TICKER_COUNTER || t->gap_ticks > SYSCALL_TICKS;
	t->span_ns = FIRST_SPAN_NS;
}

/* Ticks as ns; the product of a span's ticks (some 2^28) and ns per tick (2^32 and less) fits. */
static uint64_t ticks_ns(const struct util_ticker *t, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * t->ns_per_tick >> 32);
}

/* Begin again at this reading.  A clock that disagrees with what the counter would have said by
 * more than 1/64 of the time passed is not this counter's. */
static void anchor(struct util_ticker *t, uint64_t ticks, uint64_t ns)
{
	uint64_t passed_ticks = ticks - t->anchor_ticks, passed_ns = ns - t->anchor_ns;

	if (t->ns_per_tick) {
		uint64_t said = ticks_ns(t, passed_ticks);
		uint64_t off = said > passed_ns ? said - passed_ns : passed_ns - said;

		if (off > passed_ns / 64) {
			t->counting = false;
			return;
		}
	}
	t->ns_per_tick = (uint64_t)(((unsigned __int128)passed_ns << 32) / passed_ticks);
	t->anchor_ticks = ticks;
	t->anchor_ns = ns;
	t->span_ticks = (uint64_t)((unsigned __int128)passed_ticks * t->span_ns / passed_ns);
	if (t->span_ns < LAST_SPAN_NS)
		t->span_ns *= 2;
}

static uint64_t read_clock(struct util_ticker *t)
{
	uint64_t ticks, ns;
	uint64_t gap = read_both(&ticks, &ns);

	if (ticks <= t->anchor_ticks || ns <= t->anchor_ns)
		t->counting = false;
	else if (gap <= 4 * t->gap_ticks && ns - t->anchor_ns >= FIRST_SPAN_NS)
		anchor(t, ticks, ns);
	return ns;
}

uint64_t util_ticker_ns(struct util_ticker *t)
{
	uint64_t ticks, ns;

	if (!t->counting)
		return util_clock_ns();
	ticks = counter() - t->anchor_ticks;
	ns = ticks < t->span_ticks ? t->anchor_ns + ticks_ns(t, ticks) : read_clock(t);
	if (ns < t->last_ns)
		return t->last_ns;
	t->last_ns = ns;
	return ns;
}

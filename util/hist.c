/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hist.c - log-linear histogram: 64 equal sub-buckets in each power of two.
 *
 * A bucket is at most 1/64 of its values wide, and quantiles report its middle: at most 0.8 % off.
 * Values below 64 have a bucket each.
 */
#include "util/util.h"

#define SUB (1u << UTIL_HIST_SUB_BITS)

static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < SUB)
		return (unsigned)value;
	/* The top SUB_BITS + 1 bits: a leading one and the sub-bucket. */
	shift = 63 - (unsigned)__builtin_clzll(value) - UTIL_HIST_SUB_BITS;
	return (shift + 1) * SUB + (unsigned)((value >> shift) - SUB);
}

static uint64_t bucket_middle(unsigned bucket)
{
	unsigned shift;
	uint64_t low;

	if (bucket < SUB)
		return bucket;
	shift = bucket / SUB - 1;
	low = (uint64_t)(bucket % SUB + SUB) << shift;
	return low + ((UINT64_C(1) << shift) >> 1);
}

void util_hist_init(struct util_hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void util_hist_add(struct util_hist *h, uint64_t value)
{
	h->count++;
	h->sum += value;
	if (value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->bucket[bucket_of(value)]++;
}

void util_hist_merge(struct util_hist *to, const struct util_hist *from)
{
	to->count += from->count;
	to->sum += from->sum;
	if (from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	for (unsigned i = 0; i < UTIL_HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

uint64_t util_hist_quantile(const struct util_hist *h, double fraction)
{
	uint64_t need, seen = 0, value;

	if (!h->count)
		return 0;
	if (fraction <= 0)
		return h->min;
	if (fraction >= 1)
		return h->max;
	need = (uint64_t)(fraction * (double)h->count);
	if ((double)need < fraction * (double)h->count)
		need++;
	for (unsigned i = 0; i < UTIL_HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen < need)
			continue;
		value = bucket_middle(i);
		if (value < h->min)
			return h->min;
		return value > h->max ? h->max : value;
	}
	return h->max;
}

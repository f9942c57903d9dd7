/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class.c - lease sizes: four per power of two.
 *
 * A class is (4 + q) << (6 + e), q in 0..3.  The worst a lease can waste is just above a power of
 * two, where it gets 1.25 times as much: a fifth of its size.  Every class divides a whole number
 * of pages without a remainder (4096 / lowest set bit of the size cells), so spans have no tail.
 */
#include "mr/internal.h"

/* A span is at least this long, so that small cells are not carved a handful at a time. */
#define MR_SPAN_MIN (16u << 10)
/* What a thread keeps of one class: about this much, between 4 and 32 cells. */
#define MR_MAGAZINE_BYTES (1u << 20)

/* The smallest class that holds len; len is at most MR_CLASS_MAX. */
unsigned mr_class_of(size_t len)
{
	unsigned top;

	if (len <= MR_CLASS_MIN)
		return 0;
	len--;
	top = 63u - (unsigned)__builtin_clzll(len);
	return (top - 8) * 4 + (unsigned)(len >> (top - 2) & 3) + 1;
}

size_t mr_class_size(unsigned class)
{
	return (size_t)(4 + class % 4) << (6 + class / 4);
}

unsigned mr_class_span_cells(unsigned class)
{
	size_t size = mr_class_size(class), low = size & -size;
	size_t cells = low < MR_PAGE ? MR_PAGE / low : 1;

	while (cells * size < MR_SPAN_MIN)
		cells *= 2;
	return (unsigned)cells;
}

unsigned mr_class_magazine(unsigned class)
{
	size_t cells = MR_MAGAZINE_BYTES / mr_class_size(class);

	return cells < 4 ? 4 : cells > 32 ? 32 : (unsigned)cells;
}

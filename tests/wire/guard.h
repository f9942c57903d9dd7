/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.h - memory whose end is the end of the world: one byte too far is a SIGSEGV, sanitizer or
 * not.
 */
#ifndef TESTS_WIRE_GUARD_H
#define TESTS_WIRE_GUARD_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct guard {
	uint8_t *base, *end; /* end: the first byte of an inaccessible page */
};

#define GUARD_PAGE 4096

static inline struct guard guard_create(size_t max)
{
	size_t len = (max + GUARD_PAGE - 1) / GUARD_PAGE * GUARD_PAGE;
	struct guard g;

	g.base = mmap(NULL, len + GUARD_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (g.base == MAP_FAILED || mprotect(g.base + len, GUARD_PAGE, PROT_NONE))
		abort();
	g.end = g.base + len;
	return g;
}

static inline void guard_destroy(struct guard *g)
{
	munmap(g->base, (size_t)(g->end - g->base) + GUARD_PAGE);
}

#endif

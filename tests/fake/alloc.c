/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fake/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_uint allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
int __real_posix_memalign(void **p, size_t align, size_t size);

unsigned alloc_count(void)
{
	return atomic_load(&allocations);
}

void *__wrap_malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_realloc(p, size);
}

int __wrap_posix_memalign(void **p, size_t align, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_posix_memalign(p, align, size);
}

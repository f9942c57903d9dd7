/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - counts what a binary's own objects allocate, in all its threads.
 *
 * Add $(ALLOC_SOURCES) to the binary's sources and $(ALLOC_WRAP) to its LDFLAGS: the linker then
 * sends every call of the allocator's functions out of our objects through alloc.c.
 */
#ifndef NFSRDMA_TESTS_FAKE_ALLOC_H
#define NFSRDMA_TESTS_FAKE_ALLOC_H

/* malloc, calloc, realloc, posix_memalign so far */
unsigned alloc_count(void);

#endif

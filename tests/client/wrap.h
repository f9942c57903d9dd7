/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrap.h - the linker sends the libraries' allocations and lease takings through here (--wrap), so
 * that tests can count them, and make the n-th fail.  Per thread: the fake server's do not count.
 */
#ifndef TESTS_CLIENT_WRAP_H
#define TESTS_CLIENT_WRAP_H

#include <stddef.h>

struct wrap {
	unsigned long allocs;  /* malloc, calloc, realloc */
	unsigned long fail_at; /* that one of them fails, 0: none */
	unsigned long leases;  /* taken, ever */
	long leases_left;      /* more are -ENOMEM; below 0: no limit */
	unsigned long lease_refusals;
};

extern _Thread_local struct wrap wrap;

#endif

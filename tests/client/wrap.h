/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrap.h - the linker sends the libraries' allocations and lease takings through here (--wrap), so
 * that tests can count them, and make the n-th fail.  Per thread: the fake server's do not count.
 * So do look-ups: the host "two.test" is 127.0.0.2 and 127.0.0.1, and rpcbind is what a test wants.
 */
#ifndef TESTS_CLIENT_WRAP_H
#define TESTS_CLIENT_WRAP_H

#include <stddef.h>
#include <stdint.h>

struct wrap {
	unsigned long allocs;  /* malloc, calloc, realloc */
	unsigned long fail_at; /* that one of them fails, 0: none */
	unsigned long leases;  /* taken, ever */
	long leases_left;      /* more are -ENOMEM; below 0: no limit */
	unsigned long lease_refusals;
	/* rpcbind says: this port, or this error; asks the real one when both are 0 */
	uint16_t rpcbind_port;
	int rpcbind_err;
	unsigned rpcbind_asked;
	int rpcbind_timeout_ms;
	char rpcbind_netid[8];
};

extern _Thread_local struct wrap wrap;

#endif

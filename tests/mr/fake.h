/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake.h - a provider that counts, refuses on request and remembers what is registered.
 */
#ifndef NFSRDMA_TESTS_MR_FAKE_H
#define NFSRDMA_TESTS_MR_FAKE_H

#include <stdatomic.h>

#include "mr/mr.h"

struct fake_provider {
	struct mr_provider p;
	_Atomic unsigned registered, deregistered; /* calls that succeeded */
	_Atomic unsigned calls;			   /* to register_memory */
	_Atomic uint64_t bytes;			   /* live */
	unsigned fail_at;			   /* the n-th call fails, 0: none */
	uint64_t refuse_above;			   /* ENOMEM when bytes would exceed it */
	unsigned last_access;
	uint32_t next_key;
	bool unaligned;		  /* pieces of pages may be registered */
	_Atomic unsigned windows; /* live; max_windows of p is 0 unless the test says otherwise */
	unsigned window_fail_at, window_calls;
};

void fake_provider_init(struct fake_provider *fake);
/* For any provider of the tests. */
int fake_window_next_key(struct mr_provider *p, struct mr_window *w, uint32_t *rkeyp);
unsigned fake_live(const struct fake_provider *fake);

/*
 * A provider that pins through io_uring, one ring per region: -errno where that is forbidden. Where
 * a memlock limit binds, all processes of a user share it, and so do tests that run side by side:
 * then the caller is alone with it from here on, until its process ends.
 */
struct pinning_provider {
	struct mr_provider p;
};
int pinning_provider_init(struct pinning_provider *pinning);

/* What this process has pinned as the kernel says; the ledger of all of it says the same. */
uint64_t vm_pin_pages(void);
void check_vm_pin(struct mr_ledger *ledger);

/* The fake pins nothing: this process's memlock limit does not bind a pool of it. */
void fake_unlimit(struct mr_pool *pool);
/* A pool of the fake with params filled in by the caller (zero: defaults); asserts success. */
struct mr_pool *fake_pool(struct mr_provider *provider, struct mr_pool_params *params);

/* ---- wrapped functions of the C library (linked with --wrap) */

extern _Atomic long wrap_fail_at; /* the n-th call fails, 0: none */
extern _Atomic long wrap_calls;	  /* malloc, calloc, aligned_alloc, mmap, io_uring's set-up and
				   * registrations, mutex locks */
extern _Atomic long wrap_live;	  /* allocations less those freed */
extern _Atomic long wrap_mapped;  /* bytes mapped less those unmapped */

/* What the kernel is asked about the pages of a slab, one call after the other. */
enum wrap_verb { WRAP_MMAP, WRAP_MADVISE, WRAP_MBIND };

struct wrap_ask {
	enum wrap_verb verb;
	void *addr; /* mmap: what came of it */
	size_t len;
	int arg;	    /* mmap: flags; madvise: advice; mbind: mode */
	unsigned long node; /* mbind: first word of the mask */
};

/* Played instead of asked: huge pages there are or are not, pages that cannot be had. */
struct wrap_machine {
	bool on;	     /* else the kernel is asked, and nothing kept */
	bool has_2m, has_1g; /* huge pages: a mapping of them succeeds, of small pages in fact */
	unsigned populate_fails; /* so many times first */
	int populate_errno;
	struct wrap_ask asks[64];
	unsigned nasks;
};

extern struct wrap_machine wrap_machine;

#endif

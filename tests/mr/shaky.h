/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shaky.h - a provider with real pins (io_uring), windows, and registrations that fail now and
 * then.
 */
#ifndef NFSRDMA_TESTS_MR_SHAKY_H
#define NFSRDMA_TESTS_MR_SHAKY_H

#include "tests/mr/fake.h"

struct shaky_provider {
	struct mr_provider p;
	struct pinning_provider inner;
	_Atomic uint64_t bytes;		/* live */
	_Atomic unsigned live, windows; /* registrations and windows */
	_Atomic unsigned calls;		/* of register or deregister, whatever came of them */
	_Atomic bool fail_next;		/* the next registration, once */
	unsigned fail_every;		/* each n-th, 0: none */
	_Atomic uint32_t next_key;
};

/* Skips the test where io_uring is forbidden. */
void shaky_provider_init(struct shaky_provider *shaky);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pin.h - long-term pins on process memory, and what they cost.
 */
#ifndef IWARP_PIN_H
#define IWARP_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct iwarp_pinner;

/* One pinned range. */
struct iwarp_pin {
	void *addr;
	size_t len;
	bool small; /* made of 4 KiB pages for sure: what it is charged need not be read back */
	int ring;   /* io_uring that holds the pins; -1: locked instead */
	uint64_t pages_charged; /* growth of VmPin in pages of 4 KiB */
	uint64_t locked_pages;	/* growth of VmLck */
};

/* uring false: mlock only.  -ENOMEM. */
int iwarp_pinner_create(struct iwarp_pinner **pinnerp, bool uring);
/* Every pin must have been released.  NULL is fine. */
void iwarp_pinner_destroy(struct iwarp_pinner *pinner);

/*
 * Pin [addr, addr + len); small: see struct iwarp_pin.  Synchronous, any thread.  Sleeps up to 1.5
 * s where the limit should have room and the kernel says no. -ENOMEM: the limit (err: which, how
 * much, the remedy) or memory; -EFAULT: the memory cannot be pinned writable; -EMFILE.
 */
int iwarp_pin(struct iwarp_pinner *pinner, void *addr, size_t len, bool small,
	      struct iwarp_pin *pin, struct util_err *err);
/* On return the pins are gone.  Where ranges overlap in the mlock fallback, pin->locked_pages
 * becomes what this release gave back. */
void iwarp_unpin(struct iwarp_pinner *pinner, struct iwarp_pin *pin);

/* True where io_uring may be set up by this process. */
bool iwarp_uring_allowed(void);

/* lock.c: ranges kept resident by mlock, counted because munlock works on pages. */
struct iwarp_locks;

int iwarp_locks_create(struct iwarp_locks **locksp);
void iwarp_locks_destroy(struct iwarp_locks *locks);
int iwarp_locks_add(struct iwarp_locks *locks, void *addr, size_t len);
/* Unlocks the pages no other range covers. */
void iwarp_locks_del(struct iwarp_locks *locks, void *addr, size_t len);

#endif

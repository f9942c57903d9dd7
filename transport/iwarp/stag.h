/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stag.h - the RNIC's key table: what each STag names, who may use it and how.
 */
#ifndef IWARP_STAG_H
#define IWARP_STAG_H

#include <stdbool.h>
#include <stdint.h>

enum iwarp_right {
	IWARP_RIGHT_READ = 1,  /* source of the peer's RDMA Reads */
	IWARP_RIGHT_WRITE = 2, /* target of the peer's RDMA Writes */
	IWARP_RIGHT_SINK = 4,  /* target of our own RDMA Reads' responses */
	IWARP_RIGHT_BIND = 8,  /* windows may be bound over it */
};

/* What one key names. */
struct iwarp_mem {
	uint8_t *base;	    /* process address of the first byte */
	uint64_t iova, len; /* region address of the first byte, bytes */
	uint64_t bus;	    /* behind an IOMMU: its bus address */
	unsigned rights;    /* enum iwarp_right */
	const void *domain; /* its protection domain */
	uint64_t conn;	 /* windows: serial of the only connection that may use it; 0 for regions */
	uint32_t parent; /* windows: the region's key; 0 for regions */
	void *window;	 /* windows: the owner's object, for remote invalidation */
};

/* One access somebody asks for. */
struct iwarp_access {
	uint32_t stag;
	uint64_t to, len;
	unsigned right; /* one of enum iwarp_right */
	const void *domain;
	uint64_t conn;
};

enum iwarp_denial {
	IWARP_GRANTED,
	IWARP_DENIED_STAG,  /* no such key (any more) */
	IWARP_DENIED_ASSOC, /* another domain's, or a window of another connection */
	IWARP_DENIED_WRAP,  /* to + len passes 2^64 */
	IWARP_DENIED_BOUNDS,
	IWARP_DENIED_RIGHT,
	IWARP_DENIED_IOMMU, /* granted by the key, refused by the IOMMU (translate.c) */
};

struct iwarp_stags;
struct iwarp_stag_slot;

/* A granted access: the memory cannot be deregistered until it is released.  Hold it only around a
 * copy or a system call that does not sleep. */
struct iwarp_hold {
	struct iwarp_stag_slot *slot, *parent;
	uint8_t *ptr; /* process address of access.to */
	uint64_t bus; /* behind an IOMMU: its bus address */
};

/* -ENOMEM, or what getrandom said. */
int iwarp_stags_create(struct iwarp_stags **stagsp);
/* NULL is fine. */
void iwarp_stags_destroy(struct iwarp_stags *stags);

/* Take a fresh key for later; it names nothing yet.  Any thread.  -ENOMEM, -ENOSPC. */
int iwarp_stags_reserve(struct iwarp_stags *stags, uint32_t *stagp);
/* From now on stag (reserved) names mem. */
void iwarp_stags_activate(struct iwarp_stags *stags, uint32_t stag, const struct iwarp_mem *mem);
/*
 * End a key: from the return on nobody gets at its memory through it, and it is not handed out
 * again soon.  Waits for holds.  A key only reserved is given back.  Any thread.
 * False when it was no key.
 */
bool iwarp_stags_remove(struct iwarp_stags *stags, uint32_t stag);
/* Check an access and hold the memory.  Any thread, no locks. */
enum iwarp_denial iwarp_stags_hold(struct iwarp_stags *stags, const struct iwarp_access *access,
				   struct iwarp_hold *hold);
void iwarp_stags_release(struct iwarp_hold *hold);
/* What stag names, copied out.  False when it names nothing. */
bool iwarp_stags_lookup(struct iwarp_stags *stags, uint32_t stag, struct iwarp_mem *mem);

#endif

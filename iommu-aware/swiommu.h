/* SPDX-License-Identifier: BSD-2-Clause */
/* swiommu.h - the parts of the software IOMMU: tables, IOTLB, invalidation queue, flush queues. */
#ifndef IOMMU_SWIOMMU_H
#define IOMMU_SWIOMMU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "iommu-aware/iommu.h"

#define SW_PAGE UINT64_C(4096)
#define SW_LARGE (UINT64_C(2) << 20)
/* A leaf: where its page lies, and in the low bits what it is. */
#define SW_RIGHTS (IOMMU_SW_READ | IOMMU_SW_WRITE)
#define SW_LEAF_LARGE UINT64_C(4)
#define SW_LEAF UINT64_C(8)
#define SW_LEAF_ADDR(leaf) ((leaf) & ~(SW_PAGE - 1))
#define SW_LEAF_SIZE(leaf) ((leaf)&SW_LEAF_LARGE ? SW_LARGE : SW_PAGE)

/* ---- swiommu_table.c ---- */

#define SW_ENTRIES 512u
#define SW_LEVELS 4u /* of 9 bits each above the 12 of a page: 48-bit bus addresses */

struct sw_node;

struct sw_table {
	pthread_mutex_t lock; /* writers; a leaf */
	struct sw_node *root;
	_Atomic uint64_t leaves_4k, leaves_2m;
};

int iommu_sw_table_init(struct sw_table *table);
void iommu_sw_table_fini(struct sw_table *table);
/* The leaf that covers bus, 0: none.  Any thread, no lock. */
uint64_t iommu_sw_table_walk(const struct sw_table *table, uint64_t bus);
/* Whole pages, not mapped before; nothing is mapped unless all is.  -ENOMEM. */
int iommu_sw_table_map(struct sw_table *table, uint64_t bus, uint64_t addr, uint64_t len,
		       bool large, unsigned rights);
/* Whole pages; large leaves that are touched go as a whole.  What is not mapped is left alone. */
void iommu_sw_table_unmap(struct sw_table *table, uint64_t bus, uint64_t len);

/* ---- swiommu_tlb.c ---- */

#define SW_SETS 64u
#define SW_WAYS 4u

struct iommu_sw_tlb_entry {
	_Atomic uint64_t tag; /* bus address of the page, SW_LEAF and its size; 0: empty */
	_Atomic uint64_t leaf;
};

struct sw_tlb {
	struct iommu_sw_tlb_entry set[SW_SETS][SW_WAYS];
	pthread_mutex_t lock;	/* fills and invalidations; a leaf */
	_Atomic uint64_t epoch; /* invalidations so far */
	unsigned victim;	/* next way to be replaced, protected by lock */
};

void iommu_sw_tlb_init(struct sw_tlb *tlb);
void iommu_sw_tlb_fini(struct sw_tlb *tlb);
/* The cached leaf that covers bus, 0: none. */
uint64_t iommu_sw_tlb_find(const struct sw_tlb *tlb, uint64_t bus);
/* To be read before the walk whose result is to be filled in. */
uint64_t iommu_sw_tlb_epoch(const struct sw_tlb *tlb);
/* Keep leaf, unless something was invalidated since epoch. */
void iommu_sw_tlb_fill(struct sw_tlb *tlb, uint64_t bus, uint64_t leaf, uint64_t epoch);
/* Forget what covers any of [bus, bus + len). */
void iommu_sw_tlb_forget(struct sw_tlb *tlb, uint64_t bus, uint64_t len);
void iommu_sw_tlb_forget_all(struct sw_tlb *tlb);

/* ---- swiommu_flush.c ---- */

#define SW_INVAL_RING 64u

enum iommu_sw_inval_kind { SW_INVAL_PAGES, SW_INVAL_ALL, SW_INVAL_WAIT };

struct sw_inval {
	enum iommu_sw_inval_kind kind;
	uint64_t bus, len;
	bool *done; /* SW_INVAL_WAIT: where the device says so */
};

/* The queue in which the device is told what to forget. */
struct iommu_sw_inval_queue {
	pthread_mutex_t lock; /* protects the ring; nests outside the IOTLB's */
	struct sw_inval ring[SW_INVAL_RING];
	unsigned head, tail;
	struct sw_tlb *tlb;
	uint64_t wait_ns; /* modelled */
};

void iommu_sw_inval_init(struct iommu_sw_inval_queue *queue, struct sw_tlb *tlb, uint64_t wait_ns);
void iommu_sw_inval_fini(struct iommu_sw_inval_queue *queue);
/* Return when the IOTLB has forgotten [bus, bus + len), or with len 0 everything. */
void iommu_sw_inval_sync(struct iommu_sw_inval_queue *queue, uint64_t bus, uint64_t len);

#define SW_FLUSH_ENTRIES 256u
#define SW_FLUSH_NS UINT64_C(10000000)
#define SW_FLUSH_SHIFT 58 /* the upper bits of 64 number the queues */
#define SW_FLUSH_QUEUES (1u << (64 - SW_FLUSH_SHIFT))

struct iommu_sw_flush_entry {
	uint64_t bus, len, since_ns;
};

struct iommu_sw_flush_queue {
	_Atomic uint64_t owner; /* the thread's pthread_self(), 0: had none yet */
	pthread_mutex_t lock;	/* protects what follows; nests outside the invalidation queue's */
	_Atomic unsigned count; /* others may look whether it is 0 */
	uint64_t most;
	struct iommu_sw_flush_entry *entry; /* SW_FLUSH_ENTRIES; NULL: never used */
} __attribute__((aligned(64)));

struct sw_flush {
	struct iommu_sw_flush_queue queue[SW_FLUSH_QUEUES];
	unsigned queues; /* of them in use: all; a benchmark sets 1 */
	struct iommu_sw_inval_queue *inval;
	struct iommu_space *space; /* flushed addresses go back there; NULL: nowhere */
	pthread_t timer;
	bool has_timer;
	pthread_mutex_t timer_lock; /* protects what follows; a leaf */
	pthread_cond_t timer_cond;
	_Atomic uint64_t
		due_ns; /* when the timer is to flush, 0: nothing is queued; read without */
	bool stop;
	_Atomic uint64_t batches, flushed, delay_most_ns;
};

/* With a timer when lazy is set.  What pthread_create() said. */
int iommu_sw_flush_init(struct sw_flush *flush, struct iommu_sw_inval_queue *inval,
			struct iommu_space *space, bool lazy);
/* Ends the timer and flushes. */
void iommu_sw_flush_fini(struct sw_flush *flush);
void iommu_sw_flush_add(struct sw_flush *flush, uint64_t bus, uint64_t len);
void iommu_sw_flush_all(struct sw_flush *flush);
/* Entries queued now, and the most one queue ever held. */
uint64_t iommu_sw_flush_queued(struct sw_flush *flush, uint64_t *mostp);

#endif

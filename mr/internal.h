/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - what the files of mr/ share.
 *
 * From the bottom up: a *memory* is a faulted-in mapping; a *slab* is a memory registered with the
 * provider; a *span* is a run of a slab's pages that serves one size class; a *cell* is a piece of
 * a span and carries the lease a caller sees.  Idle cells lie on lock-free *stacks*: one per thread
 * slot, kind and class (the magazine), one per kind and class (the depot).
 *
 * Cells are addressed by index and their memory is never returned before the pool's end, so a
 * stack may look at a cell another thread has just popped: it reads a stale link, and the tag in
 * the stack's head makes the exchange fail.
 */
#ifndef NFSRDMA_MR_INTERNAL_H
#define NFSRDMA_MR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iommu-aware/iommu.h"
#include "mr/mr.h"
#include "util/util.h"

#define MR_PAGE UINT64_C(4096)
#define MR_HUGE UINT64_C(0x200000)
#define MR_GIANT UINT64_C(0x40000000)

/* Pages of MR_PAGE bytes that [addr, addr+len) touches; len is not 0. */
static inline size_t mr_pages_touched(const void *addr, size_t len)
{
	return ((uintptr_t)addr + len - 1) / MR_PAGE - (uintptr_t)addr / MR_PAGE + 1;
}

static inline uint64_t mr_round_up(uint64_t v, uint64_t unit)
{
	return (v + unit - 1) / unit * unit;
}

/* ---- ledger ------------------------------------------------------------------------------- */

#define MR_LEDGER_LEVELS 4

/* Counters kept elsewhere (per thread), added whenever a ledger of the chain is read. */
struct mr_ledger_source {
	struct mr_ledger_link {
		struct util_list node;
		struct mr_ledger_source *source;
	} link[MR_LEDGER_LEVELS];
	void (*fold)(const struct mr_ledger_source *source, struct mr_ledger_snapshot *snap);
	/* It was folded for good: let go of the lanes. */
	void (*end)(struct mr_ledger_source *source);
};

/* Every change of a field goes to the ledger and all above it.  Where one event changes several,
 * the chain is walked once. */
#define MR_LEDGER_EACH(l, ledger) for (struct mr_ledger *l = (ledger); l; l = l->parent)
#define MR_COUNT(now, field, n) atomic_fetch_add_explicit(&(now)->field, (n), memory_order_relaxed)
#define MR_LEDGER_ADD(ledger, field, n)                                                            \
	do {                                                                                       \
		MR_LEDGER_EACH(l_, ledger) MR_COUNT(l_->now, field, n);                            \
	} while (0)
#define MR_LEDGER_SUB(ledger, field, n) MR_LEDGER_ADD(ledger, field, -(uint64_t)(n))

void mr_ledger_attach(struct mr_ledger *ledger, struct mr_ledger_source *source);
/* What the source counted stays with the ledgers. */
void mr_ledger_detach(struct mr_ledger *ledger, struct mr_ledger_source *source);

/* Where a snapshot keeps the field of that name; NULL: there is none. */
uint64_t *mr_ledger_find(struct mr_ledger_snapshot *snap, const char *name);

/*
 * Leases as one thread counts them: one writer, any readers.  A lane lies in the watch file where
 * the topmost ledger has one with a lane left, else with its owner.
 */
#define MR_LANE_USED 1
#define MR_LANE_REUSES 2 /* a take that was not fresh reused a mapping */

struct mr_lane {
	_Atomic uint64_t taken, given;
	_Atomic uint64_t fresh; /* takes that had to register: no reuse */
	_Atomic uint64_t flags;
	uint64_t pad[4]; /* a cache line each */
};

/* watch.c */
/* A lane of the watch over ledger, or own. */
struct mr_lane *mr_lane_take(struct mr_ledger *ledger, struct mr_lane *own, bool reuses);
void mr_lane_give(struct mr_lane *lane);
/* Counts are about to move within the watched file, or have moved.  Under the ledger's lock. */
void mr_watch_move(struct mr_ledger *ledger);

/* ---- region: the only place where the ledger's registrations change -------------------------- */

struct mr_region_params {
	struct mr_provider *provider;
	struct mr_ledger *ledger;
	void *addr;
	size_t len, page_size;
	unsigned access;
};

int mr_region_open(const struct mr_region_params *params, struct mr_registration *reg,
		   struct util_err *err);
void mr_region_close(struct mr_provider *provider, struct mr_ledger *ledger,
		     struct mr_registration *reg);

/* Likewise for windows; window.c. */
void mr_window_count_bound(struct mr_ledger *ledger);
enum mr_window_fate { MR_WINDOW_LOCAL, MR_WINDOW_REMOTE, MR_WINDOW_DROPPED };
void mr_window_count_ended(struct mr_ledger *ledger, enum mr_window_fate fate);

/* ---- memory -------------------------------------------------------------------------------- */

enum mr_backing { MR_BACKING_4K, MR_BACKING_THP, MR_BACKING_2M, MR_BACKING_1G };

struct mr_memory {
	void *addr;
	size_t len;
	enum mr_backing backing;
};

const char *mr_backing_name(enum mr_backing backing);
size_t mr_backing_page(enum mr_backing backing);
/* What its memory is aligned to: the pages it is made of, or hopes for. */
size_t mr_backing_align(enum mr_backing backing);
/* Tries best, then what is below it and fits len.  Faulted in.  -ENOMEM. */
int mr_memory_map(struct mr_memory *memory, size_t len, enum mr_backing best, int node,
		  struct util_err *err);
void mr_memory_unmap(struct mr_memory *memory);
/* numa.c, or numa_none.c without libnuma: a preference, never a failure. */
void mr_numa_bind(void *addr, size_t len, int node);

/* ---- classes --------------------------------------------------------------------------------- */

/* Four sizes per power of two from 256 bytes to 1 MiB: (4 + q) << (6 + e). */
#define MR_CLASS_MIN 256
#define MR_CLASS_MAX (1u << 20)
#define MR_CLASSES 49
#define MR_CLASS_LARGE MR_CLASSES	  /* a slab of its own */
#define MR_CLASS_FOREIGN (MR_CLASSES + 1) /* memory that is not ours */

unsigned mr_class_of(size_t len);
size_t mr_class_size(unsigned class);
/* Cells of a span, which is a whole number of pages without a tail. */
unsigned mr_class_span_cells(unsigned class);
/* Cells one thread may keep to itself. */
unsigned mr_class_magazine(unsigned class);

/* ---- slabs, spans, cells -----------------------------------------------------------------------
 */

struct mr_slab {
	struct util_list node; /* pool->slabs */
	struct mr_memory memory;
	struct mr_registration reg;
	enum mr_kind kind;
	struct mr_cell *large; /* its only cell, of a lease beyond MR_CLASS_MAX; else NULL */
	size_t pages, pages_used;
	uint64_t used[]; /* bitmap of pages */
};

struct mr_span {
	struct util_list node; /* pool->spans[kind]; alone when large */
	struct mr_slab *slab;
	size_t first, pages; /* pages of slab */
	unsigned class;
	unsigned cells, idle; /* idle: scratch of a sweep */
};

enum mr_cell_state { MR_CELL_IDLE, MR_CELL_OUT, MR_CELL_QUARANTINED };

/* Cache lines of its own: neighbours are in the hands of other threads. */
#define MR_CELL_ALIGN 128

struct mr_cell {
	_Alignas(MR_CELL_ALIGN) struct mr_lease lease;
	_Atomic uint32_t next; /* index of the next on the stack, 0: last */
	uint32_t index;	       /* from 1 */
	uint8_t class;
	_Atomic uint8_t state; /* enum mr_cell_state */
	struct mr_span *span;
	struct mr_entry *entry; /* foreign: the registration, NULL none */
};

#define MR_CHUNK_CELLS 256
#define MR_CHUNKS 4095 /* index below 2^20 */

/* tag (32 bits) | count (12) | index of the top cell (20) */
struct mr_stack {
	_Atomic uint64_t head;
};

/* A private chain of cells linked by next. */
struct mr_chain {
	struct mr_cell *first, *last;
	unsigned count;
};

/* ---- magazines
 * ------------------------------------------------------------------------------------ */

#define MR_SLOTS 128
#define MR_SLOT_PROBES 8

/*
 * One thread's.  Counters are written by the owner only; the stacks are open to others, so that
 * what a thread keeps, or left when it ended, is found by a sweep.
 */
struct mr_slot {
	uintptr_t owner;
	struct mr_lane *lane, own;
	struct mr_stack magazine[MR_KIND_COUNT][MR_CLASSES];
};

struct mr_budget {
	uint64_t pinned_max;  /* bytes this pool may pin */
	uint64_t soft;	      /* a quarter: beyond it, idle memory is reused before growing */
	uint64_t bytes_max;   /* of memory, pinned or not */
	char bytes_name[112]; /* what that comes from: "half of the machine's memory", ... */
	uint64_t memlock;     /* the limit that binds this process, UINT64_MAX: none */
	char name[112];	      /* what pinned_max comes from: "max-pinned", ... */
};

struct mr_pool {
	struct mr_provider *provider;
	enum mr_mode mode;
	bool keyless; /* slabs are plain memory: per-io and cache register pieces of it */
	struct mr_ledger ledger;
	struct mr_ledger_source source;
	struct util_log log;
	struct mr_budget budget;
	size_t max_lease;
	struct iommu_geometry geometry;
	struct iommu_batching batching;
	enum mr_backing best, likely; /* wished for; what the machine has */
	bool thp;		      /* transparent huge pages may come */
	int node;
	bool poison;
	_Atomic uint64_t poison_hits;
	_Atomic uint64_t pieces; /* bytes charged for registrations of less than a slab */
	struct mr_cache *cache;

	struct mr_stack depot[MR_KIND_COUNT][MR_CLASSES];
	_Atomic(struct mr_slot *) slots[MR_SLOTS];
	struct mr_lane *shared, own; /* threads without a slot; of all threads: fresh */
	_Atomic(struct mr_cell *) chunks[MR_CHUNKS];

	pthread_mutex_t lock; /* protects all below; never taken in the steady state.
			       * Nests outside the ledger's and the provider's. */
	struct util_list slabs, spans[MR_KIND_COUNT];
	struct mr_chain spare;	 /* cells without memory */
	uint32_t cells;		 /* made so far */
	uint64_t bytes;		 /* of all slabs */
	_Atomic uint64_t pinned; /* of them, as charged by the provider; read without the lock */
	uint64_t kind_bytes[MR_KIND_COUNT];
	bool kind_free[MR_KIND_COUNT]; /* the provider charges nothing for this kind */
	uint64_t impatient_until_ns;   /* a back-off was in vain: no other before this */
};

const char *mr_kind_name(enum mr_kind kind);
unsigned mr_kind_access(enum mr_kind kind);

/* mode.c */
/* Can the provider do it?  -EOPNOTSUPP, err says what it lacks. */
int mr_mode_check(enum mr_mode mode, const struct mr_provider *provider, struct util_err *err);
/* The rights a slab of kind is registered with. */
unsigned mr_mode_slab_access(enum mr_mode mode, enum mr_kind kind);

/* stack.c */
/* index is one that was handed out, never 0. */
static inline struct mr_cell *mr_cell_at(struct mr_pool *pool, uint32_t index)
{
	struct mr_cell *chunk = atomic_load_explicit(&pool->chunks[(index - 1) / MR_CHUNK_CELLS],
						     memory_order_acquire);

	return &chunk[(index - 1) % MR_CHUNK_CELLS];
}

void mr_chain_add(struct mr_chain *chain, struct mr_cell *cell);
struct mr_cell *mr_chain_take(struct mr_pool *pool, struct mr_chain *chain);
/* Returns how many the stack then holds (magazines only: counts below 4096). */
unsigned mr_stack_push(struct mr_stack *stack, struct mr_chain *chain);
/* The same for one cell: the hot path. */
unsigned mr_stack_push_one(struct mr_stack *stack, struct mr_cell *cell);
struct mr_cell *mr_stack_pop_one(struct mr_pool *pool, struct mr_stack *stack);
/* At most max cells; chain->count says how many. */
void mr_stack_pop(struct mr_pool *pool, struct mr_stack *stack, unsigned max,
		  struct mr_chain *chain);

/* magazine.c */
/* NULL: no slot for this thread; it works on the depot. */
struct mr_slot *mr_slot_get(struct mr_pool *pool);
struct mr_cell *mr_magazine_take(struct mr_pool *pool, struct mr_slot *slot, enum mr_kind kind,
				 unsigned class);
void mr_magazine_give(struct mr_pool *pool, struct mr_slot *slot, struct mr_cell *cell);
/* One cell from any other thread's magazine. */
struct mr_cell *mr_magazine_steal(struct mr_pool *pool, enum mr_kind kind, unsigned class);
/* All idle cells of a kind and class, from everywhere, to chain. */
void mr_magazine_drain(struct mr_pool *pool, enum mr_kind kind, unsigned class,
		       struct mr_chain *chain);

/* slab.c; all under the pool's lock */
int mr_slab_create(struct mr_pool *pool, enum mr_kind kind, size_t len, struct mr_slab **slabp,
		   struct util_err *err);
void mr_slab_destroy(struct mr_pool *pool, struct mr_slab *slab);
bool mr_slab_take_pages(struct mr_slab *slab, size_t pages, size_t *firstp);
void mr_slab_give_pages(struct mr_slab *slab, size_t first, size_t pages);
/* No lease of it is out and, unless large, no span is cut from it. */
bool mr_slab_idle(const struct mr_slab *slab);

/* span.c; all under the pool's lock */
/* Cut a span of class (MR_CLASS_LARGE: the whole slab) out of slab, its cells to chain.
 * -ENOSPC: no such run of pages; -ENOMEM. */
int mr_span_carve(struct mr_pool *pool, struct mr_slab *slab, unsigned class,
		  struct mr_chain *chain);
/* Give spans no cell of which is out back to their slabs; the other idle cells go to the depot. */
void mr_span_sweep(struct mr_pool *pool, enum mr_kind kind);
void mr_span_destroy(struct mr_pool *pool, struct mr_span *span);
/* A cell without memory; NULL: no memory for one. */
struct mr_cell *mr_cell_spare(struct mr_pool *pool);

/* grow.c: the slow path of take.  Also counts the take when it had to register. */
int mr_grow(struct mr_pool *pool, enum mr_kind kind, size_t len, struct mr_cell **cellp,
	    struct util_err *err);

/* piece.c: registered pieces of less than a slab */
int mr_piece_open(struct mr_pool *pool, void *addr, size_t len, unsigned access, bool small,
		  struct mr_registration *reg, struct util_err *err);
void mr_piece_close(struct mr_pool *pool, struct mr_registration *reg);

/* foreign.c */
void mr_foreign_give(struct mr_pool *pool, struct mr_cell *cell);
/* The cell was never lent. */
void mr_foreign_cell_give(struct mr_pool *pool, struct mr_cell *cell);
/* What lies below the lease. */
const struct mr_registration *mr_cell_registration(const struct mr_cell *cell);

/* cgroup.c */
struct mr_cgroup {
	uint64_t limit; /* bytes, UINT64_MAX: no bound */
	char file[96];	/* which says so: "/sys/fs/cgroup/a/memory.max"; a long name's end */
};

/* root: "" (tests: a tree). */
void mr_cgroup_read(struct mr_cgroup *cgroup, const char *root);

/* budget.c */
/* Book len for a piece of memory that is there already, if it fits.  Any thread, no lock. */
int mr_budget_reserve(struct mr_pool *pool, size_t len, struct util_err *err);
void mr_budget_return(struct mr_pool *pool, size_t len);
void mr_budget_init(struct mr_budget *budget, const struct mr_pool_params *params,
		    const struct mr_provider *provider, const struct iommu_facts *facts,
		    const struct mr_cgroup *cgroup);
/* May len more bytes be asked for?  0 or -ENOMEM with err naming the limit. */
int mr_budget_look(struct mr_pool *pool, enum mr_kind kind, size_t len, struct util_err *err);
/* Complete err for a refusal that came from below. */
void mr_budget_refused(struct mr_pool *pool, size_t len, struct util_err *err);

/* quarantine.c */
/* The lease comes back: ends a quarantine if there was one. */
void mr_quarantine_end(struct mr_cell *cell);

/* poison.c */
void mr_poison_fill(const struct mr_cell *cell);
void mr_poison_check(struct mr_pool *pool, const struct mr_cell *cell);

/* pool.c */
/* Do leases reuse mappings, that is, does a take that registers nothing count as one? */
bool mr_pool_reuses(const struct mr_pool *pool);
/* Release slabs nothing of which is in use.  Under the lock. */
uint64_t mr_pool_trim_locked(struct mr_pool *pool);

#endif

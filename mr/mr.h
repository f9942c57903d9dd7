/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr.h - memory regions: pools of registered memory, leases, windows, the pin ledger.
 *
 * A *provider* (verbs, iwarp, the plain one below, the tests' fake) registers memory with a
 * device.  A *pool* belongs to one protection domain and one server; it owns *slabs*, each
 * registered once, and hands out ranges of them as *leases*.  In the steady state taking and
 * giving a lease does not register, pin, map, allocate or enter the kernel.
 *
 * A *grant* is what a peer may reach for one piece of one call.  In pool mode it names a range of a
 * slab that is reachable anyway; in window mode a window is bound over the range and invalidated
 * after the reply; in per-io mode the range is registered for the call.  Whoever sends calls asks
 * for grants the same way whatever the mode, and posts the work requests mr asks for.
 *
 * The *ledger* changes only where a region or a window changes state (region.c and window.c, one
 * function in, one out).
 */
#ifndef NFSRDMA_MR_H
#define NFSRDMA_MR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

/* ---- modes ------------------------------------------------------------------------------ */

enum mr_mode {
	MR_MODE_POOL,	/* slabs registered once, their keys live as long as they do */
	MR_MODE_WINDOW, /* a type-2 window per call over slabs no peer can name */
	MR_MODE_CACHE,	/* registered on first use, kept until evicted or unmapped */
	MR_MODE_PER_IO, /* registered for each call */
	MR_MODE_ODP,	/* as pool, nothing pinned: the device faults pages in */
	MR_MODE_COUNT,
};

/* "pool", "window", "cache", "per-io", "odp": as users write them. */
const char *mr_mode_name(enum mr_mode mode);

/* ---- provider --------------------------------------------------------------------------- */

enum mr_access {
	MR_ACCESS_LOCAL_WRITE = 1,  /* the device writes here for local receives */
	MR_ACCESS_REMOTE_READ = 2,  /* the peer may RDMA Read */
	MR_ACCESS_REMOTE_WRITE = 4, /* the peer may RDMA Write */
	MR_ACCESS_READ_SINK = 8, /* target of our own RDMA Reads; iWARP needs remote write for it */
	MR_ACCESS_WINDOW_BIND = 16, /* windows may be bound over it */
	MR_ACCESS_ON_DEMAND = 32,   /* not pinned: the device faults pages in (provider.odp) */
	MR_ACCESS_PAGES_KNOWN = 64, /* the memory is made of pages of page_size for sure, so what is
				     * charged can be computed instead of read back */
};

struct mr_provider;
struct mr_ledger_snapshot;

/* One registration.  Owned by whoever registered; the provider fills it. */
struct mr_registration {
	void *addr; /* process address */
	size_t len;
	uint64_t iova; /* region address: what peers and SGEs name for addr */
	uint32_t lkey, rkey;
	unsigned access; /* enum mr_access bits, as asked for */
	/* What this registration costs, as the provider knows it: the ledger's source.
	 * pages_charged = growth of VmPin / 4 KiB; locked_pages = growth of VmLck (mlock
	 * fallback); iova_maps = 1 where a device mapping was made. */
	uint64_t pages_charged, locked_pages;
	unsigned iova_maps;
	void *priv; /* the provider's */
};

struct mr_window {
	uint32_t rkey; /* key of the last bind that was posted */
	void *priv;
};

struct mr_provider_ops {
	const char *name; /* "iwarp", "verbs", "plain", "fake" */
	/*
	 * Register [addr, addr+len) with access bits.  Synchronous.  *reg is set only on success.
	 * page_size is the backing of the memory (4096, 2 MiB, 1 GiB; 2 MiB also where transparent
	 * huge pages were asked for): congruence of the region address, the page accounting and
	 * the leaves of a software IOMMU follow it.
	 * -ENOMEM: limit (err names which, the number and the remedy) or memory; -EFAULT: the
	 * memory cannot be pinned writable; -EINVAL; -ENOSPC: the device's table is full.
	 */
	int (*register_memory)(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			       unsigned access, struct mr_registration *reg, struct util_err *err);
	/* Synchronous; on return pins are released and no peer or device reaches the memory. */
	void (*deregister_memory)(struct mr_provider *p, struct mr_registration *reg);
	/* Type-2 windows; -EOPNOTSUPP where there are none. */
	int (*window_alloc)(struct mr_provider *p, struct mr_window *w);
	void (*window_free)(struct mr_provider *p, struct mr_window *w);
	/* The key the next bind of w will give, so that it can be named before the bind is posted.
	 * Asking twice gives the same.  -ENOMEM, -ENOSPC: no key is left. */
	int (*window_next_key)(struct mr_provider *p, struct mr_window *w, uint32_t *rkeyp);
	/* Add what the device's IOMMU counted since the provider began (MR_LEDGER_IOMMU_FIELDS);
	 * NULL: it counts nothing. */
	void (*count_iommu)(const struct mr_provider *p, struct mr_ledger_snapshot *snap);
};

struct mr_provider {
	const struct mr_provider_ops *ops;
	size_t max_region; /* longest registration in bytes */
	uint32_t max_regions;
	uint32_t max_windows; /* 0: none */
	bool registers;	      /* false for plain: keys mean nothing, nothing is pinned */
	bool odp;	      /* on-demand paging: MR_ACCESS_ON_DEMAND works */
	int numa_node;	      /* the device's, -1 unknown */
	char device[64];
	/* mr's own: what lives on this domain, held against the device's limits before asking */
	_Atomic uint32_t regions, windows;
};

/* For tcp: no device, nothing pinned, keys 0. */
void mr_provider_plain_init(struct mr_provider *p);

/* ---- ledger ----------------------------------------------------------------------------- */

/* Names are those of the JSON documents.  All monotonic but the *_now ones. */
/* clang-format off */
#define MR_LEDGER_FIELDS(X)								\
	X(registrations)								\
	X(deregistrations)								\
	X(pages_charged)								\
	X(pages_released)								\
	X(iova_maps)									\
	X(iova_unmaps)									\
	X(iova_reuses)									\
	X(windows_bound)								\
	X(invalidations_local)								\
	X(invalidations_remote)								\
	X(invalidation_batches)								\
	X(limit_refusals)								\
	X(leases_taken)									\
	X(leases_given)									\
	X(leases_quarantined)								\
	X(slabs_created)								\
	X(slabs_destroyed)								\
	X(bytes_registered_now)								\
	X(pages_charged_now)								\
	X(locked_pages_now)								\
	X(leases_now)									\
	X(quarantined_now)								\
	MR_LEDGER_WINDOW_FIELDS(X)
/* clang-format on */

/* windows_bound = invalidations_local + invalidations_remote + windows_dropped (their connection
 * ended first, or they were never posted) + windows_now.  The histogram counts batches of up to so
 * many invalidations behind one doorbell. */
/* clang-format off */
#define MR_LEDGER_WINDOW_FIELDS(X)							\
	X(windows_dropped)								\
	X(windows_now)									\
	X(invalidation_batches_1)							\
	X(invalidation_batches_2)							\
	X(invalidation_batches_4)							\
	X(invalidation_batches_8)							\
	X(invalidation_batches_16)							\
	X(invalidation_batches_32)							\
	X(invalidation_batches_more)							\
	X(cache_evictions)								\
	X(cache_unmaps_seen)								\
	X(cache_stale)									\
	X(bounces)									\
	MR_LEDGER_IOMMU_FIELDS(X)
/* clang-format on */

/* Of the software IOMMU the iwarp fabric may sit behind; its maps are iova_maps.  Read from the
 * provider, so those who watch from outside see them once the pool has ended. */
/* clang-format off */
#define MR_LEDGER_IOMMU_FIELDS(X)							\
	X(iotlb_lookups)								\
	X(iotlb_misses)									\
	X(iommu_flushes)								\
	X(iommu_flush_batches)								\
	X(iommu_faults)
/* clang-format on */

struct mr_ledger_counters {
#define MR_LEDGER_DECLARE(name) _Atomic uint64_t name;
	MR_LEDGER_FIELDS(MR_LEDGER_DECLARE)
#undef MR_LEDGER_DECLARE
};

struct mr_ledger {
	struct mr_ledger_counters *now; /* own, or in the file where others can watch them */
	struct mr_ledger_counters own;
	struct mr_watch *watch;	  /* NULL: nobody can */
	struct mr_ledger *parent; /* the process's; NULL at the top.  Every change goes to both. */
	pthread_mutex_t lock;	  /* protects sources; a leaf */
	struct util_list sources; /* pools whose lease counters are kept per thread until read */
};

struct mr_ledger_snapshot {
#define MR_LEDGER_DECLARE(name) uint64_t name;
	MR_LEDGER_FIELDS(MR_LEDGER_DECLARE)
#undef MR_LEDGER_DECLARE
};

/* parent outlives ledger and does not move.  Needs no end but that of a watch. */
void mr_ledger_init(struct mr_ledger *ledger, struct mr_ledger *parent);
/* Includes what the pools' per-thread magazines have not yet folded in. */
void mr_ledger_read(const struct mr_ledger *ledger, struct mr_ledger_snapshot *snap);
/* field i of the table: its name and value; NULL past the end.  For printers. */
const char *mr_ledger_field(const struct mr_ledger_snapshot *snap, unsigned i, uint64_t *valuep);
/* n local invalidations go out behind one doorbell. */
void mr_ledger_batch(struct mr_ledger *ledger, unsigned n);

/* ---- watching a ledger from outside ------------------------------------------------------ */

/*
 * Keep the counters of a process's topmost ledger in a file of dir (NULL: mr_watch_dir()), where
 * other processes of the user can read them at any time; mr/watch.h has the format.  Before
 * anything is counted and from one thread.  A ledger without a watch works as well.  -errno of what
 * the file system said; -EPERM: the folder is not ours alone.
 */
int mr_watch_open(struct mr_ledger *ledger, const char *dir, struct util_err *err);
/* The pools below it are gone.  Removes the file.  Harmless without a watch. */
void mr_watch_close(struct mr_ledger *ledger);
/* $XDG_RUNTIME_DIR/nfsrdma, else /run/user/UID/nfsrdma. */
int mr_watch_dir(char *buf, size_t len, struct util_err *err);

struct mr_watch_info {
	int pid;
	bool alive;	     /* false: it was killed, and the numbers are its last */
	char name[24];	     /* the program's */
	uint64_t started_ns; /* CLOCK_REALTIME */
};

typedef void mr_watch_fn(void *arg, const struct mr_watch_info *info,
			 const struct mr_ledger_snapshot *snap);

/*
 * Call fn for each ledger of process pid (0: of all) that is kept in dir (NULL: mr_watch_dir()).  A
 * process may have several: one per context, one per server.  How many there were (0: also where
 * there is no folder), or -errno.  For printers: mr_ledger_field().
 */
int mr_watch_each(const char *dir, int pid, mr_watch_fn *fn, void *arg, struct util_err *err);

/* ---- pool and leases -------------------------------------------------------------------- */

/* What a lease is for; each kind has its own slabs, so that a slab's key grants one right. */
enum mr_kind {
	MR_KIND_READ,	/* NFS READ target, reply chunks: the peer writes */
	MR_KIND_WRITE,	/* NFS WRITE source, long calls: the peer reads */
	MR_KIND_BOTH,	/* only where the caller asked for a buffer that serves both */
	MR_KIND_SINK,	/* responder: target of our RDMA Reads */
	MR_KIND_SOURCE, /* responder: source of our RDMA Writes (no remote right) */
	MR_KIND_COUNT,
};

enum mr_hugepages { MR_HUGE_AUTO, MR_HUGE_2M, MR_HUGE_1G, MR_HUGE_OFF };

/* Should unmapped memory be noticed?  auto: where privilege allows it. */
enum mr_monitor_wish { MR_MONITOR_AUTO, MR_MONITOR_ON, MR_MONITOR_OFF };

struct mr_pool_params {
	enum mr_mode mode;
	uint64_t max_pinned; /* bytes, 0: three quarters of the memlock limit, or half of memory */
	uint64_t slab_size;  /* 0: policy */
	enum mr_hugepages hugepages;
	int numa_node;			 /* -1: the provider's device */
	struct mr_ledger *ledger_parent; /* may be NULL */
	const struct util_log *log;
	enum mr_monitor_wish monitor; /* of cache mode */
	bool verify;		      /* compare page frames on every hit of the cache */
	bool poison;		      /* fill given leases, check them when taken (tests, verify);
				       * what was touched in between is logged as an error and counted */
};

struct mr_pool;

/*
 * A range of a registered slab.  Owned by the taker from take to give.
 * len is what was asked for; size what the class holds (len <= size, waste at most 25 %; 256 bytes
 * is the smallest).  addr is a multiple of the largest power of two that divides size, up to 4096.
 */
struct mr_lease {
	void *addr;
	size_t len, size;
	uint64_t iova; /* region address of addr */
	uint32_t lkey, rkey;
	enum mr_kind kind;
	struct mr_pool *pool;
	void *priv; /* the pool's */
};

/*
 * provider outlives the pool.  Nothing is registered yet.  A provider that registers nothing makes
 * every mode the pool's.  -ENOMEM, -EINVAL; -EOPNOTSUPP: the device cannot do that mode (err says
 * what it lacks).
 */
int mr_pool_create(struct mr_pool **poolp, struct mr_provider *provider,
		   const struct mr_pool_params *params, struct util_err *err);
/* Every lease must have been given back (asserted).  Releases all pins. */
void mr_pool_destroy(struct mr_pool *pool);
/*
 * Thread-safe.  Lock-free and free of system calls when a magazine of this thread or the depot
 * has one; otherwise grows the pool by a slab.  Beyond 1 MiB a lease is a slab of its own, kept
 * when given and reused under a lock.
 * -ENOMEM: the budget or a limit (err says which and the remedy), after at most 100 ms of back-off
 * where another process's release may be due; -EINVAL: len 0 or above mr_pool_max_lease().
 */
int mr_lease_take(struct mr_pool *pool, enum mr_kind kind, size_t len, struct mr_lease **leasep,
		  struct util_err *err);
/*
 * A lease of memory that stays the caller's: [addr, addr+len), registered for this lease, or in
 * cache mode kept for the next.  kind: READ, WRITE or BOTH.  The memory must stay mapped until the
 * lease is given, in cache mode until it is evicted, unless the monitor runs.
 * -EFAULT: it cannot be pinned (go through a lease of the pool and say mr_lease_bounced()); -ENOMEM
 * as above; -EINVAL.
 */
int mr_lease_take_memory(struct mr_pool *pool, enum mr_kind kind, void *addr, size_t len,
			 struct mr_lease **leasep, struct util_err *err);
/* Memory was copied through the pool because it could not be registered: count it. */
void mr_lease_bounced(struct mr_pool *pool);
/* In cache mode: the memory is about to be unmapped, registrations of it end. */
void mr_pool_forget_memory(struct mr_pool *pool, const void *addr, size_t len);
/* Any thread.  NULL is fine. */
void mr_lease_give(struct mr_lease *lease);
/*
 * The call that used it was not answered: the peer may still touch the memory.  Whoever calls
 * this keeps the lease and gives it back when the reply arrives or the queue pair is gone.
 */
void mr_lease_quarantine(struct mr_lease *lease);
size_t mr_pool_max_lease(const struct mr_pool *pool);
/* Release slabs no lease of which is out; returns bytes released. */
uint64_t mr_pool_trim(struct mr_pool *pool);
struct mr_ledger *mr_pool_ledger(struct mr_pool *pool);
enum mr_mode mr_pool_mode(const struct mr_pool *pool);
struct mr_provider *mr_pool_provider(struct mr_pool *pool);
/* Leases found touched after they were given; always 0 without poison. */
uint64_t mr_pool_poison_hits(const struct mr_pool *pool);
/* How invalidations of windows share doorbells on this device: iommu_policy_batching(). */
struct iommu_batching;
const struct iommu_batching *mr_pool_batching(const struct mr_pool *pool);
/* "2 MiB huge pages, node 0, 16 MiB slabs: <why>" for -v. */
const char *mr_pool_describe(const struct mr_pool *pool, char *buf, size_t len);

/* ---- grants ----------------------------------------------------------------------------- */

/*
 * A work request that mr wants posted on the grant's connection; the poster reports back.
 * BIND goes ahead of the message that names the key, in one chain with it.  INVALIDATE's completion
 * ends the peer's access.
 */
enum mr_op_kind { MR_OP_BIND, MR_OP_INVALIDATE };

struct mr_op {
	enum mr_op_kind kind;
	struct mr_window *window;
	uint32_t rkey;			   /* the key that begins or ends */
	const struct mr_registration *reg; /* BIND: what lies below */
	uint64_t iova, len;		   /* BIND: the range, within reg */
	unsigned access;		   /* BIND: REMOTE_READ and/or REMOTE_WRITE */
};

/* From mr_grant_open() until it is over; owned by whoever opened it. */
struct mr_entry;

struct mr_grant {
	struct mr_grant *next; /* the owner's */
	uint32_t rkey;	       /* what the peer is told */
	uint32_t len;
	uint64_t iova;
	struct mr_op op; /* to be posted, where open or close said so */
	/* mr's */
	unsigned state;
	unsigned generation;
	struct mr_window window;
	struct mr_registration reg; /* per-io */
	struct mr_entry *entry;	    /* cache */
};

/* The grants of one connection after another; one thread at a time. */
struct mr_binder;

/* The pool outlives the binder.  calls: how many are in the peer's hands at most, to prepare for;
 * what exceeds it is allocated when needed and kept.  -ENOMEM; -ENOSPC: the device's windows. */
int mr_binder_create(struct mr_binder **binderp, struct mr_pool *pool, uint32_t calls,
		     struct util_err *err);
/* Every grant is over; the connection is gone.  NULL is fine. */
void mr_binder_destroy(struct mr_binder *binder);
/* Its connection is gone: no window of it is bound any more.  Grants that are still open stay the
 * owner's until mr_grant_end(). */
void mr_binder_reset(struct mr_binder *binder);
/* Every key the peer is told is a window's: it may invalidate them (RFC 8797). */
bool mr_binder_all_windows(const struct mr_binder *binder);
/* A call with npieces may need so many work requests beside its Send, and as many afterwards. */
unsigned mr_binder_ops(const struct mr_binder *binder, unsigned npieces);

/*
 * Let the peer reach [addr, addr+len) of lease, for what the lease is for (BOTH: as kind says).
 * kind is READ (the peer writes) or WRITE (the peer reads).
 * 1: *grantp's op must be posted ahead of the message; 0: nothing need be posted; -ENOMEM: a limit
 * (err); -ENOSPC: no window or key is left; -EFAULT: the memory cannot be pinned; -EINVAL: the range
 * does not lie within the lease.
 */
int mr_grant_open(struct mr_binder *binder, const struct mr_lease *lease, void *addr, size_t len,
		  enum mr_kind kind, struct mr_grant **grantp, struct util_err *err);
/*
 * The call has its answer.  1: the grant's op must be posted, and mr_grant_end() called when it has
 * completed; 0: the peer's access has ended and the grant is over.
 */
int mr_grant_close(struct mr_binder *binder, struct mr_grant *grant);
/* The peer invalidated the grant's key: its access has ended and the grant is over. */
void mr_grant_invalidated(struct mr_binder *binder, struct mr_grant *grant);
/* The op of close has completed, or the connection is gone, or open's op was never posted: the
 * grant is over. */
void mr_grant_end(struct mr_binder *binder, struct mr_grant *grant);

/* ---- local buffers: inline sends and receives ------------------------------------------- */

/*
 * Plain memory the device may use but no peer can reach; registered (lkey) where the provider
 * needs it, never remotely accessible.  On iwarp nothing is pinned.
 */
struct mr_local {
	void *addr;
	size_t len;
	struct mr_registration reg;
	struct mr_provider *provider;
	struct mr_ledger *ledger;
};

int mr_local_create(struct mr_local *local, struct mr_provider *provider, size_t len,
		    struct mr_ledger *ledger, struct util_err *err);
void mr_local_destroy(struct mr_local *local);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iommu.h - what this machine's IOMMU, NUMA and memory limits mean for registered memory.
 *
 * Two things are called IOVA.  A *region address* is what peers name (verbs iova, DDP's tagged
 * offset); a *bus address* is what the IOMMU translates.  The allocator here hands out region
 * addresses; the probe speaks about bus addresses.
 */
#ifndef NFSRDMA_IOMMU_H
#define NFSRDMA_IOMMU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct util_err;
struct util_log;

/* ---- probe: sysfs and procfs, below a root that tests can move -------------------------- */

enum iommu_domain_type {
	IOMMU_DOMAIN_NONE,     /* no IOMMU, or the device is in no group */
	IOMMU_DOMAIN_IDENTITY, /* passthrough */
	IOMMU_DOMAIN_DMA,      /* translated, strict invalidation */
	IOMMU_DOMAIN_DMA_FQ,   /* translated, lazy (flush queue) */
	IOMMU_DOMAIN_BLOCKED,
	IOMMU_DOMAIN_UNKNOWN,  /* group there, type unreadable or new */
	IOMMU_DOMAIN_TYPES,
};

/* "none", "identity", "DMA", "DMA-FQ", "blocked", "unknown" */
const char *iommu_domain_name(enum iommu_domain_type type);

#define IOMMU_MAX_NODES 64
#define IOMMU_MAX_UNITS 8 /* described one by one; facts.units counts all */

/* One piece of IOMMU hardware, by what its registers say it can do. */
struct iommu_unit {
	char name[32];          /* "dmar0", "ivhd0", "smmu3.0x2b400000" */
	char driver[12];        /* as in iommu_facts */
	bool known;             /* cap and ecap were read, what follows was decoded from them */
	uint64_t cap, ecap;     /* VT-d's registers; AMD: capability header, extended features */
	bool caching_mode;      /* what was not mapped may be cached: a map flushes too.  Hypervisors */
	bool coherent_walk;     /* it reads its tables through the CPU's caches: a map flushes no cache
				 * lines */
	bool super_2m, super_1g; /* one entry may map so much */
	bool passthrough;       /* identity without tables */
	bool queued;            /* queued invalidation */
	unsigned address_bits;  /* widest bus address, 0 unknown */
	unsigned domains;       /* how many at once, 0 unknown */
};

struct iommu_facts {
	bool present;               /* any group in /sys/kernel/iommu_groups */
	unsigned groups;
	unsigned groups_of[IOMMU_DOMAIN_TYPES]; /* by effective type */
	char driver[32];            /* "intel", "amd", "smmu", "virtio", "" */
	unsigned units;
	struct iommu_unit unit[IOMMU_MAX_UNITS];
	unsigned cpus;              /* online, at least 1 */
	char cpu_vendor[16];        /* "GenuineIntel", "AuthenticAMD", ""; of x86 */
	bool guest;                 /* the CPU says that it is a virtual machine's */
	char cmdline[1024];         /* kernel command line: explains, never concludes */
	char cmdline_iommu[256];    /* only its iommu words, for one-line reports; "" when none */
	unsigned nodes;             /* NUMA nodes with memory, at least 1 */
	uint64_t huge_2m_total, huge_2m_free; /* pages */
	uint64_t huge_1g_total, huge_1g_free; /* pages */
	char thp[16];               /* "always", "madvise", "never", "" */
	uint64_t memlock_soft, memlock_hard;  /* bytes; UINT64_MAX = unlimited */
	bool memlock_known;         /* else both are 0 */
	bool ipc_lock;              /* CAP_IPC_LOCK effective: the memlock limit does not bind */
	char kernel[72];            /* uname release */
};

struct iommu_device {
	char name[64];              /* RDMA device or network interface */
	bool found;                 /* has a PCI device below sysfs */
	enum iommu_domain_type domain; /* *effective*, from the group's type */
	int group;                  /* -1 none */
	int node;                   /* NUMA node, -1 unknown */
	uint64_t link_bps;          /* bit/s of the port, 0 unknown */
	bool rdma;                  /* an RDMA device; else a network interface */
	char rides_on[64];          /* rxe, siw: the interface below it, whose driver does the mapping */
	char pci[16];               /* "0000:03:00.0" */
	char driver[32];            /* of the PCI device */
	char unit[32];              /* the IOMMU it is behind, "" unknown */
	int relaxed_ordering;       /* PCIe device control: 1 on, 0 off, -1 unknown (only root may see) */
};

/*
 * Gather the machine's facts.  root is prefixed to /sys and /proc paths ("" or NULL for the
 * real ones).  Never fails on partial or hostile trees: what cannot be read stays zero/empty.
 */
void iommu_probe(struct iommu_facts *facts, const char *root);
/* One device by RDMA device name (class/infiniband) or interface name (class/net). */
void iommu_probe_device(struct iommu_device *dev, const char *name, const char *root);

/*
 * Names worth a report: all RDMA devices in order; without one, the interface of the default
 * route, or of any route.  Returns how many of at most max.
 */
#define IOMMU_NAME_MAX 64
unsigned iommu_list_devices(char (*names)[IOMMU_NAME_MAX], unsigned max, const char *root);

struct iommu_numa {
	uint64_t memory;  /* bit per node that has memory; at least node 0 */
	uint64_t threads; /* bit per node on whose CPUs this process may run; 0 unknown */
	uint8_t distance[IOMMU_MAX_NODES][IOMMU_MAX_NODES]; /* as the firmware says, 0 unknown */
};

void iommu_probe_numa(struct iommu_numa *numa, const char *root);

/* Who of this process's user has memory pinned or locked: the memlock limit is the user's. */
#define IOMMU_MAX_LOCKERS 8

struct iommu_locker {
	int pid;
	char name[24];
	uint64_t pinned_kb, locked_kb;
};

struct iommu_lockers {
	unsigned uid;
	unsigned count;                /* processes with pins or locks */
	uint64_t pinned_kb, locked_kb; /* theirs together */
	unsigned listed;               /* the largest, largest first */
	struct iommu_locker locker[IOMMU_MAX_LOCKERS];
};

void iommu_probe_lockers(struct iommu_lockers *lockers, const char *root);

/*
 * The one honest line of every tool, e.g.
 *   "iommu none (no groups; command line: intel_iommu=on) device lo node 0 hugepages-2m 0/0 thp madvise memlock 8 MiB"
 * dev may be NULL.  Returns buf.
 */
const char *iommu_summary(const struct iommu_facts *facts, const struct iommu_device *dev,
			  char *buf, size_t len);

/* Pins as the kernel books them. */
struct iommu_pins {
	uint64_t vm_pin_kb;         /* VmPin of /proc/PID/status */
	uint64_t vm_lck_kb;         /* VmLck */
	uint64_t foll_pin_acquired; /* nr_foll_pin_* of /proc/vmstat, system-wide */
	uint64_t foll_pin_released;
	bool foll_pin_known;	    /* else both are 0: a kernel before 5.7 */
};

/* pid 0: this process.  0 or -errno (-ENOENT no such process). */
int iommu_pins_read(struct iommu_pins *pins, int pid, const char *root);

/* Everything about the machine in one go. */
struct iommu_survey {
	struct iommu_facts facts;
	struct iommu_numa numa;
	struct iommu_lockers lockers;
	struct iommu_pins pins;
};

void iommu_probe_survey(struct iommu_survey *survey, const char *root);

/* ---- policy: facts -> pool geometry and advice (pure) ------------------------------------ */

struct iommu_geometry {
	uint64_t page_size;     /* preferred slab backing: 4 KiB, 2 MiB, 1 GiB */
	uint64_t slab_size;     /* bytes of one slab */
	int node;               /* bind slabs here, -1: anywhere */
	char why[160];          /* for -v */
};

void iommu_policy_geometry(struct iommu_geometry *geo, const struct iommu_facts *facts,
			   const struct iommu_device *dev, uint64_t max_pinned);

/*
 * How many invalidations of windows share a doorbell, and how long one may wait for others to come
 * while they come without pause.
 */
struct iommu_batching {
	unsigned most;    /* work requests behind one doorbell */
	uint64_t hold_ns; /* 0: none waits */
	char why[160];    /* for -v */
};

void iommu_policy_batching(struct iommu_batching *batching, const struct iommu_device *dev);

enum iommu_advice_level {
	IOMMU_ADVICE_NOTE, /* good to know, nothing is wrong */
	IOMMU_ADVICE_WARN, /* costs speed, safety or a surprise */
};

/* One piece of advice about one device (or the machine).  Texts are lines, never empty. */
struct iommu_advice {
	const char *id; /* stable, for scripts: "strict-invalidation" */
	enum iommu_advice_level level;
	char fact[240];        /* what was found */
	char consequence[320]; /* what follows from it */
	char remedy[320];      /* what to do, and what that gives up */
	char source[160];      /* where the fact and its meaning come from */
};

#define IOMMU_MAX_ADVICE 24

/*
 * What survey says about dev, or with NULL about the machine, whatever devices it has.  geo is what
 * iommu_policy_geometry() made of the same.  Returns how many, warnings first.
 */
unsigned iommu_advise(struct iommu_advice advice[IOMMU_MAX_ADVICE],
		      const struct iommu_survey *survey, const struct iommu_device *dev,
		      const struct iommu_geometry *geo);

/*
 * The warnings about the machine and about the device of that name (NULL, "": none), gathered and
 * judged in one go: for a tool's header, doctor and -v.  Returns how many.
 */
unsigned iommu_warnings(struct iommu_advice advice[IOMMU_MAX_ADVICE], const char *device,
			const char *root);
/* The same about one thing alone, dev or with NULL the machine, put behind the have that are there
 * already; returns how many there are then. */
unsigned iommu_warnings_add(struct iommu_advice advice_out[IOMMU_MAX_ADVICE], unsigned have,
			    const struct iommu_survey *survey, const struct iommu_device *dev);
/* The same as iommu_warnings(), to a log that wants UTIL_LOG_INFO; nothing is gathered for others. */
void iommu_warnings_log(const struct util_log *log, const char *device);
/* Those about the device alone, where the machine's have been told. */
void iommu_warnings_log_device(const struct util_log *log, const char *device);

/* ---- region address allocator ----------------------------------------------------------- */

struct iommu_space;

/* Addresses in [base, limit), both multiples of 4096.  Thread-safe. -EINVAL, -ENOMEM. */
int iommu_space_create(struct iommu_space **spacep, uint64_t base, uint64_t limit);
void iommu_space_destroy(struct iommu_space *space);
/*
 * len is rounded up to 4096.  The result r satisfies r % modulus == residue % modulus
 * (modulus a power of two >= 4096: congruent to the memory modulo 2 MiB lets a device use large
 * translations).  -ENOSPC, -EINVAL, -ENOMEM.
 */
int iommu_space_alloc(struct iommu_space *space, uint64_t len, uint64_t modulus,
		      uint64_t residue, uint64_t *addrp);
/* The same, with r + len <= limit. */
int iommu_space_alloc_below(struct iommu_space *space, uint64_t len, uint64_t modulus,
			    uint64_t residue, uint64_t limit, uint64_t *addrp);
/* addr and len as allocated. */
void iommu_space_free(struct iommu_space *space, uint64_t addr, uint64_t len);
uint64_t iommu_space_used(const struct iommu_space *space);
/* Memory it has: what was ever out together bounds it. */
uint64_t iommu_space_nodes(struct iommu_space *space);

/* ---- per-I/O addresses: magazines in front of a space ------------------------------------- */

struct iommu_iova;
/* One thread's.  What it frees may come from any cache of the same allocator. */
struct iommu_iova_cache;

/* As iommu_space_create(). */
int iommu_iova_create(struct iommu_iova **iovap, uint64_t base, uint64_t limit);
/* Every cache is closed.  NULL is fine. */
void iommu_iova_destroy(struct iommu_iova *iova);
/* -ENOMEM. */
int iommu_iova_cache_open(struct iommu_iova *iova, struct iommu_iova_cache **cachep);
/* What it keeps goes back to the tree.  NULL is fine. */
void iommu_iova_cache_close(struct iommu_iova_cache *cache);
/*
 * A range of len, a multiple of the power of two that holds it, with addr + len <= limit (0: the
 * allocator's).  Up to 2 MiB without a lock from the thread's magazines, where they have one.
 * -EINVAL: len 0; -ENOSPC; -ENOMEM.
 */
int iommu_iova_alloc(struct iommu_iova_cache *cache, uint64_t len, uint64_t limit, uint64_t *addrp);
/* addr and len as allocated. */
void iommu_iova_free(struct iommu_iova_cache *cache, uint64_t addr, uint64_t len);
/* What the depot keeps goes back to the tree. */
void iommu_iova_trim(struct iommu_iova *iova);

struct iommu_iova_stats {
	uint64_t bytes_out;	  /* of the tree: with callers or in magazines */
	uint64_t magazines;	  /* there are, in caches and depot */
	uint64_t depot_magazines; /* of them, in the depot */
	uint64_t tree_nodes;
	uint64_t shortages;
};

void iommu_iova_stats(struct iommu_iova *iova, struct iommu_iova_stats *stats);

/* ---- a software IOMMU, for a device in software -------------------------------------------- */

enum iommu_sw_policy {
	IOMMU_SW_OFF,         /* there is none: nothing is created */
	IOMMU_SW_PASSTHROUGH, /* bus addresses are process addresses, nothing is looked up */
	IOMMU_SW_LAZY,        /* unmapping leaves the IOTLB as it is until a flush queue is flushed */
	IOMMU_SW_STRICT,      /* unmapping waits for the IOTLB's invalidation */
};

/* "off", "passthrough", "lazy", "strict" */
const char *iommu_sw_policy_name(enum iommu_sw_policy policy);

#define IOMMU_SW_READ 1u  /* the device may read the memory */
#define IOMMU_SW_WRITE 2u

struct iommu_sw;

struct iommu_sw_options {
	enum iommu_sw_policy policy;
	uint64_t inval_ns; /* modelled: what hardware would take per invalidation wait, 0: nothing */
};

enum iommu_sw_reason { IOMMU_SW_NOT_MAPPED, IOMMU_SW_NO_RIGHT };

/* An access the IOMMU refused. */
struct iommu_sw_fault {
	uint64_t bus;
	unsigned right;
	enum iommu_sw_reason reason;
};

/* "not mapped", "not mapped for that" */
const char *iommu_sw_reason_name(enum iommu_sw_reason reason);

struct iommu_sw_stats {
	uint64_t lookups, misses;     /* of the IOTLB; a miss walks the tables */
	uint64_t maps, unmaps;        /* calls */
	uint64_t leaves_4k, leaves_2m; /* ever written */
	uint64_t flushes;             /* synchronous invalidations: one for each unmap in strict mode */
	uint64_t flush_batches;       /* flush queues emptied */
	uint64_t flushed;             /* unmaps they held */
	uint64_t queued_now, queued_most; /* unmaps in flush queues; the most in one */
	uint64_t delay_most_ns;       /* longest that one waited there */
	uint64_t faults;
	struct iommu_sw_fault last_fault;
	uint64_t bus_bytes_now;       /* bus addresses taken, those that wait for a flush included */
};

/*
 * Lazy mode starts one thread, the flush queues' timer, which ends with iommu_sw_destroy().
 * -EINVAL (off), -ENOMEM, or what pthread_create said.
 */
int iommu_sw_create(struct iommu_sw **swp, const struct iommu_sw_options *opts);
/* Flushes what is queued.  Nobody uses it any more.  NULL is fine. */
void iommu_sw_destroy(struct iommu_sw *sw);
/*
 * Map whole pages around [addr, addr + len); *busp is addr's bus address.  page_size is the
 * memory's backing: from 2 MiB on large leaves are used where both ends allow.  Any thread.
 * -EINVAL, -ENOMEM, -ENOSPC.
 */
int iommu_sw_map(struct iommu_sw *sw, void *addr, uint64_t len, uint64_t page_size, unsigned rights,
		 uint64_t *busp);
/* bus and len as mapped.  The bus address is not given out again before the IOTLB has forgotten it. */
void iommu_sw_unmap(struct iommu_sw *sw, uint64_t bus, uint64_t len);
/* Take pages out of a mapping, now and whatever the policy; the rest stays, and the whole is still to
 * be unmapped. */
void iommu_sw_revoke(struct iommu_sw *sw, uint64_t bus, uint64_t len);
/*
 * Where the device finds [bus, bus + len), which has to be one mapping's: NULL is a fault, counted,
 * and told in *fault.  Any thread, no locks but on a miss.  One look-up per page, or per large leaf.
 */
void *iommu_sw_translate(struct iommu_sw *sw, uint64_t bus, uint64_t len, unsigned right,
			 struct iommu_sw_fault *fault);

/*
 * The entry of the IOTLB that was looked up last for some right, so that the next look-up of the same
 * page for that right is a few instructions.  One thread's at a time; begins as zeros.  It is good until
 * anything is invalidated, as the entry itself at most would be, and a use of it is counted as the
 * look-up it is.
 */
struct iommu_sw_last {
	const _Atomic uint64_t *epoch; /* the IOTLB's invalidations so far, */
	uint64_t seen;		       /* and how many they were when the entry was looked up */
	_Atomic uint64_t *lookups;
	uint64_t bus, len; /* the page; len 0: none */
	uint64_t delta;	   /* from bus address to address */
};

/* [bus, bus + len) if it lies in that page, else NULL. */
static inline void *iommu_sw_last_find(struct iommu_sw_last *last, uint64_t bus, uint64_t len)
{
	uint64_t off = bus - last->bus;

	if (off >= last->len || len > last->len - off ||
	    atomic_load_explicit(last->epoch, memory_order_acquire) != last->seen)
		return NULL;
	atomic_fetch_add_explicit(last->lookups, 1, memory_order_relaxed);
	return (void *)(uintptr_t)(bus + last->delta);
}

/* As iommu_sw_translate(), which fills *last if the range lies in one page. */
void *iommu_sw_translate_last(struct iommu_sw *sw, uint64_t bus, uint64_t len, unsigned right,
			      struct iommu_sw_fault *fault, struct iommu_sw_last *last);
/* Empty all flush queues. */
void iommu_sw_flush(struct iommu_sw *sw);
void iommu_sw_stats(struct iommu_sw *sw, struct iommu_sw_stats *stats);

/* ---- a real IOMMU, through VFIO --------------------------------------------------------- */

struct iommu_vfio;

enum iommu_vfio_api {
	IOMMU_VFIO_AUTO,    /* iommufd where the kernel has it for the device */
	IOMMU_VFIO_TYPE1,   /* pins are booked as VmLck */
	IOMMU_VFIO_IOMMUFD, /* as VmPin */
};

/*
 * Take device bdf ("0000:03:00.0"), which must be bound to vfio-pci; one with another driver is
 * refused (-EBUSY) and stays as it is.  -EINVAL, -ENODEV, -EACCES, -ENOMEM; err says what to do.
 */
int iommu_vfio_open(struct iommu_vfio **vfiop, const char *bdf, enum iommu_vfio_api api,
		    struct util_err *err);
/* Whatever is mapped is unmapped.  NULL is fine. */
void iommu_vfio_close(struct iommu_vfio *v);
/* "type1", "iommufd" */
const char *iommu_vfio_api(const struct iommu_vfio *v);
/* Page sizes of the IOMMU, a bit each; 0: iommufd does not tell. */
uint64_t iommu_vfio_page_sizes(const struct iommu_vfio *v);
/* For reading and writing; pins the memory.  len and iova are multiples of 4096. */
int iommu_vfio_map(struct iommu_vfio *v, void *addr, uint64_t len, uint64_t iova);
int iommu_vfio_unmap(struct iommu_vfio *v, uint64_t len, uint64_t iova);
/* Can the device copy on demand (QEMU's edu)? */
bool iommu_vfio_can_copy(const struct iommu_vfio *v);
#define IOMMU_VFIO_COPY_MAX 2048
/*
 * Have the device copy len bytes between bus address iova (below 4 GiB) and its own buffer.  0 says that
 * it is done, not that the bus address led anywhere.  -EOPNOTSUPP, -EINVAL, -EIO, -ETIMEDOUT.
 */
int iommu_vfio_copy(struct iommu_vfio *v, uint64_t iova, uint32_t len, bool to_memory);

/* ---- maps and unmaps as the kernel traces them ------------------------------------------- */

struct iommu_trace;

struct iommu_trace_counts {
	uint64_t maps, unmaps; /* of the whole machine, since open */
};

/* -ENOENT, -EACCES, ...: err says why and what to do. */
int iommu_trace_open(struct iommu_trace **tracep, const char *root, struct util_err *err);
void iommu_trace_close(struct iommu_trace *t);
void iommu_trace_read(const struct iommu_trace *t, struct iommu_trace_counts *counts);

/* ---- the cost model: a part of this boundary ------------------------------------------------ */

#include "iommu-aware/model.h"

#endif

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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct util_err;

/* ---- probe: sysfs and procfs, below a root that tests can move -------------------------- */

enum iommu_domain_type {
	IOMMU_DOMAIN_NONE,     /* no IOMMU, or the device is in no group */
	IOMMU_DOMAIN_IDENTITY, /* passthrough */
	IOMMU_DOMAIN_DMA,      /* translated, strict invalidation */
	IOMMU_DOMAIN_DMA_FQ,   /* translated, lazy (flush queue) */
	IOMMU_DOMAIN_BLOCKED,
	IOMMU_DOMAIN_UNKNOWN,  /* group there, type unreadable or new */
};

/* "none", "identity", "DMA", "DMA-FQ", "blocked", "unknown" */
const char *iommu_domain_name(enum iommu_domain_type type);

#define IOMMU_MAX_NODES 64

struct iommu_facts {
	bool present;               /* any group in /sys/kernel/iommu_groups */
	unsigned groups;
	char driver[32];            /* "intel", "amd", "smmu", "virtio", "" */
	char cmdline[1024];         /* kernel command line: explains, never concludes */
	char cmdline_iommu[256];    /* only its iommu words, for one-line reports; "" when none */
	unsigned nodes;             /* NUMA nodes with memory, at least 1 */
	uint64_t huge_2m_total, huge_2m_free; /* pages */
	uint64_t huge_1g_total, huge_1g_free; /* pages */
	char thp[16];               /* "always", "madvise", "never", "" */
	uint64_t memlock_soft, memlock_hard;  /* bytes; UINT64_MAX = unlimited */
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
};

/*
 * Gather the machine's facts.  root is prefixed to /sys and /proc paths ("" or NULL for the
 * real ones).  Never fails on partial or hostile trees: what cannot be read stays zero/empty.
 */
void iommu_probe(struct iommu_facts *facts, const char *root);
/* One device by RDMA device name (class/infiniband) or interface name (class/net). */
void iommu_probe_device(struct iommu_device *dev, const char *name, const char *root);

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
};

/* pid 0: this process.  0 or -errno (-ENOENT no such process). */
int iommu_pins_read(struct iommu_pins *pins, int pid, const char *root);

/* ---- policy: facts -> pool geometry (pure) ---------------------------------------------- */

struct iommu_geometry {
	uint64_t page_size;     /* preferred slab backing: 4 KiB, 2 MiB, 1 GiB */
	uint64_t slab_size;     /* bytes of one slab */
	int node;               /* bind slabs here, -1: anywhere */
	char why[160];          /* for -v */
};

void iommu_policy_geometry(struct iommu_geometry *geo, const struct iommu_facts *facts,
			   const struct iommu_device *dev, uint64_t max_pinned);

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
/* addr and len as allocated. */
void iommu_space_free(struct iommu_space *space, uint64_t addr, uint64_t len);
uint64_t iommu_space_used(const struct iommu_space *space);

#endif

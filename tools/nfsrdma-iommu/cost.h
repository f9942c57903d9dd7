/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost.h - what the two ways of measuring cost share.
 *
 * A *bench* makes a range reachable for a device and unreachable again: by registering it with a
 * fabric (cost_fabric.c) or by mapping it through VFIO (cost_vfio.c).  cmd_cost.c times both and
 * looks at what the kernel books meanwhile.
 */
#ifndef NFSRDMA_IOMMU_COST_H
#define NFSRDMA_IOMMU_COST_H

#include "tools/nfsrdma-iommu/memory.h"
#include "tools/nfsrdma-iommu/tool.h"

#define COST_MAX_SIZES 32

struct cost_options {
	uint64_t size[COST_MAX_SIZES];
	unsigned sizes;
	const char *fabric, *address, *vfio;
	enum iommu_vfio_api api;
	uint64_t ios; /* > 0: two rhythms instead of the table */
	bool json;
};

struct cost_bench {
	void *arg;
	/* -ENOMEM: a limit. */
	int (*enter)(void *arg, const struct memory *m, uint64_t len, enum memory_kind kind);
	void (*leave)(void *arg, uint64_t len);
	const char *enter_name, *leave_name; /* "register", "release" */
};

/* Every size with every kind of page, into the report's list "rows". */
void cost_table(struct report *r, const struct cost_options *opts, const struct cost_bench *bench);

int cost_fabric(const struct cost_options *opts);
int cost_vfio(const struct cost_options *opts);
/* As many I/Os over one slab, which is mapped once for all or anew for each; list "rhythms". */
void cost_rhythms(struct report *r, const struct cost_options *opts, struct iommu_vfio *vfio);

#endif

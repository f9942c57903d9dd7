/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfio.h - what the two ways into VFIO share.
 */
#ifndef NFSRDMA_IOMMU_VFIO_H
#define NFSRDMA_IOMMU_VFIO_H

#include "iommu-aware/internal.h"

struct iommu_vfio_ops {
	const char *name;
	/* Opens the descriptors; what it left open, iommu_vfio_close() closes. */
	int (*attach)(struct iommu_vfio *v, const char *bdf, const char *group,
		      struct util_err *err);
	int (*map)(struct iommu_vfio *v, void *addr, uint64_t len, uint64_t iova);
	int (*unmap)(struct iommu_vfio *v, uint64_t len, uint64_t iova);
};

struct iommu_vfio {
	const struct iommu_vfio_ops *ops;
	int container; /* type1: /dev/vfio/vfio; iommufd: /dev/iommu */
	int group;     /* type1 alone */
	int device;
	uint32_t ioas;	      /* iommufd alone: the address space */
	uint64_t page_sizes;  /* 0: not told */
	uint64_t config, bar; /* offsets in device */
	bool edu;
};

extern const struct iommu_vfio_ops iommu_vfio_type1;
extern const struct iommu_vfio_ops iommu_vfio_iommufd;

/* Has the kernel iommufd, and a device file of its own for this device? */
bool iommu_iommufd_there(const char *bdf);

int iommu_vfio_open_path(int *fdp, const char *path, struct util_err *err);
/* ioctl with the error said: what it gives, or -errno. */
int iommu_vfio_call(int fd, unsigned long request, void *arg, const char *what,
		    struct util_err *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfio_type1.c - maps through VFIO's container: the group joins it, the container gets an IOMMU of
 * type 1, the group opens the device.  Pins are booked as VmLck.
 */
#include <errno.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "iommu-aware/vfio.h"

static int iommu_type1_attach(struct iommu_vfio *v, const char *bdf, const char *group,
			      struct util_err *err)
{
	struct vfio_group_status status = {.argsz = sizeof(status)};
	struct vfio_iommu_type1_info info = {.argsz = sizeof(info)};
	char path[64], name[16];
	int ret;

	ret = iommu_vfio_open_path(&v->container, "/dev/vfio/vfio", err);
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "/dev/vfio/%.40s", group);
	ret = iommu_vfio_open_path(&v->group, path, err);
	if (ret)
		return ret;
	ret = iommu_vfio_call(v->group, VFIO_GROUP_GET_STATUS, &status, "ask for the group", err);
	if (ret)
		return ret;
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE))
		return util_err_set(err, -EBUSY,
				    "group %s has other devices that are bound to drivers", group);
	ret = iommu_vfio_call(v->group, VFIO_GROUP_SET_CONTAINER, &v->container, "join the group",
			      err);
	if (ret)
		return ret;
	ret = iommu_vfio_call(v->container, VFIO_SET_IOMMU, (void *)(uintptr_t)VFIO_TYPE1v2_IOMMU,
			      "take the type1 IOMMU", err);
	if (ret)
		return ret;
	ret = iommu_vfio_call(v->container, VFIO_IOMMU_GET_INFO, &info, "ask for the IOMMU", err);
	if (ret)
		return ret;
	if (info.flags & VFIO_IOMMU_INFO_PGSIZES)
		v->page_sizes = info.iova_pgsizes;
	snprintf(name, sizeof(name), "%s", bdf);
	ret = iommu_vfio_call(v->group, VFIO_GROUP_GET_DEVICE_FD, name, "open the device", err);
	if (ret < 0)
		return ret;
	v->device = ret;
	return 0;
}

static int iommu_type1_map(struct iommu_vfio *v, void *addr, uint64_t len, uint64_t iova)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)addr,
		.iova = iova,
		.size = len,
	};

	return ioctl(v->container, VFIO_IOMMU_MAP_DMA, &map) ? -errno : 0;
}

static int iommu_type1_unmap(struct iommu_vfio *v, uint64_t len, uint64_t iova)
{
	struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz = sizeof(unmap),
		.iova = iova,
		.size = len,
	};

	if (ioctl(v->container, VFIO_IOMMU_UNMAP_DMA, &unmap))
		return -errno;
	return unmap.size == len ? 0 : -EIO;
}

const struct iommu_vfio_ops iommu_vfio_type1 = {
	.name = "type1",
	.attach = iommu_type1_attach,
	.map = iommu_type1_map,
	.unmap = iommu_type1_unmap,
};

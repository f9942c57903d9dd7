/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfio_iommufd.c - maps through iommufd (Linux 6.2; a device's own file since 6.6): the device,
 * opened as /dev/vfio/devices/vfioN, is bound to /dev/iommu and attached to an address space there.
 * Pins are booked as VmPin.
 *
 * The headers of Debian 12's kernel do not know this interface yet, so the few structures of it
 * that are needed are written down here, as the kernel's documentation (userspace-api/iommufd.rst)
 * has them.  Every one begins with its own size: the kernel takes longer and shorter ones.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "iommu-aware/vfio.h"

struct iommufd_bind {
	uint32_t size, flags;
	int32_t iommufd;
	uint32_t device_id;
};

struct iommufd_attach {
	uint32_t size, flags, ioas;
};

struct iommufd_alloc {
	uint32_t size, flags, ioas;
};

struct iommufd_map {
	uint32_t size, flags, ioas, reserved;
	uint64_t addr, len, iova;
};

struct iommufd_unmap {
	uint32_t size, ioas;
	uint64_t iova, len;
};

#define IOMMUFD_BIND _IO(VFIO_TYPE, VFIO_BASE + 18)
#define IOMMUFD_ATTACH _IO(VFIO_TYPE, VFIO_BASE + 19)
#define IOMMUFD_ALLOC _IO(';', 0x81)
#define IOMMUFD_MAP _IO(';', 0x85)
#define IOMMUFD_UNMAP _IO(';', 0x86)
#define IOMMUFD_MAP_FIXED 1u
#define IOMMUFD_MAP_WRITABLE 2u
#define IOMMUFD_MAP_READABLE 4u

/* The device's file: the one entry of its folder vfio-dev; false: none, or no /dev/iommu. */
static bool iommufd_device_path(const char *bdf, char *path, size_t len)
{
	char dir[64];
	const struct dirent *e;
	bool found = false;
	DIR *d;

	if (access("/dev/iommu", F_OK))
		return false;
	snprintf(dir, sizeof(dir), "/sys/bus/pci/devices/%.20s/vfio-dev", bdf);
	d = opendir(dir);
	while (d && !found && (e = readdir(d))) {
		found = !strncmp(e->d_name, "vfio", 4) && strlen(e->d_name) < 20;
		if (found)
			snprintf(path, len, "/dev/vfio/devices/%.20s", e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

bool iommu_iommufd_there(const char *bdf)
{
	char path[64];

	return iommufd_device_path(bdf, path, sizeof(path));
}

static int iommufd_attach(struct iommu_vfio *v, const char *bdf, const char *group,
			  struct util_err *err)
{
	struct iommufd_bind bind = {.size = sizeof(bind)};
	struct iommufd_alloc alloc = {.size = sizeof(alloc)};
	struct iommufd_attach attach = {.size = sizeof(attach)};
	char path[64];
	int ret;

	(void)group;
	if (!iommufd_device_path(bdf, path, sizeof(path))) {
		util_err_set(err, -ENODEV, "this kernel has no iommufd for %s", bdf);
		util_err_hint(err, "CONFIG_IOMMUFD and CONFIG_VFIO_DEVICE_CDEV, Linux 6.6; else "
				   "--api type1");
		return -ENODEV;
	}
	ret = iommu_vfio_open_path(&v->container, "/dev/iommu", err);
	if (ret)
		return ret;
	ret = iommu_vfio_open_path(&v->device, path, err);
	if (ret)
		return ret;
	bind.iommufd = v->container;
	ret = iommu_vfio_call(v->device, IOMMUFD_BIND, &bind, "bind the device to iommufd", err);
	if (ret)
		return ret;
	ret = iommu_vfio_call(v->container, IOMMUFD_ALLOC, &alloc, "make an address space", err);
	if (ret)
		return ret;
	v->ioas = attach.ioas = alloc.ioas;
	return iommu_vfio_call(v->device, IOMMUFD_ATTACH, &attach, "attach the device", err);
}

static int iommufd_map(struct iommu_vfio *v, void *addr, uint64_t len, uint64_t iova)
{
	struct iommufd_map map = {
		.size = sizeof(map),
		.flags = IOMMUFD_MAP_FIXED | IOMMUFD_MAP_WRITABLE | IOMMUFD_MAP_READABLE,
		.ioas = v->ioas,
		.addr = (uintptr_t)addr,
		.len = len,
		.iova = iova,
	};

	return ioctl(v->container, IOMMUFD_MAP, &map) ? -errno : 0;
}

static int iommufd_unmap(struct iommu_vfio *v, uint64_t len, uint64_t iova)
{
	struct iommufd_unmap unmap = {
		.size = sizeof(unmap),
		.ioas = v->ioas,
		.iova = iova,
		.len = len,
	};

	if (ioctl(v->container, IOMMUFD_UNMAP, &unmap))
		return -errno;
	return unmap.len == len ? 0 : -EIO;
}

const struct iommu_vfio_ops iommu_vfio_iommufd = {
	.name = "iommufd",
	.attach = iommufd_attach,
	.map = iommufd_map,
	.unmap = iommufd_unmap,
};

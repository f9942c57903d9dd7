/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfio.c - a real IOMMU under our own hands: map, unmap, and proof by DMA, through VFIO.
 *
 * VFIO gives a process a domain of its own for a device nobody else drives, and lets it map its
 * memory there: the same page tables, pins and invalidations that a driver's registration costs,
 * without a driver in between.  The device must be bound to vfio-pci already.  One that another
 * driver has is refused: taking a device away from its driver is not a benchmark's business.
 * There are two ways in, the older type1 container (vfio_type1.c) and iommufd (vfio_iommufd.c).
 *
 * That a mapping works is shown with QEMU's teaching device ("edu"), which copies up to a page
 * between a buffer of its own and any bus address: registers at BAR 0 (docs/specs/edu), source
 * 0x80, destination 0x88, count 0x90, command 0x98 (bit 0 runs and reads back until done, bit 1:
 * out of the device); its buffer is at 0x40000.  Accesses of four bytes are what every kernel
 * passes through, so bus addresses stay below 4 GiB (the device itself reaches 28 bits unless told
 * otherwise).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "iommu-aware/vfio.h"

#define IOMMU_EDU_ID 0x11e81234u /* device, vendor */
#define IOMMU_EDU_BUFFER 0x40000u
#define IOMMU_EDU_WAIT_MS 3000
#define IOMMU_PCI_COMMAND 4
#define IOMMU_PCI_MEMORY_AND_MASTER 6

/* "0000:03:00.0": four, two, two and one hexadecimal digits. */
static bool iommu_bdf_valid(const char *bdf)
{
	static const char shape[] = "xxxx:xx:xx.x";

	if (strlen(bdf) != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == 'x' ? !strchr("0123456789abcdef", bdf[i]) : bdf[i] != shape[i])
			return false;
	return true;
}

/* Is it there, in a group, and bound to nobody or to vfio-pci?  Gives the group. */
static int iommu_vfio_look(const char *bdf, char *group, size_t group_len, struct util_err *err)
{
	char driver[64], line[16];

	if (!iommu_bdf_valid(bdf))
		return util_err_set(err, -EINVAL, "'%s' is no PCI address like 0000:03:00.0", bdf);
	if (!iommu_read_line(line, sizeof(line), NULL, "/sys/bus/pci/devices/%s/vendor", bdf))
		return util_err_set(err, -ENODEV, "there is no PCI device %s", bdf);
	if (!iommu_read_link_name(group, group_len, NULL, "/sys/bus/pci/devices/%s/iommu_group",
				  bdf)) {
		util_err_set(err, -ENODEV, "%s is in no IOMMU group", bdf);
		util_err_hint(err, "boot with the IOMMU on (intel_iommu=on; nfsrdma-iommu show "
				   "tells whether it is)");
		return -ENODEV;
	}
	iommu_read_link_name(driver, sizeof(driver), NULL, "/sys/bus/pci/devices/%s/driver", bdf);
	if (!driver[0]) {
		util_err_set(err, -ENODEV, "%s is not bound to vfio-pci", bdf);
		util_err_hint(err,
			      "modprobe vfio-pci; echo vfio-pci "
			      ">/sys/bus/pci/devices/%s/driver_override; echo %s "
			      ">/sys/bus/pci/drivers_probe",
			      bdf, bdf);
		return -ENODEV;
	}
	if (strcmp(driver, "vfio-pci")) {
		util_err_set(err, -EBUSY, "%s is driven by %s and is not taken away from it", bdf,
			     driver);
		util_err_hint(err, "use a device that nobody needs, unbound from its driver by "
				   "whoever knows so");
		return -EBUSY;
	}
	return 0;
}

int iommu_vfio_open_path(int *fdp, const char *path, struct util_err *err)
{
	int code;

	*fdp = open(path, O_RDWR | O_CLOEXEC);
	if (*fdp >= 0)
		return 0;
	code = -errno;
	util_err_set(err, code, "open %s: %s", path, strerror(-code));
	util_err_hint(err, code == -EACCES || code == -EPERM
				   ? "VFIO is root's, or of whom the device file belongs to"
				   : "modprobe vfio-pci vfio_iommu_type1");
	return code;
}

int iommu_vfio_call(int fd, unsigned long request, void *arg, const char *what,
		    struct util_err *err)
{
	int ret = ioctl(fd, request, arg);

	if (ret >= 0)
		return ret;
	ret = -errno;
	return util_err_set(err, ret, "%s: %s", what, strerror(-ret));
}

static bool iommu_vfio_region(struct iommu_vfio *v, unsigned index, uint64_t *offsetp)
{
	struct vfio_region_info info = {.argsz = sizeof(info), .index = index};

	if (ioctl(v->device, VFIO_DEVICE_GET_REGION_INFO, &info) || !info.size)
		return false;
	*offsetp = info.offset;
	return true;
}

/* Let the device master the bus; is it one that copies for us? */
static void iommu_vfio_prepare(struct iommu_vfio *v)
{
	uint16_t command;
	uint32_t id;

	if (!iommu_vfio_region(v, VFIO_PCI_CONFIG_REGION_INDEX, &v->config) ||
	    pread(v->device, &id, sizeof(id), (off_t)v->config) != sizeof(id) ||
	    id != IOMMU_EDU_ID || !iommu_vfio_region(v, VFIO_PCI_BAR0_REGION_INDEX, &v->bar) ||
	    pread(v->device, &command, 2, (off_t)v->config + IOMMU_PCI_COMMAND) != 2)
		return;
	command |= IOMMU_PCI_MEMORY_AND_MASTER;
	v->edu = pwrite(v->device, &command, 2, (off_t)v->config + IOMMU_PCI_COMMAND) == 2;
}

static const struct iommu_vfio_ops *iommu_vfio_choose(const char *bdf, enum iommu_vfio_api api)
{
	if (api == IOMMU_VFIO_AUTO)
		api = iommu_iommufd_there(bdf) ? IOMMU_VFIO_IOMMUFD : IOMMU_VFIO_TYPE1;
	return api == IOMMU_VFIO_IOMMUFD ? &iommu_vfio_iommufd : &iommu_vfio_type1;
}

int iommu_vfio_open(struct iommu_vfio **vfiop, const char *bdf, enum iommu_vfio_api api,
		    struct util_err *err)
{
	struct iommu_vfio *v;
	char group[16];
	int ret = iommu_vfio_look(bdf, group, sizeof(group), err);

	if (ret)
		return ret;
	v = calloc(1, sizeof(*v));
	if (!v)
		return util_err_set(err, -ENOMEM, "out of memory");
	v->container = v->group = v->device = -1;
	v->ops = iommu_vfio_choose(bdf, api);
	ret = v->ops->attach(v, bdf, group, err);
	if (ret) {
		iommu_vfio_close(v);
		return ret;
	}
	iommu_vfio_prepare(v);
	*vfiop = v;
	return 0;
}

void iommu_vfio_close(struct iommu_vfio *v)
{
	if (!v)
		return;
	/* The device before its group, both before the container with the mappings. */
	if (v->device >= 0)
		close(v->device);
	if (v->group >= 0)
		close(v->group);
	if (v->container >= 0)
		close(v->container);
	free(v);
}

const char *iommu_vfio_api(const struct iommu_vfio *v)
{
	return v->ops->name;
}

uint64_t iommu_vfio_page_sizes(const struct iommu_vfio *v)
{
	return v->page_sizes;
}

int iommu_vfio_map(struct iommu_vfio *v, void *addr, uint64_t len, uint64_t iova)
{
	return v->ops->map(v, addr, len, iova);
}

int iommu_vfio_unmap(struct iommu_vfio *v, uint64_t len, uint64_t iova)
{
	return v->ops->unmap(v, len, iova);
}

/* ---- the device that copies --------------------------------------------------------------------
 */

bool iommu_vfio_can_copy(const struct iommu_vfio *v)
{
	return v->edu;
}

static int iommu_edu_write(struct iommu_vfio *v, unsigned at, uint32_t value)
{
	return pwrite(v->device, &value, sizeof(value), (off_t)(v->bar + at)) == sizeof(value)
		       ? 0
		       : -EIO;
}

int iommu_vfio_copy(struct iommu_vfio *v, uint64_t iova, uint32_t len, bool to_memory)
{
	uint64_t end = util_clock_ns() + IOMMU_EDU_WAIT_MS * UTIL_NS_PER_MS;
	uint32_t busy = 1;
	int err;

	if (!v->edu)
		return -EOPNOTSUPP;
	if (len == 0 || len > IOMMU_VFIO_COPY_MAX || iova > UINT32_MAX - len)
		return -EINVAL;
	err = iommu_edu_write(v, 0x80, to_memory ? IOMMU_EDU_BUFFER : (uint32_t)iova);
	err = err ? err : iommu_edu_write(v, 0x88, to_memory ? (uint32_t)iova : IOMMU_EDU_BUFFER);
	err = err ? err : iommu_edu_write(v, 0x90, len);
	err = err ? err : iommu_edu_write(v, 0x98, to_memory ? 3 : 1);
	while (!err && busy) {
		poll(NULL, 0, 5);
		if (pread(v->device, &busy, sizeof(busy), (off_t)(v->bar + 0x98)) != sizeof(busy))
			err = -EIO;
		else if ((busy &= 1) && util_clock_ns() > end)
			err = -ETIMEDOUT;
	}
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.c - one RDMA device or network interface: its group, effective domain, node and rate.
 *
 * The group's type is what the kernel really does with the device's DMA, whatever the command line
 * asked for.  A software RDMA device (rxe, siw) has no PCI device of its own; it names the
 * interface it rides on in its "parent" attribute, and that interface's driver does the mapping,
 * so that is where the search goes on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iommu-aware/internal.h"

const char *iommu_domain_name(enum iommu_domain_type type)
{
	switch (type) {
	case IOMMU_DOMAIN_NONE:
		return "none";
	case IOMMU_DOMAIN_IDENTITY:
		return "identity";
	case IOMMU_DOMAIN_DMA:
		return "DMA";
	case IOMMU_DOMAIN_DMA_FQ:
		return "DMA-FQ";
	case IOMMU_DOMAIN_BLOCKED:
		return "blocked";
	case IOMMU_DOMAIN_UNKNOWN:
	case IOMMU_DOMAIN_TYPES:
		break;
	}
	return "unknown";
}

static enum iommu_domain_type iommu_domain_parse(const char *text)
{
	static const enum iommu_domain_type types[] = {
		IOMMU_DOMAIN_IDENTITY,
		IOMMU_DOMAIN_DMA,
		IOMMU_DOMAIN_DMA_FQ,
		IOMMU_DOMAIN_BLOCKED,
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(types); i++)
		if (!strcmp(text, iommu_domain_name(types[i])))
			return types[i];
	return IOMMU_DOMAIN_UNKNOWN;
}

enum iommu_domain_type iommu_group_domain(unsigned group, const char *root)
{
	char type[32];

	if (!iommu_read_line(type, sizeof(type), root, "/sys/kernel/iommu_groups/%u/type", group))
		return IOMMU_DOMAIN_UNKNOWN;
	return iommu_domain_parse(type);
}

/*
 * The bus device of /sys/class/CLASS/NAME.  A virtio device is a child of the PCI device that does
 * the DMA, and has neither group nor node of its own.
 */
static const char *iommu_device_base(const char *link)
{
	return strncmp(link, "virtio", 6) ? "device" : "device/..";
}

/* Group and domain of the device folder below /sys/class/CLASS/NAME. */
static void iommu_device_group(struct iommu_device *dev, const char *folder, const char *root)
{
	char group[16];
	uint64_t number;

	if (!iommu_read_link_name(group, sizeof(group), root, "%s/iommu_group", folder) ||
	    util_u64_parse(group, INT32_MAX, &number))
		return;
	dev->group = (int)number;
	dev->domain = iommu_group_domain((unsigned)dev->group, root);
}

/*
 * Bit 4 of Device Control in the PCI Express capability (id 0x10) allows a device to set the
 * Relaxed Ordering attribute.  Only root reads beyond the first 64 bytes, where capabilities begin;
 * the list is walked with a bound, for its links come from the device.
 */
static int iommu_relaxed_ordering(const unsigned char *config, size_t len)
{
	unsigned at, hops = 48;

	if (len < 256 || !(config[0x06] & 0x10))
		return -1;
	for (at = config[0x34] & 0xfc; at >= 0x40 && hops-- > 0; at = config[at + 1] & 0xfc)
		if (config[at] == 0x10 && at + 10 <= len)
			return config[at + 8] >> 4 & 1;
	return -1;
}

static void iommu_device_pci(struct iommu_device *dev, const char *folder, const char *root)
{
	unsigned char config[257];
	ssize_t len;

	iommu_read_real_name(dev->pci, sizeof(dev->pci), root, "%s", folder);
	iommu_read_link_name(dev->driver, sizeof(dev->driver), root, "%s/driver", folder);
	iommu_read_link_name(dev->unit, sizeof(dev->unit), root, "%s/iommu", folder);
	len = iommu_read_bytes((char *)config, sizeof(config), root, "%s/config", folder);
	if (len > 0)
		dev->relaxed_ordering = iommu_relaxed_ordering(config, (size_t)len);
}

static void iommu_device_bus(struct iommu_device *dev, const char *class, const char *name,
			     const char *root)
{
	char line[32], folder[IOMMU_PATH_MAX];
	uint64_t node;

	if (!iommu_read_link_name(line, sizeof(line), root, "/sys/class/%s/%s/device", class, name))
		return;
	snprintf(folder, sizeof(folder), "/sys/class/%s/%s/%s", class, name,
		 iommu_device_base(line));
	dev->found = true;
	iommu_device_pci(dev, folder, root);
	iommu_device_group(dev, folder, root);
	/* "-1" is what a machine without NUMA says; it fails to parse and stays -1. */
	if (iommu_read_line(line, sizeof(line), root, "%s/numa_node", folder) &&
	    util_u64_parse(line, IOMMU_MAX_NODES - 1, &node) == 0)
		dev->node = (int)node;
}

/* "40 Gb/sec (4X QDR)", "2.5 Gb/sec (1X SDR)" */
static uint64_t iommu_rate_parse(const char *text)
{
	uint64_t whole = 0, tenths = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++)
		if ((whole = whole * 10 + (uint64_t)(*p - '0')) > 1000000)
			return 0;
	if (*p == '.' && p[1] >= '0' && p[1] <= '9') {
		tenths = (uint64_t)(p[1] - '0');
		p += 2;
	}
	if (p == text || strncmp(p, " Gb/sec", 7))
		return 0;
	return (whole * 10 + tenths) * 100000000;
}

static void iommu_device_net(struct iommu_device *dev, const char *name, const char *root)
{
	uint64_t mbit;

	iommu_device_bus(dev, "net", name, root);
	/* An interface without a link says -1. */
	if (iommu_read_u64(&mbit, root, "/sys/class/net/%s/speed", name) && mbit < 10000000)
		dev->link_bps = mbit * 1000000;
}

/*
 * QUIRK(siw): it has neither a bus device nor, as rxe, a file that names its interface.  Newer
 * kernels tell the interface of its GID; on all, its GUID is the interface's MAC address as an
 * EUI-64 (two bytes ff:fe in the middle, bit 1 of the first turned over).
 */
struct iommu_guid {
	const char *guid, *root;
	char net[64];
};

static void iommu_guid_match(void *arg, const char *name)
{
	struct iommu_guid *g = arg;
	char line[32], guid[32];
	unsigned m[6];

	if (g->net[0] || strlen(name) >= sizeof(g->net) || !iommu_name_valid(name) ||
	    !iommu_read_line(line, sizeof(line), g->root, "/sys/class/net/%s/address", name) ||
	    sscanf(line, "%2x:%2x:%2x:%2x:%2x:%2x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]) != 6)
		return;
	snprintf(guid, sizeof(guid), "%02x%02x:%02xff:fe%02x:%02x%02x", m[0] ^ 2, m[1], m[2], m[3],
		 m[4], m[5]);
	if (!strcmp(guid, g->guid))
		snprintf(g->net, sizeof(g->net), "%s", name);
}

/* The interface below a software RDMA device; false: none is named. */
static bool iommu_device_below(char *net, size_t len, const char *name, const char *root)
{
	char guid[32];
	struct iommu_guid g = {.guid = guid, .root = root};

	if ((iommu_read_line(net, len, root, "/sys/class/infiniband/%s/parent", name) ||
	     iommu_read_line(net, len, root, "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0",
			     name)) &&
	    iommu_name_valid(net))
		return true;
	if (!iommu_read_line(guid, sizeof(guid), root, "/sys/class/infiniband/%s/node_guid", name))
		return false;
	iommu_read_dir(iommu_guid_match, &g, root, "/sys/class/net");
	snprintf(net, len, "%s", g.net);
	return net[0] != '\0';
}

static bool iommu_device_rdma(struct iommu_device *dev, const char *name, const char *root)
{
	char line[64];
	bool exists = false;

	if (iommu_read_line(line, sizeof(line), root, "/sys/class/infiniband/%s/ports/1/rate",
			    name)) {
		dev->link_bps = iommu_rate_parse(line);
		dev->rdma = exists = true;
	}
	iommu_device_bus(dev, "infiniband", name, root);
	if (dev->found)
		return dev->rdma = true;
	if (iommu_device_below(line, sizeof(line), name, root)) {
		dev->rdma = true;
		snprintf(dev->rides_on, sizeof(dev->rides_on), "%s", line);
		iommu_device_net(dev, line, root);
		return true;
	}
	return exists;
}

void iommu_probe_device(struct iommu_device *dev, const char *name, const char *root)
{
	memset(dev, 0, sizeof(*dev));
	dev->group = -1;
	dev->node = -1;
	dev->relaxed_ordering = -1;
	dev->domain = IOMMU_DOMAIN_NONE;
	util_text_escape(name, strlen(name), dev->name, sizeof(dev->name));
	if (!iommu_name_valid(name) || strlen(name) >= sizeof(dev->name))
		return;
	if (!iommu_device_rdma(dev, name, root))
		iommu_device_net(dev, name, root);
}

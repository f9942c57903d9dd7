/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numa.c - the machine's nodes: which have memory, how far apart, where this process may run.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "iommu-aware/internal.h"

#define IOMMU_MAX_CPUS 8192

struct iommu_cpus {
	uint64_t bit[IOMMU_MAX_CPUS / 64];
};

uint64_t iommu_list_bits(const char *list, uint64_t *bits, unsigned max)
{
	uint64_t count = 0;

	memset(bits, 0, (max + 63) / 64 * sizeof(*bits));
	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		for (unsigned long i = first; i <= last && i < max; i++) {
			count += !(bits[i / 64] >> i % 64 & 1);
			bits[i / 64] |= UINT64_C(1) << i % 64;
		}
		if (*end != ',')
			break;
		list = end + 1;
	}
	return count;
}

/* The CPUs of "Cpus_allowed_list:" in /proc/self/status. */
static bool iommu_cpus_allowed(struct iommu_cpus *cpus, const char *root)
{
	static const char key[] = "\nCpus_allowed_list:";
	char text[16384];
	const char *p;

	if (iommu_read_bytes(text, sizeof(text), root, "/proc/self/status") <= 0)
		return false;
	p = strstr(text, key);
	if (!p)
		return false;
	p += sizeof(key) - 1;
	return iommu_list_bits(p + strspn(p, " \t"), cpus->bit, IOMMU_MAX_CPUS) > 0;
}

static bool iommu_cpus_meet(const struct iommu_cpus *a, const struct iommu_cpus *b)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(a->bit); i++)
		if (a->bit[i] & b->bit[i])
			return true;
	return false;
}

/* "10 21 21 10": the distances from one node to those that are online, in their order. */
static void iommu_distances(struct iommu_numa *numa, unsigned from, uint64_t online,
			    const char *text)
{
	for (unsigned to = 0; to < IOMMU_MAX_NODES; to++) {
		unsigned value = 0;

		if (!(online >> to & 1))
			continue;
		text += strspn(text, " \t");
		if (!isdigit((unsigned char)*text))
			return;
		for (; isdigit((unsigned char)*text); text++)
			value = value < 255 ? value * 10 + (unsigned)(*text - '0') : value;
		numa->distance[from][to] = value > 255 ? 255 : (uint8_t)value;
	}
}

static void iommu_probe_node(struct iommu_numa *numa, unsigned node, uint64_t online,
			     const struct iommu_cpus *allowed, const char *root)
{
	struct iommu_cpus own;
	char line[1024];

	if (iommu_read_line(line, sizeof(line), root, "/sys/devices/system/node/node%u/distance",
			    node))
		iommu_distances(numa, node, online, line);
	if (allowed &&
	    iommu_read_line(line, sizeof(line), root, "/sys/devices/system/node/node%u/cpulist",
			    node) &&
	    iommu_list_bits(line, own.bit, IOMMU_MAX_CPUS) && iommu_cpus_meet(&own, allowed))
		numa->threads |= UINT64_C(1) << node;
}

void iommu_probe_numa(struct iommu_numa *numa, const char *root)
{
	struct iommu_cpus allowed;
	uint64_t online = 0;
	char line[128];
	bool known;

	memset(numa, 0, sizeof(*numa));
	if (iommu_read_line(line, sizeof(line), root, "/sys/devices/system/node/has_memory"))
		iommu_list_bits(line, &numa->memory, IOMMU_MAX_NODES);
	if (!numa->memory)
		numa->memory = 1;
	if (iommu_read_line(line, sizeof(line), root, "/sys/devices/system/node/online"))
		iommu_list_bits(line, &online, IOMMU_MAX_NODES);
	known = iommu_cpus_allowed(&allowed, root);
	for (unsigned node = 0; node < IOMMU_MAX_NODES; node++)
		if (online >> node & 1)
			iommu_probe_node(numa, node, online, known ? &allowed : NULL, root);
}

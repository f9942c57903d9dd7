/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.c - which devices a report is about.
 *
 * RDMA devices, all of them.  A machine without one still sends its NFS traffic somewhere: then it
 * is the interface of the default route, or of the first route there is, as the software RNIC and
 * TCP would take it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "iommu-aware/internal.h"

struct iommu_name_list {
	char (*names)[IOMMU_NAME_MAX];
	unsigned count, max;
};

static void iommu_list_add(void *arg, const char *name)
{
	struct iommu_name_list *list = arg;

	if (list->count < list->max && strlen(name) < IOMMU_NAME_MAX)
		strcpy(list->names[list->count++], name);
}

static int iommu_list_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Lines of /proc/net/route: "eth0  00000000  0100000A  0003  ...", destination in hex. */
static bool iommu_list_route(char name[IOMMU_NAME_MAX], const char *root)
{
	char text[8192];
	bool any = false;

	if (iommu_read_bytes(text, sizeof(text), root, "/proc/net/route") <= 0)
		return false;
	for (const char *line = strchr(text, '\n'); line; line = strchr(line, '\n')) {
		size_t len = strcspn(++line, " \t\n");
		const char *dest = line + len + strspn(line + len, " \t");

		if (len == 0 || len >= IOMMU_NAME_MAX || !isxdigit((unsigned char)*dest))
			continue;
		if (any && strncmp(dest, "00000000", 8))
			continue;
		memcpy(name, line, len);
		name[len] = '\0';
		any = true;
		if (!strncmp(dest, "00000000", 8))
			return true;
	}
	return any;
}

unsigned iommu_list_devices(char (*names)[IOMMU_NAME_MAX], unsigned max, const char *root)
{
	struct iommu_name_list list = {.names = names, .max = max};

	iommu_read_dir(iommu_list_add, &list, root, "/sys/class/infiniband");
	qsort(names, list.count, IOMMU_NAME_MAX, iommu_list_compare);
	if (!list.count && max && iommu_list_route(names[0], root) && iommu_name_valid(names[0]))
		list.count = 1;
	return list.count;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_iommu_probe.c - a machine whose /proc and /sys say anything.
 *
 * The input is cut at its NUL bytes; the pieces are the contents of the files the probe reads. What
 * comes out are terminated, printable texts, and one line that fits.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iommu-aware/internal.h"
#include "tests/fuzz/fuzz.h"

/* Each folder before what is in it. */
static const char *const folders[] = {
	"proc",
	"proc/self",
	"proc/sys",
	"proc/sys/kernel",
	"sys",
	"sys/class",
	"sys/class/net",
	"sys/class/net/eth0",
	"sys/class/net/eth0/device",
	"sys/class/iommu",
	"sys/class/iommu/dmar0",
	"sys/kernel",
	"sys/kernel/iommu_groups",
	"sys/kernel/iommu_groups/7",
	"sys/kernel/mm",
	"sys/kernel/mm/transparent_hugepage",
	"sys/kernel/mm/hugepages",
	"sys/kernel/mm/hugepages/hugepages-2048kB",
};

static const char *const files[] = {
	"proc/cmdline",
	"proc/self/limits",
	"proc/self/status",
	"proc/vmstat",
	"proc/sys/kernel/osrelease",
	"sys/class/net/eth0/speed",
	"sys/class/net/eth0/device/numa_node",
	"sys/kernel/iommu_groups/7/type",
	"sys/kernel/mm/transparent_hugepage/enabled",
	"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
	"sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
};

static const char *below(const char *root, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void tree_make(char *root)
{
	FUZZ_CHECK(mkdtemp(root));
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(folders); i++)
		FUZZ_CHECK(mkdir(below(root, folders[i]), 0700) == 0);
	FUZZ_CHECK(symlink("../../../../kernel/iommu_groups/7",
			   below(root, "sys/class/net/eth0/device/iommu_group")) == 0);
}

static void tree_fill(const char *root, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(files) && size > 0; i++) {
		const uint8_t *end = memchr(data, 0, size);
		size_t len = end ? (size_t)(end - data) : size;
		int fd = open(below(root, files[i]), O_WRONLY | O_CREAT | O_TRUNC, 0600);

		FUZZ_CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
		close(fd);
		len += end != NULL;
		data += len;
		size -= len;
	}
}

static void tree_remove(const char *root)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(files); i++)
		unlink(below(root, files[i]));
	unlink(below(root, "sys/class/net/eth0/device/iommu_group"));
	for (size_t i = UTIL_ARRAY_SIZE(folders); i-- > 0;)
		FUZZ_CHECK(rmdir(below(root, folders[i])) == 0);
	FUZZ_CHECK(rmdir(root) == 0);
}

static void check_text(const char *text, size_t room)
{
	size_t len = strnlen(text, room);

	FUZZ_CHECK(len < room);
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(isprint((unsigned char)text[i]));
}

FUZZ_TARGET(iommu_probe)
{
	char root[] = "/tmp/nfsrdma-fuzz.XXXXXX", line[320];
	struct iommu_facts facts;
	struct iommu_device dev;
	struct iommu_pins pins;

	tree_make(root);
	tree_fill(root, data, size);
	iommu_probe(&facts, root);
	iommu_probe_device(&dev, "eth0", root);
	iommu_pins_read(&pins, 0, root);
	check_text(facts.driver, sizeof(facts.driver));
	check_text(facts.cmdline_iommu, sizeof(facts.cmdline_iommu));
	check_text(facts.thp, sizeof(facts.thp));
	check_text(facts.kernel, sizeof(facts.kernel));
	for (size_t room = 1; room <= sizeof(line); room += 319) {
		iommu_summary(&facts, &dev, line, room);
		check_text(line, room);
	}
	tree_remove(root);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iommu-aware/internal.h"

#define TREE(name) TEST_TREES name

TestSuite(iommu_probe, .timeout = 20);

Test(iommu_probe, intel_machine_is_read_whole)
{
	struct iommu_facts facts;

	iommu_probe(&facts, TREE("intel"));
	cr_assert(facts.present);
	cr_assert_eq(facts.groups, 3);
	cr_assert_str_eq(facts.driver, "intel");
	cr_assert_str_eq(facts.cmdline_iommu, "intel_iommu=on iommu=pt");
	cr_assert_eq(facts.nodes, 2);
	cr_assert_eq(facts.huge_2m_total, 512);
	cr_assert_eq(facts.huge_2m_free, 500);
	cr_assert_eq(facts.huge_1g_total, 4);
	cr_assert_eq(facts.huge_1g_free, 3);
	cr_assert_str_eq(facts.thp, "madvise");
	cr_assert_eq(facts.memlock_soft, 8388608);
	cr_assert_eq(facts.memlock_hard, UINT64_MAX);
	cr_assert_not(facts.ipc_lock);
	cr_assert_str_eq(facts.kernel, "6.1.0-28-amd64");
}

Test(iommu_probe, amd_machine_is_read_whole)
{
	struct iommu_facts facts;

	iommu_probe(&facts, TREE("amd"));
	cr_assert_eq(facts.groups, 2);
	cr_assert_str_eq(facts.driver, "amd");
	cr_assert_str_eq(facts.cmdline_iommu, "amd_iommu=pt");
	cr_assert_eq(facts.nodes, 5);
	cr_assert_str_eq(facts.thp, "always");
	cr_assert_eq(facts.memlock_soft, UINT64_MAX);
	cr_assert(facts.ipc_lock);
}

Test(iommu_probe, a_command_line_never_makes_an_iommu)
{
	struct iommu_facts facts;

	iommu_probe(&facts, TREE("none"));
	cr_assert_not(facts.present);
	cr_assert_eq(facts.groups, 0);
	cr_assert_str_eq(facts.driver, "");
	cr_assert_str_eq(facts.cmdline_iommu, "intel_iommu=on");
	cr_assert_eq(facts.nodes, 1);
	cr_assert_str_eq(facts.thp, "never");
}

Test(iommu_probe, rubbish_leaves_facts_at_zero)
{
	struct iommu_facts facts;

	iommu_probe(&facts, TREE("broken"));
	cr_assert_eq(facts.groups, 1);
	cr_assert_str_eq(facts.driver, "");
	cr_assert_eq(facts.nodes, 1);
	cr_assert_eq(facts.huge_2m_total, 0);
	cr_assert_eq(facts.huge_2m_free, 0);
	cr_assert_str_eq(facts.thp, "");
	cr_assert_eq(facts.memlock_soft, 0);
	cr_assert_not(facts.ipc_lock);
	cr_assert_str_eq(facts.cmdline_iommu, "intel_iommu=on?[2J?");
}

Test(iommu_probe, an_empty_root_and_a_missing_one_are_answered)
{
	struct iommu_facts facts;
	struct iommu_device dev;

	iommu_probe(&facts, "/nonexistent");
	cr_assert_not(facts.present);
	cr_assert_eq(facts.nodes, 1);
	iommu_probe_device(&dev, "lo", "/nonexistent");
	cr_assert_not(dev.found);
	cr_assert_eq(dev.group, -1);
}

Test(iommu_probe, the_real_machine_is_answered)
{
	struct iommu_facts facts;

	iommu_probe(&facts, NULL);
	cr_assert_geq(facts.nodes, 1);
	cr_assert(facts.kernel[0]);
}

/* ---- trees made here: what no repository should hold */

static char root[64];

static void make_root(void)
{
	strcpy(root, "/tmp/iommu-probe-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
	char command[192];

	snprintf(command, sizeof(command), "chmod -R u+rwX %s; rm -rf %s", root, root);
	cr_assert_eq(system(command), 0);
}

static void make_file(const char *path, off_t size)
{
	char command[256], full[128];
	int fd;

	snprintf(full, sizeof(full), "%s%s", root, path);
	snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", full);
	cr_assert_eq(system(command), 0);
	fd = open(full, O_RDWR | O_CREAT, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, size), 0);
	close(fd);
}

Test(iommu_probe, huge_files_are_read_in_part, .init = make_root, .fini = remove_root)
{
	struct iommu_facts facts;
	struct iommu_pins pins;
	char full[128];
	int fd;

	make_file("/proc/cmdline", (off_t)1 << 40);
	make_file("/proc/self/status", (off_t)1 << 40);
	make_file("/proc/self/limits", (off_t)1 << 40);
	make_file("/sys/devices/system/node/has_memory", (off_t)1 << 40);
	snprintf(full, sizeof(full), "%s/proc/cmdline", root);
	fd = open(full, O_WRONLY);
	for (unsigned i = 0; i < 100000; i++)
		cr_assert_eq(write(fd, "iommu=x ", 8), 8);
	close(fd);
	iommu_probe(&facts, root);
	cr_assert_eq(strlen(facts.cmdline), sizeof(facts.cmdline) - 1);
	cr_assert_lt(strlen(facts.cmdline_iommu), sizeof(facts.cmdline_iommu));
	cr_assert_eq(strncmp(facts.cmdline_iommu, "iommu=x iommu=x", 15), 0);
	cr_assert_eq(iommu_pins_read(&pins, 0, root), 0);
}

Test(iommu_probe, a_fifo_a_folder_and_an_unreadable_file_do_not_block, .init = make_root,
     .fini = remove_root)
{
	struct iommu_facts facts;
	struct inotify_event opened;
	char full[128];
	int watch = inotify_init1(IN_NONBLOCK);

	make_file("/proc/self/status", 0);
	make_file("/sys/kernel/mm/transparent_hugepage/enabled", 10);
	snprintf(full, sizeof(full), "%s/sys/kernel/mm/transparent_hugepage/enabled", root);
	cr_assert_eq(chmod(full, 0), 0);
	snprintf(full, sizeof(full), "%s/proc/cmdline", root);
	cr_assert_eq(mkfifo(full, 0600), 0);
	cr_assert_geq(inotify_add_watch(watch, full, IN_OPEN), 0);
	snprintf(full, sizeof(full), "%s/proc/self/limits", root);
	cr_assert_eq(mkdir(full, 0700), 0);
	iommu_probe(&facts, root);
	cr_assert_str_eq(facts.cmdline, "");
	cr_assert_eq(facts.memlock_soft, 0);
	/* opening alone does something to some devices */
	cr_assert_eq(read(watch, &opened, sizeof(opened)), -1, "the FIFO was opened");
	close(watch);
}

Test(iommu_probe, a_root_too_long_is_answered)
{
	struct iommu_facts facts;
	struct iommu_pins pins;
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	iommu_probe(&facts, text);
	cr_assert_not(facts.present);
	cr_assert_eq(iommu_pins_read(&pins, 0, text), -ENAMETOOLONG);
}

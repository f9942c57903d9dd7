/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_trace.c - why the kernel's maps cannot be counted is said, on stand-ins for what kernels
 * have. That they are counted is for the guests (tests/vm), whose kernels have them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iommu-aware/internal.h"

static char root[64];

static void make_root(void)
{
	strcpy(root, "/tmp/iommu-trace-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
	char command[192];

	snprintf(command, sizeof(command), "chmod -R u+rwX %s; rm -rf %s", root, root);
	cr_assert_eq(system(command), 0);
}

TestSuite(iommu_trace, .init = make_root, .fini = remove_root, .timeout = 20);

static void shell(const char *script)
{
	char command[512];

	snprintf(command, sizeof(command), "cd %s && { %s; }", root, script);
	cr_assert_eq(system(command), 0);
}

/* Opening fails with code; what and hint are in what is said, and nothing was left behind. */
static void refused(int code, const char *what, const char *hint)
{
	struct util_err err = {0};
	struct iommu_trace *t = NULL;

	cr_assert_eq(iommu_trace_open(&t, root, &err), code, "%s", err.what);
	cr_assert_null(t);
	cr_assert_not_null(strstr(err.what, what), "%s", err.what);
	cr_assert_not_null(strstr(err.hint, hint), "%s: %s", err.what, err.hint);
	shell("test ! -d sys/kernel/tracing/instances || test -z \"$(ls -A "
	      "sys/kernel/tracing/instances)\"");
}

Test(iommu_trace, a_kernel_without_tracefs)
{
	shell("mkdir -p proc && printf 'nodev\\tsysfs\\n\\text4\\n' >proc/filesystems");
	refused(-ENOENT, "no tracefs", "CONFIG_TRACING");
}

Test(iommu_trace, a_tracefs_that_is_not_mounted)
{
	shell("mkdir -p sys/kernel/tracing proc && printf 'nodev\\ttracefs\\n' >proc/filesystems");
	refused(-ENOENT, "not mounted", "mount -t tracefs");
}

Test(iommu_trace, a_kernel_without_an_iommu)
{
	shell("mkdir -p sys/kernel/tracing/instances sys/kernel/tracing/events/sched");
	refused(-ENOENT, "no trace events of IOMMU maps", "CONFIG_IOMMU_API");
}

Test(iommu_trace, a_kernel_without_histograms)
{
	shell("mkdir -p sys/kernel/tracing/instances sys/kernel/tracing/events/iommu/map && "
	      ": >sys/kernel/tracing/events/iommu/map/trigger");
	refused(-ENOENT, "cannot count", "CONFIG_HIST_TRIGGERS");
}

Test(iommu_trace, debugfs_has_it_on_older_kernels)
{
	shell("mkdir -p sys/kernel/debug/tracing/instances "
	      "sys/kernel/debug/tracing/events/iommu/map");
	refused(-ENOENT, "cannot count", "CONFIG_HIST_TRIGGERS");
}

Test(iommu_trace, an_instance_that_cannot_be_used_is_removed)
{
	shell("mkdir -p sys/kernel/tracing/instances sys/kernel/tracing/events/iommu/map && "
	      ": >sys/kernel/tracing/events/iommu/map/hist");
	/* folders of a tree have no events of their own, as those of tracefs have */
	refused(-ENOENT, "count iommu:map", "trigger");
}

Test(iommu_trace, what_a_killed_process_left_is_no_obstacle)
{
	char left[128];

	shell("mkdir -p sys/kernel/tracing/instances sys/kernel/tracing/events/iommu/map && "
	      ": >sys/kernel/tracing/events/iommu/map/hist");
	snprintf(left, sizeof(left), "%s/sys/kernel/tracing/instances/nfsrdma-iommu-%d", root,
		 (int)getpid());
	cr_assert_eq(mkdir(left, 0700), 0);
	refused(-ENOENT, "count iommu:map", "trigger");
}

Test(iommu_trace, an_unprivileged_user)
{
	shell("mkdir -p sys/kernel/tracing/instances sys/kernel/tracing/events/iommu/map && "
	      ": >sys/kernel/tracing/events/iommu/map/hist && chmod 755 . && chmod 555 "
	      "sys/kernel/tracing/instances");
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
	refused(-EACCES, "Permission denied", "root's");
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
	shell("chmod 700 sys/kernel/tracing");
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
	else
		shell("chmod 0 sys/kernel/tracing");
	{
		struct util_err err = {0};
		struct iommu_trace *t = NULL;

		cr_assert_eq(iommu_trace_open(&t, root, &err), -EACCES);
		cr_assert_not_null(strstr(err.hint, "root's"), "%s", err.hint);
	}
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
}

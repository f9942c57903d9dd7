/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pins.c - pinned memory as the kernel books it: the witness outside our own counters.
 *
 * VmPin and VmLck are per process and exact.  nr_foll_pin_* are system-wide and gathered per CPU:
 * exact only after root has written /proc/sys/vm/stat_refresh.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "iommu-aware/internal.h"

int iommu_pins_read(struct iommu_pins *pins, int pid, const char *root)
{
	char text[16384], who[16];
	ssize_t n;

	memset(pins, 0, sizeof(*pins));
	if (pid < 0)
		return -EINVAL;
	if (pid)
		snprintf(who, sizeof(who), "%d", pid);
	else
		memcpy(who, "self", sizeof("self"));
	n = iommu_read_bytes(text, sizeof(text), root, "/proc/%s/status", who);
	if (n < 0)
		return (int)n;
	iommu_text_number(text, "VmPin:", 10, &pins->vm_pin_kb);
	iommu_text_number(text, "VmLck:", 10, &pins->vm_lck_kb);
	if (iommu_read_bytes(text, sizeof(text), root, "/proc/vmstat") > 0) {
		pins->foll_pin_known = iommu_text_number(text, "nr_foll_pin_acquired ", 10,
							 &pins->foll_pin_acquired);
		iommu_text_number(text, "nr_foll_pin_released ", 10, &pins->foll_pin_released);
	}
	return 0;
}

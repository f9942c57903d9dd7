/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lockers.c - who of this user holds pinned or locked memory.
 *
 * RLIMIT_MEMLOCK reads like a limit of the process, but what io_uring registers is charged to the
 * *user*: a server, a client and a benchmark of one person share it, and the last to come is told
 * ENOMEM.  So the report names them.  Processes of others are none of our business and are skipped;
 * what ends while we look is not there.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "iommu-aware/internal.h"

struct iommu_locker_walk {
	struct iommu_lockers *lockers;
	const char *root;
};

/* Keep the largest, largest first. */
static void iommu_locker_keep(struct iommu_lockers *lockers, const struct iommu_locker *one)
{
	unsigned at = lockers->listed;

	while (at > 0 && lockers->locker[at - 1].pinned_kb + lockers->locker[at - 1].locked_kb <
				 one->pinned_kb + one->locked_kb)
		at--;
	if (at == IOMMU_MAX_LOCKERS)
		return;
	if (lockers->listed < IOMMU_MAX_LOCKERS)
		lockers->listed++;
	memmove(&lockers->locker[at + 1], &lockers->locker[at],
		(lockers->listed - 1 - at) * sizeof(*one));
	lockers->locker[at] = *one;
}

static void iommu_locker_name(struct iommu_locker *one, const char *text)
{
	size_t len;

	if (strncmp(text, "Name:", 5))
		return;
	text += 5 + strspn(text + 5, " \t");
	len = strcspn(text, "\n");
	util_text_escape(text, len, one->name, sizeof(one->name));
}

static void iommu_locker_look(void *arg, const char *name)
{
	const struct iommu_locker_walk *walk = arg;
	struct iommu_locker one = {0};
	uint64_t pid, uid;
	char text[4096];

	if (!isdigit((unsigned char)name[0]) || util_u64_parse(name, INT32_MAX, &pid))
		return;
	if (iommu_read_bytes(text, sizeof(text), walk->root, "/proc/%s/status", name) <= 0 ||
	    !iommu_text_number(text, "Uid:", 10, &uid) || uid != walk->lockers->uid)
		return;
	iommu_text_number(text, "VmPin:", 10, &one.pinned_kb);
	iommu_text_number(text, "VmLck:", 10, &one.locked_kb);
	if (!one.pinned_kb && !one.locked_kb)
		return;
	one.pid = (int)pid;
	iommu_locker_name(&one, text);
	walk->lockers->count++;
	walk->lockers->pinned_kb += one.pinned_kb;
	walk->lockers->locked_kb += one.locked_kb;
	iommu_locker_keep(walk->lockers, &one);
}

void iommu_probe_lockers(struct iommu_lockers *lockers, const char *root)
{
	struct iommu_locker_walk walk = {.lockers = lockers, .root = root};
	char text[4096];
	uint64_t uid;

	memset(lockers, 0, sizeof(*lockers));
	if (iommu_read_bytes(text, sizeof(text), root, "/proc/self/status") <= 0 ||
	    !iommu_text_number(text, "Uid:", 10, &uid) || uid > UINT32_MAX)
		return;
	lockers->uid = (unsigned)uid;
	iommu_read_dir(iommu_locker_look, &walk, root, "/proc");
}

void iommu_probe_survey(struct iommu_survey *survey, const char *root)
{
	memset(survey, 0, sizeof(*survey));
	iommu_probe(&survey->facts, root);
	iommu_probe_numa(&survey->numa, root);
	iommu_probe_lockers(&survey->lockers, root);
	iommu_pins_read(&survey->pins, 0, root);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - what the files of iommu-aware/ share: bounded, distrustful reading below a root.
 */
#ifndef NFSRDMA_IOMMU_INTERNAL_H
#define NFSRDMA_IOMMU_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "iommu-aware/iommu.h"
#include "util/util.h"

#define IOMMU_PATH_MAX 512

/*
 * All take a printf-like path below root ("" or NULL: the real one).  Failure leaves the output
 * zero or empty and is reported as false: a missing file is a normal answer here.
 */
ssize_t iommu_read_bytes(char *buf, size_t len, const char *root, const char *fmt, ...)
	UTIL_PRINTF(4, 5);
bool iommu_read_line(char *buf, size_t len, const char *root, const char *fmt, ...)
	UTIL_PRINTF(4, 5);
bool iommu_read_u64(uint64_t *valuep, const char *root, const char *fmt, ...) UTIL_PRINTF(3, 4);
/* The last component of a symbolic link's target. */
bool iommu_read_link_name(char *buf, size_t len, const char *root, const char *fmt, ...)
	UTIL_PRINTF(4, 5);
/* The last component of what a path leads to in the end. */
bool iommu_read_real_name(char *buf, size_t len, const char *root, const char *fmt, ...)
	UTIL_PRINTF(4, 5);
/* Calls fn for each entry's name, at most IOMMU_DIR_MAX of them; false when there is no such
 * folder. */
#define IOMMU_DIR_MAX 65536
bool iommu_read_dir(void (*fn)(void *arg, const char *name), void *arg, const char *root,
		    const char *fmt, ...) UTIL_PRINTF(4, 5);

/* The number after "key" at the start of a line of text, as in /proc/self/status; false: none. */
bool iommu_text_number(const char *text, const char *key, unsigned base, uint64_t *valuep);
/* A kernel list like "0-3,8" into bits, each number below max (a multiple of 64); how many. */
uint64_t iommu_list_bits(const char *list, uint64_t *bits, unsigned max);
/* The effective type of a group. */
enum iommu_domain_type iommu_group_domain(unsigned group, const char *root);
void iommu_probe_units(struct iommu_facts *facts, const char *root);

/* Usable as one path component, so that a name cannot lead out of the folder it is looked up in. */
bool iommu_name_valid(const char *name);

#endif

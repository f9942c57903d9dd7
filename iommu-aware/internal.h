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
/* Calls fn for each entry's name, at most IOMMU_DIR_MAX of them; false when there is no such
 * folder. */
#define IOMMU_DIR_MAX 65536
bool iommu_read_dir(void (*fn)(void *arg, const char *name), void *arg, const char *root,
		    const char *fmt, ...) UTIL_PRINTF(4, 5);

/* The number after "key" at the start of a line of text, as in /proc/self/status; false: none. */
bool iommu_text_number(const char *text, const char *key, unsigned base, uint64_t *valuep);
/* Usable as one path component, so that a name cannot lead out of the folder it is looked up in. */
bool iommu_name_valid(const char *name);

#endif

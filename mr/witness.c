/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * witness.c - the page frames behind a range, to tell whether it is still the same memory.
 *
 * Pages that are pinned for a device stay in their frames as long as they are mapped, so frames
 * that differ mean that the addresses lead to other memory than the device was given.  The kernel
 * shows frame numbers in /proc/self/pagemap, to privileged processes only: 0 to the others, who
 * therefore cannot verify and are told so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "mr/cache.h"

#define PRESENT (UINT64_C(1) << 63)
#define FRAME ((UINT64_C(1) << 55) - 1)

struct mr_witness {
	size_t pages;
	uint64_t frame[];
};

/* Frames of pages from addr on; false where they cannot be read. */
static bool read_frames(const void *addr, size_t pages, uint64_t *frame)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t want = pages * sizeof(*frame);
	ssize_t got;

	if (fd < 0)
		return false;
	got = pread(fd, frame, want, (off_t)((uintptr_t)addr / MR_PAGE * sizeof(*frame)));
	close(fd);
	if (got < 0 || (size_t)got != want)
		return false;
	for (size_t i = 0; i < pages; i++)
		frame[i] = frame[i] & PRESENT ? frame[i] & FRAME : 0;
	return true;
}

int mr_witness_allowed(struct util_err *err)
{
	volatile char here = 1;
	uint64_t frame = 0;

	if (read_frames((const void *)&here, 1, &frame) && frame)
		return 0;
	util_err_set(err, -EPERM, "verifying cached registrations: page frames cannot be seen");
	util_err_hint(err, "it needs CAP_SYS_ADMIN; the monitor (mr-monitor=on) does without");
	return -EPERM;
}

struct mr_witness *mr_witness_take(const void *addr, size_t len)
{
	size_t pages = mr_pages_touched(addr, len);
	struct mr_witness *seen = malloc(sizeof(*seen) + pages * sizeof(seen->frame[0]));

	if (!seen)
		return NULL;
	seen->pages = pages;
	if (!read_frames(addr, pages, seen->frame)) {
		free(seen);
		return NULL;
	}
	return seen;
}

bool mr_witness_same(const struct mr_witness *seen, const void *addr, size_t len)
{
	size_t pages = mr_pages_touched(addr, len);
	uint64_t frame[64];

	if (pages != seen->pages)
		return false;
	for (size_t at = 0; at < pages; at += UTIL_ARRAY_SIZE(frame)) {
		size_t n =
			pages - at < UTIL_ARRAY_SIZE(frame) ? pages - at : UTIL_ARRAY_SIZE(frame);

		if (!read_frames((const char *)addr + at * MR_PAGE, n, frame) ||
		    memcmp(frame, seen->frame + at, n * sizeof(*frame)))
			return false;
	}
	return true;
}

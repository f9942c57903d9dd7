/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/util.h"

#include <limits.h>
#include <time.h>

uint64_t util_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UTIL_NS_PER_S + (uint64_t)ts.tv_nsec;
}

int util_clock_until_ms(uint64_t deadline_ns)
{
	uint64_t now, ms;

	if (!deadline_ns)
		return -1;
	now = util_clock_ns();
	if (deadline_ns <= now)
		return 0;
	ms = (deadline_ns - now + UTIL_NS_PER_MS - 1) / UTIL_NS_PER_MS;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/util.h"

#include <errno.h>
#include <sys/random.h>

int util_random_bytes(void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

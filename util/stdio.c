/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stdio.c - standard streams that were closed before the program began (">&-").
 *
 * The next thing the program opens takes the lowest free number. A socket or a file that comes to
 * be number 1 or 2 gets what is printed, in the middle of whatever it carries; one that comes to be
 * 0 is read as input. So the numbers are taken, by something that can be used in no way: reading
 * number 0 and writing 1 and 2 fail with EBADF, as they would have.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "util/util.h"

int util_stdio_reserve(void)
{
	static const int flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};

	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* those below are taken, so this is the number it gets */
		if (open("/dev/null", flags[fd]) != fd)
			return -errno;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * no_uring.c - run a program where io_uring is forbidden, as many containers do by seccomp.
 *
 *   no_uring [--enosys] PROGRAM ARGS...      io_uring_* answer EPERM (or ENOSYS)
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int calls[] = { SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
			      SCMP_SYS(io_uring_register) };
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int error = EPERM, first = 1;

	if (argc > 1 && !strcmp(argv[1], "--enosys")) {
		error = ENOSYS;
		first = 2;
	}
	if (first >= argc || !ctx)
		return 2;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned)error), calls[i], 0) < 0)
			return 2;
	}
	if (seccomp_load(ctx) < 0) {
		perror("no_uring");
		return 2;
	}
	execvp(argv[first], argv + first);
	perror(argv[first]);
	return 127;
}

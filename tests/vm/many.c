/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many.c - a folder of many empty files named 0, 1, ... with one system call each: a shell takes
 * six, and in the guest each costs fifty times what it does outside.
 *
 *     many DIR COUNT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	char name[24];

	if (!count) {
		fprintf(stderr, "usage: many DIR COUNT\n");
		return 2;
	}
	if ((mkdir(argv[1], 0755) && errno != EEXIST) || chdir(argv[1])) {
		perror(argv[1]);
		return 1;
	}
	for (unsigned long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		if (mknod(name, S_IFREG | 0644, 0)) {
			perror(name);
			return 1;
		}
	}
	return 0;
}

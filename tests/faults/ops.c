/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ops.c - one mount, and operations on it one at a time when told to.
 *
 *     ops TARGET OPTIONS
 *
 * Prints "mounted", then reads lines "VERB PATH [PATH]" from standard input and answers each with
 * "VERB: 0" or "VERB: ERRNO words": so a script can do something to the link while an operation is
 * under way. At the end of file the mount ends and the transport's retransmissions are told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "client/nfsrdma.h"

#define PATH_LEN 256

/* Write what a file that is made anew holds, so that making it twice would show. */
static int create(struct nfsrdma *mount, const char *path)
{
	struct nfsrdma_file *file;
	int err = nfsrdma_open(mount, &file, path, O_CREAT | O_EXCL | O_WRONLY, 0644);

	if (err)
		return err;
	if (nfsrdma_pwrite_copy(file, "once", 4, 0) != 4)
		err = -EIO;
	return nfsrdma_close(file) ? -EIO : err;
}

static int run(struct nfsrdma *mount, const char *verb, const char *a, const char *b)
{
	struct stat st;

	if (!strcmp(verb, "mkdir"))
		return nfsrdma_mkdir(mount, a, 0755);
	if (!strcmp(verb, "rmdir"))
		return nfsrdma_rmdir(mount, a);
	if (!strcmp(verb, "unlink"))
		return nfsrdma_unlink(mount, a);
	if (!strcmp(verb, "rename"))
		return nfsrdma_rename(mount, a, b);
	if (!strcmp(verb, "link"))
		return nfsrdma_link(mount, a, b);
	if (!strcmp(verb, "symlink"))
		return nfsrdma_symlink(mount, a, b);
	if (!strcmp(verb, "create"))
		return create(mount, a);
	if (!strcmp(verb, "stat"))
		return nfsrdma_stat(mount, a, &st);
	return -EOPNOTSUPP;
}

static void tell(void *arg, const char *name, uint64_t value)
{
	if (!strcmp(name, "retransmits") || !strcmp(name, "reconnects"))
		printf("%s %llu\n", name, (unsigned long long)value);
}

int main(int argc, char **argv)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	char line[3 * PATH_LEN], verb[32], a[PATH_LEN], b[PATH_LEN];
	struct nfsrdma *mount;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3) {
		fprintf(stderr, "usage: ops TARGET OPTIONS\n");
		return 2;
	}
	opts.opts = argv[2];
	if (nfsrdma_mount(&mount, argv[1], &opts)) {
		printf("%s\n", nfsrdma_strerror_last());
		return 1;
	}
	printf("mounted\n");
	while (fgets(line, sizeof(line), stdin)) {
		int n = sscanf(line, "%31s %255s %255s", verb, a, b), err;

		if (n < 2)
			continue;
		err = run(mount, verb, a, n > 2 ? b : "");
		if (err)
			printf("%s: %d %s\n", verb, -err, nfsrdma_strerror_last());
		else
			printf("%s: 0\n", verb);
	}
	nfsrdma_stats(mount, NFSRDMA_STATS_TRANSPORT, tell, NULL);
	nfsrdma_umount(mount);
	return 0;
}

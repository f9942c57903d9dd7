/* SPDX-License-Identifier: BSD-2-Clause */
/* read.c - the program of the README: read the beginning of a file by RDMA.  usage: read TARGET
 * PATH */
#include <fcntl.h>
#include <stdio.h>
#include <nfsrdma.h>

int main(int argc, char **argv)
{
	struct nfsrdma *m;
	struct nfsrdma_file *f;
	struct nfsrdma_buf *b;
	ssize_t n = -1;

	if (argc == 3 && !nfsrdma_mount(&m, argv[1], NULL)) {
		if (!nfsrdma_open(m, &f, argv[2], O_RDONLY, 0) &&
		    !nfsrdma_buf_get(m, &b, 1 << 20, NFSRDMA_BUF_READ)) {
			n = nfsrdma_pread(f, b, 0, 1 << 20, 0); /* the server writes it into b */
			fwrite(nfsrdma_buf_addr(b), 1, n > 0 ? (size_t)n : 0, stdout);
		}
		nfsrdma_umount(m);
	}
	if (n < 0)
		fprintf(stderr, "%s (%s)\n", nfsrdma_strerror_last(), nfsrdma_hint_last());
	return n < 0;
}

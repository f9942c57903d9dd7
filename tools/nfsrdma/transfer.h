/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer.h - moves the bytes of one file to another, wherever the two are, many pieces at a time.
 *
 * cp, cat and write are three uses of it: an end is an open file on a server, an open local file,
 * or a stream (standard input or output, a pipe) whose pieces must come in order.
 */
#ifndef TOOLS_NFSRDMA_TRANSFER_H
#define TOOLS_NFSRDMA_TRANSFER_H

#include <signal.h>

#include "cli.h"

enum transfer_kind { TRANSFER_REMOTE, TRANSFER_LOCAL, TRANSFER_STREAM };

struct transfer_end {
	enum transfer_kind kind;
	struct nfsrdma *mount;	   /* remote */
	struct nfsrdma_file *file; /* remote */
	int fd;			   /* local, stream */
};

/* Buffers and the local ring, kept from file to file. */
struct transfer;
int transfer_create(struct transfer **transferp, struct cli *cli);
void transfer_destroy(struct transfer *transfer);

struct transfer_job {
	struct transfer_end src, dst;
	uint64_t src_off, dst_off;
	uint64_t size;	 /* bytes the source is said to hold from src_off; it is read to its end all
			    the same */
	bool skip_zeros; /* dst is empty: pieces that are all zeros need not be written.  The caller
			  * sets the size afterwards. */
	bool durable; /* dst is remote and src cannot be read again: hold what is written until it
			 is safe */
	void (*progress)(void *arg, uint64_t moved);
	void *progress_arg;
	const volatile sig_atomic_t *stop; /* may be NULL */
	/* results */
	uint64_t moved; /* bytes that arrived */
	uint64_t end;	/* where the source ended, from src_off */
	char why[512];	/* of a failure: the sentence */
	char hint[256];
};

/*
 * 0; -EINTR: *stop was set; else -errno, with job->why.  Nothing is in flight any more when it
 * returns.
 */
int transfer_run(struct transfer *transfer, struct transfer_job *job);

#endif

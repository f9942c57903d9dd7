/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy.h - what one cp does: options, totals, and the machinery it keeps from file to file.
 */
#ifndef TOOLS_NFSRDMA_COPY_H
#define TOOLS_NFSRDMA_COPY_H

#include "place.h"
#include "transfer.h"

struct copy {
	struct cli *cli;
	struct transfer *transfer;
	const volatile sig_atomic_t *stop;
	mode_t umask_bits;
	bool recursive, preserve;
	/* the directory this cp made at the top: not to be copied into itself */
	bool made_top;
	struct place *top;
	struct stat top_st;
	/* totals */
	uint64_t files, bytes;
};

/* A regular file, its attributes known.  dst is the final name, dst_st its attributes or NULL when
 * nothing is there.  0 or -errno, told. */
int copy_regular(struct copy *copy, const struct place *src, const struct stat *src_st,
		 const struct place *dst, const struct stat *dst_st);
/* Owner, mode and times for -p; a refused owner is not an error (as with cp). */
int copy_attributes(struct copy *copy, const struct place *dst, const struct stat *src_st);
/* Anything: a file, a link, a directory with all beneath it when recursive. */
void copy_any(struct copy *copy, const struct place *src, const struct place *dst);

/* A write to a file that is complete or absent: to a temporary name beside the destination, or in
 * place. */
struct copy_out {
	struct transfer_end end;
	struct place temp; /* path NULL: in place */
	bool opened;
	mode_t final_mode, temp_mode;
};
/* O_RDONLY; regular files only.  Told on failure. */
int copy_in_open(struct copy *copy, const struct place *src, struct transfer_end *end);
int copy_in_close(struct transfer_end *end);
/* mode: of a new file.  Told on failure. */
int copy_out_open(struct copy *copy, const struct place *dst, const struct stat *dst_st,
		  mode_t mode, struct copy_out *out);
/* Make it safe.  The caller may write all again after -EIO (the server restarted).  Not told. */
int copy_out_sync(struct copy_out *out);
/* Close, give the attributes of src_st if that is wanted, put it in its place.  Told. */
int copy_out_commit(struct copy *copy, struct copy_out *out, const struct place *dst,
		    const struct stat *src_st);
/* After a failure: close, remove the temporary file. */
/* Remove what was made.  left (NULL: nobody asks) says in words what could not be removed, or "". */
void copy_out_abandon(struct copy_out *out, char *left, size_t len);
int copy_out_truncate(struct copy_out *out, uint64_t size);

#endif

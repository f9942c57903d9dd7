/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_nfsrdma.h - the library as the command line tool sees it, with files in memory and a script.
 *
 * Asynchronous calls are kept until nfsrdma_process, which completes them in a pseudo-random order,
 * some of them short, and fails the ones the script names.  A write remembers where its bytes lie
 * until the file is synced, and fsync checks that they are still the same.
 */
#ifndef TESTS_CLI_FAKE_NFSRDMA_H
#define TESTS_CLI_FAKE_NFSRDMA_H

#include <stdbool.h>

#include "client/nfsrdma.h"

#define FAKE_FILE_MAX ((size_t)24 << 20)
#define FAKE_PENDING_MAX 64

struct nfsrdma_file {
	uint8_t *data;
	size_t size;
	unsigned reads, writes, syncs;
};

enum fake_kind { FAKE_READ, FAKE_WRITE, FAKE_SYNC };

struct fake_op {
	enum fake_kind kind;
	struct nfsrdma_file *file;
	uint8_t *mem;
	size_t len;
	uint64_t off;
	nfsrdma_done *done;
	void *arg;
};

/* The script and what was seen. */
struct nfsrdma {
	const char *address;
	uint32_t rsize, wsize;
	uint32_t seed;
	bool shorten;	  /* complete some reads and writes short */
	unsigned fail_at; /* the n-th completion (from 1) fails with fail_with, 0 never */
	int fail_with;
	unsigned refuse_at; /* the n-th submission is refused */
	unsigned bufs_max;  /* buffers to be had, 0 any number */
	size_t buf_len_max; /* larger ones are refused, 0 any */
	/* seen */
	unsigned completions, submissions, bufs_now;
	struct fake_op pending[FAKE_PENDING_MAX];
	unsigned npending, most_pending;
	/* written, not synced: where, and what it was */
	struct fake_held {
		const uint8_t *mem;
		uint64_t off;
		size_t len;
	} held[1024];
	unsigned nheld, held_changed;
	int fd;
};

void fake_init(struct nfsrdma *mount, const char *address);
void fake_fini(struct nfsrdma *mount);
void fake_file_init(struct nfsrdma_file *file, size_t size, uint32_t seed);
void fake_file_fini(struct nfsrdma_file *file);

#endif

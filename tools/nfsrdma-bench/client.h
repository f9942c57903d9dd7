/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client.h - who does the I/O: our library, libnfs, or plain system calls.
 *
 * A *site* is shared by all children (the context), an *io* belongs to one child's thread, with at
 * most one file open.  All calls return 0 or -errno with err filled.
 */
#ifndef NFSRDMA_BENCH_CLIENT_H
#define NFSRDMA_BENCH_CLIENT_H

#include "tools/nfsrdma-bench/bench.h"

struct bench_place {
	const char *target;	       /* SERVER:/DIR, or a local folder (posix) */
	const char *opts;	       /* of the mount */
	uint16_t nfs_port, mount_port; /* libnfs; 0: look up */
};

struct bench_slot;
/* One finished operation: bytes or -errno.  Called from wait(); may submit the next. */
void bench_slot_done(struct bench_slot *slot, ssize_t n);

enum bench_open { BENCH_OPEN_CREATE, BENCH_OPEN_WRITE, BENCH_OPEN_READ };

struct bench_io;

struct bench_request {
	struct bench_slot *slot;
	unsigned buffer; /* index */
	bool write;
	size_t len;
	uint64_t off;
};

/* memory.c: count buffers of each bytes, one behind the other. */
struct bench_memory {
	char *base; /* NULL: none */
	size_t len, each;
};

/* addr[] gets them.  -ENOMEM. */
int bench_memory_get(struct bench_memory *memory, unsigned count, size_t len, void **addr,
		     struct util_err *err);
void bench_memory_put(struct bench_memory *memory);

static inline char *bench_memory_at(const struct bench_memory *memory, unsigned i)
{
	return memory->base + i * memory->each;
}

struct bench_client_ops {
	const char *name;
	bool vectors; /* has vector() */
	int (*site_open)(struct bench_site **sitep, const struct bench_options *opts,
			 const struct bench_place *place, struct util_err *err);
	void (*site_close)(struct bench_site *site);
	int (*io_open)(struct bench_io **iop, struct bench_site *site, struct util_err *err);
	void (*io_close)(struct bench_io *io);
	/* count buffers of len bytes, for reading, for writing or both; addr[] gets them. */
	int (*buffers_get)(struct bench_io *io, unsigned count, size_t len, bool write, void **addr,
			   struct util_err *err);
	void (*buffers_put)(struct bench_io *io);
	int (*file_open)(struct bench_io *io, const char *name, enum bench_open how,
			 struct util_err *err);
	int (*file_sync)(struct bench_io *io, struct util_err *err);
	int (*file_close)(struct bench_io *io, struct util_err *err);
	int (*file_remove)(struct bench_io *io, const char *name, struct util_err *err);
	/* Start one; bench_slot_done() follows from wait(). */
	int (*submit)(struct bench_io *io, const struct bench_request *rq);
	/* At least one completion, unless nothing is outstanding or timeout_ms (-1: some time) is
	 * over. */
	int (*wait)(struct bench_io *io, int timeout_ms, struct util_err *err);
	/* One record as a vector of pieces of the buffer, synchronously: bytes or -errno. */
	ssize_t (*vector)(struct bench_io *io, const struct bench_request *rq, unsigned pieces);
	/* false: it has no such counters. */
	bool (*counters)(struct bench_io *io, struct bench_counters *counters);
	bool (*info)(struct bench_io *io, struct nfsrdma_info *info);
};

/* How long a wait without a limit may last: children must see that the parent gave up. */
#define BENCH_WAIT_MS 200

/* NULL where the library was left out. */
const struct bench_client_ops *bench_client_nfsrdma(void);
const struct bench_client_ops *bench_client_libnfs(void);
const struct bench_client_ops *bench_client_posix(void);
const struct bench_client_ops *bench_client_of(enum bench_client_kind kind);

#endif

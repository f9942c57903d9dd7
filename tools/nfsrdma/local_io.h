/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * local_io.h - reads and writes of local files that run beside the network, by io_uring where it
 * may be used.
 *
 * Where io_uring is forbidden (containers often do) the same calls work one after the other with
 * pread and pwrite; nobody who uses this need know.
 */
#ifndef TOOLS_NFSRDMA_LOCAL_IO_H
#define TOOLS_NFSRDMA_LOCAL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct local_io;

/* One request; the caller's memory, in use until done() ran. */
struct local_req {
	int fd;
	bool write;
	void *mem;
	size_t len;
	uint64_t off; /* LOCAL_IO_STREAM: where the file stands */
	void (*done)(void *arg, ssize_t n);
	void *arg;
	bool cancelled;
	struct local_req *next;
	ssize_t result;
};

#define LOCAL_IO_STREAM UINT64_MAX

/* At most depth requests at a time.  -ENOMEM. */
int local_io_create(struct local_io **iop, unsigned depth);
void local_io_destroy(struct local_io *io);
/* done() runs from local_io_process. */
void local_io_start(struct local_io *io, struct local_req *req);
/* Ask for an early end of a request that may wait for ever; done() still runs. */
void local_io_cancel(struct local_io *io, struct local_req *req);
/* Submit what was started, deliver what is done; returns how many. */
unsigned local_io_process(struct local_io *io);
/* To poll for POLLIN, or -1: nothing is ever waited for. */
int local_io_fd(const struct local_io *io);
bool local_io_is_uring(const struct local_io *io);

#endif

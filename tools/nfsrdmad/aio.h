/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * aio.h - file I/O that waits for a disk, without the worker waiting.
 */
#ifndef NFSRDMAD_AIO_H
#define NFSRDMAD_AIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct transport_worker;
struct server_aio;

enum server_io_kind { SERVER_IO_READ, SERVER_IO_WRITE, SERVER_IO_FSYNC, SERVER_IO_FDATASYNC };

/* One operation; the submitter's until done, which runs exactly once, perhaps from inside submit.
 */
struct server_io {
	enum server_io_kind kind;
	int fd;
	void *buf;
	size_t len;
	uint64_t offset;
	void (*done)(struct server_io *io, int res); /* bytes or -errno */
	void *arg;
	struct util_list node;
};

/*
 * Without io_uring (forbidden, or not wanted) *aiop is NULL and submit works at once.  -ENOMEM or
 * what watching said: the worker must not start.
 */
int server_aio_create(struct server_aio **aiop, struct transport_worker *worker, bool no_io_uring);
void server_aio_destroy(struct server_aio *aio);
void server_aio_submit(struct server_aio *aio, struct server_io *io);

#endif

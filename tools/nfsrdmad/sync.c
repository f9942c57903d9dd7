/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sync.c - replies that wait until what they acknowledge is on stable storage.
 *
 * RFC 1813 section 1.3 of its design: but for unstable WRITEs, a reply promises that the change
 * survives a crash of the machine.  So after a change the folder, and what was made or changed in
 * it, are synced before the reply goes out.  The worker does not wait: the ring does, and many
 * clients' syncs share one journal commit.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>

static void sync_done(struct server_io *io, int res)
{
	struct server_op *op = io->arg;

	/* Some file systems cannot sync a folder, and say so: they have nothing to sync. */
	if (res < 0 && res != -EINVAL && res != -EROFS && !op->io_error)
		op->io_error = res;
	if (--op->io_pending == 0)
		op->then(op);
}

static void sync_start(struct server_op *op, struct server_io *io, int fd, bool data_only)
{
	*io = (struct server_io){
		.kind = data_only ? SERVER_IO_FDATASYNC : SERVER_IO_FSYNC,
		.fd = fd,
		.done = sync_done,
		.arg = op,
	};
	op->io_pending++;
	server_aio_submit(op->w->aio, io);
}

void server_sync(struct server_op *op, int fd1, int fd2, bool data_only,
		 void (*then)(struct server_op *op))
{
	op->then = then;
	op->io_error = 0;
	op->io_pending = 1; /* this function's own, so that then() runs once, last */
	if (fd1 >= 0)
		sync_start(op, &op->io[0], fd1, data_only);
	if (fd2 >= 0)
		sync_start(op, &op->io[1], fd2, data_only);
	if (--op->io_pending == 0)
		then(op);
}

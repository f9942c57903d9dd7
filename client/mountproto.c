/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mountproto.c - MOUNT version 3 (RFC 1813 appendix I): MNT, UMNT, EXPORT over any connection.
 */
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

#define MOUNT_PATH_MAX 1024	      /* MNTPATHLEN */
#define EXPORT_REPLY_MAX (64u * 1024) /* of a reply chunk; over tcp lists may be longer */

static void mount_proc_init(struct client_proc *p, struct nfsrdma *mount,
			    struct transport_client *conn, uint32_t proc)
{
	client_proc_init(p, mount, proc);
	p->op.prog = WIRE_MOUNT_PROG;
	p->op.conn = conn;
}

static int reply_bad(struct nfsrdma *mount)
{
	return client_error(mount, -EIO, "the server's MOUNT reply is cut short or malformed");
}

int client_mnt(struct nfsrdma *mount, struct transport_client *conn, const char *path,
	       struct wire_mnt_res *res)
{
	struct client_proc p;
	int err;

	if (strlen(path) > MOUNT_PATH_MAX)
		return client_error(mount, -ENAMETOOLONG, "longer than MOUNT allows (%d bytes)",
				    MOUNT_PATH_MAX);
	mount_proc_init(&p, mount, conn, WIRE_MOUNT_MNT);
	wire_mnt_args_encode(&p.args, path);
	err = client_proc_run(&p);
	if (err)
		return err;
	wire_dec_init(&p.res, p.results, p.results_len);
	return wire_mnt_res_decode(&p.res, res) ? reply_bad(mount) : 0;
}

int client_umnt(struct nfsrdma *mount, struct transport_client *conn, const char *path)
{
	struct client_proc p;

	mount_proc_init(&p, mount, conn, WIRE_MOUNT_UMNT);
	p.no_status = true;
	wire_mnt_args_encode(&p.args, path);
	return client_proc_run(&p);
}

int client_exports(struct nfsrdma *mount, struct transport_client *conn, uint8_t **bytesp,
		   struct wire_dec *dec)
{
	struct client_proc p;
	int err;

	mount_proc_init(&p, mount, conn, WIRE_MOUNT_EXPORT);
	p.no_status = p.grow = true;
	p.reply_max = EXPORT_REPLY_MAX;
	err = client_proc_run(&p);
	if (err) {
		if (p.results != p.small)
			free(p.results);
		return err;
	}
	*bytesp = p.results;
	*dec = p.res;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookup.c - LOOKUP (RFC 1813 section 3.3.3): one name in one directory.
 */
#include <string.h>

#include "client/internal.h"

int client_lookup(struct nfsrdma *mount, const struct wire_fh *dir, const char *name,
		  struct client_node *node)
{
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_LOOKUP);
	wire_put_fh(&p.args, dir);
	wire_put_opaque(&p.args, name, strlen(name));
	err = client_proc_run(&p);
	if (err)
		return err;
	wire_get_fh(&p.res, &node->fh);
	wire_get_post_attr(&p.res, &node->attr);
	return client_proc_check(&p);
}

int client_node_attr(struct nfsrdma *mount, struct client_node *node)
{
	int err;

	if (node->attr.present)
		return 0;
	err = client_getattr(mount, &node->fh, &node->attr.attr);
	node->attr.present = !err;
	return err;
}

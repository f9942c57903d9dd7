/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fs.c - FSINFO, FSSTAT and PATHCONF (RFC 1813 sections 3.3.18 to 3.3.20).
 */
#include "client/internal.h"

int client_fsinfo(struct nfsrdma *mount, const struct wire_fh *fh, struct client_fsinfo *info)
{
	struct wire_post_attr attr;
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_FSINFO);
	wire_put_fh(&p.args, fh);
	err = client_proc_run(&p);
	if (err)
		return err;
	wire_get_post_attr(&p.res, &attr);
	info->rtmax = wire_get_u32(&p.res);
	wire_get_u32(&p.res); /* rtpref: the most is preferred here */
	wire_get_u32(&p.res); /* rtmult */
	info->wtmax = wire_get_u32(&p.res);
	wire_get_u32(&p.res); /* wtpref */
	wire_get_u32(&p.res); /* wtmult */
	info->dtpref = wire_get_u32(&p.res);
	return client_proc_check(&p);
}

static int fs_fsstat(struct nfsrdma *mount, const struct wire_fh *fh, struct nfsrdma_statfs *fs)
{
	struct wire_post_attr attr;
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_FSSTAT);
	wire_put_fh(&p.args, fh);
	err = client_proc_run(&p);
	if (err)
		return err;
	wire_get_post_attr(&p.res, &attr);
	fs->total_bytes = wire_get_u64(&p.res);
	fs->free_bytes = wire_get_u64(&p.res);
	fs->avail_bytes = wire_get_u64(&p.res);
	fs->total_files = wire_get_u64(&p.res);
	fs->free_files = wire_get_u64(&p.res);
	fs->avail_files = wire_get_u64(&p.res);
	return client_proc_check(&p);
}

static int fs_pathconf(struct nfsrdma *mount, const struct wire_fh *fh, struct nfsrdma_statfs *fs)
{
	struct wire_post_attr attr;
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_PATHCONF);
	wire_put_fh(&p.args, fh);
	err = client_proc_run(&p);
	if (err)
		return err;
	wire_get_post_attr(&p.res, &attr);
	fs->link_max = wire_get_u32(&p.res);
	fs->name_max = wire_get_u32(&p.res);
	return client_proc_check(&p);
}

int nfsrdma_statfs(struct nfsrdma *mount, const char *path, struct nfsrdma_statfs *fs)
{
	struct client_walk walk;
	int err = client_enter(mount, "statfs", path);

	if (err)
		return err;
	err = client_walk(mount, path, CLIENT_WALK_FOLLOW, &walk);
	if (!err)
		err = fs_fsstat(mount, &walk.node.fh, fs);
	if (!err)
		err = fs_pathconf(mount, &walk.node.fh, fs);
	return err ? client_fail_mount(mount, err, "statfs", path) : 0;
}

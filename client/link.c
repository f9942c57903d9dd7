/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.c - LINK, SYMLINK and READLINK (RFC 1813 sections 3.3.15, 3.3.10, 3.3.5).
 *
 * A symlink's target is bulk data to RPC-over-RDMA (RFC 8267), so both ways it lies in a staging
 * buffer.  Of an EEXIST after a replay name.c says what it means; here the proof is that the name
 * leads to the same file, or holds the same target.
 */
#include <string.h>

#include "client/internal.h"

int client_readlink(struct nfsrdma *mount, const struct wire_fh *fh, char *out, size_t out_len)
{
	struct nfsrdma_buf *buf;
	struct wire_readlink_res res;
	struct client_proc p;
	const uint8_t *target;
	int err;

	err = client_staging_get(mount, WIRE_PATH_MAX, NFSRDMA_BUF_READ, &buf);
	if (err)
		return err;
	client_proc_init(&p, mount, WIRE_NFS3_READLINK);
	wire_put_fh(&p.args, fh);
	p.bulk = (struct transport_seg){buf->lease->addr, WIRE_PATH_MAX, buf->lease};
	p.bulk_in = true;
	p.find_data = wire_readlink_res_find_data;
	err = client_proc_run(&p);
	if (err)
		goto out;
	wire_dec_init(&p.res, p.results, p.results_len);
	if (wire_readlink_res_decode(&p.res, &res, p.data_sunk)) {
		p.res.bad = true;
		err = client_proc_check(&p);
		goto out;
	}
	target = p.data_sunk ? buf->lease->addr : res.target;
	if (res.target_len > WIRE_PATH_MAX || (res.target_len && !target) ||
	    memchr(target, '\0', res.target_len))
		err = client_error(mount, -EIO, "the server sends an impossible link target");
	else if (res.target_len >= out_len)
		err = client_error(mount, -ENAMETOOLONG, "the target has %u bytes", res.target_len);
	if (!err) {
		memcpy(out, target, res.target_len);
		out[res.target_len] = '\0';
		err = (int)res.target_len;
	}
out:
	client_buf_disown(buf);
	return err;
}

static int symlink_call(struct client_proc *p, const struct wire_fh *dir, const char *name,
			const char *target, struct nfsrdma_buf *buf)
{
	size_t len = strlen(target);
	struct wire_symlink_args args = {
		.dir = *dir,
		.name = (const uint8_t *)name,
		.name_len = (uint32_t)strlen(name),
		.attr = {.set_mode = true, .mode = 0777},
		.target = (const uint8_t *)target,
		.target_len = (uint32_t)len,
	};

	memcpy(buf->lease->addr, target, len);
	p->op.idempotent = false;
	wire_symlink_args_encode(&p->args, &args, true);
	p->bulk = (struct transport_seg){buf->lease->addr, len, buf->lease};
	p->bulk_out = true;
	return client_proc_run(p);
}

/* Is name a symlink to target? */
static bool is_symlink_to(struct nfsrdma *mount, const struct wire_fh *dir, const char *name,
			  const char *target)
{
	char there[WIRE_PATH_MAX + 1];
	struct client_node node;

	return !client_lookup(mount, dir, name, &node) && !client_node_attr(mount, &node) &&
	       node.attr.attr.type == CLIENT_LNK &&
	       client_readlink(mount, &node.fh, there, sizeof(there)) >= 0 &&
	       !strcmp(there, target);
}

static int make_symlink(struct nfsrdma *mount, const struct wire_fh *dir, const char *name,
			const char *target)
{
	struct nfsrdma_buf *buf;
	struct client_proc p;
	int err;

	err = client_staging_get(mount, strlen(target), NFSRDMA_BUF_WRITE, &buf);
	if (err)
		return err;
	client_proc_init(&p, mount, WIRE_NFS3_SYMLINK);
	err = symlink_call(&p, dir, name, target, buf);
	client_buf_disown(buf);
	if (err == -EEXIST && p.op.replayed && is_symlink_to(mount, dir, name, target))
		return 0;
	return err;
}

static int make_link(struct nfsrdma *mount, struct client_node *file, const struct wire_fh *dir,
		     const char *name)
{
	struct client_node there;
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_LINK);
	p.op.idempotent = false;
	wire_put_fh(&p.args, &file->fh);
	wire_put_fh(&p.args, dir);
	wire_put_opaque(&p.args, name, strlen(name));
	err = client_proc_run(&p);
	if (err == -EEXIST && p.op.replayed && !client_lookup(mount, dir, name, &there) &&
	    !client_node_attr(mount, &there) && !client_node_attr(mount, file) &&
	    there.attr.attr.fileid == file->attr.attr.fileid &&
	    there.attr.attr.fsid == file->attr.attr.fsid)
		return 0;
	return err;
}

/* ---- the API ------------------------------------------------------------------------------ */

static int walk_new_link(struct nfsrdma *mount, const char *path, struct client_walk *walk)
{
	int err = client_walk(mount, path, CLIENT_WALK_PARENT, walk);

	if (err)
		return err;
	if (!walk->name[0] || !strcmp(walk->name, ".") || !strcmp(walk->name, ".."))
		return client_error(mount, -EEXIST, "%s", strerror(EEXIST));
	if (walk->trailing_slash)
		return client_error(mount, -ENOENT, "%s", strerror(ENOENT));
	return 0;
}

/* As link(2), a symlink at the end of from is linked itself. */
int nfsrdma_link(struct nfsrdma *mount, const char *from, const char *to)
{
	struct client_walk walk_from, walk_to;
	const char *path = from;
	int err = client_enter_change(mount, "link", to);

	if (err)
		return err;
	err = client_walk(mount, from, 0, &walk_from);
	if (!err) {
		path = to;
		err = walk_new_link(mount, to, &walk_to);
	}
	if (!err)
		err = make_link(mount, &walk_from.node, &walk_to.parent, walk_to.name);
	return err ? client_fail_mount(mount, err, "link", path) : 0;
}

int nfsrdma_symlink(struct nfsrdma *mount, const char *target, const char *path)
{
	struct client_walk walk;
	int err = client_enter_change(mount, "symlink", path);

	if (err)
		return err;
	if (!*target)
		return client_fail(-ENOENT, "symlink", path, NULL, 0);
	if (strlen(target) > WIRE_PATH_MAX)
		return client_fail(-ENAMETOOLONG, "symlink", path, NULL, 0);
	err = walk_new_link(mount, path, &walk);
	if (!err)
		err = make_symlink(mount, &walk.parent, walk.name, target);
	return err ? client_fail_mount(mount, err, "symlink", path) : 0;
}

ssize_t nfsrdma_readlink(struct nfsrdma *mount, const char *path, char *buf, size_t len)
{
	struct client_walk walk;
	int err = client_enter(mount, "readlink", path);

	if (err)
		return err;
	err = client_walk(mount, path, 0, &walk);
	if (!err)
		err = client_node_attr(mount, &walk.node);
	if (!err && walk.node.attr.attr.type != CLIENT_LNK)
		err = client_error(mount, -EINVAL, "not a symbolic link");
	if (!err)
		err = client_readlink(mount, &walk.node.fh, buf, len);
	return err < 0 ? client_fail_mount(mount, err, "readlink", path) : err;
}

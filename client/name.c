/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name.c - what makes and removes names: CREATE, MKDIR, MKNOD, REMOVE, RMDIR, RENAME
 * (RFC 1813 sections 3.3.8 to 3.3.14).
 *
 * None of these may run twice, and after a reconnect one may have.  A server keeps a cache of its
 * recent answers for that, but a restarted one has forgotten them.  So when a call was sent more
 * than once:
 *
 *   EEXIST from MKDIR, MKNOD or a  means we made it, if what is there is of the kind we asked for
 *   GUARDED CREATE
 *   ENOENT from REMOVE or RMDIR    means we removed it
 *   ENOENT from RENAME             means we renamed it, if the new name is there
 *
 * The other ways to CREATE need no such rule: UNCHECKED may run twice, and EXCLUSIVE carries a
 * verifier that makes a second run succeed.
 */
#include <string.h>
#include <sys/sysmacros.h>

#include "client/internal.h"

static void put_where(struct client_proc *p, const struct wire_fh *dir, const char *name)
{
	wire_put_fh(&p->args, dir);
	wire_put_opaque(&p->args, name, strlen(name));
}

/* post_op_fh3 and attributes; a server need not send the handle: then ask. */
static int get_made(struct client_proc *p, const struct wire_fh *dir, const char *name,
		    struct client_node *node)
{
	bool has_fh = wire_get_bool(&p->res);
	int err;

	if (has_fh)
		wire_get_fh(&p->res, &node->fh);
	wire_get_post_attr(&p->res, &node->attr);
	err = client_proc_check(p);
	if (!err && !has_fh)
		err = client_lookup(p->op.mount, dir, name, node);
	return err;
}

/* Did a replayed call fail because its first run had succeeded?  Then name is there, of this type.
 */
static bool made_before(struct client_proc *p, int err, const struct wire_fh *dir, const char *name,
			uint32_t type)
{
	struct client_node node;

	return err == -EEXIST && p->op.replayed && !client_lookup(p->op.mount, dir, name, &node) &&
	       !client_node_attr(p->op.mount, &node) && node.attr.attr.type == type;
}

int client_create(struct nfsrdma *mount, const struct wire_fh *dir, const char *name,
		  enum client_create_mode how, const struct wire_sattr *set,
		  struct client_node *node)
{
	struct client_proc p;
	uint8_t verf[8];
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_CREATE);
	p.op.idempotent = how == CLIENT_UNCHECKED;
	put_where(&p, dir, name);
	wire_put_u32(&p.args, how);
	if (how == CLIENT_EXCLUSIVE) {
		err = util_random_bytes(verf, sizeof(verf));
		if (err)
			return client_error(mount, err, "no random bytes");
		wire_put_fixed(&p.args, verf, sizeof(verf));
	} else {
		wire_put_sattr(&p.args, set);
	}
	err = client_proc_run(&p);
	if (how == CLIENT_GUARDED && made_before(&p, err, dir, name, CLIENT_REG))
		return client_lookup(mount, dir, name, node);
	return err ? err : get_made(&p, dir, name, node);
}

static int make_dir(struct nfsrdma *mount, const struct wire_fh *dir, const char *name, mode_t mode)
{
	struct wire_sattr set = {.set_mode = true, .mode = mode & 07777};
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_MKDIR);
	p.op.idempotent = false;
	put_where(&p, dir, name);
	wire_put_sattr(&p.args, &set);
	err = client_proc_run(&p);
	if (made_before(&p, err, dir, name, CLIENT_DIR))
		return 0;
	return err;
}

static uint32_t mode_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFCHR:
		return CLIENT_CHR;
	case S_IFBLK:
		return CLIENT_BLK;
	case S_IFSOCK:
		return CLIENT_SOCK;
	case S_IFIFO:
		return CLIENT_FIFO;
	default:
		return CLIENT_REG;
	}
}

static int make_node(struct nfsrdma *mount, const struct wire_fh *dir, const char *name,
		     mode_t mode, dev_t dev)
{
	struct wire_sattr set = {.set_mode = true, .mode = mode & 07777};
	uint32_t type = mode_type(mode);
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_MKNOD);
	p.op.idempotent = false;
	put_where(&p, dir, name);
	wire_put_u32(&p.args, type);
	wire_put_sattr(&p.args, &set);
	if (type == CLIENT_CHR || type == CLIENT_BLK) {
		wire_put_u32(&p.args, major(dev));
		wire_put_u32(&p.args, minor(dev));
	}
	err = client_proc_run(&p);
	if (made_before(&p, err, dir, name, type))
		return 0;
	return err;
}

static int remove_name(struct nfsrdma *mount, uint32_t proc, const struct wire_fh *dir,
		       const char *name)
{
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, proc);
	p.op.idempotent = false;
	put_where(&p, dir, name);
	err = client_proc_run(&p);
	return err == -ENOENT && p.op.replayed ? 0 : err;
}

static int rename_name(struct nfsrdma *mount, const struct client_walk *from,
		       const struct client_walk *to)
{
	struct client_node node;
	struct client_proc p;
	int err;

	client_proc_init(&p, mount, WIRE_NFS3_RENAME);
	p.op.idempotent = false;
	put_where(&p, &from->parent, from->name);
	put_where(&p, &to->parent, to->name);
	err = client_proc_run(&p);
	if (err == -ENOENT && p.op.replayed && !client_lookup(mount, &to->parent, to->name, &node))
		return 0;
	return err;
}

/* ---- the API ------------------------------------------------------------------------------ */

static bool is_dot(const char *name)
{
	return !name[0] || !strcmp(name, ".") || !strcmp(name, "..");
}

/* The parent of a name that is to be made. */
static int walk_new(struct nfsrdma *mount, const char *path, bool dir, struct client_walk *walk)
{
	int err = client_walk(mount, path, CLIENT_WALK_PARENT, walk);

	if (err)
		return err;
	if (is_dot(walk->name))
		return client_error(mount, -EEXIST, "%s", strerror(EEXIST));
	if (walk->trailing_slash && !dir)
		return client_error(mount, -ENOENT, "%s", strerror(ENOENT));
	return 0;
}

int nfsrdma_mkdir(struct nfsrdma *mount, const char *path, mode_t mode)
{
	struct client_walk walk;
	int err = client_enter_change(mount, "mkdir", path);

	if (err)
		return err;
	err = walk_new(mount, path, true, &walk);
	if (!err)
		err = make_dir(mount, &walk.parent, walk.name, mode);
	return err ? client_fail_mount(mount, err, "mkdir", path) : 0;
}

/* A regular file by mknod(2) is a GUARDED CREATE: MKNOD does not make them. */
static int make_file(struct nfsrdma *mount, const struct client_walk *walk, mode_t mode)
{
	struct wire_sattr set = {.set_mode = true, .mode = mode & 07777};
	struct client_node node;

	return client_create(mount, &walk->parent, walk->name, CLIENT_GUARDED, &set, &node);
}

int nfsrdma_mknod(struct nfsrdma *mount, const char *path, mode_t mode, dev_t dev)
{
	struct client_walk walk;
	mode_t type = mode & S_IFMT;
	int err = client_enter_change(mount, "mknod", path);

	if (err)
		return err;
	if (type && type != S_IFREG && mode_type(mode) == CLIENT_REG)
		return client_fail(-EINVAL, "mknod", path, NULL, 0);
	err = walk_new(mount, path, false, &walk);
	if (!err)
		err = mode_type(mode) == CLIENT_REG
			      ? make_file(mount, &walk, mode)
			      : make_node(mount, &walk.parent, walk.name, mode, dev);
	return err ? client_fail_mount(mount, err, "mknod", path) : 0;
}

int nfsrdma_unlink(struct nfsrdma *mount, const char *path)
{
	struct client_walk walk;
	int err = client_enter_change(mount, "unlink", path);

	if (err)
		return err;
	err = client_walk(mount, path, CLIENT_WALK_PARENT, &walk);
	if (!err && is_dot(walk.name))
		err = client_error(mount, -EISDIR, "%s", strerror(EISDIR));
	if (!err && walk.trailing_slash)
		err = client_error(mount, -ENOTDIR, "%s", strerror(ENOTDIR));
	if (!err)
		err = remove_name(mount, WIRE_NFS3_REMOVE, &walk.parent, walk.name);
	return err ? client_fail_mount(mount, err, "unlink", path) : 0;
}

/* What rmdir(2) says of names that cannot be removed. */
static int rmdir_check(struct nfsrdma *mount, const struct client_walk *walk)
{
	int code = 0;

	if (!walk->name[0])
		code = -EBUSY;
	else if (!strcmp(walk->name, "."))
		code = -EINVAL;
	else if (!strcmp(walk->name, ".."))
		code = -ENOTEMPTY;
	return code ? client_error(mount, code, "%s", strerror(-code)) : 0;
}

int nfsrdma_rmdir(struct nfsrdma *mount, const char *path)
{
	struct client_walk walk;
	int err = client_enter_change(mount, "rmdir", path);

	if (err)
		return err;
	err = client_walk(mount, path, CLIENT_WALK_PARENT, &walk);
	if (!err)
		err = rmdir_check(mount, &walk);
	if (!err)
		err = remove_name(mount, WIRE_NFS3_RMDIR, &walk.parent, walk.name);
	return err ? client_fail_mount(mount, err, "rmdir", path) : 0;
}

/* A name with a slash behind it must be a directory's; "to/" may be new if "from" is one. */
static int rename_check(struct nfsrdma *mount, const struct client_walk *from,
			const struct client_walk *to)
{
	struct client_node node;
	int err;

	if (is_dot(from->name) || is_dot(to->name))
		return client_error(mount, -EBUSY, "%s", strerror(EBUSY));
	if (!from->trailing_slash && !to->trailing_slash)
		return 0;
	err = client_lookup(mount, &from->parent, from->name, &node);
	if (!err)
		err = client_node_attr(mount, &node);
	if (!err && node.attr.attr.type != CLIENT_DIR)
		return client_error(mount, -ENOTDIR, "%s", strerror(ENOTDIR));
	return err;
}

int nfsrdma_rename(struct nfsrdma *mount, const char *from, const char *to)
{
	struct client_walk walk_from, walk_to;
	const char *path = from;
	int err = client_enter_change(mount, "rename", from);

	if (err)
		return err;
	err = client_walk(mount, from, CLIENT_WALK_PARENT, &walk_from);
	if (!err) {
		path = to;
		err = client_walk(mount, to, CLIENT_WALK_PARENT, &walk_to);
	}
	if (!err) {
		path = from;
		err = rename_check(mount, &walk_from, &walk_to);
	}
	if (!err)
		err = rename_name(mount, &walk_from, &walk_to);
	return err ? client_fail_mount(mount, err, "rename", path) : 0;
}

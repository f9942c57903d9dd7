/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * null.c - the export whose files read as zeros and swallow writes.
 *
 * It measures transports alone: no file system is touched, data is not looked at.  Names are made
 * by CREATE and MKDIR and kept in memory; a file has the size that was written or set; nobody is
 * refused anything.  There are no links and no device nodes.
 *
 * One lock covers the tree; it is held while results are put together, never while data moves
 * (null_data.c).
 */
#include "tools/nfsrdmad/null.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdmad/null_tree.h"
#include "tools/nfsrdmad/proc_fs.h"
#include "tools/nfsrdmad/server.h"
#include "wire/nfs3_xdr.h"

#define DIR_OVERHEAD (4 + 4 + WIRE_ATTR_LEN + 8 + 8)

static void node_fh(const struct server *srv, const struct server_null_node *node,
		    struct wire_fh *fh)
{
	struct server_handle h = {
		.export_id = srv->null->export_id,
		.id = {.kind = SERVER_ID_NULL, .len = SERVER_NULL_ID_LEN},
	};

	util_put_be32(h.id.bytes, node->index);
	util_put_be64(h.id.bytes + 4, node->generation);
	server_handle_encode(srv->key, &h, fh);
}

int server_null_create(struct server *srv, const struct server_export *exp)
{
	struct server_null *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->export_id = exp->id;
	tree->fsid = exp->fsid;
	if (server_null_tree_init(tree)) {
		free(tree);
		return -ENOMEM;
	}
	srv->null = tree;
	node_fh(srv, tree->table[0], &tree->root_fh);
	return 0;
}

void server_null_destroy(struct server *srv)
{
	if (!srv->null)
		return;
	server_null_tree_fini(srv->null);
	free(srv->null);
	srv->null = NULL;
}

void server_null_root(const struct server *srv, struct wire_fh *fh)
{
	*fh = srv->null->root_fh;
}

/* ---- results ---------------------------------------------------------------------------- */

static void put_post(struct server_op *op, const struct server_null_node *node)
{
	struct wire_post_attr post;

	server_null_post(op->srv->null, node, &post);
	wire_put_post_attr(&op->req->results, &post);
}

static void put_wcc(struct server_op *op, const struct server_null_node *node, struct wire_wcc *wcc)
{
	server_null_post(op->srv->null, node, &wcc->after);
	wire_put_wcc(&op->req->results, wcc);
}

static void node_set(struct server_null_node *node, const struct wire_sattr *s)
{
	struct wire_time now = server_null_now();

	if (s->set_mode)
		node->mode = s->mode & 07777;
	if (s->set_uid)
		node->uid = s->uid;
	if (s->set_gid)
		node->gid = s->gid;
	if (s->set_size && !node->dir)
		node->size = s->size;
	if (s->set_atime)
		node->atime = s->set_atime == WIRE_SET_TO_SERVER_TIME ? now : s->atime;
	if (s->set_mtime)
		node->mtime = s->set_mtime == WIRE_SET_TO_SERVER_TIME ? now : s->mtime;
	node->ctime = now;
}

/* ---- arguments -------------------------------------------------------------------------- */

/* A folder and a name in it, from the arguments. */
struct diropargs {
	struct wire_fh fh;
	char name[WIRE_NAME_MAX + 1];
	int name_err;
	struct server_null_node *dir, *child; /* child NULL: the name is free */
};

static void dirop_decode(struct server_op *op, struct diropargs *a)
{
	wire_get_fh(&op->req->args, &a->fh);
	a->name_err = server_name(&op->req->args, a->name);
}

static int dirop_find(struct server_op *op, struct diropargs *a)
{
	int err = server_null_node(op, &a->fh, &a->dir);

	if (err)
		return err;
	if (!a->dir->dir)
		return -ENOTDIR;
	if (a->name_err)
		return a->name_err;
	a->child = server_null_tree_find(op->srv->null, a->dir, a->name);
	return 0;
}

/* ---- procedures: each puts its results, or returns an error before it put any ----------- */

static int null_getattr(struct server_op *op, struct server_null_node *node)
{
	struct wire_post_attr post;

	if (!server_begin(op, WIRE_ATTR_LEN + 4))
		return 1;
	server_null_post(op->srv->null, node, &post);
	wire_put_attr(&op->req->results, &post.attr);
	return 0;
}

static int null_setattr(struct server_op *op, struct server_null_node *node)
{
	struct wire_dec *d = &op->req->args;
	struct wire_sattr sattr;
	struct wire_wcc wcc;
	struct wire_time guard;

	wire_get_sattr(d, &sattr);
	if (wire_get_bool(d)) {
		guard.sec = wire_get_u32(d);
		guard.nsec = wire_get_u32(d);
		if (!d->bad && (guard.sec != node->ctime.sec || guard.nsec != node->ctime.nsec))
			return -ESTALE;
	}
	if (d->bad)
		return -EPROTO;
	if (sattr.set_size && (node->dir || sattr.size > INT64_MAX))
		return -EINVAL;
	if (!server_begin(op, 160))
		return 1;
	server_null_pre(node, &wcc.before);
	node_set(node, &sattr);
	put_wcc(op, node, &wcc);
	return 0;
}

static int null_lookup(struct server_op *op, struct diropargs *a)
{
	struct server_null_node *found = a->child;
	struct wire_fh fh;

	if (!strcmp(a->name, "."))
		found = a->dir;
	else if (!strcmp(a->name, ".."))
		found = a->dir->parent ? a->dir->parent : a->dir;
	if (!found)
		return -ENOENT;
	if (!server_begin(op, 320))
		return 1;
	node_fh(op->srv, found, &fh);
	wire_put_fh(&op->req->results, &fh);
	put_post(op, found);
	put_post(op, a->dir);
	return 0;
}

static int null_access(struct server_op *op, struct server_null_node *node)
{
	uint32_t all = ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND |
		       (node->dir ? ACCESS3_LOOKUP | ACCESS3_DELETE : ACCESS3_EXECUTE);
	uint32_t want = wire_get_u32(&op->req->args);

	if (op->req->args.bad)
		return -EPROTO;
	if (!server_begin(op, 160))
		return 1;
	put_post(op, node);
	wire_put_u32(&op->req->results, want & all);
	return 0;
}

static int null_make(struct server_op *op, struct diropargs *a, bool dir)
{
	struct wire_dec *d = &op->req->args;
	struct wire_sattr sattr = {.set_mode = false};
	struct server_null_node *node = a->child;
	struct wire_wcc wcc;
	struct wire_fh fh;
	uint32_t how = dir ? GUARDED : wire_get_u32(d);

	if (how == EXCLUSIVE)
		wire_get_u64(d);
	else
		wire_get_sattr(d, &sattr);
	if (d->bad || how > EXCLUSIVE)
		return -EPROTO;
	if (server_name_dots(a->name) || (node && (how != UNCHECKED || node->dir)))
		return -EEXIST;
	server_null_pre(a->dir, &wcc.before);
	if (!node)
		node = server_null_tree_add(op->srv->null, a->dir, a->name, dir);
	if (!node)
		return -ENOSPC;
	if (!server_begin(op, 400))
		return 1;
	node_set(node, &sattr);
	node_fh(op->srv, node, &fh);
	wire_put_bool(&op->req->results, true);
	wire_put_fh(&op->req->results, &fh);
	put_post(op, node);
	put_wcc(op, a->dir, &wcc);
	return 0;
}

static int null_remove(struct server_op *op, struct diropargs *a, bool dir)
{
	struct wire_wcc wcc;

	if (server_name_dots(a->name))
		return -EINVAL;
	if (!a->child)
		return -ENOENT;
	if (a->child->dir != dir)
		return dir ? -ENOTDIR : -EISDIR;
	if (!util_list_empty(&a->child->children))
		return -ENOTEMPTY;
	if (!server_begin(op, 160))
		return 1;
	server_null_pre(a->dir, &wcc.before);
	server_null_tree_remove(op->srv->null, a->child);
	put_wcc(op, a->dir, &wcc);
	return 0;
}

/* May what has the new name make way? */
static int rename_over(struct server_null *tree, struct server_null_node *from,
		       struct server_null_node *over)
{
	if (from->dir != over->dir)
		return from->dir ? -ENOTDIR : -EISDIR;
	if (!util_list_empty(&over->children))
		return -ENOTEMPTY;
	server_null_tree_remove(tree, over);
	return 0;
}

static int null_rename(struct server_op *op, struct diropargs *from)
{
	struct wire_wcc wcc, wcc2;
	struct diropargs to;
	int err;

	dirop_decode(op, &to);
	if (op->req->args.bad)
		return -EPROTO;
	err = dirop_find(op, &to);
	if (err)
		return err;
	if (server_name_dots(from->name) || server_name_dots(to.name))
		return -EINVAL;
	if (!from->child)
		return -ENOENT;
	if (server_null_tree_above(from->child, to.dir))
		return -EINVAL;
	server_null_pre(from->dir, &wcc.before);
	server_null_pre(to.dir, &wcc2.before);
	if (to.child != from->child) {
		err = to.child ? rename_over(op->srv->null, from->child, to.child) : 0;
		if (err)
			return err;
		server_null_tree_move(op->srv->null, from->child, to.dir, to.name);
	}
	if (!server_begin(op, 320))
		return 1;
	put_wcc(op, from->dir, &wcc);
	put_wcc(op, to.dir, &wcc2);
	return 0;
}

/* ---- READDIR ---------------------------------------------------------------------------- */

static bool put_entry(struct server_op *op, const struct server_null_node *node, const char *name,
		      uint64_t cookie, bool plus)
{
	struct wire_dirent ent = {
		.fileid = node->index + UINT64_C(1),
		.cookie = cookie,
		.name = (const uint8_t *)name,
		.name_len = (uint32_t)strlen(name),
	};

	if (plus) {
		server_null_post(op->srv->null, node, &ent.attr);
		ent.has_fh = true;
		node_fh(op->srv, node, &ent.fh);
	}
	return wire_dirent_encode(&op->req->results, &ent, plus);
}

/* true: to the end. */
static bool put_entries(struct server_op *op, const struct server_null_node *dir, uint64_t cookie,
			bool plus)
{
	const struct server_null_node *up = dir->parent ? dir->parent : dir;

	if (cookie < 1 && !put_entry(op, dir, ".", 1, plus))
		return false;
	if (cookie < 2 && !put_entry(op, up, "..", 2, plus))
		return false;
	UTIL_LIST_FOR_EACH (pos, &dir->children) {
		const struct server_null_node *node =
			UTIL_LIST_ENTRY(pos, struct server_null_node, siblings);

		if (node->cookie > cookie && !put_entry(op, node, node->name, node->cookie, plus))
			return false;
	}
	return true;
}

static int null_readdir(struct server_op *op, struct server_null_node *dir, bool plus)
{
	struct wire_dec *d = &op->req->args;
	struct wire_readdir_head head = {.status = NFS3_OK};
	size_t room = op->req->reply_room < SERVER_DIR_DATA ? op->req->reply_room : SERVER_DIR_DATA;
	uint64_t cookie = wire_get_u64(d);
	uint32_t count;

	wire_get_u64(d); /* cookies stay good: any verifier */
	if (plus)
		wire_get_u32(d);
	count = wire_get_u32(d);
	if (d->bad)
		return -EPROTO;
	if (!dir->dir)
		return -ENOTDIR;
	if (room > (size_t)count + 4)
		room = (size_t)count + 4;
	if (room < DIR_OVERHEAD + 512)
		return -ENOBUFS;
	if (!server_begin_bare(op, room))
		return 1;
	server_null_post(op->srv->null, dir, &head.attr);
	wire_readdir_head_encode(&op->req->results, &head);
	wire_readdir_end_encode(&op->req->results, put_entries(op, dir, cookie, plus));
	return 0;
}

/* ---- file system ------------------------------------------------------------------------ */

static int null_fs(struct server_op *op, struct server_null_node *node)
{
	const struct server_fsstat fs = {
		.total_bytes = UINT64_C(1) << 60,
		.free_bytes = UINT64_C(1) << 60,
		.avail_bytes = UINT64_C(1) << 60,
		.total_files = SERVER_NULL_NODES,
		.free_files = SERVER_NULL_NODES - op->srv->null->count,
		.avail_files = SERVER_NULL_NODES - op->srv->null->count,
	};

	if (!server_begin(op, 200))
		return 1;
	put_post(op, node);
	if (op->proc_num == WIRE_NFS3_FSSTAT)
		server_fsstat_put(&fs, &op->req->results);
	else if (op->proc_num == WIRE_NFS3_FSINFO)
		server_fsinfo_put(op->srv, &op->req->results);
	else
		server_pathconf_put(1, WIRE_NAME_MAX, &op->req->results);
	return 0;
}

/* ---- dispatch --------------------------------------------------------------------------- */

/* Procedures whose first argument is a folder and a name. */
static int null_dirop(struct server_op *op)
{
	struct diropargs a;
	int err;

	dirop_decode(op, &a);
	if (op->req->args.bad)
		return -EPROTO;
	err = dirop_find(op, &a);
	if (err)
		return err;
	switch (op->proc_num) {
	case WIRE_NFS3_LOOKUP:
		return null_lookup(op, &a);
	case WIRE_NFS3_CREATE:
	case WIRE_NFS3_MKDIR:
		return null_make(op, &a, op->proc_num == WIRE_NFS3_MKDIR);
	case WIRE_NFS3_REMOVE:
	case WIRE_NFS3_RMDIR:
		return null_remove(op, &a, op->proc_num == WIRE_NFS3_RMDIR);
	case WIRE_NFS3_RENAME:
		return null_rename(op, &a);
	default:
		return -EOPNOTSUPP;
	}
}

/* Procedures whose first argument is an object. */
static int null_object(struct server_op *op)
{
	struct server_null_node *node;
	struct wire_fh fh;
	int err;

	wire_get_fh(&op->req->args, &fh);
	err = op->req->args.bad ? -EPROTO : server_null_node(op, &fh, &node);
	if (err)
		return err;
	switch (op->proc_num) {
	case WIRE_NFS3_GETATTR:
		return null_getattr(op, node);
	case WIRE_NFS3_SETATTR:
		return null_setattr(op, node);
	case WIRE_NFS3_ACCESS:
		return null_access(op, node);
	case WIRE_NFS3_READDIR:
	case WIRE_NFS3_READDIRPLUS:
		return null_readdir(op, node, op->proc_num == WIRE_NFS3_READDIRPLUS);
	case WIRE_NFS3_READLINK:
		return -EINVAL;
	case WIRE_NFS3_LINK:
		return -EOPNOTSUPP;
	default:
		return null_fs(op, node);
	}
}

static int null_names(struct server_op *op)
{
	struct server_null *tree = op->srv->null;
	int err;

	pthread_mutex_lock(&tree->lock);
	switch (op->proc_num) {
	case WIRE_NFS3_LOOKUP:
	case WIRE_NFS3_CREATE:
	case WIRE_NFS3_MKDIR:
	case WIRE_NFS3_SYMLINK:
	case WIRE_NFS3_MKNOD:
	case WIRE_NFS3_REMOVE:
	case WIRE_NFS3_RMDIR:
	case WIRE_NFS3_RENAME:
		err = null_dirop(op);
		break;
	default:
		err = null_object(op);
	}
	pthread_mutex_unlock(&tree->lock);
	return err;
}

void server_null_dispatch(struct server_op *op)
{
	int err;

	if (!op->srv->null)
		err = -EBADF;
	else if (op->proc_num == WIRE_NFS3_READ)
		err = server_null_read(op);
	else if (op->proc_num == WIRE_NFS3_WRITE)
		err = server_null_write(op);
	else if (op->proc_num == WIRE_NFS3_COMMIT)
		err = server_null_commit(op);
	else
		err = null_names(op);
	/* 1: there was no room, and the client was told. */
	if (err == 0)
		server_reply(op);
	else if (err == -EPROTO)
		server_garbage(op);
	else if (err < 0)
		server_fail(op, err);
}

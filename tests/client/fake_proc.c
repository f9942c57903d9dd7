/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_proc.c - the fake server's procedures of NFSv3 and MOUNT.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/client/fake_proc.h"

enum {
	OK = 0,
	NOENT = 2,
	EXIST = 17,
	NOTDIR = 20,
	ISDIR = 21,
	INVAL = 22,
	NOTEMPTY = 66,
	STALE = 70,
	BAD_COOKIE = 10003,
};

static void put_attr(struct fake_call *c, unsigned node)
{
	struct wire_post_attr a = {.present = node && !fake_is(c, FAKE_NO_ATTR)};

	if (a.present)
		fake_tree_attr(&c->f->tree, node, &a.attr);
	wire_put_post_attr(c->out, &a);
}

static void put_wcc(struct fake_call *c, unsigned node)
{
	wire_put_bool(c->out, false);
	put_attr(c, node);
}

static void put_post_fh(struct fake_call *c, unsigned node)
{
	struct wire_fh fh;

	if (fake_is(c, FAKE_NO_ATTR)) {
		wire_put_bool(c->out, false);
		return;
	}
	fake_tree_fh(&c->f->tree, node, &fh);
	wire_put_bool(c->out, true);
	wire_put_fh(c->out, &fh);
}

void fake_fail(struct fake_call *c, uint32_t proc, uint32_t status)
{
	wire_put_u32(c->out, status);
	switch (proc) {
	case WIRE_NFS3_GETATTR:
		break;
	case WIRE_NFS3_RENAME:
		put_wcc(c, 0);
		put_wcc(c, 0);
		break;
	case WIRE_NFS3_LINK:
		put_attr(c, 0);
		put_wcc(c, 0);
		break;
	case WIRE_NFS3_SETATTR:
	case WIRE_NFS3_WRITE:
	case WIRE_NFS3_CREATE:
	case WIRE_NFS3_MKDIR:
	case WIRE_NFS3_SYMLINK:
	case WIRE_NFS3_MKNOD:
	case WIRE_NFS3_REMOVE:
	case WIRE_NFS3_RMDIR:
	case WIRE_NFS3_COMMIT:
		put_wcc(c, 0);
		break;
	default:
		put_attr(c, 0);
		break;
	}
}

static unsigned get_node(struct fake_call *c)
{
	struct wire_fh fh;

	wire_get_fh(c->args, &fh);
	return c->args->bad ? 0 : fake_tree_of_fh(&c->f->tree, &fh);
}

static void apply(struct fake_call *c, unsigned node, const struct wire_sattr *s)
{
	struct fake_node *n = &c->f->tree.nodes[node];

	if (s->set_mode)
		n->mode = s->mode;
	if (s->set_uid)
		n->uid = s->uid;
	if (s->set_gid)
		n->gid = s->gid;
	if (s->set_size)
		fake_tree_truncate(&c->f->tree, node, s->size);
	if (s->set_atime)
		n->atime = s->atime;
	if (s->set_mtime)
		n->mtime = s->mtime;
}

/* ---- attributes --------------------------------------------------------------------------- */

static void do_getattr(struct fake_call *c, unsigned node)
{
	struct wire_attr a;

	fake_tree_attr(&c->f->tree, node, &a);
	wire_put_u32(c->out, OK);
	wire_put_attr(c->out, &a);
}

static void do_setattr(struct fake_call *c, unsigned node)
{
	struct wire_sattr s;

	wire_get_sattr(c->args, &s);
	apply(c, node, &s);
	wire_put_u32(c->out, OK);
	put_wcc(c, node);
}

static void do_access(struct fake_call *c, unsigned node)
{
	uint32_t want = wire_get_u32(c->args);

	wire_put_u32(c->out, OK);
	put_attr(c, node);
	wire_put_u32(c->out, c->f->tree.nodes[node].denied ? 0 : want);
}

/* ---- names -------------------------------------------------------------------------------- */

struct where {
	unsigned dir;
	const char *name;
	size_t len;
};

static void get_where(struct fake_call *c, unsigned dir, struct where *w)
{
	w->dir = dir;
	w->name = (const char *)wire_get_opaque(c->args, WIRE_NAME_MAX, &w->len);
	if (!w->name)
		w->len = 0;
}

static void do_lookup(struct fake_call *c, unsigned dir)
{
	struct fake_tree *t = &c->f->tree;
	struct where w;
	struct wire_fh fh;
	unsigned node;

	get_where(c, dir, &w);
	if (t->nodes[dir].type != 2) {
		fake_fail(c, WIRE_NFS3_LOOKUP, NOTDIR);
		return;
	}
	node = fake_tree_child(t, dir, w.name, w.len);
	if (!node) {
		fake_fail(c, WIRE_NFS3_LOOKUP, NOENT);
		return;
	}
	fake_tree_fh(t, node, &fh);
	wire_put_u32(c->out, OK);
	wire_put_fh(c->out, &fh);
	put_attr(c, node);
	put_attr(c, dir);
}

static void reply_made(struct fake_call *c, unsigned node, unsigned dir)
{
	wire_put_u32(c->out, OK);
	put_post_fh(c, node);
	put_attr(c, node);
	put_wcc(c, dir);
}

static void do_create(struct fake_call *c, unsigned dir)
{
	struct fake_tree *t = &c->f->tree;
	struct wire_sattr s = {0};
	const uint8_t *verf = NULL;
	struct where w;
	unsigned node;
	uint32_t how;

	get_where(c, dir, &w);
	how = wire_get_u32(c->args);
	if (how == 2)
		verf = wire_get_fixed(c->args, 8);
	else
		wire_get_sattr(c->args, &s);
	node = fake_tree_child(t, dir, w.name, w.len);
	if (node && (how == 1 || (how == 2 && memcmp(t->nodes[node].create_verf, verf, 8) != 0))) {
		fake_fail(c, WIRE_NFS3_CREATE, EXIST);
		return;
	}
	if (!node)
		node = fake_tree_add(t, dir, w.name, w.len, 1);
	if (verf)
		memcpy(t->nodes[node].create_verf, verf, 8);
	apply(c, node, &s);
	reply_made(c, node, dir);
}

static void make(struct fake_call *c, unsigned dir, uint32_t proc, const struct where *w,
		 uint32_t type, const struct wire_sattr *s, const char *target, size_t target_len)
{
	struct fake_tree *t = &c->f->tree;
	unsigned node = fake_tree_child(t, dir, w->name, w->len);

	if (node) {
		fake_fail(c, proc, EXIST);
		return;
	}
	node = fake_tree_add(t, dir, w->name, w->len, type);
	apply(c, node, s);
	if (target) {
		t->nodes[node].target = strndup(target, target_len);
		t->nodes[node].size = target_len;
	}
	reply_made(c, node, dir);
}

static void do_mkdir(struct fake_call *c, unsigned dir)
{
	struct wire_sattr s;
	struct where w;

	get_where(c, dir, &w);
	wire_get_sattr(c->args, &s);
	make(c, dir, WIRE_NFS3_MKDIR, &w, 2, &s, NULL, 0);
}

static void do_mknod(struct fake_call *c, unsigned dir)
{
	struct wire_sattr s;
	struct where w;
	uint32_t type;

	get_where(c, dir, &w);
	type = wire_get_u32(c->args);
	wire_get_sattr(c->args, &s);
	make(c, dir, WIRE_NFS3_MKNOD, &w, type, &s, NULL, 0);
}

static void do_symlink(struct fake_call *c)
{
	struct wire_symlink_args a;
	struct where w;
	unsigned dir;

	if (wire_symlink_args_decode(c->args, &a, false))
		return;
	dir = fake_tree_of_fh(&c->f->tree, &a.dir);
	w = (struct where){dir, (const char *)a.name, a.name_len};
	make(c, dir, WIRE_NFS3_SYMLINK, &w, 5, &a.attr, (const char *)a.target, a.target_len);
}

static void do_readlink(struct fake_call *c, unsigned node)
{
	const struct fake_node *n = &c->f->tree.nodes[node];

	if (n->type != 5) {
		fake_fail(c, WIRE_NFS3_READLINK, INVAL);
		return;
	}
	wire_put_u32(c->out, OK);
	put_attr(c, node);
	wire_put_opaque(c->out, n->target, strlen(n->target));
}

static bool has_children(struct fake_tree *t, unsigned dir)
{
	for (unsigned i = FAKE_ROOT + 1; i < t->n; i++)
		if (t->nodes[i].used && t->nodes[i].parent == dir)
			return true;
	return false;
}

static void do_remove(struct fake_call *c, unsigned dir, uint32_t proc)
{
	struct fake_tree *t = &c->f->tree;
	struct where w;
	unsigned node;
	bool is_dir;

	get_where(c, dir, &w);
	node = fake_tree_child(t, dir, w.name, w.len);
	is_dir = node && t->nodes[node].type == 2;
	if (!node)
		fake_fail(c, proc, NOENT);
	else if (proc == WIRE_NFS3_REMOVE && is_dir)
		fake_fail(c, proc, ISDIR);
	else if (proc == WIRE_NFS3_RMDIR && !is_dir)
		fake_fail(c, proc, NOTDIR);
	else if (is_dir && has_children(t, node))
		fake_fail(c, proc, NOTEMPTY);
	else {
		fake_tree_unlink(t, node);
		wire_put_u32(c->out, OK);
		put_wcc(c, dir);
	}
}

static void do_rename(struct fake_call *c, unsigned dir)
{
	struct fake_tree *t = &c->f->tree;
	struct where from, to;
	unsigned node, old;

	get_where(c, dir, &from);
	dir = get_node(c);
	get_where(c, dir, &to);
	node = fake_tree_child(t, from.dir, from.name, from.len);
	if (!node) {
		fake_fail(c, WIRE_NFS3_RENAME, NOENT);
		return;
	}
	old = fake_tree_child(t, to.dir, to.name, to.len);
	if (old && old != node)
		fake_tree_unlink(t, old);
	t->nodes[node].parent = to.dir;
	memset(t->nodes[node].name, 0, sizeof(t->nodes[node].name));
	memcpy(t->nodes[node].name, to.name, to.len);
	wire_put_u32(c->out, OK);
	put_wcc(c, from.dir);
	put_wcc(c, to.dir);
}

static void do_link(struct fake_call *c, unsigned node)
{
	struct fake_tree *t = &c->f->tree;
	unsigned dir = get_node(c), link;
	struct where w;

	get_where(c, dir, &w);
	if (fake_tree_child(t, dir, w.name, w.len)) {
		fake_fail(c, WIRE_NFS3_LINK, EXIST);
		return;
	}
	link = fake_tree_add(t, dir, w.name, w.len, t->nodes[node].type);
	t->nodes[link].alias = node;
	t->nodes[node].nlink++;
	wire_put_u32(c->out, OK);
	put_attr(c, node);
	put_wcc(c, dir);
}

/* ---- data --------------------------------------------------------------------------------- */

static void do_read(struct fake_call *c)
{
	struct fake_tree *t = &c->f->tree;
	struct wire_read_args a;
	struct wire_read_res r = {0};
	uint64_t left;
	uint8_t *bytes;
	unsigned node;

	if (wire_read_args_decode(c->args, &a))
		return;
	node = fake_tree_of_fh(t, &a.fh);
	if (!node) {
		fake_fail(c, WIRE_NFS3_READ, STALE);
		return;
	}
	c->f->last_offset = a.offset;
	c->f->last_count = a.count;
	left = a.offset < t->nodes[node].size ? t->nodes[node].size - a.offset : 0;
	r.count = left < a.count ? (uint32_t)left : a.count;
	if (fake_is(c, FAKE_SHORT) && r.count > c->rule->arg)
		r.count = (uint32_t)c->rule->arg;
	if (fake_is(c, FAKE_EMPTY))
		r.count = 0;
	r.eof = a.offset + r.count >= t->nodes[node].size && !fake_is(c, FAKE_EMPTY);
	r.attr.present = !fake_is(c, FAKE_NO_ATTR);
	fake_tree_attr(t, node, &r.attr.attr);
	bytes = malloc((size_t)r.count + 4096);
	if (!bytes)
		abort();
	memset(bytes, 0x5a, (size_t)r.count + 4096);
	fake_tree_read(t, node, a.offset, bytes, r.count, false);
	r.data = bytes;
	r.data_len = r.count;
	if (fake_is(c, FAKE_COUNT_PLUS)) { /* both words agree: more than was asked for */
		r.count += (uint32_t)c->rule->arg;
		r.data_len = r.count;
	}
	wire_read_res_encode(c->out, &r, false);
	free(bytes);
}

static void do_write(struct fake_call *c)
{
	struct fake_tree *t = &c->f->tree;
	struct wire_write_args a;
	struct wire_write_res r = {0};
	unsigned node;

	if (wire_write_args_decode(c->args, &a, false))
		return;
	node = fake_tree_of_fh(t, &a.fh);
	if (!node) {
		fake_fail(c, WIRE_NFS3_WRITE, STALE);
		return;
	}
	c->f->last_offset = a.offset;
	c->f->last_count = a.count;
	c->f->last_stable = a.stable;
	r.count = a.data_len;
	if (fake_is(c, FAKE_SHORT) && r.count > c->rule->arg)
		r.count = (uint32_t)c->rule->arg;
	if (fake_is(c, FAKE_EMPTY))
		r.count = 0;
	r.committed = fake_is(c, FAKE_UNSTABLE) ? WIRE_UNSTABLE : a.stable;
	fake_tree_write(t, node, a.offset, a.data, r.count, r.committed != WIRE_UNSTABLE);
	if (fake_is(c, FAKE_COUNT_PLUS))
		r.count += (uint32_t)c->rule->arg;
	util_put_be64(r.verf, c->f->verf);
	wire_write_res_encode(c->out, &r);
}

static void do_commit(struct fake_call *c, unsigned node)
{
	fake_tree_commit(&c->f->tree, node);
	wire_put_u32(c->out, OK);
	put_wcc(c, node);
	wire_put_u64(c->out, c->f->verf);
}

/* ---- directories -------------------------------------------------------------------------- */

/* The first entry after cookie; cookies are node numbers, or positions in a big directory. */
static bool next_entry(struct fake_tree *t, unsigned dir, uint64_t cookie, struct wire_dirent *ent,
		       char *name)
{
	if (t->nodes[dir].big_dir) {
		if (cookie >= t->nodes[dir].big_dir)
			return false;
		ent->cookie = cookie + 1;
		ent->fileid = 1000000 + cookie;
		ent->name_len = (uint32_t)sprintf(name, "f%llu", (unsigned long long)cookie);
		return true;
	}
	for (uint64_t i = cookie + 1; i < t->n; i++) {
		if (i <= FAKE_ROOT || !t->nodes[i].used || t->nodes[i].parent != dir)
			continue;
		ent->cookie = i;
		ent->fileid = fake_tree_real(t, (unsigned)i);
		ent->name_len = (uint32_t)strlen(t->nodes[i].name);
		strcpy(name, t->nodes[i].name);
		return true;
	}
	return false;
}

static void fill_plus(struct fake_call *c, unsigned dir, struct wire_dirent *ent)
{
	struct fake_tree *t = &c->f->tree;

	ent->attr.present = !fake_is(c, FAKE_NO_ATTR);
	ent->has_fh = ent->attr.present;
	fake_tree_attr(t, t->nodes[dir].big_dir ? dir : (unsigned)ent->cookie, &ent->attr.attr);
	fake_tree_fh(t, t->nodes[dir].big_dir ? dir : (unsigned)ent->cookie, &ent->fh);
}

static void do_readdir(struct fake_call *c, bool plus)
{
	struct fake_tree *t = &c->f->tree;
	struct wire_readdir_head head = {0};
	struct wire_readdir_args a;
	struct wire_dirent ent;
	char name[WIRE_NAME_MAX + 1];
	uint64_t cookie;
	size_t start;
	unsigned dir;
	bool more;

	if (wire_readdir_args_decode(c->args, &a, plus))
		return;
	dir = fake_tree_of_fh(t, &a.dir);
	if (!dir) {
		fake_fail(c, WIRE_NFS3_READDIR, STALE);
		return;
	}
	start = wire_enc_len(c->out);
	wire_readdir_head_encode(c->out, &head);
	cookie = a.cookie;
	memset(&ent, 0, sizeof(ent));
	ent.name = (const uint8_t *)name;
	more = !fake_is(c, FAKE_EMPTY);
	while (more && (more = next_entry(t, dir, cookie, &ent, name))) {
		cookie = ent.cookie;
		if (plus)
			fill_plus(c, dir, &ent);
		if (fake_is(c, FAKE_BAD_NAME))
			ent.name_len = (uint32_t)sprintf(name, "a/b");
		if (fake_is(c, FAKE_SAME_COOKIE))
			ent.cookie = c->rule->arg;
		if (wire_enc_len(c->out) - start + wire_dirent_size(&ent, plus) + 8 > a.maxcount ||
		    !wire_dirent_encode(c->out, &ent, plus))
			break;
	}
	if (!fake_is(c, FAKE_NO_END))
		wire_readdir_end_encode(c->out, !more && !fake_is(c, FAKE_EMPTY));
}

/* ---- file systems ------------------------------------------------------------------------- */

static void do_fsinfo(struct fake_call *c, unsigned node)
{
	struct fake_nfs *f = c->f;

	wire_put_u32(c->out, OK);
	put_attr(c, node);
	wire_put_u32(c->out, f->rtmax);
	wire_put_u32(c->out, f->rtmax);
	wire_put_u32(c->out, 512);
	wire_put_u32(c->out, f->wtmax);
	wire_put_u32(c->out, f->wtmax);
	wire_put_u32(c->out, 512);
	wire_put_u32(c->out, f->dtpref);
	wire_put_u64(c->out, INT64_MAX);
	wire_put_u32(c->out, 0);
	wire_put_u32(c->out, 1);
	wire_put_u32(c->out, 0x1b);
}

static void do_fsstat(struct fake_call *c, unsigned node)
{
	wire_put_u32(c->out, OK);
	put_attr(c, node);
	for (uint64_t i = 1; i <= 6; i++)
		wire_put_u64(c->out, i * 1000);
	wire_put_u32(c->out, 0);
}

static void do_pathconf(struct fake_call *c, unsigned node)
{
	wire_put_u32(c->out, OK);
	put_attr(c, node);
	wire_put_u32(c->out, 32000);
	wire_put_u32(c->out, 255);
	for (int i = 0; i < 4; i++)
		wire_put_bool(c->out, true);
}

/* Procedures whose arguments begin with a handle they need. */
static void with_node(struct fake_call *c, uint32_t proc, unsigned node)
{
	switch (proc) {
	case WIRE_NFS3_GETATTR:
		do_getattr(c, node);
		break;
	case WIRE_NFS3_SETATTR:
		do_setattr(c, node);
		break;
	case WIRE_NFS3_LOOKUP:
		do_lookup(c, node);
		break;
	case WIRE_NFS3_ACCESS:
		do_access(c, node);
		break;
	case WIRE_NFS3_READLINK:
		do_readlink(c, node);
		break;
	case WIRE_NFS3_CREATE:
		do_create(c, node);
		break;
	case WIRE_NFS3_MKDIR:
		do_mkdir(c, node);
		break;
	case WIRE_NFS3_MKNOD:
		do_mknod(c, node);
		break;
	case WIRE_NFS3_REMOVE:
	case WIRE_NFS3_RMDIR:
		do_remove(c, node, proc);
		break;
	case WIRE_NFS3_RENAME:
		do_rename(c, node);
		break;
	case WIRE_NFS3_LINK:
		do_link(c, node);
		break;
	case WIRE_NFS3_FSSTAT:
		do_fsstat(c, node);
		break;
	case WIRE_NFS3_FSINFO:
		do_fsinfo(c, node);
		break;
	case WIRE_NFS3_PATHCONF:
		do_pathconf(c, node);
		break;
	default:
		do_commit(c, node);
		break;
	}
}

void fake_nfs_proc(struct fake_call *c, uint32_t proc)
{
	unsigned node;

	switch (proc) {
	case WIRE_NFS3_NULL:
		return;
	case WIRE_NFS3_READ:
		do_read(c);
		return;
	case WIRE_NFS3_WRITE:
		do_write(c);
		return;
	case WIRE_NFS3_SYMLINK:
		do_symlink(c);
		return;
	case WIRE_NFS3_READDIR:
	case WIRE_NFS3_READDIRPLUS:
		do_readdir(c, proc == WIRE_NFS3_READDIRPLUS);
		return;
	default:
		node = get_node(c);
		if (node)
			with_node(c, proc, node);
		else
			fake_fail(c, proc, STALE);
	}
}

static void put_export(struct fake_call *c, const char *path, const char *group1,
		       const char *group2)
{
	wire_put_bool(c->out, true);
	wire_put_opaque(c->out, path, strlen(path));
	wire_put_bool(c->out, true);
	wire_put_opaque(c->out, group1, strlen(group1));
	wire_put_bool(c->out, true);
	wire_put_opaque(c->out, group2, strlen(group2));
	wire_put_bool(c->out, false);
}

void fake_mount_proc(struct fake_call *c, uint32_t proc)
{
	struct wire_mnt_res res = {.nflavors = 1, .flavors = {WIRE_AUTH_SYS}};
	char path[WIRE_PATH_MAX + 1];

	if (proc == WIRE_MOUNT_MNT) {
		if (wire_mnt_args_decode(c->args, path))
			return;
		res.status = NOENT;
		if (!strcmp(path, "/export") || !strncmp(path, "/export/inner", 14)) {
			unsigned node = fake_tree_walk(&c->f->tree, path + strlen("/export"));

			res.status = node ? 0 : NOENT;
			if (node)
				fake_tree_fh(&c->f->tree, node, &res.fh);
		}
		wire_mnt_res_encode(c->out, &res);
	} else if (proc == WIRE_MOUNT_EXPORT) {
		if (!c->f->hide_exports) {
			put_export(c, "/export", "127.0.0.0/8", "localhost");
			wire_export_encode(c->out, "/export/inner", NULL);
		}
		wire_export_end_encode(c->out);
	}
}

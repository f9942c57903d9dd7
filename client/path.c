/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.c - from a path to a handle: LOOKUPs, symbolic links, and what ".." means.
 *
 * The walk is a loop over what remains of the path.  A symlink puts its target in front of the
 * rest; an absolute one starts again at the mount's root, and after 40 of them it is -ELOOP.
 *
 * ".." is answered from a stack of the directories walked through, never by the server: at the
 * root it stays there, whatever the server would say and whoever renames directories meanwhile.
 *
 * Every name is checked before it is sent: longer than 255 bytes is -ENAMETOOLONG without asking.
 *
 * A handle that goes stale under the walk was removed meanwhile; the path may well name something
 * again, so the walk starts over once.
 */
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

/* What remains to be walked; symlinks can make it longer than any one path. */
#define REST_MAX (2 * WIRE_PATH_MAX)

struct walker {
	struct nfsrdma *mount;
	unsigned flags, links;
	struct client_node here;
	/* the directories above here, the root first */
	struct wire_fh *above;
	size_t depth, room;
	const char *p; /* into rest */
	char rest[REST_MAX + 2];
};

static int walker_push(struct walker *w)
{
	if (w->depth == w->room) {
		size_t room = w->room ? w->room * 2 : 16;
		struct wire_fh *above = realloc(w->above, room * sizeof(*above));

		if (!above)
			return client_error(w->mount, -ENOMEM, "out of memory");
		w->above = above;
		w->room = room;
	}
	w->above[w->depth++] = w->here.fh;
	return 0;
}

static void walker_root(struct walker *w)
{
	w->depth = 0;
	w->here.fh = w->mount->root;
	w->here.attr.present = false;
}

static void walker_up(struct walker *w)
{
	if (!w->depth)
		return;
	w->here.fh = w->above[--w->depth];
	w->here.attr.present = false;
}

/* Take the next name off the rest; 0 when there is none, else 1, or -ENAMETOOLONG. */
static int walker_name(struct walker *w, char name[WIRE_NAME_MAX + 1])
{
	size_t len;

	w->p += strspn(w->p, "/");
	len = strcspn(w->p, "/");
	if (!len)
		return 0;
	if (len > WIRE_NAME_MAX)
		return client_error(w->mount, -ENAMETOOLONG,
				    "a name of %zu bytes is longer than NFS allows (255)", len);
	memcpy(name, w->p, len);
	name[len] = '\0';
	w->p += len;
	return 1;
}

static bool walker_last(const struct walker *w)
{
	return !w->p[strspn(w->p, "/")];
}

static int walker_need_dir(struct walker *w)
{
	int err = client_node_attr(w->mount, &w->here);

	if (!err && w->here.attr.attr.type != CLIENT_DIR)
		return client_error(w->mount, -ENOTDIR, "%s", strerror(ENOTDIR));
	return err;
}

/* Put the target of link in front of the rest. */
static int walker_link(struct walker *w, const struct client_node *link)
{
	char target[WIRE_PATH_MAX + 1];
	char rest[REST_MAX + 2];
	size_t len, rest_len = strlen(w->p);
	int err;

	if (++w->links > CLIENT_MAX_LINKS)
		return client_error(w->mount, -ELOOP, "%s (%d symbolic links)", strerror(ELOOP),
				    CLIENT_MAX_LINKS);
	err = client_readlink(w->mount, &link->fh, target, sizeof(target));
	if (err < 0)
		return err;
	len = strlen(target);
	if (!len)
		return client_error(w->mount, -ENOENT, "%s", strerror(ENOENT));
	if (rest_len > REST_MAX - len)
		return client_error(w->mount, -ENAMETOOLONG,
				    "symbolic links make the path too long");
	memcpy(rest, w->p, rest_len + 1);
	memcpy(w->rest, target, len);
	memcpy(w->rest + len, rest, rest_len + 1); /* rest begins with '/' or is empty */
	w->p = w->rest;
	if (target[0] == '/')
		walker_root(w);
	return 0;
}

/* The end of the path, name in here. */
static int walker_end(struct walker *w, const char *name, struct client_walk *walk)
{
	walk->parent = w->here.fh;
	strcpy(walk->name, name);
	walk->trailing_slash = *w->p == '/';
	walk->exists = false;
	return 0;
}

/* One name; 1: the walk is over. */
static int walker_step(struct walker *w, const char *name, struct client_walk *walk)
{
	bool last = walker_last(w), slash = last && *w->p == '/';
	struct client_node next;
	int err;

	if (last && (w->flags & CLIENT_WALK_PARENT)) {
		err = walker_need_dir(w);
		return err ? err : (walker_end(w, name, walk), 1);
	}
	if (!strcmp(name, ".") || !strcmp(name, "..")) {
		err = walker_need_dir(w);
		if (!err && name[1])
			walker_up(w);
		return err;
	}
	err = client_lookup(w->mount, &w->here.fh, name, &next);
	if (err == -ENOENT && last && (w->flags & CLIENT_WALK_MAYBE))
		return walker_end(w, name, walk), 1;
	if (err)
		return err;
	if (!last || (w->flags & CLIENT_WALK_FOLLOW) || slash) {
		err = client_node_attr(w->mount, &next);
		if (err)
			return err;
		if (next.attr.attr.type == CLIENT_LNK)
			return walker_link(w, &next);
	}
	if (last) {
		walker_end(w, name, walk);
		walk->exists = true;
		walk->node = next;
		if (slash && next.attr.attr.type != CLIENT_DIR)
			return client_error(w->mount, -ENOTDIR, "%s", strerror(ENOTDIR));
		return 1;
	}
	err = walker_push(w);
	w->here = next;
	return err;
}

static int walk_once(struct walker *w, const char *path, struct client_walk *walk)
{
	char name[WIRE_NAME_MAX + 1];
	int err;

	strcpy(w->rest, path);
	w->p = w->rest;
	w->links = 0;
	walker_root(w);
	for (;;) {
		err = walker_name(w, name);
		if (err <= 0)
			break;
		err = walker_step(w, name, walk);
		if (err)
			return err < 0 ? err : 0;
	}
	if (err)
		return err;
	/* the path came to an end at a directory: the root, or after "." or ".." */
	walk->node = w->here;
	walk->parent = w->here.fh;
	walk->exists = true;
	walk->trailing_slash = true;
	walk->name[0] = '\0';
	return 0;
}

int client_walk(struct nfsrdma *mount, const char *path, unsigned flags, struct client_walk *walk)
{
	struct walker w = {.mount = mount, .flags = flags};
	int err;

	if (!*path)
		return client_error(mount, -ENOENT, "an empty path names nothing");
	if (strlen(path) > WIRE_PATH_MAX)
		return client_error(mount, -ENAMETOOLONG, "a path of %zu bytes is too long",
				    strlen(path));
	err = walk_once(&w, path, walk);
	if (err == -ESTALE)
		err = walk_once(&w, path, walk);
	free(w.above);
	return err;
}

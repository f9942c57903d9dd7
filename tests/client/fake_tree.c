/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_tree.c - the fake server's memory: nodes in an array, file contents as extents over a
 * pattern.  Handles carry the node's number and generation, so that removed ones are stale.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/client/fake_tree.h"
#include "util/util.h"

void fake_tree_init(struct fake_tree *t)
{
	memset(t, 0, sizeof(*t));
	t->n = FAKE_ROOT;
	t->generation = 1;
	fake_tree_add(t, 0, "", 0, 2);
	t->nodes[FAKE_ROOT].parent = FAKE_ROOT;
}

static void drop_extents(struct fake_node *node)
{
	struct fake_extent *e = node->extents;

	while (e) {
		struct fake_extent *next = e->next;

		free(e);
		e = next;
	}
	node->extents = NULL;
	node->extents_tail = &node->extents;
}

void fake_tree_free(struct fake_tree *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		drop_extents(&t->nodes[i]);
		free(t->nodes[i].target);
	}
}

unsigned fake_tree_child(struct fake_tree *t, unsigned dir, const char *name, size_t len)
{
	for (unsigned i = FAKE_ROOT + 1; i < t->n; i++) {
		struct fake_node *node = &t->nodes[i];

		if (node->used && node->parent == dir && strlen(node->name) == len &&
		    !memcmp(node->name, name, len))
			return i;
	}
	return 0;
}

unsigned fake_tree_walk(struct fake_tree *t, const char *path)
{
	unsigned at = FAKE_ROOT;

	while (at && *path) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len)
			at = fake_tree_child(t, at, path, len);
		path += len;
	}
	return at;
}

unsigned fake_tree_add(struct fake_tree *t, unsigned dir, const char *name, size_t len,
		       uint32_t type)
{
	struct fake_node *node;

	if (t->n == FAKE_NODES || len > WIRE_NAME_MAX)
		abort(); /* a test wants more than this server is for */
	node = &t->nodes[t->n];
	memset(node, 0, sizeof(*node));
	node->used = true;
	node->type = type;
	node->mode = type == 2 ? 0755 : 0644;
	node->nlink = type == 2 ? 2 : 1;
	node->parent = dir;
	memcpy(node->name, name, len);
	node->extents_tail = &node->extents;
	node->generation = t->generation++;
	return t->n++;
}

void fake_tree_unlink(struct fake_tree *t, unsigned node)
{
	unsigned real = fake_tree_real(t, node);

	t->nodes[node].parent = 0;
	if (--t->nodes[real].nlink == 0 || t->nodes[real].type == 2)
		t->nodes[real].used = false;
	if (node != real)
		t->nodes[node].used = false;
}

unsigned fake_tree_real(struct fake_tree *t, unsigned node)
{
	return t->nodes[node].alias ? t->nodes[node].alias : node;
}

void fake_tree_fh(struct fake_tree *t, unsigned node, struct wire_fh *fh)
{
	node = fake_tree_real(t, node);
	fh->len = 16;
	util_put_be64(fh->data, node);
	util_put_be64(fh->data + 8, t->nodes[node].generation);
}

unsigned fake_tree_of_fh(struct fake_tree *t, const struct wire_fh *fh)
{
	uint64_t node;

	if (fh->len != 16)
		return 0;
	node = util_get_be64(fh->data);
	if (!node || node >= t->n || !t->nodes[node].used ||
	    t->nodes[node].generation != util_get_be64(fh->data + 8))
		return 0;
	return (unsigned)node;
}

void fake_tree_attr(struct fake_tree *t, unsigned node, struct wire_attr *a)
{
	const struct fake_node *n = &t->nodes[fake_tree_real(t, node)];

	memset(a, 0, sizeof(*a));
	a->type = n->type;
	a->mode = n->mode;
	a->nlink = n->nlink;
	a->uid = n->uid;
	a->gid = n->gid;
	a->size = n->size;
	a->used = n->size;
	a->fsid = 7;
	a->fileid = fake_tree_real(t, node);
	a->atime = n->atime;
	a->mtime = n->mtime;
}

void fake_tree_read(struct fake_tree *t, unsigned node, uint64_t off, uint8_t *out, size_t len,
		    bool committed_only)
{
	const struct fake_node *n = &t->nodes[node];

	for (size_t i = 0; i < len; i++)
		out[i] = n->pattern ? fake_byte(off + i) : 0;
	for (const struct fake_extent *e = n->extents; e; e = e->next) {
		uint64_t from = off > e->off ? off : e->off;
		uint64_t to = off + len < e->off + e->len ? off + len : e->off + e->len;

		if (from < to && (e->committed || !committed_only))
			memcpy(out + (from - off), e->bytes + (from - e->off), to - from);
	}
}

void fake_tree_write(struct fake_tree *t, unsigned node, uint64_t off, const uint8_t *bytes,
		     size_t len, bool committed)
{
	struct fake_node *n = &t->nodes[node];
	struct fake_extent *e = malloc(sizeof(*e) + len);

	if (!e)
		abort();
	e->next = NULL;
	e->off = off;
	e->len = len;
	e->committed = committed;
	memcpy(e->bytes, bytes, len);
	*n->extents_tail = e;
	n->extents_tail = &e->next;
	if (off + len > n->size)
		n->size = off + len;
}

void fake_tree_commit(struct fake_tree *t, unsigned node)
{
	for (struct fake_extent *e = t->nodes[node].extents; e; e = e->next)
		e->committed = true;
}

void fake_tree_lose(struct fake_tree *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct fake_extent **at = &t->nodes[i].extents;

		while (*at) {
			struct fake_extent *e = *at;

			if (e->committed) {
				at = &e->next;
				continue;
			}
			*at = e->next;
			free(e);
		}
		t->nodes[i].extents_tail = at;
	}
}

void fake_tree_truncate(struct fake_tree *t, unsigned node, uint64_t size)
{
	struct fake_node *n = &t->nodes[node];

	for (struct fake_extent *e = n->extents; e; e = e->next) {
		if (e->off >= size)
			e->len = 0;
		else if (e->len > size - e->off)
			e->len = size - e->off;
	}
	n->size = size;
}

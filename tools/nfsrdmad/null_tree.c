/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * null_tree.c - the null export's names, in memory.
 *
 * Files without contents: a name, attributes, a size.  A table finds nodes by the index in their
 * handle, a hash table by folder and name.  Index and generation together are never used twice
 * within a run, and generations start at the clock, so a handle of a removed file, or of an earlier
 * run, is stale.
 */
#include "tools/nfsrdmad/null_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define FIRST_COOKIE 3 /* after "." and ".." */

struct wire_time server_null_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (struct wire_time){(uint32_t)ts.tv_sec, (uint32_t)ts.tv_nsec};
}

static struct server_null_node **name_bucket(struct server_null *tree,
					     const struct server_null_node *dir, const char *name)
{
	uint32_t h = dir->index * 2654435761U;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619U;
	return &tree->bucket[(h ^ h >> 15) % SERVER_NULL_BUCKETS];
}

static void name_link(struct server_null *tree, struct server_null_node *node,
		      struct server_null_node *dir, const char *name)
{
	struct server_null_node **bucket = name_bucket(tree, dir, name);
	size_t len = strnlen(name, WIRE_NAME_MAX);

	memcpy(node->name, name, len);
	node->name[len] = '\0';
	node->parent = dir;
	node->hash_next = *bucket;
	*bucket = node;
	node->cookie = tree->next_cookie++;
	util_list_add(&dir->children, &node->siblings);
	dir->subdirs += node->dir;
	dir->mtime = dir->ctime = server_null_now();
}

static void name_unlink(struct server_null *tree, struct server_null_node *node)
{
	struct server_null_node **link = name_bucket(tree, node->parent, node->name);

	while (*link != node)
		link = &(*link)->hash_next;
	*link = node->hash_next;
	util_list_del(&node->siblings);
	node->parent->subdirs -= node->dir;
	node->parent->mtime = node->parent->ctime = server_null_now();
}

static struct server_null_node *node_new(struct server_null *tree, uint32_t index, bool dir)
{
	struct server_null_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	util_list_init(&node->siblings);
	util_list_init(&node->children);
	node->index = index;
	node->dir = dir;
	node->mode = dir ? 0777 : 0666;
	node->atime = node->mtime = node->ctime = server_null_now();
	tree->table[index] = node;
	tree->count++;
	return node;
}

int server_null_tree_init(struct server_null *tree)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	tree->next_generation = (uint64_t)ts.tv_sec * UTIL_NS_PER_S + (uint64_t)ts.tv_nsec;
	tree->next_cookie = FIRST_COOKIE;
	tree->next_index = 1;
	pthread_mutex_init(&tree->lock, NULL);
	return node_new(tree, 0, true) ? 0 : -ENOMEM;
}

void server_null_tree_fini(struct server_null *tree)
{
	for (unsigned i = 0; i < SERVER_NULL_NODES; i++)
		free(tree->table[i]);
	pthread_mutex_destroy(&tree->lock);
}

struct server_null_node *server_null_tree_get(struct server_null *tree, uint32_t index,
					      uint64_t generation)
{
	struct server_null_node *node = index < SERVER_NULL_NODES ? tree->table[index] : NULL;

	return node && node->generation == generation ? node : NULL;
}

struct server_null_node *server_null_tree_find(struct server_null *tree,
					       const struct server_null_node *dir, const char *name)
{
	struct server_null_node *node = *name_bucket(tree, dir, name);

	while (node && (node->parent != dir || strcmp(node->name, name)))
		node = node->hash_next;
	return node;
}

struct server_null_node *server_null_tree_add(struct server_null *tree,
					      struct server_null_node *dir, const char *name,
					      bool is_dir)
{
	struct server_null_node *node;

	if (tree->count == SERVER_NULL_NODES)
		return NULL;
	while (tree->table[tree->next_index % SERVER_NULL_NODES])
		tree->next_index++;
	node = node_new(tree, tree->next_index % SERVER_NULL_NODES, is_dir);
	if (!node)
		return NULL;
	node->generation = tree->next_generation++;
	name_link(tree, node, dir, name);
	return node;
}

void server_null_tree_remove(struct server_null *tree, struct server_null_node *node)
{
	name_unlink(tree, node);
	tree->table[node->index] = NULL;
	tree->count--;
	free(node);
}

void server_null_tree_move(struct server_null *tree, struct server_null_node *node,
			   struct server_null_node *dir, const char *name)
{
	name_unlink(tree, node);
	name_link(tree, node, dir, name);
	node->ctime = server_null_now();
}

bool server_null_tree_above(const struct server_null_node *node, const struct server_null_node *dir)
{
	while (dir && dir != node)
		dir = dir->parent;
	return dir == node;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * null_tree.h - the null export's names, in memory.
 */
#ifndef NFSRDMAD_NULL_TREE_H
#define NFSRDMAD_NULL_TREE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"
#include "wire/wire.h"

#define SERVER_NULL_NODES 65536
#define SERVER_NULL_BUCKETS 4096

struct server_null_node {
	struct server_null_node *parent;
	struct server_null_node *hash_next; /* same bucket of (parent, name) */
	struct util_list siblings;	    /* in the parent's children, by cookie */
	struct util_list children;
	uint32_t index;	     /* in the tree's table, and in handles */
	uint64_t generation; /* never used twice for an index */
	uint64_t cookie;
	bool dir;
	unsigned subdirs;
	uint32_t mode, uid, gid;
	uint64_t size;
	struct wire_time atime, mtime, ctime;
	char name[WIRE_NAME_MAX + 1];
};

struct server_null {
	pthread_mutex_t lock; /* over all that follows */
	uint32_t export_id;
	uint64_t fsid;
	struct wire_fh root_fh;
	struct server_null_node *table[SERVER_NULL_NODES];
	struct server_null_node *bucket[SERVER_NULL_BUCKETS];
	unsigned count;
	uint32_t next_index;
	uint64_t next_generation, next_cookie;
};

/* Root included.  -ENOMEM. */
int server_null_tree_init(struct server_null *tree);
void server_null_tree_fini(struct server_null *tree);
struct server_null_node *server_null_tree_get(struct server_null *tree, uint32_t index,
					      uint64_t generation);
struct server_null_node *server_null_tree_find(struct server_null *tree,
					       const struct server_null_node *dir,
					       const char *name);
/* NULL: too many, or no memory.  The name is free. */
struct server_null_node *server_null_tree_add(struct server_null *tree,
					      struct server_null_node *dir, const char *name,
					      bool is_dir);
/* It has no children and is not the root. */
void server_null_tree_remove(struct server_null *tree, struct server_null_node *node);
/* The new name is free and not below node. */
void server_null_tree_move(struct server_null *tree, struct server_null_node *node,
			   struct server_null_node *dir, const char *name);
/* Is node dir or above it? */
bool server_null_tree_above(const struct server_null_node *node,
			    const struct server_null_node *dir);
struct wire_time server_null_now(void);

/* ---- null_data.c, for null.c ------------------------------------------------------------ */

#define SERVER_NULL_ID_LEN 12 /* index, generation */

struct server_op;

void server_null_post(const struct server_null *tree, const struct server_null_node *node,
		      struct wire_post_attr *post);
void server_null_pre(const struct server_null_node *node, struct wire_pre_attr *pre);
/* The node of a handle.  0, -EBADF, -ESTALE.  Under the lock. */
int server_null_node(struct server_op *op, const struct wire_fh *fh,
		     struct server_null_node **nodep);
/* 0: results are put; 1: the client was told there is no room; -EPROTO: garbage; -errno. */
int server_null_read(struct server_op *op);
int server_null_write(struct server_op *op);
int server_null_commit(struct server_op *op);

#endif

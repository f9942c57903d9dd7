/* SPDX-License-Identifier: BSD-2-Clause */
/* fake_tree.h - the fake server's files; private to fake_*.c.  Callers hold the server's lock. */
#ifndef TESTS_CLIENT_FAKE_TREE_H
#define TESTS_CLIENT_FAKE_TREE_H

#include "tests/client/fake_nfs.h"

#define FAKE_NODES 4096
#define FAKE_ROOT 1

struct fake_extent {
	struct fake_extent *next;
	uint64_t off;
	size_t len;
	bool committed;
	uint8_t bytes[];
};

struct fake_node {
	bool used, pattern, denied;
	uint32_t type, mode, nlink, uid, gid;
	uint64_t size, big_dir;
	unsigned parent; /* 0 once removed */
	char name[WIRE_NAME_MAX + 1];
	char *target;
	struct fake_extent *extents, **extents_tail;
	uint8_t create_verf[8];
	struct wire_time atime, mtime;
	unsigned alias; /* a hard link to that node */
	uint64_t generation;
};

struct fake_tree {
	struct fake_node nodes[FAKE_NODES];
	unsigned n;
	uint64_t generation;
};

void fake_tree_init(struct fake_tree *t);
void fake_tree_free(struct fake_tree *t);
/* 0 when there is none. */
unsigned fake_tree_child(struct fake_tree *t, unsigned dir, const char *name, size_t len);
unsigned fake_tree_walk(struct fake_tree *t, const char *path);
unsigned fake_tree_add(struct fake_tree *t, unsigned dir, const char *name, size_t len,
		       uint32_t type);
void fake_tree_unlink(struct fake_tree *t, unsigned node);
/* What a hard link stands for. */
unsigned fake_tree_real(struct fake_tree *t, unsigned node);
void fake_tree_fh(struct fake_tree *t, unsigned node, struct wire_fh *fh);
/* 0: stale. */
unsigned fake_tree_of_fh(struct fake_tree *t, const struct wire_fh *fh);
void fake_tree_attr(struct fake_tree *t, unsigned node, struct wire_attr *a);
void fake_tree_read(struct fake_tree *t, unsigned node, uint64_t off, uint8_t *out, size_t len,
		    bool committed_only);
void fake_tree_write(struct fake_tree *t, unsigned node, uint64_t off, const uint8_t *bytes,
		     size_t len, bool committed);
void fake_tree_commit(struct fake_tree *t, unsigned node);
void fake_tree_lose(struct fake_tree *t);
void fake_tree_truncate(struct fake_tree *t, unsigned node, uint64_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interval.c - a treap of ranges ordered by start, each node knowing the largest end below it.
 *
 * Random priorities keep it balanced without a word about balance: a node's priority is at least
 * that of its children, and rotations restore that.  The largest end is what lets a search for
 * overlaps pass by whole subtrees: one that ends before the range begins holds nothing.
 */
#include <stddef.h>

#include "mr/interval.h"

void mr_intervals_init(struct mr_intervals *set)
{
	set->root = NULL;
	set->seed = 0x9e3779b9u;
}

static uint32_t next_priority(struct mr_intervals *set)
{
	set->seed ^= set->seed << 13;
	set->seed ^= set->seed >> 17;
	set->seed ^= set->seed << 5;
	return set->seed;
}

/* By start, then by address: a total order, so that an item can be found again. */
static bool before(const struct mr_interval *a, const struct mr_interval *b)
{
	return a->start != b->start ? a->start < b->start : (uintptr_t)a < (uintptr_t)b;
}

static void update(struct mr_interval *node)
{
	node->max_end = node->end;
	if (node->left && node->left->max_end > node->max_end)
		node->max_end = node->left->max_end;
	if (node->right && node->right->max_end > node->max_end)
		node->max_end = node->right->max_end;
}

/* All of a comes before all of b. */
static struct mr_interval *join(struct mr_interval *a, struct mr_interval *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->priority >= b->priority) {
		a->right = join(a->right, b);
		update(a);
		return a;
	}
	b->left = join(a, b->left);
	update(b);
	return b;
}

/* What comes before item to *a, the rest to *b. */
static void split(struct mr_interval *node, const struct mr_interval *item, struct mr_interval **a,
		  struct mr_interval **b)
{
	if (!node) {
		*a = *b = NULL;
		return;
	}
	if (before(node, item)) {
		*a = node;
		split(node->right, item, &node->right, b);
	} else {
		*b = node;
		split(node->left, item, a, &node->left);
	}
	update(node);
}

static struct mr_interval *insert(struct mr_interval *node, struct mr_interval *item)
{
	if (!node)
		return item;
	if (item->priority > node->priority) {
		split(node, item, &item->left, &item->right);
		update(item);
		return item;
	}
	if (before(item, node))
		node->left = insert(node->left, item);
	else
		node->right = insert(node->right, item);
	update(node);
	return node;
}

static struct mr_interval *erase(struct mr_interval *node, struct mr_interval *item)
{
	if (node == item)
		return join(node->left, node->right);
	if (before(item, node))
		node->left = erase(node->left, item);
	else
		node->right = erase(node->right, item);
	update(node);
	return node;
}

void mr_intervals_add(struct mr_intervals *set, struct mr_interval *item)
{
	item->left = item->right = NULL;
	item->priority = next_priority(set);
	update(item);
	set->root = insert(set->root, item);
}

void mr_intervals_del(struct mr_intervals *set, struct mr_interval *item)
{
	set->root = erase(set->root, item);
}

struct visit {
	uintptr_t start, end;
	bool (*fn)(void *arg, struct mr_interval *item);
	void *arg;
};

static bool walk(struct mr_interval *node, const struct visit *v)
{
	if (!node || node->max_end <= v->start)
		return true;
	if (!walk(node->left, v))
		return false;
	if (node->start >= v->end)
		return true; /* and so does everything to the right */
	if (node->end > v->start && !v->fn(v->arg, node))
		return false;
	return walk(node->right, v);
}

void mr_intervals_overlapping(const struct mr_intervals *set, uintptr_t start, uintptr_t end,
			      bool (*visit)(void *arg, struct mr_interval *item), void *arg)
{
	const struct visit v = {start, end, visit, arg};

	walk(set->root, &v);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.c - type-2 memory windows of the fake.
 *
 * A window belongs to the domain it was allocated in and, while it is bound, to the connection it
 * was bound on.  Its key is its number and a tag that rises with each bind.  Binding what may not
 * be bound, ending what is not bound, and taking memory away from under a bound window are
 * violations, since no call of ours should come to it.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/fake/internal.h"

static uint32_t next_key(const struct fake_window *w)
{
	return (w->key & ~UINT32_C(0xff)) | ((w->key + 1) & 0xff);
}

int fake_window_alloc(struct mr_provider *p, struct mr_window *window)
{
	struct fake_window *w;
	int err;

	fake_lock();
	err = p->max_windows ? fake_may_fail() : -EOPNOTSUPP;
	w = err ? NULL : calloc(1, sizeof(*w));
	if (w) {
		w->owner = p;
		w->key = ++fake_world.next_key << 8;
		window->priv = w;
		window->rkey = w->key;
		util_list_add(&fake_world.windows, &w->node);
		fake_world.objects++;
	}
	fake_unlock();
	return err ? err : w ? 0 : -ENOMEM;
}

void fake_window_free(struct mr_provider *p, struct mr_window *window)
{
	struct fake_window *w = window->priv;

	(void)p;
	fake_lock();
	if (w->conn)
		fake_violate("a window was freed while it was bound");
	util_list_del(&w->node);
	fake_world.objects--;
	fake_unlock();
	free(w);
	window->priv = NULL;
}

int fake_window_next_key(struct mr_provider *p, struct mr_window *window, uint32_t *rkeyp)
{
	int err;

	(void)p;
	fake_lock();
	err = fake_may_fail();
	if (!err)
		*rkeyp = next_key(window->priv);
	fake_unlock();
	return err;
}

static struct fake_window *bound_window(const void *owner, uint32_t key)
{
	UTIL_LIST_FOR_EACH (node, &fake_world.windows) {
		struct fake_window *w = UTIL_LIST_ENTRY(node, struct fake_window, node);

		if (w->owner == owner && w->key == key && w->conn)
			return w;
	}
	return NULL;
}

static struct fake_region *live_region(const struct mr_registration *reg)
{
	UTIL_LIST_FOR_EACH (node, &fake_world.regions) {
		struct fake_region *r = UTIL_LIST_ENTRY(node, struct fake_region, node);

		if (r == reg->priv)
			return r;
	}
	return NULL;
}

enum fabric_wc_status fake_bind(struct fake_conn *c, const struct fabric_wr *wr)
{
	struct fake_window *w = wr->u.bind.window->priv;
	struct fake_region *r = live_region(wr->u.bind.reg);
	uint64_t at;

	if (w->conn) {
		fake_violate("a window was bound that is bound already");
		return FABRIC_WC_LOCAL_PROTECTION;
	}
	at = r ? wr->u.bind.iova - r->iova : 0;
	if (!r || r->owner != w->owner || !(r->access & MR_ACCESS_WINDOW_BIND) || at > r->len ||
	    wr->u.bind.len > r->len - at) {
		fake_violate("a window was bound over what is no region for that");
		return FABRIC_WC_LOCAL_PROTECTION;
	}
	w->key = next_key(w);
	w->conn = c;
	w->region = r;
	w->addr = r->addr + at;
	w->iova = wr->u.bind.iova;
	w->len = wr->u.bind.len;
	w->access = wr->u.bind.access;
	wr->u.bind.window->rkey = w->key;
	fake_world.seen.binds++;
	return FABRIC_WC_OK;
}

enum fabric_wc_status fake_local_inv(struct fake_conn *c, uint32_t key)
{
	struct fake_window *w = bound_window(c->owner, key);

	if (!w || w->conn != c) {
		fake_violate("a key was invalidated that is no bound window's of the connection");
		return FABRIC_WC_LOCAL_PROTECTION;
	}
	w->conn = NULL;
	fake_world.seen.local_invs++;
	return FABRIC_WC_OK;
}

void fake_remote_inv(struct fake_conn *c, uint32_t key)
{
	struct fake_window *w = bound_window(c->owner, key);

	if (w && w->conn == c)
		w->conn = NULL;
}

void fake_windows_drop(struct fake_conn *c)
{
	UTIL_LIST_FOR_EACH (node, &fake_world.windows) {
		struct fake_window *w = UTIL_LIST_ENTRY(node, struct fake_window, node);

		if (w->conn == c)
			w->conn = NULL;
	}
}

void fake_windows_over(const struct fake_region *r)
{
	UTIL_LIST_FOR_EACH (node, &fake_world.windows) {
		struct fake_window *w = UTIL_LIST_ENTRY(node, struct fake_window, node);

		if (w->conn && w->region == r)
			fake_violate("memory was deregistered under a bound window");
	}
}

uint8_t *fake_window_find(const struct fake_conn *c, uint32_t key, uint64_t iova, size_t len,
			  unsigned access)
{
	struct fake_window *w = bound_window(c->owner, key);

	if (!w || w->conn != c || (w->access & access) != access || iova < w->iova ||
	    iova - w->iova > w->len || len > w->len - (iova - w->iova))
		return NULL;
	return w->addr + (iova - w->iova);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buf.c - buffers: leases of the server's pool in the user's hands, or in the library's.
 *
 * A buffer's memory goes back to its pool when nobody may touch it any more: the user has put it
 * and no I/O that names it is in flight.  Putting a buffer under a running I/O is therefore safe,
 * and so is using one with several mounts in several threads: hold and refs are atomic, the list of
 * a mount's buffers has a lock in the context.
 *
 * Memory of the application that it registered is a buffer like any other, but for who owns it.
 *
 * Staging buffers are the same thing for ordinary memory.  They live on the mount's free list and
 * never leave its thread.
 */
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

static enum mr_kind lease_kind(int flags)
{
	if (flags == NFSRDMA_BUF_READ)
		return MR_KIND_READ;
	return flags == NFSRDMA_BUF_WRITE ? MR_KIND_WRITE : MR_KIND_BOTH;
}

static void buf_init(struct nfsrdma_buf *buf, struct nfsrdma *mount, struct mr_lease *lease,
		     size_t len, int flags)
{
	util_list_init(&buf->node);
	buf->mount = mount;
	buf->lease = lease;
	buf->addr = lease->addr;
	buf->len = len;
	buf->flags = flags;
	atomic_store_explicit(&buf->hold, CLIENT_BUF_OWNED, memory_order_relaxed);
	atomic_store_explicit(&buf->refs, 1, memory_order_relaxed);
}

/* The user's handle on a lease, which goes back if there is no memory for it. */
static int buf_new(struct nfsrdma *mount, struct nfsrdma_buf **bufp, struct mr_lease *lease,
		   size_t len, int flags, const char *doing)
{
	struct nfsrdma_buf *buf = calloc(1, sizeof(*buf));

	if (!buf) {
		mr_lease_give(lease);
		return client_fail(-ENOMEM, doing, NULL, NULL, 0);
	}
	buf_init(buf, mount, lease, len, flags);
	pthread_mutex_init(&buf->lock, NULL);
	util_list_init(&buf->ranges);
	pthread_mutex_lock(&mount->ctx->bufs_lock);
	util_list_add(&mount->bufs, &buf->node);
	pthread_mutex_unlock(&mount->ctx->bufs_lock);
	*bufp = buf;
	return 0;
}

static int buf_enter(struct nfsrdma *mount, size_t len, int flags, const char *doing)
{
	util_err_clear(&mount->err);
	mount->nfs_status = 0;
	if (mount->closing)
		return client_fail(-ESHUTDOWN, doing, NULL, NULL, 0);
	if (!len || !flags || flags & ~(NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE)) {
		client_error(mount, -EINVAL, "length 0 or unknown flags");
		return client_fail_mount(mount, -EINVAL, doing, NULL);
	}
	return 0;
}

int nfsrdma_buf_get(struct nfsrdma *mount, struct nfsrdma_buf **bufp, size_t len, int flags)
{
	struct mr_pool *pool = transport_client_pool(mount->conn[0]);
	struct mr_lease *lease;
	int err = buf_enter(mount, len, flags, "get a buffer");

	if (err)
		return err;
	if (len > mr_pool_max_lease(pool)) {
		client_error(mount, -EINVAL, "%zu bytes is more than the largest, %zu", len,
			     mr_pool_max_lease(pool));
		util_err_hint(&mount->err, "use several buffers with nfsrdma_preadv()");
		return client_fail_mount(mount, -EINVAL, "get a buffer", NULL);
	}
	err = mr_lease_take(pool, lease_kind(flags), len, &lease, &mount->err);
	if (err)
		return client_fail_mount(mount, err, "get a buffer", NULL);
	return buf_new(mount, bufp, lease, len, flags, "get a buffer");
}

int nfsrdma_mem_register(struct nfsrdma *mount, struct nfsrdma_buf **bufp, void *addr, size_t len,
			 int flags)
{
	struct mr_lease *lease;
	int err = buf_enter(mount, len, flags, "register memory");

	if (err)
		return err;
	err = mr_lease_take_memory(transport_client_pool(mount->conn[0]), lease_kind(flags), addr,
				   len, &lease, &mount->err);
	if (err)
		return client_fail_mount(mount, err, "register memory", NULL);
	return buf_new(mount, bufp, lease, len, flags, "register memory");
}

int nfsrdma_mem_deregister(struct nfsrdma_buf *buf)
{
	struct mr_pool *pool;
	void *addr;
	size_t len;

	if (!buf)
		return 0;
	/* An abandoned one was given back when its mount went down. */
	if (atomic_load_explicit(&buf->hold, memory_order_acquire) & ~CLIENT_BUF_OWNED)
		return client_fail(-EBUSY, "deregister memory", NULL, NULL, 0);
	pool = buf->lease ? buf->lease->pool : NULL;
	addr = buf->addr;
	len = buf->len;
	nfsrdma_buf_put(buf);
	if (pool)
		mr_pool_forget_memory(pool, addr, len);
	return 0;
}

void nfsrdma_buf_put(struct nfsrdma_buf *buf)
{
	struct nfsrdma_ctx *ctx;
	bool abandoned;

	if (!buf)
		return;
	ctx = buf->mount->ctx;
	pthread_mutex_lock(&ctx->bufs_lock);
	util_list_del(&buf->node);
	abandoned = buf->abandoned;
	pthread_mutex_unlock(&ctx->bufs_lock);
	if (abandoned)
		client_buf_unref(buf);
	else
		client_buf_disown(buf);
}

void *nfsrdma_buf_addr(const struct nfsrdma_buf *buf)
{
	return buf->addr;
}

size_t nfsrdma_buf_len(const struct nfsrdma_buf *buf)
{
	return buf->len;
}

void client_bufs_abandon(struct nfsrdma *mount)
{
	pthread_mutex_lock(&mount->ctx->bufs_lock);
	UTIL_LIST_FOR_EACH (node, &mount->bufs) {
		struct nfsrdma_buf *buf = UTIL_LIST_ENTRY(node, struct nfsrdma_buf, node);

		client_buf_ref(buf); /* the user's, until he puts it or all is over */
		buf->abandoned = true;
		client_buf_disown(buf);
	}
	pthread_mutex_unlock(&mount->ctx->bufs_lock);
}

void client_bufs_free(struct nfsrdma *mount)
{
	struct util_list *node;

	pthread_mutex_lock(&mount->ctx->bufs_lock);
	while ((node = util_list_pop(&mount->bufs)))
		client_buf_unref(UTIL_LIST_ENTRY(node, struct nfsrdma_buf, node));
	pthread_mutex_unlock(&mount->ctx->bufs_lock);
}

void client_buf_ref(struct nfsrdma_buf *buf)
{
	atomic_fetch_add_explicit(&buf->refs, 1, memory_order_relaxed);
}

void client_buf_unref(struct nfsrdma_buf *buf)
{
	if (atomic_fetch_sub_explicit(&buf->refs, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_destroy(&buf->lock);
	free(buf);
}

bool client_buf_hold(struct nfsrdma_buf *buf)
{
	uint32_t hold = atomic_load_explicit(&buf->hold, memory_order_relaxed);

	do {
		/* staging lives as long as anything holds it; a user's buffer ends with his put */
		if (buf->staging ? !hold : !(hold & CLIENT_BUF_OWNED))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&buf->hold, &hold, hold + 1, memory_order_acquire, memory_order_relaxed));
	return true;
}

/* Nobody touches the memory any more. */
static void buf_idle(struct nfsrdma_buf *buf)
{
	mr_lease_give(buf->lease);
	buf->lease = NULL;
	if (buf->staging)
		util_list_push(&buf->mount->free_staging, &buf->node);
	else
		client_buf_unref(buf);
}

void client_buf_release(struct nfsrdma_buf *buf)
{
	if (atomic_fetch_sub_explicit(&buf->hold, 1, memory_order_acq_rel) == 1)
		buf_idle(buf);
}

void client_buf_disown(struct nfsrdma_buf *buf)
{
	uint32_t before =
		atomic_fetch_and_explicit(&buf->hold, ~CLIENT_BUF_OWNED, memory_order_acq_rel);

	if (before == CLIENT_BUF_OWNED)
		buf_idle(buf);
}

/* ---- remembered writes -------------------------------------------------------------------- */

static bool overlaps(const struct client_range *range, size_t off, size_t len)
{
	return off < range->buf_off + range->len && range->buf_off < off + len;
}

static void range_unlink(struct nfsrdma_buf *buf, struct client_range *range)
{
	util_list_del(&range->buf_node);
	atomic_fetch_sub_explicit(&buf->nranges, 1, memory_order_relaxed);
}

void client_buf_touch(struct nfsrdma_buf *buf, size_t off, size_t len)
{
	if (!atomic_load_explicit(&buf->nranges, memory_order_relaxed))
		return;
	pthread_mutex_lock(&buf->lock);
	UTIL_LIST_FOR_EACH_SAFE (node, &buf->ranges) {
		struct client_range *range = UTIL_LIST_ENTRY(node, struct client_range, buf_node);

		if (!overlaps(range, off, len))
			continue;
		atomic_store_explicit(&range->gone, true, memory_order_relaxed);
		range_unlink(buf, range);
	}
	pthread_mutex_unlock(&buf->lock);
}

void client_buf_remember(struct client_range *range)
{
	struct nfsrdma_buf *buf = range->buf;

	if (atomic_load_explicit(&range->gone, memory_order_relaxed))
		return;
	pthread_mutex_lock(&buf->lock);
	util_list_add(&buf->ranges, &range->buf_node);
	atomic_fetch_add_explicit(&buf->nranges, 1, memory_order_relaxed);
	pthread_mutex_unlock(&buf->lock);
}

void client_buf_forget(struct client_range *range)
{
	struct nfsrdma_buf *buf = range->buf;

	pthread_mutex_lock(&buf->lock);
	if (!atomic_load_explicit(&range->gone, memory_order_relaxed))
		range_unlink(buf, range);
	pthread_mutex_unlock(&buf->lock);
}

void client_buf_resize(struct client_range *range, size_t buf_off, uint32_t len)
{
	pthread_mutex_lock(&range->buf->lock);
	range->buf_off = buf_off;
	range->len = len;
	pthread_mutex_unlock(&range->buf->lock);
}

/* ---- staging ------------------------------------------------------------------------------ */

int client_staging_borrow(struct nfsrdma *mount, void *mem, size_t len, int flags,
			  struct nfsrdma_buf **bufp)
{
	struct mr_pool *pool = transport_client_pool(mount->conn[0]);
	struct nfsrdma_buf *buf;
	struct mr_lease *lease;
	int err;

	buf = client_pool_take(mount, &mount->free_staging, sizeof(*buf));
	if (!buf)
		return -ENOMEM;
	err = mr_lease_take_memory(pool, lease_kind(flags), mem, len, &lease, NULL);
	if (err) {
		mr_lease_bounced(pool);
		util_list_push(&mount->free_staging, &buf->node);
		return err;
	}
	buf_init(buf, mount, lease, len, flags);
	buf->staging = true;
	*bufp = buf;
	return 0;
}

int client_staging_get(struct nfsrdma *mount, size_t len, int flags, struct nfsrdma_buf **bufp)
{
	struct mr_pool *pool = transport_client_pool(mount->conn[0]);
	struct nfsrdma_buf *buf;
	struct mr_lease *lease;
	int err;

	buf = client_pool_take(mount, &mount->free_staging, sizeof(*buf));
	if (!buf)
		return client_error(mount, -ENOMEM, "out of memory");
	util_err_clear(&mount->err);
	err = mr_lease_take(pool, lease_kind(flags), len, &lease, &mount->err);
	if (err) {
		util_list_push(&mount->free_staging, &buf->node);
		return err;
	}
	buf_init(buf, mount, lease, len, flags);
	buf->staging = true;
	*bufp = buf;
	return 0;
}

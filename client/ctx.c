/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctx.c - what mounts share: opened fabrics, and one pool per device and server.
 *
 * The sharing itself is the transport's.  A context only counts its users: the creator and every
 * mount; the last one to go takes it down, so nfsrdma_ctx_destroy() may come before the mounts'
 * ends.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client/internal.h"

int nfsrdma_ctx_create(struct nfsrdma_ctx **ctxp)
{
	struct nfsrdma_ctx *ctx = calloc(1, sizeof(*ctx));
	int err;

	if (!ctx)
		return client_fail(-ENOMEM, "create context", NULL, NULL, 0);
	err = transport_ctx_create(&ctx->transport, NULL);
	if (err) {
		free(ctx);
		return client_fail(err, "create context", NULL, NULL, 0);
	}
	pthread_mutex_init(&ctx->bufs_lock, NULL);
	atomic_init(&ctx->refs, 1);
	*ctxp = ctx;
	return 0;
}

void client_ctx_get(struct nfsrdma_ctx *ctx)
{
	atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
}

void client_ctx_put(struct nfsrdma_ctx *ctx)
{
	if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
		return;
	transport_ctx_put(ctx->transport);
	pthread_mutex_destroy(&ctx->bufs_lock);
	free(ctx);
}

void nfsrdma_ctx_destroy(struct nfsrdma_ctx *ctx)
{
	if (ctx)
		client_ctx_put(ctx);
}

const char *nfsrdma_version(void)
{
	return NFSRDMA_VERSION;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctx.c - what mounts share: opened fabrics, and per (device, server) a domain and a pool.
 *
 * A *site* is one protection domain and one pool for one server on one fabric.  A pool's keys stay
 * live while it exists, so a pool never serves two servers: the server's address is part of a
 * site's identity, its port is not (MOUNT and NFS of one host are one server).  Mounts with
 * different pool parameters do not share either.  On tcp the place of a site is taken by
 * a plain pool, which registers nothing.
 *
 * Locks.  open_lock is held while a site is looked up or made, which may block for as long as
 * address resolution does; it makes two mounts of one server wait for one domain instead of
 * opening two.  list_lock protects the lists and reference counts, nests inside open_lock and is
 * never held while anything blocks.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "transport/rpc/link.h"

struct ctx_fabric {
	struct util_list node;
	const struct fabric_ops *ops;
	struct fabric *fabric;
	enum fabric_crc crc;
	bool no_io_uring;
	struct iommu_sw_options iommu;
};

struct ctx_plain {
	struct util_list node;
	unsigned refs;
	struct sockaddr_storage server;
	struct mr_pool_params pool_params;
	struct mr_pool *pool;
};

struct transport_ctx {
	atomic_uint refs;
	struct util_log log;
	struct mr_ledger ledger;
	struct mr_provider plain_provider;
	pthread_mutex_t open_lock, list_lock;
	struct util_list fabrics; /* changed under open_lock, closed with the ctx */
	struct util_list sites, plains;
};

/* For those who look on from outside; a process without a folder of its own does without. */
static void ctx_watch(struct transport_ctx *ctx)
{
	struct util_err err = {0};

	if (mr_watch_open(&ctx->ledger, NULL, &err))
		util_log(&ctx->log, UTIL_LOG_DEBUG, "the ledger cannot be watched: %s", err.what);
}

int transport_ctx_create(struct transport_ctx **ctxp, const struct util_log *log)
{
	struct transport_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return -ENOMEM;
	atomic_init(&ctx->refs, 1);
	if (log)
		ctx->log = *log;
	mr_ledger_init(&ctx->ledger, NULL);
	ctx_watch(ctx);
	mr_provider_plain_init(&ctx->plain_provider);
	pthread_mutex_init(&ctx->open_lock, NULL);
	pthread_mutex_init(&ctx->list_lock, NULL);
	util_list_init(&ctx->fabrics);
	util_list_init(&ctx->sites);
	util_list_init(&ctx->plains);
	*ctxp = ctx;
	return 0;
}

void transport_ctx_get(struct transport_ctx *ctx)
{
	atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
}

void transport_ctx_put(struct transport_ctx *ctx)
{
	struct util_list *node;

	/* ORDER: what other holders did comes before the destruction. */
	if (!ctx || atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
		return;
	while ((node = util_list_pop(&ctx->fabrics))) {
		struct ctx_fabric *f = UTIL_LIST_ENTRY(node, struct ctx_fabric, node);

		f->ops->close(f->fabric);
		free(f);
	}
	mr_watch_close(&ctx->ledger);
	pthread_mutex_destroy(&ctx->list_lock);
	pthread_mutex_destroy(&ctx->open_lock);
	free(ctx);
}

struct mr_ledger *transport_ctx_ledger(struct transport_ctx *ctx)
{
	return &ctx->ledger;
}

/* ---- identity --------------------------------------------------------------------------- */

static bool same_pool(const struct mr_pool_params *a, const struct mr_pool_params *b)
{
	return a->mode == b->mode && a->monitor == b->monitor && a->verify == b->verify &&
	       a->max_pinned == b->max_pinned && a->slab_size == b->slab_size &&
	       a->hugepages == b->hugepages && a->numa_node == b->numa_node &&
	       a->poison == b->poison;
}

static struct mr_pool_params pool_params(struct transport_ctx *ctx,
					 const struct transport_client_params *params)
{
	struct mr_pool_params pool = params->pool;

	pool.ledger_parent = &ctx->ledger;
	/* the pool may outlive the mount whose log this would be */
	pool.log = ctx->log.fn ? &ctx->log : NULL;
	return pool;
}

/* ---- fabrics and sites ------------------------------------------------------------------ */

/* Called with open_lock held. */
static int fabric_get(struct transport_ctx *ctx, const struct fabric_ops *ops,
		      const struct transport_client_params *params, struct fabric **fabricp,
		      struct util_err *err)
{
	struct fabric_options opts = {
		.crc = params->crc,
		.no_io_uring = params->no_io_uring,
		.iommu = params->iommu,
		.log = ctx->log.fn ? &ctx->log : NULL,
	};
	struct ctx_fabric *f;
	int code;

	UTIL_LIST_FOR_EACH (node, &ctx->fabrics) {
		f = UTIL_LIST_ENTRY(node, struct ctx_fabric, node);
		if (f->ops == ops && f->crc == opts.crc && f->no_io_uring == opts.no_io_uring &&
		    f->iommu.policy == opts.iommu.policy &&
		    f->iommu.inval_ns == opts.iommu.inval_ns) {
			*fabricp = f->fabric;
			return 0;
		}
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return util_err_set(err, -ENOMEM, "open %s: out of memory", ops->name);
	code = ops->open(&f->fabric, &opts, err);
	if (code) {
		free(f);
		return code;
	}
	f->ops = ops;
	f->crc = opts.crc;
	f->no_io_uring = opts.no_io_uring;
	f->iommu = opts.iommu;
	util_list_add(&ctx->fabrics, &f->node);
	*fabricp = f->fabric;
	return 0;
}

static struct transport_site *site_find(struct transport_ctx *ctx, const struct fabric *fabric,
					const struct transport_client_params *params)
{
	struct transport_site *found = NULL;

	pthread_mutex_lock(&ctx->list_lock);
	UTIL_LIST_FOR_EACH (node, &ctx->sites) {
		struct transport_site *site = UTIL_LIST_ENTRY(node, struct transport_site, node);

		if (site->domain->fabric == fabric &&
		    util_addr_same_host(&site->server, &params->addr) &&
		    same_pool(&site->pool_params, &params->pool)) {
			site->refs++;
			found = site;
			break;
		}
	}
	pthread_mutex_unlock(&ctx->list_lock);
	return found;
}

static int site_create(struct transport_ctx *ctx, struct fabric *fabric,
		       const struct transport_client_params *params, struct transport_site **sitep,
		       struct util_err *err)
{
	struct transport_site *site = calloc(1, sizeof(*site));
	struct mr_pool_params pool = pool_params(ctx, params);
	int code;

	if (!site)
		return util_err_set(err, -ENOMEM, "%s: out of memory", fabric->ops->name);
	code = fabric->ops->domain_open(fabric, (const struct sockaddr *)&params->addr,
					params->addr_len, params->connect_timeout_ms, &site->domain,
					err);
	if (code)
		goto err_free;
	code = mr_pool_create(&site->pool, site->domain->provider, &pool, err);
	if (code)
		goto err_domain;
	site->ops = fabric->ops;
	site->refs = 1;
	site->server = params->addr;
	site->pool_params = params->pool;
	*sitep = site;
	return 0;

err_domain:
	fabric->ops->domain_put(site->domain);
err_free:
	free(site);
	return code;
}

int transport_site_get(struct transport_ctx *ctx, const struct fabric_ops *ops,
		       const struct transport_client_params *params, struct transport_site **sitep,
		       struct util_err *err)
{
	struct transport_site *site;
	struct fabric *fabric = NULL;
	int code;

	pthread_mutex_lock(&ctx->open_lock);
	code = fabric_get(ctx, ops, params, &fabric, err);
	if (code)
		goto out;
	site = site_find(ctx, fabric, params);
	if (!site) {
		code = site_create(ctx, fabric, params, &site, err);
		if (code)
			goto out;
		pthread_mutex_lock(&ctx->list_lock);
		util_list_add(&ctx->sites, &site->node);
		pthread_mutex_unlock(&ctx->list_lock);
	}
	*sitep = site;
out:
	pthread_mutex_unlock(&ctx->open_lock);
	return code;
}

void transport_site_put(struct transport_ctx *ctx, struct transport_site *site)
{
	bool last;

	if (!site)
		return;
	pthread_mutex_lock(&ctx->list_lock);
	last = --site->refs == 0;
	if (last)
		util_list_del(&site->node);
	pthread_mutex_unlock(&ctx->list_lock);
	if (!last)
		return;
	mr_pool_destroy(site->pool);
	site->ops->domain_put(site->domain);
	free(site);
}

/* ---- plain pools ------------------------------------------------------------------------ */

static int plain_create(struct transport_ctx *ctx, const struct transport_client_params *params,
			struct ctx_plain **plainp, struct util_err *err)
{
	struct ctx_plain *plain = calloc(1, sizeof(*plain));
	struct mr_pool_params pool = pool_params(ctx, params);
	int code;

	if (!plain)
		return util_err_set(err, -ENOMEM, "tcp: out of memory");
	code = mr_pool_create(&plain->pool, &ctx->plain_provider, &pool, err);
	if (code) {
		free(plain);
		return code;
	}
	plain->server = params->addr;
	plain->pool_params = params->pool;
	*plainp = plain;
	return 0;
}

int transport_plain_pool_get(struct transport_ctx *ctx,
			     const struct transport_client_params *params, struct mr_pool **poolp,
			     struct util_err *err)
{
	struct ctx_plain *found = NULL;
	int code = 0;

	pthread_mutex_lock(&ctx->list_lock);
	UTIL_LIST_FOR_EACH (node, &ctx->plains) {
		struct ctx_plain *plain = UTIL_LIST_ENTRY(node, struct ctx_plain, node);

		if (util_addr_same_host(&plain->server, &params->addr) &&
		    same_pool(&plain->pool_params, &params->pool))
			found = plain;
	}
	if (!found) {
		code = plain_create(ctx, params, &found, err);
		if (code == 0)
			util_list_add(&ctx->plains, &found->node);
	}
	if (code == 0) {
		found->refs++;
		*poolp = found->pool;
	}
	pthread_mutex_unlock(&ctx->list_lock);
	return code;
}

void transport_plain_pool_put(struct transport_ctx *ctx, struct mr_pool *pool)
{
	struct ctx_plain *last = NULL;

	pthread_mutex_lock(&ctx->list_lock);
	UTIL_LIST_FOR_EACH_SAFE (node, &ctx->plains) {
		struct ctx_plain *plain = UTIL_LIST_ENTRY(node, struct ctx_plain, node);

		if (plain->pool == pool && --plain->refs == 0) {
			util_list_del(&plain->node);
			last = plain;
		}
	}
	pthread_mutex_unlock(&ctx->list_lock);
	if (!last)
		return;
	mr_pool_destroy(last->pool);
	free(last);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric.c - the software RNIC as a fabric: opening it, its protection domains, its ops table.
 *
 * There is one "device", and it routes wherever TCP does, so opening a domain never waits and never
 * fails for want of a route.  Each domain_open() makes a new protection domain: a key of one is no
 * key in another, which is what keeps one server from reaching another's memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/iwarp/internal.h"

/* Region addresses: far from 0, so that a stray small offset hits nothing, and 46 bits of room. */
#define SPACE_BASE (UINT64_C(1) << 32)
#define SPACE_LIMIT (UINT64_C(1) << 46)

static int fabric_open(struct fabric **fabricp, const struct fabric_options *opts,
		       struct util_err *err)
{
	struct iwarp_fabric *fabric = calloc(1, sizeof(*fabric));
	int code = -ENOMEM;

	if (!fabric)
		goto err_say;
	fabric->base.ops = &iwarp_fabric_ops;
	if (opts)
		fabric->opts = *opts;
	fabric->uring = !fabric->opts.no_io_uring && iwarp_uring_allowed();
	if (!fabric->uring)
		util_log(fabric->opts.log, UTIL_LOG_INFO,
			 "iwarp: no io_uring: plain sockets, and mlock in place of pins");
	code = iwarp_stags_create(&fabric->stags);
	if (code)
		goto err_free;
	code = iwarp_pinner_create(&fabric->pinner, fabric->uring);
	if (code)
		goto err_stags;
	*fabricp = &fabric->base;
	return 0;

err_stags:
	iwarp_stags_destroy(fabric->stags);
err_free:
	free(fabric);
err_say:
	return util_err_set(err, code, "open the iwarp fabric: %s", strerror(-code));
}

static void fabric_close(struct fabric *base)
{
	struct iwarp_fabric *fabric = UTIL_CONTAINER_OF(base, struct iwarp_fabric, base);

	iwarp_pinner_destroy(fabric->pinner);
	iwarp_stags_destroy(fabric->stags);
	free(fabric);
}

static void fill_attr(struct fabric_attr *attr)
{
	*attr = (struct fabric_attr){
		.device = "iwarp",
		.max_sge = IWARP_MAX_SGE,
		.max_read_sge = 1,
		.max_inline = IWARP_MAX_INLINE,
		.max_send_wr = IWARP_MAX_WR,
		.max_recv_wr = IWARP_MAX_WR,
		.max_rd_atomic = IWARP_RD_MAX,
		.max_msg = UINT64_C(1) << 31,
		.windows = true,
		.region_addresses = true,
		.numa_node = -1,
	};
}

int iwarp_domain_create(struct iwarp_fabric *fabric, struct iwarp_domain **domainp,
			struct util_err *err)
{
	struct iwarp_domain *domain = calloc(1, sizeof(*domain));
	int code;

	if (!domain)
		return util_err_set(err, -ENOMEM, "open an iwarp domain: out of memory");
	code = iommu_space_create(&domain->space, SPACE_BASE, SPACE_LIMIT);
	if (code) {
		free(domain);
		return util_err_set(err, code, "open an iwarp domain: %s", strerror(-code));
	}
	domain->fabric = fabric;
	if (fabric->opts.iommu.policy != IOMMU_SW_OFF)
		code = iommu_sw_create(&domain->iommu, &fabric->opts.iommu);
	if (code) {
		iommu_space_destroy(domain->space);
		free(domain);
		return util_err_set(err, code, "open an iwarp domain: software IOMMU: %s",
				    strerror(-code));
	}
	atomic_init(&domain->refs, 1);
	iwarp_provider_init(domain);
	domain->base.fabric = &fabric->base;
	domain->base.provider = &domain->provider;
	fill_attr(&domain->base.attr);
	*domainp = domain;
	return 0;
}

void iwarp_domain_get(struct iwarp_domain *domain)
{
	atomic_fetch_add_explicit(&domain->refs, 1, memory_order_relaxed);
}

void iwarp_domain_put(struct iwarp_domain *domain)
{
	if (atomic_fetch_sub_explicit(&domain->refs, 1, memory_order_acq_rel) != 1)
		return;
	iommu_sw_destroy(domain->iommu);
	iommu_space_destroy(domain->space);
	free(domain);
}

static int domain_open(struct fabric *base, const struct sockaddr *peer, socklen_t peer_len,
		       int timeout_ms, struct fabric_domain **domainp, struct util_err *err)
{
	struct iwarp_fabric *fabric = UTIL_CONTAINER_OF(base, struct iwarp_fabric, base);
	struct iwarp_domain *domain;
	int code = iwarp_domain_create(fabric, &domain, err);

	if (!code)
		*domainp = &domain->base;
	return code;
}

static void domain_put(struct fabric_domain *domain)
{
	iwarp_domain_put(iwarp_domain_of(domain));
}

const struct fabric_ops iwarp_fabric_ops = {
	.name = "iwarp",
	.open = fabric_open,
	.close = fabric_close,
	.domain_open = domain_open,
	.domain_put = domain_put,
	.cq_create = iwarp_cq_create,
	.cq_destroy = iwarp_cq_destroy,
	.cq_poll = iwarp_cq_poll,
	.cq_fd = iwarp_cq_fd,
	.cq_arm = iwarp_cq_arm,
	.cq_wait = iwarp_cq_wait,
	.cq_deadline = iwarp_cq_deadline,
	.cq_counters = iwarp_cq_counters,
	.conn_connect = iwarp_conn_connect,
	.conn_accept = iwarp_conn_accept,
	.conn_start = iwarp_conn_start,
	.request_reject = iwarp_request_reject,
	.conn_disconnect = iwarp_conn_disconnect,
	.conn_destroy = iwarp_conn_destroy,
	.conn_expect = iwarp_expect,
	.conn_unexpect = iwarp_unexpect,
	.post_send = iwarp_post_send,
	.post_recv = iwarp_post_recv,
	.listen = iwarp_listen,
	.listener_fd = iwarp_listener_fd,
	.listener_poll = iwarp_listener_poll,
	.listener_deadline = iwarp_listener_deadline,
	.listener_close = iwarp_listener_close,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * provider.c - memory regions and windows of a verbs domain (mr.h's provider).
 *
 * ibv_reg_mr pins the pages and maps them for the device once, until deregistration: this is what
 * the pools above build on.  Region addresses come from an allocator, so that no process address
 * goes on the wire, and are congruent to the memory modulo its page size, so that the device can
 * use large translations.  Where a device insists on process addresses the allocator is absent.
 *
 * A pinned page is charged to VmPin by the kernel, one count per 4 KiB and per registration.
 */
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/resource.h>

#include "transport/verbs/internal.h"

#define VERBS_PAGE UINT64_C(4096)
#define VERBS_HUGE (UINT64_C(2) << 20)

static struct verbs_domain *provider_domain(struct mr_provider *p)
{
	return UTIL_CONTAINER_OF(p, struct verbs_domain, provider);
}

/* Whole pages that [addr, addr+len) touches, in bytes. */
static uint64_t page_span(const void *addr, size_t len)
{
	uint64_t first = (uintptr_t)addr & ~(VERBS_PAGE - 1);
	uint64_t end = ((uintptr_t)addr + len + VERBS_PAGE - 1) & ~(VERBS_PAGE - 1);

	return end - first;
}

/* A region address for [addr, addr+len); *iovap has addr's offset within its page. */
static int iova_take(struct verbs_domain *domain, void *addr, size_t len, size_t page_size,
		     uint64_t *iovap)
{
	uint64_t span = page_span(addr, len);
	uint64_t first = (uintptr_t)addr & ~(VERBS_PAGE - 1);
	uint64_t modulus = page_size > VERBS_HUGE ? page_size : VERBS_HUGE;
	uint64_t start;
	int ret;

	if (!domain->space) {
		*iovap = (uintptr_t)addr;
		return 0;
	}
	if (span < VERBS_HUGE && page_size < VERBS_HUGE)
		modulus = VERBS_PAGE;
	ret = iommu_space_alloc(domain->space, span, modulus, first & (modulus - 1), &start);
	if (ret)
		return ret;
	*iovap = start + ((uintptr_t)addr - first);
	return 0;
}

static void iova_give(struct verbs_domain *domain, const void *addr, size_t len, uint64_t iova)
{
	if (domain->space)
		iommu_space_free(domain->space, iova & ~(VERBS_PAGE - 1), page_span(addr, len));
}

/* Why ibv_reg_mr failed, in words. */
static int register_err(struct verbs_domain *domain, size_t len, int code, struct util_err *err)
{
	const char *device = domain->base.attr.device;
	struct rlimit limit;
	char size[32], bound[32];

	util_size_format(len, size, sizeof(size));
	switch (code) {
	case -ENOMEM:
		if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
			return util_err_set(err, code, "registering %s with %s: out of memory",
					    size, device);
		util_size_format(limit.rlim_cur, bound, sizeof(bound));
		util_err_set(err, code,
			     "registering %s with %s: beyond the limit of locked memory (%s)", size,
			     device, bound);
		util_err_hint(err, "raise it: ulimit -l, or LimitMEMLOCK= of the service, or "
				   "memlock in /etc/security/limits.conf");
		return code;
	case -EFAULT:
		util_err_set(err, code, "registering %s with %s: the memory cannot be pinned", size,
			     device);
		util_err_hint(err, "is it mapped, and writable where the device is to write?");
		return code;
	default:
		return util_err_set(err, code, "registering %s with %s: %s", size, device,
				    strerror(-code));
	}
}

static int verbs_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			  unsigned access, struct mr_registration *reg, struct util_err *err)
{
	struct verbs_domain *domain = provider_domain(p);
	unsigned flags = verbs_access_flags(access, domain->iwarp);
	struct ibv_mr *mr;
	uint64_t iova;
	int ret;

	if (len == 0 || len > p->max_region)
		return util_err_set(err, -EINVAL, "a region of %zu bytes (device limit %zu)", len,
				    p->max_region);
	ret = iova_take(domain, addr, len, page_size, &iova);
	if (ret)
		return util_err_set(err, ret, "no region address for %zu bytes", len);
	/* Completions, not memory contents, say that data is there: its order within does not
	 * matter. Where the kernel or the device does not know the flag, libibverbs drops it. */
	if (!(domain->quirks & VERBS_QUIRK_SOFTWARE))
		flags |= IBV_ACCESS_RELAXED_ORDERING;
	mr = ibv_reg_mr_iova2(domain->pd, addr, len, iova, flags);
	if (!mr) {
		ret = errno ? -errno : -ENOMEM;
		iova_give(domain, addr, len, iova);
		return register_err(domain, len, ret, err);
	}
	*reg = (struct mr_registration){
		.addr = addr,
		.len = len,
		.iova = iova,
		.lkey = mr->lkey,
		.rkey = mr->rkey,
		.access = access,
		.pages_charged =
			access & MR_ACCESS_ON_DEMAND ? 0 : page_span(addr, len) / VERBS_PAGE,
		/* rxe and siw copy by CPU: no device mapping is made, the IOMMU is never asked. */
		.iova_maps = !(domain->quirks & VERBS_QUIRK_SOFTWARE),
		.priv = mr,
	};
	return 0;
}

static void verbs_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	struct verbs_domain *domain = provider_domain(p);
	int ret = ibv_dereg_mr(reg->priv);

	if (ret) {
		/* Windows still bound over it, or the device is gone.  The address stays taken: the
		 * device may still honour the key. */
		util_log(domain->fabric->log, UTIL_LOG_ERROR,
			 "verbs: %s: deregistering %zu bytes: %s", p->device, reg->len,
			 strerror(ret));
		return;
	}
	iova_give(domain, reg->addr, reg->len, reg->iova);
	reg->priv = NULL;
}

bool verbs_has_odp(struct ibv_context *verbs)
{
	const uint32_t need = IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_WRITE;
	struct ibv_device_attr_ex attr = {0};

	if (ibv_query_device_ex(verbs, NULL, &attr))
		return false;
	return attr.odp_caps.general_caps & IBV_ODP_SUPPORT &&
	       (attr.odp_caps.per_transport_caps.rc_odp_caps & need) == need;
}

static int verbs_window_alloc(struct mr_provider *p, struct mr_window *w)
{
	struct verbs_domain *domain = provider_domain(p);
	struct verbs_window *window;
	int err;

	if (!domain->base.attr.windows)
		return -EOPNOTSUPP;
	window = calloc(1, sizeof(*window));
	if (!window)
		return -ENOMEM;
	errno = 0;
	window->mw = ibv_alloc_mw(domain->pd, IBV_MW_TYPE_2);
	if (!window->mw) {
		err = errno ? -errno : -EOPNOTSUPP;
		free(window);
		return err;
	}
	util_list_init(&window->node);
	w->priv = window;
	w->rkey = window->mw->rkey;
	return 0;
}

static void verbs_window_free(struct mr_provider *p, struct mr_window *w)
{
	struct verbs_window *window = w->priv;

	if (!window)
		return;
	util_list_del(&window->node);
	if (window->mw)
		ibv_dealloc_mw(window->mw);
	free(window);
	w->priv = NULL;
}

/* Every bind takes the next of the window's 256 keys (post.c does the same sum). */
static int verbs_window_next_key(struct mr_provider *p, struct mr_window *w, uint32_t *rkeyp)
{
	(void)p;
	*rkeyp = ibv_inc_rkey(w->rkey);
	return 0;
}

static const struct mr_provider_ops verbs_provider_ops = {
	.name = "verbs",
	.register_memory = verbs_register,
	.deregister_memory = verbs_deregister,
	.window_alloc = verbs_window_alloc,
	.window_free = verbs_window_free,
	.window_next_key = verbs_window_next_key,
};

void verbs_provider_init(struct verbs_domain *domain, const struct ibv_device_attr *dev)
{
	struct mr_provider *p = &domain->provider;

	p->ops = &verbs_provider_ops;
	p->max_region = dev->max_mr_size && dev->max_mr_size < SIZE_MAX / 2 ? dev->max_mr_size
									    : SIZE_MAX / 2;
	p->max_regions = dev->max_mr > 0 ? (uint32_t)dev->max_mr : UINT32_MAX;
	p->max_windows = domain->base.attr.windows ? (uint32_t)dev->max_mw : 0;
	p->registers = true;
	p->odp = verbs_has_odp(domain->pd->context);
	p->numa_node = domain->base.attr.numa_node;
	snprintf(p->device, sizeof(p->device), "%s", domain->base.attr.device);
}

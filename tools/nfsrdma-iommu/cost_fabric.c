/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost_fabric.c - registration and release with a fabric's memory provider, as the pool does it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "tools/nfsrdma-iommu/cost.h"
#include "transport/transport.h"

#define COST_OPEN_MS 3000

struct cost_provider {
	struct mr_provider *provider;
	struct mr_registration reg;
};

static int cost_register(void *arg, const struct memory *m, uint64_t len, enum memory_kind kind)
{
	struct cost_provider *p = arg;
	/* What the size of the pages is for sure, the provider need not find out. */
	unsigned access = MR_ACCESS_LOCAL_WRITE | MR_ACCESS_REMOTE_WRITE |
			  (kind == MEMORY_4K ? MR_ACCESS_PAGES_KNOWN : 0);
	uint64_t page = kind == MEMORY_THP ? 4096 : memory_page(kind);

	return p->provider->ops->register_memory(p->provider, m->addr, len, page, access, &p->reg,
						 NULL);
}

static void cost_release(void *arg, uint64_t len)
{
	struct cost_provider *p = arg;

	(void)len;
	p->provider->ops->deregister_memory(p->provider, &p->reg);
}

static int cost_address(const char *text, struct sockaddr_storage *addr, socklen_t *lenp)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(20049);
		*lenp = sizeof(*in);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(20049);
		*lenp = sizeof(*in6);
		return 0;
	}
	return -EINVAL;
}

/* Registering with an RDMA NIC behind a translating IOMMU maps too; software devices have no bus.
 */
static bool cost_maps(const struct iommu_device *dev)
{
	return dev->rdma && !dev->rides_on[0] &&
	       (dev->domain == IOMMU_DOMAIN_DMA || dev->domain == IOMMU_DOMAIN_DMA_FQ);
}

static int cost_fabric_report(const struct cost_options *opts, const struct fabric_ops *ops,
			      struct fabric_domain *domain, struct util_err *err)
{
	struct cost_provider provider = {.provider = domain->provider};
	const struct cost_bench bench = {
		.arg = &provider,
		.enter = cost_register,
		.leave = cost_release,
		.enter_name = "register",
		.leave_name = "release",
	};
	struct iommu_survey survey;
	struct iommu_device dev;
	struct report *r;
	char line[400];
	int ret;

	iommu_probe_survey(&survey, NULL);
	iommu_probe_device(&dev, domain->attr.device, NULL);
	r = report_begin(stdout, opts->json, "nfsrdma-iommu-cost/1");
	if (!r)
		return util_err_set(err, -ENOMEM, "out of memory");
	report_text(r, "fabric", ops->name);
	report_text(r, "device", domain->attr.device);
	report_text(r, "domain", iommu_domain_name(dev.domain));
	report_bool(r, "maps_included", cost_maps(&dev));
	report_text(r, "machine", iommu_summary(&survey.facts, &dev, line, sizeof(line)));
	cost_table(r, opts, &bench);
	ret = report_end(r);
	return ret ? util_err_set(err, ret, "write the report: %s", strerror(-ret)) : 0;
}

static int cost_fabric_run(const struct cost_options *opts, const struct fabric_ops *ops,
			   struct util_err *err)
{
	struct sockaddr_storage addr;
	struct fabric_domain *domain;
	struct fabric *fabric;
	socklen_t len;
	int ret;

	if (cost_address(opts->address, &addr, &len))
		return util_err_set(err, -EINVAL, "--address %s: not an IP address", opts->address);
	ret = ops->open(&fabric, NULL, err);
	if (ret)
		return ret;
	ret = ops->domain_open(fabric, (const struct sockaddr *)&addr, len, COST_OPEN_MS, &domain,
			       err);
	if (!ret) {
		ret = cost_fabric_report(opts, ops, domain, err);
		ops->domain_put(domain);
	}
	ops->close(fabric);
	return ret;
}

int cost_fabric(const struct cost_options *opts)
{
	const struct fabric_ops *ops = NULL;
	struct util_err err = {0};

	if (!strcmp(opts->fabric, "iwarp"))
		ops = &iwarp_fabric_ops;
	else if (!strcmp(opts->fabric, "verbs"))
		ops = &verbs_fabric_ops;
	else
		return tool_usage("cost", "--fabric %s: iwarp or verbs", opts->fabric);
	return cost_fabric_run(opts, ops, &err) ? tool_fail("cost", &err) : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * provider.c - the software RNIC as a place to register memory.
 *
 * Registering remotely reachable memory pins it (pin.c), gives it a region address of its own, so
 * that no process address goes on the wire, and enters it into the key table.  Region addresses are
 * congruent to the memory modulo 2 MiB, as a device with large translations would like them.
 *
 * Memory no peer can reach costs nothing at all: this RNIC reads and writes it by process address
 * in the owner's own system calls, so there is nothing to pin and no key to hand out.
 *
 * Windows are of type 2: allocated here, bound and invalidated by work requests of one connection
 * (tx.c, message.c).  Each bind takes a fresh STag, which may be asked for ahead of the bind.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/iwarp/internal.h"

#define PAGE_BYTES UINT64_C(4096)
#define CONGRUENCE (UINT64_C(2) << 20)
#define REACHABLE                                                                                  \
	(MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE | MR_ACCESS_READ_SINK |                    \
	 MR_ACCESS_WINDOW_BIND)

/* What a registration's priv points at. */
struct region {
	struct iwarp_pin pin;
	uint64_t space_addr, space_len; /* as taken from the domain's space */
	uint64_t bus;			/* behind an IOMMU */
};

static struct iwarp_domain *domain_of(struct mr_provider *p)
{
	return UTIL_CONTAINER_OF(p, struct iwarp_domain, provider);
}

static unsigned rights_of(unsigned access)
{
	return (access & MR_ACCESS_REMOTE_READ ? IWARP_RIGHT_READ : 0) |
	       (access & MR_ACCESS_REMOTE_WRITE ? IWARP_RIGHT_WRITE : 0) |
	       (access & MR_ACCESS_READ_SINK ? IWARP_RIGHT_SINK : 0) |
	       (access & MR_ACCESS_WINDOW_BIND ? IWARP_RIGHT_BIND : 0);
}

/* Take a region address for addr and remember what was taken. */
static int take_address(struct iwarp_domain *domain, struct region *region, uint64_t *iovap)
{
	uint64_t addr = (uintptr_t)region->pin.addr;
	uint64_t offset = addr % PAGE_BYTES;
	int err;

	region->space_len = region->pin.len + offset;
	err = iommu_space_alloc(domain->space, region->space_len, CONGRUENCE,
				(addr - offset) % CONGRUENCE, &region->space_addr);
	if (!err)
		*iovap = region->space_addr + offset;
	return err;
}

/* Sinks are written; what a window is bound over may be anything its grant says. */
static unsigned iommu_rights(unsigned access)
{
	unsigned rights = 0;

	if (access & (MR_ACCESS_REMOTE_READ | MR_ACCESS_WINDOW_BIND))
		rights |= IOMMU_SW_READ;
	if (access & (MR_ACCESS_REMOTE_WRITE | MR_ACCESS_READ_SINK | MR_ACCESS_WINDOW_BIND))
		rights |= IOMMU_SW_WRITE;
	return rights;
}

uint64_t iwarp_region_bus(const struct mr_registration *reg)
{
	const struct region *region = reg->priv;

	return region ? region->bus : 0;
}

static int map_bus(struct iwarp_domain *domain, struct mr_registration *reg, size_t page_size,
		   struct region *region)
{
	int err;

	if (!domain->iommu)
		return 0;
	err = iommu_sw_map(domain->iommu, reg->addr, reg->len, page_size, iommu_rights(reg->access),
			   &region->bus);
	if (!err && domain->fabric->opts.iommu.policy != IOMMU_SW_PASSTHROUGH)
		reg->iova_maps = 1;
	return err;
}

static void unmap_bus(struct iwarp_domain *domain, struct mr_registration *reg,
		      const struct region *region)
{
	if (domain->iommu)
		iommu_sw_unmap(domain->iommu, region->bus, reg->len);
}

static int enter_key(struct iwarp_domain *domain, struct mr_registration *reg, uint64_t bus)
{
	const struct iwarp_mem mem = {
		.base = reg->addr,
		.iova = reg->iova,
		.len = reg->len,
		.bus = bus,
		.rights = rights_of(reg->access),
		.domain = domain,
	};
	uint32_t stag;
	int err = iwarp_stags_reserve(domain->fabric->stags, &stag);

	if (err)
		return err;
	iwarp_stags_activate(domain->fabric->stags, stag, &mem);
	reg->lkey = reg->rkey = stag;
	return 0;
}

static int register_reachable(struct iwarp_domain *domain, struct mr_registration *reg,
			      size_t page_size, struct util_err *err)
{
	bool small = reg->access & MR_ACCESS_PAGES_KNOWN && page_size == PAGE_BYTES;
	struct region *region = calloc(1, sizeof(*region));
	int code;

	if (!region)
		return util_err_set(err, -ENOMEM, "register memory: out of memory");
	code = iwarp_pin(domain->fabric->pinner, reg->addr, reg->len, small, &region->pin, err);
	if (code)
		goto err_free;
	code = take_address(domain, region, &reg->iova);
	if (code) {
		util_err_set(err, code, "register memory: no region address left");
		goto err_unpin;
	}
	code = map_bus(domain, reg, page_size, region);
	if (code) {
		util_err_set(err, code, "register memory: the software IOMMU: %s", strerror(-code));
		goto err_address;
	}
	code = enter_key(domain, reg, region->bus);
	if (code) {
		util_err_set(err, code, "register memory: the key table is full");
		goto err_unmap;
	}
	reg->pages_charged = region->pin.pages_charged;
	reg->locked_pages = region->pin.locked_pages;
	reg->priv = region;
	return 0;

err_unmap:
	unmap_bus(domain, reg, region);
err_address:
	iommu_space_free(domain->space, region->space_addr, region->space_len);
err_unpin:
	iwarp_unpin(domain->fabric->pinner, &region->pin);
err_free:
	free(region);
	return code;
}

static int provider_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			     unsigned access, struct mr_registration *reg, struct util_err *err)
{
	struct mr_registration made = {
		.addr = addr,
		.len = len,
		.iova = (uintptr_t)addr,
		.access = access,
	};
	int code;

	if (!addr || !len || len > p->max_region || len > UINTPTR_MAX - (uintptr_t)addr)
		return util_err_set(err, -EINVAL, "register memory: bad range");
	if (access & REACHABLE) {
		code = register_reachable(domain_of(p), &made, page_size, err);
		if (code)
			return code;
	}
	*reg = made;
	return 0;
}

/* Where mlock stands in for pins and ranges overlap, reg->locked_pages becomes what this gave back.
 */
static void provider_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	struct iwarp_domain *domain = domain_of(p);
	struct region *region = reg->priv;

	if (!region)
		return;
	iwarp_stags_remove(domain->fabric->stags, reg->rkey);
	unmap_bus(domain, reg, region);
	iwarp_unpin(domain->fabric->pinner, &region->pin);
	reg->locked_pages = region->pin.locked_pages;
	iommu_space_free(domain->space, region->space_addr, region->space_len);
	free(region);
	reg->priv = NULL;
}

static int provider_window_alloc(struct mr_provider *p, struct mr_window *w)
{
	struct iwarp_window *window = calloc(1, sizeof(*window));

	if (!window)
		return -ENOMEM;
	window->domain = domain_of(p);
	util_list_init(&window->node);
	w->rkey = 0;
	w->priv = window;
	return 0;
}

static void provider_window_free(struct mr_provider *p, struct mr_window *w)
{
	if (!w->priv)
		return;
	iwarp_window_unbind(w->priv);
	iwarp_window_forgo_key(w->priv);
	free(w->priv);
	w->priv = NULL;
}

static int provider_window_next_key(struct mr_provider *p, struct mr_window *w, uint32_t *rkeyp)
{
	struct iwarp_window *window = w->priv;
	int err = 0;

	if (!window->next_stag)
		err = iwarp_stags_reserve(domain_of(p)->fabric->stags, &window->next_stag);
	if (!err)
		*rkeyp = window->next_stag;
	return err;
}

uint32_t iwarp_window_take_key(struct iwarp_window *window)
{
	uint32_t stag = window->next_stag;

	window->next_stag = 0;
	return stag;
}

void iwarp_window_forgo_key(struct iwarp_window *window)
{
	if (window->next_stag)
		iwarp_stags_remove(window->domain->fabric->stags, window->next_stag);
	window->next_stag = 0;
}

void iwarp_window_unbind(struct iwarp_window *window)
{
	if (!window->stag)
		return;
	iwarp_stags_remove(window->domain->fabric->stags, window->stag);
	window->stag = 0;
	util_list_del(&window->node);
}

void iwarp_window_bind(struct iwarp_window *window, uint32_t stag, const struct iwarp_mem *mem)
{
	iwarp_window_unbind(window);
	iwarp_stags_activate(window->domain->fabric->stags, stag, mem);
	window->stag = stag;
}

static void provider_count_iommu(const struct mr_provider *p, struct mr_ledger_snapshot *snap)
{
	const struct iwarp_domain *domain = UTIL_CONTAINER_OF(p, struct iwarp_domain, provider);
	struct iommu_sw_stats stats;

	if (!domain->iommu)
		return;
	iommu_sw_stats(domain->iommu, &stats);
	snap->iotlb_lookups += stats.lookups;
	snap->iotlb_misses += stats.misses;
	snap->iommu_flushes += stats.flushes;
	snap->iommu_flush_batches += stats.flush_batches;
	snap->iommu_faults += stats.faults;
}

static const struct mr_provider_ops provider_ops = {
	.name = "iwarp",
	.register_memory = provider_register,
	.deregister_memory = provider_deregister,
	.window_alloc = provider_window_alloc,
	.window_free = provider_window_free,
	.window_next_key = provider_window_next_key,
	.count_iommu = provider_count_iommu,
};

void iwarp_provider_init(struct iwarp_domain *domain)
{
	domain->provider = (struct mr_provider){
		.ops = &provider_ops,
		.max_region = (size_t)1 << 40,
		.max_regions = 1u << 16,
		.max_windows = 1u << 20,
		.registers = true,
		.numa_node = -1,
		.device = "iwarp",
	};
}

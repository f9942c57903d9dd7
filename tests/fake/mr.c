/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr.c - the fake's memory provider.
 *
 * Region addresses are far from process addresses, so that code which mixes them up fails, and keys
 * count up, so that none comes back.  pages_charged is what a real device would pin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fake/internal.h"

struct fake_region *fake_region_add(const void *owner, void *addr, size_t len, unsigned access)
{
	struct fake_region *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->owner = owner;
	r->addr = addr;
	r->len = len;
	r->access = access;
	r->key = ++fake_world.next_key << 8 | 0x5a;
	r->iova = ((uint64_t)r->key << 32) + ((uintptr_t)addr & 0xfff);
	util_list_add(&fake_world.regions, &r->node);
	fake_world.objects++;
	fake_world.seen.registrations++;
	return r;
}

uint8_t *fake_region_find(const void *owner, uint32_t key, uint64_t iova, size_t len,
			  unsigned access)
{
	UTIL_LIST_FOR_EACH (node, &fake_world.regions) {
		struct fake_region *r = UTIL_LIST_ENTRY(node, struct fake_region, node);

		if (r->owner != owner || r->key != key)
			continue;
		if ((r->access & access) != access || iova < r->iova || iova - r->iova > r->len ||
		    len > r->len - (iova - r->iova))
			return NULL;
		return r->addr + (iova - r->iova);
	}
	return NULL;
}

uint8_t *fake_reach(const struct fake_conn *c, uint32_t key, uint64_t iova, size_t len,
		    unsigned access)
{
	uint8_t *at = fake_region_find(c->owner, key, iova, len, access);

	return at ? at : fake_window_find(c, key, iova, len, access);
}

static int fake_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			 unsigned access, struct mr_registration *reg, struct util_err *err)
{
	struct fake_region *r;
	int code;

	fake_lock();
	code = fake_may_fail();
	if (code) {
		fake_unlock();
		return util_err_set(err, code, "fake: scripted failure");
	}
	r = fake_region_add(p, addr, len, access);
	fake_unlock();
	if (!r)
		return -ENOMEM;
	*reg = (struct mr_registration){
		.addr = addr,
		.len = len,
		.iova = r->iova,
		.lkey = r->key,
		.rkey = access & (MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE |
				  MR_ACCESS_READ_SINK)
				? r->key
				: 0,
		.access = access,
		.pages_charged = len / 4096,
		.iova_maps = 1,
		.priv = r,
	};
	(void)page_size;
	return 0;
}

static void fake_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	struct fake_region *r = reg->priv;

	(void)p;
	fake_lock();
	fake_windows_over(r);
	util_list_del(&r->node);
	fake_world.objects--;
	fake_unlock();
	free(r);
	reg->priv = NULL;
}

static const struct mr_provider_ops fake_provider_ops = {
	.name = "fake",
	.register_memory = fake_register,
	.deregister_memory = fake_deregister,
	.window_alloc = fake_window_alloc,
	.window_free = fake_window_free,
	.window_next_key = fake_window_next_key,
};

void fake_provider_init(struct mr_provider *p, const struct fake_setup *setup)
{
	*p = (struct mr_provider){
		.ops = &fake_provider_ops,
		.max_region = (size_t)1 << 30,
		.max_regions = 1 << 16,
		.max_windows = setup->max_windows,
		.registers = true,
		.numa_node = -1,
	};
	snprintf(p->device, sizeof(p->device), "%s", setup->attr.device);
}

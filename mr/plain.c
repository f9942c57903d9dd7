/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain.c - the provider of tcp: there is no device, and nothing is pinned.
 *
 * Pools work the same over it, so the layers above need not know which transport they are on.
 */
#include <errno.h>
#include <stdio.h>

#include "mr/internal.h"

static int mr_plain_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			     unsigned access, struct mr_registration *reg, struct util_err *err)
{
	(void)p;
	(void)page_size;
	(void)err;
	*reg = (struct mr_registration){
		.addr = addr,
		.len = len,
		.iova = (uintptr_t)addr,
		.access = access,
	};
	return 0;
}

static void mr_plain_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	(void)p;
	reg->addr = NULL;
}

static int mr_plain_window_alloc(struct mr_provider *p, struct mr_window *w)
{
	(void)p;
	(void)w;
	return -EOPNOTSUPP;
}

static void mr_plain_window_free(struct mr_provider *p, struct mr_window *w)
{
	(void)p;
	(void)w;
}

static int mr_plain_window_next_key(struct mr_provider *p, struct mr_window *w, uint32_t *rkeyp)
{
	(void)p;
	(void)w;
	(void)rkeyp;
	return -EOPNOTSUPP;
}

static const struct mr_provider_ops mr_plain_ops = {
	.name = "plain",
	.register_memory = mr_plain_register,
	.deregister_memory = mr_plain_deregister,
	.window_alloc = mr_plain_window_alloc,
	.window_free = mr_plain_window_free,
	.window_next_key = mr_plain_window_next_key,
};

void mr_provider_plain_init(struct mr_provider *p)
{
	*p = (struct mr_provider){
		.ops = &mr_plain_ops,
		.max_region = SIZE_MAX / 2,
		.max_regions = UINT32_MAX,
		.numa_node = -1,
	};
	snprintf(p->device, sizeof(p->device), "none");
}

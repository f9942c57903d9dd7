/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * standin.h - a memory provider that registers nothing and says that it did: where what is asked is
 * what a pool's memory is made of.
 */
#ifndef NFSRDMA_TESTS_VM_STANDIN_H
#define NFSRDMA_TESTS_VM_STANDIN_H

#include "mr/mr.h"

static int standin_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			    unsigned access, struct mr_registration *reg, struct util_err *err)
{
	(void)p;
	(void)page_size;
	(void)err;
	*reg = (struct mr_registration){.addr = addr,
					.len = len,
					.iova = (uintptr_t)addr,
					.access = access,
					.pages_charged = len / 4096};
	return 0;
}

static void standin_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	(void)p;
	(void)reg;
}

static const struct mr_provider_ops standin_ops = {
	.name = "stand-in",
	.register_memory = standin_register,
	.deregister_memory = standin_deregister,
};

/* For an initializer, with .device to be filled in. */
#define STANDIN_PROVIDER                                                                           \
	.ops = &standin_ops, .max_region = 1u << 30, .max_regions = 100000, .registers = true,     \
	.numa_node = -1

#endif

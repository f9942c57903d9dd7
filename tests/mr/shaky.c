/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shaky.c - see shaky.h.  Any thread may call it.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/mr/shaky.h"

static struct shaky_provider *shaky_of(struct mr_provider *p)
{
	return UTIL_CONTAINER_OF(p, struct shaky_provider, p);
}

static int shaky_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			  unsigned access, struct mr_registration *reg, struct util_err *err)
{
	struct shaky_provider *shaky = shaky_of(p);
	struct mr_provider *inner = &shaky->inner.p;
	unsigned call = ++shaky->calls;
	int ret;

	if (atomic_exchange(&shaky->fail_next, false) ||
	    (shaky->fail_every && call % shaky->fail_every == 0))
		return util_err_set(err, -EFAULT, "as the test wants it");
	ret = inner->ops->register_memory(inner, addr, len, page_size, access, reg, err);
	if (ret)
		return util_err_set(err, ret, "pin: %d", ret);
	shaky->live++;
	shaky->bytes += len;
	return 0;
}

static void shaky_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	struct shaky_provider *shaky = shaky_of(p);

	shaky->calls++;
	shaky->live--;
	shaky->bytes -= reg->len;
	shaky->inner.p.ops->deregister_memory(&shaky->inner.p, reg);
}

static int shaky_window_alloc(struct mr_provider *p, struct mr_window *w)
{
	struct shaky_provider *shaky = shaky_of(p);

	shaky->windows++;
	*w = (struct mr_window){.rkey = shaky->next_key += 256, .priv = shaky};
	return 0;
}

static void shaky_window_free(struct mr_provider *p, struct mr_window *w)
{
	shaky_of(p)->windows--;
	w->priv = NULL;
}

static const struct mr_provider_ops shaky_ops = {
	.name = "shaky",
	.register_memory = shaky_register,
	.deregister_memory = shaky_deregister,
	.window_alloc = shaky_window_alloc,
	.window_free = shaky_window_free,
	.window_next_key = fake_window_next_key,
};

void shaky_provider_init(struct shaky_provider *shaky)
{
	memset(shaky, 0, sizeof(*shaky));
	if (pinning_provider_init(&shaky->inner))
		cr_skip_test("io_uring is forbidden here: nothing can be pinned");
	shaky->p.ops = &shaky_ops;
	shaky->p.max_region = 1ul << 30;
	shaky->p.max_regions = shaky->p.max_windows = 100000;
	shaky->p.registers = true;
	shaky->p.numa_node = -1;
	strcpy(shaky->p.device, "shaky");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * budget.c - how much may be pinned, looked at before asking, named when refused.
 *
 * Two numbers bound what a pool pins: max-pinned, and RLIMIT_MEMLOCK where it binds (without
 * CAP_IPC_LOCK); a third what it maps: half of the machine's memory or of the control group's
 * limit. The look can only see this process; the kernel charges all processes of the user together,
 * so its refusal is the truth and the look saves asking for what cannot be.
 *
 * Unless max-pinned says otherwise, a pool leaves a quarter of the limit to the user's other
 * processes.  A client that takes all of it starves the server it talks to, if that is the same
 * user's: then both wait for each other, for ever.  Of the 8 MiB of a stock machine 2 MiB remain,
 * which is a server's one largest transfer of each direction.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "mr/internal.h"

#define MR_BUDGET_REMEDY                                                                           \
	"all processes of a user share it: raise it (ulimit -l, LimitMEMLOCK=, limits.conf), set " \
	"max-pinned=, or use fewer or smaller buffers"

#define MR_BUDGET_GROUP                                                                            \
	"raise the group's limit (MemoryMax=), set max-pinned= to use more of it, or use "         \
	"fewer or smaller buffers"

static uint64_t mr_machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);

	if (pages <= 0 || size <= 0)
		return UINT64_C(2) << 30;
	return (uint64_t)pages * (uint64_t)size;
}

/* Half of what there is; who says max-pinned may have up to all of it. */
static void mr_budget_bytes(struct mr_budget *budget, uint64_t max_pinned,
			    const struct mr_cgroup *cgroup)
{
	const char *of = "the machine's memory", *part = "half of ";
	uint64_t all = mr_machine_memory();

	if (cgroup->limit < all) {
		all = cgroup->limit;
		of = cgroup->file;
	}
	budget->bytes_max = all / 2;
	if (max_pinned > all / 2) {
		budget->bytes_max = max_pinned < all ? max_pinned : all;
		part = "";
	}
	if (max_pinned > all / 2 && max_pinned < all)
		of = "max-pinned";
	snprintf(budget->bytes_name, sizeof(budget->bytes_name), "%s%s", part, of);
}

void mr_budget_init(struct mr_budget *budget, const struct mr_pool_params *params,
		    const struct mr_provider *provider, const struct iommu_facts *facts,
		    const struct mr_cgroup *cgroup)
{
	memset(budget, 0, sizeof(*budget));
	budget->memlock = UINT64_MAX;
	if (provider->registers && !facts->ipc_lock)
		budget->memlock = facts->memlock_soft;
	mr_budget_bytes(budget, params->max_pinned, cgroup);
	budget->pinned_max = budget->bytes_max;
	memcpy(budget->name, budget->bytes_name, sizeof(budget->name));
	if (budget->memlock < budget->pinned_max) {
		budget->pinned_max = budget->memlock - budget->memlock / 4;
		snprintf(budget->name, sizeof(budget->name), "three quarters of the memlock limit");
	}
	if (params->max_pinned && params->max_pinned <= budget->memlock &&
	    params->max_pinned <= budget->bytes_max) {
		budget->pinned_max = params->max_pinned;
		snprintf(budget->name, sizeof(budget->name), "max-pinned");
	}
	budget->soft = budget->pinned_max / 4;
}

/* What this process has charged, by the topmost ledger we know. */
static uint64_t mr_budget_process_bytes(const struct mr_pool *pool)
{
	const struct mr_ledger *top = &pool->ledger;
	uint64_t pages;

	while (top->parent)
		top = top->parent;
	pages = atomic_load_explicit(&top->now->pages_charged_now, memory_order_relaxed) +
		atomic_load_explicit(&top->now->locked_pages_now, memory_order_relaxed);
	return pages * MR_PAGE;
}

static int mr_budget_over(struct mr_pool *pool, size_t len, const char *name, uint64_t limit,
			  uint64_t used, struct util_err *err)
{
	char len_text[24], limit_text[24], used_text[24];

	MR_LEDGER_ADD(&pool->ledger, limit_refusals, 1);
	util_size_format(len, len_text, sizeof(len_text));
	util_size_format(limit, limit_text, sizeof(limit_text));
	util_size_format(used, used_text, sizeof(used_text));
	util_err_set(err, -ENOMEM, "register %s more: %s is %s, of which %s are in use", len_text,
		     name, limit_text, used_text);
	if (strstr(name, "memlock"))
		util_err_hint(err, MR_BUDGET_REMEDY);
	else if (strstr(name, "cgroup"))
		util_err_hint(err, MR_BUDGET_GROUP);
	else if (strstr(name, "memory"))
		util_err_hint(err, "use fewer or smaller buffers, or set max-pinned=");
	else
		util_err_hint(err, "raise max-pinned, or use fewer or smaller buffers");
	return -ENOMEM;
}

static uint64_t mr_budget_pieces(const struct mr_pool *pool)
{
	return atomic_load_explicit(&pool->pieces, memory_order_relaxed);
}

/* used bytes of the pool are pinned: do len more fit? */
static int mr_budget_room(struct mr_pool *pool, uint64_t used, size_t len, struct util_err *err)
{
	const struct mr_budget *budget = &pool->budget;
	uint64_t charged;

	if (len > budget->pinned_max || used > budget->pinned_max - len)
		return mr_budget_over(pool, len, budget->name, budget->pinned_max, used, err);
	charged = mr_budget_process_bytes(pool);
	if (len > budget->memlock || charged > budget->memlock - len)
		return mr_budget_over(pool, len, "the memlock limit", budget->memlock, charged,
				      err);
	return 0;
}

int mr_budget_look(struct mr_pool *pool, enum mr_kind kind, size_t len, struct util_err *err)
{
	const struct mr_budget *budget = &pool->budget;

	if (len > budget->bytes_max || pool->bytes > budget->bytes_max - len)
		return mr_budget_over(pool, len, budget->bytes_name, budget->bytes_max, pool->bytes,
				      err);
	if (!pool->provider->registers || pool->kind_free[kind] || pool->keyless)
		return 0;
	return mr_budget_room(pool, pool->pinned + mr_budget_pieces(pool), len, err);
}

/* NB: pool->pinned is read without the lock; at worst the kernel has to say no. */
int mr_budget_reserve(struct mr_pool *pool, size_t len, struct util_err *err)
{
	uint64_t before = atomic_fetch_add_explicit(&pool->pieces, len, memory_order_relaxed);
	int ret = mr_budget_room(pool, (pool->keyless ? 0 : pool->pinned) + before, len, err);

	if (ret)
		mr_budget_return(pool, len);
	return ret;
}

void mr_budget_return(struct mr_pool *pool, size_t len)
{
	atomic_fetch_sub_explicit(&pool->pieces, len, memory_order_relaxed);
}

void mr_budget_refused(struct mr_pool *pool, size_t len, struct util_err *err)
{
	char len_text[24], limit_text[24], used_text[24];

	if (!err || pool->budget.memlock == UINT64_MAX || !pool->provider->registers)
		return;
	util_size_format(len, len_text, sizeof(len_text));
	util_size_format(pool->budget.memlock, limit_text, sizeof(limit_text));
	util_size_format(mr_budget_process_bytes(pool), used_text, sizeof(used_text));
	util_err_set(err, -ENOMEM,
		     "register %s more: refused; the memlock limit is %s, of which this process "
		     "uses %s",
		     len_text, limit_text, used_text);
	util_err_hint(err, MR_BUDGET_REMEDY);
}

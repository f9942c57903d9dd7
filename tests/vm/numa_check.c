/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numa_check.c - where a pool's slabs really lie, asked of the kernel page by page.
 *
 *   numa_check DEVICE HUGEPAGES NODE     HUGEPAGES: off, auto, 2m; NODE: a number, or "device" for
 * where DEVICE is
 *
 * Runs in a guest with two nodes.  The provider is a stand-in that registers nothing: what is asked
 * is the placement. Prints TAP.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "iommu-aware/iommu.h"
#include "mr/mr.h"
#include "tests/vm/standin.h"

#define LEASE_LEN (1u << 20)
#define LEASES 4
#define PAGE 4096u

/* Pages of [addr, addr+len) that are not on node, as move_pages(2) without a destination tells. */
static unsigned pages_elsewhere(char *addr, size_t len, int node)
{
	void *page[LEASE_LEN / PAGE];
	int status[LEASE_LEN / PAGE];
	unsigned count = (unsigned)(len / PAGE), elsewhere = 0;

	for (unsigned i = 0; i < count; i++)
		page[i] = addr + i * PAGE;
	if (syscall(SYS_move_pages, 0, (unsigned long)count, page, NULL, status, 0))
		return count;
	for (unsigned i = 0; i < count; i++)
		elsewhere += status[i] != node;
	return elsewhere;
}

static enum mr_hugepages hugepages_of(const char *word)
{
	if (!strcmp(word, "off"))
		return MR_HUGE_OFF;
	return strcmp(word, "2m") ? MR_HUGE_AUTO : MR_HUGE_2M;
}

int main(int argc, char **argv)
{
	struct mr_provider provider = {STANDIN_PROVIDER};
	struct mr_pool_params params = {.numa_node = -1};
	struct mr_lease *lease[LEASES];
	struct util_err err = {0};
	struct iommu_device dev;
	struct mr_pool *pool;
	unsigned elsewhere = 0, all = 0;
	char words[200];
	int node;

	if (argc != 4)
		return 2;
	snprintf(provider.device, sizeof(provider.device), "%s", argv[1]);
	params.hugepages = hugepages_of(argv[2]);
	iommu_probe_device(&dev, argv[1], NULL);
	node = dev.node;
	if (strcmp(argv[3], "device"))
		node = params.numa_node = atoi(argv[3]);
	if (mr_pool_create(&pool, &provider, &params, &err)) {
		printf("Bail out! %s\n", err.what);
		return 1;
	}
	for (unsigned i = 0; i < LEASES; i++) {
		if (mr_lease_take(pool, i % 2 ? MR_KIND_WRITE : MR_KIND_READ, LEASE_LEN, &lease[i],
				  &err)) {
			printf("Bail out! %s\n", err.what);
			return 1;
		}
		elsewhere += pages_elsewhere(lease[i]->addr, LEASE_LEN, node);
		all += LEASE_LEN / PAGE;
	}
	printf("%sok 1 - hugepages=%s, numa=%s: all %u pages are on node %d\n",
	       elsewhere ? "not " : "", argv[2], argv[3], all, node);
	printf("# %u elsewhere; %s\n", elsewhere, mr_pool_describe(pool, words, sizeof(words)));
	for (unsigned i = 0; i < LEASES; i++)
		mr_lease_give(lease[i]);
	mr_pool_destroy(pool);
	return elsewhere ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_check.c - what a pool gets from a real machine, for guests that have what is needed.
 *
 *   pool_check pages off|auto|2m|1g KIB   a slab lies in pages of KIB as the kernel says, and is
 *                                         given back: the reserve of huge pages is as before
 *   pool_check cgroup FILE BYTES          a group's limit refuses by name, at half of BYTES
 *
 * The provider is a stand-in that pins nothing.  Prints TAP.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iommu-aware/iommu.h"
#include "mr/mr.h"
#include "tests/vm/standin.h"

#define LEASE_LEN (1u << 20)
#define LEASES_MAX 4096u

static struct mr_provider provider = {STANDIN_PROVIDER, .device = "none"};
static unsigned points;

static void point(bool holds, const char *what)
{
	printf("%sok %u - %s\n", holds ? "" : "not ", ++points, what);
}

/* A number of the mapping that addr lies in, as /proc/self/smaps has it: "KernelPageSize:". */
static long mapping_kib(const void *addr, const char *field)
{
	unsigned long long start, end;
	bool inside = false;
	char line[512];
	long kib = -1;
	FILE *file = fopen("/proc/self/smaps", "r");

	while (file && kib < 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx ", &start, &end) == 2)
			inside = start <= (uintptr_t)addr && (uintptr_t)addr < end;
		else if (inside && !strncmp(line, field, strlen(field)))
			kib = atol(line + strlen(field));
	}
	if (file)
		fclose(file);
	return kib;
}

static uint64_t huge_free_kib(void)
{
	struct iommu_facts facts;

	iommu_probe(&facts, NULL);
	return facts.huge_2m_free * 2048 + facts.huge_1g_free * 1048576;
}

static enum mr_hugepages wish_of(const char *word)
{
	if (!strcmp(word, "off"))
		return MR_HUGE_OFF;
	if (!strcmp(word, "2m"))
		return MR_HUGE_2M;
	return strcmp(word, "1g") ? MR_HUGE_AUTO : MR_HUGE_1G;
}

static int check_pages(const char *wish, long kib)
{
	struct mr_pool_params params = {.hugepages = wish_of(wish), .numa_node = -1};
	uint64_t before = huge_free_kib();
	struct util_err err = {0};
	struct mr_lease *lease;
	struct mr_pool *pool;
	char words[300], pages[200];
	long has, thp;

	if (mr_pool_create(&pool, &provider, &params, &err) ||
	    mr_lease_take(pool, MR_KIND_READ, LEASE_LEN, &lease, &err)) {
		printf("Bail out! %s\n", err.what);
		return 1;
	}
	memset(lease->addr, 1, lease->len);
	has = mapping_kib(lease->addr, "KernelPageSize:");
	thp = mapping_kib(lease->addr, "AnonHugePages:");
	if (has == 4 && thp > 0)
		has = 2048;
	snprintf(words, sizeof(words), "hugepages=%s: pages of %ld KiB (%s)", wish, has,
		 mr_pool_describe(pool, pages, sizeof(pages)));
	point(has == kib, words);
	point(strstr(words, kib == 4	  ? "(4 KiB"
			    : kib == 2048 ? "huge"
					  : "(1 GiB huge"),
	      "the pool says so");
	mr_lease_give(lease);
	mr_pool_destroy(pool);
	point(huge_free_kib() == before, "the reserve of huge pages is as before");
	return 0;
}

static int check_cgroup(const char *file, uint64_t bytes)
{
	struct mr_pool_params params = {.numa_node = -1};
	static struct mr_lease *lease[LEASES_MAX];
	struct mr_ledger_snapshot snap;
	struct util_err err = {0};
	struct mr_pool *pool;
	unsigned n = 0;
	int ret;

	if (mr_pool_create(&pool, &provider, &params, &err)) {
		printf("Bail out! %s\n", err.what);
		return 1;
	}
	do
		ret = mr_lease_take(pool, MR_KIND_READ, LEASE_LEN, &lease[n], &err);
	while (!ret && ++n < LEASES_MAX);
	printf("# %u leases of 1 MiB, then: %s; %s\n", n, err.what, err.hint);
	mr_ledger_read(mr_pool_ledger(pool), &snap);
	point(ret == -ENOMEM, "the group's limit refuses");
	point(snap.bytes_registered_now <= bytes / 2 && n >= bytes / 2 / LEASE_LEN * 3 / 4,
	      "at half of it");
	point(strstr(err.what, file), "the file is named");
	point(strstr(err.hint, "raise the group's limit"), "with the remedy");
	while (n)
		mr_lease_give(lease[--n]);
	mr_pool_destroy(pool);
	return 0;
}

int main(int argc, char **argv)
{
	int ret = 2;

	if (argc == 4 && !strcmp(argv[1], "pages"))
		ret = check_pages(argv[2], atol(argv[3]));
	else if (argc == 4 && !strcmp(argv[1], "cgroup"))
		ret = check_cgroup(argv[2], strtoull(argv[3], NULL, 10));
	if (!ret)
		printf("1..%u\n", points);
	return ret;
}

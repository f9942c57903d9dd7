/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What registering memory costs, held against the kernel's own books: VmPin, VmLck and the limit.
 * Huge pages come from THP, which any process may ask for.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/iwarp/pair.h"
#include "transport/iwarp/internal.h"

#define HUGE ((size_t)2 << 20)
#define REMOTE (MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE)

struct rnic {
	struct fabric *fabric;
	struct fabric_domain *domain;
	struct mr_provider *p;
};

static void rnic_open(struct rnic *r, bool plain)
{
	const struct fabric_options opts = {.no_io_uring = plain};
	struct sockaddr sa = {0};
	struct util_err err = {0};

	cr_assert_eq(iwarp_fabric_ops.open(&r->fabric, &opts, &err), 0, "%s", err.what);
	cr_assert_eq(iwarp_fabric_ops.domain_open(r->fabric, &sa, sizeof(sa), 0, &r->domain, &err),
		     0);
	r->p = r->domain->provider;
}

static void rnic_close(struct rnic *r)
{
	iwarp_fabric_ops.domain_put(r->domain);
	iwarp_fabric_ops.close(r->fabric);
}

/* A field of our own /proc/self/status, in pages. */
static uint64_t booked(const char *field)
{
	char line[256];
	uint64_t kb = UINT64_MAX;
	FILE *f = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			kb = strtoull(line + strlen(field) + 1, NULL, 10);
	fclose(f);
	return kb / 4;
}

static int add(struct rnic *r, void *addr, size_t len, unsigned access, struct mr_registration *reg,
	       struct util_err *err)
{
	return r->p->ops->register_memory(r->p, addr, len, 4096, access, reg, err);
}

static void del(struct rnic *r, struct mr_registration *reg)
{
	r->p->ops->deregister_memory(r->p, reg);
}

/* Touched 4 KiB pages, never huge. */
static uint8_t *small_pages(size_t len)
{
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(p != MAP_FAILED);
	madvise(p, len, MADV_NOHUGEPAGE);
	memset(p, 1, len);
	return p;
}

/* n huge pages, NULL where the kernel gives none. */
static uint8_t *huge_pages(size_t n)
{
	uint8_t *p = mmap(NULL, (n + 1) * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	uint8_t *aligned = (uint8_t *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));

	cr_assert(p != MAP_FAILED);
	madvise(aligned, n * HUGE, MADV_HUGEPAGE);
	memset(aligned, 1, n * HUGE);
	return aligned;
}

Test(iwarp_pin, charges_what_vmpin_grows_by)
{
	static const size_t lens[] = {1, 4096, 4097, 65536, (1 << 20) + 5};
	struct rnic r;
	uint8_t *mem = small_pages(2 << 20);

	rnic_open(&r, false);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(lens); i++) {
		for (size_t off = 0; off < 3; off++) {
			struct mr_registration reg;
			uint64_t before = booked("VmPin:");

			cr_assert_eq(add(&r, mem + off * 2047, lens[i], REMOTE, &reg, NULL), 0);
			cr_expect_eq(booked("VmPin:") - before, reg.pages_charged);
			cr_expect_eq(reg.pages_charged,
				     (off * 2047 + lens[i] + 4095) / 4096 - off * 2047 / 4096);
			cr_expect_eq(reg.locked_pages, 0);
			del(&r, &reg);
			cr_expect_eq(booked("VmPin:"), before);
		}
	}
	rnic_close(&r);
}

Test(iwarp_pin, huge_page_counts_whole)
{
	struct rnic r;
	uint8_t *mem = huge_pages(2);
	struct mr_registration reg;
	uint64_t before;

	rnic_open(&r, false);
	before = booked("VmPin:");
	cr_assert_eq(add(&r, mem + 4096, 65536, REMOTE, &reg, NULL), 0);
	cr_expect_eq(booked("VmPin:") - before, reg.pages_charged);
	if (reg.pages_charged != 512)
		cr_log_warn("no huge page was to be had: %lu pages charged\n",
			    (unsigned long)reg.pages_charged);
	del(&r, &reg);
	cr_assert_eq(add(&r, mem + HUGE - 4096, 8192, REMOTE, &reg, NULL), 0);
	cr_expect_eq(booked("VmPin:") - before, reg.pages_charged);
	del(&r, &reg);
	cr_expect_eq(booked("VmPin:"), before);
	rnic_close(&r);
}

Test(iwarp_pin, overlapping_registrations_are_charged_as_the_kernel_books_them)
{
	struct rnic r;
	uint8_t *mem = small_pages(1 << 20);
	struct mr_registration a, b;
	uint64_t before;

	rnic_open(&r, false);
	before = booked("VmPin:");
	cr_assert_eq(add(&r, mem, 1 << 19, REMOTE, &a, NULL), 0);
	cr_assert_eq(add(&r, mem + (1 << 18), 1 << 19, REMOTE, &b, NULL), 0);
	cr_expect_eq(booked("VmPin:") - before, a.pages_charged + b.pages_charged);
	del(&r, &a);
	cr_expect_eq(booked("VmPin:") - before, b.pages_charged);
	del(&r, &b);
	cr_expect_eq(booked("VmPin:"), before);
	rnic_close(&r);
}

Test(iwarp_pin, hundred_rounds_leave_nothing_behind)
{
	struct rnic r;
	uint8_t *mem = small_pages(1 << 20);
	uint64_t before = booked("VmPin:");

	rnic_open(&r, false);
	for (int i = 0; i < 100; i++) {
		struct mr_registration reg[20];

		for (int k = 0; k < 20; k++)
			cr_assert_eq(add(&r, mem + k * 40960, 40960, REMOTE, &reg[k], NULL), 0);
		for (int k = 0; k < 20; k++)
			del(&r, &reg[(k * 7) % 20]);
		cr_assert_eq(booked("VmPin:"), before);
	}
	rnic_close(&r);
}

Test(iwarp_pin, memory_no_peer_reaches_costs_nothing)
{
	static const unsigned access[] = {0, MR_ACCESS_LOCAL_WRITE};
	struct rnic r;
	uint8_t *mem = small_pages(1 << 20);

	for (int plain = 0; plain < 2; plain++) {
		rnic_open(&r, plain);
		for (size_t i = 0; i < UTIL_ARRAY_SIZE(access); i++) {
			struct mr_registration reg;
			uint64_t pin = booked("VmPin:"), lck = booked("VmLck:");

			cr_assert_eq(add(&r, mem, 1 << 20, access[i], &reg, NULL), 0);
			cr_expect_eq(reg.pages_charged + reg.locked_pages + reg.iova_maps, 0);
			cr_expect_eq(reg.rkey, 0);
			cr_expect_eq(booked("VmPin:"), pin);
			cr_expect_eq(booked("VmLck:"), lck);
			del(&r, &reg);
		}
		rnic_close(&r);
	}
}

Test(iwarp_pin, region_addresses_are_no_process_addresses_and_congruent)
{
	struct rnic r;
	uint8_t *mem = small_pages(1 << 20);
	struct mr_registration reg, other;

	rnic_open(&r, false);
	cr_assert_eq(add(&r, mem + 777, 10000, REMOTE, &reg, NULL), 0);
	cr_assert_eq(add(&r, mem + 777, 10000, REMOTE, &other, NULL), 0);
	cr_expect_neq(reg.iova, (uintptr_t)reg.addr);
	cr_expect_neq(reg.iova, other.iova);
	cr_expect_neq(reg.rkey, other.rkey);
	cr_expect_eq(reg.iova % HUGE, (uintptr_t)reg.addr % HUGE);
	del(&r, &reg);
	del(&r, &other);
	rnic_close(&r);
}

Test(iwarp_pin, memory_that_cannot_be_written_is_refused_with_a_reason)
{
	struct rnic r;
	struct mr_registration reg;
	struct util_err err = {0};
	void *mem = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before = booked("VmPin:");

	rnic_open(&r, false);
	cr_expect_eq(add(&r, mem, 4096, REMOTE, &reg, &err), -EFAULT);
	cr_expect(strstr(err.what, "cannot be pinned"), "%s", err.what);
	cr_expect(err.hint[0]);
	cr_expect_eq(add(&r, (void *)0x1000, 4096, REMOTE, &reg, &err), -EFAULT);
	cr_expect_eq(add(&r, mem, 0, REMOTE, &reg, &err), -EINVAL);
	cr_expect_eq(add(&r, NULL, 1, REMOTE, &reg, &err), -EINVAL);
	cr_expect_eq(booked("VmPin:"), before);
	rnic_close(&r);
}

/* ---- mlock in place of pins -------------------------------------------------------------- */

Test(iwarp_pin, without_io_uring_pages_are_locked_and_counted)
{
	struct rnic r;
	uint8_t *mem = small_pages(1 << 20);
	struct mr_registration a, b, c;
	uint64_t lck = booked("VmLck:"), pin = booked("VmPin:");

	rnic_open(&r, true);
	cr_assert_eq(add(&r, mem, 1 << 17, REMOTE, &a, NULL), 0);
	cr_expect_eq(a.locked_pages, 32);
	cr_expect_eq(a.pages_charged, 0);
	/* half of b is new, nothing of c */
	cr_assert_eq(add(&r, mem + (1 << 16), 1 << 17, REMOTE, &b, NULL), 0);
	cr_expect_eq(b.locked_pages, 16);
	cr_assert_eq(add(&r, mem + 4096, 4096, REMOTE, &c, NULL), 0);
	cr_expect_eq(c.locked_pages, 0);
	cr_expect_eq(booked("VmLck:") - lck, 48);
	cr_expect_eq(booked("VmPin:"), pin);
	/* what others still need stays locked */
	del(&r, &a);
	cr_expect_eq(a.locked_pages, 15);
	cr_expect_eq(booked("VmLck:") - lck, 33);
	del(&r, &c);
	cr_expect_eq(c.locked_pages, 1);
	del(&r, &b);
	cr_expect_eq(b.locked_pages, 32);
	cr_expect_eq(booked("VmLck:"), lck);
	rnic_close(&r);
}

/* ---- the limit --------------------------------------------------------------------------- */

/* Become a user to whom the limit applies.  False when that is not ours to decide. */
static bool become_nobody(rlim_t memlock)
{
	const struct rlimit rl = {memlock, memlock};

	if (setrlimit(RLIMIT_MEMLOCK, &rl) != 0)
		return false;
	if (geteuid() != 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
	       setresuid(65533, 65533, 65533) == 0;
}

static void expect_limit(bool plain)
{
	struct rnic r;
	struct mr_registration small, large;
	struct util_err err = {0};
	uint8_t *mem = small_pages(4 << 20);
	uint64_t begin;

	cr_assert(become_nobody(2 << 20));
	rnic_open(&r, plain);
	cr_assert_eq(add(&r, mem, 1 << 20, REMOTE, &small, &err), 0, "%s", err.what);
	begin = util_clock_ns();
	cr_expect_eq(add(&r, mem, 4 << 20, REMOTE, &large, &err), -ENOMEM);
	cr_expect_lt(util_clock_ns() - begin, UTIL_NS_PER_S, "waited though it can never fit");
	cr_expect(strstr(err.what, "RLIMIT_MEMLOCK"), "%s", err.what);
	cr_expect(strstr(err.what, "2 MiB"), "%s", err.what);
	cr_expect(strstr(err.what, "1 MiB"), "%s", err.what);
	cr_expect(strstr(err.hint, "ulimit -l"), "%s", err.hint);
	/* what fits still fits */
	del(&r, &small);
	cr_expect_eq(add(&r, mem, 3 << 19, REMOTE, &large, &err), 0, "%s", err.what);
	del(&r, &large);
	rnic_close(&r);
}

Test(iwarp_pin, limit_is_named_with_its_number_and_the_remedy)
{
	expect_limit(false);
}

Test(iwarp_pin, limit_on_locked_pages_is_named_too)
{
	expect_limit(true);
}

Test(iwarp_pin, ordinary_user_under_8_mib_does_everything)
{
	const struct pair_options opts = {0};
	struct memory region, data;
	struct fabric_sge sge;
	struct pair pair;

	cr_assert(become_nobody(8 << 20));
	pair_open(&pair, &opts);
	memory_open(&data, &pair, 0, 1 << 20, MR_ACCESS_REMOTE_READ);
	memory_open(&region, &pair, 1, 1 << 20, MR_ACCESS_REMOTE_WRITE);
	cr_expect_eq(region.reg.pages_charged, booked("VmPin:") - data.reg.pages_charged);
	memory_fill(&data, 3);
	sge = memory_sge(&data, 0, 1 << 20);
	cr_assert_eq(
		pair_post(&pair, 0, FABRIC_OP_WRITE, &sge, region.reg.iova, region.reg.rkey, 0, 1),
		0);
	cr_assert_eq(pair_next(&pair, 0).status, FABRIC_WC_OK);
	pair_settle(&pair, 20);
	cr_expect(memory_is_filled(&region, 0, 1 << 20, 3));
	memory_close(&data);
	memory_close(&region);
	pair_close(&pair);
	cr_expect_eq(booked("VmPin:"), 0);
}

Test(iwarp_pin, room_that_a_sibling_gives_back_soon_is_waited_for)
{
	struct mr_registration reg;
	struct util_err err = {0};
	uint8_t *mem = small_pages(2 << 20);
	struct rnic r;
	int ready[2];
	char byte;

	cr_assert(become_nobody(2 << 20));
	cr_assert_eq(pipe(ready), 0);
	if (fork() == 0) { /* the same user's other process: holds most of the limit for 200 ms */
		rnic_open(&r, false);
		if (add(&r, mem, 3 << 19, REMOTE, &reg, &err) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		usleep(200000);
		del(&r, &reg);
		rnic_close(&r);
		_exit(0);
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	rnic_open(&r, false);
	cr_expect_eq(add(&r, mem, 1 << 20, REMOTE, &reg, &err), 0, "%s", err.what);
	del(&r, &reg);
	rnic_close(&r);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* test_memory.c - allocations: none in the steady state, every one may fail; leases may be few. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"
#include "tests/client/wrap.h"

static struct fake_nfs *f;
static struct nfsrdma *mount;

static void setup(void)
{
	f = fake_start_furnished();
}

static void teardown(void)
{
	fake_stop(f);
}

TestSuite(client_memory, .init = setup, .fini = teardown, .timeout = 120);

static void count(void *arg, ssize_t n)
{
	if (n == 8192)
		++*(unsigned *)arg;
}

/* A mix of reads, writes and fsyncs at a depth of 32. */
static void run(struct nfsrdma_file *file, struct nfsrdma_buf *buf, unsigned calls)
{
	unsigned good = 0;

	for (unsigned i = 0; i < calls; i++) {
		size_t at = (size_t)(i % 64) * 8192;
		int err = i % 3 ? nfsrdma_pread_async(file, buf, at, 8192, at, count, &good)
				: nfsrdma_pwrite_async(file, buf, at, 8192, at, count, &good);

		cr_assert_eq(err, 0);
		if (i % 50 == 0)
			cr_assert_eq(nfsrdma_fsync(file), 0);
		while (nfsrdma_outstanding(mount) >= 32)
			cr_assert_geq(nfsrdma_process(mount, 10000), 0);
	}
	while (nfsrdma_outstanding(mount))
		cr_assert_geq(nfsrdma_process(mount, 10000), 0);
	cr_assert_eq(good, calls);
}

Test(client_memory, the_steady_state_allocates_nothing)
{
	static uint8_t mem[100000];
	struct nfsrdma_file *file;
	struct nfsrdma_buf *buf;
	unsigned long before = 0;
	bool steady = false;

	mount = fake_mount(f, "rsize=4k&wsize=4k");
	cr_assert_eq(nfsrdma_open(mount, &file, "/dir/file", O_RDWR, 0), 0);
	cr_assert_eq(nfsrdma_buf_get(mount, &buf, 1 << 20, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE),
		     0);
	/* Free lists grow to the largest number of calls ever outstanding, which depends on timing:
	 * rounds until one of 2000 operations allocates nothing at all. */
	for (int round = 0; round < 20 && !steady; round++) {
		before = wrap.allocs;
		run(file, buf, 2000);
		for (int i = 0; i < 20; i++) {
			cr_assert_eq(nfsrdma_pwrite_copy(file, mem, sizeof(mem), 0),
				     (ssize_t)sizeof(mem));
			cr_assert_eq(nfsrdma_pread_copy(file, mem, sizeof(mem), 0),
				     (ssize_t)sizeof(mem));
			cr_assert_eq(nfsrdma_fsync(file), 0);
		}
		steady = wrap.allocs == before;
	}
	cr_assert_gt(before, 10u, "the counter does not count");
	cr_assert(steady, "%lu allocations in the last round", wrap.allocs - before);
	nfsrdma_umount(mount);
}

/* Some of everything; 0, or the first error. */
static int scenario(void)
{
	struct nfsrdma_dirent ent;
	struct nfsrdma_file *file;
	struct nfsrdma_dir *dir;
	struct nfsrdma_buf *buf;
	char mem[10000];
	ssize_t n;
	int err;

	err = nfsrdma_mount(&mount, fake_url(f, "", "rsize=4k&wsize=4k"), NULL);
	if (err)
		return err;
	err = nfsrdma_open(mount, &file, "/link", O_RDWR, 0);
	if (err)
		goto umount;
	err = nfsrdma_buf_get(mount, &buf, 65536, NFSRDMA_BUF_WRITE);
	if (err)
		goto umount;
	n = nfsrdma_pwrite(file, buf, 0, 65536, 0);
	if (n >= 0)
		n = nfsrdma_pread_copy(file, mem, sizeof(mem), 0);
	if (n >= 0)
		n = nfsrdma_pwrite_copy(file, mem, sizeof(mem), 0);
	err = n < 0 ? (int)n : nfsrdma_fsync(file);
	if (err)
		goto umount;
	err = nfsrdma_opendir(mount, &dir, "/dir");
	if (err)
		goto umount;
	err = nfsrdma_readdir(dir, &ent);
	if (err > 0)
		err = nfsrdma_close(file);
umount:
	nfsrdma_umount(mount);
	return err;
}

Test(client_memory, any_allocation_may_fail_and_nothing_breaks)
{
	unsigned long total, failures = 0;

	cr_assert_eq(scenario(), 0, "%s", nfsrdma_strerror_last());
	wrap.allocs = 0;
	cr_assert_eq(scenario(), 0);
	total = wrap.allocs;
	for (unsigned long n = 1; n <= total; n++) {
		wrap.allocs = 0;
		wrap.fail_at = n;
		if (scenario() < 0) {
			failures++;
			cr_assert_gt(strlen(nfsrdma_strerror_last()), 0u);
		}
		wrap.fail_at = 0;
	}
	/* some are only tried for, like a larger table */
	cr_assert_gt(failures, total / 4, "%lu of %lu", failures, total);
	cr_assert_eq(scenario(), 0, "%s", nfsrdma_strerror_last());
}

static void pattern(uint8_t *mem, size_t len)
{
	for (size_t i = 0; i < len; i++)
		mem[i] = (uint8_t)(i * 31 + i / 4096);
}

Test(client_memory, few_leases_make_copies_slow_and_not_wrong)
{
	uint8_t *mem = malloc(1 << 20), *back = malloc(1 << 20);
	struct nfsrdma_file *file;

	pattern(mem, 1 << 20);
	mount = fake_mount(f, "wsize=4k&rsize=4k");
	cr_assert_eq(nfsrdma_open(mount, &file, "/out", O_CREAT | O_RDWR, 0644), 0);
	for (long leases = 1; leases < 8; leases += 3) {
		wrap.leases_left = leases;
		cr_assert_eq(nfsrdma_pwrite_copy(file, mem, 1 << 20, 0), 1 << 20, "%s",
			     nfsrdma_strerror_last());
		cr_assert_eq(nfsrdma_fsync(file), 0);
		cr_assert_eq(wrap.leases_left, leases, "leases were lost");
		cr_assert_gt(wrap.lease_refusals, 0u);
		cr_assert(fake_holds(f, "/out", 0, mem, 1 << 20, true));
		cr_assert_eq(nfsrdma_pread_copy(file, back, 1 << 20, 0), 1 << 20);
		cr_assert_eq(memcmp(mem, back, 1 << 20), 0);
	}
	wrap.leases_left = -1;
	free(mem);
	free(back);
	nfsrdma_umount(mount);
}

Test(client_memory, leases_held_by_another_file_come_back_through_its_commit)
{
	struct nfsrdma_file *a, *b;
	uint8_t mem[16384];

	pattern(mem, sizeof(mem));
	mount = fake_mount(f, "wsize=4k");
	cr_assert_eq(nfsrdma_open(mount, &a, "/a", O_CREAT | O_RDWR, 0644), 0);
	cr_assert_eq(nfsrdma_open(mount, &b, "/b", O_CREAT | O_RDWR, 0644), 0);
	wrap.leases_left = 4;
	cr_assert_eq(nfsrdma_pwrite_copy(a, mem, 16384, 0), 16384);
	cr_assert_eq(wrap.leases_left, 0);
	cr_assert_eq(nfsrdma_pwrite_copy(b, mem, 16384, 0), 16384, "%s", nfsrdma_strerror_last());
	cr_assert(fake_holds(f, "/a", 0, mem, 16384, true));
	cr_assert_eq(nfsrdma_close(a), 0);
	cr_assert_eq(nfsrdma_close(b), 0);
	wrap.leases_left = -1;
	nfsrdma_umount(mount);
}

Test(client_memory, a_commit_that_fails_does_not_keep_writers_waiting)
{
	struct nfsrdma_file *file;
	uint8_t *mem = calloc(1, 1 << 20);

	mount = fake_mount(f, "wsize=64k&max-pinned=256k");
	fake_rule(f, WIRE_NFS3_COMMIT, 0, UINT32_MAX, FAKE_STATUS, 5);
	cr_assert_eq(nfsrdma_open(mount, &file, "/out", O_CREAT | O_RDWR, 0644), 0);
	cr_assert_eq(nfsrdma_pwrite_copy(file, mem, 1 << 20, 0), 1 << 20, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_fsync(file), -EIO);
	free(mem);
	nfsrdma_umount(mount);
}

Test(client_memory, no_lease_at_all_is_an_error_with_the_pools_words)
{
	struct nfsrdma_buf *buf;
	struct nfsrdma_file *file;

	mount = fake_mount(f, "");
	cr_assert_eq(nfsrdma_open(mount, &file, "/out", O_CREAT | O_RDWR, 0644), 0);
	wrap.leases_left = 0;
	cr_assert_eq(nfsrdma_pwrite_copy(file, "abc", 3, 0), -ENOMEM);
	cr_assert(strstr(nfsrdma_strerror_last(), "the tests' limit"));
	cr_assert_eq(nfsrdma_buf_get(mount, &buf, 10, NFSRDMA_BUF_READ), -ENOMEM);
	cr_assert(strstr(nfsrdma_strerror_last(), "the tests' limit"));
	wrap.leases_left = -1;
	cr_assert_eq(nfsrdma_close(file), 0);
	nfsrdma_umount(mount);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* test_unstable.c - unstable writes: COMMIT, verifiers that change, buffers that went on. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"

static struct fake_nfs *f;
static struct nfsrdma *mount;
static struct nfsrdma_file *file;
static struct nfsrdma_buf *buf;
static uint8_t *bytes;

static void setup_with(const char *more)
{
	f = fake_start();
	mount = fake_mount(f, more);
	cr_assert_eq(nfsrdma_open(mount, &file, "/out", O_RDWR | O_CREAT, 0644), 0);
	cr_assert_eq(nfsrdma_buf_get(mount, &buf, 1 << 20, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE),
		     0);
	bytes = nfsrdma_buf_addr(buf);
	for (size_t i = 0; i < 1 << 20; i++)
		bytes[i] = (uint8_t)(i * 131 + i / 256);
}

static void setup(void)
{
	setup_with("wsize=4k");
}

static void teardown(void)
{
	nfsrdma_umount(mount);
	fake_stop(f);
}

TestSuite(client_unstable, .init = setup, .fini = teardown, .timeout = 60);

static void put(size_t buf_off, size_t len, uint64_t off)
{
	cr_assert_eq(nfsrdma_pwrite(file, buf, buf_off, len, off), (ssize_t)len, "%s",
		     nfsrdma_strerror_last());
}

static void assert_safe(const void *what, size_t len, uint64_t off)
{
	cr_assert(fake_holds(f, "/out", off, what, len, true), "%zu bytes at %llu are not safe",
		  len, (unsigned long long)off);
}

static uint32_t last_stable(void)
{
	uint64_t off;
	uint32_t n, stable;

	fake_last_io(f, &off, &n, &stable);
	return stable;
}

Test(client_unstable, fsync_makes_it_safe_and_the_next_one_has_nothing_to_do)
{
	put(0, 50000, 0);
	cr_assert_eq(last_stable(), (uint32_t)WIRE_UNSTABLE);
	cr_assert(!fake_holds(f, "/out", 0, bytes, 50000, true));
	cr_assert_eq(nfsrdma_fsync(file), 0);
	assert_safe(bytes, 50000, 0);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_COMMIT), 1u);
	cr_assert_eq(nfsrdma_fsync(file), 0);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_COMMIT), 1u);
}

Test(client_unstable, close_commits)
{
	cr_assert_eq(nfsrdma_pwrite_copy(file, bytes, 50000, 7), 50000);
	cr_assert_eq(nfsrdma_close(file), 0);
	assert_safe(bytes, 50000, 7);
}

Test(client_unstable, a_restart_before_the_commit_is_repaired_from_the_buffer)
{
	put(0, 50000, 0);
	put(50000, 30000, 100000);
	fake_restart(f);
	cr_assert(!fake_holds(f, "/out", 0, bytes, 50000, false));
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	assert_safe(bytes, 50000, 0);
	assert_safe(bytes + 50000, 30000, 100000);
}

Test(client_unstable, a_restart_between_writes_is_repaired)
{
	put(0, 20000, 0);
	fake_restart(f);
	put(20000, 20000, 20000);
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	assert_safe(bytes, 40000, 0);
}

Test(client_unstable, a_restart_at_the_commit_itself_is_repaired)
{
	put(0, 20000, 0);
	fake_rule(f, WIRE_NFS3_COMMIT, 0, 1, FAKE_RESTART, 0);
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	assert_safe(bytes, 20000, 0);
	cr_assert_eq(last_stable(), (uint32_t)WIRE_FILE_SYNC);
}

Test(client_unstable, ordinary_memory_is_kept_for_the_repair)
{
	uint8_t *mem = malloc(300000);

	memcpy(mem, bytes, 300000);
	cr_assert_eq(nfsrdma_pwrite_copy(file, mem, 300000, 5), 300000);
	memset(mem, 0, 300000); /* it is the caller's again */
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	assert_safe(bytes, 300000, 5);
	free(mem);
}

Test(client_unstable, a_buffer_that_was_put_is_an_error_that_names_the_range)
{
	put(0, 10000, 4096);
	nfsrdma_buf_put(buf);
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), -EIO);
	cr_assert(strstr(nfsrdma_strerror_last(), "4096 to 14095"), "%s", nfsrdma_strerror_last());
	cr_assert(strstr(nfsrdma_hint_last(), "filesync"));
	cr_assert_eq(nfsrdma_fsync(file), 0); /* told once */
}

Test(client_unstable, a_buffer_used_again_is_an_error_that_names_the_range)
{
	put(0, 10000, 0);
	put(0, 10000, 10000); /* the same memory: the first 10000 are nowhere any more */
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), -EIO);
	cr_assert(strstr(nfsrdma_strerror_last(), " 0 to 9999"), "%s", nfsrdma_strerror_last());
	assert_safe(bytes, 10000, 10000);
}

Test(client_unstable, what_was_written_over_is_not_missed)
{
	for (int i = 0; i < 20; i++)
		put(0, 10000, 500); /* always the same memory to the same place */
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	assert_safe(bytes, 10000, 500);
}

Test(client_unstable, reading_into_the_buffer_uses_it_again_too)
{
	put(0, 4096, 0);
	cr_assert_eq(nfsrdma_pread(file, buf, 0, 4096, 0), 4096);
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), -EIO);
}

Test(client_unstable, a_buffer_used_again_is_no_error_without_a_restart)
{
	for (uint64_t i = 0; i < 50; i++) {
		memset(bytes, (int)i, 4096);
		put(0, 4096, i * 4096);
	}
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	for (uint64_t i = 0; i < 50; i++) {
		memset(bytes, (int)i, 4096);
		assert_safe(bytes, 4096, i * 4096);
	}
}

Test(client_unstable, a_repair_never_brings_back_the_past)
{
	put(0, 20000, 0);
	put(30000, 5000, 7000);	 /* over its middle */
	put(40000, 3000, 19000); /* over its end */
	put(50000, 1000, 0);	 /* over its beginning */
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	assert_safe(bytes + 50000, 1000, 0);
	assert_safe(bytes + 1000, 6000, 1000);
	assert_safe(bytes + 30000, 5000, 7000);
	assert_safe(bytes + 12000, 7000, 12000);
	assert_safe(bytes + 40000, 3000, 19000);
}

Test(client_unstable, a_repair_never_undoes_a_truncation)
{
	struct nfsrdma_file *other;

	put(0, 20000, 0);
	cr_assert_eq(nfsrdma_ftruncate(file, 5000), 0);
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	cr_assert_eq(fake_size(f, "/out"), 5000u);
	assert_safe(bytes, 5000, 0);
	put(0, 20000, 0);
	cr_assert_eq(nfsrdma_open(mount, &other, "/out", O_WRONLY | O_TRUNC, 0), 0);
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), 0);
	cr_assert_eq(fake_size(f, "/out"), 0u);
}

static void set(void *arg, ssize_t n);

Test(client_unstable, a_truncation_waits_for_what_is_written_again)
{
	ssize_t synced = 1;

	put(0, 40000, 0);
	fake_rule(f, WIRE_NFS3_COMMIT, 0, 1, FAKE_RESTART, 0);
	fake_rule(f, WIRE_NFS3_WRITE, 0, 5, FAKE_STATUS, 10008); /* the repair is slow */
	cr_assert_eq(nfsrdma_fsync_async(file, set, &synced), 0);
	while (fake_calls(f, WIRE_NFS3_WRITE) < 12)
		nfsrdma_process(mount, 10);
	cr_assert_eq(nfsrdma_ftruncate(file, 5000), 0);
	cr_assert_eq(synced, 0);
	cr_assert_eq(fake_size(f, "/out"), 5000u);
}

static void set(void *arg, ssize_t n)
{
	*(ssize_t *)arg = n;
}

static void drain(void)
{
	while (nfsrdma_outstanding(mount))
		cr_assert_geq(nfsrdma_process(mount, 10000), 0);
}

Test(client_unstable, writes_during_a_commit_belong_to_the_next)
{
	ssize_t synced = 1, wrote = 1;

	put(0, 4096, 0);
	fake_rule(f, WIRE_NFS3_COMMIT, 0, 1, FAKE_HOLD, 0);
	cr_assert_eq(nfsrdma_fsync_async(file, set, &synced), 0);
	nfsrdma_process(mount, 50);
	cr_assert_eq(nfsrdma_pwrite_async(file, buf, 4096, 4096, 4096, set, &wrote), 0);
	while (wrote == 1)
		nfsrdma_process(mount, 1000);
	cr_assert_eq(wrote, 4096);
	cr_assert_eq(synced, 1, "the held COMMIT was not waited for");
	fake_release(f);
	drain();
	cr_assert_eq(synced, 0);
	fake_restart(f);
	cr_assert_eq(nfsrdma_fsync(file), 0, "%s", nfsrdma_strerror_last());
	assert_safe(bytes, 8192, 0);
}

Test(client_unstable, an_fsync_covers_the_writes_before_it)
{
	ssize_t wrote[20], synced = 1;

	for (int i = 0; i < 20; i++)
		cr_assert_eq(nfsrdma_pwrite_async(file, buf, (size_t)i * 9000, 9000,
						  (uint64_t)i * 9000, set, &wrote[i]),
			     0);
	cr_assert_eq(nfsrdma_fsync_async(file, set, &synced), 0);
	drain();
	cr_assert_eq(synced, 0);
	assert_safe(bytes, 180000, 0);
}

Test(client_unstable, many_fsyncs_share_a_commit)
{
	ssize_t synced[50];

	put(0, 4096, 0);
	for (int i = 0; i < 50; i++)
		cr_assert_eq(nfsrdma_fsync_async(file, set, &synced[i]), 0);
	drain();
	for (int i = 0; i < 50; i++)
		cr_assert_eq(synced[i], 0);
	cr_assert_leq(fake_calls(f, WIRE_NFS3_COMMIT), 2u);
}

Test(client_unstable, writes_wait_while_lost_ones_are_written_again)
{
	ssize_t synced = 1, wrote = 1;
	uint8_t newer[4096];

	memset(newer, 'N', sizeof(newer));
	put(0, 40000, 0);
	fake_rule(f, WIRE_NFS3_COMMIT, 0, 1, FAKE_RESTART, 0);
	fake_rule(f, WIRE_NFS3_WRITE, 0, 5, FAKE_STATUS, 10008); /* the repair is slow */
	cr_assert_eq(nfsrdma_fsync_async(file, set, &synced), 0);
	while (fake_calls(f, WIRE_NFS3_WRITE) < 12)
		nfsrdma_process(mount, 10);
	memset(bytes + 60000, 'N', 4096);
	cr_assert_eq(nfsrdma_pwrite_async(file, buf, 60000, 4096, 0, set, &wrote), 0);
	drain();
	cr_assert_eq(synced, 0);
	cr_assert_eq(wrote, 4096);
	cr_assert_eq(nfsrdma_fsync(file), 0);
	assert_safe(newer, 4096, 0);
	assert_safe(bytes + 4096, 40000 - 4096, 4096);
}

Test(client_unstable, a_commit_that_fails_is_tried_again_by_the_next_fsync)
{
	put(0, 4096, 0);
	fake_rule(f, WIRE_NFS3_COMMIT, 0, 1, FAKE_STATUS, 5);
	cr_assert_eq(nfsrdma_fsync(file), -EIO);
	cr_assert(!fake_holds(f, "/out", 0, bytes, 4096, true));
	cr_assert_eq(nfsrdma_fsync(file), 0);
	assert_safe(bytes, 4096, 0);
}

Test(client_unstable, a_repair_that_fails_fails_the_fsync)
{
	put(0, 4096, 0);
	fake_restart(f);
	fake_rule(f, WIRE_NFS3_WRITE, 0, 1, FAKE_STATUS, 28);
	cr_assert_eq(nfsrdma_fsync(file), -ENOSPC);
	cr_assert_eq(nfsrdma_fsync(file), 0); /* and was not forgotten */
	assert_safe(bytes, 4096, 0);
}

Test(client_unstable, malformed_commit_replies_promise_nothing)
{
	put(0, 4096, 0);
	fake_rule(f, WIRE_NFS3_COMMIT, 0, 1, FAKE_CUT_REPLY, 20);
	cr_assert_eq(nfsrdma_fsync(file), -EIO);
	cr_assert_eq(nfsrdma_fsync(file), 0);
	assert_safe(bytes, 4096, 0);
}

Test(client_unstable, what_is_remembered_is_bounded)
{
	uint8_t *mem = malloc(20 << 20);

	/* small writes from many places: COMMITs come by themselves, and nothing is lost */
	for (uint64_t i = 0; i < 3000; i++)
		put((size_t)(i % 256) * 4096, 512, i * 1024);
	cr_assert_eq(nfsrdma_fsync(file), 0);
	memset(mem, 'm', 20 << 20);
	cr_assert_eq(nfsrdma_pwrite_copy(file, mem, 20 << 20, 0), 20 << 20, "%s",
		     nfsrdma_strerror_last());
	cr_assert_gt(fake_calls(f, WIRE_NFS3_COMMIT), 1u);
	cr_assert_eq(nfsrdma_close(file), 0);
	assert_safe(mem, 20 << 20, 0);
	free(mem);
}

Test(client_stable, a_small_budget_only_makes_commits_more_frequent, .timeout = 60)
{
	uint8_t *mem = malloc(8 << 20);

	setup_with("wsize=64k&max-pinned=4m");
	memset(mem, 'm', 8 << 20);
	cr_assert_eq(nfsrdma_pwrite_copy(file, mem, 8 << 20, 0), 8 << 20, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_close(file), 0);
	assert_safe(mem, 8 << 20, 0);
	free(mem);
	teardown();
}

Test(client_stable, stable_writes_need_no_commit, .timeout = 60)
{
	struct nfsrdma_file *sync;

	setup_with("write=filesync");
	put(0, 4096, 0);
	cr_assert_eq(last_stable(), (uint32_t)WIRE_FILE_SYNC);
	cr_assert_eq(nfsrdma_fsync(file), 0);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_COMMIT), 0u);
	assert_safe(bytes, 4096, 0);
	teardown();
	setup_with("");
	cr_assert_eq(nfsrdma_open(mount, &sync, "/out", O_WRONLY | O_DSYNC, 0), 0);
	cr_assert_eq(nfsrdma_pwrite_copy(sync, "x", 1, 0), 1);
	cr_assert_eq(last_stable(), (uint32_t)WIRE_DATA_SYNC);
	cr_assert_eq(nfsrdma_close(sync), 0);
	cr_assert_eq(nfsrdma_open(mount, &sync, "/out", O_WRONLY | O_SYNC, 0), 0);
	cr_assert_eq(nfsrdma_pwrite_copy(sync, "x", 1, 0), 1);
	cr_assert_eq(last_stable(), (uint32_t)WIRE_FILE_SYNC);
	cr_assert_eq(nfsrdma_close(sync), 0);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_COMMIT), 0u);
	teardown();
}

Test(client_umount, while_lost_writes_wait_to_be_written_again, .timeout = 60)
{
	ssize_t synced = 1, wrote = 1;

	setup();
	cr_assert_eq(nfsrdma_pwrite_copy(file, bytes, 40000, 0), 40000);
	fake_restart(f);
	fake_rule(f, WIRE_NFS3_COMMIT, 0, 1, FAKE_HOLD, 0);
	fake_rule(f, WIRE_NFS3_WRITE, 0, UINT32_MAX, FAKE_SILENT, 0);
	cr_assert_eq(nfsrdma_fsync_async(file, set, &synced), 0);
	nfsrdma_process(mount, 20);
	cr_assert_eq(nfsrdma_pwrite_async(file, buf, 0, 4096, 100000, set, &wrote), 0);
	nfsrdma_process(mount, 20);
	fake_release(f); /* the COMMIT tells of the restart; the write is still in flight */
	nfsrdma_process(mount, 100);
	teardown();
	cr_assert_eq(synced, -ECANCELED);
	cr_assert_eq(wrote, -ECANCELED);
}

Test(client_umount, while_lost_writes_are_written_again, .timeout = 60)
{
	ssize_t synced = 1;

	setup();
	cr_assert_eq(nfsrdma_pwrite_copy(file, bytes, 40000, 0), 40000);
	fake_restart(f);
	fake_rule(f, WIRE_NFS3_WRITE, 0, UINT32_MAX, FAKE_SILENT, 0);
	cr_assert_eq(nfsrdma_fsync_async(file, set, &synced), 0);
	nfsrdma_process(mount, 100);
	teardown();
	cr_assert_eq(synced, -ECANCELED);
}

Test(client_umount, with_unstable_writes_of_ordinary_memory, .timeout = 60)
{
	setup();
	cr_assert_eq(nfsrdma_pwrite_copy(file, bytes, 40000, 0), 40000);
	teardown();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* test_async.c - callbacks: once, never from inside submit, in any number, and at the mount's end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"

static struct fake_nfs *f;
static struct nfsrdma *mount;
static struct nfsrdma_file *file;
static struct nfsrdma_buf *buf;

static void setup(void)
{
	f = fake_start();
	fake_file(f, "/file", 1 << 20);
	mount = fake_mount(f, "rsize=4k&wsize=4k");
	cr_assert_eq(nfsrdma_open(mount, &file, "/file", O_RDWR, 0), 0);
	cr_assert_eq(nfsrdma_buf_get(mount, &buf, 1 << 20, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE),
		     0);
}

static void teardown(void)
{
	nfsrdma_umount(mount);
	fake_stop(f);
}

TestSuite(client_async, .init = setup, .fini = teardown, .timeout = 60);

struct one {
	int runs;
	ssize_t n;
};

static void count(void *arg, ssize_t n)
{
	struct one *one = arg;

	one->runs++;
	one->n = n;
}

static void drain(void)
{
	while (nfsrdma_outstanding(mount))
		cr_assert_geq(nfsrdma_process(mount, 10000), 0);
}

Test(client_async, a_thousand_calls_outstanding_each_end_once)
{
	struct one *ones = calloc(1000, sizeof(*ones));

	fake_rule(f, WIRE_NFS3_READ, 0, UINT32_MAX, FAKE_HOLD, 0);
	for (size_t i = 0; i < 1000; i++)
		cr_assert_eq(
			nfsrdma_pread_async(file, buf, i * 1000, 1000, i * 1000, count, &ones[i]),
			0);
	cr_assert_eq(nfsrdma_outstanding(mount), 1000u);
	for (size_t i = 0; i < 1000; i++)
		cr_assert_eq(ones[i].runs, 0);
	cr_assert_eq(nfsrdma_process(mount, 0), 0);
	fake_release(f);
	drain();
	for (size_t i = 0; i < 1000; i++) {
		uint8_t *bytes = (uint8_t *)nfsrdma_buf_addr(buf) + i * 1000;

		cr_assert_eq(ones[i].runs, 1, "call %zu: %d", i, ones[i].runs);
		cr_assert_eq(ones[i].n, 1000);
		cr_assert_eq(bytes[999], fake_byte(i * 1000 + 999));
	}
	free(ones);
}

Test(client_async, nothing_runs_inside_submit)
{
	struct one one = {0};

	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 0, 0, count, &one), 0);
	cr_assert_eq(one.runs, 0);
	cr_assert_eq(nfsrdma_outstanding(mount), 1u);
	cr_assert_eq(nfsrdma_process(mount, 0), 1);
	cr_assert_eq(one.runs, 1);
	cr_assert_eq(one.n, 0);
	cr_assert_eq(nfsrdma_fsync_async(file, count, &one), 0);
	cr_assert_eq(one.runs, 1);
	cr_assert_eq(nfsrdma_process(mount, 0), 1);
	cr_assert_eq(one.runs, 2);
}

Test(client_async, what_is_wrong_is_told_by_submit_and_nothing_runs)
{
	struct one one = {0};

	cr_assert_eq(nfsrdma_pread_async(file, buf, 1 << 20, 1, 0, count, &one), -EINVAL);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 1, 0, NULL, &one), -EINVAL);
	cr_assert_eq(nfsrdma_fsync_async(file, NULL, &one), -EINVAL);
	cr_assert_eq(nfsrdma_outstanding(mount), 0u);
	cr_assert_eq(nfsrdma_process(mount, -1), 0); /* nothing outstanding: does not wait */
	cr_assert_eq(one.runs, 0);
}

static void try_sync(void *arg, ssize_t n)
{
	struct one *one = arg;
	struct stat st;
	char byte;

	one->runs++;
	cr_assert_eq(n, 100);
	cr_assert_eq(nfsrdma_stat(mount, "/file", &st), -EDEADLK);
	cr_assert_eq(nfsrdma_fstat(file, &st), -EDEADLK);
	cr_assert_eq(nfsrdma_pread(file, buf, 0, 1, 0), -EDEADLK);
	cr_assert_eq(nfsrdma_pread_copy(file, &byte, 1, 0), -EDEADLK);
	cr_assert_eq(nfsrdma_fsync(file), -EDEADLK);
	cr_assert_eq(nfsrdma_mkdir(mount, "/x", 0755), -EDEADLK);
	cr_assert_eq(nfsrdma_process(mount, 0), -EDEADLK);
	cr_assert_eq(nfsrdma_close(file), -EDEADLK);
	cr_assert(strlen(nfsrdma_hint_last()) > 0);
}

Test(client_async, synchronous_calls_in_a_callback_are_refused)
{
	struct one one = {0};
	struct stat st;

	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 100, 0, try_sync, &one), 0);
	drain();
	cr_assert_eq(one.runs, 1);
	cr_assert_eq(nfsrdma_stat(mount, "/file", &st), 0);
}

struct chain {
	int left;
	uint64_t off;
};

static void go_on(void *arg, ssize_t n)
{
	struct chain *chain = arg;

	cr_assert_eq(n, 5000);
	cr_assert_eq(((uint8_t *)nfsrdma_buf_addr(buf))[4999], fake_byte(chain->off + 4999));
	chain->off += 777;
	if (--chain->left)
		cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 5000, chain->off, go_on, chain), 0);
}

Test(client_async, a_callback_may_submit)
{
	struct chain chain = {.left = 300};

	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 5000, 0, go_on, &chain), 0);
	drain();
	cr_assert_eq(chain.left, 0);
}

static void sync_again(void *arg, ssize_t n)
{
	struct chain *chain = arg;

	cr_assert_eq(n, 0);
	if (--chain->left)
		cr_assert_eq(nfsrdma_fsync_async(file, sync_again, chain), 0);
}

Test(client_async, a_callback_that_resubmits_what_is_done_at_once_takes_no_stack)
{
	struct chain chain = {.left = 200000};

	cr_assert_eq(nfsrdma_fsync_async(file, sync_again, &chain), 0);
	drain();
	cr_assert_eq(chain.left, 0);
}

Test(client_async, a_synchronous_call_runs_the_callbacks_of_others)
{
	struct one one = {0};
	struct stat st;

	fake_rule(f, WIRE_NFS3_READ, 0, 1, FAKE_SHORT, 10);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 100, 0, count, &one), 0);
	for (int i = 0; i < 100 && !one.runs; i++)
		cr_assert_eq(nfsrdma_stat(mount, "/file", &st), 0);
	cr_assert_eq(one.runs, 1);
	cr_assert_eq(one.n, 100);
}

Test(client_async, the_descriptor_tells_when_to_process)
{
	struct one one = {0}, empty = {0};
	struct pollfd p = {.fd = nfsrdma_fd(mount), .events = POLLIN};

	cr_assert_geq(p.fd, 0);
	cr_assert_eq(nfsrdma_process(mount, 0), 0);
	cr_assert_eq(poll(&p, 1, 50), 0, "readable without anything to do");
	/* a JUKEBOX wait is a timer of ours, not the transport's */
	fake_rule(f, WIRE_NFS3_READ, 0, 1, FAKE_STATUS, 10008);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 100, 0, count, &one), 0);
	while (!one.runs) {
		cr_assert_eq(poll(&p, 1, 10000), 1, "never readable");
		cr_assert_geq(nfsrdma_process(mount, 0), 0);
	}
	cr_assert_eq(one.n, 100);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 0, 0, count, &empty), 0);
	nfsrdma_fd(mount);
	cr_assert_eq(poll(&p, 1, 10000), 1, "what is done at once does not show");
	cr_assert_eq(nfsrdma_process(mount, 0), 1);
	cr_assert_eq(empty.runs, 1);
	cr_assert_eq(nfsrdma_fd(mount), p.fd);
}

Test(client_async, a_buffer_may_be_put_under_a_running_call)
{
	struct nfsrdma_buf *gone;
	struct one one = {0};

	cr_assert_eq(nfsrdma_buf_get(mount, &gone, 4096, NFSRDMA_BUF_READ), 0);
	fake_rule(f, WIRE_NFS3_READ, 0, 1, FAKE_HOLD, 0);
	cr_assert_eq(nfsrdma_pread_async(file, gone, 0, 4096, 0, count, &one), 0);
	nfsrdma_process(mount, 20);
	nfsrdma_buf_put(gone);
	fake_release(f);
	drain();
	cr_assert_eq(one.n, 4096);
}

Test(client_async, errors_have_words_inside_the_callback)
{
	struct one one = {0};

	fake_rule(f, WIRE_NFS3_READ, 0, 1, FAKE_STATUS, 5);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 100, 0, count, &one), 0);
	drain();
	cr_assert_eq(one.n, -EIO);
	cr_assert(strstr(nfsrdma_strerror_last(), "read /file"));
}

Test(client_async, closing_waits_for_what_is_outstanding)
{
	struct one ones[10] = {{0}};

	for (int i = 0; i < 10; i++)
		cr_assert_eq(nfsrdma_pwrite_async(file, buf, 0, 9000, (uint64_t)i * 9000, count,
						  &ones[i]),
			     0);
	cr_assert_eq(nfsrdma_close(file), 0, "%s", nfsrdma_strerror_last());
	for (int i = 0; i < 10; i++) {
		cr_assert_eq(ones[i].runs, 1);
		cr_assert_eq(ones[i].n, 9000);
	}
	cr_assert_gt(fake_calls(f, WIRE_NFS3_COMMIT), 0u);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void resubmit(void *arg, ssize_t n)
{
	struct one *one = arg;

	count(arg, n);
	cr_assert_eq(n, -ECANCELED);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 10, 0, count, one), -ESHUTDOWN);
	cr_assert_eq(nfsrdma_fsync_async(file, count, one), -ESHUTDOWN);
}

struct owned {
	struct one one;
	struct nfsrdma_buf *buf;
};

static void put_it(void *arg, ssize_t n)
{
	struct owned *owned = arg;
	struct nfsrdma_buf *none;

	count(&owned->one, n);
	cr_assert_neq(nfsrdma_buf_addr(owned->buf), NULL);
	nfsrdma_buf_put(owned->buf);
	cr_assert_eq(nfsrdma_buf_get(mount, &none, 10, NFSRDMA_BUF_READ), -ESHUTDOWN);
}

Test(client_umount, a_callback_may_put_its_buffer_even_then, .timeout = 60)
{
	struct owned owned[20] = {{{0}}};

	setup();
	fake_rule(f, WIRE_NFS3_READ, 0, UINT32_MAX, FAKE_SILENT, 0);
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(nfsrdma_buf_get(mount, &owned[i].buf, 9000, NFSRDMA_BUF_READ), 0);
		cr_assert_eq(nfsrdma_pread_async(file, owned[i].buf, 0, 9000, 0, put_it, &owned[i]),
			     0);
	}
	nfsrdma_umount(mount);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(owned[i].one.n, -ECANCELED);
	fake_stop(f);
}

Test(client_umount, cancels_everything_once, .timeout = 60)
{
	struct one *ones = calloc(1000, sizeof(*ones));
	struct one sync = {0}, jukebox = {0};

	setup();
	fake_rule(f, WIRE_NFS3_READ, 0, 1, FAKE_STATUS, 10008);
	fake_rule(f, WIRE_NFS3_READ, 0, UINT32_MAX, FAKE_SILENT, 0);
	fake_rule(f, WIRE_NFS3_WRITE, 0, UINT32_MAX, FAKE_SILENT, 0);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 100, 0, resubmit, &jukebox), 0);
	nfsrdma_process(mount, 50);
	for (size_t i = 0; i < 1000; i++) {
		int err = i % 2 ? nfsrdma_pread_async(file, buf, 0, 9000, 0, resubmit, &ones[i])
				: nfsrdma_pwrite_async(file, buf, 0, 9000, 0, resubmit, &ones[i]);

		cr_assert_eq(err, 0);
	}
	cr_assert_eq(nfsrdma_fsync_async(file, resubmit, &sync), 0);
	nfsrdma_process(mount, 20);
	cr_assert_eq(nfsrdma_outstanding(mount), 1002u);
	nfsrdma_umount(mount);
	for (size_t i = 0; i < 1000; i++)
		cr_assert_eq(ones[i].runs, 1, "call %zu: %d", i, ones[i].runs);
	cr_assert_eq(sync.runs, 1);
	cr_assert_eq(sync.n, -ECANCELED);
	cr_assert_eq(jukebox.runs, 1);
	free(ones);
	fake_stop(f);
}

static void end_it(void *arg, ssize_t n)
{
	count(arg, n);
	nfsrdma_umount(mount);
}

Test(client_umount, in_a_callback_happens_when_process_returns, .timeout = 60)
{
	struct one a = {0}, b = {0};

	setup();
	fake_rule(f, WIRE_NFS3_READ, 1, UINT32_MAX, FAKE_SILENT, 0);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 100, 0, end_it, &a), 0);
	cr_assert_eq(nfsrdma_pread_async(file, buf, 0, 100, 0, count, &b), 0);
	while (!b.runs)
		nfsrdma_process(mount, 1000);
	cr_assert_eq(a.n, 100);
	cr_assert_eq(b.n, -ECANCELED);
	fake_stop(f);
}

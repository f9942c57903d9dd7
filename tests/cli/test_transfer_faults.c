/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_transfer_faults.c - the pipeline under failure: it stops, says why, and has nothing in
 * flight.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fake_nfsrdma.h"
#include "tools/nfsrdma/transfer.h"

#define PIECE ((size_t)256 << 10)
#define SIZE (12 * PIECE + 99)

struct bench {
	struct nfsrdma from, to;
	struct nfsrdma_file src, dst;
	struct cli cli;
	struct transfer *transfer;
	struct transfer_job job;
};

static void bench_init(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	fake_init(&b->from, "10.0.0.1:1");
	fake_init(&b->to, "10.0.0.2:1");
	fake_file_init(&b->src, SIZE, 99);
	fake_file_init(&b->dst, 0, 0);
	cr_assert_eq(transfer_create(&b->transfer, &b->cli), 0);
	b->job.src = (struct transfer_end){TRANSFER_REMOTE, &b->from, &b->src, -1};
	b->job.dst = (struct transfer_end){TRANSFER_REMOTE, &b->to, &b->dst, -1};
	b->job.size = SIZE;
}

static void bench_fini(struct bench *b)
{
	cr_assert_eq(b->from.npending + b->to.npending, 0, "nothing is in flight");
	transfer_destroy(b->transfer);
	cr_assert_eq(b->from.bufs_now + b->to.bufs_now, 0, "every buffer is given back");
	fake_file_fini(&b->src);
	fake_file_fini(&b->dst);
	fake_fini(&b->from);
	fake_fini(&b->to);
}

static void expect_failure(struct bench *b, int err)
{
	cr_assert_eq(transfer_run(b->transfer, &b->job), err, "%s", b->job.why);
	cr_assert_not_null(strstr(b->job.why, strerror(-err)), "%s", b->job.why);
	cr_assert_lt(b->job.moved, SIZE);
}

Test(cli_transfer_faults, any_read_may_fail)
{
	for (unsigned n = 1; n <= 13; n++) {
		struct bench b;

		bench_init(&b);
		b.from.fail_at = n;
		expect_failure(&b, -ESTALE);
		bench_fini(&b);
	}
}

Test(cli_transfer_faults, any_write_may_fail)
{
	for (unsigned n = 1; n <= 13; n++) {
		struct bench b;

		bench_init(&b);
		b.to.fail_at = n;
		b.to.fail_with = -ENOSPC;
		expect_failure(&b, -ENOSPC);
		bench_fini(&b);
	}
}

Test(cli_transfer_faults, any_submission_may_be_refused)
{
	for (unsigned n = 1; n <= 13; n++) {
		struct bench b;

		bench_init(&b);
		b.from.refuse_at = n;
		expect_failure(&b, -ESHUTDOWN);
		bench_fini(&b);
		bench_init(&b);
		b.to.refuse_at = n;
		expect_failure(&b, -ESHUTDOWN);
		bench_fini(&b);
	}
}

Test(cli_transfer_faults, after_a_failure_the_next_file_goes_through)
{
	struct bench b;

	bench_init(&b);
	b.to.fail_at = 5;
	expect_failure(&b, -ESTALE);
	cr_assert_eq(transfer_run(b.transfer, &b.job), 0, "%s", b.job.why);
	cr_assert_eq(b.dst.size, SIZE);
	cr_assert_arr_eq(b.dst.data, b.src.data, SIZE);
	bench_fini(&b);
}

Test(cli_transfer_faults, with_one_buffer_it_is_slow_and_with_small_ones_too)
{
	struct bench b;

	bench_init(&b);
	b.from.bufs_max = b.to.bufs_max = 1;
	b.from.buf_len_max = b.to.buf_len_max = 64 << 10;
	cr_assert_eq(transfer_run(b.transfer, &b.job), 0, "%s", b.job.why);
	cr_assert_arr_eq(b.dst.data, b.src.data, SIZE);
	bench_fini(&b);
}

Test(cli_transfer_faults, without_any_buffer_it_says_so)
{
	struct bench b;

	bench_init(&b);
	b.from.buf_len_max = 1;
	expect_failure(&b, -ENOMEM);
	bench_fini(&b);
	bench_init(&b);
	b.to.buf_len_max = 1;
	expect_failure(&b, -ENOMEM);
	bench_fini(&b);
}

Test(cli_transfer_faults, it_stops_when_told)
{
	volatile sig_atomic_t stop = SIGINT;
	struct bench b;

	bench_init(&b);
	b.job.stop = &stop;
	cr_assert_eq(transfer_run(b.transfer, &b.job), -EINTR);
	bench_fini(&b);
}

/* Set by the first look at the progress: the read of the pipe is under way then, and never ends. */
static void set_flag(void *arg, uint64_t moved)
{
	*(volatile sig_atomic_t *)arg = SIGINT;
}

Test(cli_transfer_faults, it_stops_though_a_pipe_has_nothing_to_say, .timeout = 10)
{
	volatile sig_atomic_t stop = 0;
	struct bench b;
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	bench_init(&b);
	b.job.src = (struct transfer_end){.kind = TRANSFER_STREAM, .fd = fds[0]};
	b.job.stop = &stop;
	b.job.progress = set_flag;
	b.job.progress_arg = (void *)&stop;
	cr_assert_eq(transfer_run(b.transfer, &b.job), -EINTR);
	bench_fini(&b);
}

Test(cli_transfer_faults, a_full_local_disk_is_named)
{
	struct bench b;
	int out = open("/dev/full", O_WRONLY | O_CLOEXEC);

	bench_init(&b);
	b.job.dst = (struct transfer_end){.kind = TRANSFER_STREAM, .fd = out};
	expect_failure(&b, -ENOSPC);
	bench_fini(&b);
	close(out);
}

Test(cli_transfer_faults, a_sync_that_fails_is_the_copys_failure)
{
	struct bench b;
	int in = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	bench_init(&b);
	cr_assert_eq(write(in, b.src.data, SIZE), (ssize_t)SIZE);
	lseek(in, 0, SEEK_SET);
	b.job.src = (struct transfer_end){.kind = TRANSFER_STREAM, .fd = in};
	b.job.durable = true;
	nfsrdma_process(&b.to, 0);
	b.to.fail_at = 9; /* eight slots are written, then synced */
	b.to.fail_with = -EIO;
	cr_assert_eq(transfer_run(b.transfer, &b.job), -EIO, "%s", b.job.why);
	bench_fini(&b);
	close(in);
}

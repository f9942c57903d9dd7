/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_transfer.c - the pipeline moves what it should, whatever the order and however short the
 * pieces.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_nfsrdma.h"
#include "tools/nfsrdma/transfer.h"

#define PIECE ((size_t)256 << 10)

static const size_t sizes[] = {0,     1,	 4096,	    PIECE - 1,
			       PIECE, PIECE + 1, 9 * PIECE, 20 * PIECE + 12345};

/* Two mounts, a file on each, and a transfer. */
struct bench {
	struct nfsrdma from, to;
	struct nfsrdma_file src, dst;
	struct cli cli;
	struct transfer *transfer;
	struct transfer_job job;
};

static void bench_init(struct bench *b, size_t size, uint32_t seed)
{
	memset(b, 0, sizeof(*b));
	fake_init(&b->from, "10.0.0.1:1");
	fake_init(&b->to, "10.0.0.2:1");
	b->from.seed = b->to.seed = seed;
	b->from.shorten = b->to.shorten = seed % 2;
	fake_file_init(&b->src, size, 99);
	fake_file_init(&b->dst, 0, 0);
	cr_assert_eq(transfer_create(&b->transfer, &b->cli), 0);
	b->job.src = (struct transfer_end){TRANSFER_REMOTE, &b->from, &b->src, -1};
	b->job.dst = (struct transfer_end){TRANSFER_REMOTE, &b->to, &b->dst, -1};
	b->job.size = size;
}

static void bench_fini(struct bench *b)
{
	transfer_destroy(b->transfer);
	cr_assert_eq(b->from.bufs_now, 0);
	cr_assert_eq(b->to.bufs_now, 0);
	fake_file_fini(&b->src);
	fake_file_fini(&b->dst);
	fake_fini(&b->from);
	fake_fini(&b->to);
}

static void expect_copy(struct bench *b, size_t size)
{
	int err = transfer_run(b->transfer, &b->job);

	cr_assert_eq(err, 0, "%zu bytes: %s", size, b->job.why);
	cr_assert_eq(b->job.moved, size);
	cr_assert_eq(b->job.end, size);
	cr_assert_eq(b->dst.size, size);
	cr_assert_arr_eq(b->dst.data, b->src.data, size);
	cr_assert_eq(b->from.npending + b->to.npending, 0);
}

Test(cli_transfer, a_file_goes_from_server_to_server)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(sizes); i++) {
		for (uint32_t seed = 1; seed <= 4; seed++) {
			struct bench b;

			bench_init(&b, sizes[i], seed);
			expect_copy(&b, sizes[i]);
			bench_fini(&b);
		}
	}
}

Test(cli_transfer, several_pieces_are_under_way_at_once)
{
	struct bench b;

	bench_init(&b, 20 * PIECE, 2);
	expect_copy(&b, 20 * PIECE);
	cr_assert_geq(b.from.most_pending, 4);
	bench_fini(&b);
}

Test(cli_transfer, a_small_file_needs_one_buffer)
{
	struct bench b;

	bench_init(&b, 100, 2);
	b.from.bufs_max = b.to.bufs_max = 1;
	expect_copy(&b, 100);
	cr_assert_eq(b.from.bufs_now, 1);
	cr_assert_eq(b.src.reads, 1, "its end is seen in the first read");
	bench_fini(&b);
}

Test(cli_transfer, a_source_that_grew_is_read_to_its_end)
{
	struct bench b;

	bench_init(&b, 5 * PIECE + 7, 2);
	b.job.size = 2 * PIECE;
	expect_copy(&b, 5 * PIECE + 7);
	bench_fini(&b);
}

Test(cli_transfer, a_source_that_shrank_ends_where_it_ends)
{
	for (uint32_t seed = 1; seed <= 6; seed++) {
		struct bench b;

		bench_init(&b, 3 * PIECE + 5, seed);
		b.job.size = 20 * PIECE;
		expect_copy(&b, 3 * PIECE + 5);
		bench_fini(&b);
	}
}

/* ---- local ends ---- */

static int temp_fd(const struct nfsrdma_file *file)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	if (file)
		cr_assert_eq(write(fd, file->data, file->size), (ssize_t)file->size);
	return fd;
}

static void expect_fd(int fd, const struct nfsrdma_file *file)
{
	uint8_t *got = malloc(file->size + 1);

	cr_assert_eq(pread(fd, got, file->size + 1, 0), (ssize_t)file->size);
	cr_assert_arr_eq(got, file->data, file->size);
	free(got);
}

Test(cli_transfer, a_file_goes_from_here_to_there_and_back)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(sizes); i++) {
		struct bench b;
		int in, out;

		bench_init(&b, sizes[i], (uint32_t)i + 1);
		in = temp_fd(&b.src);
		b.job.src = (struct transfer_end){.kind = TRANSFER_LOCAL, .fd = in};
		expect_copy(&b, sizes[i]);
		out = temp_fd(NULL);
		b.job.src = (struct transfer_end){TRANSFER_REMOTE, &b.from, &b.src, -1};
		b.job.dst = (struct transfer_end){.kind = TRANSFER_LOCAL, .fd = out};
		cr_assert_eq(transfer_run(b.transfer, &b.job), 0, "%s", b.job.why);
		expect_fd(out, &b.src);
		close(in);
		close(out);
		bench_fini(&b);
	}
}

Test(cli_transfer, a_stream_gets_its_pieces_in_order)
{
	for (uint32_t seed = 1; seed <= 4; seed++) {
		struct bench b;
		int out = temp_fd(NULL);

		bench_init(&b, 20 * PIECE + 3, seed);
		b.job.dst = (struct transfer_end){.kind = TRANSFER_STREAM, .fd = out};
		cr_assert_eq(transfer_run(b.transfer, &b.job), 0, "%s", b.job.why);
		expect_fd(out, &b.src);
		close(out);
		bench_fini(&b);
	}
}

/* A child writes the file into a pipe, a few odd bytes at a time. */
static int pipe_from(const struct nfsrdma_file *file)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	if (fork() == 0) {
		for (size_t at = 0; at < file->size;) {
			size_t n = file->size - at < 7777 ? file->size - at : 7777;
			ssize_t put = write(fds[1], file->data + at, n);

			at += put > 0 ? (size_t)put : 0;
		}
		_exit(0);
	}
	close(fds[1]);
	return fds[0];
}

Test(cli_transfer, a_pipe_is_read_to_its_end_into_whole_pieces)
{
	struct bench b;
	int in;

	bench_init(&b, 10 * PIECE + 77, 2);
	in = pipe_from(&b.src);
	b.job.src = (struct transfer_end){.kind = TRANSFER_STREAM, .fd = in};
	b.job.size = 0;
	expect_copy(&b, 10 * PIECE + 77);
	cr_assert_eq(b.dst.writes, 11);
	close(in);
	bench_fini(&b);
}

Test(cli_transfer, what_cannot_be_read_again_stays_in_its_buffer_until_it_is_safe)
{
	for (uint32_t seed = 1; seed <= 4; seed++) {
		struct bench b;
		int in;

		bench_init(&b, 30 * PIECE + 1, seed);
		in = pipe_from(&b.src);
		b.job.src = (struct transfer_end){.kind = TRANSFER_STREAM, .fd = in};
		b.job.size = 0;
		b.job.durable = true;
		nfsrdma_process(&b.to, 0); /* the mount fsync is for */
		expect_copy(&b, 30 * PIECE + 1);
		cr_assert_geq(b.dst.syncs, 3);
		cr_assert_leq(b.dst.syncs, 8, "not one for each piece");
		cr_assert_eq(b.to.held_changed, 0);
		cr_assert_eq(b.to.nheld, 0, "the last ones too");
		close(in);
		bench_fini(&b);
	}
}

Test(cli_transfer, offsets_shift_both_ends)
{
	struct bench b;

	bench_init(&b, 3 * PIECE, 2);
	b.job.src_off = 1000;
	b.job.dst_off = 77;
	b.job.size = 3 * PIECE - 1000;
	cr_assert_eq(transfer_run(b.transfer, &b.job), 0);
	cr_assert_eq(b.dst.size, 77 + 3 * PIECE - 1000);
	cr_assert_arr_eq(b.dst.data + 77, b.src.data + 1000, 3 * PIECE - 1000);
	bench_fini(&b);
}

Test(cli_transfer, pieces_of_zeros_are_not_written_where_that_is_allowed)
{
	struct bench b;

	bench_init(&b, 12 * PIECE, 2);
	memset(b.src.data, 0, 12 * PIECE);
	b.src.data[5 * PIECE + 1] = 1;
	b.job.skip_zeros = true;
	cr_assert_eq(transfer_run(b.transfer, &b.job), 0);
	cr_assert_eq(b.dst.writes, 1);
	cr_assert_eq(b.job.moved, 12 * PIECE);
	cr_assert_eq(b.job.end, 12 * PIECE, "the caller learns how long the file is");
	bench_fini(&b);
}

Test(cli_transfer, holes_of_a_local_file_are_not_even_read)
{
	struct bench b;
	int in = temp_fd(NULL);

	cr_assert_eq(ftruncate(in, 40 * PIECE), 0);
	cr_assert_eq(pwrite(in, "data", 4, 30 * PIECE + 5), 4);
	bench_init(&b, 0, 2);
	b.job.src = (struct transfer_end){.kind = TRANSFER_LOCAL, .fd = in};
	b.job.size = 40 * PIECE;
	b.job.skip_zeros = true;
	cr_assert_eq(transfer_run(b.transfer, &b.job), 0, "%s", b.job.why);
	cr_assert_eq(b.job.moved, 40 * PIECE);
	cr_assert_eq(b.job.end, 40 * PIECE);
	cr_assert_arr_eq(b.dst.data + 30 * PIECE + 5, "data", 4);
	cr_assert_eq(b.dst.writes, 1);
	close(in);
	bench_fini(&b);
}

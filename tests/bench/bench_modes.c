/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_modes.c - one measurement of one memory mode, for modes.py to interleave:
 *
 *   bench_modes TARGET OPTS read|write|random SIZE DEPTH FILE_MIB MS
 *   bench_modes --raw      what registering and releasing costs by itself
 *
 * The first prints operations per second and CPU time per operation in us.  Offsets of "random" are
 * multiples of SIZE.  Buffers are the library's, so in cache mode every call looks the cache up,
 * and in per-io mode every call registers.
 */
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>

#include "client/nfsrdma.h"

#define DEPTH_MAX 128

struct run {
	struct nfsrdma_file *file;
	struct nfsrdma_buf *buf[DEPTH_MAX];
	char op;
	size_t size;
	uint64_t blocks, next, seed, done;
	int failed;
	int stop;
};

struct slot {
	struct run *run;
	unsigned i;
};

static double now_s(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int fail(void)
{
	fprintf(stderr, "bench_modes: %s\n", nfsrdma_strerror_last());
	return 1;
}

static void submit(struct slot *slot);

static void done(void *arg, ssize_t n)
{
	struct slot *slot = arg;
	struct run *run = slot->run;

	if (n != (ssize_t)run->size)
		run->failed = 1;
	run->done++;
	if (!run->stop && !run->failed)
		submit(slot);
}

static void submit(struct slot *slot)
{
	struct run *run = slot->run;
	uint64_t block = run->next++ % run->blocks;
	int ret;

	if (run->op == 'r') {
		run->seed = run->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		block = (run->seed >> 33) % run->blocks;
	}
	if (run->op == 'w')
		ret = nfsrdma_pwrite_async(run->file, run->buf[slot->i], 0, run->size,
					   block * run->size, done, slot);
	else
		ret = nfsrdma_pread_async(run->file, run->buf[slot->i], 0, run->size,
					  block * run->size, done, slot);
	if (ret)
		run->failed = 1;
}

static int measure(struct nfsrdma *mount, struct run *run, unsigned depth, double seconds)
{
	struct slot slots[DEPTH_MAX];
	double begin, cpu;
	uint64_t before;

	for (unsigned i = 0; i < depth; i++) {
		slots[i] = (struct slot){run, i};
		submit(&slots[i]);
	}
	begin = now_s(CLOCK_MONOTONIC);
	while (now_s(CLOCK_MONOTONIC) < begin + seconds / 5 && !run->failed)
		nfsrdma_process(mount, 10); /* warm */
	before = run->done;
	begin = now_s(CLOCK_MONOTONIC);
	cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
	while (now_s(CLOCK_MONOTONIC) < begin + seconds && !run->failed)
		nfsrdma_process(mount, 10);
	before = run->done - before;
	cpu = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	begin = now_s(CLOCK_MONOTONIC) - begin;
	run->stop = 1;
	while (nfsrdma_outstanding(mount))
		nfsrdma_process(mount, -1);
	if (run->failed)
		return fail();
	printf("%.1f %.2f\n", (double)before / begin, cpu * 1e6 / (double)(before ? before : 1));
	return 0;
}

static int one_mode(char **arg)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	unsigned depth = (unsigned)atoi(arg[4]);
	struct run run = {.op = arg[2][0] == 'w'   ? 'w'
				: arg[2][1] == 'a' ? 'r'
						   : 's',
			  .size = (size_t)atol(arg[3]),
			  .seed = 1};
	struct nfsrdma *mount;
	int ret = 0;

	if (depth < 1 || depth > DEPTH_MAX || !run.size)
		return 2;
	run.blocks = ((uint64_t)atol(arg[5]) << 20) / run.size;
	opts.opts = arg[1];
	if (nfsrdma_mount(&mount, arg[0], &opts))
		return fail();
	if (nfsrdma_open(mount, &run.file, "/modes.dat", O_RDWR | O_CREAT, 0644))
		ret = fail();
	for (unsigned i = 0; !ret && i < depth; i++) {
		if (nfsrdma_buf_get(mount, &run.buf[i], run.size,
				    run.op == 'w' ? NFSRDMA_BUF_WRITE : NFSRDMA_BUF_READ))
			ret = fail();
	}
	if (!ret)
		ret = measure(mount, &run, depth, atof(arg[6]) / 1000);
	nfsrdma_umount(mount);
	return ret;
}

/* ---- the raw cost: pins taken and released, and nothing else */

#define ROOM ((size_t)8 << 20)
#define HUGE ((size_t)2 << 20)
#define RAW_ROUNDS 9
#define RAW_OPS 100

enum raw_pages { RAW_SMALL, RAW_THP, RAW_HUGE, RAW_KINDS };

/* ROOM bytes, len of them touched; *mapp is to be unmapped.  NULL: no such pages. */
static char *raw_map(enum raw_pages pages, size_t len, void **mapp)
{
	int flags = pages == RAW_HUGE ? MAP_HUGETLB : 0;
	char *at;

	*mapp = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1,
		     0);
	if (*mapp == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)*mapp + HUGE - 1) / HUGE * HUGE);
	if (!flags)
		madvise(*mapp, ROOM, pages == RAW_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(at, 1, len);
	return at;
}

/* Register and release len bytes n times: us per pair of CPU time. */
static double raw(void *mem, size_t len, unsigned n)
{
	struct iovec iov = {mem, len};
	struct io_uring ring;
	double begin;

	if (io_uring_queue_init(1, &ring, 0))
		return -1;
	begin = now_s(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned i = 0; i < n; i++) {
		if (io_uring_register_buffers(&ring, &iov, 1))
			return -1;
		io_uring_unregister_buffers(&ring);
	}
	begin = now_s(CLOCK_PROCESS_CPUTIME_ID) - begin;
	io_uring_queue_exit(&ring);
	return begin * 1e6 / n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median of rounds, each with a mapping of its own. */
static double raw_median(enum raw_pages pages, size_t len)
{
	double us[RAW_ROUNDS];

	for (unsigned i = 0; i < RAW_ROUNDS; i++) {
		void *map;
		char *at = raw_map(pages, len, &map);

		us[i] = at ? raw(at, len, RAW_OPS) : -1;
		if (at)
			munmap(map, ROOM);
		if (us[i] < 0)
			return -1;
	}
	qsort(us, RAW_ROUNDS, sizeof(us[0]), by_value);
	return us[RAW_ROUNDS / 2];
}

static int all_raw(void)
{
	static const size_t lens[] = {4096, 262144, 1 << 20, 4 << 20};

	printf("| register and release | 4 KiB pages | transparent huge pages | 2 MiB huge pages "
	       "|\n"
	       "| --- | --- | --- | --- |\n");
	for (unsigned i = 0; i < 4; i++) {
		printf("| %zu KiB |", lens[i] / 1024);
		for (int pages = 0; pages < RAW_KINDS; pages++) {
			double us = raw_median((enum raw_pages)pages, lens[i]);

			if (us < 0)
				printf(" - |");
			else
				printf(" %.2f us |", us);
		}
		printf("\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--raw"))
		return all_raw();
	if (argc != 8) {
		fprintf(stderr,
			"bench_modes: TARGET OPTS read|write|random SIZE DEPTH FILE_MIB MS\n");
		return 2;
	}
	return one_mode(argv + 1);
}

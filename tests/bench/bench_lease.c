/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_lease.c - what a lease costs: take+give in ns, on one thread and on two, beside a pool
 * behind a mutex and beside registering per I/O, the pins alone.  Prints a markdown table.
 *
 *   bench_lease [ROUNDS]
 *
 * The three are interleaved and each is the median of its rounds, with the spread.  Time is the
 * threads' own CPU time, so that what else the machine does counts as little as can be.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <liburing.h>

#include "mr/mr.h"

#define LEASE_LEN (256u << 10)
#define OPS 200000
#define REGISTER_OPS 200
#define MAX_ROUNDS 101

/* ---- the pool under test */

/* Pins once per slab through io_uring, as the software RNIC does. */
static int bench_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			  unsigned access, struct mr_registration *reg, struct util_err *err)
{
	struct iovec iov = {.iov_base = addr, .iov_len = len};
	struct io_uring *ring = malloc(sizeof(*ring));
	int ret = ring ? io_uring_queue_init(1, ring, 0) : -1;

	(void)p;
	(void)page_size;
	if (ret) {
		free(ring);
		return util_err_set(err, ret, "no io_uring to pin with");
	}
	ret = io_uring_register_buffers(ring, &iov, 1);
	if (ret) {
		io_uring_queue_exit(ring);
		free(ring);
		return util_err_set(err, ret, "pin");
	}
	*reg = (struct mr_registration){.addr = addr, .len = len, .access = access, .priv = ring};
	return 0;
}

static void bench_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	(void)p;
	io_uring_unregister_buffers(reg->priv);
	io_uring_queue_exit(reg->priv);
	free(reg->priv);
}

static const struct mr_provider_ops bench_ops = {
	.name = "bench",
	.register_memory = bench_register,
	.deregister_memory = bench_deregister,
};

static struct mr_provider bench_provider = {.ops = &bench_ops,
					    .max_region = 1u << 30,
					    .max_regions = UINT32_MAX,
					    .registers = true,
					    .numa_node = -1};

static struct mr_pool *pool;

static void *lease_loop(void *arg)
{
	struct mr_lease *lease;

	(void)arg;
	for (unsigned i = 0; i < OPS; i++) {
		if (mr_lease_take(pool, MR_KIND_READ, LEASE_LEN, &lease, NULL))
			exit(1);
		mr_lease_give(lease);
	}
	return NULL;
}

/* ---- the same behind a mutex */

static struct {
	pthread_mutex_t lock;
	void *idle[16];
	unsigned count;
} mutex_pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .count = 16};

static void *mutex_loop(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < OPS; i++) {
		void *item;

		pthread_mutex_lock(&mutex_pool.lock);
		item = mutex_pool.idle[--mutex_pool.count];
		pthread_mutex_unlock(&mutex_pool.lock);
		__asm__ volatile("" : : "r"(item) : "memory");
		pthread_mutex_lock(&mutex_pool.lock);
		mutex_pool.idle[mutex_pool.count++] = item;
		pthread_mutex_unlock(&mutex_pool.lock);
	}
	return NULL;
}

/* ---- registering per I/O: memory is there, the ring too; only the pins come and go */

static void *register_loop(void *arg)
{
	void *memory = mmap(NULL, LEASE_LEN, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct iovec iov = {.iov_base = memory, .iov_len = LEASE_LEN};
	struct io_uring ring;

	(void)arg;
	if (memory == MAP_FAILED || io_uring_queue_init(1, &ring, 0))
		exit(1);
	for (unsigned i = 0; i < REGISTER_OPS; i++)
		if (io_uring_register_buffers(&ring, &iov, 1) || io_uring_unregister_buffers(&ring))
			exit(1);
	io_uring_queue_exit(&ring);
	munmap(memory, LEASE_LEN);
	return NULL;
}

/* ---- measuring */

struct bench_thread {
	pthread_t id;
	void *(*loop)(void *);
	double cpu_ns;
};

static void *run_thread(void *arg)
{
	struct bench_thread *thread = arg;
	struct timespec ts;

	thread->loop(NULL);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	thread->cpu_ns = (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
	return NULL;
}

/* CPU time per operation, the mean of the threads. */
static double run(void *(*loop)(void *), unsigned threads, unsigned ops)
{
	struct bench_thread thread[2];
	double sum = 0;

	for (unsigned i = 0; i < threads; i++) {
		thread[i].loop = loop;
		pthread_create(&thread[i].id, NULL, run_thread, &thread[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(thread[i].id, NULL);
		sum += thread[i].cpu_ns;
	}
	return sum / threads / ops;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*loop)(void *);
		unsigned threads, ops;
	} rows[] = {
		{"take and give a lease", lease_loop, 1, OPS},
		{"take and give a lease", lease_loop, 2, OPS},
		{"the same behind a mutex", mutex_loop, 1, OPS},
		{"the same behind a mutex", mutex_loop, 2, OPS},
		{"register and release 256 KiB", register_loop, 1, REGISTER_OPS},
		{"register and release 256 KiB", register_loop, 2, REGISTER_OPS},
	};
	static double ns[UTIL_ARRAY_SIZE(rows)][MAX_ROUNDS];
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 9;
	struct mr_pool_params params = {.numa_node = -1};
	struct util_err err = {0};

	if (rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "bench_lease: ROUNDS is 1 to %d\n", MAX_ROUNDS);
		return 2;
	}
	if (mr_pool_create(&pool, &bench_provider, &params, &err)) {
		fprintf(stderr, "bench_lease: %s\n", err.what);
		return 1;
	}
	lease_loop(NULL);
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < UTIL_ARRAY_SIZE(rows); i++)
			ns[i][round] = run(rows[i].loop, rows[i].threads, rows[i].ops);
	printf("| one pair, ns of CPU time | threads | median of %u | range |\n"
	       "| --- | --- | --- | --- |\n",
	       rounds);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(rows); i++) {
		qsort(ns[i], rounds, sizeof(double), compare);
		printf("| %s | %u | %.1f | %.1f-%.1f |\n", rows[i].name, rows[i].threads,
		       ns[i][rounds / 2], ns[i][0], ns[i][rounds - 1]);
	}
	mr_pool_destroy(pool);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_flush.c - unmapped ranges through flush queues: one for all threads against one for each.
 *
 *   bench_flush [THREADS [ROUNDS]]
 *
 * Each thread does what an unmap in lazy mode does at its end, and nothing else, for a tenth of a
 * second: it queues a range, and who comes to a full queue flushes it.  The two take turns; the
 * medians of their rounds are printed in ns per range, alone and together, and what a thread keeps
 * of its speed when all are at it.  Addresses are not given back, as the allocator is compared
 * elsewhere (nfsrdma-iommu iova).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iommu-aware/swiommu.h"
#include "util/util.h"

#define RUN_NS (100 * UTIL_NS_PER_MS)
#define THREADS_MAX 64
#define ROUNDS_MAX 101

static struct sw_flush flush;
static struct sw_tlb tlb;
static struct iommu_sw_inval_queue inval;
static pthread_barrier_t start;

static void *run(void *arg)
{
	double *ns = arg;
	uint64_t begun, now, n = 0;

	pthread_barrier_wait(&start);
	begun = now = util_clock_ns();
	while (now - begun < RUN_NS) {
		for (unsigned i = 0; i < 256; i++, n++)
			iommu_sw_flush_add(&flush, (n % 4096) << 12, 4096);
		now = util_clock_ns();
	}
	*ns = (double)(now - begun) / (double)n;
	return NULL;
}

static double measure(unsigned threads, unsigned queues)
{
	pthread_t id[THREADS_MAX];
	double ns[THREADS_MAX], sum = 0;

	memset(&flush, 0, sizeof(flush));
	iommu_sw_tlb_init(&tlb);
	iommu_sw_inval_init(&inval, &tlb, 0);
	if (iommu_sw_flush_init(&flush, &inval, NULL, true))
		exit(1);
	flush.queues = queues;
	pthread_barrier_init(&start, NULL, threads);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, run, &ns[i]))
			exit(1);
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(id[i], NULL);
		sum += ns[i];
	}
	pthread_barrier_destroy(&start);
	iommu_sw_flush_fini(&flush);
	iommu_sw_inval_fini(&inval);
	iommu_sw_tlb_fini(&tlb);
	return sum / threads;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

int main(int argc, char **argv)
{
	static const unsigned queues[2] = {SW_FLUSH_QUEUES, 1};
	static const char *const names[2] = {"one each", "one for all"};
	static double alone[2][ROUNDS_MAX], together[2][ROUNDS_MAX], kept[2][ROUNDS_MAX];
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 9;

	if (threads < 1 || threads > THREADS_MAX || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench_flush [THREADS [ROUNDS]]\n");
		return 2;
	}
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned k = 0; k < 2; k++) {
			alone[k][r] = measure(1, queues[k]);
			together[k][r] = measure(threads, queues[k]);
			kept[k][r] = 100 * alone[k][r] / together[k][r];
		}
	}
	printf("| flush queues | ns per range, one thread | %u threads, each | speed kept |\n"
	       "| --- | --- | --- | --- |\n",
	       threads);
	for (unsigned k = 0; k < 2; k++)
		printf("| %s | %.1f | %.1f | %.0f %% |\n", names[k], median(alone[k], rounds),
		       median(together[k], rounds), median(kept[k], rounds));
	return 0;
}

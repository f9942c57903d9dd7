/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_flush.c - unmapped ranges through flush queues: one for all threads against one for each.
 *
 *   bench_flush [THREADS [ROUNDS]]
 *
 * Each thread does what an unmap in lazy mode does at its end, and nothing else, for a tenth of a
 * second: it queues a range, and who comes to a full queue flushes it.  The control's threads share
 * nothing at all: what the machine itself scales like.  The three take turns; printed are medians:
 * ns per range, alone and together, and what a thread keeps of its speed when all are at it,
 * against what the control's keep in the same round.  Addresses are not given back, as the
 * allocator is compared elsewhere (nfsrdma-iommu iova).
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

/* One for all, or with the control one for each thread. */
static struct whole {
	struct sw_flush flush;
	struct sw_tlb tlb;
	struct iommu_sw_inval_queue inval;
} whole[THREADS_MAX];

struct worker {
	pthread_t id;
	struct sw_flush *flush;
	double ns;
};

static pthread_barrier_t start;

static void *run(void *arg)
{
	struct worker *w = arg;
	uint64_t begun, now, n = 0;

	pthread_barrier_wait(&start);
	begun = now = util_clock_ns();
	while (now - begun < RUN_NS) {
		for (unsigned i = 0; i < 256; i++, n++)
			iommu_sw_flush_add(w->flush, (n % 4096) << 12, 4096);
		now = util_clock_ns();
	}
	w->ns = (double)(now - begun) / (double)n;
	return NULL;
}

static void whole_open(struct whole *w, unsigned queues)
{
	memset(w, 0, sizeof(*w));
	iommu_sw_tlb_init(&w->tlb);
	iommu_sw_inval_init(&w->inval, &w->tlb, 0);
	if (iommu_sw_flush_init(&w->flush, &w->inval, NULL, true))
		exit(1);
	w->flush.queues = queues;
}

static void whole_close(struct whole *w)
{
	iommu_sw_flush_fini(&w->flush);
	iommu_sw_inval_fini(&w->inval);
	iommu_sw_tlb_fini(&w->tlb);
}

static double measure(unsigned threads, bool control, unsigned queues)
{
	struct worker workers[THREADS_MAX];
	unsigned wholes = control ? threads : 1;
	double sum = 0;

	for (unsigned i = 0; i < wholes; i++)
		whole_open(&whole[i], queues);
	pthread_barrier_init(&start, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		workers[i].flush = &whole[control ? i : 0].flush;
		if (pthread_create(&workers[i].id, NULL, run, &workers[i]))
			exit(1);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(workers[i].id, NULL);
		sum += workers[i].ns;
	}
	pthread_barrier_destroy(&start);
	for (unsigned i = 0; i < wholes; i++)
		whole_close(&whole[i]);
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
	static const struct {
		const char *name;
		bool control;
		unsigned queues;
	} kinds[] = {{"control", true, 1},
		     {"one each", false, SW_FLUSH_QUEUES},
		     {"one for all", false, 1}};
	static double alone[3][ROUNDS_MAX], together[3][ROUNDS_MAX], kept[3][ROUNDS_MAX];
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 9;

	if (threads < 1 || threads > THREADS_MAX || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench_flush [THREADS [ROUNDS]]\n");
		return 2;
	}
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned k = 0; k < UTIL_ARRAY_SIZE(kinds); k++) {
			alone[k][r] = measure(1, kinds[k].control, kinds[k].queues);
			together[k][r] = measure(threads, kinds[k].control, kinds[k].queues);
			kept[k][r] =
				100 * alone[k][r] / together[k][r] * together[0][r] / alone[0][r];
		}
	}
	printf("| flush queues | ns per range, one thread | %u threads, each | of the control's "
	       "scaling |\n"
	       "| --- | --- | --- | --- |\n",
	       threads);
	for (unsigned k = 0; k < UTIL_ARRAY_SIZE(kinds); k++)
		printf("| %s | %.1f | %.1f | %.0f %% |\n", kinds[k].name, median(alone[k], rounds),
		       median(together[k], rounds), median(kept[k], rounds));
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_iova.c - nfsrdma-iommu iova: magazines side by side with a tree under one lock.
 *
 * Each thread keeps 64 ranges of 4 to 128 KiB out, and at each step gives back the oldest and takes
 * a new one: what a driver does that maps per I/O.  Three allocators do the same work:
 *
 *   control    each thread pops and pushes arrays of its own: what the machine itself scales like
 *   magazine   iommu-aware/iova.c
 *   tree       iommu-aware/space.c, a tree under one lock, with a thousand other ranges out
 *
 * They take turns within a round of a fraction of a second, first on one thread each, then on all,
 * so that what else the machine does meets them alike.  Scaling is compared with the control's of
 * the same round; each figure is the median of its rounds.  Wall time: waiting for a lock is what
 * the comparison is about.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nfsrdma-iommu/tool.h"

#define IOVA_LIVE 64
#define IOVA_SIZES 6 /* 4 KiB << 0..5 */
#define IOVA_CROWD 1000
#define IOVA_MAX_THREADS 64
#define IOVA_MAX_ROUNDS 201
#define IOVA_SLICE_MS 20
#define IOVA_BASE (UINT64_C(1) << 32)
#define IOVA_LIMIT (UINT64_C(1) << 47)
#define IOVA_BATCH 256 /* steps between two looks at the clock */

enum iova_kind { IOVA_CONTROL, IOVA_MAGAZINE, IOVA_TREE, IOVA_KINDS };

static const char iova_names[IOVA_KINDS][12] = {"control", "magazine", "tree"};

struct iova_options {
	uint64_t threads, seconds;
	bool wanted[IOVA_KINDS], json;
};

struct iova_shared {
	struct iommu_iova *iova;
	struct iommu_space *space;
	pthread_barrier_t start;
	uint64_t run_ns;
};

struct iova_thread {
	_Alignas(64) pthread_t id;
	struct iova_shared *shared;
	enum iova_kind kind;
	struct iommu_iova_cache *cache;
	uint64_t own[IOVA_SIZES][IOVA_LIVE * 2], count[IOVA_SIZES]; /* control */
	uint64_t addr[IOVA_LIVE];
	double ns; /* per step: one allocation and one release */
	int err;
};

static uint64_t iova_size(uint64_t step)
{
	return UINT64_C(4096) << step % IOVA_SIZES;
}

static inline int iova_take(struct iova_thread *t, uint64_t step, uint64_t *addrp)
{
	uint64_t size = iova_size(step);

	switch (t->kind) {
	case IOVA_MAGAZINE:
		return iommu_iova_alloc(t->cache, size, 0, addrp);
	case IOVA_TREE:
		return iommu_space_alloc(t->shared->space, size, size, 0, addrp);
	default:
		*addrp = t->own[step % IOVA_SIZES][--t->count[step % IOVA_SIZES]];
		return 0;
	}
}

static inline void iova_give(struct iova_thread *t, uint64_t step, uint64_t addr)
{
	switch (t->kind) {
	case IOVA_MAGAZINE:
		iommu_iova_free(t->cache, addr, iova_size(step));
		break;
	case IOVA_TREE:
		iommu_space_free(t->shared->space, addr, iova_size(step));
		break;
	default:
		t->own[step % IOVA_SIZES][t->count[step % IOVA_SIZES]++] = addr;
	}
}

/* A slot's size goes by the step that filled it. */
static int iova_steps(struct iova_thread *t, uint64_t first, unsigned steps)
{
	for (uint64_t step = first; step < first + steps; step++) {
		uint64_t *slot = &t->addr[step % IOVA_LIVE];

		iova_give(t, step - IOVA_LIVE, *slot);
		if (iova_take(t, step, slot))
			return -ENOSPC;
	}
	return 0;
}

static int iova_fill(struct iova_thread *t)
{
	for (unsigned size = 0; size < IOVA_SIZES; size++) {
		t->count[size] = IOVA_LIVE;
		for (unsigned i = 0; i < IOVA_LIVE; i++)
			t->own[size][i] = IOVA_BASE + i * 4096;
	}
	for (unsigned step = 0; step < IOVA_LIVE; step++)
		if (iova_take(t, step, &t->addr[step]))
			return -ENOSPC;
	return 0;
}

static void *iova_run(void *arg)
{
	struct iova_thread *t = arg;
	uint64_t begin, now, step = IOVA_LIVE;

	t->err = iova_fill(t);
	pthread_barrier_wait(&t->shared->start);
	begin = now = util_clock_ns();
	while (!t->err && now - begin < t->shared->run_ns) {
		t->err = iova_steps(t, step, IOVA_BATCH);
		step += IOVA_BATCH;
		now = util_clock_ns();
	}
	t->ns = step > IOVA_LIVE ? (double)(now - begin) / (double)(step - IOVA_LIVE) : 0;
	for (unsigned i = 0; !t->err && i < IOVA_LIVE; i++)
		iova_give(t, step - IOVA_LIVE + i, t->addr[(step + i) % IOVA_LIVE]);
	return NULL;
}

/* Mean ns per step of threads at it together; -errno. */
static int iova_measure(struct iova_shared *shared, enum iova_kind kind, unsigned threads,
			double *nsp)
{
	struct iova_thread *t = aligned_alloc(64, threads * sizeof(*t));
	unsigned started = 0;
	double sum = 0;
	int err = t ? 0 : -ENOMEM;

	if (err)
		return err;
	memset(t, 0, threads * sizeof(*t));
	for (unsigned i = 0; i < threads && !err; i++) {
		t[i].shared = shared;
		t[i].kind = kind;
		err = iommu_iova_cache_open(shared->iova, &t[i].cache);
	}
	pthread_barrier_init(&shared->start, NULL, threads);
	for (; !err && started < threads; started++)
		if (pthread_create(&t[started].id, NULL, iova_run, &t[started])) {
			/* Those who wait at the barrier cannot be told: end with the process. */
			return -EAGAIN;
		}
	for (unsigned i = 0; i < started; i++) {
		pthread_join(t[i].id, NULL);
		err = err ? err : t[i].err;
		sum += t[i].ns;
	}
	for (unsigned i = 0; i < threads; i++)
		iommu_iova_cache_close(t[i].cache);
	pthread_barrier_destroy(&shared->start);
	free(t);
	*nsp = sum / threads;
	return err;
}

static int iova_shared_open(struct iova_shared *shared)
{
	uint64_t addr;
	int err = iommu_iova_create(&shared->iova, IOVA_BASE, IOVA_LIMIT);

	if (err)
		return err;
	err = iommu_space_create(&shared->space, IOVA_BASE, IOVA_LIMIT);
	/* Every second of a row of pages stays out: neighbours that are not free. */
	for (unsigned i = 0; !err && i < 2 * IOVA_CROWD; i++)
		err = iommu_space_alloc(shared->space, 4096, 4096, 0, &addr);
	for (unsigned i = 0; !err && i < IOVA_CROWD; i++)
		iommu_space_free(shared->space, IOVA_BASE + 2 * i * UINT64_C(4096), 4096);
	return err;
}

static void iova_shared_close(struct iova_shared *shared)
{
	iommu_space_destroy(shared->space);
	iommu_iova_destroy(shared->iova);
}

static int iova_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct iova_figures {
	double one[IOVA_MAX_ROUNDS], all[IOVA_MAX_ROUNDS];
};

static double iova_median(const double *values, unsigned rounds)
{
	double sorted[IOVA_MAX_ROUNDS];

	memcpy(sorted, values, rounds * sizeof(*sorted));
	qsort(sorted, rounds, sizeof(*sorted), iova_compare);
	return sorted[rounds / 2];
}

/* What each thread keeps of its speed when all are at it, against base's in the same round. */
static double iova_kept(const struct iova_figures *f, const struct iova_figures *base,
			unsigned rounds)
{
	double ratio[IOVA_MAX_ROUNDS];

	for (unsigned i = 0; i < rounds; i++)
		ratio[i] = f->one[i] / f->all[i] * (base ? base->all[i] / base->one[i] : 1);
	return iova_median(ratio, rounds);
}

static void iova_report(struct report *r, const struct iova_options *opts,
			const struct iova_figures *figures, unsigned rounds)
{
	const struct iova_figures *control = &figures[IOVA_CONTROL];
	double all[IOVA_KINDS];

	report_number(r, "threads", opts->threads, "");
	report_number(r, "rounds", rounds, "");
	report_list(r, "allocators", "");
	for (unsigned kind = 0; kind < IOVA_KINDS; kind++) {
		const struct iova_figures *f = &figures[kind];

		if (!opts->wanted[kind])
			continue;
		all[kind] = iova_median(f->all, rounds);
		report_item(r, iova_names[kind]);
		if (report_is_json(r))
			report_text(r, "name", iova_names[kind]);
		report_real(r, "ns_one_thread", iova_median(f->one, rounds),
			    "ns per allocation and release");
		report_real(r, "ns_all_threads", all[kind], "ns, each thread");
		report_real(r, "scaling_percent", 100.0 * iova_kept(f, NULL, rounds),
			    "% of linear");
		report_real(r, "of_control_percent", 100.0 * iova_kept(f, control, rounds),
			    "% of the control's scaling");
		report_close(r);
	}
	report_close(r);
	if (opts->wanted[IOVA_MAGAZINE] && opts->wanted[IOVA_TREE])
		report_real(r, "magazine_over_tree", all[IOVA_TREE] / all[IOVA_MAGAZINE],
			    "times as fast, all threads");
}

/* An odd number of rounds that fill the time asked for. */
static unsigned iova_plan(const struct iova_options *opts, struct iova_shared *shared)
{
	unsigned kinds = 0, rounds;

	for (unsigned kind = 0; kind < IOVA_KINDS; kind++)
		kinds += opts->wanted[kind];
	rounds = (unsigned)(opts->seconds * 1000 / (2 * IOVA_SLICE_MS * kinds)) | 1;
	if (rounds > IOVA_MAX_ROUNDS)
		rounds = IOVA_MAX_ROUNDS;
	shared->run_ns = opts->seconds * UTIL_NS_PER_S / (2 * kinds * rounds);
	return rounds;
}

static int iova_round(const struct iova_options *opts, struct iova_shared *shared,
		      struct iova_figures *figures, unsigned round)
{
	int err = 0;

	for (unsigned kind = 0; !err && kind < IOVA_KINDS; kind++)
		if (opts->wanted[kind])
			err = iova_measure(shared, kind, 1, &figures[kind].one[round]);
	for (unsigned kind = 0; !err && kind < IOVA_KINDS; kind++)
		if (opts->wanted[kind])
			err = iova_measure(shared, kind, (unsigned)opts->threads,
					   &figures[kind].all[round]);
	return err;
}

static int iova_rounds(const struct iova_options *opts, struct iova_figures *figures,
		       unsigned *roundsp)
{
	struct iova_shared shared = {0};
	int err = iova_shared_open(&shared);

	*roundsp = iova_plan(opts, &shared);
	for (unsigned round = 0; !err && round < *roundsp; round++)
		err = iova_round(opts, &shared, figures, round);
	if (err != -EAGAIN)
		iova_shared_close(&shared);
	return err;
}

static int iova_command(const struct iova_options *opts)
{
	struct iova_figures figures[IOVA_KINDS] = {0};
	struct util_err err = {0};
	struct report *r;
	unsigned rounds;
	int ret = iova_rounds(opts, figures, &rounds);

	if (ret) {
		util_err_set(&err, ret, "measure with %llu threads: %s",
			     (unsigned long long)opts->threads, strerror(-ret));
		return tool_fail("iova", &err);
	}
	r = report_begin(stdout, opts->json, "nfsrdma-iommu-iova/1");
	if (!r)
		return 1;
	iova_report(r, opts, figures, rounds);
	ret = report_end(r);
	if (!ret)
		return 0;
	util_err_set(&err, ret, "write the report: %s", strerror(-ret));
	return tool_fail("iova", &err);
}

static bool iova_choose(struct iova_options *opts, const char *name)
{
	opts->wanted[IOVA_MAGAZINE] = !strcmp(name, "magazine");
	opts->wanted[IOVA_TREE] = !strcmp(name, "tree");
	return opts->wanted[IOVA_MAGAZINE] || opts->wanted[IOVA_TREE];
}

int cmd_iova(int argc, char **argv)
{
	static const struct option options[] = {
		{"threads", required_argument, NULL, 't'},
		{"allocator", required_argument, NULL, 'a'},
		{"seconds", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	struct iova_options opts = {.threads = 2, .seconds = 3, .wanted = {true, true, true}};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == 't' &&
		    !tool_number("iova", "--threads", optarg, 1, IOVA_MAX_THREADS, &opts.threads))
			return TOOL_USAGE;
		if (c == 's' && !tool_number("iova", "--seconds", optarg, 1, 600, &opts.seconds))
			return TOOL_USAGE;
		if (c == 'a' && !iova_choose(&opts, optarg))
			return tool_usage("iova", "--allocator %s: magazine or tree", optarg);
		if (c == 'j')
			opts.json = true;
		if (c == '?' || c == ':')
			return tool_option("iova", c, argv);
	}
	if (optind < argc)
		return tool_usage("iova", "unexpected argument '%s'", argv[optind]);
	return iova_command(&opts);
}

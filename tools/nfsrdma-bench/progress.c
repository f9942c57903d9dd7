/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.c - how far a test is: on standard error, if that is a terminal, and never before a
 * second has passed, so that short runs stay clean.
 */
#include <unistd.h>

#include "tools/nfsrdma-bench/progress.h"

void progress_begin(struct bench_progress *p, const struct run_round *round)
{
	const struct bench_run *run = round->run;

	*p = (struct bench_progress){.begin_ns = util_clock_ns()};
	p->shown_ns = p->counted_ns = p->begin_ns;
	p->wanted = run->opts->progress && !run->quiet && isatty(STDERR_FILENO);
}

void progress_format(char *line, size_t len, const char *test, double done, double rate_bps,
		     double left_s)
{
	snprintf(line, len, "%s: %3.0f %%, %.0f MB/s, %.0f s left", test,
		 100 * (done > 1 ? 1 : done), rate_bps / 1e6, left_s > 0 ? left_s : 0);
}

static void progress_show(struct bench_progress *p, const struct run_round *round, uint64_t now)
{
	const struct bench_options *opts = round->run->opts;
	double s = (double)(now - p->begin_ns) / 1e9, done, left;
	double total = (double)(round->team.file_size / opts->record) * round->count;
	char line[120];

	if (opts->duration_s > 0)
		done = s / (opts->duration_s + opts->warmup_s);
	else
		done = (double)p->records / total;
	left = done > 0 ? s / done - s : 0;
	progress_format(line, sizeof(line), bench_test_name(round->team.test), done,
			(double)p->records * (double)opts->record / s, left);
	/* To the start of the line, and clear what was there. */
	fprintf(stderr, "\r\033[K# %s", line);
	fflush(stderr);
	p->shown = true;
}

uint64_t progress_look(struct bench_progress *p, const struct run_round *round)
{
	uint64_t now = util_clock_ns(), records = 0;

	for (unsigned i = 0; i < round->count; i++)
		records += atomic_load_explicit(&round->children[i].progress, memory_order_relaxed);
	if (records != p->records) {
		p->records = records;
		p->counted_ns = now;
	}
	if (p->wanted && now - p->shown_ns >= UTIL_NS_PER_S) {
		p->shown_ns = now;
		progress_show(p, round, now);
	}
	return now - p->counted_ns;
}

void progress_end(struct bench_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.c - the parent: rounds of children, tests of a round, and what they come to.
 *
 * A round has a fixed number of children.  The parent tells them all the same thing (mount,
 * prepare, run, finish) and waits until each has reported; between commands it alone looks at
 * them, so nothing they measured needs a lock.
 *
 * Waiting is on two descriptors, the children's reports and the signals.  The first Ctrl-C stops
 * the test that runs: its partial result is printed like any other, and the rest is left out.  A
 * server may hang for ever: the second one, or RUN_GRACE_NS after the first, no longer waits for
 * children, but stops the private server, removes its files and ends the process.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/child.h"

#define RUN_KB 1024.0
#define RUN_INTERRUPTED 130 /* as a shell reports SIGINT */
/* Long enough for what is in flight and for removing the files of a slow server. */
#define RUN_GRACE_NS (10 * UTIL_NS_PER_S)

struct run_round {
	struct bench_run *run;
	struct bench_team team;
	struct bench_child *children;
	unsigned count;
};

/* ---- commands ----------------------------------------------------------------------------------
 */

static void run_abandon(struct bench_run *run)
{
	bench_server_stop(run->server);
	fflush(run->out);
	_exit(RUN_INTERRUPTED);
}

static void run_signal(struct run_round *round)
{
	struct signalfd_siginfo info;
	struct bench_run *run = round->run;

	if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (run->interrupted)
		run_abandon(run);
	run->interrupted = true;
	run->give_up_ns = util_clock_ns() + RUN_GRACE_NS;
	atomic_store(&round->team.interrupted, true);
	atomic_store(&round->team.stop, true);
}

static void run_await(struct run_round *round)
{
	struct pollfd fds[2] = {
		{.fd = round->team.report_fd, .events = POLLIN},
		{.fd = round->run->signal_fd, .events = POLLIN},
	};
	const struct bench_run *run = round->run;
	eventfd_t reports, total = 0;
	int ready;

	while (total < round->count) {
		ready = poll(fds, 2, run->interrupted ? util_clock_until_ms(run->give_up_ns) : -1);
		if (ready == 0) {
			fprintf(stderr, "nfsrdma-bench: interrupted; the server does not answer, so "
					"files of this run may be left on it\n");
			run_abandon(round->run);
		}
		if (ready < 0)
			continue;
		if (fds[1].revents & POLLIN)
			run_signal(round);
		if (fds[0].revents & POLLIN && !eventfd_read(round->team.report_fd, &reports))
			total += reports;
	}
}

static void run_command(struct run_round *round, enum team_command command)
{
	struct bench_team *team = &round->team;

	pthread_mutex_lock(&team->lock);
	team->command = command;
	team->step++;
	pthread_cond_broadcast(&team->go);
	pthread_mutex_unlock(&team->lock);
	run_await(round);
}

/* The first child that failed speaks for all. */
static int run_check(const struct run_round *round, struct util_err *err)
{
	for (unsigned i = 0; i < round->count; i++) {
		if (!round->children[i].failed)
			continue;
		*err = round->children[i].err;
		return round->children[i].failed;
	}
	return 0;
}

/* ---- one test
 * ------------------------------------------------------------------------------------ */

struct run_moment {
	uint64_t ns;
	struct bench_cpu cpu;
	struct bench_counters counters;
	bool counted;
};

static double run_seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

/* Transport counters are per mount and summed; the ledger is one pool's, whichever mount is asked.
 */
static void run_counters(const struct run_round *round, struct run_moment *m)
{
	struct bench_counters one;

	memset(&m->counters, 0, sizeof(m->counters));
	m->counted = true;
	for (unsigned i = 0; i < round->count; i++) {
		memset(&one, 0, sizeof(one));
		m->counted &= round->team.client->counters(round->children[i].io, &one);
		if (i)
			memset(one.ledger, 0, sizeof(one.ledger));
		bench_counters_add(&m->counters, &one);
	}
}

static void run_moment(const struct run_round *round, struct run_moment *m)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	m->ns = util_clock_ns();
	m->cpu.user = run_seconds(&usage.ru_utime);
	m->cpu.system = run_seconds(&usage.ru_stime);
	m->cpu.server = round->run->server ? bench_server_cpu_s(round->run->server) : -1;
}

static double run_child_seconds(const struct bench_child *child)
{
	double s = (double)(child->end_ns - child->begin_ns) / 1e9;

	return s > 1e-9 ? s : 1e-9;
}

static void run_latency(const struct run_round *round, struct bench_latency *latency)
{
	struct util_hist *all = malloc(sizeof(*all));

	memset(latency, 0, sizeof(*latency));
	if (!all)
		return;
	util_hist_init(all);
	for (unsigned i = 0; i < round->count; i++)
		util_hist_merge(all, &round->children[i].latency);
	latency->p50 = (double)util_hist_quantile(all, 0.5) / 1e3;
	latency->p95 = (double)util_hist_quantile(all, 0.95) / 1e3;
	latency->p99 = (double)util_hist_quantile(all, 0.99) / 1e3;
	latency->p999 = (double)util_hist_quantile(all, 0.999) / 1e3;
	latency->max = (double)util_hist_quantile(all, 1) / 1e3;
	free(all);
}

static void run_rates(const struct run_round *round, struct bench_result *r)
{
	const struct bench_options *opts = round->run->opts;
	double unit = opts->ops ? 1 : (double)opts->record / RUN_KB;

	for (unsigned i = 0; i < round->count; i++) {
		const struct bench_child *child = &round->children[i];
		double xfer = (double)child->finished * unit;
		double rate = child->end_ns ? xfer / run_child_seconds(child) : 0;

		r->ops += child->finished;
		r->children_rate += rate;
		if (!i || rate < r->min_rate)
			r->min_rate = rate;
		if (!i || rate > r->max_rate)
			r->max_rate = rate;
		if (!i || xfer < r->min_xfer)
			r->min_xfer = xfer;
	}
	r->bytes = r->ops * opts->record;
	r->avg_rate = r->children_rate / round->count;
	r->parent_rate = r->wall_s > 0 ? (double)r->ops * unit / r->wall_s : 0;
}

static void run_result(const struct run_round *round, const struct run_moment *before,
		       const struct run_moment *after, struct bench_result *r)
{
	memset(r, 0, sizeof(*r));
	r->test = round->team.test;
	r->children = round->count;
	r->cut = round->run->interrupted;
	r->wall_s = (double)(after->ns - before->ns) / 1e9;
	r->cpu.user = after->cpu.user - before->cpu.user;
	r->cpu.system = after->cpu.system - before->cpu.system;
	r->cpu.server = before->cpu.server < 0 ? -1 : after->cpu.server - before->cpu.server;
	r->counted = before->counted && after->counted;
	r->counters = after->counters;
	bench_counters_sub(&r->counters, &before->counters);
	run_rates(round, r);
	run_latency(round, &r->latency);
}

/* Counters are read outside of the timed part: reading them costs, too. */
static int run_test(struct run_round *round, enum bench_test test, struct bench_result *r,
		    struct util_err *err)
{
	struct run_moment before, after;
	int ret;

	round->team.test = test;
	atomic_store(&round->team.stop, round->run->interrupted);
	run_command(round, TEAM_PREPARE);
	ret = run_check(round, err);
	if (ret)
		goto out;
	run_counters(round, &before);
	run_moment(round, &before);
	run_command(round, TEAM_RUN);
	run_moment(round, &after);
	run_counters(round, &after);
	ret = run_check(round, err);
	if (!ret)
		run_result(round, &before, &after, r);
out:
	run_command(round, TEAM_FINISH);
	return ret ? ret : run_check(round, err);
}

/* ---- rounds
 * --------------------------------------------------------------------------------------- */

static bool run_wants(const struct bench_options *opts, enum bench_test test)
{
	unsigned number = bench_test_writes(test) ? BENCH_I_WRITE : BENCH_I_READ;

	if (!(opts->tests >> number & 1))
		return false;
	return !opts->no_retest || test == BENCH_WRITE || test == BENCH_READ;
}

static int run_tests(struct run_round *round, struct util_err *err)
{
	struct bench_run *run = round->run;
	struct bench_results *results = run->results;
	int ret = 0;

	for (unsigned test = 0; test < BENCH_TESTS && !ret && !run->interrupted; test++) {
		struct bench_result *r = &results->result[results->count];

		if (!run_wants(run->opts, (enum bench_test)test))
			continue;
		if (results->count == results->room)
			return util_err_set(err, -E2BIG, "no room for results");
		ret = run_test(round, (enum bench_test)test, r, err);
		if (ret)
			break;
		results->count++;
		if (run->opts->throughput)
			report_test(run->out, run->opts, r);
	}
	return ret;
}

static int run_start(struct run_round *round, unsigned children, struct util_err *err)
{
	struct bench_run *run = round->run;

	round->team.opts = run->opts;
	round->team.client = run->client;
	round->team.site = run->site;
	pthread_mutex_init(&round->team.lock, NULL);
	pthread_cond_init(&round->team.go, NULL);
	round->team.report_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	round->children = calloc(children, sizeof(*round->children));
	if (round->team.report_fd < 0 || !round->children)
		return util_err_set(err, -ENOMEM, "no memory for %u children", children);
	for (; round->count < children; round->count++) {
		int ret = child_create(&round->children[round->count], &round->team, round->count,
				       err);

		if (ret)
			return ret;
	}
	return 0;
}

static void run_end(struct run_round *round)
{
	if (round->count)
		run_command(round, TEAM_CLOSE);
	for (unsigned i = 0; i < round->count; i++)
		child_destroy(&round->children[i]);
	free(round->children);
	if (round->team.report_fd >= 0)
		close(round->team.report_fd);
	pthread_cond_destroy(&round->team.go);
	pthread_mutex_destroy(&round->team.lock);
}

/* Mount all; what the mount is like belongs into the header, so that comes now. */
static int run_mount(struct run_round *round, bool first, struct util_err *err)
{
	struct bench_run *run = round->run;
	struct nfsrdma_info info;
	time_t now = time(NULL);
	char date[32] = "";
	int ret;

	run_command(round, TEAM_OPEN);
	ret = run_check(round, err);
	if (ret || !first)
		return ret;
	if (run->client->info(round->children[0].io, &info))
		bench_env_mounted(run->env, &info);
	notes_header(run->out, run->opts, run->env);
	report_preamble(run->out, run->opts, ctime_r(&now, date) ? date : "\n");
	fflush(run->out);
	return 0;
}

static void run_print_round(struct run_round *round, bool first)
{
	struct bench_run *run = round->run;

	if (run->opts->throughput)
		report_round(run->out, run->opts, round->count, first);
	else
		report_table_head(run->out);
}

static void run_print_round_end(struct run_round *round, unsigned done)
{
	struct bench_run *run = round->run;

	if (run->opts->throughput)
		report_round_end(run->out);
	else if (run->results->count > done)
		report_table_row(run->out, run->opts, &run->results->result[done],
				 run->results->count - done);
}

static int run_round(struct bench_run *run, unsigned children, bool first, struct util_err *err)
{
	struct run_round round = {.run = run};
	unsigned done = run->results->count;
	int ret = run_start(&round, children, err);

	if (!ret)
		ret = run_mount(&round, first, err);
	if (!ret) {
		run_print_round(&round, first);
		ret = run_tests(&round, err);
		run_print_round_end(&round, done);
		if (!run->opts->keep)
			run_command(&round, TEAM_REMOVE);
	}
	run_end(&round);
	return ret;
}

int bench_run(struct bench_run *run, struct util_err *err)
{
	const struct bench_options *opts = run->opts;
	int ret = 0;

	for (unsigned n = opts->threads_min; n <= opts->threads_max && !ret && !run->interrupted;
	     n++)
		ret = run_round(run, n, n == opts->threads_min, err);
	if (ret)
		return ret;
	report_end(run->out);
	return run->interrupted ? -EINTR : 0;
}

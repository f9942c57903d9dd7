/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.c - the parent: rounds of children, and the tests of a round.
 *
 * A round has a fixed number of children and fixed sizes.  The parent tells them all the same thing
 * (mount, prepare, run, finish) and waits until each has reported; between commands it alone looks
 * at them, so nothing they measured needs a lock.
 *
 * Waiting is on the children's reports, the signals and the private server's end.  The first Ctrl-C
 * stops the test that runs: its partial result is printed like any other, and the rest is left out.
 * A server may hang for ever: when it has ended, when nothing has moved for --give-up seconds, or
 * RUN_GRACE_NS after a Ctrl-C, the children are told to wait no longer; what still does not come
 * back after that is left to the end of the process.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/group.h"
#include "tools/nfsrdma-bench/matrix.h"
#include "tools/nfsrdma-bench/measure.h"
#include "tools/nfsrdma-bench/progress.h"

#define RUN_INTERRUPTED 130 /* as a shell reports SIGINT */
/* Long enough for what is in flight and for removing the files of a slow server. */
#define RUN_GRACE_NS (10 * UTIL_NS_PER_S)
/* How often the parent looks up when it has something to watch. */
#define RUN_TICK_MS 100
#define RUN_TICK_GROUP_MS 5

/* What the parent watches while the children work. */
struct run_watch {
	struct bench_progress progress;
	bool timed;		     /* the part that is measured */
	uint64_t warm_ns, end_ns;    /* 0: none */
	struct bench_moment *before; /* taken again when the warm-up is over */
};

/* ---- waiting ----------------------------------------------------------------------------------
 */

/* First the children are told, and one of them speaks for all; if they do not come back either, the
 * process ends without them. */
static void run_abandon(struct run_round *round, const char *why)
{
	struct bench_run *run = round->run;
	struct util_err err = {0};

	if (!atomic_load(&round->team.abandon)) {
		if (run->interrupted)
			fprintf(stderr, "nfsrdma-bench: %s\n", why);
		round->team.why = why;
		atomic_store(&round->team.abandon, true);
		atomic_store(&round->team.stop, true);
		run->give_up_ns = util_clock_ns() + RUN_GRACE_NS;
		return;
	}
	util_err_set(&err, -ETIMEDOUT, "%s", round->team.why);
	if (!run->interrupted)
		fprintf(stderr, "nfsrdma-bench: %s\n", err.what);
	if (run->last_words)
		run->last_words(run->last_words_arg, &err);
	bench_server_stop(run->server);
	fflush(run->out);
	group_abort(run->group);
	_exit(run->interrupted ? RUN_INTERRUPTED : 1);
}

static void run_signal(struct run_round *round)
{
	struct signalfd_siginfo info;
	struct bench_run *run = round->run;

	if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (run->interrupted) {
		run_abandon(round, "interrupted again; files of this run may be left");
		return;
	}
	run->interrupted = true;
	run->give_up_ns = util_clock_ns() + RUN_GRACE_NS;
	atomic_store(&round->team.interrupted, true);
	atomic_store(&round->team.stop, true);
}

/* How long nothing may move.  When a child is done, fsync and close have their turn, which move no
 * records and may take long on a slow disk. */
static uint64_t run_patience_ns(const struct run_round *round)
{
	unsigned times =
		atomic_load(&round->team.stop) || atomic_load(&round->team.finished) ? 10 : 1;

	return times * round->run->opts->give_up_s * UTIL_NS_PER_S;
}

/* Times that pass: of the warm-up, of the test, and of patience. */
static void run_tick(struct run_round *round, struct run_watch *watch)
{
	struct bench_run *run = round->run;
	uint64_t now = util_clock_ns(), still = progress_look(&watch->progress, round);

	if (watch->warm_ns && now >= watch->warm_ns) {
		watch->warm_ns = 0;
		measure_clock(round, watch->before);
		watch->progress.counted_ns = now;
		still = 0;
		atomic_store(&round->team.counting, true);
	}
	if (watch->end_ns && now >= watch->end_ns) {
		watch->end_ns = 0;
		atomic_store(&round->team.stop, true);
	}
	if (watch->timed && !run->opts->no_stonewall) {
		if (atomic_load(&round->team.finished))
			group_tell_stop(run->group);
		if (group_heard_stop(run->group))
			atomic_store(&round->team.stop, true);
	}
	if (run->give_up_ns && now >= run->give_up_ns)
		run_abandon(round, run->interrupted ? "interrupted; the server does not answer, "
						      "files of this run may be left on it"
						    : "the server does not answer; files of this "
						      "run may be left on it");
	else if (watch->timed && !run->give_up_ns && !watch->warm_ns &&
		 still > run_patience_ns(round))
		run_abandon(round, "the server does not answer: nothing has moved for as long as "
				   "--give-up says");
}

/* When to look up next; -1: when something happens. */
static int run_patience_ms(const struct run_round *round, const struct run_watch *watch)
{
	const struct bench_run *run = round->run;
	int tick = run->group->ranks > 1 ? RUN_TICK_GROUP_MS : RUN_TICK_MS;
	uint64_t next = 0;

	if (watch->warm_ns)
		next = watch->warm_ns;
	else if (watch->end_ns)
		next = watch->end_ns;
	if (next && util_clock_until_ms(next) < tick)
		return util_clock_until_ms(next);
	return watch->timed || run->give_up_ns ? tick : -1;
}

static void run_await(struct run_round *round, struct run_watch *watch)
{
	struct bench_run *run = round->run;
	struct pollfd fds[3] = {
		{.fd = round->team.report_fd, .events = POLLIN},
		{.fd = run->signal_fd, .events = POLLIN},
		{.fd = run->server ? bench_server_pidfd(run->server) : -1, .events = POLLIN},
	};
	eventfd_t reports, total = 0;

	while (total < round->count) {
		int ready = poll(fds, 3, run_patience_ms(round, watch));

		run_tick(round, watch);
		if (ready <= 0)
			continue;
		if (fds[1].revents & POLLIN)
			run_signal(round);
		if (fds[2].revents & POLLIN) {
			fds[2].fd = -1;
			if (!run->interrupted)
				run_abandon(round, "the private server has ended");
		}
		if (fds[0].revents & POLLIN && !eventfd_read(round->team.report_fd, &reports))
			total += reports;
	}
}

static void run_tell(struct run_round *round, enum team_command command)
{
	struct bench_team *team = &round->team;

	pthread_mutex_lock(&team->lock);
	team->command = command;
	team->step++;
	pthread_cond_broadcast(&team->go);
	pthread_mutex_unlock(&team->lock);
}

static void run_command(struct run_round *round, enum team_command command)
{
	struct run_watch watch = {.timed = false};

	run_tell(round, command);
	run_await(round, &watch);
}

/* The first child that failed speaks for all, on all ranks. */
static int run_check(const struct run_round *round, struct util_err *err)
{
	int ret = 0;

	for (unsigned i = 0; i < round->count && !ret; i++) {
		if (!round->children[i].failed)
			continue;
		*err = round->children[i].err;
		ret = round->children[i].failed;
	}
	return group_agree(round->run->group, ret, err);
}

/* ---- one test ---------------------------------------------------------------------------------
 */

/* The timed part: both moments are around it. */
static void run_timed(struct run_round *round, struct bench_moment *before,
		      struct bench_moment *after)
{
	const struct bench_options *opts = round->run->opts;
	struct run_watch watch = {.timed = true, .before = before};

	measure_before(round, before);
	group_begin(round->run->group);
	before->ns = util_clock_ns();
	progress_begin(&watch.progress, round);
	if (opts->warmup_s > 0)
		watch.warm_ns = before->ns + (uint64_t)(opts->warmup_s * 1e9);
	if (opts->duration_s > 0)
		watch.end_ns = before->ns + (uint64_t)((opts->duration_s + opts->warmup_s) * 1e9);
	run_tell(round, TEAM_RUN);
	run_await(round, &watch);
	measure_after(round, after);
	progress_end(&watch.progress);
	group_settle(round->run->group);
}

static int run_test(struct run_round *round, enum bench_test test, struct bench_result *r,
		    struct util_err *err)
{
	struct bench_team *team = &round->team;
	struct bench_moment before, after;
	int ret, failed;

	team->test = test;
	atomic_store(&team->stop, round->run->interrupted);
	atomic_store(&team->finished, false);
	atomic_store(&team->counting, round->run->opts->warmup_s <= 0);
	run_command(round, TEAM_PREPARE);
	ret = run_check(round, err);
	if (!ret) {
		run_timed(round, &before, &after);
		ret = run_check(round, err);
		failed = measure_result(round, &before, &after, r);
		if (failed && !ret)
			ret = util_err_set(err, failed, "no memory for results");
	}
	run_command(round, TEAM_FINISH);
	return ret ? ret : run_check(round, err);
}

/* ---- rounds -----------------------------------------------------------------------------------
 */

static void run_rest(const struct run_round *round)
{
	struct pollfd pfd = {.fd = round->run->signal_fd, .events = POLLIN};

	if (round->run->opts->rest_s)
		poll(&pfd, 1, (int)round->run->opts->rest_s * 1000);
}

static int run_tests(struct run_round *round, struct util_err *err)
{
	struct bench_run *run = round->run;
	enum bench_test list[BENCH_TESTS];
	unsigned count = bench_test_order(run->opts, list);
	int ret = 0;

	for (unsigned i = 0; i < count && !ret && !run->interrupted; i++) {
		struct bench_result *r;

		if (i)
			run_rest(round);
		if (bench_results_room(run->results, &r))
			return util_err_set(err, -ENOMEM, "no memory for results");
		ret = run_test(round, list[i], r, err);
		if (!ret && group_agree(run->group, run->interrupted ? -EINTR : 0, err))
			run->interrupted = true;
		/* What a failed test moved until then is told, too, but not as a line. */
		if (r->parts)
			run->results->count++;
		if (!ret && run->opts->throughput && !run->quiet)
			report_test(run->out, run->opts, r);
	}
	return ret;
}

static int run_start(struct run_round *round, unsigned children, struct util_err *err)
{
	struct bench_run *run = round->run;
	struct bench_team *team = &round->team;

	team->opts = run->opts;
	team->client = run->client;
	team->site = run->site;
	team->first = run->group->rank * children;
	team->count = run->group->ranks * children;
	team->file_size = run->opts->file_size;
	/* -+k: the children share the size, in whole records. */
	if (run->opts->constant_total) {
		team->file_size /= team->count;
		team->file_size -= team->file_size % run->opts->record;
	}
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->go, NULL);
	team->report_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	round->children = calloc(children, sizeof(*round->children));
	if (team->report_fd < 0 || !round->children)
		return util_err_set(err, -ENOMEM, "no memory for %u children", children);
	for (; round->count < children; round->count++) {
		int ret = child_create(&round->children[round->count], team,
				       team->first + round->count, err);

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
	if (run->quiet)
		return 0;
	if (run->header)
		notes_header(run->out, run->opts, run->env);
	else if (run->mount)
		notes_mount(run->out, run->env);
	if (run->preamble)
		report_preamble(run->out, run->opts, ctime_r(&now, date) ? date : "\n");
	fflush(run->out);
	return 0;
}

static void run_print_round(struct run_round *round, bool first)
{
	struct bench_run *run = round->run;

	if (run->quiet)
		return;
	if (run->opts->throughput)
		report_round(run->out, run->opts, round->team.count, first);
	else if (first)
		report_table_head(run->out, run->opts);
}

static void run_print_round_end(struct run_round *round, unsigned done)
{
	struct bench_run *run = round->run;

	if (run->quiet)
		return;
	if (run->opts->throughput)
		report_round_end(run->out);
	else if (run->results->count > done)
		report_table_row(run->out, run->opts, &run->results->result[done],
				 run->results->count - done);
}

/* A child that could not be made is fatal for its rank alone; its group must hear of it. */
static int run_round(struct bench_run *run, unsigned children, bool first, struct util_err *err)
{
	struct run_round round = {.run = run, .team.report_fd = -1};
	unsigned done = run->results->count;
	int ret = group_agree(run->group, run_start(&round, children, err), err);

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

/* The matrix: a round per pair of sizes, with options of its own. */
static int run_matrix(struct bench_run *run, struct util_err *err)
{
	const struct bench_options *opts = run->opts;
	struct bench_options *sized = malloc(sizeof(*sized));
	struct bench_matrix matrix;
	bool first = true;
	int ret = 0;

	if (!sized)
		return util_err_set(err, -ENOMEM, "no memory");
	*sized = *opts;
	run->opts = sized;
	matrix_start(&matrix, opts);
	while (!ret && !run->interrupted &&
	       matrix_next(&matrix, &sized->file_size, &sized->record)) {
		ret = run_round(run, 1, first, err);
		first = false;
	}
	run->opts = opts;
	free(sized);
	return ret;
}

int bench_run(struct bench_run *run, struct util_err *err)
{
	const struct bench_options *opts = run->opts;
	int ret = 0;

	if (opts->matrix)
		ret = run_matrix(run, err);
	else
		for (unsigned i = 0; i < opts->nchildren && !ret && !run->interrupted; i++)
			ret = run_round(run, opts->children[i], i == 0, err);
	if (ret)
		return run->interrupted ? -EINTR : ret;
	if (run->end && !run->quiet) {
		if (opts->excel && opts->throughput)
			report_excel_chart(run->out, opts, run->results);
		report_end(run->out);
		if (opts->excel && !opts->throughput)
			report_excel_tables(run->out, opts, run->results);
	}
	return run->interrupted ? -EINTR : 0;
}

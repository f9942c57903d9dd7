/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - nfsrdma-bench: iozone's options in, iozone's lines out, over NFS/RDMA.
 *
 * Exit status: 0 done; 1 something failed (one line on stderr); 2 usage; 130 interrupted.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/bench.h"

#define MAIN_INTERRUPTED 130

static int main_fail(const struct util_err *err)
{
	fprintf(stderr, "nfsrdma-bench: %s", err->what);
	if (err->hint[0])
		fprintf(stderr, " (%s)", err->hint);
	fputc('\n', stderr);
	return 1;
}

/* Signals come through a descriptor, in the parent alone; threads inherit the mask. */
static int main_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static const struct bench_client_ops *main_client(const struct bench_options *opts)
{
	switch (opts->client) {
	case BENCH_CLIENT_LIBNFS:
		return bench_client_libnfs();
	case BENCH_CLIENT_POSIX:
		return bench_client_posix();
	case BENCH_CLIENT_NFSRDMA:
		break;
	}
	return bench_client_nfsrdma();
}

/* "port=" and "mountport=" of the mount options, for a client that does not read those itself. */
static uint16_t main_port(const char *opts, const char *key)
{
	const char *at = opts;
	size_t len = strlen(key);

	for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, key, len))
			return (uint16_t)strtoul(at + len, NULL, 10);
	return 0;
}

/* Where the files go; starts the private server if it is to be there. */
static int main_place(struct bench_run *run, struct bench_place *place, struct util_err *err)
{
	const struct bench_options *opts = run->opts;
	uint64_t need = opts->file_size * opts->threads_max;
	int ret;

	if (opts->client == BENCH_CLIENT_POSIX) {
		place->target = opts->posix_dir;
		snprintf(run->env->where, sizeof(run->env->where), "folder %.250s",
			 opts->posix_dir);
		return 0;
	}
	if (opts->target) {
		place->target = opts->target;
		place->opts = opts->mount_opts;
		place->nfs_port = main_port(opts->mount_opts, "port=");
		place->mount_port = main_port(opts->mount_opts, "mountport=");
		snprintf(run->env->where, sizeof(run->env->where), "target %.250s", opts->target);
		return 0;
	}
	ret = bench_server_start(&run->server, opts, need, err);
	if (ret)
		return ret;
	bench_server_place(run->server, place);
	snprintf(run->env->where, sizeof(run->env->where), "private nfsrdmad on loopback");
	return 0;
}

static int main_json(const struct bench_run *run, FILE *json, struct util_err *err)
{
	int ret = 0;

	if (!json)
		return 0;
	if (run->results->count)
		ret = bench_json_write(json, run->opts, run->env, run->results);
	if (fclose(json) && !ret)
		ret = -errno;
	if (!run->results->count)
		remove(run->opts->json);
	if (ret)
		util_err_set(err, ret, "write %s: %s", run->opts->json, strerror(-ret));
	return ret;
}

static int main_measure(struct bench_run *run, struct util_err *err)
{
	struct bench_place place = {0};
	int ret = main_place(run, &place, err);

	if (ret)
		return ret;
	ret = run->client->site_open(&run->site, run->opts, &place, err);
	if (!ret) {
		ret = bench_run(run, err);
		run->client->site_close(run->site);
	}
	bench_server_stop(run->server);
	if (run->results->count)
		notes_footer(run->out, run->env, run->results);
	return ret;
}

static int main_run(struct bench_run *run)
{
	const struct bench_options *opts = run->opts;
	struct util_err err = {0}, json_err = {0};
	FILE *json = NULL;
	int ret, json_ret;

	/* Before the run: an hour later it would be late to hear that the name is wrong. */
	if (opts->json) {
		json = fopen(opts->json, "we");
		if (!json) {
			util_err_set(&err, -errno, "write %s: %s", opts->json, strerror(errno));
			return main_fail(&err);
		}
	}
	ret = main_measure(run, &err);
	json_ret = main_json(run, json, &json_err);
	if (ret && ret != -EINTR)
		return main_fail(&err);
	if (json_ret)
		return main_fail(&json_err);
	if (fflush(run->out) || ferror(run->out)) {
		util_err_set(&err, -EIO, "standard output: write error");
		return main_fail(&err);
	}
	return run->interrupted ? MAIN_INTERRUPTED : 0;
}

static int main_usage(int kind, const struct util_err *err)
{
	if (kind == BENCH_HELP)
		fputs(bench_help, stdout);
	else if (kind == BENCH_VERSION)
		printf("nfsrdma-bench %s\n", NFSRDMA_VERSION);
	else
		fprintf(stderr, "nfsrdma-bench: %s\n", err->what);
	return kind == BENCH_USAGE ? 2 : 0;
}

int main(int argc, char **argv)
{
	struct bench_results results = {0};
	struct bench_options opts;
	struct bench_env env;
	struct bench_run run = {.opts = &opts, .env = &env, .results = &results, .out = stdout};
	struct util_err err = {0};
	int ret;

	if (util_stdio_reserve())
		return 1;
	ret = bench_options_parse(&opts, argc, argv, &err);
	if (ret)
		return main_usage(ret, &err);
	run.client = main_client(&opts);
	if (!run.client) {
		fprintf(stderr, "nfsrdma-bench: --client: built without libnfs\n");
		return 2;
	}
	if (opts.mount_opts && nfsrdma_options_check(opts.mount_opts)) {
		fprintf(stderr, "nfsrdma-bench: -o: %s\n", nfsrdma_strerror_last());
		return 2;
	}
	bench_env_gather(&env);
	env.client = run.client->name;
	results.room = (opts.threads_max - opts.threads_min + 1) * BENCH_TESTS;
	results.result = calloc(results.room, sizeof(*results.result));
	run.signal_fd = main_signals();
	if (!results.result || run.signal_fd < 0) {
		fprintf(stderr, "nfsrdma-bench: no memory\n");
		return 1;
	}
	ret = main_run(&run);
	free(results.result);
	close(run.signal_fd);
	return ret;
}

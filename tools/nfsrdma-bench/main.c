/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - nfsrdma-bench: iozone's options in, iozone's lines out, over NFS/RDMA.
 *
 * Exit status: 0 done; 1 something failed (one line on stderr), or with --baseline a test is slower
 * than --fail-below allows; 2 usage; 125 with --baseline: nothing could be measured, which git
 * bisect run takes for "skip this commit"; 130 interrupted.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/client.h"
#include "tools/nfsrdma-bench/doc.h"
#include "tools/nfsrdma-bench/group.h"

#define MAIN_INTERRUPTED 130
#define MAIN_SKIP 125

struct main_state {
	struct bench_options opts;
	struct bench_plan plan;
	struct bench_group group;
	struct bench_server *server;
	FILE *out;
	int signal_fd;
	bool interrupted;
};

static int main_fail(const struct bench_options *opts, const struct util_err *err)
{
	fprintf(stderr, "nfsrdma-bench: %s", err->what);
	if (err->hint[0])
		fprintf(stderr, " (%s)", err->hint);
	fputc('\n', stderr);
	return opts->baseline ? MAIN_SKIP : 1;
}

static const struct bench_client_ops *main_client(enum bench_client_kind kind)
{
	switch (kind) {
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

/* ---- where ------------------------------------------------------------------------------------
 */

static bool main_needs_server(const struct main_state *m)
{
	bool remote = false;

	for (unsigned i = 0; i < m->plan.ncases; i++)
		remote |= m->plan.cases[i].opts.clients[0].kind != BENCH_CLIENT_POSIX;
	return remote && !m->opts.target;
}

static int main_start_server(struct main_state *m, struct util_err *err)
{
	uint64_t need = bench_plan_bytes(&m->plan) * (m->opts.mpi ? m->group.ranks : 1);

	if (!main_needs_server(m))
		return 0;
	if (!m->group.one_host) {
		util_err_set(err, -EINVAL, "a private server is on loopback");
		util_err_hint(err, "ranks on several hosts need --target SERVER:/DIR");
		return -EINVAL;
	}
	return m->group.rank ? 0 : bench_server_start(&m->server, m->opts.dir, need, err);
}

/* Where this case's files go. */
static void main_place(struct main_state *m, struct bench_case *c, struct bench_place *place)
{
	char need[24];

	if (c->opts.clients[0].kind == BENCH_CLIENT_POSIX) {
		place->target = c->opts.clients[0].dir;
		snprintf(c->env.where, sizeof(c->env.where), "folder %.250s", place->target);
		return;
	}
	if (m->opts.target) {
		place->target = m->opts.target;
		place->opts = c->opts.mount_opts;
		place->nfs_port = main_port(c->opts.mount_opts, "port=");
		place->mount_port = main_port(c->opts.mount_opts, "mountport=");
		snprintf(c->env.where, sizeof(c->env.where), "target %.250s", m->opts.target);
		return;
	}
	if (m->server) {
		bench_server_place(m->server, c->opts.mount_opts, c->place_opts,
				   sizeof(c->place_opts), place);
		snprintf(c->env.where, sizeof(c->env.where),
			 "private nfsrdmad on loopback, %s of files in %.200s",
			 util_size_format(bench_plan_bytes(&m->plan), need, sizeof(need)),
			 bench_server_dir(m->server));
	}
	group_share(&m->group, c->place_opts, sizeof(c->place_opts));
	group_share(&m->group, &place->nfs_port, sizeof(place->nfs_port));
	place->target = "127.0.0.1:/bench";
	place->opts = c->place_opts;
	place->mount_port = place->nfs_port;
}

/* ---- running ----------------------------------------------------------------------------------
 */

static int main_write(struct main_state *m, struct util_err *err);

static void main_last_words(void *arg, const struct util_err *err)
{
	struct main_state *m = arg;
	struct util_err ignored = {0};

	m->plan.err = *err;
	main_write(m, &ignored);
}

static void main_announce(const struct main_state *m, const struct bench_case *c, unsigned round)
{
	unsigned number = (unsigned)(c - m->plan.cases) + 1;

	if (m->plan.ncases * m->plan.rounds == 1 || m->group.rank)
		return;
	fprintf(m->out, "# round %u of %u, case %u of %u%s%s\n", round + 1, m->plan.rounds, number,
		m->plan.ncases, c->label[0] ? ": " : "", c->label);
	fflush(m->out);
}

static int main_case(struct main_state *m, struct bench_case *c, unsigned round,
		     struct util_err *err)
{
	bool first = round == 0 && c == m->plan.cases;
	bool last = round + 1 == m->plan.rounds && c + 1 == m->plan.cases + m->plan.ncases;
	struct bench_place place = {0};
	struct bench_run run = {
		.opts = &c->opts,
		.client = main_client(c->opts.clients[0].kind),
		.server = m->server,
		.group = &m->group,
		.env = &c->env,
		.results = &c->round[round],
		.signal_fd = m->signal_fd,
		.header = first,
		.mount = round == 0,
		.preamble = first,
		.end = last,
		.quiet = m->group.rank > 0,
		.out = m->out,
		.last_words = main_last_words,
		.last_words_arg = m,
	};
	int ret;

	c->env.client = run.client->name;
	main_place(m, c, &place);
	main_announce(m, c, round);
	ret = run.client->site_open(&run.site, &c->opts, &place, err);
	ret = group_agree(&m->group, ret, err);
	if (ret) {
		if (run.site)
			run.client->site_close(run.site);
		return ret;
	}
	ret = bench_run(&run, err);
	m->interrupted = run.interrupted;
	run.client->site_close(run.site);
	return ret;
}

static int main_cases(struct main_state *m, struct util_err *err)
{
	int ret = 0;

	for (unsigned i = 0; i < m->plan.ncases; i++)
		bench_env_gather(&m->plan.cases[i].env);
	ret = group_agree(&m->group, main_start_server(m, err), err);
	for (unsigned k = 0; k < m->plan.rounds && !ret; k++)
		for (unsigned i = 0; i < m->plan.ncases && !ret; i++)
			ret = main_case(m, &m->plan.cases[i], k, err);
	bench_server_stop(m->server);
	m->server = NULL;
	m->plan.complete = !ret;
	if (ret == -EINTR)
		util_err_set(&m->plan.err, ret, "interrupted");
	else if (ret)
		m->plan.err = *err;
	return ret;
}

/* ---- what is told afterwards ------------------------------------------------------------------
 */

static bool main_several(const struct main_state *m)
{
	return m->plan.ncases > 1 || m->plan.rounds > 1;
}

/* All documents, of what there is.  The first failure is told; the others are still written. */
static int main_write(struct main_state *m, struct util_err *err)
{
	const struct bench_options *opts = &m->opts;
	json_t *doc = m->group.rank ? NULL : doc_build(&m->plan);
	int ret = 0, one;

	if (m->group.rank)
		return 0;
	if (!doc)
		return util_err_set(err, -ENOMEM, "no memory for the document");
	if (main_several(m))
		table_print(m->out, doc, "# ");
	else
		notes_footer(m->out, opts, &m->plan.cases[0].env, &m->plan.cases[0].round[0]);
	if (!m->plan.complete)
		fprintf(m->out, "# incomplete: %s\n", m->plan.err.what);
	if (opts->csv)
		ret = csv_write(doc, opts->csv, err);
	if (opts->report) {
		one = report_file_write(doc, opts->report, ret ? NULL : err);
		ret = ret ? ret : one;
	}
	if (opts->json) {
		one = doc_write(doc, opts->json, ret ? NULL : err);
		ret = ret ? ret : one;
	}
	json_decref(doc);
	return ret;
}

/* 0, 1 (slower) or -errno. */
static int main_baseline(struct main_state *m, const json_t *baseline, struct util_err *err)
{
	double limit = m->opts.fail_below;
	json_t *doc;
	int ret;

	if (!baseline || m->group.rank)
		return 0;
	doc = doc_build(&m->plan);
	if (!doc)
		return util_err_set(err, -ENOMEM, "no memory for the document");
	ret = compare_baseline(m->out, doc, baseline, limit, err);
	json_decref(doc);
	return ret;
}

/* Before the run: an hour later it would be late to hear that a name is wrong. */
static int main_try_files(const struct bench_options *opts, struct util_err *err)
{
	const char *names[] = {opts->json, opts->csv, opts->report};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(names); i++) {
		FILE *f;

		if (!names[i] || !strcmp(names[i], "-"))
			continue;
		f = fopen(names[i], "ae");
		if (!f)
			return util_err_set(err, -errno, "write %s: %s", names[i], strerror(errno));
		fclose(f);
	}
	return 0;
}

/* Nothing was measured: leave no empty files where there were none. */
static void main_forget_files(const struct bench_options *opts)
{
	const char *names[] = {opts->json, opts->csv, opts->report};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(names); i++) {
		FILE *f = names[i] && strcmp(names[i], "-") ? fopen(names[i], "re") : NULL;

		if (f && fgetc(f) == EOF)
			remove(names[i]);
		if (f)
			fclose(f);
	}
}

static int main_run(struct main_state *m, const json_t *baseline)
{
	struct util_err err = {0}, write_err = {0};
	int ret = main_cases(m, &err), written = 0, slower = 0;

	if (m->plan.cases[0].round[0].count)
		written = main_write(m, &write_err);
	else
		main_forget_files(&m->opts);
	if (ret && ret != -EINTR)
		return m->group.rank ? 1 : main_fail(&m->opts, &err);
	if (written)
		return main_fail(&m->opts, &write_err);
	if (!m->interrupted)
		slower = main_baseline(m, baseline, &err);
	if (slower < 0)
		return main_fail(&m->opts, &err);
	if (fflush(m->out) || ferror(m->out)) {
		util_err_set(&err, -EIO, "standard output: write error");
		return main_fail(&m->opts, &err);
	}
	return m->interrupted ? MAIN_INTERRUPTED : slower;
}

/* ---- without a run ----------------------------------------------------------------------------
 */

static int main_compare(const struct bench_options *opts)
{
	json_t **docs = calloc(opts->ncompare, sizeof(json_t *));
	struct util_err err = {0};
	int ret = docs ? 0 : -ENOMEM;

	for (unsigned i = 0; i < opts->ncompare && !ret; i++) {
		docs[i] = doc_read(opts->compare[i], &err);
		ret = docs[i] ? 0 : -EINVAL;
	}
	if (!ret)
		ret = compare_print(stdout, docs, opts->compare, opts->ncompare, &err);
	if (ret == -ENOMEM)
		util_err_set(&err, ret, "no memory");
	for (unsigned i = 0; docs && i < opts->ncompare; i++)
		json_decref(docs[i]);
	free(docs);
	return ret ? main_fail(opts, &err) : 0;
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

static bool main_has_clients(const struct bench_options *opts)
{
	for (unsigned i = 0; i < opts->nclients; i++)
		if (!main_client(opts->clients[i].kind))
			return false;
	return true;
}

static int main_start(struct main_state *m)
{
	struct util_err err = {0};
	json_t *baseline = NULL;
	int ret = main_try_files(&m->opts, &err);

	if (!ret && m->opts.baseline) {
		baseline = doc_read(m->opts.baseline, &err);
		ret = baseline ? 0 : -EINVAL;
	}
	m->signal_fd = util_signal_fd();
	if (!ret && m->signal_fd < 0)
		ret = util_err_set(&err, m->signal_fd, "signals: %s", strerror(-m->signal_fd));
	ret = ret ? main_fail(&m->opts, &err) : main_run(m, baseline);
	json_decref(baseline);
	close(m->signal_fd);
	return ret;
}

/* What the command line asks for, as far as it can be known to be wrong without a server. */
static int main_prepare(struct main_state *m, struct util_err *err)
{
	int ret = bench_plan_make(&m->plan, &m->opts, err);

	if (!ret && !main_has_clients(&m->opts))
		ret = util_err_set(err, -ENOSYS, "--client: built without libnfs");
	return ret ? ret : group_open(&m->group, m->opts.mpi, err);
}

int main(int argc, char **argv)
{
	struct main_state *m = calloc(1, sizeof(*m));
	struct util_err err = {0};
	int ret;

	if (util_stdio_reserve() || !m)
		return 1;
	m->out = stdout;
	ret = bench_options_parse(&m->opts, argc, argv, &err);
	if (!ret && !m->opts.compare)
		ret = main_prepare(m, &err);
	if (ret) {
		ret = main_usage(ret < 0 ? BENCH_USAGE : ret, &err);
	} else if (m->opts.compare) {
		ret = main_compare(&m->opts);
	} else {
		ret = main_start(m);
		group_close(&m->group);
	}
	bench_plan_free(&m->plan);
	free(m);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.c - which cases are run, and how often.
 *
 * A case is the command line with one value chosen for each --sweep and one --client.  All cases
 * are run once per round, so that what changes on the machine while an hour passes falls on all of
 * them alike: A B C A B C, never A A B B.  Sweeps are of mount options and so of the nfsrdma
 * client; another client beside it is one case.
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/bench.h"
#include "tools/nfsrdma-bench/matrix.h"

#define PLAN_CASES_MAX 256

/* The n-th of "KEY=A,B,C": true, key and value filled; false: there are fewer, or they are too
 * long. */
static bool plan_value(const char *sweep, unsigned n, struct bench_set *set)
{
	const char *at = strchr(sweep, '=');
	size_t key_len = (size_t)(at - sweep), len;

	for (at++; n; n--) {
		at = strchr(at, ',');
		if (!at)
			return false;
		at++;
	}
	len = strcspn(at, ",");
	if (!len || key_len >= sizeof(set->key) || len >= sizeof(set->value))
		return false;
	memcpy(set->key, sweep, key_len);
	set->key[key_len] = '\0';
	memcpy(set->value, at, len);
	set->value[len] = '\0';
	return true;
}

static unsigned plan_value_count(const char *sweep)
{
	struct bench_set ignored;
	unsigned n = 0;

	while (plan_value(sweep, n, &ignored))
		n++;
	return n;
}

/* "A,,B", or a value that is too long to keep. */
static bool plan_is_broken(const char *sweep)
{
	unsigned values = 1;

	for (const char *at = strchr(sweep, '='); (at = strchr(at, ',')); at++)
		values++;
	return plan_value_count(sweep) != values;
}

static unsigned plan_combinations(const struct bench_options *opts)
{
	unsigned n = 1;

	for (unsigned i = 0; i < opts->nsweeps && n <= PLAN_CASES_MAX; i++)
		n *= plan_value_count(opts->sweeps[i]);
	return n;
}

/* "depth" and "record" are the bench's own; all other keys are mount options. */
static int plan_apply(struct bench_case *c, const struct bench_set *set, struct util_err *err)
{
	size_t len = strlen(c->mount_opts);
	uint64_t value;

	if (!strcmp(set->key, "depth")) {
		if (util_u64_parse(set->value, BENCH_DEPTH_MAX, &value) || !value)
			return util_err_set(err, -EINVAL, "--sweep: depth=%s: not a depth",
					    set->value);
		c->opts.depth = (unsigned)value;
		return 0;
	}
	if (!strcmp(set->key, "record")) {
		if (util_size_parse(set->value, OPTIONS_KB, &value) || !value ||
		    value % OPTIONS_KB || value > c->opts.file_size || value > OPTIONS_RECORD_MAX)
			return util_err_set(err, -EINVAL, "--sweep: record=%s: not a record size",
					    set->value);
		c->opts.record = value;
		return 0;
	}
	snprintf(c->mount_opts + len, sizeof(c->mount_opts) - len, "%s%s=%s", len ? "," : "",
		 set->key, set->value);
	return 0;
}

static void plan_set(struct bench_case *c, const char *key, const char *value)
{
	struct bench_set *set = &c->set[c->nsets++];
	size_t len = strlen(c->label);

	snprintf(set->key, sizeof(set->key), "%s", key);
	snprintf(set->value, sizeof(set->value), "%s", value);
	snprintf(c->label + len, sizeof(c->label) - len, "%s%s=%s", len ? " " : "", set->key,
		 set->value);
}

static const char *plan_client_name(enum bench_client_kind kind)
{
	switch (kind) {
	case BENCH_CLIENT_LIBNFS:
		return "libnfs";
	case BENCH_CLIENT_POSIX:
		return "posix";
	case BENCH_CLIENT_NFSRDMA:
		break;
	}
	return "nfsrdma";
}

/* The last sweep turns fastest. */
static int plan_sweeps(struct bench_case *c, const struct bench_options *opts, unsigned number,
		       struct util_err *err)
{
	struct bench_set chosen[BENCH_SWEEPS_MAX];
	int ret = 0;

	for (unsigned i = opts->nsweeps; i-- > 0;) {
		unsigned count = plan_value_count(opts->sweeps[i]);

		plan_value(opts->sweeps[i], number % count, &chosen[i]);
		number /= count;
	}
	for (unsigned i = 0; i < opts->nsweeps && !ret; i++) {
		if (c->nsets == BENCH_SETS_MAX)
			return util_err_set(err, -EINVAL, "--sweep: too many keys");
		plan_set(c, chosen[i].key, chosen[i].value);
		ret = plan_apply(c, &chosen[i], err);
	}
	return ret;
}

static int plan_case(struct bench_plan *plan, const struct bench_client_choice *client,
		     unsigned number, struct util_err *err)
{
	const struct bench_options *opts = plan->opts;
	struct bench_case *c = &plan->cases[plan->ncases];
	bool own = client->kind == BENCH_CLIENT_NFSRDMA;
	int ret = 0;

	c->round = calloc(plan->rounds, sizeof(*c->round));
	if (!c->round)
		return -ENOMEM;
	plan->ncases++;
	c->opts = *opts;
	c->opts.clients[0] = *client;
	c->opts.nclients = 1;
	if (client->kind != BENCH_CLIENT_POSIX && opts->mount_opts)
		snprintf(c->mount_opts, sizeof(c->mount_opts), "%s", opts->mount_opts);
	if (opts->nclients > 1)
		plan_set(c, "client", plan_client_name(client->kind));
	if (own)
		ret = plan_sweeps(c, opts, number, err);
	c->opts.mount_opts = c->mount_opts[0] ? c->mount_opts : NULL;
	if (!ret && own && c->mount_opts[0] && nfsrdma_options_check(c->mount_opts))
		ret = util_err_set(err, -EINVAL, "-o: %s", nfsrdma_strerror_last());
	return ret;
}

static int plan_cases(struct bench_plan *plan, struct util_err *err)
{
	const struct bench_options *opts = plan->opts;
	unsigned combinations = plan_combinations(opts);
	int ret = 0;

	for (unsigned i = 0; i < opts->nsweeps; i++)
		if (plan_is_broken(opts->sweeps[i]))
			return util_err_set(err, -EINVAL,
					    "--sweep: '%.60s' has an empty or too long value",
					    opts->sweeps[i]);
	if (combinations > PLAN_CASES_MAX)
		return util_err_set(err, -EINVAL, "--sweep: more than %d combinations",
				    PLAN_CASES_MAX);
	plan->cases = calloc((size_t)combinations * opts->nclients, sizeof(*plan->cases));
	if (!plan->cases)
		return -ENOMEM;
	for (unsigned i = 0; i < opts->nclients && !ret; i++) {
		bool own = opts->clients[i].kind == BENCH_CLIENT_NFSRDMA;

		for (unsigned n = 0; n < (own ? combinations : 1) && !ret; n++)
			ret = plan_case(plan, &opts->clients[i], n, err);
	}
	return ret;
}

int bench_plan_make(struct bench_plan *plan, const struct bench_options *opts, struct util_err *err)
{
	int ret;

	*plan = (struct bench_plan){.opts = opts, .rounds = opts->rounds};
	ret = plan_cases(plan, err);
	if (ret == -ENOMEM)
		util_err_set(err, ret, "no memory");
	return ret == -EINVAL ? BENCH_USAGE : ret;
}

void bench_plan_free(struct bench_plan *plan)
{
	for (unsigned i = 0; i < plan->ncases; i++) {
		for (unsigned k = 0; k < plan->rounds; k++)
			bench_results_free(&plan->cases[i].round[k]);
		free(plan->cases[i].round);
	}
	free(plan->cases);
}

uint64_t bench_plan_bytes(const struct bench_plan *plan)
{
	const struct bench_options *opts = plan->opts;

	if (opts->matrix)
		return matrix_largest(opts);
	return opts->constant_total || opts->one_file ? opts->file_size
						      : opts->file_size * opts->children_max;
}

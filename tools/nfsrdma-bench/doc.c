/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doc.c - the results as a document.
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/doc.h"
#include "tools/nfsrdma-bench/stats.h"

/* jansson's setters take the new value over and do nothing with NULL, so one check at the end
 * (the dump fails on a missing root) is enough. */
static void doc_int(json_t *o, const char *name, uint64_t value)
{
	json_object_set_new(o, name, json_integer((json_int_t)value));
}

static void doc_num(json_t *o, const char *name, double value)
{
	json_object_set_new(o, name, json_real(value));
}

static void doc_text(json_t *o, const char *name, const char *value)
{
	json_t *text = json_string(value);

	/* Not UTF-8: a name from outside. */
	json_object_set_new(o, name, text ? text : json_null());
}

/* The names alone: nfsrdma-iommu show explains them. */
static void doc_warnings(json_t *o, const struct bench_env *env)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < env->warnings; i++)
		json_array_append_new(list, json_string(env->warning[i].id));
	json_object_set_new(o, "iommu_warnings", list);
}

static json_t *doc_env(const struct bench_case *c)
{
	const struct bench_env *env = &c->env;
	const struct iommu_facts *facts = &env->facts;
	json_t *o = json_object();

	doc_text(o, "host", env->host);
	doc_text(o, "kernel", env->kernel);
	doc_text(o, "cpu", env->cpu);
	doc_int(o, "cpus", env->cpus);
	doc_text(o, "client", env->client ? env->client : "");
	doc_text(o, "where", env->where);
	doc_int(o, "depth", c->opts.depth);
	json_object_set_new(o, "shared", json_boolean(c->opts.shared));
	doc_text(o, "mount_opts", c->mount_opts);
	doc_text(o, "iommu", env->iommu);
	doc_text(o, "cmdline_iommu", facts->cmdline_iommu);
	doc_warnings(o, env);
	doc_int(o, "numa_nodes", facts->nodes);
	doc_int(o, "hugepages_2m_total", facts->huge_2m_total);
	doc_int(o, "hugepages_2m_free", facts->huge_2m_free);
	doc_text(o, "thp", facts->thp);
	if (facts->ipc_lock || facts->memlock_soft == UINT64_MAX)
		json_object_set_new(o, "memlock_bytes", json_null());
	else
		doc_int(o, "memlock_bytes", facts->memlock_soft);
	if (!env->mounted)
		return o;
	doc_text(o, "iommu_domain", iommu_domain_name(env->device.domain));
	doc_text(o, "proto", env->info.proto);
	doc_text(o, "fabric", env->info.fabric);
	doc_text(o, "device", env->info.device);
	doc_int(o, "link_bps", env->info.link_bps);
	doc_int(o, "rsize", env->info.rsize);
	doc_int(o, "wsize", env->info.wsize);
	doc_int(o, "inline", env->info.inline_size);
	doc_int(o, "slots", env->info.slots);
	doc_text(o, "mr", env->info.mr_mode);
	doc_text(o, "pool", env->info.pool);
	if (env->info.invalidations[0])
		doc_text(o, "invalidations", env->info.invalidations);
	return o;
}

static json_t *doc_counters(const uint64_t *values, unsigned count, const char *(*name)(unsigned i),
			    uint64_t ops)
{
	json_t *o = json_object();
	char key[48];

	for (unsigned i = 0; i < count; i++) {
		doc_int(o, name(i), values[i]);
		snprintf(key, sizeof(key), "%s_per_io", name(i));
		doc_num(o, key, ops ? (double)values[i] / (double)ops : 0);
	}
	return o;
}

static json_t *doc_latency(const struct bench_options *opts, const struct bench_latency *latency)
{
	json_t *o = json_object();

	doc_num(o, "p50", latency->p50);
	doc_num(o, "p95", latency->p95);
	doc_num(o, "p99", latency->p99);
	doc_num(o, "p99.9", latency->p999);
	doc_num(o, "max", latency->max);
	/* With a rate, what was late in being sent counts. */
	doc_text(o, "from", opts->rate ? "due" : "submit");
	return o;
}

/* Rates in kB per second whatever the lines were printed in. */
static double doc_kb(const struct bench_options *opts, const struct bench_result *r, double value)
{
	return opts->ops ? value * (double)r->record / BENCH_KB : value;
}

static void doc_rates(json_t *o, const struct bench_options *opts, const struct bench_result *r)
{
	doc_num(o, "children_kBps", doc_kb(opts, r, r->children_rate));
	doc_num(o, "parent_kBps", doc_kb(opts, r, r->parent_rate));
	doc_num(o, "min_kBps", doc_kb(opts, r, r->min_rate));
	doc_num(o, "max_kBps", doc_kb(opts, r, r->max_rate));
	doc_num(o, "avg_kBps", doc_kb(opts, r, r->avg_rate));
	doc_num(o, "min_xfer_kB", doc_kb(opts, r, r->min_xfer));
}

static void doc_node(json_t *o, const char *name, int node)
{
	char text[16];

	if (node == BENCH_NODE_UNKNOWN)
		json_object_set_new(o, name, json_null());
	else if (node == BENCH_NODE_SEVERAL)
		doc_text(o, name, bench_node_name(node, text, sizeof(text)));
	else
		doc_int(o, name, (unsigned)node);
}

static json_t *doc_numa(const struct bench_numa *numa)
{
	json_t *o = json_object();

	doc_node(o, "device", numa->device);
	doc_node(o, "buffers", numa->buffers);
	doc_node(o, "threads", numa->threads);
	doc_text(o, "placement", bench_numa_placement(numa));
	return o;
}

static json_t *doc_test(const struct bench_options *opts, const struct bench_result *r)
{
	double cpu = r->cpu.user + r->cpu.system, gib = (double)r->bytes / (1 << 30);
	json_t *o = json_object();

	doc_text(o, "name", bench_test_name(r->test));
	doc_int(o, "children", r->children);
	doc_int(o, "file_kB", r->file_size / 1024);
	doc_int(o, "record_kB", r->record / 1024);
	doc_rates(o, opts, r);
	doc_num(o, "wall_s", r->wall_s);
	doc_num(o, "cpu_s", cpu);
	doc_num(o, "cpu_user_s", r->cpu.user);
	doc_num(o, "cpu_system_s", r->cpu.system);
	doc_num(o, "cpu_s_per_GiB", r->bytes ? cpu / gib : 0);
	if (r->cpu.server >= 0)
		doc_num(o, "server_cpu_s", r->cpu.server);
	doc_int(o, "ios", r->ops);
	doc_int(o, "bytes", r->bytes);
	json_object_set_new(o, "cut_short", json_boolean(r->cut));
	json_object_set_new(o, "latency_us", doc_latency(opts, &r->latency));
	json_object_set_new(o, "numa", doc_numa(&r->numa));
	if (!r->counted)
		return o;
	json_object_set_new(
		o, "ledger",
		doc_counters(r->counters.ledger, BENCH_LEDGER_FIELDS, bench_ledger_name, r->ops));
	json_object_set_new(o, "transport",
			    doc_counters(r->counters.transport, BENCH_TRANSPORT_FIELDS,
					 bench_transport_name, r->ops));
	return o;
}

/* ---- rounds -----------------------------------------------------------------------------------
 */

/* The i-th test's throughput in each round that got so far. */
static unsigned doc_series(const struct bench_case *c, unsigned rounds, unsigned i, double *kbps)
{
	unsigned n = 0;

	for (unsigned k = 0; k < rounds && i < c->round[k].count; k++) {
		const struct bench_result *r = &c->round[k].result[i];

		kbps[n++] = doc_kb(&c->opts, r, r->children_rate);
	}
	return n;
}

/* The round whose throughput is the median (the lower one of the middle two). */
static const struct bench_result *doc_middle(const struct bench_case *c, unsigned n, unsigned i)
{
	const struct bench_result *middle = &c->round[0].result[i];

	for (unsigned k = 0; k < n; k++) {
		const struct bench_result *r = &c->round[k].result[i];
		unsigned below = 0;

		for (unsigned l = 0; l < n; l++) {
			double other = c->round[l].result[i].children_rate;

			below += other < r->children_rate || (!(other > r->children_rate) && l < k);
		}
		if (below == (n - 1) / 2)
			middle = r;
	}
	return middle;
}

static json_t *doc_ratio(const struct bench_plan *plan, const double *a, const double *b,
			 unsigned n)
{
	struct stats_ratio ratio;
	json_t *o;

	if (!stats_ratio(a, b, n, &ratio))
		return NULL;
	o = json_object();
	doc_text(o, "to", plan->cases[0].label);
	doc_num(o, "mean", ratio.mean);
	if (ratio.high > 0) {
		doc_num(o, "low95", ratio.low);
		doc_num(o, "high95", ratio.high);
	}
	return o;
}

static void doc_round_facts(json_t *test, const struct bench_plan *plan, const struct bench_case *c,
			    unsigned i)
{
	double kbps[BENCH_ROUNDS_MAX], first[BENCH_ROUNDS_MAX];
	unsigned n = doc_series(c, plan->rounds, i, kbps), m;
	json_t *list = json_array(), *ratio;

	for (unsigned k = 0; k < n; k++)
		json_array_append_new(list, json_real(kbps[k]));
	json_object_set_new(test, "rounds_kBps", list);
	if (c == plan->cases)
		return;
	m = doc_series(plan->cases, plan->rounds, i, first);
	ratio = doc_ratio(plan, kbps, first, n < m ? n : m);
	if (ratio)
		json_object_set_new(test, "ratio", ratio);
}

static json_t *doc_tests(const struct bench_plan *plan, const struct bench_case *c)
{
	json_t *tests = json_array(), *test;
	double ignored[BENCH_ROUNDS_MAX];

	for (unsigned i = 0; i < c->round[0].count; i++) {
		unsigned n = doc_series(c, plan->rounds, i, ignored);

		test = doc_test(&c->opts, doc_middle(c, n, i));
		if (plan->rounds > 1 || plan->ncases > 1)
			doc_round_facts(test, plan, c, i);
		json_array_append_new(tests, test);
	}
	return tests;
}

static json_t *doc_run(const struct bench_plan *plan, const struct bench_case *c)
{
	json_t *run = json_object(), *set = json_object();

	for (unsigned i = 0; i < c->nsets; i++)
		doc_text(set, c->set[i].key, c->set[i].value);
	json_object_set_new(run, "set", set);
	json_object_set_new(run, "env", doc_env(c));
	json_object_set_new(run, "tests", doc_tests(plan, c));
	return run;
}

static json_t *doc_args(const struct bench_options *opts)
{
	json_t *list = json_array();

	for (int i = 1; i < opts->argc; i++) {
		json_t *text = json_string(opts->argv[i]);

		json_array_append_new(list, text ? text : json_null());
	}
	return list;
}

json_t *doc_build(const struct bench_plan *plan)
{
	json_t *root = json_object(), *runs;

	doc_text(root, "schema", "nfsrdma-bench/1");
	json_object_set_new(root, "complete", json_boolean(plan->complete));
	if (plan->err.code)
		doc_text(root, "error", plan->err.what);
	json_object_set_new(root, "env", doc_env(&plan->cases[0]));
	json_object_set_new(root, "args", doc_args(plan->opts));
	doc_int(root, "rounds", plan->rounds);
	if (plan->ncases == 1) {
		json_object_set_new(root, "tests", doc_tests(plan, &plan->cases[0]));
		return root;
	}
	runs = json_array();
	for (unsigned i = 0; i < plan->ncases; i++)
		json_array_append_new(runs, doc_run(plan, &plan->cases[i]));
	json_object_set_new(root, "runs", runs);
	return root;
}

/* ---- files ------------------------------------------------------------------------------------
 */

int doc_write(const json_t *doc, const char *name, struct util_err *err)
{
	bool own = strcmp(name, "-") != 0;
	FILE *file = own ? fopen(name, "we") : stdout;
	int ret = 0;

	if (!file)
		return util_err_set(err, -errno, "write %s: %s", name, strerror(errno));
	errno = 0;
	if (json_dumpf(doc, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) ||
	    fputc('\n', file) == EOF || fflush(file) == EOF)
		ret = errno ? -errno : -EIO;
	if (own && fclose(file) && !ret)
		ret = -errno;
	return ret ? util_err_set(err, ret, "write %s: %s", name, strerror(-ret)) : 0;
}

json_t *doc_read(const char *name, struct util_err *err)
{
	json_error_t where;
	json_t *doc = json_load_file(name, 0, &where);
	const char *schema;

	if (!doc) {
		util_err_set(err, -EINVAL, "%s: %s", name, where.text);
		return NULL;
	}
	schema = json_string_value(json_object_get(doc, "schema"));
	if (schema && !strcmp(schema, "nfsrdma-bench/1"))
		return doc;
	json_decref(doc);
	util_err_set(err, -EINVAL, "%s: not a document of nfsrdma-bench --json", name);
	return NULL;
}

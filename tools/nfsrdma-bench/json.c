/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - the results as a document, schema "nfsrdma-bench/1".
 */
#include <errno.h>
#include <jansson.h>

#include "tools/nfsrdma-bench/bench.h"

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

static json_t *doc_env(const struct bench_options *opts, const struct bench_env *env)
{
	const struct iommu_facts *facts = &env->facts;
	json_t *o = json_object();

	doc_text(o, "host", env->host);
	doc_text(o, "kernel", env->kernel);
	doc_text(o, "cpu", env->cpu);
	doc_int(o, "cpus", env->cpus);
	doc_text(o, "client", env->client);
	doc_text(o, "where", env->where);
	doc_int(o, "depth", opts->depth);
	doc_text(o, "mount_opts", opts->mount_opts ? opts->mount_opts : "");
	doc_text(o, "iommu", env->iommu);
	doc_text(o, "cmdline_iommu", facts->cmdline_iommu);
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

static json_t *doc_latency(const struct bench_latency *latency)
{
	json_t *o = json_object();

	doc_num(o, "p50", latency->p50);
	doc_num(o, "p95", latency->p95);
	doc_num(o, "p99", latency->p99);
	doc_num(o, "p99.9", latency->p999);
	doc_num(o, "max", latency->max);
	return o;
}

/* Rates in kB per second whatever the lines were printed in. */
static double doc_kb(const struct bench_options *opts, double value)
{
	return opts->ops ? value * (double)opts->record / 1024 : value;
}

static void doc_rates(json_t *o, const struct bench_options *opts, const struct bench_result *r)
{
	doc_num(o, "children_kBps", doc_kb(opts, r->children_rate));
	doc_num(o, "parent_kBps", doc_kb(opts, r->parent_rate));
	doc_num(o, "min_kBps", doc_kb(opts, r->min_rate));
	doc_num(o, "max_kBps", doc_kb(opts, r->max_rate));
	doc_num(o, "avg_kBps", doc_kb(opts, r->avg_rate));
	doc_num(o, "min_xfer_kB", doc_kb(opts, r->min_xfer));
}

static json_t *doc_test(const struct bench_options *opts, const struct bench_result *r)
{
	double cpu = r->cpu.user + r->cpu.system, gib = (double)r->bytes / (1 << 30);
	json_t *o = json_object();

	doc_text(o, "name", bench_test_name(r->test));
	doc_int(o, "children", r->children);
	doc_int(o, "file_kB", opts->file_size / 1024);
	doc_int(o, "record_kB", opts->record / 1024);
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
	json_object_set_new(o, "latency_us", doc_latency(&r->latency));
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

static json_t *doc_args(const struct bench_options *opts)
{
	json_t *list = json_array();

	for (int i = 1; i < opts->argc; i++) {
		json_t *text = json_string(opts->argv[i]);

		json_array_append_new(list, text ? text : json_null());
	}
	return list;
}

/* 0 or -errno: -ENOMEM, or what writing met. */
int bench_json_write(FILE *file, const struct bench_options *opts, const struct bench_env *env,
		     const struct bench_results *results)
{
	json_t *root = json_object(), *tests = json_array();
	int ret;

	for (unsigned i = 0; i < results->count; i++)
		json_array_append_new(tests, doc_test(opts, &results->result[i]));
	doc_text(root, "schema", "nfsrdma-bench/1");
	json_object_set_new(root, "env", doc_env(opts, env));
	json_object_set_new(root, "args", doc_args(opts));
	json_object_set_new(root, "tests", tests);
	if (!root)
		return -ENOMEM;
	errno = 0;
	ret = json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	json_decref(root);
	if (ret || fputc('\n', file) == EOF || fflush(file) == EOF)
		return errno ? -errno : -EIO;
	return 0;
}

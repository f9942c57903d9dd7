/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notes.c - what we add to iozone's lines, each line prefixed "# ".
 *
 * The header says where and with what; the footer says, per test, who paid (CPU), how it felt
 * (latency) and what memory registration cost (the ledger per I/O, which in pool mode must read
 * zero but for reuses).
 */
#include "tools/nfsrdma-bench/bench.h"

static void notes_link(FILE *out, const struct nfsrdma_info *info)
{
	if (info->link_bps)
		fprintf(out, "port rate %.1f Gbit/s", (double)info->link_bps / 1e9);
	else
		fputs("port rate unknown", out);
}

static void notes_limits(FILE *out, const struct iommu_facts *facts)
{
	char text[24];

	if (facts->ipc_lock)
		fputs("memlock does not bind (CAP_IPC_LOCK)", out);
	else if (facts->memlock_soft == UINT64_MAX)
		fputs("memlock unlimited", out);
	else
		fprintf(out, "memlock %s",
			util_size_format(facts->memlock_soft, text, sizeof(text)));
}

static void notes_how(FILE *out, const struct bench_options *opts)
{
	if (opts->shared)
		fputs("# one mount for all children (--shared)\n", out);
	if (opts->duration_s > 0 || opts->warmup_s > 0)
		fprintf(out, "# warm-up %g s, then %s\n", opts->warmup_s,
			opts->duration_s > 0 ? "for the time of --duration" : "the size of -s");
	if (opts->rate)
		fprintf(out,
			"# fixed rate: %u operations per second and child; latency counts from "
			"when "
			"an operation was due, so waiting for a late one is in it (no coordinated "
			"omission)\n",
			opts->rate);
	if (opts->verify)
		fputs("# every byte that is read is verified: throughput is not the point\n", out);
	if (opts->tests_left_out)
		fputs("# -i 4, 11 and 12 have no throughput mode (nor in iozone): left out\n", out);
}

/* What a mount is like. */
void notes_mount(FILE *out, const struct bench_env *env)
{
	const struct nfsrdma_info *info = &env->info;

	if (env->mounted) {
		fprintf(out, "# fabric %s, device %s, ", info->fabric,
			info->device[0] ? info->device : "none");
		notes_link(out, info);
		fprintf(out, ", rsize %u, wsize %u, inline %u, slots %u, mr %s: %s\n", info->rsize,
			info->wsize, info->inline_size, info->slots, info->mr_mode, info->pool);
		if (info->invalidations[0])
			fprintf(out, "# invalidations: %s\n", info->invalidations);
	}
	fprintf(out, "# %s\n", env->iommu);
	for (unsigned i = 0; i < env->warnings; i++)
		fprintf(out, "# warning: %s: %s; %s\n", env->warning[i].id, env->warning[i].fact,
			env->warning[i].remedy);
}

void notes_header(FILE *out, const struct bench_options *opts, const struct bench_env *env)
{
	const struct iommu_facts *facts = &env->facts;

	fprintf(out, "# nfsrdma-bench %s: client %s, depth %u, %s\n", NFSRDMA_VERSION, env->client,
		opts->depth, env->where);
	fprintf(out, "# host %s, kernel %s, %u x %s\n", env->host, env->kernel, env->cpus,
		env->cpu);
	notes_mount(out, env);
	fprintf(out, "# memory: %u NUMA node%s, 2 MiB pages %llu free of %llu, THP %s, ",
		facts->nodes, facts->nodes == 1 ? "" : "s", (unsigned long long)facts->huge_2m_free,
		(unsigned long long)facts->huge_2m_total, facts->thp[0] ? facts->thp : "unknown");
	notes_limits(out, facts);
	fputc('\n', out);
	notes_how(out, opts);
}

/* ---- footer ------------------------------------------------------------------------------------
 */

static double notes_gib(const struct bench_result *r)
{
	return (double)r->bytes / (1024.0 * 1024.0 * 1024.0);
}

static void notes_cpu(FILE *out, const struct bench_result *r)
{
	double total = r->cpu.user + r->cpu.system;

	fprintf(out, "#   CPU: user %.3f s, system %.3f s", r->cpu.user, r->cpu.system);
	if (r->bytes)
		fprintf(out, ", %.3f s per GiB", total / notes_gib(r));
	if (r->cpu.server >= 0)
		fprintf(out, "; private server %.3f s", r->cpu.server);
	fputc('\n', out);
}

static void notes_latency(FILE *out, const struct bench_result *r)
{
	fprintf(out, "#   latency of %s: p50 %.1f us, p95 %.1f, p99 %.1f, p99.9 %.1f, max %.1f\n",
		r->test == BENCH_MIXED	     ? "an operation"
		: bench_test_writes(r->test) ? "a write"
					     : "a read",
		r->latency.p50, r->latency.p95, r->latency.p99, r->latency.p999, r->latency.max);
}

/* Where there is one node alone, nothing is far. */
static void notes_numa(FILE *out, const struct bench_env *env, const struct bench_numa *numa)
{
	char device[16], buffers[16], threads[16];

	if (env->facts.nodes < 2)
		return;
	fprintf(out, "#   NUMA: buffers %s: on node %s; device on node %s, threads on node %s\n",
		bench_numa_placement(numa),
		bench_node_name(numa->buffers, buffers, sizeof(buffers)),
		bench_node_name(numa->device, device, sizeof(device)),
		bench_node_name(numa->threads, threads, sizeof(threads)));
}

static void notes_ledger(FILE *out, const struct bench_result *r)
{
	fputs("#   per I/O:", out);
	for (unsigned i = 0; i < BENCH_LEDGER_FIELDS; i++)
		fprintf(out, "%s %s %.4g", i ? "," : "", bench_ledger_name(i),
			r->ops ? (double)r->counters.ledger[i] / (double)r->ops : 0.0);
	fputc('\n', out);
}

static void notes_transport(FILE *out, const struct bench_env *env, const struct bench_result *r)
{
	const uint64_t *t = r->counters.transport;
	double rpcs = (double)t[BENCH_T_RPCS];

	fprintf(out, "#   %llu RPCs, %.3f doorbells per RPC, %llu credit waits",
		(unsigned long long)t[BENCH_T_RPCS],
		rpcs > 0 ? (double)t[BENCH_T_DOORBELLS] / rpcs : 0.0,
		(unsigned long long)t[BENCH_T_CREDIT_WAITS]);
	if (env->info.link_bps && r->wall_s > 0)
		fprintf(out, ", %.1f %% of the port's data rate",
			100.0 * 8.0 * (double)r->bytes / r->wall_s / (double)env->info.link_bps);
	fputc('\n', out);
}

void notes_footer(FILE *out, const struct bench_options *opts, const struct bench_env *env,
		  const struct bench_results *results)
{
	for (unsigned i = 0; i < results->count; i++) {
		const struct bench_result *r = &results->result[i];

		fprintf(out, "# %u %s%s", r->children, bench_test_name(r->test),
			r->cut ? " (cut short)" : "");
		if (opts->matrix)
			fprintf(out, ", %llu kB in records of %llu kB",
				(unsigned long long)(r->file_size / 1024),
				(unsigned long long)(r->record / 1024));
		fprintf(out, ": %llu I/Os in %.3f s\n", (unsigned long long)r->ops, r->wall_s);
		notes_cpu(out, r);
		notes_latency(out, r);
		notes_numa(out, env, &r->numa);
		if (!r->counted)
			continue;
		notes_ledger(out, r);
		notes_transport(out, env, r);
	}
	fflush(out);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * results.c - what tests came to: room for it, sums over the children, counters by name.
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdma-bench/bench.h"

int bench_results_room(struct bench_results *results, struct bench_result **rp)
{
	if (results->count == results->room) {
		unsigned room = results->room ? 2 * results->room : 16;
		struct bench_result *more =
			reallocarray(results->result, room, sizeof(*results->result));

		if (!more)
			return -ENOMEM;
		results->result = more;
		results->room = room;
	}
	*rp = &results->result[results->count];
	memset(*rp, 0, sizeof(**rp));
	return 0;
}

void bench_results_free(struct bench_results *results)
{
	for (unsigned i = 0; i < results->count; i++)
		free(results->result[i].parts);
	free(results->result);
	*results = (struct bench_results){NULL, 0, 0};
}

void bench_result_sum(struct bench_result *r)
{
	r->children_rate = r->min_rate = r->max_rate = r->min_xfer = 0;
	for (unsigned i = 0; i < r->children; i++) {
		const struct bench_part *part = &r->parts[i];

		r->children_rate += part->rate;
		if (!i || part->rate < r->min_rate)
			r->min_rate = part->rate;
		if (!i || part->rate > r->max_rate)
			r->max_rate = part->rate;
		if (!i || part->xfer < r->min_xfer)
			r->min_xfer = part->xfer;
		r->numa.buffers = i ? bench_node_fold(r->numa.buffers, part->node_buffers)
				    : part->node_buffers;
		r->numa.threads =
			i ? bench_node_fold(r->numa.threads, part->node_thread) : part->node_thread;
	}
	r->avg_rate = r->children_rate / r->children;
}

void bench_latency_of(struct bench_latency *latency, const struct util_hist *ns)
{
	latency->p50 = (double)util_hist_quantile(ns, 0.5) / 1e3;
	latency->p95 = (double)util_hist_quantile(ns, 0.95) / 1e3;
	latency->p99 = (double)util_hist_quantile(ns, 0.99) / 1e3;
	latency->p999 = (double)util_hist_quantile(ns, 0.999) / 1e3;
	latency->max = (double)util_hist_quantile(ns, 1) / 1e3;
}

/* ---- counters: INTERFACE of the JSON documents ------------------------------------------------
 */

static const char results_ledger[BENCH_LEDGER_FIELDS][24] = {
	"registrations",
	"deregistrations",
	"pages_charged",
	"pages_released",
	"iova_maps",
	"iova_unmaps",
	"iova_reuses",
	"windows_bound",
	"invalidations_local",
	"invalidations_remote",
	"invalidation_batches",
	"limit_refusals",
	"iotlb_lookups",
	"iotlb_misses",
	"iommu_flushes",
	"iommu_flush_batches",
	"iommu_faults",
};

static const char results_transport[BENCH_TRANSPORT_FIELDS][24] = {
	"rpcs",	       "doorbells",  "receive_calls", "completions_signalled", "credit_waits",
	"retransmits", "reconnects", "bytes_sent",    "bytes_received",
};

const char *bench_ledger_name(unsigned i)
{
	return results_ledger[i];
}

const char *bench_transport_name(unsigned i)
{
	return results_transport[i];
}

void bench_counters_add(struct bench_counters *to, const struct bench_counters *from)
{
	for (unsigned i = 0; i < BENCH_LEDGER_FIELDS; i++)
		to->ledger[i] += from->ledger[i];
	for (unsigned i = 0; i < BENCH_TRANSPORT_FIELDS; i++)
		to->transport[i] += from->transport[i];
}

void bench_counters_sub(struct bench_counters *to, const struct bench_counters *from)
{
	for (unsigned i = 0; i < BENCH_LEDGER_FIELDS; i++)
		to->ledger[i] -= from->ledger[i];
	for (unsigned i = 0; i < BENCH_TRANSPORT_FIELDS; i++)
		to->transport[i] -= from->transport[i];
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c - the names of the counters that go into every document, and sums of them.
 */
#include "tools/nfsrdma-bench/bench.h"

static const char counters_ledger[BENCH_LEDGER_FIELDS][24] = {
	"registrations",       "deregistrations",      "pages_charged",	       "pages_released",
	"iova_maps",	       "iova_unmaps",	       "iova_reuses",	       "windows_bound",
	"invalidations_local", "invalidations_remote", "invalidation_batches", "limit_refusals",
};

static const char counters_transport[BENCH_TRANSPORT_FIELDS][24] = {
	"rpcs",	       "doorbells",  "receive_calls", "completions_signalled", "credit_waits",
	"retransmits", "reconnects", "bytes_sent",    "bytes_received",
};

const char *bench_ledger_name(unsigned i)
{
	return counters_ledger[i];
}

const char *bench_transport_name(unsigned i)
{
	return counters_transport[i];
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

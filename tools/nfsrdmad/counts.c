/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counts.c - calls, errors and bytes, counted by each worker and added up when somebody asks.
 */
#include "tools/nfsrdmad/counts.h"

#include <inttypes.h>
#include <string.h>

void server_tally_init(struct server_tally *tally)
{
	memset(tally, 0, sizeof(*tally));
	pthread_mutex_init(&tally->lock, NULL);
	util_list_init(&tally->workers);
}

void server_tally_fini(struct server_tally *tally)
{
	pthread_mutex_destroy(&tally->lock);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* There is one writer: no locked instruction is needed. */
static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, get(counter) + n, memory_order_relaxed);
}

void server_counts_add(struct server_counts *counts, uint32_t proc, bool failed, uint64_t bytes)
{
	add(&counts->calls[proc], 1);
	if (failed)
		add(&counts->errors[proc], 1);
	if (proc == WIRE_NFS3_READ)
		add(&counts->read_bytes, bytes);
	else if (proc == WIRE_NFS3_WRITE)
		add(&counts->written_bytes, bytes);
}

static void counts_sum(struct server_counts *sum, const struct server_counts *counts)
{
	for (unsigned i = 0; i < WIRE_NFS3_PROC_COUNT; i++) {
		add(&sum->calls[i], get(&counts->calls[i]));
		add(&sum->errors[i], get(&counts->errors[i]));
	}
	add(&sum->read_bytes, get(&counts->read_bytes));
	add(&sum->written_bytes, get(&counts->written_bytes));
}

void server_tally_join(struct server_tally *tally, struct server_counts *counts)
{
	pthread_mutex_lock(&tally->lock);
	util_list_add(&tally->workers, &counts->node);
	pthread_mutex_unlock(&tally->lock);
}

void server_tally_leave(struct server_tally *tally, struct server_counts *counts)
{
	pthread_mutex_lock(&tally->lock);
	util_list_del(&counts->node);
	counts_sum(&tally->ended, counts);
	pthread_mutex_unlock(&tally->lock);
}

static void print_procs(FILE *f, const char *name, const _Atomic uint64_t *counters)
{
	const char *comma = "";

	fprintf(f, "\"%s\":{", name);
	for (uint32_t i = 0; i < WIRE_NFS3_PROC_COUNT; i++) {
		uint64_t n = get(&counters[i]);

		if (!n)
			continue;
		fprintf(f, "%s\"%s\":%" PRIu64, comma, wire_nfs3_proc_name(i), n);
		comma = ",";
	}
	fputs("},", f);
}

void server_tally_print(struct server_tally *tally, FILE *f)
{
	struct server_counts sum = {.read_bytes = 0};

	pthread_mutex_lock(&tally->lock);
	counts_sum(&sum, &tally->ended);
	UTIL_LIST_FOR_EACH (node, &tally->workers)
		counts_sum(&sum, UTIL_LIST_ENTRY(node, struct server_counts, node));
	pthread_mutex_unlock(&tally->lock);
	fputc('{', f);
	print_procs(f, "calls", sum.calls);
	print_procs(f, "errors", sum.errors);
	fprintf(f, "\"read_bytes\":%" PRIu64 ",\"written_bytes\":%" PRIu64 "}\n",
		get(&sum.read_bytes), get(&sum.written_bytes));
}

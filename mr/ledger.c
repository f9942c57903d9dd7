/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ledger.c - what memory registration cost, counted per pool and per process.
 *
 * Rare events (a registration, a quarantine) are added to the pool's ledger and to all above it as
 * they happen.  Leases come and go with every RPC; their counters live with the threads that take
 * and give them, and are folded in when somebody reads.  So the hot path pays one plain increment.
 *
 * A pool that ends leaves its counts behind: detaching adds them for good, under the lock that a
 * reader holds, so that no reader sees them twice or not at all.
 */
#include "mr/internal.h"

void mr_ledger_init(struct mr_ledger *ledger, struct mr_ledger *parent)
{
#define MR_LEDGER_ZERO(name) atomic_init(&ledger->own.name, 0);
	MR_LEDGER_FIELDS(MR_LEDGER_ZERO)
#undef MR_LEDGER_ZERO
	ledger->now = &ledger->own;
	ledger->watch = NULL;
	ledger->parent = parent;
	pthread_mutex_init(&ledger->lock, NULL);
	util_list_init(&ledger->sources);
}

void mr_ledger_attach(struct mr_ledger *ledger, struct mr_ledger_source *source)
{
	struct mr_ledger_link *link = source->link;

	for (; ledger && link < source->link + MR_LEDGER_LEVELS; ledger = ledger->parent, link++) {
		link->source = source;
		pthread_mutex_lock(&ledger->lock);
		util_list_add(&ledger->sources, &link->node);
		pthread_mutex_unlock(&ledger->lock);
	}
}

void mr_ledger_detach(struct mr_ledger *ledger, struct mr_ledger_source *source)
{
	struct mr_ledger_link *link = source->link;
	struct mr_ledger_snapshot snap;

	for (; ledger && link < source->link + MR_LEDGER_LEVELS; ledger = ledger->parent, link++) {
		memset(&snap, 0, sizeof(snap));
		pthread_mutex_lock(&ledger->lock);
		util_list_del(&link->node);
		source->fold(source, &snap);
		mr_watch_move(ledger);
#define MR_LEDGER_KEEP(name)                                                                       \
	atomic_fetch_add_explicit(&ledger->now->name, snap.name, memory_order_relaxed);
		MR_LEDGER_FIELDS(MR_LEDGER_KEEP)
#undef MR_LEDGER_KEEP
		if (!ledger->parent)
			source->end(source);
		mr_watch_move(ledger);
		pthread_mutex_unlock(&ledger->lock);
	}
}

void mr_ledger_read(const struct mr_ledger *ledger, struct mr_ledger_snapshot *snap)
{
	struct mr_ledger *l = (struct mr_ledger *)ledger; /* for the lock */

	pthread_mutex_lock(&l->lock);
#define MR_LEDGER_LOAD(name) snap->name = atomic_load_explicit(&l->now->name, memory_order_relaxed);
	MR_LEDGER_FIELDS(MR_LEDGER_LOAD)
#undef MR_LEDGER_LOAD
	UTIL_LIST_FOR_EACH (node, &l->sources) {
		struct mr_ledger_link *link = UTIL_LIST_ENTRY(node, struct mr_ledger_link, node);

		link->source->fold(link->source, snap);
	}
	pthread_mutex_unlock(&l->lock);
}

static const struct {
	char name[32];
	size_t offset;
} ledger_fields[] = {
#define MR_LEDGER_ROW(name) {#name, offsetof(struct mr_ledger_snapshot, name)},
	MR_LEDGER_FIELDS(MR_LEDGER_ROW)
#undef MR_LEDGER_ROW
};

const char *mr_ledger_field(const struct mr_ledger_snapshot *snap, unsigned i, uint64_t *valuep)
{
	if (i >= UTIL_ARRAY_SIZE(ledger_fields))
		return NULL;
	memcpy(valuep, (const char *)snap + ledger_fields[i].offset, sizeof(*valuep));
	return ledger_fields[i].name;
}

uint64_t *mr_ledger_find(struct mr_ledger_snapshot *snap, const char *name)
{
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(ledger_fields); i++)
		if (!strcmp(ledger_fields[i].name, name))
			return (uint64_t *)((char *)snap + ledger_fields[i].offset);
	return NULL;
}

/* Which counter a batch of n falls into: the powers of two up to 32, or beyond. */
static _Atomic uint64_t *mr_ledger_bucket(struct mr_ledger *ledger, unsigned n)
{
	_Atomic uint64_t *const buckets[] = {
		&ledger->now->invalidation_batches_1,  &ledger->now->invalidation_batches_2,
		&ledger->now->invalidation_batches_4,  &ledger->now->invalidation_batches_8,
		&ledger->now->invalidation_batches_16, &ledger->now->invalidation_batches_32,
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(buckets); i++)
		if (n <= 1u << i)
			return buckets[i];
	return &ledger->now->invalidation_batches_more;
}

void mr_ledger_batch(struct mr_ledger *ledger, unsigned n)
{
	MR_LEDGER_ADD(ledger, invalidation_batches, 1);
	for (; ledger; ledger = ledger->parent)
		atomic_fetch_add_explicit(mr_ledger_bucket(ledger, n), 1, memory_order_relaxed);
}

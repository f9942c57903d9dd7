/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stag.c - the RNIC's key table.
 *
 * An STag is 24 bits of index and 8 bits of key.  The index is the table's slot number sent through
 * a secret permutation of 24 bits, so that one key tells a peer nothing about the others; the key
 * byte is the slot's generation, never 0, so that STag 0 names nothing.
 *
 * Slots are handed out first in, first out, and never while fewer than QUARANTINE of them are free:
 * the table grows first.  A key that has ended therefore comes back after at least QUARANTINE other
 * keys and, the generation counting, with the same value only after 255 turns of that.
 *
 * Concurrency.  Regions are registered by any thread while connections, each driven by one thread,
 * check accesses of their peers.  A slot's state is one atomic word: a valid bit, the key, a count
 * of holds.  Holding adds to the count if the slot is valid with that key, in one compare-and-swap;
 * removing clears the valid bit and waits until the count is zero.  Holds last for one copy or one
 * system call that does not sleep, hence the wait is a yield loop.  A window's hold also holds the
 * region below it, so deregistering a region ends accesses through its windows as well.
 *
 * ORDER: mem is written before the valid bit is set (release) and read after a hold was taken
 * (acquire); it is not written again before the count has come down to zero.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "transport/iwarp/stag.h"
#include "util/util.h"

#define INDEX_BITS 24
#define HALF_BITS (INDEX_BITS / 2)
#define HALF_MASK ((1u << HALF_BITS) - 1)
#define ROUNDS 4

#define CHUNK_SLOTS 1024u
#define CHUNKS_MAX 4096u /* 4 Mi keys, a quarter of what the index could say */
#define QUARANTINE 1024u

#define STATE_VALID (UINT64_C(1) << 40)
#define STATE_KEY_SHIFT 32
#define STATE_KEY_MASK (UINT64_C(0xff) << STATE_KEY_SHIFT)
#define STATE_HOLDS UINT64_C(0xffffffff)

struct iwarp_stag_slot {
	_Atomic uint64_t state;
	struct iwarp_mem mem;
	uint32_t next; /* free list, protected by lock */
	uint8_t key;   /* the generation handed out last, protected by lock */
	bool taken;    /* reserved or active, protected by lock */
};

struct iwarp_stags {
	uint32_t round_key[ROUNDS];
	_Atomic(struct iwarp_stag_slot *) chunk[CHUNKS_MAX];
	pthread_mutex_t lock; /* protects what follows, and the slots' fields named above */
	uint32_t nchunks, nfree;
	uint32_t free_first, free_last; /* slot numbers + 1, 0: none */
};

/* ---- slot number <-> index: a Feistel network is a permutation whatever its round function ----
 */

static uint32_t mix(uint32_t half, uint32_t key)
{
	uint32_t x = (half ^ key) * UINT32_C(0x9e3779b1);

	x ^= x >> 15;
	x *= UINT32_C(0x85ebca6b);
	return (x >> 13) & HALF_MASK;
}

static uint32_t index_of_slot(const struct iwarp_stags *stags, uint32_t slot)
{
	uint32_t left = slot >> HALF_BITS, right = slot & HALF_MASK;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t next = left ^ mix(right, stags->round_key[i]);

		left = right;
		right = next;
	}
	return left << HALF_BITS | right;
}

static uint32_t slot_of_index(const struct iwarp_stags *stags, uint32_t index)
{
	uint32_t left = index >> HALF_BITS, right = index & HALF_MASK;

	for (int i = ROUNDS - 1; i >= 0; i--) {
		uint32_t prev = right ^ mix(left, stags->round_key[i]);

		right = left;
		left = prev;
	}
	return left << HALF_BITS | right;
}

static struct iwarp_stag_slot *find_slot(struct iwarp_stags *stags, uint32_t number)
{
	struct iwarp_stag_slot *chunk;

	if (number / CHUNK_SLOTS >= CHUNKS_MAX)
		return NULL;
	chunk = atomic_load_explicit(&stags->chunk[number / CHUNK_SLOTS], memory_order_acquire);
	return chunk ? &chunk[number % CHUNK_SLOTS] : NULL;
}

static struct iwarp_stag_slot *find_stag(struct iwarp_stags *stags, uint32_t stag)
{
	return find_slot(stags, slot_of_index(stags, stag >> 8));
}

/* ---- the table ---- */

int iwarp_stags_create(struct iwarp_stags **stagsp)
{
	struct iwarp_stags *stags = calloc(1, sizeof(*stags));
	int err;

	if (!stags)
		return -ENOMEM;
	err = util_random_bytes(stags->round_key, sizeof(stags->round_key));
	if (err) {
		free(stags);
		return err;
	}
	pthread_mutex_init(&stags->lock, NULL);
	*stagsp = stags;
	return 0;
}

void iwarp_stags_destroy(struct iwarp_stags *stags)
{
	if (!stags)
		return;
	for (uint32_t i = 0; i < stags->nchunks; i++)
		free(stags->chunk[i]);
	pthread_mutex_destroy(&stags->lock);
	free(stags);
}

/* Append to the free list; the lock is held. */
static void append_free(struct iwarp_stags *stags, uint32_t number)
{
	struct iwarp_stag_slot *slot = find_slot(stags, number);

	slot->next = 0;
	slot->taken = false;
	if (stags->free_last)
		find_slot(stags, stags->free_last - 1)->next = number + 1;
	else
		stags->free_first = number + 1;
	stags->free_last = number + 1;
	stags->nfree++;
}

/* Add a chunk of slots with random generations; the lock is held. */
static int grow(struct iwarp_stags *stags)
{
	struct iwarp_stag_slot *chunk;
	uint8_t keys[CHUNK_SLOTS];
	uint32_t first = stags->nchunks * CHUNK_SLOTS;
	int err;

	if (stags->nchunks == CHUNKS_MAX)
		return -ENOSPC;
	err = util_random_bytes(keys, sizeof(keys));
	if (err)
		return err;
	chunk = calloc(CHUNK_SLOTS, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	for (uint32_t i = 0; i < CHUNK_SLOTS; i++)
		chunk[i].key = keys[i];
	atomic_store_explicit(&stags->chunk[stags->nchunks++], chunk, memory_order_release);
	for (uint32_t i = 0; i < CHUNK_SLOTS; i++)
		append_free(stags, first + i);
	return 0;
}

int iwarp_stags_reserve(struct iwarp_stags *stags, uint32_t *stagp)
{
	struct iwarp_stag_slot *slot;
	uint32_t number;
	int err = 0;

	pthread_mutex_lock(&stags->lock);
	if (stags->nfree <= QUARANTINE)
		err = grow(stags);
	if (err && !stags->nfree) /* a full table shortens the quarantine before it refuses */
		goto unlock;
	err = 0;
	number = stags->free_first - 1;
	slot = find_slot(stags, number);
	stags->free_first = slot->next;
	if (!stags->free_first)
		stags->free_last = 0;
	stags->nfree--;
	slot->taken = true;
	slot->key = slot->key == 0xff ? 1 : (uint8_t)(slot->key + 1);
	*stagp = index_of_slot(stags, number) << 8 | slot->key;
unlock:
	pthread_mutex_unlock(&stags->lock);
	return err;
}

void iwarp_stags_activate(struct iwarp_stags *stags, uint32_t stag, const struct iwarp_mem *mem)
{
	struct iwarp_stag_slot *slot = find_stag(stags, stag);

	slot->mem = *mem;
	atomic_store_explicit(&slot->state,
			      STATE_VALID | (uint64_t)(stag & 0xff) << STATE_KEY_SHIFT,
			      memory_order_release);
}

bool iwarp_stags_remove(struct iwarp_stags *stags, uint32_t stag)
{
	uint32_t number = slot_of_index(stags, stag >> 8);
	struct iwarp_stag_slot *slot = find_slot(stags, number);
	bool mine;

	if (!slot)
		return false;
	pthread_mutex_lock(&stags->lock);
	mine = slot->taken && slot->key == (stag & 0xff);
	if (mine)
		slot->taken = false; /* not on the free list yet: nobody else finds it */
	pthread_mutex_unlock(&stags->lock);
	if (!mine)
		return false;
	atomic_fetch_and_explicit(&slot->state, ~STATE_VALID, memory_order_acq_rel);
	while (atomic_load_explicit(&slot->state, memory_order_acquire) & STATE_HOLDS)
		sched_yield();
	pthread_mutex_lock(&stags->lock);
	append_free(stags, number);
	pthread_mutex_unlock(&stags->lock);
	return true;
}

static void release_slot(struct iwarp_stag_slot *slot)
{
	atomic_fetch_sub_explicit(&slot->state, 1, memory_order_release);
}

/* Take a hold of the slot if stag is its living key. */
static struct iwarp_stag_slot *hold_slot(struct iwarp_stags *stags, uint32_t stag)
{
	const uint64_t want = STATE_VALID | (uint64_t)(stag & 0xff) << STATE_KEY_SHIFT;
	struct iwarp_stag_slot *slot = find_stag(stags, stag);
	uint64_t state;

	if (!slot)
		return NULL;
	state = atomic_load_explicit(&slot->state, memory_order_relaxed);
	do {
		if ((state & (STATE_VALID | STATE_KEY_MASK)) != want)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&slot->state, &state, state + 1, memory_order_acquire, memory_order_relaxed));
	return slot;
}

static enum iwarp_denial check(const struct iwarp_mem *mem, const struct iwarp_access *access)
{
	if (mem->domain != access->domain || (mem->conn && mem->conn != access->conn))
		return IWARP_DENIED_ASSOC;
	if (access->len > UINT64_MAX - access->to)
		return IWARP_DENIED_WRAP;
	if (access->to < mem->iova || access->to - mem->iova > mem->len ||
	    access->len > mem->len - (access->to - mem->iova))
		return IWARP_DENIED_BOUNDS;
	return mem->rights & access->right ? IWARP_GRANTED : IWARP_DENIED_RIGHT;
}

enum iwarp_denial iwarp_stags_hold(struct iwarp_stags *stags, const struct iwarp_access *access,
				   struct iwarp_hold *hold)
{
	struct iwarp_stag_slot *slot = hold_slot(stags, access->stag), *parent = NULL;
	enum iwarp_denial denial;

	if (!slot)
		return IWARP_DENIED_STAG;
	denial = check(&slot->mem, access);
	if (denial)
		goto release;
	if (slot->mem.parent) {
		parent = hold_slot(stags, slot->mem.parent);
		if (!parent) {
			denial = IWARP_DENIED_STAG;
			goto release;
		}
	}
	hold->slot = slot;
	hold->parent = parent;
	hold->ptr = slot->mem.base + (access->to - slot->mem.iova);
	hold->bus = slot->mem.bus + (access->to - slot->mem.iova);
	return IWARP_GRANTED;

release:
	release_slot(slot);
	return denial;
}

void iwarp_stags_release(struct iwarp_hold *hold)
{
	if (hold->parent)
		release_slot(hold->parent);
	release_slot(hold->slot);
}

bool iwarp_stags_lookup(struct iwarp_stags *stags, uint32_t stag, struct iwarp_mem *mem)
{
	struct iwarp_stag_slot *slot = hold_slot(stags, stag);

	if (!slot)
		return false;
	*mem = slot->mem;
	release_slot(slot);
	return true;
}

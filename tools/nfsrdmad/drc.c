/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drc.c - the duplicate-request cache.
 *
 * A client whose connection broke sends its calls again with the same XID.  If a REMOVE was carried
 * out before its reply was lost, carrying it out again would answer NOENT.  So replies of
 * procedures that are not idempotent are kept and sent again, byte for byte.
 *
 * A request is recognised by the peer's address (not its port: a client may come back from
 * another), XID, program, version, procedure, user, length and a keyed checksum of all its
 * arguments, those a read chunk brought included.  While the first is being carried out, a second
 * is dropped: its reply will come.
 *
 * Bounded by entries, by bytes of replies and by age.  An entry in progress stays whatever the
 * bounds say: there are no more of them than requests in hand.  16 shards, each with its share of
 * the bounds.
 */
#include "tools/nfsrdmad/drc.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tools/nfsrdmad/siphash.h"
#include "util/util.h"

#define SHARDS 16
#define BUCKETS 256 /* per shard */

struct drc_key {
	uint8_t addr[16];
	uint32_t xid, prog, vers, proc, flavor, uid;
	uint64_t len, checksum;
};

struct server_drc_entry {
	struct server_drc_entry *hash_next;
	struct util_list lru; /* when done: oldest first */
	struct drc_key key;
	uint64_t hash, done_ns;
	bool done;
	uint8_t *reply;
	size_t len;
};

struct shard {
	pthread_mutex_t lock;
	struct server_drc_entry *bucket[BUCKETS];
	struct util_list lru;
	unsigned count;
	size_t bytes;
};

struct server_drc {
	struct shard shard[SHARDS];
	struct server_drc_limits limits; /* per shard */
	uint8_t secret[SERVER_KEY_LEN];
};

int server_drc_create(struct server_drc **drcp, const struct server_drc_limits *limits)
{
	struct server_drc *drc = calloc(1, sizeof(*drc));
	int err;

	if (!drc)
		return -ENOMEM;
	err = util_random_bytes(drc->secret, sizeof(drc->secret));
	if (err) {
		free(drc);
		return err;
	}
	drc->limits = *limits;
	drc->limits.entries = (limits->entries + SHARDS - 1) / SHARDS;
	drc->limits.bytes = (limits->bytes + SHARDS - 1) / SHARDS;
	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&drc->shard[i].lock, NULL);
		util_list_init(&drc->shard[i].lru);
	}
	*drcp = drc;
	return 0;
}

static void key_address(const struct sockaddr_storage *peer, uint8_t addr[16])
{
	const struct sockaddr_in6 *in6 = (const void *)peer;
	const struct sockaddr_in *in = (const void *)peer;

	memset(addr, 0, 16);
	if (peer->ss_family == AF_INET6) {
		memcpy(addr, &in6->sin6_addr, 16);
	} else if (peer->ss_family == AF_INET) {
		/* as a v4-mapped address, so that both sockets mean the same host */
		addr[10] = addr[11] = 0xff;
		memcpy(addr + 12, &in->sin_addr, 4);
	}
}

static void key_make(const struct server_drc *drc, const struct sockaddr_storage *peer,
		     const struct wire_rpc_call *call, const struct wire_dec *args,
		     const void *bulk, size_t bulk_len, struct drc_key *key)
{
	memset(key, 0, sizeof(*key));
	key_address(peer, key->addr);
	key->xid = call->xid;
	key->prog = call->prog;
	key->vers = call->vers;
	key->proc = call->proc;
	key->flavor = call->flavor;
	key->uid = call->has_cred ? call->cred.uid : 0;
	key->len = wire_dec_left(args) + bulk_len;
	key->checksum = server_siphash(drc->secret, args->p, wire_dec_left(args));
	if (bulk)
		key->checksum ^= server_siphash(drc->secret, bulk, bulk_len) * 3;
}

static void entry_unhash(struct shard *shard, struct server_drc_entry *entry)
{
	struct server_drc_entry **link = &shard->bucket[entry->hash / SHARDS % BUCKETS];

	while (*link != entry)
		link = &(*link)->hash_next;
	*link = entry->hash_next;
	shard->count--;
}

static void entry_forget(struct shard *shard, struct server_drc_entry *entry)
{
	util_list_del(&entry->lru);
	entry_unhash(shard, entry);
	shard->bytes -= entry->len;
	free(entry->reply);
	free(entry);
}

static struct server_drc_entry *shard_oldest(struct shard *shard)
{
	return util_list_empty(&shard->lru)
		       ? NULL
		       : UTIL_LIST_ENTRY(shard->lru.next, struct server_drc_entry, lru);
}

static void shard_trim(struct shard *shard, const struct server_drc_limits *limits, uint64_t now_ns)
{
	struct server_drc_entry *oldest;

	while ((oldest = shard_oldest(shard)) &&
	       (shard->count > limits->entries || shard->bytes > limits->bytes ||
		oldest->done_ns + limits->age_ns <= now_ns))
		entry_forget(shard, oldest);
}

static struct server_drc_entry *shard_find(struct shard *shard, const struct drc_key *key,
					   uint64_t hash)
{
	struct server_drc_entry *entry = shard->bucket[hash / SHARDS % BUCKETS];

	while (entry && memcmp(&entry->key, key, sizeof(*key)))
		entry = entry->hash_next;
	return entry;
}

/* A copy, so that the shard's lock is not held while it is sent. */
static enum server_drc_verdict entry_replay(const struct server_drc_entry *entry, uint8_t **replyp,
					    size_t *lenp)
{
	if (!entry->done)
		return SERVER_DRC_IN_PROGRESS;
	*replyp = malloc(entry->len ? entry->len : 1);
	if (!*replyp) /* as if it were not answered yet: the client asks again */
		return SERVER_DRC_IN_PROGRESS;
	memcpy(*replyp, entry->reply, entry->len);
	*lenp = entry->len;
	return SERVER_DRC_REPLAY;
}

static struct server_drc_entry *entry_add(struct shard *shard, const struct drc_key *key,
					  uint64_t hash)
{
	struct server_drc_entry **bucket = &shard->bucket[hash / SHARDS % BUCKETS];
	struct server_drc_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->key = *key;
	entry->hash = hash;
	util_list_init(&entry->lru);
	entry->hash_next = *bucket;
	*bucket = entry;
	shard->count++;
	return entry;
}

enum server_drc_verdict
server_drc_begin(struct server_drc *drc, const struct sockaddr_storage *peer,
		 const struct wire_rpc_call *call, const struct wire_dec *args, const void *bulk,
		 size_t bulk_len, struct server_drc_entry **entryp, uint8_t **replyp, size_t *lenp)
{
	enum server_drc_verdict verdict = SERVER_DRC_NEW;
	struct server_drc_entry *entry;
	struct drc_key key;
	struct shard *shard;
	uint64_t hash;

	key_make(drc, peer, call, args, bulk, bulk_len, &key);
	hash = server_siphash(drc->secret, &key, sizeof(key));
	shard = &drc->shard[hash % SHARDS];
	pthread_mutex_lock(&shard->lock);
	shard_trim(shard, &drc->limits, util_clock_ns());
	entry = shard_find(shard, &key, hash);
	if (entry) {
		verdict = entry_replay(entry, replyp, lenp);
	} else {
		*entryp = entry_add(shard, &key, hash);
		if (!*entryp)
			verdict = SERVER_DRC_PASS;
	}
	pthread_mutex_unlock(&shard->lock);
	return verdict;
}

void server_drc_done(struct server_drc *drc, struct server_drc_entry *entry, const void *reply,
		     size_t len)
{
	struct shard *shard = &drc->shard[entry->hash % SHARDS];
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy) {
		server_drc_abort(drc, entry);
		return;
	}
	memcpy(copy, reply, len);
	pthread_mutex_lock(&shard->lock);
	entry->reply = copy;
	entry->len = len;
	entry->done = true;
	entry->done_ns = util_clock_ns();
	shard->bytes += len;
	util_list_add(&shard->lru, &entry->lru);
	shard_trim(shard, &drc->limits, entry->done_ns);
	pthread_mutex_unlock(&shard->lock);
}

void server_drc_abort(struct server_drc *drc, struct server_drc_entry *entry)
{
	struct shard *shard = &drc->shard[entry->hash % SHARDS];

	pthread_mutex_lock(&shard->lock);
	entry_forget(shard, entry);
	pthread_mutex_unlock(&shard->lock);
}

void server_drc_tick(struct server_drc *drc, uint64_t now_ns)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&drc->shard[i].lock);
		shard_trim(&drc->shard[i], &drc->limits, now_ns);
		pthread_mutex_unlock(&drc->shard[i].lock);
	}
}

unsigned server_drc_count(struct server_drc *drc)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&drc->shard[i].lock);
		count += drc->shard[i].count;
		pthread_mutex_unlock(&drc->shard[i].lock);
	}
	return count;
}

size_t server_drc_bytes(struct server_drc *drc)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&drc->shard[i].lock);
		bytes += drc->shard[i].bytes;
		pthread_mutex_unlock(&drc->shard[i].lock);
	}
	return bytes;
}

void server_drc_destroy(struct server_drc *drc)
{
	if (!drc)
		return;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *shard = &drc->shard[i];

		/* What is still in progress was never answered. */
		for (unsigned j = 0; j < BUCKETS; j++)
			while (shard->bucket[j])
				entry_forget(shard, shard->bucket[j]);
		pthread_mutex_destroy(&shard->lock);
	}
	free(drc);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * objects.c - the files and folders clients are busy with, held open.
 *
 * NFSv3 has no open and no close: every call brings a handle.  What a handle names is opened once
 * and remembered: an O_PATH descriptor that pins the object, and, when it is read or written,
 * descriptors for that. The cache is shared by all workers, so that a removed file is let go of by
 * whoever removes it; 16 shards keep them out of each other's way.
 *
 * An object is found by (export, id).  It is referenced while a request uses it, else it waits on
 * its shard's list, least recently used first, until it was idle too long or descriptors run short.
 * A dropped object leaves the hash table at once and memory with its last reference.
 *
 * An object with unstable data is synced before its descriptor is closed: a later COMMIT opens
 * the file anew and the kernel reports a write-back error only to descriptors that were there.  If
 * that sync fails, the caller changes the write verifier.
 */
#include "tools/nfsrdmad/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARDS 16
#define BUCKETS 1024 /* per shard */

struct shard {
	pthread_mutex_t lock;
	struct server_object *bucket[BUCKETS];
	struct util_list lru; /* oldest first */
	unsigned count;
};

struct server_objects {
	struct shard shard[SHARDS];
	unsigned max_fds;
	atomic_uint fds;
	atomic_bool sync_failed; /* until the next tick takes it */
	uint8_t key[SERVER_KEY_LEN];
};

int server_objects_create(struct server_objects **objectsp, unsigned max_fds)
{
	struct server_objects *objects = calloc(1, sizeof(*objects));
	int err;

	if (!objects)
		return -ENOMEM;
	err = util_random_bytes(objects->key, sizeof(objects->key));
	if (err) {
		free(objects);
		return err;
	}
	objects->max_fds = max_fds;
	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&objects->shard[i].lock, NULL);
		util_list_init(&objects->shard[i].lru);
	}
	*objectsp = objects;
	return 0;
}

static uint64_t object_hash(const struct server_objects *objects, const struct server_export *exp,
			    const struct server_id *id)
{
	uint8_t text[SERVER_ID_MAX + 8];

	util_put_be32(text, exp->id);
	text[4] = id->kind;
	text[5] = id->type;
	memcpy(text + 6, id->bytes, id->len);
	return server_siphash(objects->key, text, (size_t)id->len + 6);
}

static struct shard *object_shard(struct server_objects *objects, uint64_t hash)
{
	return &objects->shard[hash % SHARDS];
}

static struct server_object **object_bucket(struct shard *shard, uint64_t hash)
{
	return &shard->bucket[hash / SHARDS % BUCKETS];
}

/* Nobody references it and no table knows it. */
static void object_free(struct server_objects *objects, struct server_object *obj)
{
	unsigned nfds = 1;
	struct stat st;

	/* What has no name left need not last. */
	if (atomic_load(&obj->unstable) && obj->write_fd >= 0 && !fstat(obj->path_fd, &st) &&
	    st.st_nlink > 0 && fdatasync(obj->write_fd))
		atomic_store(&objects->sync_failed, true);
	if (obj->read_fd >= 0) {
		close(obj->read_fd);
		nfds++;
	}
	if (obj->write_fd >= 0) {
		close(obj->write_fd);
		nfds++;
	}
	close(obj->path_fd);
	atomic_fetch_sub(&objects->fds, nfds);
	pthread_mutex_destroy(&obj->lock);
	pthread_mutex_destroy(&obj->change);
	free(obj);
}

static void object_unhash(struct server_objects *objects, struct shard *shard,
			  struct server_object *obj, uint64_t hash)
{
	struct server_object **link = object_bucket(shard, hash);

	while (*link != obj)
		link = &(*link)->hash_next;
	*link = obj->hash_next;
	obj->hashed = false;
	shard->count--;
}

static struct server_object *shard_find(struct shard *shard, const struct server_export *exp,
					const struct server_id *id, uint64_t hash)
{
	struct server_object *obj = *object_bucket(shard, hash);

	while (obj && (obj->exp != exp || !server_id_equal(&obj->id, id)))
		obj = obj->hash_next;
	if (obj && obj->refs++ == 0)
		util_list_del(&obj->lru);
	return obj;
}

struct server_object *server_objects_get(struct server_objects *objects,
					 const struct server_export *exp,
					 const struct server_id *id)
{
	uint64_t hash = object_hash(objects, exp, id);
	struct shard *shard = object_shard(objects, hash);
	struct server_object *obj;

	pthread_mutex_lock(&shard->lock);
	obj = shard_find(shard, exp, id, hash);
	pthread_mutex_unlock(&shard->lock);
	return obj;
}

static struct server_object *object_new(const struct server_object *model, int path_fd)
{
	struct server_object *obj = calloc(1, sizeof(*obj));

	if (!obj)
		return NULL;
	obj->exp = model->exp;
	obj->id = model->id;
	obj->hint = model->hint;
	obj->fh = model->fh;
	obj->type = model->type;
	obj->path_fd = path_fd;
	obj->read_fd = obj->write_fd = -1;
	util_list_init(&obj->lru);
	pthread_mutex_init(&obj->lock, NULL);
	pthread_mutex_init(&obj->change, NULL);
	atomic_store(&obj->proved_ns, util_clock_ns());
	return obj;
}

/* Take the oldest idle object off its shard; NULL: none. */
static struct server_object *shard_evict(struct server_objects *objects, struct shard *shard)
{
	struct util_list *node = util_list_pop(&shard->lru);
	struct server_object *obj;

	if (!node)
		return NULL;
	obj = UTIL_LIST_ENTRY(node, struct server_object, lru);
	object_unhash(objects, shard, obj, object_hash(objects, obj->exp, &obj->id));
	return obj;
}

/* Evict until nfds more fit, or nothing idle is left anywhere.  Without a shard's lock. */
static void objects_make_room(struct server_objects *objects, unsigned nfds, unsigned start)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *shard = &objects->shard[(start + i) % SHARDS];

		while (atomic_load(&objects->fds) + nfds > objects->max_fds) {
			struct server_object *victim;

			pthread_mutex_lock(&shard->lock);
			victim = shard_evict(objects, shard);
			pthread_mutex_unlock(&shard->lock);
			if (!victim)
				break;
			object_free(objects, victim);
		}
	}
}

void server_objects_charge(struct server_objects *objects, unsigned nfds)
{
	objects_make_room(objects, nfds, 0);
	atomic_fetch_add(&objects->fds, nfds);
}

struct server_object *server_objects_insert(struct server_objects *objects,
					    const struct server_object *model, int path_fd)
{
	uint64_t hash = object_hash(objects, model->exp, &model->id);
	struct shard *shard = object_shard(objects, hash);
	struct server_object *fresh, *obj, **bucket;

	fresh = object_new(model, path_fd);
	if (!fresh) {
		close(path_fd);
		return NULL;
	}
	objects_make_room(objects, 1, (unsigned)(hash % SHARDS));
	atomic_fetch_add(&objects->fds, 1);
	pthread_mutex_lock(&shard->lock);
	obj = shard_find(shard, model->exp, &model->id, hash);
	if (!obj) {
		bucket = object_bucket(shard, hash);
		fresh->hash_next = *bucket;
		*bucket = fresh;
		fresh->hashed = true;
		fresh->refs = 1;
		shard->count++;
		obj = fresh;
		fresh = NULL;
	}
	pthread_mutex_unlock(&shard->lock);
	if (fresh)
		object_free(objects, fresh);
	return obj;
}

void server_objects_put(struct server_objects *objects, struct server_object *obj)
{
	struct shard *shard = object_shard(objects, object_hash(objects, obj->exp, &obj->id));
	bool gone = false;

	pthread_mutex_lock(&shard->lock);
	if (--obj->refs == 0) {
		gone = !obj->hashed;
		if (!gone) {
			obj->used_ns = util_clock_ns();
			util_list_add(&shard->lru, &obj->lru);
		}
	}
	pthread_mutex_unlock(&shard->lock);
	if (gone)
		object_free(objects, obj);
}

void server_objects_drop(struct server_objects *objects, struct server_object *obj)
{
	uint64_t hash = object_hash(objects, obj->exp, &obj->id);
	struct shard *shard = object_shard(objects, hash);

	pthread_mutex_lock(&shard->lock);
	if (obj->hashed)
		object_unhash(objects, shard, obj, hash);
	pthread_mutex_unlock(&shard->lock);
}

static bool object_expired(const struct server_object *obj, uint64_t now_ns, uint64_t idle_ns,
			   uint64_t walk_idle_ns)
{
	return obj->used_ns + (obj->id.kind == SERVER_ID_KERNEL ? idle_ns : walk_idle_ns) <= now_ns;
}

/* Move what is past its time from the shard to expired. */
static void shard_expire(struct server_objects *objects, struct shard *shard, uint64_t now_ns,
			 uint64_t idle_ns, uint64_t walk_idle_ns, struct util_list *expired)
{
	pthread_mutex_lock(&shard->lock);
	UTIL_LIST_FOR_EACH_SAFE (node, &shard->lru) {
		struct server_object *obj = UTIL_LIST_ENTRY(node, struct server_object, lru);

		/* The list is in order of age: the shorter patience ends the search. */
		if (obj->used_ns + idle_ns > now_ns)
			break;
		if (!object_expired(obj, now_ns, idle_ns, walk_idle_ns))
			continue;
		util_list_del(node);
		util_list_add(expired, node);
		object_unhash(objects, shard, obj, object_hash(objects, obj->exp, &obj->id));
	}
	pthread_mutex_unlock(&shard->lock);
}

void server_objects_tick(struct server_objects *objects, uint64_t now_ns, uint64_t idle_ns,
			 uint64_t walk_idle_ns, bool *sync_failed)
{
	struct util_list expired, *node;

	util_list_init(&expired);
	for (unsigned i = 0; i < SHARDS; i++)
		shard_expire(objects, &objects->shard[i], now_ns, idle_ns, walk_idle_ns, &expired);
	while ((node = util_list_pop(&expired)))
		object_free(objects, UTIL_LIST_ENTRY(node, struct server_object, lru));
	*sync_failed = atomic_exchange(&objects->sync_failed, false);
}

unsigned server_objects_count(struct server_objects *objects)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&objects->shard[i].lock);
		count += objects->shard[i].count;
		pthread_mutex_unlock(&objects->shard[i].lock);
	}
	return count;
}

unsigned server_objects_fds(struct server_objects *objects)
{
	return atomic_load(&objects->fds);
}

void server_objects_destroy(struct server_objects *objects)
{
	struct server_object *obj;

	if (!objects)
		return;
	for (unsigned i = 0; i < SHARDS; i++) {
		while ((obj = shard_evict(objects, &objects->shard[i])))
			object_free(objects, obj);
		pthread_mutex_destroy(&objects->shard[i].lock);
	}
	free(objects);
}

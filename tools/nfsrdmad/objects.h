/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * objects.h - the files and folders clients are busy with, held open.
 */
#ifndef NFSRDMAD_OBJECTS_H
#define NFSRDMAD_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/nfsrdmad/cred.h"
#include "tools/nfsrdmad/exports.h"
#include "tools/nfsrdmad/handle.h"
#include "util/util.h"

#define SERVER_VERDICTS 4

/* What one identity was found to be allowed, while owner, group and mode stay as they are. */
struct server_verdict {
	struct server_cred cred;
	uint32_t mode, uid, gid;
	unsigned asked, granted; /* R_OK | W_OK | X_OK */
	uint64_t expires_ns;
};

struct server_object {
	/* Of its shard, under the shard's lock. */
	struct server_object *hash_next;
	struct util_list lru; /* while refs is 0 */
	unsigned refs;
	bool hashed;
	uint64_t used_ns;
	/* Fixed from insertion on. */
	const struct server_export *exp;
	struct server_id id;
	struct server_hint hint;
	struct wire_fh fh; /* as clients know it */
	int path_fd;	   /* O_PATH */
	uint32_t type;	   /* S_IFMT bits */
	/* Shared without a lock. */
	_Atomic uint64_t proved_ns; /* when it last was seen beneath its export */
	atomic_uint changers;	    /* changes under way */
	_Atomic uint64_t changes;   /* changes begun, ever */
	atomic_bool unstable;	    /* written since the last sync */
	atomic_bool always_cached;  /* its file system knows no RWF_NOWAIT (tmpfs) */
	/* Under lock (innermost but for the shards'). */
	pthread_mutex_t lock;
	int read_fd, write_fd; /* -1: not open */
	struct server_verdict verdicts[SERVER_VERDICTS];
	unsigned next_verdict;
	/* Held while a folder's entries or an object's attributes change, so that the before and
	 * after of weak cache consistency belong together.  Two folders: lower address first. */
	pthread_mutex_t change;
	uint64_t change_seq; /* of the one under way; 0: not alone */
};

struct server_objects;

/* At most max_fds descriptors, three per object.  -ENOMEM. */
int server_objects_create(struct server_objects **objectsp, unsigned max_fds);
/* No object is referenced any more. */
void server_objects_destroy(struct server_objects *objects);
/* A reference, or NULL. */
struct server_object *server_objects_get(struct server_objects *objects,
					 const struct server_export *exp,
					 const struct server_id *id);
/*
 * Make an object of path_fd, which is taken over in any case.  If another thread was first, its
 * object is returned.  A reference, or NULL: no memory.
 */
struct server_object *server_objects_insert(struct server_objects *objects,
					    const struct server_object *model, int path_fd);
void server_objects_put(struct server_objects *objects, struct server_object *obj);
/* Forget it: it was removed, or its descriptor no longer proves anything.  Users keep it. */
void server_objects_drop(struct server_objects *objects, struct server_object *obj);
/* Note a descriptor of obj opened or about to be; makes room where the limit is reached. */
void server_objects_charge(struct server_objects *objects, unsigned nfds);
/*
 * Let go of what was idle for idle_ns (kernel handles) or walk_idle_ns (walked ones).  sync_failed:
 * data that was written and never committed was lost; tell clients by a new verifier.
 */
void server_objects_tick(struct server_objects *objects, uint64_t now_ns, uint64_t idle_ns,
			 uint64_t walk_idle_ns, bool *sync_failed);
unsigned server_objects_count(struct server_objects *objects);
unsigned server_objects_fds(struct server_objects *objects);

#endif

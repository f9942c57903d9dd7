/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.c - the server's state: made, kept tidy, taken down.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>

#include "tools/nfsrdmad/null.h"

/* How long what nobody uses stays open.  Finding a walked object again is dearer. */
#define IDLE_NS (10 * UTIL_NS_PER_S)
#define WALK_IDLE_NS (60 * UTIL_NS_PER_S)

static const struct server_drc_limits drc_limits = {
	.entries = 16384,
	.bytes = 8U << 20,
	.age_ns = 120 * UTIL_NS_PER_S,
};

void server_verifier_change(struct server *srv)
{
	uint64_t fresh;

	if (util_random_bytes(&fresh, sizeof(fresh)))
		fresh = atomic_load(&srv->verifier) + 1;
	atomic_store(&srv->verifier, fresh);
}

void server_verifier_get(struct server *srv, uint8_t verf[8])
{
	util_put_be64(verf, atomic_load_explicit(&srv->verifier, memory_order_relaxed));
}

static int init_null(struct server *srv)
{
	for (unsigned i = 0; i < srv->exports.count; i++)
		if (!srv->exports.list[i].dir)
			return server_null_create(srv, &srv->exports.list[i]);
	return 0;
}

int server_init(struct server *srv, unsigned max_fds, struct util_err *err)
{
	int ret;

	srv->proof_ns = SERVER_PROOF_NS;
	server_verifier_change(srv);
	server_mounts_init(&srv->mounts);
	server_tally_init(&srv->tally);
	pthread_mutex_init(&srv->miss_lock, NULL);
	ret = server_objects_create(&srv->objects, max_fds);
	if (ret)
		goto err_mounts;
	ret = server_drc_create(&srv->drc, &drc_limits);
	if (ret)
		goto err_objects;
	ret = init_null(srv);
	if (ret)
		goto err_drc;
	return 0;

err_drc:
	server_drc_destroy(srv->drc);
err_objects:
	server_objects_destroy(srv->objects);
err_mounts:
	pthread_mutex_destroy(&srv->miss_lock);
	server_tally_fini(&srv->tally);
	server_mounts_fini(&srv->mounts);
	return util_err_set(err, ret, "set up: %s", strerror(-ret));
}

void server_fini(struct server *srv)
{
	server_null_destroy(srv);
	server_drc_destroy(srv->drc);
	server_objects_destroy(srv->objects);
	pthread_mutex_destroy(&srv->miss_lock);
	server_tally_fini(&srv->tally);
	server_mounts_fini(&srv->mounts);
}

void server_tick(struct server *srv)
{
	uint64_t now = util_clock_ns();
	bool sync_failed;

	server_objects_tick(srv->objects, now, IDLE_NS, WALK_IDLE_NS, &sync_failed);
	if (sync_failed) {
		util_log(srv->log, UTIL_LOG_ERROR,
			 "write-back failed: clients are told to write again");
		server_verifier_change(srv);
	}
	server_drc_tick(srv->drc, now);
}

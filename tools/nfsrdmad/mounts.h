/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mounts.h - who said he mounted what: MOUNT's DUMP list, which proves nothing.
 */
#ifndef NFSRDMAD_MOUNTS_H
#define NFSRDMAD_MOUNTS_H

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "util/util.h"

#define SERVER_MAX_MOUNTS 1024

struct server_mount {
	struct util_list node;
	char host[INET6_ADDRSTRLEN];
	char *path;
};

struct server_mounts {
	pthread_mutex_t lock;
	struct util_list list; /* oldest first */
	unsigned count;
};

void server_mounts_init(struct server_mounts *mounts);
void server_mounts_fini(struct server_mounts *mounts);
/* Once per host and path; the oldest makes room. */
void server_mounts_add(struct server_mounts *mounts, const struct sockaddr_storage *peer,
		       const char *path);
/* path NULL: all of that host. */
void server_mounts_remove(struct server_mounts *mounts, const struct sockaddr_storage *peer,
			  const char *path);

#endif

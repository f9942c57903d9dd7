/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mounts.c - who said he mounted what: MOUNT's DUMP list, which proves nothing.
 *
 * Clients that crash never say UMNT, so the list is a courtesy (RFC 1813 section 5.2.2): bounded,
 * kept in memory, forgotten at the end.
 */
#include "tools/nfsrdmad/mounts.h"

#include <arpa/inet.h>
#include <stdlib.h>

void server_mounts_init(struct server_mounts *mounts)
{
	pthread_mutex_init(&mounts->lock, NULL);
	util_list_init(&mounts->list);
	mounts->count = 0;
}

static void mount_free(struct server_mounts *mounts, struct server_mount *mount)
{
	util_list_del(&mount->node);
	mounts->count--;
	free(mount->path);
	free(mount);
}

void server_mounts_fini(struct server_mounts *mounts)
{
	UTIL_LIST_FOR_EACH_SAFE (node, &mounts->list)
		mount_free(mounts, UTIL_LIST_ENTRY(node, struct server_mount, node));
	pthread_mutex_destroy(&mounts->lock);
}

static void host_text(const struct sockaddr_storage *peer, char host[INET6_ADDRSTRLEN])
{
	const struct sockaddr_in6 *in6 = (const void *)peer;
	const struct sockaddr_in *in = (const void *)peer;

	host[0] = '\0';
	if (peer->ss_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, host, INET6_ADDRSTRLEN);
	else if (peer->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, host, INET6_ADDRSTRLEN);
}

static void remove_matching(struct server_mounts *mounts, const char *host, const char *path)
{
	UTIL_LIST_FOR_EACH_SAFE (node, &mounts->list) {
		struct server_mount *mount = UTIL_LIST_ENTRY(node, struct server_mount, node);

		if (!strcmp(mount->host, host) && (!path || !strcmp(mount->path, path)))
			mount_free(mounts, mount);
	}
}

void server_mounts_add(struct server_mounts *mounts, const struct sockaddr_storage *peer,
		       const char *path)
{
	struct server_mount *mount = calloc(1, sizeof(*mount));

	if (mount)
		mount->path = strdup(path);
	if (!mount || !mount->path) {
		free(mount);
		return;
	}
	host_text(peer, mount->host);
	pthread_mutex_lock(&mounts->lock);
	remove_matching(mounts, mount->host, path);
	if (mounts->count == SERVER_MAX_MOUNTS)
		mount_free(mounts, UTIL_LIST_ENTRY(mounts->list.next, struct server_mount, node));
	util_list_add(&mounts->list, &mount->node);
	mounts->count++;
	pthread_mutex_unlock(&mounts->lock);
}

void server_mounts_remove(struct server_mounts *mounts, const struct sockaddr_storage *peer,
			  const char *path)
{
	char host[INET6_ADDRSTRLEN];

	host_text(peer, host);
	pthread_mutex_lock(&mounts->lock);
	remove_matching(mounts, host, path);
	pthread_mutex_unlock(&mounts->lock);
}

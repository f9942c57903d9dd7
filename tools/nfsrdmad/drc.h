/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drc.h - the duplicate-request cache.
 */
#ifndef NFSRDMAD_DRC_H
#define NFSRDMAD_DRC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "wire/wire.h"

struct server_drc;
struct server_drc_entry;

struct server_drc_limits {
	unsigned entries;
	size_t bytes; /* of replies */
	uint64_t age_ns;
};

enum server_drc_verdict {
	SERVER_DRC_NEW,		/* carry it out, then server_drc_done() or _abort() */
	SERVER_DRC_IN_PROGRESS, /* the first one is not answered yet: drop this one */
	SERVER_DRC_REPLAY,	/* answer with *replyp, to be freed */
	SERVER_DRC_PASS,	/* no memory to remember it */
};

int server_drc_create(struct server_drc **drcp, const struct server_drc_limits *limits);
void server_drc_destroy(struct server_drc *drc);
/* args: the call's arguments as they came; bulk: a read chunk's data or NULL. */
enum server_drc_verdict
server_drc_begin(struct server_drc *drc, const struct sockaddr_storage *peer,
		 const struct wire_rpc_call *call, const struct wire_dec *args, const void *bulk,
		 size_t bulk_len, struct server_drc_entry **entryp, uint8_t **replyp, size_t *lenp);
/* The results that were sent, after the RPC header. */
void server_drc_done(struct server_drc *drc, struct server_drc_entry *entry, const void *reply,
		     size_t len);
/* It was not answered by results: forget it. */
void server_drc_abort(struct server_drc *drc, struct server_drc_entry *entry);
void server_drc_tick(struct server_drc *drc, uint64_t now_ns);
unsigned server_drc_count(struct server_drc *drc);
size_t server_drc_bytes(struct server_drc *drc);

#endif

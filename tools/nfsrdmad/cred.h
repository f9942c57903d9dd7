/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cred.h - on whose behalf a thread touches files.
 */
#ifndef NFSRDMAD_CRED_H
#define NFSRDMAD_CRED_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

#define SERVER_NOBODY 65534

struct server_cred {
	uint32_t uid, gid, ngroups;
	uint32_t groups[WIRE_MAX_GROUPS];
};

/* One thread's present identity; starts as the server's own. */
struct server_identity {
	bool switches;		 /* privileged: acts as callers */
	bool own;		 /* now the server itself */
	struct server_cred self; /* the server's own */
	struct server_cred now;	 /* when !own */
};

/* May this process act as its callers (root's uid and the capabilities for it)? */
bool server_cred_privileged(void);
/* Give up for good every capability that serving files does not need.  Before threads start. */
int server_cred_limit(void);
/* The caller as his call names him, squashed.  AUTH_NONE and a call without credentials: nobody. */
void server_cred_from_call(struct server_cred *cred, const struct wire_rpc_call *call,
			   bool root_squash);
bool server_cred_equal(const struct server_cred *a, const struct server_cred *b);

void server_identity_init(struct server_identity *id, bool privileged);
/* 0, or -EACCES: the kernel does not let us be him (an id outside the user namespace). */
int server_identity_become(struct server_identity *id, const struct server_cred *cred);
void server_identity_self(struct server_identity *id);

#endif

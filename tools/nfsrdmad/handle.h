/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handle.h - what a file handle says, and that we said it.
 */
#ifndef NFSRDMAD_HANDLE_H
#define NFSRDMAD_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nfsrdmad/siphash.h"
#include "wire/wire.h"

enum server_id_kind {
	SERVER_ID_KERNEL = 1, /* the kernel's handle of the object */
	SERVER_ID_WALK = 2,   /* inode number, birth and device; found by walking from the root */
	SERVER_ID_NULL = 3,   /* an object of the null export */
};

/* 64 bytes of handle less 8 of head and 12 of tag. */
#define SERVER_ID_MAX 44

/* Which object of an export; equal bytes mean the same object. */
struct server_id {
	uint8_t kind;
	uint8_t type; /* of a kernel handle */
	uint8_t len;
	uint8_t bytes[SERVER_ID_MAX];
};

/*
 * Where to look for an object that cannot be opened directly, or not be proved to lie beneath its
 * export: for SERVER_ID_KERNEL its folder's kernel handle (same type rules: hint_type), for
 * SERVER_ID_WALK one hash byte per path component, from the root down to the object.
 */
struct server_hint {
	uint8_t type, len;
	uint8_t bytes[SERVER_ID_MAX];
};

struct server_handle {
	uint32_t export_id;
	struct server_id id;
	struct server_hint hint;
};

bool server_id_equal(const struct server_id *a, const struct server_id *b);
/* The hint is cut to what fits (walk) or left out (kernel). */
void server_handle_encode(const uint8_t key[SERVER_KEY_LEN], const struct server_handle *h,
			  struct wire_fh *fh);
/* 0, or -EBADF: not a handle this key signed. */
int server_handle_decode(const uint8_t key[SERVER_KEY_LEN], const struct wire_fh *fh,
			 struct server_handle *h);

#endif

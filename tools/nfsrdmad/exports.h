/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exports.h - what is served, under which names, and to whom.
 */
#ifndef NFSRDMAD_EXPORTS_H
#define NFSRDMAD_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tools/nfsrdmad/handle.h"
#include "util/util.h"

#define SERVER_MAX_EXPORTS 64
#define SERVER_MAX_NETS 64
#define SERVER_NAME_MAX 1024 /* MNTPATHLEN, RFC 1813 appendix I */

struct server_export {
	char *name;  /* "/data", no trailing slash but for "/" alone */
	char *dir;   /* real path; NULL: the null export */
	uint32_t id; /* in handles; survives a restart */
	uint64_t fsid;
	int root_fd;	     /* O_RDONLY|O_DIRECTORY */
	uint64_t dev, ino;   /* of the root */
	bool kernel_handles; /* open_by_handle_at works here */
	bool plain_ids;	     /* overlayfs: birth time and device change under a copy-up */
	bool read_only;
	struct wire_fh root_fh; /* null export, and for tests */
};

/* A network that may come in. */
struct server_net {
	sa_family_t family;
	uint8_t addr[16];
	unsigned bits;
	char text[64];
};

struct server_exports {
	struct server_export list[SERVER_MAX_EXPORTS];
	unsigned count;
	struct server_net nets[SERVER_MAX_NETS];
	unsigned nnets; /* 0: everybody who reaches the listening address */
};

void server_exports_init(struct server_exports *exports);
void server_exports_close(struct server_exports *exports);
/* spec: "DIR" or "DIR=/NAME".  -EINVAL, -EEXIST, -E2BIG, or what opening DIR said. */
int server_exports_add(struct server_exports *exports, const char *spec, struct util_err *err);
int server_exports_add_null(struct server_exports *exports, struct util_err *err);
/* "10.0.0.0/8", "fd00::/8", "192.0.2.1". */
int server_exports_allow(struct server_exports *exports, const char *net, struct util_err *err);
/* Ids, file system ids and whether kernel handles work.  Once the key is known. */
int server_exports_prepare(struct server_exports *exports, const uint8_t key[SERVER_KEY_LEN],
			   bool read_only, struct util_err *err);

/*
 * "/a//b/" -> "/a/b", to be freed; NULL: not absolute, longer than SERVER_NAME_MAX, "." or ".."
 * inside, or no memory.
 */
char *server_path_clean(const char *path);
/* The export with the longest name that is path or a parent of it; *rest: what follows. */
struct server_export *server_exports_match(struct server_exports *exports, const char *path,
					   const char **rest);
struct server_export *server_exports_find(struct server_exports *exports, uint32_t id);
bool server_exports_allowed(const struct server_exports *exports,
			    const struct sockaddr_storage *peer);

#endif

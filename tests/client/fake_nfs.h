/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_nfs.h - an NFSv3 and MOUNT server in a thread, for testing the client.
 *
 * It keeps a small tree in memory and speaks RPC over TCP on a free loopback port.  It is well
 * behaved unless told otherwise: fake_rule() makes it lie, stall, fail or hang up on chosen calls.
 * Files are sparse; one without written bytes reads as a pattern of its offsets, so any size and
 * any offset can be checked.
 */
#ifndef TESTS_CLIENT_FAKE_NFS_H
#define TESTS_CLIENT_FAKE_NFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/nfsrdma.h"
#include "wire/wire.h"

enum fake_action {
	FAKE_STATUS,	  /* answer with status arg, do nothing */
	FAKE_CUT,	  /* do nothing, close the connection */
	FAKE_RUN_AND_CUT, /* do it, then close the connection instead of answering */
	FAKE_SILENT,	  /* neither do it nor answer */
	FAKE_HOLD,	  /* do it, keep the answer until fake_release() */
	FAKE_SHORT,	  /* READ, WRITE: at most arg bytes; no eof unless it is the end */
	FAKE_NO_ATTR,	  /* leave optional attributes (and handles) out */
	FAKE_COUNT_PLUS,  /* READ, WRITE: say arg more than is true */
	FAKE_EMPTY,	  /* READ: no data, no eof.  READDIR: no entries, no end */
	FAKE_CUT_REPLY,	  /* send only the first arg bytes of the results */
	FAKE_GARBAGE,	  /* results are arg bytes of 0xff */
	FAKE_RESTART,	  /* lose what was not committed, take a new verifier, then go on */
	FAKE_UNSTABLE,	  /* WRITE: say it is unstable whatever was asked */
	FAKE_NO_END,	  /* READDIR: leave the terminator and the eof flag out */
	FAKE_SAME_COOKIE, /* READDIR: every entry has cookie arg */
	FAKE_BAD_NAME,	  /* READDIR: one entry is called "a/b" */
	FAKE_RPC_ERROR,	  /* accepted with accept_stat arg */
	FAKE_RANDOM,	  /* results are random bytes of seed arg */
	FAKE_RANDOM_OK,	  /* the same behind a status of 0 */
};

struct fake_nfs;

/* Exports "/export" with an empty root, and "/export/inner" below it. */
struct fake_nfs *fake_start(void);
struct fake_nfs *fake_start_at(uint16_t port);
/* With a folder, a file of 1 MiB in it, and a link to that: /dir, /dir/file, /link. */
struct fake_nfs *fake_start_furnished(void);
void fake_stop(struct fake_nfs *f);
uint16_t fake_port(const struct fake_nfs *f);
/* "nfs://127.0.0.1:PORT/export" + path + "?tcp" + more; static buffer per thread */
const char *fake_url(const struct fake_nfs *f, const char *path, const char *more);
/* Mount it, asserting success. */
struct nfsrdma *fake_mount(const struct fake_nfs *f, const char *more);

/* The next count calls of proc (after skip of them) get action; prog 0: NFS. */
void fake_rule(struct fake_nfs *f, uint32_t proc, unsigned skip, unsigned count,
	       enum fake_action action, uint64_t arg);
void fake_mount_rule(struct fake_nfs *f, uint32_t proc, unsigned skip, unsigned count,
		     enum fake_action action, uint64_t arg);
void fake_clear_rules(struct fake_nfs *f);
void fake_release(struct fake_nfs *f);
/* A callback that stores its count. */
void fake_store(void *arg, ssize_t n);
/* Calls of proc seen (answered or not). */
unsigned fake_calls(struct fake_nfs *f, uint32_t proc);
/* The most calls of any kind that were waiting in one batch, or held at once. */
unsigned fake_peak(struct fake_nfs *f);
/* Arguments of the last READ or WRITE. */
void fake_last_io(struct fake_nfs *f, uint64_t *offset, uint32_t *count, uint32_t *stable);

/* The tree.  path is below /export; parents must exist.  Returns the node's number. */
unsigned fake_dir(struct fake_nfs *f, const char *path);
unsigned fake_file(struct fake_nfs *f, const char *path, uint64_t size);
unsigned fake_link(struct fake_nfs *f, const char *path, const char *target);
void fake_remove(struct fake_nfs *f, const char *path);
/* A directory of n files f0..f(n-1), not kept one by one. */
unsigned fake_big_dir(struct fake_nfs *f, const char *path, uint64_t n);
bool fake_exists(struct fake_nfs *f, const char *path);
uint64_t fake_size(struct fake_nfs *f, const char *path);
/* Does path hold these bytes at off, as a restart would leave them (committed only)? */
bool fake_holds(struct fake_nfs *f, const char *path, uint64_t off, const void *bytes, size_t len,
		bool committed_only);
void fake_deny(struct fake_nfs *f, const char *path); /* ACCESS grants nothing */
void fake_set_sizes(struct fake_nfs *f, uint32_t rtmax, uint32_t wtmax, uint32_t dtpref);
void fake_hide_exports(struct fake_nfs *f); /* EXPORT's list is empty */
void fake_restart(struct fake_nfs *f);
/* The credentials of the last call. */
void fake_cred(struct fake_nfs *f, struct wire_cred *cred);

/* The pattern's byte at an offset. */
static inline uint8_t fake_byte(uint64_t off)
{
	uint64_t x = off * 0x9e3779b97f4a7c15u;

	return (uint8_t)(x >> 56 ^ x >> 32 ^ off);
}

#endif

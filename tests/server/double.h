/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * double.h - a server under test, called without a transport.
 *
 * fixture_open() makes a server with exports in a temporary folder and one worker on this thread.
 * A call: put arguments into fixture_args(), then fixture_call(); its results are in f->res, bulk
 * data back in its place, as they would be on TCP.
 */
#ifndef TESTS_SERVER_DOUBLE_H
#define TESTS_SERVER_DOUBLE_H

#include "tools/nfsrdmad/server.h"
#include "wire/nfs3_xdr.h"

struct fixture {
	char dir[128]; /* temporary; the export is dir/export */
	char export_dir[160];
	struct server *srv;
	struct transport_worker *worker;
	struct server_worker *w;
	struct wire_fh root;
	/* ---- of the next calls */
	uint32_t uid, gid, ngroups, groups[16];
	bool auth_none;
	bool rdma; /* bulk arguments and results apart */
	size_t sink_room, reply_room;
	uint32_t prog, vers, xid;
	struct sockaddr_storage peer;
	const void *bulk;	   /* the next call's read chunk */
	size_t bulk_len, bulk_pos; /* pos 0: at the end of the arguments */
	struct wire_enc args;
	/* ---- of the last call */
	struct wire_dec res; /* after the RPC header */
	bool answered, dropped, refused;
	struct wire_rpc_error error;
	uint32_t status; /* results' first word, taken out of res by fixture_call() */
	uint8_t *reply;
	size_t reply_len;
	size_t data_len; /* of bulk results */
	uint8_t args_buf[2 << 20];
};

enum fixture_flags {
	FIXTURE_WALK = 1,     /* as if the kernel opened no handles */
	FIXTURE_OWN_USER = 2, /* unprivileged: acts as its own user */
	FIXTURE_NO_SQUASH = 4,
	FIXTURE_RO = 8,
	FIXTURE_NULL = 16,
	FIXTURE_NO_URING = 32,
	FIXTURE_FEW_FDS = 64, /* 100 descriptors for open files */
	FIXTURE_APART = 128,  /* files are touched on a thread of their own */
};

/* dir NULL: a fresh temporary folder; else one that exists (another start of the same server). */
struct fixture *fixture_open(unsigned flags, const char *dir);
/* Keep the folder (for another start) or remove it. */
void fixture_close(struct fixture *f, bool keep);
struct wire_enc *fixture_args(struct fixture *f);
/* Run the call to its end.  Returns the status word, or UINT32_MAX when there are no results. */
uint32_t fixture_call(struct fixture *f, uint32_t proc);
/* The same without a status word (MOUNT's lists, NULL). */
void fixture_call_bare(struct fixture *f, uint32_t proc);
/* A path below the export on this machine. */
const char *fixture_path(struct fixture *f, const char *name);
void fixture_file(struct fixture *f, const char *name, const char *text);

/* ---- the usual calls */
uint32_t fixture_lookup(struct fixture *f, const struct wire_fh *dir, const char *name,
			struct wire_fh *fh);
uint32_t fixture_getattr(struct fixture *f, const struct wire_fh *fh, struct wire_attr *attr);
/* Handle and attributes of what a CREATE-like reply tells; false: none. */
bool fixture_made(struct fixture *f, struct wire_fh *fh, struct wire_attr *attr);
uint32_t fixture_create(struct fixture *f, const struct wire_fh *dir, const char *name,
			uint32_t mode, struct wire_fh *fh);
uint32_t fixture_mkdir(struct fixture *f, const struct wire_fh *dir, const char *name,
		       uint32_t mode, struct wire_fh *fh);
uint32_t fixture_name_call(struct fixture *f, uint32_t proc, const struct wire_fh *dir,
			   const char *name);
uint32_t fixture_rename(struct fixture *f, const struct wire_fh *from, const char *name,
			const struct wire_fh *to, const char *new_name);
uint32_t fixture_read(struct fixture *f, const struct wire_fh *fh, uint64_t offset, uint32_t count,
		      struct wire_read_res *res);
uint32_t fixture_write(struct fixture *f, const struct wire_fh *fh, uint64_t offset,
		       const void *data, uint32_t len, enum wire_stable stable,
		       struct wire_write_res *res);
/* Does the kernel open handles below TMPDIR for us? */
bool fixture_has_kernel_handles(void);

#endif

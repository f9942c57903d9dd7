/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.h - the server's state, a request's state, and what the procedures share.
 *
 * struct server is made once (server.c) and shared by all workers; struct server_worker belongs to
 * one thread; struct server_op to one request, from dispatch.c until its reply is handed over.
 */
#ifndef NFSRDMAD_SERVER_H
#define NFSRDMAD_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tools/nfsrdmad/aio.h"
#include "tools/nfsrdmad/counts.h"
#include "tools/nfsrdmad/cred.h"
#include "tools/nfsrdmad/drc.h"
#include "tools/nfsrdmad/exports.h"
#include "tools/nfsrdmad/hand.h"
#include "tools/nfsrdmad/handle.h"
#include "tools/nfsrdmad/mounts.h"
#include "tools/nfsrdmad/objects.h"
#include "transport/transport.h"
#include "util/util.h"
#include "wire/wire.h"

#define SERVER_MAX_DATA (1U << 20)  /* READ and WRITE, bytes */
#define SERVER_DIR_DATA (64U << 10) /* preferred READDIR reply, bytes */
#define SERVER_PROOF_NS (100 * UTIL_NS_PER_MS)
#define SERVER_MISSES 256

/* A handle whose object was searched for in vain, so that it is not searched for again at once. */
struct server_miss {
	uint64_t hash, expires_ns;
};

struct server_null;

struct server {
	struct server_exports exports;
	struct server_objects *objects;
	struct server_drc *drc;
	struct server_mounts mounts;
	struct server_tally tally;
	struct server_null *null; /* NULL: no null export */
	uint8_t key[SERVER_KEY_LEN];
	_Atomic uint64_t verifier; /* of unstable writes: new with every start and every loss */
	bool privileged;	   /* acts as its callers */
	bool apart;		   /* ... on threads of their own: see hand.c */
	bool root_squash;
	bool no_io_uring;
	size_t max_data;   /* of one READ or WRITE */
	uint64_t proof_ns; /* how long a proof holds (resolve.c) */
	const struct util_log *log;
	pthread_mutex_t miss_lock;
	struct server_miss misses[SERVER_MISSES];
};

/* One that waits for the hand to return. */
struct server_answer {
	struct transport_request *req; /* NULL: none */
	bool refused;
	struct wire_rpc_error error;
};

struct server_worker {
	struct server *srv;
	struct server_hand *hand; /* NULL: the worker touches files itself */
	bool on_hand;
	struct server_answer answer;
	struct server_identity identity;
	struct server_aio *aio;
	struct util_list free_ops;
	struct server_counts counts;
	uint8_t *dir_buf; /* SERVER_DIR_BUF bytes for getdents64 */
};

#define SERVER_DIR_BUF (64U << 10)

/* What a failed procedure's results hold beside the status (RFC 1813 section 3.3). */
enum server_fail_shape {
	SERVER_FAIL_BARE,     /* GETATTR */
	SERVER_FAIL_POST,     /* post_op_attr of op->obj */
	SERVER_FAIL_WCC,      /* wcc_data of op->obj */
	SERVER_FAIL_WCC_WCC,  /* RENAME: of op->obj and op->obj2 */
	SERVER_FAIL_POST_WCC, /* LINK: post_op_attr of op->obj, wcc_data of op->obj2 */
};

struct server_op;

struct server_proc {
	void (*handle)(struct server_op *op); /* NULL: answered by dispatch itself */
	enum server_fail_shape shape;
	bool replay;	    /* not idempotent: goes through the reply cache */
	uint32_t legal[20]; /* nfsstat3 it may answer, 0 ends the list */
};

struct server_op {
	struct util_list node; /* the worker's free list */
	struct server *srv;
	struct server_worker *w;
	struct transport_request *req;
	const struct server_proc *proc;
	uint32_t proc_num;
	struct server_cred cred;
	struct server_drc_entry *drc;
	const uint8_t *args_start;
	size_t results_pos; /* where the results begin in req->results */
	uint32_t moved;	    /* bytes READ or WRITE moved, set with their results */
	/* The objects the arguments name, with their attributes when resolved; released at the end.
	 */
	struct server_object *obj, *obj2;
	struct stat st, st2;
	/* What the procedure has gathered for its reply. */
	struct wire_wcc wcc, wcc2;
	/* A reply that waits for the disk. */
	struct server_io io[2];
	unsigned io_pending;
	int io_error;
	void (*then)(struct server_op *op);
	union {
		struct {
			uint64_t offset;
			uint32_t count, done;
			uint8_t *buf;
			int fd;
		} read;
		struct {
			uint64_t offset;
			const uint8_t *data;
			uint32_t count, done, stable;
			int fd;
			uint64_t seq;
		} write;
	} u;
};

/* ---- dispatch.c ------------------------------------------------------------------------- */

void server_dispatch(void *arg, struct transport_request *req);
/*
 * Run what touches files: here, or on the worker's hand.  Whatever procedures and completed file
 * operations do is done inside of this; the worker's own thread never takes another identity then.
 */
void server_run(struct server_worker *w, void (*fn)(void *arg), void *arg);
int server_worker_start(void *arg, struct transport_worker *worker);
void server_worker_stop(void *arg, struct transport_worker *worker);
extern const struct server_proc server_procs[WIRE_NFS3_PROC_COUNT];

/* Begin results of at most max bytes.  false: the op is answered (an RPC error). */
bool server_begin_bare(struct server_op *op, size_t max);
/* The same, and put NFS3_OK. */
bool server_begin(struct server_op *op, size_t max);
/* Send what was put; the op is gone. */
void server_reply(struct server_op *op);
/* Answer with the status of a negative errno, and attributes as the procedure's shape wants. */
void server_fail(struct server_op *op, int err);
void server_fail_status(struct server_op *op, uint32_t status);
/*
 * The object at fh, the first of the decoded arguments, into op->obj and op->st.  false: they did
 * not decode, or there is no such object, and the op is answered.
 */
bool server_target(struct server_op *op, const struct wire_fh *fh);
/* How a change of op->obj alone ends, once it is safe on disk: its wcc data, or the sync's error.
 */
void server_wcc_reply(struct server_op *op);
/* An RPC error instead of results. */
void server_refuse(struct server_op *op, const struct wire_rpc_error *error);
/* Arguments that do not decode. */
void server_garbage(struct server_op *op);
/* Bulk data that came in a read chunk belongs where the arguments stand now (RFC 8166 section 3.4).
 */
bool server_bulk_belongs(const struct server_op *op);
/* errno (positive) as the nearest status the procedure may answer. */
uint32_t server_status(const struct server_proc *proc, int error);

/* ---- server.c --------------------------------------------------------------------------- */

/* Exports are added by the caller, key and flags set.  -ENOMEM or as exports say. */
int server_init(struct server *srv, unsigned max_fds, struct util_err *err);
void server_fini(struct server *srv);
/* Now and then, from the main thread: idle descriptors, old replies. */
void server_tick(struct server *srv);
/* Data acknowledged as unstable may be lost: clients must write again. */
void server_verifier_change(struct server *srv);
void server_verifier_get(struct server *srv, uint8_t verf[8]);

/* ---- resolve.c -------------------------------------------------------------------------- */

/*
 * The object of a handle, proved beneath its export, and its attributes.  Leaves the thread with
 * the server's own identity or the caller's as it was.  -EBADF, -ESTALE, -ENOMEM, -EMFILE, -EIO.
 */
int server_resolve(struct server_worker *w, const struct wire_fh *fh, struct server_object **objp,
		   struct stat *st);
/*
 * The object open at path_fd (O_PATH, taken over in any case), found in folder parent (NULL: it is
 * the export's root).
 */
int server_adopt(struct server_worker *w, const struct server_export *exp,
		 const struct server_object *parent, int path_fd, struct server_object **objp,
		 struct stat *st);
/* The export's root. */
int server_root(struct server_worker *w, const struct server_export *exp,
		struct server_object **objp, struct stat *st);
bool server_is_root(const struct server_object *obj, const struct stat *st);
/* Handle of what is open at fd (O_PATH), seen in folder parent, without keeping it. */
int server_handle_of(struct server_worker *w, const struct server_object *parent, int fd,
		     const struct stat *st, struct wire_fh *fh);
/* Open one component of dir: never a link's target, never across a mount point.  fd or -errno. */
int server_open_at(int dirfd, const char *name, int flags);
/* Does what is open at fd lie beneath its export now? */
bool server_proved(const struct server_export *exp, int fd);

/* ---- walk.c ----------------------------------------------------------------------------- */

/* As getdents64(2) returns them. */
struct server_dirent {
	uint64_t d_ino;
	int64_t d_off;
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

/* Find an object by its id beneath folder dirfd alone, or beneath the export.  O_PATH fd, or
 * -ESTALE. ino: its inode number. */
int server_find_in(const struct server_export *exp, int dirfd, const struct server_id *id,
		   uint64_t ino);
int server_find_below(const struct server_export *exp, const struct server_id *id, uint64_t ino,
		      const struct server_hint *chain);
uint8_t server_chain_byte(uint64_t ino);
/* Id of what is open at fd.  0 or -errno. */
int server_id_of(const struct server_export *exp, int fd, const struct stat *st,
		 struct server_id *id);

/* ---- access.c --------------------------------------------------------------------------- */

/* Take the caller's identity.  0 or -EACCES. */
int server_as_caller(struct server_op *op);
void server_as_self(struct server_worker *w);
/* Which of R_OK, W_OK, X_OK the caller has, as the kernel says. */
unsigned server_granted(struct server_op *op, struct server_object *obj, const struct stat *st,
			unsigned want);
/* May the caller read, or write, data of this regular file?  0 or -EACCES. */
int server_may_read(struct server_op *op, struct server_object *obj, const struct stat *st);
int server_may_write(struct server_op *op, struct server_object *obj, const struct stat *st);
/* The object's descriptor for reading (files and folders) or writing, opened when needed.  Stays
 * the object's. */
int server_read_fd(struct server_op *op, struct server_object *obj);
int server_write_fd(struct server_op *op, struct server_object *obj);
/* Any descriptor that can be synced; negative: there is none (a link, a folder nobody may read). */
int server_sync_fd(struct server_op *op, struct server_object *obj);

/* ---- attr.c ----------------------------------------------------------------------------- */

void server_attr(const struct server_export *exp, const struct stat *st, struct wire_attr *attr);
void server_post(const struct server_export *exp, const struct stat *st,
		 struct wire_post_attr *post);
void server_pre(const struct stat *st, struct wire_pre_attr *pre);
/* Attributes of obj as they are now. */
void server_post_now(struct server_object *obj, struct wire_post_attr *post);
/*
 * A change of obj begins; it was the only one if leave() with the result says so.  Without a lock:
 * for WRITE, which may wait in between.
 */
uint64_t server_change_enter(struct server_object *obj);
bool server_change_leave(struct server_object *obj, uint64_t seq);
/* Between them, obj's entries or attributes change and before and after belong together. */
void server_change_begin(struct server_object *obj, struct wire_wcc *wcc);
void server_change_end(struct server_object *obj, struct wire_wcc *wcc);
/* Apply sattr3 to what is open at path_fd, as the caller; write_fd for the size, or -1. */
int server_set_attr(struct server_op *op, const struct wire_sattr *sattr, int path_fd,
		    int write_fd);
/* A name from the wire as a string.  0, -ENAMETOOLONG, -EACCES (empty, '/' or NUL inside), -EINVAL
 * with d->bad set. */
int server_name(struct wire_dec *d, char name[WIRE_NAME_MAX + 1]);
/* "." or ".." */
bool server_name_dots(const char *name);

/* ---- sync.c ----------------------------------------------------------------------------- */

/* Sync up to two descriptors (-1: none), then op->then(op) with op->io_error. */
void server_sync(struct server_op *op, int fd1, int fd2, bool data_only,
		 void (*then)(struct server_op *op));

/* ---- procedures ------------------------------------------------------------------------- */

void server_proc_getattr(struct server_op *op);
void server_proc_setattr(struct server_op *op);
void server_proc_access(struct server_op *op);
void server_proc_lookup(struct server_op *op);
void server_proc_readlink(struct server_op *op);
void server_proc_read(struct server_op *op);
void server_proc_write(struct server_op *op);
void server_proc_commit(struct server_op *op);
void server_proc_create(struct server_op *op);
void server_proc_mkdir(struct server_op *op);
void server_proc_symlink(struct server_op *op);
void server_proc_mknod(struct server_op *op);
void server_proc_remove(struct server_op *op);
void server_proc_rmdir(struct server_op *op);
void server_proc_rename(struct server_op *op);
void server_proc_link(struct server_op *op);
void server_proc_readdir(struct server_op *op);
void server_proc_readdirplus(struct server_op *op);
void server_proc_fsstat(struct server_op *op);
void server_proc_fsinfo(struct server_op *op);
void server_proc_pathconf(struct server_op *op);
/* MOUNT, all of it. */
void server_mount_dispatch(struct server_op *op);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - the objects of client/ and who calls whom.
 *
 * Floors, from the top:
 *
 *   the API          file.c name.c attr.c link.c dir.c fs.c info.c stats.c mount.c
 *   paths            path.c               a walk of LOOKUPs
 *   bulk I/O         io.c read.c write.c unstable.c commit.c copy.c
 *   one procedure    call.c               struct client_op: a call with its waits and retries
 *   driving          drive.c              whose turn it is, time, the descriptor
 *   transport.h
 *
 * A mount is confined to one thread at a time, so nothing below has a lock.  What several threads
 * may touch is a nfsrdma_ctx (its count is atomic) and a nfsrdma_buf (hold and refs are atomic).
 *
 * Errors.  Inside, functions return 0 or -errno and put words for the user into mount->err
 * (struct util_err); the API function that was called hands them to client_fail(), which makes them
 * the thread's last error.
 */
#ifndef NFSRDMA_CLIENT_INTERNAL_H
#define NFSRDMA_CLIENT_INTERNAL_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "client/nfsrdma.h"
#include "client/options.h"
#include "transport/transport.h"

#define CLIENT_PORT_RDMA 20049
#define CLIENT_PORT_TCP 2049
#define CLIENT_MAX_CONNS 16
#define CLIENT_MAX_ADDRS 16
#define CLIENT_MAX_LINKS 40	     /* symlinks in one walk, as path_resolution(7) */
#define CLIENT_IO_MAX (1024u * 1024) /* of one READ or WRITE, as the kernel's client */
#define CLIENT_MOUNT_CALL_MS 10000   /* one call while mounting */
#define CLIENT_RPCBIND_MS 2000
#define CLIENT_UMNT_MS 1000

struct client_io;
struct client_range;

/* ---- error.c ---------------------------------------------------------------------------- */

#define CLIENT_HINT_IDS "the server decides by uid, gid and groups (root may be squashed)"

/*
 * Make "doing path: what" the thread's last error and return code.  path NULL: none.  err, may be
 * NULL, has the words; without words strerror() serves.  nfs_status 0: none.
 */
int client_fail(int code, const char *doing, const char *path, const struct util_err *err,
		uint32_t nfs_status);
/* Take err as it stands. */
int client_fail_err(int code, const struct util_err *err);

/* ---- ctx.c ------------------------------------------------------------------------------ */

struct nfsrdma_ctx {
	struct transport_ctx *transport;
	_Atomic unsigned refs;	   /* the creator's and one per mount */
	pthread_mutex_t bufs_lock; /* every mount's list of buffers; nests inside nothing */
};

void client_ctx_get(struct nfsrdma_ctx *ctx);
void client_ctx_put(struct nfsrdma_ctx *ctx);

/* ---- resolve.c -------------------------------------------------------------------------- */

struct client_addrs {
	unsigned n;
	struct sockaddr_storage addr[CLIENT_MAX_ADDRS];
	socklen_t len[CLIENT_MAX_ADDRS];
};

/* family 0: any.  Ports are set to port.  -EHOSTUNREACH no such name; -EAGAIN the resolver did not
 * answer. */
int client_resolve(struct client_addrs *addrs, const char *host, int family, uint16_t port,
		   struct util_err *err);
void client_addr_set_port(struct sockaddr_storage *addr, uint16_t port);
uint16_t client_addr_port(const struct sockaddr_storage *addr);
/* "127.0.0.1:20049", "[::1]:20049" */
const char *client_addr_format(const struct sockaddr_storage *addr, char *out, size_t len);

/* ---- cred.c ----------------------------------------------------------------------------- */

/* The process's ids (or uid= and gid=), AUTH_SYS. */
void client_cred_init(struct wire_cred *cred, const struct client_options *o);

/* ---- the mount -------------------------------------------------------------------------- */

struct nfsrdma {
	struct nfsrdma_ctx *ctx;
	struct client_options opts;
	struct client_target target;
	struct util_log log;
	void (*user_log)(void *arg, enum nfsrdma_log_level level, const char *line);
	void *user_log_arg;
	struct wire_cred cred;

	/* connections: calls go round */
	struct transport_client *conn[CLIENT_MAX_CONNS];
	unsigned nconns, next_conn;
	struct transport_client *aux; /* to mountd, while mounting */
	struct sockaddr_storage addr; /* the server's, with the NFS port */
	socklen_t addr_len;
	enum client_proto proto;
	uint32_t call_limit_ms; /* no call lasts longer, however hard the mount; 0: no limit */

	/* what is mounted */
	char export_path[WIRE_PATH_MAX + 1], root_path[WIRE_PATH_MAX + 1];
	struct sockaddr_storage mountd_addr; /* for UMNT; ss_family 0: over the NFS connection */
	struct wire_fh export_root, root;
	bool mounted; /* MNT was answered: UMNT is due */
	uint32_t rsize, wsize, dtsize, window;

	/* driving */
	struct util_list delayed; /* client_op: JUKEBOX waits, soonest first */
	struct util_list ready;	  /* client_io: finished outside process() */
	struct util_list starved; /* client_io: cannot go on until memory or a COMMIT comes back */
	unsigned outstanding;	  /* the user's asynchronous calls */
	unsigned callbacks;	  /* run, ever */
	unsigned in_callback;	  /* the user's code is on the stack */
	bool in_progress;	  /* driving is on the stack */
	bool closing, umount_due;
	int epoll_fd, timer_fd; /* -1 until nfsrdma_fd() */
	uint64_t timer_ns;	/* what timer_fd is set to, 0 disarmed, 1: at once */

	/* I/O */
	struct util_list files, dirs, bufs;
	struct util_list free_chunks, free_ios, free_ranges, free_staging;
	struct util_list slabs;	   /* memory of the free lists */
	unsigned staging_out;	   /* staging buffers in flight */
	uint64_t dirty, dirty_max; /* bytes of staging held for unstable writes */

	struct util_err err; /* of the last failure inside */
	uint32_t nfs_status;
};

/* A sync call may begin: 0, -EDEADLK inside a callback, -ESHUTDOWN. */
int client_enter(struct nfsrdma *mount, const char *doing, const char *path);
/* The same for one that changes something: -EROFS on a read-only mount. */
int client_enter_change(struct nfsrdma *mount, const char *doing, const char *path);
/* client_fail() with the mount's last words. */
int client_fail_mount(struct nfsrdma *mount, int code, const char *doing, const char *path);
/* Set mount->err and return code. */
int client_error(struct nfsrdma *mount, int code, const char *fmt, ...) UTIL_PRINTF(3, 4);

/* ---- drive.c ---------------------------------------------------------------------------- */

/*
 * Process every connection, delayed calls, ready and starved I/O; where that found nothing to do,
 * sleep at most timeout_ms (-1: for ever) and do it once more.
 */
void client_drive(struct nfsrdma *mount, int timeout_ms);
/* Run the user's callback of one asynchronous call. */
void client_callback(struct nfsrdma *mount, nfsrdma_done *done, void *arg, ssize_t n);
/* The descriptor follows what was submitted, delayed or made ready; for whoever sleeps on it next.
 */
void client_rearm(struct nfsrdma *mount);
void client_drive_close(struct nfsrdma *mount);

/* ---- call.c: one procedure call, asynchronous ------------------------------------------- */

/*
 * An operation is one call that may be sent several times: JUKEBOX makes it wait and go again.
 * prepare() writes the arguments for each sending; reply() reads results that carry NFS3_OK or any
 * other status but JUKEBOX; done() runs once.  Owned by whoever embeds it, from client_op_start()
 * to done() by the mount.
 */
struct client_op;
struct client_op_ops {
	void (*prepare)(struct client_op *op, struct transport_call *call);
	/* 0 or -EBADMSG; call->results stands at the results. */
	int (*reply)(struct client_op *op, struct transport_call *call);
	void (*done)(struct client_op *op);
};

struct client_op {
	struct util_list node;
	struct nfsrdma *mount;
	struct transport_client *conn; /* NULL: whose turn it is */
	const struct client_op_ops *ops;
	uint32_t prog, vers, proc;
	bool idempotent;
	/* outcome */
	struct util_err err; /* code 0: results were read */
	uint32_t status;     /* nfsstat3 or mountstat3 */
	bool replayed;	     /* the server may have run it twice */
	/* private */
	uint64_t due_ns, start_ns;
	unsigned delays;
};

void client_op_init(struct client_op *op, struct nfsrdma *mount, uint32_t proc,
		    const struct client_op_ops *ops);
/* 0: done() will run from client_drive(); else nothing happened, words in op->err. */
int client_op_start(struct client_op *op);
/* What op ended with, as 0 or -errno, with words in mount->err. */
int client_op_result(struct client_op *op);
/* Fail everything that waits; for umount. */
void client_op_cancel_delayed(struct nfsrdma *mount);

/* ---- proc.c: one procedure call, synchronous -------------------------------------------- */

/*
 * Arguments are written once into args (without bulk data), results are copied to where res reads
 *them.
 *
 *	client_proc_init(&p, mount, WIRE_NFS3_LOOKUP);
 *	wire_put_fh(&p.args, dir);
 *	err = client_proc_run(&p);          p.res stands after the status
 */
struct client_proc {
	struct client_op op;
	struct wire_enc args;
	struct wire_dec res;
	bool finished;
	/* bulk argument (SYMLINK) or bulk result (READLINK) */
	struct transport_seg bulk;
	bool bulk_out, bulk_in, data_sunk;
	ssize_t (*find_data)(const uint8_t *results, size_t len, size_t *data_len);
	size_t reply_max;
	uint8_t *results; /* copied here: small, or what the caller gave */
	size_t results_size, results_len;
	bool no_status; /* results do not begin with a status word */
	bool grow;	/* results is malloc()ed to fit; the caller frees it */
	uint8_t small[512];
	uint8_t arg_bytes[TRANSPORT_MSG_MAX];
};

void client_proc_init(struct client_proc *p, struct nfsrdma *mount, uint32_t proc);
/*
 * 0: answered with status 0; -errno of a status, or of a call that failed, words in mount->err.
 * p->op.status tells them apart.
 */
int client_proc_run(struct client_proc *p);
/* After results were read: 0, or -EIO when the reply was cut short or malformed. */
int client_proc_check(struct client_proc *p);

/* ---- procedures, one file per group ----------------------------------------------------- */

struct client_node {
	struct wire_fh fh;
	struct wire_post_attr attr;
};

int client_getattr(struct nfsrdma *mount, const struct wire_fh *fh, struct wire_attr *attr);
int client_setattr(struct nfsrdma *mount, const struct wire_fh *fh, const struct wire_sattr *set);
int client_access(struct nfsrdma *mount, const struct wire_fh *fh, uint32_t want, uint32_t *gotp);
int client_lookup(struct nfsrdma *mount, const struct wire_fh *dir, const char *name,
		  struct client_node *node);
/* Make sure node->attr is present. */
int client_node_attr(struct nfsrdma *mount, struct client_node *node);
int client_readlink(struct nfsrdma *mount, const struct wire_fh *fh, char *out, size_t out_len);
void client_attr_stat(const struct wire_attr *attr, struct stat *st);

/* RFC 1813 section 3.3.8 */
enum client_create_mode { CLIENT_UNCHECKED, CLIENT_GUARDED, CLIENT_EXCLUSIVE };
int client_create(struct nfsrdma *mount, const struct wire_fh *dir, const char *name,
		  enum client_create_mode how, const struct wire_sattr *set,
		  struct client_node *node);

struct client_fsinfo {
	uint32_t rtmax, wtmax, dtpref;
};
int client_fsinfo(struct nfsrdma *mount, const struct wire_fh *fh, struct client_fsinfo *info);

/* types of RFC 1813 section 2.6, access bits of section 3.3.4 */
enum client_type {
	CLIENT_REG = 1,
	CLIENT_DIR,
	CLIENT_BLK,
	CLIENT_CHR,
	CLIENT_LNK,
	CLIENT_SOCK,
	CLIENT_FIFO
};
enum client_access_bit {
	CLIENT_MAY_READ = 1,
	CLIENT_MAY_LOOKUP = 2,
	CLIENT_MAY_MODIFY = 4,
	CLIENT_MAY_EXTEND = 8,
	CLIENT_MAY_DELETE = 16,
	CLIENT_MAY_EXECUTE = 32
};

/* ---- path.c ----------------------------------------------------------------------------- */

enum client_walk_flags {
	CLIENT_WALK_FOLLOW = 1, /* a symlink at the end, too */
	CLIENT_WALK_PARENT = 2, /* stop before the last name: it is to be made or removed */
	CLIENT_WALK_MAYBE = 4,	/* the last name need not exist */
};

struct client_walk {
	struct client_node node; /* what the path names; not with PARENT */
	bool exists;
	struct wire_fh parent;	      /* of the last name */
	char name[WIRE_NAME_MAX + 1]; /* the last name; "" for the root, "." and ".." as they are */
	bool trailing_slash;	      /* the path ended in '/': a directory is meant */
};

/* words in mount->err */
int client_walk(struct nfsrdma *mount, const char *path, unsigned flags, struct client_walk *walk);

/* ---- mountproto.c: MOUNT version 3 ------------------------------------------------------ */

int client_mnt(struct nfsrdma *mount, struct transport_client *conn, const char *path,
	       struct wire_mnt_res *res);
int client_umnt(struct nfsrdma *mount, struct transport_client *conn, const char *path);
/* The whole EXPORT reply, malloc()ed: *bytesp is the caller's, dec stands at the list. */
int client_exports(struct nfsrdma *mount, struct transport_client *conn, uint8_t **bytesp,
		   struct wire_dec *dec);

/* ---- connect.c, mountd.c, export.c, mount.c --------------------------------------------- */

/*
 * A mount with its options parsed and its context there, but no connection; words for the user in
 * err.  server_only: target names a server.
 */
int client_mount_new(struct nfsrdma **mountp, const char *target, bool server_only,
		     const struct nfsrdma_options *opts, struct util_err *err);
void client_mount_free(struct nfsrdma *mount);
/* rsize and wsize in force, from what FSINFO said. */
void client_mount_sizes(struct nfsrdma *mount, const struct client_fsinfo *info);
/* Connect to the server, all addresses in turn, each once. */
int client_connect(struct nfsrdma *mount);
void client_disconnect(struct nfsrdma *mount);
/* info.c */
void client_log_policy(struct nfsrdma *mount);
/* What transport_client_create() is told for an RPC/TCP connection to addr. */
void client_params(const struct nfsrdma *mount, struct transport_client_params *params);
/* Could the same attempt succeed a little later? */
bool client_transient(int err);

/*
 * Where MOUNT is answered: call fn with each connection worth asking, in order, until it returns
 * 0 or there is no other.
 */
typedef int client_mountd_fn(struct nfsrdma *mount, struct transport_client *conn, void *arg);
int client_mountd(struct nfsrdma *mount, client_mountd_fn *fn, void *arg);
void client_mountd_umnt(struct nfsrdma *mount);

/* Find the export of target.path by conn and its root handle (export_path, export_root, root_path).
 */
int client_export_find(struct nfsrdma *mount, struct transport_client *conn);
/* Is export a whole-component prefix of path?  Its length, or 0; "/" is one of everything. */
size_t client_export_match(const char *export, size_t len, const char *path);

/* ---- buf.c ------------------------------------------------------------------------------ */

/*
 * hold says who may still have the memory touched: the top bit is the user's (or the chunk's, of a
 * staging buffer) until put, the rest counts I/O in flight and, of staging, remembered ranges.  The
 * lease goes back when it reaches 0.  ranges are the remembered unstable writes whose bytes are
 * here; I/O that uses the same bytes again marks them gone.  Buffers may serve mounts in several
 * threads, so that list has a lock.
 */
#define CLIENT_BUF_OWNED 0x80000000u
#define CLIENT_BUF_CELLS 256

struct nfsrdma_buf {
	struct util_list node; /* mount->bufs (ctx->bufs_lock) or mount->free_staging */
	struct nfsrdma *mount; /* whose list it is on */
	struct mr_lease *lease;
	void *addr;
	size_t len;
	int flags;
	bool staging;	/* the library's own: reused, never freed */
	bool abandoned; /* umount took it from the user (ctx->bufs_lock) */
	_Atomic uint32_t hold;
	_Atomic uint32_t refs;	  /* of this struct */
	pthread_mutex_t lock;	  /* ranges, and what they say of this buffer; innermost */
	struct util_list ranges;  /* client_range by buf_node */
	_Atomic unsigned nranges; /* so that nobody locks for nothing */
};

/* I/O begins; false when the buffer was handed back. */
bool client_buf_hold(struct nfsrdma_buf *buf);
void client_buf_release(struct nfsrdma_buf *buf);
/* I/O is about to use [off, off+len): what was remembered there is gone. */
void client_buf_touch(struct nfsrdma_buf *buf, size_t off, size_t len);
void client_buf_remember(struct client_range *range);
void client_buf_forget(struct client_range *range);
/* The range is now len bytes at buf_off. */
void client_buf_resize(struct client_range *range, size_t buf_off, uint32_t len);
void client_buf_ref(struct nfsrdma_buf *buf);
void client_buf_unref(struct nfsrdma_buf *buf);
/* End the owner's hold. */
void client_buf_disown(struct nfsrdma_buf *buf);
/* A library-owned buffer of len bytes for ordinary memory, until client_buf_disown().  -ENOMEM. */
int client_staging_get(struct nfsrdma *mount, size_t len, int flags, struct nfsrdma_buf **bufp);
/* The same, of the caller's memory: -EFAULT, -ENOMEM: it cannot be had, which is counted. */
int client_staging_borrow(struct nfsrdma *mount, void *mem, size_t len, int flags,
			  struct nfsrdma_buf **bufp);
/*
 * At umount: take the mount's buffers from the user, so that their memory goes back as soon as no
 * I/O needs it.  He may still put them, in callbacks; client_bufs_free() ends that.
 */
void client_bufs_abandon(struct nfsrdma *mount);
void client_bufs_free(struct nfsrdma *mount);

/* ---- io.c ------------------------------------------------------------------------------- */

enum client_io_kind { CLIENT_IO_READ, CLIENT_IO_WRITE, CLIENT_IO_SYNC };

/*
 * One pread, pwrite or fsync of the caller's, cut into chunks of rsize or wsize.  Of chunks that
 * fail or meet end of file the lowest decides: end is where the contiguous good bytes stop.
 */
struct client_io {
	struct util_list node;	    /* mount->ready, mount->starved or file->syncs */
	struct util_list file_node; /* file->writes: a write in flight */
	struct nfsrdma_file *file;
	enum client_io_kind kind;
	enum wire_stable stable; /* writes */
	const struct nfsrdma_iov *iov;
	int iovcnt;
	struct nfsrdma_iov one;
	char *mem; /* ordinary memory instead of iov */
	uint64_t off;
	size_t len, next, end;
	unsigned inflight;
	uint64_t seq;	 /* order of submission within the file */
	bool rewrite;	 /* the library's own: goes ahead of blocked writes */
	bool submitting; /* submit is on the stack: no callback yet */
	bool joined;	 /* fsync: waits for the COMMIT that runs */
	uint32_t nfs_status;
	bool finished;
	ssize_t result;
	nfsrdma_done *done; /* NULL: somebody waits for finished */
	void (*internal_done)(struct client_io *io);
	void *arg;
	struct util_err err; /* last, so that the rest can be zeroed cheaply */
};

struct client_chunk {
	struct client_op op;
	struct client_io *io;
	size_t pos; /* within the io */
	uint32_t len, got;
	enum wire_stable stable;
	struct nfsrdma_buf *staging;
	/* results */
	uint32_t count;
	bool eof;
	uint32_t committed;
	uint8_t verf[8];
};

struct client_io *client_io_get(struct nfsrdma_file *file, enum client_io_kind kind);
/* Start or go on; finishes it when there is nothing left to do. */
void client_io_issue(struct client_io *io);
/* Nothing is wanted from pos on: end of file (err NULL) or an error there. */
void client_io_limit(struct client_io *io, size_t pos, const struct util_err *err, uint32_t status);
/* io has its outcome: run its callback now if progress is on the stack, else from the ready list.
 */
void client_io_finish(struct client_io *io);
/* Let go of everything and tell whoever waits. */
void client_io_complete(struct client_io *io);
/*
 * Where [pos, pos+*lenp) of the io lies.  *lenp shrinks to what TRANSPORT_MAX_SEGS pieces hold.
 * staging, at chunk_pos, stands in for ordinary memory when not NULL.
 */
unsigned client_io_segs(const struct client_io *io, const struct client_chunk *chunk, size_t pos,
			uint32_t *lenp, struct transport_seg *segs);
/* Retry what could not go on. */
void client_io_unstarve(struct nfsrdma *mount);
/* Wait for a synchronous one; its result, with words in mount->err.  io is gone. */
ssize_t client_io_wait(struct client_io *io);
extern const struct client_op_ops client_read_ops, client_write_ops;
/* A chunk's call was answered well and it is through, or not (err in op, or status). */
void client_chunk_end(struct client_chunk *chunk, const struct util_err *err, uint32_t status);
void client_chunk_again(struct client_chunk *chunk);
/* An object of size bytes whose first member is its struct util_list; NULL: no memory. */
void *client_pool_take(struct nfsrdma *mount, struct util_list *list, size_t size);
void client_pools_init(struct nfsrdma *mount);
void client_pools_free(struct nfsrdma *mount);

/* ---- unstable.c, commit.c --------------------------------------------------------------- */

#define CLIENT_MAX_RANGES                                                                          \
	1024 /* remembered with their buffers, per file; COMMIT starts at half                     \
	      */
#define CLIENT_MAX_LOST 8

struct client_lost { /* written, unstable, and not in any buffer any more */
	uint8_t verf[8];
	uint64_t start, end;
};

struct client_unstable {
	struct util_list held; /* client_range, oldest first */
	unsigned nheld;
	uint64_t low, high; /* file range that covers held */
	struct client_lost lost[CLIENT_MAX_LOST];
	unsigned nlost;
};

struct nfsrdma_file {
	struct util_list node; /* mount->files */
	struct nfsrdma *mount;
	struct wire_fh fh;
	char *path;
	bool readable, writable, append;
	bool dir;
	enum wire_stable stable;
	uint64_t append_pos;
	unsigned ios; /* in flight, of every kind */
	uint64_t seq;
	struct util_list writes;	   /* client_io by file_node, oldest first */
	struct util_list syncs;		   /* client_io: fsyncs not yet done */
	struct client_unstable now;	   /* since the last COMMIT was sent */
	struct client_unstable committing; /* what the COMMIT in flight covers */
	struct client_op commit;
	uint8_t commit_verf[8];
	bool commit_running, commit_wanted;
	bool rewriting; /* ordinary writes wait */
	unsigned rewrites;
	struct util_err sync_err; /* the current round's, or a background COMMIT's */
	uint32_t sync_status;
};

/* Forget it; nothing of it is in flight. */
void client_file_free(struct nfsrdma_file *file);
/* Is fh this file's handle? */
bool client_file_is(const struct nfsrdma_file *file, const struct wire_fh *fh);
void client_dirs_free(struct nfsrdma *mount);

void client_unstable_init(struct client_unstable *u);
/*
 * A WRITE of the chunk's next count bytes was answered: older copies of them are void, and if the
 * answer was UNSTABLE, where they are is remembered.
 */
void client_unstable_wrote(struct client_chunk *chunk, uint32_t count);
/* Could another range be remembered with its buffer?  (Else the write had better be FILE_SYNC.) */
bool client_unstable_room(struct nfsrdma_file *file);
/* Are the range's bytes still in its buffer? */
bool client_range_intact(const struct client_range *range);
/* Everything of from goes behind what is in to. */
void client_unstable_move(struct client_unstable *to, struct client_unstable *from);
/* [start, end) was written anew: forget older copies. */
void client_unstable_overwrite(struct nfsrdma_file *file, struct client_unstable *u, uint64_t start,
			       uint64_t end);
/* Forget all; gives staging back. */
void client_unstable_drop(struct nfsrdma_file *file, struct client_unstable *u);
bool client_unstable_empty(const struct client_unstable *u);
/* Remove the range; its staging goes back. */
void client_range_drop(struct nfsrdma_file *file, struct client_unstable *u,
		       struct client_range *range);
void client_lost_add(struct client_unstable *u, const uint8_t verf[8], uint64_t start,
		     uint64_t end);
/* Move held ranges whose buffers went on to other things to lost. */
void client_unstable_sweep(struct nfsrdma_file *file, struct client_unstable *u);
/* Give staging of the oldest ranges back until the mount's dirty bytes are within bounds. */
void client_unstable_shed(struct nfsrdma_file *file, struct client_unstable *u);

struct client_range {
	struct util_list node;
	uint64_t off;
	uint32_t len;
	uint8_t verf[8];
	struct nfsrdma_buf *buf;
	size_t buf_off;
	bool staging;	   /* buf is the library's, and held */
	_Atomic bool gone; /* the buffer went on to other things */
	struct util_list buf_node;
};

/* Through any file of the mount with this handle, the file was cut to size. */
void client_unstable_truncated(struct nfsrdma *mount, const struct wire_fh *fh, uint64_t size);
/* Let files with this handle finish what they write again, before it is cut. */
void client_rewrite_wait(struct nfsrdma *mount, const struct wire_fh *fh);
/* A write of a file that is rewriting came to rest. */
void client_rewrite_kick(struct nfsrdma_file *file);
/* Start a COMMIT if one is wanted and may start now. */
void client_commit_kick(struct nfsrdma_file *file);
/* Ask for one in the background; errors show at the next fsync. */
void client_commit_background(struct nfsrdma_file *file);
void client_commit_all(struct nfsrdma *mount);

#endif

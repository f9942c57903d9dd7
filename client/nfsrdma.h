/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfsrdma.h - an NFSv3 client that moves file data by RDMA and keeps its memory registered.
 *
 * Conventions
 *   - Functions return 0 (or a count) on success and -errno on failure; nfsrdma_strerror_last() has
 * the sentence for a user, nfsrdma_nfs_status_last() the NFS status beside the errno.
 *   - A mount is driven by one thread at a time.  Threads that want to work at once have a mount
 * each, in one struct nfsrdma_ctx, which shares devices, protection domains and pools.
 *   - Asynchronous calls: submit returns 0 or -errno; done() runs exactly once, from
 * nfsrdma_process() or from a synchronous call on the same mount, if and only if submit returned 0.
 * A synchronous call from within done() returns -EDEADLK.
 *   - There are no hidden threads: nothing moves unless the application calls in.
 *   - Lengths and offsets are in bytes.
 */
#ifndef NFSRDMA_H
#define NFSRDMA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct nfsrdma;	     /* one mount */
struct nfsrdma_ctx;  /* what mounts share */
struct nfsrdma_file; /* one open file */
struct nfsrdma_dir;  /* one open directory */
struct nfsrdma_buf;  /* pinned, registered memory */

#define NFSRDMA_VERSION "0.1.0"
/* Of the library at run time. */
const char *nfsrdma_version(void);

enum nfsrdma_log_level { NFSRDMA_LOG_ERROR, NFSRDMA_LOG_WARN, NFSRDMA_LOG_INFO, NFSRDMA_LOG_DEBUG };

/*
 * How to mount.  Zero means default everywhere; start from NFSRDMA_OPTIONS_INIT.  Options in the
 * URL's query and in the string opts (nfs(5) spelling, comma list, as after -o) are applied in the
 * order: struct, opts, URL.
 */
struct nfsrdma_options {
	size_t size;		 /* sizeof(struct nfsrdma_options) */
	struct nfsrdma_ctx *ctx; /* shared context, NULL: a private one */
	const char *opts;	 /* "proto=rdma,rsize=1m,soft" */
	void (*log)(void *arg, enum nfsrdma_log_level level, const char *line);
	void *log_arg;
	enum nfsrdma_log_level log_level;
	unsigned flags; /* NFSRDMA_AT_EXPORT */
};
/* The mount's root is the export itself; the rest of the target's path need not exist, is not
 * looked at, and is found in nfsrdma_info.root_path.  For programs whose argument names a file: one
 * mount, then that path. */
#define NFSRDMA_AT_EXPORT 1u
#define NFSRDMA_OPTIONS_INIT                                                                       \
	{                                                                                          \
		sizeof(struct nfsrdma_options), NULL, NULL, NULL, NULL, NFSRDMA_LOG_ERROR, 0       \
	}

/* ---- context and mount ------------------------------------------------------------------ */

int nfsrdma_ctx_create(struct nfsrdma_ctx **ctxp);
/* Lives on until its last mount is gone. NULL is fine. */
void nfsrdma_ctx_destroy(struct nfsrdma_ctx *ctx);

/*
 * target: "SERVER:/PATH", "[v6]:/PATH" or "nfs://SERVER[:PORT]/PATH[?opt=val&opt]".  Blocks until
 * mounted or failed; bounded by retry=.  opts may be NULL. -EINVAL bad target or option (the
 * message names the near misses); -ENOENT no such export; -EACCES; -ECONNREFUSED, -ETIMEDOUT,
 * -EHOSTUNREACH...; -EPROTONOSUPPORT.
 */
int nfsrdma_mount(struct nfsrdma **mountp, const char *target, const struct nfsrdma_options *opts);
/*
 * Outstanding asynchronous calls end with -ECANCELED first; open files, directories and buffers of
 * the mount become invalid, and unstable writes nobody fsynced may be lost with the server.  Inside
 * a callback it is remembered and happens when nfsrdma_process() returns.  NULL is fine.
 */
void nfsrdma_umount(struct nfsrdma *mount);

/* The sentence for the last failure on this thread ("open /x: Permission denied (...)"); never
 * NULL. */
const char *nfsrdma_strerror_last(void);
/* The remedy that goes with it, "" when there is none. */
const char *nfsrdma_hint_last(void);
/* The NFS status (RFC 1813 nfsstat3) of the last failure on this thread, 0 when it was none. */
uint32_t nfsrdma_nfs_status_last(void);

/* Check an -o list without mounting: 0, or -EINVAL with nfsrdma_strerror_last(). */
int nfsrdma_options_check(const char *opts);
/* Split a target: is it remote at all ("./a:/b" and "/x:y" are local)? 1 remote, 0 local, -EINVAL
 * malformed. */
int nfsrdma_target_is_remote(const char *target);
/* The server's exports.  fn returns non-zero to stop.  opts as in struct nfsrdma_options. */
int nfsrdma_exports(const char *server, const struct nfsrdma_options *opts,
		    int (*fn)(void *arg, const char *path, const char *groups), void *arg);

/* Facts about a mount. */
struct nfsrdma_info {
	size_t size;		/* set by the caller: sizeof */
	char server[128];	/* as named in the target */
	char address[64];	/* numeric, with port: "127.0.0.1:20049" */
	char export_path[1025]; /* the export mounted */
	char root_path[4097];	/* the target's path beneath it, "/" when they are the same */
	char proto[16];		/* "rdma" or "tcp" */
	char fabric[16];	/* "verbs", "iwarp", "tcp" */
	char device[64];
	uint64_t link_bps;     /* port rate, 0 unknown */
	uint32_t rsize, wsize; /* in force */
	uint32_t inline_size, slots;
	char mr_mode[16];
	char pool[160];		 /* the pool in words */
	char iommu[320];	 /* the honest line about the IOMMU */
	char invalidations[160]; /* how those of windows are batched; "" in the other modes */
};
int nfsrdma_info(struct nfsrdma *mount, struct nfsrdma_info *info);

/* ---- driving ---------------------------------------------------------------------------- */

/* Do what is due, then wait for something to do at most timeout_ms (0: do not wait, -1: for ever)
 * while calls are outstanding.  Returns the number of callbacks run, or -errno (-EDEADLK inside a
 * callback). */
int nfsrdma_process(struct nfsrdma *mount, int timeout_ms);
/* Readable when nfsrdma_process() has something to do; covers timers and connection events. */
int nfsrdma_fd(struct nfsrdma *mount);
/* Asynchronous calls submitted and not done. */
unsigned nfsrdma_outstanding(const struct nfsrdma *mount);

/* ---- buffers ---------------------------------------------------------------------------- */

#define NFSRDMA_BUF_READ 1  /* target of reads: the server may write to it */
#define NFSRDMA_BUF_WRITE 2 /* source of writes: the server may read it */

/*
 * Pinned, registered memory of len bytes, from the pool of this mount's server.  May be used with
 * every mount of the same server in the same context.  In pool mode its key stays valid for the
 * server until the pool is gone: the server may read or write it (as flags say) at any time.
 * -ENOMEM: a limit, named in the message with its number and the remedy.
 */
int nfsrdma_buf_get(struct nfsrdma *mount, struct nfsrdma_buf **bufp, size_t len, int flags);
void nfsrdma_buf_put(struct nfsrdma_buf *buf); /* NULL is fine */
void *nfsrdma_buf_addr(const struct nfsrdma_buf *buf);
size_t nfsrdma_buf_len(const struct nfsrdma_buf *buf);

/*
 * Memory of the application as a buffer: pinned and registered in place, no copy.  It stays the
 * application's, and must stay mapped until nfsrdma_mem_deregister() has returned 0.  In window mode
 * the server gets no standing key to it; in the other modes it may reach it, as flags say, as long
 * as it is registered.
 * -EFAULT: it cannot be pinned (not mapped, not writable, a shared mapping of a file); -ENOMEM.
 */
int nfsrdma_mem_register(struct nfsrdma *mount, struct nfsrdma_buf **bufp, void *addr, size_t len,
			 int flags);
/* 0: nobody reaches the memory any more, and the buffer is gone.  -EBUSY: I/O on it is in flight;
 * nothing has changed.  NULL is fine.  (nfsrdma_buf_put() lets it end by itself, at any time.) */
int nfsrdma_mem_deregister(struct nfsrdma_buf *buf);

/* ---- files ------------------------------------------------------------------------------ */

/* flags: O_RDONLY|O_WRONLY|O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW, O_DIRECTORY,
 * O_SYNC, O_DSYNC. Paths are relative to the mount's root; symlinks are followed within it (".."
 * stops at the root).  mode is used as it is: no umask is applied here.  O_APPEND: writes go to the
 * end of the file as it was when they were submitted, wherever they were meant to go. -ENOENT,
 * -EEXIST, -EISDIR, -ENOTDIR, -ELOOP, -EACCES, -ENAMETOOLONG, -EROFS, ... */
int nfsrdma_open(struct nfsrdma *mount, struct nfsrdma_file **filep, const char *path, int flags,
		 mode_t mode);
/* Waits for what is outstanding on the file and writes what is unstable (as nfsrdma_fsync) unless
 * it was read only; returns that error, and closes in any case but one: inside a callback it is
 * -EDEADLK, and the file stays open. */
int nfsrdma_close(struct nfsrdma_file *file);

/*
 * Read or write len bytes at off between buf + buf_off and the file; split into rsize/wsize calls
 * that run side by side. Returns bytes moved: short only at end of file (read) or after an error
 * past the first byte.  A short read may have changed the bytes behind those it returns, as far as
 * len: the server was free to fill them.
 */
ssize_t nfsrdma_pread(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
		      size_t len, uint64_t off);
ssize_t nfsrdma_pwrite(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
		       size_t len, uint64_t off);
/* The same from and to ordinary memory, by way of pool buffers (one copy).  With mr=cache and
 * mr=per-io, reads, and writes with write=filesync, register the memory instead where it can be
 * pinned. */
ssize_t nfsrdma_pread_copy(struct nfsrdma_file *file, void *mem, size_t len, uint64_t off);
ssize_t nfsrdma_pwrite_copy(struct nfsrdma_file *file, const void *mem, size_t len, uint64_t off);

/* n: bytes moved or -errno. */
typedef void nfsrdma_done(void *arg, ssize_t n);
int nfsrdma_pread_async(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
			size_t len, uint64_t off, nfsrdma_done *done, void *arg);
int nfsrdma_pwrite_async(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
			 size_t len, uint64_t off, nfsrdma_done *done, void *arg);

/* Vectors: pieces of registered buffers, moved as if they were one. */
struct nfsrdma_iov {
	struct nfsrdma_buf *buf;
	size_t buf_off, len;
};
ssize_t nfsrdma_preadv(struct nfsrdma_file *file, const struct nfsrdma_iov *iov, int iovcnt,
		       uint64_t off);
ssize_t nfsrdma_pwritev(struct nfsrdma_file *file, const struct nfsrdma_iov *iov, int iovcnt,
			uint64_t off);

/*
 * Make what was written survive a server crash (COMMIT): every write submitted before it.  If the
 * server's write verifier changed meanwhile, data still in unchanged buffers is written again; a
 * buffer handed back before is an -EIO that names the range.
 */
int nfsrdma_fsync(struct nfsrdma_file *file);
int nfsrdma_fsync_async(struct nfsrdma_file *file, nfsrdma_done *done, void *arg);
int nfsrdma_fstat(struct nfsrdma_file *file, struct stat *st);
int nfsrdma_ftruncate(struct nfsrdma_file *file, uint64_t size);

/* ---- names ------------------------------------------------------------------------------ */

int nfsrdma_stat(struct nfsrdma *mount, const char *path, struct stat *st);
int nfsrdma_lstat(struct nfsrdma *mount, const char *path, struct stat *st);
/* mode: R_OK|W_OK|X_OK or F_OK; asks the server (ACCESS). */
int nfsrdma_access(struct nfsrdma *mount, const char *path, int mode);
int nfsrdma_mkdir(struct nfsrdma *mount, const char *path, mode_t mode);
int nfsrdma_rmdir(struct nfsrdma *mount, const char *path);
int nfsrdma_unlink(struct nfsrdma *mount, const char *path);
int nfsrdma_rename(struct nfsrdma *mount, const char *from, const char *to);
int nfsrdma_link(struct nfsrdma *mount, const char *from, const char *to);
int nfsrdma_symlink(struct nfsrdma *mount, const char *target, const char *path);
/* Like readlink(2), but terminated: -ENAMETOOLONG when it does not fit. Returns its length. */
ssize_t nfsrdma_readlink(struct nfsrdma *mount, const char *path, char *buf, size_t len);
int nfsrdma_mknod(struct nfsrdma *mount, const char *path, mode_t mode, dev_t dev);
int nfsrdma_chmod(struct nfsrdma *mount, const char *path, mode_t mode);
/* (uid_t)-1, (gid_t)-1: leave. */
int nfsrdma_chown(struct nfsrdma *mount, const char *path, uid_t uid, gid_t gid);
int nfsrdma_lchown(struct nfsrdma *mount, const char *path, uid_t uid, gid_t gid);
int nfsrdma_truncate(struct nfsrdma *mount, const char *path, uint64_t size);
/* times as utimensat(2), with UTIME_NOW and UTIME_OMIT. */
int nfsrdma_utimens(struct nfsrdma *mount, const char *path, const struct timespec times[2]);
/* The same for a symbolic link itself. */
int nfsrdma_lutimens(struct nfsrdma *mount, const char *path, const struct timespec times[2]);

struct nfsrdma_statfs {
	uint64_t total_bytes, free_bytes, avail_bytes, total_files, free_files, avail_files;
	uint32_t name_max, link_max;
};
int nfsrdma_statfs(struct nfsrdma *mount, const char *path, struct nfsrdma_statfs *fs);

/* ---- directories ------------------------------------------------------------------------ */

struct nfsrdma_dirent {
	const char *name; /* valid until the next call on this directory; may hold any byte but '/'
			     and NUL */
	uint64_t fileid, cookie;
	int has_stat; /* st is filled (READDIRPLUS gave attributes) */
	struct stat st;
};
int nfsrdma_opendir(struct nfsrdma *mount, struct nfsrdma_dir **dirp, const char *path);
/* 1: *ent filled; 0: end; -errno. "." and ".." are included if the server sends them. */
int nfsrdma_readdir(struct nfsrdma_dir *dir, struct nfsrdma_dirent *ent);
void nfsrdma_rewinddir(struct nfsrdma_dir *dir);
void nfsrdma_closedir(struct nfsrdma_dir *dir);

/* ---- statistics ------------------------------------------------------------------------- */

/*
 * Counters by name, those of the JSON documents: the pool's ledger ("registrations", "iova_reuses",
 * ...) and the mount's transport ("rpcs", "doorbells", "credit_waits", ...).  fn is called once for
 * each.
 */
enum nfsrdma_stats_group { NFSRDMA_STATS_LEDGER, NFSRDMA_STATS_TRANSPORT };
void nfsrdma_stats(struct nfsrdma *mount, enum nfsrdma_stats_group group,
		   void (*fn)(void *arg, const char *name, uint64_t value), void *arg);

/* ---- doctor ----------------------------------------------------------------------------- */

enum nfsrdma_verdict { NFSRDMA_OK, NFSRDMA_WARN, NFSRDMA_FAIL };

/* One step of the examination; the texts are valid during the call only. */
struct nfsrdma_finding {
	enum nfsrdma_verdict verdict;
	const char *step;   /* "limits", "device", "module", "address", "route", "connect", ... */
	const char *detail; /* what was found, or tried and why it failed */
	const char *remedy; /* what to do about it, "" where nothing need be done */
};

/*
 * Walk the way from this machine's limits to a first READ and tell each step, in order, until one
 * fails on which the others depend: limits, device, module, address, route, connect, private data,
 * NULL, MOUNT, FSINFO, READ, registration, memlock, pins, IOMMU.  target and opts as for
 * nfsrdma_mount().  A target that is a file is read from; in a directory a file is looked for.
 * 0: nothing failed (there may be warnings); else the errno of the first failure.  -EINVAL before any
 * step: a bad target or option.
 */
int nfsrdma_doctor(const char *target, const struct nfsrdma_options *opts,
		   void (*fn)(void *arg, const struct nfsrdma_finding *finding), void *arg);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif

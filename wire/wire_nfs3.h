/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire_nfs3.h - the hand-written half of NFSv3 and MOUNT (included by wire.h).
 *
 * Everything a data path needs, in plain structs, without malloc.  RFC 1813 sections are cited at
 * the definitions.
 */
#ifndef NFSRDMA_WIRE_NFS3_H
#define NFSRDMA_WIRE_NFS3_H

#define WIRE_NFS_PROG 100003
#define WIRE_MOUNT_PROG 100005
#define WIRE_RPCBIND_PROG 100000
#define WIRE_NFS3_FHSIZE 64
#define WIRE_NAME_MAX 255
#define WIRE_PATH_MAX 4096
#define WIRE_MNTPATHLEN 1024
#define WIRE_ATTR_LEN 84 /* fattr3: 5 words, 2 doubles, 2 words, 2 doubles, 3 times of 2 words */

enum wire_nfs3_proc {
	WIRE_NFS3_NULL,
	WIRE_NFS3_GETATTR,
	WIRE_NFS3_SETATTR,
	WIRE_NFS3_LOOKUP,
	WIRE_NFS3_ACCESS,
	WIRE_NFS3_READLINK,
	WIRE_NFS3_READ,
	WIRE_NFS3_WRITE,
	WIRE_NFS3_CREATE,
	WIRE_NFS3_MKDIR,
	WIRE_NFS3_SYMLINK,
	WIRE_NFS3_MKNOD,
	WIRE_NFS3_REMOVE,
	WIRE_NFS3_RMDIR,
	WIRE_NFS3_RENAME,
	WIRE_NFS3_LINK,
	WIRE_NFS3_READDIR,
	WIRE_NFS3_READDIRPLUS,
	WIRE_NFS3_FSSTAT,
	WIRE_NFS3_FSINFO,
	WIRE_NFS3_PATHCONF,
	WIRE_NFS3_COMMIT,
	WIRE_NFS3_PROC_COUNT
};
/* "READDIRPLUS" */
const char *wire_nfs3_proc_name(uint32_t proc);
/* nfsstat3 -> negative errno (0 for NFS3_OK); unknown ones -EIO.  JUKEBOX -EAGAIN, STALE -ESTALE,
 * BADHANDLE -EBADF, NOT_SYNC -ESTALE, BAD_COOKIE -EBADMSG, NOTSUPP -EOPNOTSUPP, TOOSMALL -ENOBUFS,
 * SERVERFAULT -EREMOTEIO, BADTYPE -EINVAL. */
int wire_nfs3_errno(uint32_t status);
/* "NFS3ERR_STALE" */
const char *wire_nfs3_status_name(uint32_t status);
/* positive errno -> nfsstat3, for the server. */
uint32_t wire_nfs3_status(int error);

struct wire_fh {
	uint32_t len;
	uint8_t data[WIRE_NFS3_FHSIZE];
};

struct wire_time {
	uint32_t sec, nsec;
};

struct wire_attr { /* fattr3 */
	uint32_t type, mode, nlink, uid, gid;
	uint64_t size, used;
	uint32_t rdev_major, rdev_minor;
	uint64_t fsid, fileid;
	struct wire_time atime, mtime, ctime;
};

struct wire_post_attr { /* post_op_attr */
	bool present;
	struct wire_attr attr;
};

struct wire_pre_attr { /* wcc_attr */
	bool present;
	uint64_t size;
	struct wire_time mtime, ctime;
};

struct wire_wcc {
	struct wire_pre_attr before;
	struct wire_post_attr after;
};

enum wire_set_time { WIRE_DONT_CHANGE, WIRE_SET_TO_SERVER_TIME, WIRE_SET_TO_CLIENT_TIME };

struct wire_sattr { /* sattr3 */
	bool set_mode, set_uid, set_gid, set_size;
	uint32_t mode, uid, gid;
	uint64_t size;
	enum wire_set_time set_atime, set_mtime;
	struct wire_time atime, mtime;
};

void wire_put_fh(struct wire_enc *e, const struct wire_fh *fh);
void wire_get_fh(struct wire_dec *d, struct wire_fh *fh); /* longer than 64: bad */
void wire_put_attr(struct wire_enc *e, const struct wire_attr *a);
void wire_get_attr(struct wire_dec *d, struct wire_attr *a);
void wire_put_post_attr(struct wire_enc *e, const struct wire_post_attr *a);
void wire_get_post_attr(struct wire_dec *d, struct wire_post_attr *a);
void wire_put_wcc(struct wire_enc *e, const struct wire_wcc *w);
void wire_get_wcc(struct wire_dec *d, struct wire_wcc *w);
void wire_put_sattr(struct wire_enc *e, const struct wire_sattr *s);
void wire_get_sattr(struct wire_dec *d, struct wire_sattr *s);

enum wire_stable { WIRE_UNSTABLE, WIRE_DATA_SYNC, WIRE_FILE_SYNC };

struct wire_read_args {
	struct wire_fh fh;
	uint64_t offset;
	uint32_t count;
};
struct wire_read_res {
	uint32_t status;
	struct wire_post_attr attr;
	uint32_t count;
	bool eof;
	const uint8_t *data; /* NULL when removed */
	uint32_t data_len;   /* the opaque's length word */
};
struct wire_write_args {
	struct wire_fh fh;
	uint64_t offset;
	uint32_t count;
	uint32_t stable;
	uint32_t data_len;
	const uint8_t *data; /* NULL when removed */
};
struct wire_write_res {
	uint32_t status;
	struct wire_wcc wcc;
	uint32_t count, committed;
	uint8_t verf[8];
};
struct wire_readlink_res {
	uint32_t status;
	struct wire_post_attr attr;
	const uint8_t *target;
	uint32_t target_len;
};
struct wire_symlink_args {
	struct wire_fh dir;
	const uint8_t *name;
	uint32_t name_len;
	struct wire_sattr attr;
	const uint8_t *target;
	uint32_t target_len; /* target NULL when removed */
};
/* READDIR has one count: encoded from maxcount, decoded into both. */
struct wire_readdir_args {
	struct wire_fh dir;
	uint64_t cookie;
	uint8_t verf[8];
	uint32_t dircount;
	uint32_t maxcount;
};

/*
 * removed: the bulk bytes (with their padding) are not in the stream, they travel in a chunk or
 * were placed elsewhere (RFC 8166 section 3.4.4 and 8267).  Encoders with removed write the length
 * word only. Decoders return 0 or -EBADMSG.  The count of a READ result and of WRITE arguments
 * equals data_len, or -EBADMSG.
 */
void wire_read_args_encode(struct wire_enc *e, const struct wire_read_args *a);
int wire_read_args_decode(struct wire_dec *d, struct wire_read_args *a);
void wire_read_res_encode(struct wire_enc *e, const struct wire_read_res *r, bool removed);
int wire_read_res_decode(struct wire_dec *d, struct wire_read_res *r, bool removed);
/*
 * For transport_call.find_data: the offset of the data in the first len bytes of the results;
 * -EAGAIN: more bytes needed; -ENODATA: an error status; -EBADMSG.
 */
ssize_t wire_read_res_find_data(const uint8_t *results, size_t len, size_t *data_len);
void wire_write_args_encode(struct wire_enc *e, const struct wire_write_args *a, bool removed);
int wire_write_args_decode(struct wire_dec *d, struct wire_write_args *a, bool removed);
void wire_write_res_encode(struct wire_enc *e, const struct wire_write_res *r);
int wire_write_res_decode(struct wire_dec *d, struct wire_write_res *r);
void wire_readlink_res_encode(struct wire_enc *e, const struct wire_readlink_res *r, bool removed);
int wire_readlink_res_decode(struct wire_dec *d, struct wire_readlink_res *r, bool removed);
ssize_t wire_readlink_res_find_data(const uint8_t *results, size_t len, size_t *data_len);
void wire_symlink_args_encode(struct wire_enc *e, const struct wire_symlink_args *a, bool removed);
int wire_symlink_args_decode(struct wire_dec *d, struct wire_symlink_args *a, bool removed);
void wire_readdir_args_encode(struct wire_enc *e, const struct wire_readdir_args *a, bool plus);
int wire_readdir_args_decode(struct wire_dec *d, struct wire_readdir_args *a, bool plus);

/* One READDIR / READDIRPLUS entry.  name points into the message and may hold any byte: the caller
 * judges it. */
struct wire_dirent {
	uint64_t fileid, cookie;
	const uint8_t *name;
	uint32_t name_len;
	struct wire_post_attr attr; /* plus only */
	bool has_fh;
	struct wire_fh fh;
};
struct wire_readdir_head {
	uint32_t status;
	struct wire_post_attr attr;
	uint8_t verf[8];
};
/* After the head: wire_dirent_next until it returns 0 (end; *eof set), 1 = one entry, -EBADMSG
 * (also for a reply that ends without terminator or eof flag; entries before it are good). */
int wire_readdir_head_decode(struct wire_dec *d, struct wire_readdir_head *h);
int wire_dirent_next(struct wire_dec *d, struct wire_dirent *ent, bool plus, bool *eof);
void wire_readdir_head_encode(struct wire_enc *e, const struct wire_readdir_head *h);
/* false (nothing written) when it would not leave room for the 8 bytes of the end. */
bool wire_dirent_encode(struct wire_enc *e, const struct wire_dirent *ent, bool plus);
void wire_readdir_end_encode(struct wire_enc *e, bool eof);
/* Encoded size of an entry, for dircount/maxcount arithmetic. */
size_t wire_dirent_size(const struct wire_dirent *ent, bool plus);

/* MOUNT version 3 (RFC 1813 appendix I). */
enum wire_mount_proc {
	WIRE_MOUNT_NULL,
	WIRE_MOUNT_MNT,
	WIRE_MOUNT_DUMP,
	WIRE_MOUNT_UMNT,
	WIRE_MOUNT_UMNTALL,
	WIRE_MOUNT_EXPORT
};
int wire_mount_errno(uint32_t status);
struct wire_mnt_res {
	uint32_t status;
	struct wire_fh fh;
	uint32_t nflavors;
	uint32_t flavors[16];
};
void wire_mnt_args_encode(struct wire_enc *e, const char *path);
int wire_mnt_args_decode(struct wire_dec *d,
			 char path[WIRE_PATH_MAX + 1]); /* NUL inside: bad; longer than 1024: bad */
void wire_mnt_res_encode(struct wire_enc *e, const struct wire_mnt_res *r);
int wire_mnt_res_decode(struct wire_dec *d, struct wire_mnt_res *r);
/* EXPORT: iterate.  1 = an export (path points into the message; groups skipped, *ngroups counted,
 * the first group in group/group_len), 0 = end, -EBADMSG. */
struct wire_export {
	const uint8_t *path;
	uint32_t path_len;
	const uint8_t *group; /* the first, NULL when there is none: for everyone */
	uint32_t group_len;
	uint32_t ngroups;
	struct wire_dec groups; /* for wire_export_group_next, to see them all */
};
int wire_export_next(struct wire_dec *d, struct wire_export *x);
/* On x->groups (or a copy): 1 = a group, 0 = end, -EBADMSG. */
int wire_export_group_next(struct wire_dec *groups, const uint8_t **namep, uint32_t *lenp);
/* group NULL: for everyone. */
void wire_export_encode(struct wire_enc *e, const char *path, const char *group);
void wire_export_end_encode(struct wire_enc *e);
/* DUMP likewise: host and directory. */
struct wire_mountent {
	const uint8_t *host;
	uint32_t host_len;
	const uint8_t *path;
	uint32_t path_len;
};
int wire_mountent_next(struct wire_dec *d, struct wire_mountent *m);
void wire_mountent_encode(struct wire_enc *e, const char *host, const char *path);
void wire_mountent_end_encode(struct wire_enc *e);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_create.c - CREATE, MKDIR, SYMLINK, MKNOD (RFC 1813 sections 3.3.8 to 3.3.11).
 *
 * All four make a name in a folder, as the caller, under the folder's change lock; set what
 * attributes making could not; sync the folder and what was made; and answer with its handle.
 *
 * CREATE opens the file it makes with O_EXCL and keeps that descriptor for the WRITEs to come: the
 * mode the client asked for may forbid its owner to open it again, and NFS wants him to be able to
 * write.
 *
 * Exclusive CREATE keeps its verifier in the new file's times, 31 bits in each so that every file
 * system keeps them: a client that asks again after a lost reply finds its verifier there and is
 * told that it succeeded.
 *
 * Only the superuser may give a new file away: owner and group sent along by others are ignored, as
 * clients that send their own expect.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "wire/nfs3_xdr.h"

#define FILE_MODE 0600 /* where the client names none, as in exclusive CREATE: it will set one */
#define DIR_MODE 0700
/* Handle, attributes, and the folder's wcc_data. */
#define MAKE_RESULTS_MAX (4 + 8 + WIRE_NFS3_FHSIZE + 4 + WIRE_ATTR_LEN + 32 + 4 + WIRE_ATTR_LEN)

struct make_args {
	struct wire_fh dir;
	char name[WIRE_NAME_MAX + 1];
	int name_err;
	struct wire_sattr sattr;
	/* Make the name, adopt what was made as op->obj2, set its attributes.  As the caller. */
	int (*make)(struct server_op *op, const struct make_args *a);
	uint32_t how; /* createmode3 */
	uint32_t verf[2];
	uint32_t type; /* ftype3 of MKNOD */
	uint32_t major, minor;
	char target[WIRE_PATH_MAX + 1];
};

/* ---- what all four share ---------------------------------------------------------------- */

static void make_reply(struct server_op *op)
{
	struct wire_enc *e = &op->req->results;
	struct wire_post_attr post;

	if (op->io_error) {
		server_fail(op, op->io_error);
		return;
	}
	if (!server_begin(op, MAKE_RESULTS_MAX))
		return;
	server_post_now(op->obj2, &post);
	wire_put_bool(e, true);
	wire_put_fh(e, &op->obj2->fh);
	wire_put_post_attr(e, &post);
	wire_put_wcc(e, &op->wcc);
	server_reply(op);
}

static int make_check(const struct server_op *op, const struct make_args *a)
{
	if (!S_ISDIR(op->obj->type))
		return -ENOTDIR;
	if (a->name_err)
		return a->name_err;
	if (server_name_dots(a->name))
		return -EEXIST;
	return op->obj->exp->read_only ? -EROFS : 0;
}

static void make_sync(struct server_op *op)
{
	int dir = server_sync_fd(op, op->obj);

	server_sync(op, dir, server_sync_fd(op, op->obj2), false, make_reply);
}

static void make_run(struct server_op *op, const struct make_args *a)
{
	int err;

	if (op->req->args.bad) {
		server_garbage(op);
		return;
	}
	err = server_resolve(op->w, &a->dir, &op->obj, &op->st);
	if (!err)
		err = make_check(op, a);
	if (err) {
		server_fail(op, err);
		return;
	}
	server_change_begin(op->obj, &op->wcc);
	err = server_as_caller(op);
	if (!err)
		err = a->make(op, a);
	server_change_end(op->obj, &op->wcc);
	if (err)
		server_fail(op, err);
	else
		make_sync(op);
}

/* What now has the name. */
static int make_adopt(struct server_op *op, const char *name)
{
	int fd = server_open_at(op->obj->path_fd, name, O_PATH);

	return fd < 0 ? fd : server_adopt(op->w, op->obj->exp, op->obj, fd, &op->obj2, &op->st2);
}

/* The attributes making did not set.  Mode bits are the caller's to clear from sattr. */
static int make_attributes(struct server_op *op, struct wire_sattr sattr, int write_fd)
{
	if (!op->srv->privileged || op->cred.uid != 0)
		sattr.set_uid = sattr.set_gid = false;
	return server_set_attr(op, &sattr, op->obj2->path_fd, write_fd);
}

/* ---- CREATE ----------------------------------------------------------------------------- */

static int create_open(struct server_op *op, const char *name, mode_t mode)
{
	struct open_how how = {
		.flags = O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		.mode = mode & 07777,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, op->obj->path_fd, name, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(op->obj->path_fd, name, (int)how.flags, mode & 07777);
	return fd < 0 ? -errno : (int)fd;
}

/* The new file's object keeps fd for writing; taken over in any case. */
static int create_adopt(struct server_op *op, int fd)
{
	struct server_object *obj;
	char link[32];
	int path_fd, err;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	path_fd = open(link, O_PATH | O_CLOEXEC);
	err = path_fd < 0
		      ? -errno
		      : server_adopt(op->w, op->obj->exp, op->obj, path_fd, &op->obj2, &op->st2);
	if (err) {
		close(fd);
		return err;
	}
	obj = op->obj2;
	server_objects_charge(op->srv->objects, 1);
	pthread_mutex_lock(&obj->lock);
	obj->write_fd = fd; /* nobody had the file before */
	pthread_mutex_unlock(&obj->lock);
	return 0;
}

static void verifier_times(const struct make_args *a, struct timespec times[2])
{
	times[0] = (struct timespec){a->verf[0] & INT32_MAX, 0};
	times[1] = (struct timespec){a->verf[1] & INT32_MAX, 0};
}

static bool verifier_matches(const struct make_args *a, const struct stat *st)
{
	struct timespec times[2];

	verifier_times(a, times);
	return st->st_atim.tv_sec == times[0].tv_sec && st->st_mtim.tv_sec == times[1].tv_sec &&
	       st->st_size == 0;
}

/* Somebody has the name already. */
static int create_existing(struct server_op *op, const struct make_args *a)
{
	struct wire_sattr size = {.set_size = a->sattr.set_size, .size = a->sattr.size};
	int err, fd = -1;

	if (a->how == GUARDED)
		return -EEXIST;
	err = make_adopt(op, a->name);
	if (err)
		return err;
	if (!S_ISREG(op->obj2->type))
		return -EEXIST;
	if (a->how == EXCLUSIVE)
		return verifier_matches(a, &op->st2) ? 0 : -EEXIST;
	if (!size.set_size)
		return 0;
	err = server_may_write(op, op->obj2, &op->st2);
	if (!err) {
		fd = server_write_fd(op, op->obj2);
		err = fd < 0 ? fd : server_set_attr(op, &size, op->obj2->path_fd, fd);
	}
	return err;
}

static int create_make(struct server_op *op, const struct make_args *a)
{
	mode_t mode = a->sattr.set_mode ? a->sattr.mode : FILE_MODE;
	struct wire_sattr sattr = a->sattr;
	struct timespec times[2];
	int fd, err;

	fd = create_open(op, a->name, mode);
	if (fd == -EEXIST)
		return create_existing(op, a);
	if (fd < 0)
		return fd;
	err = create_adopt(op, fd);
	if (err)
		return err;
	if (a->how == EXCLUSIVE) {
		verifier_times(a, times);
		return futimens(fd, times) ? -errno : 0;
	}
	sattr.set_mode = false;
	sattr.set_size = sattr.set_size && sattr.size > 0;
	return make_attributes(op, sattr, fd);
}

void server_proc_create(struct server_op *op)
{
	struct wire_dec *d = &op->req->args;
	struct make_args a = {.make = create_make};

	wire_get_fh(d, &a.dir);
	a.name_err = server_name(d, a.name);
	a.how = wire_get_u32(d);
	if (a.how == EXCLUSIVE) {
		a.verf[0] = wire_get_u32(d);
		a.verf[1] = wire_get_u32(d);
	} else if (a.how == UNCHECKED || a.how == GUARDED) {
		wire_get_sattr(d, &a.sattr);
	} else {
		d->bad = true;
	}
	make_run(op, &a);
}

/* ---- MKDIR ------------------------------------------------------------------------------ */

static int mkdir_make(struct server_op *op, const struct make_args *a)
{
	mode_t mode = a->sattr.set_mode ? a->sattr.mode & 07777 : DIR_MODE;
	struct wire_sattr sattr = a->sattr;
	int err;

	if (mkdirat(op->obj->path_fd, a->name, mode & 01777))
		return -errno;
	err = make_adopt(op, a->name);
	if (err)
		return err;
	/* mkdir(2) does not set these; chmod otherwise would undo an inherited set-group-id. */
	sattr.set_mode = mode & (S_ISUID | S_ISGID);
	sattr.set_size = false;
	return make_attributes(op, sattr, -1);
}

void server_proc_mkdir(struct server_op *op)
{
	struct wire_dec *d = &op->req->args;
	struct make_args a = {.make = mkdir_make};

	wire_get_fh(d, &a.dir);
	a.name_err = server_name(d, a.name);
	wire_get_sattr(d, &a.sattr);
	make_run(op, &a);
}

/* ---- SYMLINK ---------------------------------------------------------------------------- */

static int symlink_make(struct server_op *op, const struct make_args *a)
{
	struct wire_sattr sattr = a->sattr;
	int err;

	if (!a->target[0])
		return -EACCES;
	if (symlinkat(a->target, op->obj->path_fd, a->name))
		return -errno;
	err = make_adopt(op, a->name);
	if (err)
		return err;
	sattr.set_mode = sattr.set_size = false;
	return make_attributes(op, sattr, -1);
}

/* The target's bytes, from the stream or from a read chunk.  One that holds a NUL is no path. */
static void symlink_target(struct server_op *op, struct make_args *a)
{
	struct transport_request *req = op->req;
	const uint8_t *text = req->data;
	size_t len;

	if (text) {
		len = wire_get_u32(&req->args);
		if (len > WIRE_PATH_MAX || len > req->data_len || !server_bulk_belongs(op))
			req->args.bad = true;
	} else {
		text = wire_get_opaque(&req->args, WIRE_PATH_MAX, &len);
	}
	if (req->args.bad)
		return;
	if (memchr(text, '\0', len))
		len = 0;
	memcpy(a->target, text, len);
	a->target[len] = '\0';
}

void server_proc_symlink(struct server_op *op)
{
	struct wire_dec *d = &op->req->args;
	struct make_args a = {.make = symlink_make};

	wire_get_fh(d, &a.dir);
	a.name_err = server_name(d, a.name);
	wire_get_sattr(d, &a.sattr);
	symlink_target(op, &a);
	make_run(op, &a);
}

/* ---- MKNOD ------------------------------------------------------------------------------ */

static mode_t mknod_type(uint32_t type)
{
	switch (type) {
	case NF3CHR:
		return S_IFCHR;
	case NF3BLK:
		return S_IFBLK;
	case NF3SOCK:
		return S_IFSOCK;
	case NF3FIFO:
		return S_IFIFO;
	default:
		return 0;
	}
}

static int mknod_make(struct server_op *op, const struct make_args *a)
{
	mode_t mode = a->sattr.set_mode ? a->sattr.mode & 07777 : FILE_MODE;
	struct wire_sattr sattr = a->sattr;
	int err;

	if (mknodat(op->obj->path_fd, a->name, mknod_type(a->type) | mode,
		    makedev(a->major, a->minor)))
		return -errno;
	err = make_adopt(op, a->name);
	if (err)
		return err;
	sattr.set_mode = sattr.set_size = false;
	return make_attributes(op, sattr, -1);
}

/* Regular files, folders and links are not made this way. */
static void mknod_badtype(struct server_op *op, const struct make_args *a)
{
	if (server_target(op, &a->dir))
		server_fail_status(op, NFS3ERR_BADTYPE);
}

void server_proc_mknod(struct server_op *op)
{
	struct wire_dec *d = &op->req->args;
	struct make_args a = {.make = mknod_make};

	wire_get_fh(d, &a.dir);
	a.name_err = server_name(d, a.name);
	a.type = wire_get_u32(d);
	if (mknod_type(a.type))
		wire_get_sattr(d, &a.sattr);
	if (a.type == NF3CHR || a.type == NF3BLK) {
		a.major = wire_get_u32(d);
		a.minor = wire_get_u32(d);
	}
	if (!d->bad && !mknod_type(a.type))
		mknod_badtype(op, &a);
	else
		make_run(op, &a);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_readdir.c - READDIR and READDIRPLUS (RFC 1813 sections 3.3.16 and 3.3.17).
 *
 * A cookie is the file system's own position after an entry (d_off), so a listing goes on where it
 * was whoever asks, after any time, over removals and a restart of the server, and a folder is
 * never read further than a reply has room.  The cookie verifier is a keyed hash of the folder: a
 * cookie of another folder is BAD_COOKIE.
 *
 * The folder's descriptor has one position, so it is set and read under the object's lock; entries
 * are then turned into the reply without it.
 *
 * READDIRPLUS opens each entry as the caller, so attributes and handle belong to the same object,
 * and leaves them out (the protocol lets it) where that fails: a mount point, a folder he may read
 * but not search.  ".." has none.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/nfs3_xdr.h"

/* Attributes, verifier, and the end of the list. */
#define HEAD_LEN (4 + WIRE_ATTR_LEN + 8)
#define END_LEN 8
#define DIR_REPLY_MAX (1U << 20)

struct listing {
	bool plus;
	int fd;
	uint64_t cookie;   /* after the last entry taken */
	size_t room;	   /* bytes of entries the reply may still hold */
	size_t names_room; /* dircount: of names, cookies and file ids */
	size_t batch;	   /* bytes to ask getdents64 for */
	unsigned count;
	bool full, eof;
};

static void cookie_verifier(const struct server *srv, const struct server_object *dir,
			    uint8_t verf[8])
{
	uint8_t text[8 + SERVER_ID_MAX];

	memcpy(text, "cookie", 6);
	text[6] = dir->id.kind;
	text[7] = dir->id.type;
	memcpy(text + 8, dir->id.bytes, dir->id.len);
	util_put_be64(verf, server_siphash(srv->key, text, 8 + (size_t)dir->id.len));
}

/* Entries from cookie on into the worker's buffer: bytes, 0 at the end, -errno. */
static long listing_read(struct server_op *op, struct listing *l)
{
	long n;

	pthread_mutex_lock(&op->obj->lock);
	if (lseek(l->fd, (off_t)l->cookie, SEEK_SET) < 0)
		n = -EBADMSG; /* BAD_COOKIE */
	else
		n = syscall(SYS_getdents64, l->fd, op->w->dir_buf, l->batch);
	if (n == -1)
		n = errno == EINVAL ? -EBADMSG : -errno;
	pthread_mutex_unlock(&op->obj->lock);
	return n;
}

static void entry_attributes(struct server_op *op, const char *name, struct wire_dirent *ent)
{
	struct stat st;
	int fd;

	if (!strcmp(name, ".")) {
		server_post(op->obj->exp, &op->st, &ent->attr);
		ent->has_fh = true;
		ent->fh = op->obj->fh;
		return;
	}
	if (!strcmp(name, ".."))
		return;
	fd = server_open_at(op->obj->path_fd, name, O_PATH);
	if (fd < 0)
		return;
	if (!fstat(fd, &st)) {
		server_post(op->obj->exp, &st, &ent->attr);
		ent->fileid = ent->attr.attr.fileid;
		ent->has_fh = !server_handle_of(op->w, op->obj, fd, &st, &ent->fh);
	}
	close(fd);
}

static void entry_make(struct server_op *op, const struct listing *l,
		       const struct server_dirent *from, struct wire_dirent *ent)
{
	memset(ent, 0, offsetof(struct wire_dirent, attr.attr));
	ent->has_fh = false;
	ent->fh.len = 0;
	ent->fileid = from->d_ino;
	ent->cookie = (uint64_t)from->d_off;
	ent->name = (const uint8_t *)from->d_name;
	ent->name_len = (uint32_t)strlen(from->d_name);
	/* Above the root there is only the root. */
	if (!strcmp(from->d_name, "..") && server_is_root(op->obj, &op->st))
		ent->fileid = op->st.st_ino;
	if (l->plus)
		entry_attributes(op, from->d_name, ent);
}

/* false: the reply is full. */
static bool listing_put(struct server_op *op, struct listing *l, const struct server_dirent *from)
{
	struct wire_dirent ent;
	size_t size, names;

	entry_make(op, l, from, &ent);
	size = wire_dirent_size(&ent, l->plus);
	names = wire_dirent_size(&ent, false);
	if (size > l->room || (names > l->names_room && l->count) ||
	    !wire_dirent_encode(&op->req->results, &ent, l->plus))
		return false;
	l->room -= size;
	l->names_room -= names < l->names_room ? names : l->names_room;
	l->cookie = ent.cookie;
	l->count++;
	return true;
}

static void listing_put_all(struct server_op *op, struct listing *l, long bytes)
{
	for (long at = 0; at < bytes && !l->full;) {
		const struct server_dirent *from = (const void *)(op->w->dir_buf + at);

		l->full = !listing_put(op, l, from);
		at += from->d_reclen;
	}
}

/* The rest, with the first batch already read: results are begun. */
static void listing_fill(struct server_op *op, struct listing *l, long bytes)
{
	while (bytes > 0) {
		listing_put_all(op, l, bytes);
		if (l->full)
			return;
		bytes = listing_read(op, l);
	}
	/* An error in the middle ends this reply; the next one will meet and tell it. */
	l->eof = bytes == 0;
}

static int listing_prepare(struct server_op *op, const struct wire_readdir_args *a,
			   struct listing *l, uint8_t verf[8])
{
	static const uint8_t none[8];
	size_t room = a->maxcount;

	if (!S_ISDIR(op->obj->type))
		return -ENOTDIR;
	if (!server_granted(op, op->obj, &op->st, R_OK))
		return -EACCES;
	cookie_verifier(op->srv, op->obj, verf);
	if (a->cookie ? memcmp(a->verf, verf, 8) != 0
		      : memcmp(a->verf, none, 8) && memcmp(a->verf, verf, 8))
		return -EBADMSG;
	l->fd = server_read_fd(op, op->obj);
	if (l->fd < 0)
		return l->fd;
	if (room > DIR_REPLY_MAX)
		room = DIR_REPLY_MAX;
	if (room + 4 > op->req->reply_room)
		room = op->req->reply_room > 4 ? op->req->reply_room - 4 : 0;
	if (room < HEAD_LEN + END_LEN + 32)
		return -ENOBUFS; /* TOOSMALL */
	l->room = room - HEAD_LEN - END_LEN;
	l->names_room = l->plus ? a->dircount : l->room;
	l->cookie = a->cookie;
	/* Of an entry with attributes and handle, about a fifth is what getdents64 tells. */
	l->batch = l->plus ? l->room / 5 : l->room;
	if (l->batch < 1024)
		l->batch = 1024;
	if (l->batch > SERVER_DIR_BUF)
		l->batch = SERVER_DIR_BUF;
	return server_as_caller(op);
}

static void listing_reply(struct server_op *op, struct listing *l, const uint8_t verf[8],
			  long bytes)
{
	struct wire_readdir_head head = {.status = NFS3_OK};
	struct wire_enc *e = &op->req->results;

	if (!server_begin_bare(op, 4 + HEAD_LEN + l->room + END_LEN))
		return;
	server_post(op->obj->exp, &op->st, &head.attr);
	memcpy(head.verf, verf, 8);
	wire_readdir_head_encode(e, &head);
	listing_fill(op, l, bytes);
	wire_readdir_end_encode(e, l->eof);
	server_reply(op);
}

/* Would the first entry fit?  Asked before anything is put. */
static bool listing_fits(struct server_op *op, const struct listing *l, long bytes)
{
	struct wire_dirent ent;

	if (bytes == 0)
		return true;
	entry_make(op, l, (const void *)op->w->dir_buf, &ent);
	return wire_dirent_size(&ent, l->plus) <= l->room;
}

static void readdir_run(struct server_op *op, bool plus)
{
	struct wire_readdir_args a;
	struct listing l = {.plus = plus};
	uint8_t verf[8];
	long bytes;
	int err;

	if (wire_readdir_args_decode(&op->req->args, &a, plus)) {
		server_garbage(op);
		return;
	}
	err = server_resolve(op->w, &a.dir, &op->obj, &op->st);
	if (!err)
		err = listing_prepare(op, &a, &l, verf);
	if (err) {
		server_fail(op, err);
		return;
	}
	bytes = listing_read(op, &l);
	if (bytes < 0)
		server_fail(op, (int)bytes);
	else if (!listing_fits(op, &l, bytes))
		server_fail_status(op, NFS3ERR_TOOSMALL);
	else
		listing_reply(op, &l, verf, bytes);
}

void server_proc_readdir(struct server_op *op)
{
	readdir_run(op, false);
}

void server_proc_readdirplus(struct server_op *op)
{
	readdir_run(op, true);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * access.c - what the caller may do, and descriptors to do it with.
 *
 * NFSv3 has no open, so each READ and WRITE is judged anew; the kernel judges, by faccessat() under
 * the caller's identity.  Its verdict is kept with the object for as long as owner, group and mode
 * are those it was given for, and for VERDICT_NS at most, since an access control list can change
 * without them.
 *
 * Two liberties, which RFC 1813 section 4.4 describes: the owner of a file may read and write it
 * whatever its mode says (he opened it before he took the permission away), and whoever may execute
 * a file may read it (he cannot run it otherwise).  Hence data descriptors are opened with the
 * server's own identity.
 *
 * Where the server has no privilege, a file its own user made read-only can only be written through
 * a descriptor that was opened before: CREATE keeps the one it made.
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define VERDICT_NS (3 * UTIL_NS_PER_S)

int server_as_caller(struct server_op *op)
{
	return server_identity_become(&op->w->identity, &op->cred);
}

void server_as_self(struct server_worker *w)
{
	server_identity_self(&w->identity);
}

static unsigned ask_kernel(int path_fd, unsigned want)
{
	static const unsigned bits[] = {R_OK, W_OK, X_OK};
	unsigned granted = 0;

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(bits); i++)
		if (want & bits[i] &&
		    !faccessat(path_fd, "", (int)bits[i], AT_EACCESS | AT_EMPTY_PATH))
			granted |= bits[i];
	return granted;
}

static bool verdict_holds(const struct server_verdict *v, const struct server_cred *cred,
			  const struct stat *st, uint64_t now_ns)
{
	return v->expires_ns > now_ns && v->mode == st->st_mode && v->uid == st->st_uid &&
	       v->gid == st->st_gid && server_cred_equal(&v->cred, cred);
}

/* The verdict on cred, or the oldest, made empty for it.  Under obj->lock. */
static struct server_verdict *verdict_find(struct server_object *obj,
					   const struct server_cred *cred, const struct stat *st)
{
	uint64_t now_ns = util_clock_ns();
	struct server_verdict *v;

	for (unsigned i = 0; i < SERVER_VERDICTS; i++)
		if (verdict_holds(&obj->verdicts[i], cred, st, now_ns))
			return &obj->verdicts[i];
	v = &obj->verdicts[obj->next_verdict++ % SERVER_VERDICTS];
	*v = (struct server_verdict){
		.cred = *cred,
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.expires_ns = now_ns + VERDICT_NS,
	};
	return v;
}

unsigned server_granted(struct server_op *op, struct server_object *obj, const struct stat *st,
			unsigned want)
{
	struct server_verdict *v;
	unsigned granted, missing;

	if (server_as_caller(op))
		return 0;
	pthread_mutex_lock(&obj->lock);
	v = verdict_find(obj, &op->cred, st);
	missing = want & ~v->asked;
	if (missing) {
		v->granted |= ask_kernel(obj->path_fd, missing);
		v->asked |= missing;
	}
	granted = v->granted & want;
	pthread_mutex_unlock(&obj->lock);
	return granted;
}

static bool caller_owns(const struct server_op *op, const struct stat *st)
{
	return st->st_uid == (op->srv->privileged ? op->cred.uid : op->w->identity.self.uid);
}

int server_may_read(struct server_op *op, struct server_object *obj, const struct stat *st)
{
	if (caller_owns(op, st) || server_granted(op, obj, st, R_OK) ||
	    server_granted(op, obj, st, X_OK))
		return 0;
	return -EACCES;
}

int server_may_write(struct server_op *op, struct server_object *obj, const struct stat *st)
{
	if (obj->exp->read_only)
		return -EROFS;
	return caller_owns(op, st) || server_granted(op, obj, st, W_OK) ? 0 : -EACCES;
}

/* Open the very inode path_fd pins. */
static int reopen(struct server_op *op, int path_fd, int flags)
{
	char link[32];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	server_as_self(op->w);
	fd = open(link, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	server_objects_charge(op->srv->objects, 1);
	return fd;
}

/* *slot, opened with flags when it is not open yet. */
static int slot_fd(struct server_op *op, struct server_object *obj, int *slot, int flags)
{
	int fd;

	pthread_mutex_lock(&obj->lock);
	fd = *slot;
	if (fd < 0) {
		fd = reopen(op, obj->path_fd, flags);
		if (fd >= 0)
			*slot = fd;
	}
	pthread_mutex_unlock(&obj->lock);
	return fd;
}

int server_read_fd(struct server_op *op, struct server_object *obj)
{
	int flags = S_ISDIR(obj->type) ? O_RDONLY | O_DIRECTORY : O_RDONLY;

	if (!S_ISDIR(obj->type) && !S_ISREG(obj->type))
		return -EINVAL;
	return slot_fd(op, obj, &obj->read_fd, flags);
}

int server_write_fd(struct server_op *op, struct server_object *obj)
{
	return S_ISREG(obj->type) ? slot_fd(op, obj, &obj->write_fd, O_WRONLY) : -EINVAL;
}

int server_sync_fd(struct server_op *op, struct server_object *obj)
{
	int fd;

	pthread_mutex_lock(&obj->lock);
	fd = obj->write_fd;
	pthread_mutex_unlock(&obj->lock);
	return fd >= 0 ? fd : server_read_fd(op, obj);
}

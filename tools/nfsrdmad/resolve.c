/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resolve.c - from a handle to an open object that is proved to lie beneath its export.
 *
 * Normal operation.  The handle's tag is checked, its export found, its id looked up among the open
 * objects.  If it is not there, the kernel opens it by its handle, or it is walked to (walk.c).
 *
 * The proof.  That we signed the handle once does not say where the object lies now: somebody may
 * have moved it out of the export, and open_by_handle_at() knows nothing of folders.  So the kernel
 * is asked for the object's path (the link in /proc/self/fd), what follows the export's own path is
 * taken as a mere suggestion, and that suggestion is walked from the export's root, beneath it,
 * without links and mount points.  Arriving at the same inode is the proof.  It is remembered for
 * SERVER_PROOF_NS, the longest time for which a client can still use what was moved away.
 *
 * Recovery.  A file opened by its kernel handle may have no path yet (nobody looked it up since the
 * start) or another one (a hard link outside).  Then its folder, which is in the handle, is opened
 * and proved, and searched for it; failing that, a bounded search of the export.  What is not found
 * is ESTALE, remembered for a moment so that asking again is cheap.
 *
 * All of this is done with the server's own identity: a handle may be used by whoever has it, what
 * he may do is asked later (access.c).
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SERVER_MISS_NS (500 * UTIL_NS_PER_MS)
#define PROOF_TRIES 100
#define PROOF_IN_STEP 8
#define PROOF_PAUSE_NS 20000
#define ASCENT_MAX 4096
#define CHAIN_MAX (SERVER_ID_MAX - 16)

static int fd_path(int fd, char path[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	return 0;
}

/*
 * The path of fd relative to the export's root, "" for the root itself.  -ESTALE: not beneath;
 * -ENAMETOOLONG: longer than the kernel tells.
 */
static int relative_path(const struct server_export *exp, int fd, char path[PATH_MAX],
			 const char **relp)
{
	char root[PATH_MAX];
	size_t len;
	int err;

	err = fd_path(fd, path);
	if (!err)
		err = fd_path(exp->root_fd, root);
	if (err)
		return err;
	len = strlen(root);
	if (len == 1)
		len = 0; /* "/" */
	if (strncmp(path, root, len) || (path[len] != '/' && path[len] != '\0'))
		return -ESTALE;
	*relp = path + len + strspn(path + len, "/");
	return 0;
}

/* Walk rel from the root, beneath it. */
static int open_beneath(const struct server_export *exp, const char *rel)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	char part[NAME_MAX + 1];
	int fd, next;

	if (!rel[0])
		rel = ".";
	fd = (int)syscall(SYS_openat2, exp->root_fd, rel, &how, sizeof(how));
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd < 0 ? -errno : fd;
	/* Without openat2, one component at a time. */
	fd = openat(exp->root_fd, ".", O_PATH | O_CLOEXEC);
	while (fd >= 0 && *rel) {
		size_t len = strcspn(rel, "/");

		if (len > NAME_MAX)
			len = 0;
		memcpy(part, rel, len);
		part[len] = '\0';
		next = len && strcmp(part, "..") ? server_open_at(fd, part, O_PATH) : -ESTALE;
		close(fd);
		fd = next;
		rel += len + strspn(rel + len, "/");
	}
	return fd;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* A folder too deep for a path: climb to the root instead. */
static bool proved_by_ascent(const struct server_export *exp, int fd)
{
	struct stat st, root;
	int at = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), next;
	bool proved = false;

	if (at < 0 || fstat(exp->root_fd, &root)) {
		if (at >= 0)
			close(at);
		return false;
	}
	for (int i = 0; i < ASCENT_MAX; i++) {
		if (fstat(at, &st))
			break;
		if (same_inode(&st, &root)) {
			proved = true;
			break;
		}
		next = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
		if (at < 0)
			return false;
	}
	close(at);
	return proved;
}

/* Does rel lead from the root to what fd is? */
static bool leads_to(const struct server_export *exp, const char *rel, int fd)
{
	struct stat st, there;
	int walked = open_beneath(exp, rel);
	bool same;

	if (walked < 0)
		return false;
	same = !fstat(walked, &there) && !fstat(fd, &st) && same_inode(&st, &there);
	close(walked);
	return same;
}

/*
 * A folder on the way may be renamed between asking for the path and walking it: then it is asked
 * for again.  A path that is not beneath the root at all is believed the second time (the root
 * itself may have been renamed).
 */
bool server_proved(const struct server_export *exp, int fd)
{
	const struct timespec pause = {.tv_nsec = PROOF_PAUSE_NS};
	char path[PATH_MAX];
	unsigned outside = 0;
	const char *rel;
	int err;

	for (int i = 0; i < PROOF_TRIES && outside < 2; i++) {
		/* Somebody who renames in our very rhythm: fall out of step. */
		if (i >= PROOF_IN_STEP)
			nanosleep(&pause, NULL);
		err = relative_path(exp, fd, path, &rel);
		if (err == -ENAMETOOLONG)
			return proved_by_ascent(exp, fd);
		if (err && err != -ESTALE)
			return false;
		if (!err && leads_to(exp, rel, fd))
			return true;
		outside += err == -ESTALE;
	}
	return false;
}

/* ---- opening an id ---------------------------------------------------------------------- */

static int open_kernel_handle(const struct server_export *exp, uint8_t type, const uint8_t *bytes,
			      size_t len)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + SERVER_ID_MAX];
	} handle;
	int fd;

	handle.head.handle_bytes = (unsigned)len;
	handle.head.handle_type = type;
	memcpy(handle.head.f_handle, bytes, len);
	fd = open_by_handle_at(exp->root_fd, &handle.head, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -ESTALE;
}

/* ---- finding what cannot be opened, or not be proved ------------------------------------ */

static uint64_t miss_hash(const struct server *srv, const struct server_handle *h)
{
	uint8_t text[SERVER_ID_MAX + 8];

	util_put_be32(text, h->export_id);
	text[4] = h->id.kind;
	text[5] = h->id.type;
	memcpy(text + 6, h->id.bytes, h->id.len);
	return server_siphash(srv->key, text, (size_t)h->id.len + 6);
}

static bool miss_known(struct server *srv, uint64_t hash)
{
	struct server_miss *miss = &srv->misses[hash % SERVER_MISSES];
	bool known;

	pthread_mutex_lock(&srv->miss_lock);
	known = miss->hash == hash && util_clock_ns() < miss->expires_ns;
	pthread_mutex_unlock(&srv->miss_lock);
	return known;
}

static void miss_note(struct server *srv, uint64_t hash)
{
	struct server_miss *miss = &srv->misses[hash % SERVER_MISSES];

	pthread_mutex_lock(&srv->miss_lock);
	miss->hash = hash;
	miss->expires_ns = util_clock_ns() + SERVER_MISS_NS;
	pthread_mutex_unlock(&srv->miss_lock);
}

/* Look in the folder the handle names. */
static int find_by_folder(const struct server_export *exp, const struct server_handle *h,
			  uint64_t ino)
{
	int dirfd, fd = -ESTALE;

	if (!h->hint.len)
		return -ESTALE;
	dirfd = open_kernel_handle(exp, h->hint.type, h->hint.bytes, h->hint.len);
	if (dirfd < 0)
		return dirfd;
	if (server_proved(exp, dirfd))
		fd = server_find_in(exp, dirfd, &h->id, ino);
	close(dirfd);
	return fd;
}

static int find(struct server *srv, const struct server_export *exp, const struct server_handle *h,
		uint64_t ino)
{
	const struct server_hint *chain = h->id.kind == SERVER_ID_WALK ? &h->hint : NULL;
	uint64_t hash = miss_hash(srv, h);
	int fd = -ESTALE;

	if (miss_known(srv, hash))
		return -ESTALE;
	if (h->id.kind == SERVER_ID_KERNEL)
		fd = find_by_folder(exp, h, ino);
	if (fd == -ESTALE)
		fd = server_find_below(exp, &h->id, ino, chain);
	if (fd == -ESTALE)
		miss_note(srv, hash);
	return fd;
}

/* ---- from a handle to a descriptor ------------------------------------------------------ */

static int open_by_kernel(struct server *srv, const struct server_export *exp,
			  const struct server_handle *h)
{
	int fd = open_kernel_handle(exp, h->id.type, h->id.bytes, h->id.len);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || st.st_nlink == 0) {
		close(fd);
		return -ESTALE;
	}
	if (server_proved(exp, fd))
		return fd;
	close(fd);
	/* The kernel always knows a folder's path: it lies elsewhere. */
	return S_ISDIR(st.st_mode) ? -ESTALE : find(srv, exp, h, st.st_ino);
}

static int open_by_walk(struct server *srv, const struct server_export *exp,
			const struct server_handle *h)
{
	uint64_t ino = util_get_be64(h->id.bytes);
	struct server_id root;
	struct stat st;

	if (h->id.len != 16)
		return -ESTALE;
	if (ino != exp->ino)
		return find(srv, exp, h, ino);
	if (fstat(exp->root_fd, &st) || server_id_of(exp, exp->root_fd, &st, &root) ||
	    !server_id_equal(&root, &h->id))
		return -ESTALE;
	return openat(exp->root_fd, ".", O_PATH | O_CLOEXEC);
}

/* O_PATH fd of what the handle names, proved. */
static int open_handle(struct server_worker *w, const struct server_export *exp,
		       const struct server_handle *h)
{
	server_as_self(w);
	return h->id.kind == SERVER_ID_KERNEL ? open_by_kernel(w->srv, exp, h)
					      : open_by_walk(w->srv, exp, h);
}

/* ---- objects ---------------------------------------------------------------------------- */

static void hint_for(const struct server_object *parent, const struct server_id *id,
		     const struct stat *st, struct server_hint *hint)
{
	memset(hint, 0, sizeof(*hint));
	if (!parent || parent->id.kind != id->kind)
		return;
	if (id->kind == SERVER_ID_WALK) {
		*hint = parent->hint;
		if (hint->len < CHAIN_MAX)
			hint->bytes[hint->len++] = server_chain_byte(st->st_ino);
	} else if (!S_ISDIR(st->st_mode)) {
		hint->type = parent->id.type;
		hint->len = parent->id.len;
		memcpy(hint->bytes, parent->id.bytes, parent->id.len);
	}
}

static void object_model(const struct server *srv, const struct server_export *exp,
			 const struct server_handle *h, const struct stat *st,
			 struct server_object *model)
{
	model->exp = exp;
	model->id = h->id;
	model->hint = h->hint;
	model->type = st->st_mode & S_IFMT;
	server_handle_encode(srv->key, h, &model->fh);
}

/* Takes fd over. */
static int object_make(struct server_worker *w, const struct server_export *exp,
		       const struct server_handle *h, const struct stat *st, int fd,
		       struct server_object **objp)
{
	struct server_object model;

	object_model(w->srv, exp, h, st, &model);
	*objp = server_objects_insert(w->srv->objects, &model, fd);
	return *objp ? 0 : -ENOMEM;
}

int server_adopt(struct server_worker *w, const struct server_export *exp,
		 const struct server_object *parent, int path_fd, struct server_object **objp,
		 struct stat *st)
{
	struct server_handle h = {.export_id = exp->id};
	int err;

	err = fstat(path_fd, st) ? -errno : server_id_of(exp, path_fd, st, &h.id);
	if (err) {
		close(path_fd);
		return err;
	}
	*objp = server_objects_get(w->srv->objects, exp, &h.id);
	if (*objp) {
		/* It was just found by name, which is a proof as good as any. */
		atomic_store(&(*objp)->proved_ns, util_clock_ns());
		close(path_fd);
		return 0;
	}
	hint_for(parent, &h.id, st, &h.hint);
	return object_make(w, exp, &h, st, path_fd, objp);
}

int server_root(struct server_worker *w, const struct server_export *exp,
		struct server_object **objp, struct stat *st)
{
	int fd;

	server_as_self(w);
	fd = openat(exp->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : server_adopt(w, exp, NULL, fd, objp, st);
}

bool server_is_root(const struct server_object *obj, const struct stat *st)
{
	return st->st_ino == obj->exp->ino && st->st_dev == obj->exp->dev;
}

int server_handle_of(struct server_worker *w, const struct server_object *parent, int fd,
		     const struct stat *st, struct wire_fh *fh)
{
	struct server_handle h = {.export_id = parent->exp->id};
	struct server_object *known;
	int err = server_id_of(parent->exp, fd, st, &h.id);

	if (err)
		return err;
	/* One object, one handle, as long as we remember it. */
	known = server_objects_get(w->srv->objects, parent->exp, &h.id);
	if (known) {
		*fh = known->fh;
		server_objects_put(w->srv->objects, known);
		return 0;
	}
	hint_for(parent, &h.id, st, &h.hint);
	server_handle_encode(w->srv->key, &h, fh);
	return 0;
}

/* Is a known object's proof still good? */
static bool object_stands(struct server_worker *w, struct server_object *obj, struct stat *st)
{
	uint64_t now = util_clock_ns();

	if (fstat(obj->path_fd, st) || st->st_nlink == 0)
		return false;
	if (now - atomic_load_explicit(&obj->proved_ns, memory_order_relaxed) < w->srv->proof_ns)
		return true;
	server_as_self(w);
	if (!server_proved(obj->exp, obj->path_fd))
		return false;
	atomic_store_explicit(&obj->proved_ns, now, memory_order_relaxed);
	return true;
}

static int resolve_known(struct server_worker *w, const struct server_export *exp,
			 const struct server_id *id, struct server_object **objp, struct stat *st)
{
	struct server_object *obj = server_objects_get(w->srv->objects, exp, id);

	if (!obj)
		return -ENOENT;
	if (object_stands(w, obj, st)) {
		*objp = obj;
		return 0;
	}
	server_objects_drop(w->srv->objects, obj);
	server_objects_put(w->srv->objects, obj);
	return -ENOENT;
}

int server_resolve(struct server_worker *w, const struct wire_fh *fh, struct server_object **objp,
		   struct stat *st)
{
	const struct server_export *exp;
	struct server_handle h;
	int err, fd;

	err = server_handle_decode(w->srv->key, fh, &h);
	if (err)
		return err;
	exp = server_exports_find(&w->srv->exports, h.export_id);
	if (!exp || !exp->dir || h.id.kind == SERVER_ID_NULL)
		return -ESTALE;
	err = resolve_known(w, exp, &h.id, objp, st);
	if (err != -ENOENT)
		return err;
	fd = open_handle(w, exp, &h);
	if (fd < 0)
		return fd;
	if (fstat(fd, st)) {
		err = -errno;
		close(fd);
		return err;
	}
	return object_make(w, exp, &h, st, fd, objp);
}

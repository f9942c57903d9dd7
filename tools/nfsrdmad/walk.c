/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.c - objects by name and by id: opening one component, and finding again what a handle names.
 *
 * A component is opened without following links and without crossing a mount point, so from a
 * folder beneath the export only what lies beneath the export is reached.
 *
 * Where the kernel opens handles, nothing here but server_open_at() is used in the ordinary way of
 * things. Without that privilege, or on a file system that has no handles, an id is the inode
 * number, birth and device, and the object is found again by walking from the export's root: the
 * handle's hint has one byte per component, a hash of its inode number, so of the subfolders of a
 * folder about one in 256 is looked into in vain.  Inode numbers, because they stay when a folder
 * on the way is renamed.  If that fails, because the object was moved to another folder, a search
 * of bounded length tries its luck.
 */
#include "tools/nfsrdmad/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WALK_ID_LEN 16
#define WALK_DEPTH 64
#define WALK_BUF 8192
/* Folders of a million entries lie on the way of a guided walk; an unguided search gives up. */
#define WALK_GUIDED_ENTRIES (4U << 20)
#define WALK_BLIND_ENTRIES 20000U

int server_open_at(int dirfd, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	if (fd >= 0)
		return (int)fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	/* Old kernels, and containers whose filter does not know the call.  A single component
	 * stays in its folder all the same; only mount points are not told apart. */
	fd = openat(dirfd, name, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int kernel_id(int fd, struct server_id *id)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + SERVER_ID_MAX];
	} handle;
	int mount_id;

	handle.head.handle_bytes = SERVER_ID_MAX;
	if (name_to_handle_at(fd, "", &handle.head, &mount_id, AT_EMPTY_PATH))
		return -errno;
	if (handle.head.handle_type < 0 || handle.head.handle_type > 255)
		return -EOVERFLOW;
	id->kind = SERVER_ID_KERNEL;
	id->type = (uint8_t)handle.head.handle_type;
	id->len = (uint8_t)handle.head.handle_bytes;
	memcpy(id->bytes, handle.head.f_handle, id->len);
	return 0;
}

/* On overlayfs a first write changes device and birth: the inode number must do. */
static int walk_id(const struct server_export *exp, int fd, const struct stat *st,
		   struct server_id *id)
{
	uint32_t birth = 0, dev = 0;
	struct statx stx;

	if (!exp->plain_ids) {
		if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx))
			return -errno;
		if (stx.stx_mask & STATX_BTIME)
			birth = (uint32_t)stx.stx_btime.tv_sec * 1000003U ^ stx.stx_btime.tv_nsec;
		dev = (uint32_t)st->st_dev ^ (uint32_t)(st->st_dev >> 32);
	}
	id->kind = SERVER_ID_WALK;
	id->type = 0;
	id->len = WALK_ID_LEN;
	util_put_be64(id->bytes, st->st_ino);
	util_put_be32(id->bytes + 8, birth);
	util_put_be32(id->bytes + 12, dev);
	return 0;
}

int server_id_of(const struct server_export *exp, int fd, const struct stat *st,
		 struct server_id *id)
{
	int err;

	if (exp->kernel_handles) {
		err = kernel_id(fd, id);
		if (err != -EOVERFLOW && err != -EOPNOTSUPP)
			return err;
	}
	return walk_id(exp, fd, st, id);
}

uint8_t server_chain_byte(uint64_t ino)
{
	return (uint8_t)((ino * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

struct search {
	const struct server_export *exp;
	const struct server_id *id;
	uint64_t ino;
	const struct server_hint *chain; /* NULL: blind */
	unsigned max_depth;
	unsigned entries_left;
};

/* Is the entry the object?  Its O_PATH fd, or -ENOENT. */
static int search_try(const struct search *s, int dirfd, const char *name)
{
	struct server_id id;
	struct stat st;
	int fd = server_open_at(dirfd, name, O_PATH);

	if (fd < 0)
		return -ENOENT;
	if (!fstat(fd, &st) && !server_id_of(s->exp, fd, &st, &id) && server_id_equal(&id, s->id))
		return fd;
	close(fd);
	return -ENOENT;
}

static bool search_descends(const struct search *s, const struct server_dirent *ent, unsigned depth)
{
	if (ent->d_type != DT_DIR && ent->d_type != DT_UNKNOWN)
		return false;
	if (depth + 1 >= s->max_depth)
		return false;
	if (!s->chain || depth >= s->chain->len)
		return true;
	return server_chain_byte(ent->d_ino) == s->chain->bytes[depth];
}

static int search_dir(struct search *s, int dirfd, unsigned depth);

static int search_entry(struct search *s, int dirfd, const struct server_dirent *ent,
			unsigned depth)
{
	int fd, found = -ENOENT;

	if (ent->d_name[0] == '.' &&
	    (!ent->d_name[1] || (ent->d_name[1] == '.' && !ent->d_name[2])))
		return -ENOENT;
	if (ent->d_ino == s->ino)
		found = search_try(s, dirfd, ent->d_name);
	if (found >= 0 || !search_descends(s, ent, depth))
		return found;
	fd = server_open_at(dirfd, ent->d_name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd < 0)
		return -ENOENT;
	found = search_dir(s, fd, depth + 1);
	close(fd);
	return found;
}

/* Recursion is bounded by max_depth, time by entries_left. */
static int search_dir(struct search *s, int dirfd, unsigned depth)
{
	_Alignas(struct server_dirent) char buf[WALK_BUF];
	long n;

	while ((n = syscall(SYS_getdents64, dirfd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct server_dirent *ent = (const void *)(buf + at);
			int found;

			if (s->entries_left-- == 0) {
				s->entries_left = 0;
				return -ENOENT;
			}
			found = search_entry(s, dirfd, ent, depth);
			if (found >= 0)
				return found;
			at += ent->d_reclen;
		}
	}
	return -ENOENT;
}

static int search_run(struct search *s, int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int found;

	if (fd < 0)
		return -ESTALE;
	found = search_dir(s, fd, 0);
	close(fd);
	return found >= 0 ? found : -ESTALE;
}

int server_find_in(const struct server_export *exp, int dirfd, const struct server_id *id,
		   uint64_t ino)
{
	struct search s = {
		.exp = exp,
		.id = id,
		.ino = ino,
		.max_depth = 1,
		.entries_left = WALK_GUIDED_ENTRIES,
	};

	return search_run(&s, dirfd);
}

int server_find_below(const struct server_export *exp, const struct server_id *id, uint64_t ino,
		      const struct server_hint *chain)
{
	struct search s = {
		.exp = exp,
		.id = id,
		.ino = ino,
		.chain = chain,
		.max_depth = WALK_DEPTH,
		.entries_left = WALK_GUIDED_ENTRIES,
	};
	int fd = -ESTALE;

	if (chain && chain->len)
		fd = search_run(&s, exp->root_fd);
	if (fd >= 0)
		return fd;
	s.chain = NULL;
	s.entries_left = WALK_BLIND_ENTRIES;
	return search_run(&s, exp->root_fd);
}

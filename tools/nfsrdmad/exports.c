/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exports.c - what is served, under which names, and to whom.
 *
 * An export is a folder, held open from the start, and a name clients mount.  Exports may nest, in
 * names and in folders: a path belongs to the export with the longest matching name.  Nothing
 * crosses a mount point below an export; what is mounted there is exported by itself.
 *
 * An export's id is a keyed hash of name and folder, so handles stay good when options are given
 * in another order or more are added, and die when a name is pointed at another folder.
 */
#include "tools/nfsrdmad/exports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OVERLAYFS_MAGIC 0x794c7630

void server_exports_init(struct server_exports *exports)
{
	memset(exports, 0, sizeof(*exports));
}

void server_exports_close(struct server_exports *exports)
{
	for (unsigned i = 0; i < exports->count; i++) {
		free(exports->list[i].name);
		free(exports->list[i].dir);
		if (exports->list[i].root_fd >= 0)
			close(exports->list[i].root_fd);
	}
	exports->count = 0;
}

char *server_path_clean(const char *path)
{
	size_t len = strlen(path), n = 0;
	char *out;

	if (path[0] != '/' || len > SERVER_NAME_MAX)
		return NULL;
	out = malloc(len + 2);
	if (!out)
		return NULL;
	for (const char *p = path; *p;) {
		size_t part;

		p += strspn(p, "/");
		part = strcspn(p, "/");
		if ((part == 1 && p[0] == '.') || (part == 2 && p[0] == '.' && p[1] == '.')) {
			free(out);
			return NULL;
		}
		if (part == 0)
			break;
		out[n++] = '/';
		memcpy(out + n, p, part);
		n += part;
		p += part;
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return out;
}

/* Takes name and dir over, on failure too. */
static int export_append(struct server_exports *exports, char *name, char *dir, int root_fd,
			 struct util_err *err)
{
	struct server_export *exp = &exports->list[exports->count];
	int ret = 0;

	if (exports->count == SERVER_MAX_EXPORTS)
		ret = util_err_set(err, -E2BIG, "more than %d exports", SERVER_MAX_EXPORTS);
	for (unsigned i = 0; i < exports->count && !ret; i++)
		if (!strcmp(exports->list[i].name, name))
			ret = util_err_set(err, -EEXIST, "two exports are named %s", name);
	if (ret) {
		free(name);
		free(dir);
		return ret;
	}
	memset(exp, 0, sizeof(*exp));
	exp->name = name;
	exp->dir = dir;
	exp->root_fd = root_fd;
	exports->count++;
	return 0;
}

int server_exports_add(struct server_exports *exports, const char *spec, struct util_err *err)
{
	char given[PATH_MAX], *dir, *name = NULL;
	const char *cut = strstr(spec, "=/");
	size_t len;
	int fd, ret;

	for (const char *more = cut; more; more = strstr(more + 1, "=/"))
		cut = more;
	len = cut ? (size_t)(cut - spec) : strlen(spec);
	if (len == 0 || len >= sizeof(given))
		return util_err_set(err, -EINVAL, "export '%s': want DIR or DIR=/NAME", spec);
	memcpy(given, spec, len);
	given[len] = '\0';
	dir = realpath(given, NULL);
	fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0) {
		ret = -errno;
		free(dir);
		util_err_set(err, ret, "export %s: %s", given, strerror(-ret));
		if (strchr(given, '='))
			util_err_hint(err, "a NAME begins with '/': DIR=/NAME");
		return ret;
	}
	name = server_path_clean(cut ? cut + 1 : dir);
	if (!name) {
		free(dir);
		close(fd);
		return util_err_set(err, -EINVAL, "export '%s': bad name", spec);
	}
	ret = export_append(exports, name, dir, fd, err);
	if (ret)
		close(fd);
	return ret;
}

int server_exports_add_null(struct server_exports *exports, struct util_err *err)
{
	char *name = strdup("/null");

	if (!name)
		return util_err_set(err, -ENOMEM, "no memory");
	return export_append(exports, name, NULL, -1, err);
}

int server_exports_allow(struct server_exports *exports, const char *net, struct util_err *err)
{
	struct server_net *n = &exports->nets[exports->nnets];
	const char *slash = strchr(net, '/');
	size_t len = slash ? (size_t)(slash - net) : strlen(net);
	uint64_t bits;

	if (exports->nnets == SERVER_MAX_NETS)
		return util_err_set(err, -E2BIG, "more than %d networks", SERVER_MAX_NETS);
	memset(n, 0, sizeof(*n));
	if (strlen(net) >= sizeof(n->text))
		goto bad;
	memcpy(n->text, net, len);
	if (inet_pton(AF_INET, n->text, n->addr) == 1)
		n->family = AF_INET;
	else if (inet_pton(AF_INET6, n->text, n->addr) == 1)
		n->family = AF_INET6;
	else
		goto bad;
	n->bits = n->family == AF_INET ? 32 : 128;
	if (slash) {
		if (util_u64_parse(slash + 1, n->bits, &bits))
			goto bad;
		n->bits = (unsigned)bits;
	}
	snprintf(n->text, sizeof(n->text), "%s", net);
	exports->nnets++;
	return 0;
bad:
	util_err_set(err, -EINVAL, "'%s' is no network", net);
	util_err_hint(err, "an address, or one with a prefix length: 10.0.0.0/8");
	return -EINVAL;
}

/* Does the kernel open what it names?  Not without CAP_DAC_READ_SEARCH, nor on every file system.
 */
static bool kernel_handles_work(int root_fd)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle;
	int mount_id, fd;

	handle.head.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(root_fd, "", &handle.head, &mount_id, AT_EMPTY_PATH) ||
	    handle.head.handle_bytes > SERVER_ID_MAX || handle.head.handle_type > 255 ||
	    handle.head.handle_type < 0)
		return false;
	fd = open_by_handle_at(root_fd, &handle.head, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int export_probe(struct server_export *exp, struct util_err *err)
{
	struct statfs fs;
	struct stat st;

	if (fstat(exp->root_fd, &st) || fstatfs(exp->root_fd, &fs))
		return util_err_set(err, -errno, "export %s: %s", exp->dir, strerror(errno));
	exp->dev = st.st_dev;
	exp->ino = st.st_ino;
	exp->plain_ids = fs.f_type == OVERLAYFS_MAGIC;
	exp->kernel_handles = kernel_handles_work(exp->root_fd);
	return 0;
}

int server_exports_prepare(struct server_exports *exports, const uint8_t key[SERVER_KEY_LEN],
			   bool read_only, struct util_err *err)
{
	char text[PATH_MAX + SERVER_NAME_MAX + 8];

	for (unsigned i = 0; i < exports->count; i++) {
		struct server_export *exp = &exports->list[i];
		int ret = exp->dir ? export_probe(exp, err) : 0;
		int len;

		if (ret)
			return ret;
		len = snprintf(text, sizeof(text), "%s=%s", exp->dir ? exp->dir : "", exp->name);
		exp->fsid = server_siphash(key, text, (size_t)len);
		exp->id = (uint32_t)exp->fsid;
		exp->read_only = read_only;
		for (unsigned j = 0; j < i; j++)
			if (exports->list[j].id == exp->id)
				return util_err_set(
					err, -EEXIST,
					"exports %s and %s have the same id: rename one",
					exports->list[j].name, exp->name);
	}
	return 0;
}

/* Length of name when it is path or a parent of it, else 0. */
static size_t name_covers(const char *name, const char *path)
{
	size_t len = strlen(name);

	if (len == 1)
		return 1;
	return !strncmp(name, path, len) && (path[len] == '/' || path[len] == '\0') ? len : 0;
}

struct server_export *server_exports_match(struct server_exports *exports, const char *path,
					   const char **rest)
{
	struct server_export *best = NULL;
	size_t best_len = 0;

	for (unsigned i = 0; i < exports->count; i++) {
		size_t len = name_covers(exports->list[i].name, path);

		if (len > best_len) {
			best = &exports->list[i];
			best_len = len;
		}
	}
	*rest = path + best_len;
	return best;
}

struct server_export *server_exports_find(struct server_exports *exports, uint32_t id)
{
	for (unsigned i = 0; i < exports->count; i++)
		if (exports->list[i].id == id)
			return &exports->list[i];
	return NULL;
}

static bool bits_match(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned bytes = bits / 8;

	if (memcmp(a, b, bytes))
		return false;
	return bits % 8 == 0 || (a[bytes] ^ b[bytes]) >> (8 - bits % 8) == 0;
}

bool server_exports_allowed(const struct server_exports *exports,
			    const struct sockaddr_storage *peer)
{
	const struct sockaddr_in6 *in6 = (const void *)peer;
	const struct sockaddr_in *in = (const void *)peer;
	const uint8_t *addr = (const uint8_t *)&in->sin_addr;
	sa_family_t family = peer->ss_family;

	if (exports->nnets == 0)
		return true;
	if (family == AF_INET6) {
		addr = in6->sin6_addr.s6_addr;
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			addr += 12;
			family = AF_INET;
		}
	}
	for (unsigned i = 0; i < exports->nnets; i++)
		if (exports->nets[i].family == family &&
		    bits_match(exports->nets[i].addr, addr, exports->nets[i].bits))
			return true;
	return false;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.c - a mount from its target to its end.
 *
 * nfsrdma_mount() parses, connects, finds the export through whoever answers MOUNT, asks FSINFO for
 * sizes, and walks from the export to the target's directory.  Each wait is bounded: connects and
 * calls by CLIENT_MOUNT_CALL_MS, rpcbind by CLIENT_RPCBIND_MS, and the whole is repeated while what
 * failed may pass (connection refused, time-out) until retry= minutes are over; with retry=0, once.
 *
 * nfsrdma_umount() ends every outstanding call with -ECANCELED.  The order matters: memory goes
 * back to its pool before the last connection takes the pool down, and nothing goes back that a
 * peer may touch.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/internal.h"

#define DEFAULT_SLOTS 128
#define DIRTY_MAX (16u << 20)

/* While mounting, connections come and go unsaid: how that ends, nfsrdma_mount() tells. */
static void log_line(void *arg, enum util_log_level level, const char *line)
{
	struct nfsrdma *mount = arg;

	if (mount->call_limit_ms && level == UTIL_LOG_WARN) {
		if (mount->log.level < UTIL_LOG_INFO)
			return;
		level = UTIL_LOG_INFO;
	}
	mount->user_log(mount->user_log_arg, (enum nfsrdma_log_level)level, line);
}

static void mount_init(struct nfsrdma *mount)
{
	mount->epoll_fd = mount->timer_fd = -1;
	mount->call_limit_ms = CLIENT_MOUNT_CALL_MS;
	mount->dirty_max = DIRTY_MAX;
	util_list_init(&mount->delayed);
	util_list_init(&mount->ready);
	util_list_init(&mount->starved);
	util_list_init(&mount->files);
	util_list_init(&mount->dirs);
	util_list_init(&mount->bufs);
	client_pools_init(mount);
}

/* A caller built against an older or newer header: what it does not know is zero. */
static int options_copy(struct nfsrdma_options *o, const struct nfsrdma_options *from,
			struct util_err *err)
{
	memset(o, 0, sizeof(*o));
	if (!from)
		return 0;
	if (from->size < offsetof(struct nfsrdma_options, log))
		return util_err_set(err, -EINVAL,
				    "struct nfsrdma_options: size is not set "
				    "(start from NFSRDMA_OPTIONS_INIT)");
	memcpy(o, from, from->size < sizeof(*o) ? from->size : sizeof(*o));
	return 0;
}

static int mount_options(struct nfsrdma *mount, const struct nfsrdma_options *o,
			 struct util_err *err)
{
	int ret;

	client_options_init(&mount->opts);
	ret = client_options_parse(&mount->opts, o->opts, err);
	if (!ret)
		ret = client_target_query(&mount->target, &mount->opts, err);
	if (!ret)
		ret = client_options_agree(&mount->opts, err);
	if (ret)
		return ret;
	mount->user_log = o->log;
	mount->user_log_arg = o->log_arg;
	if (o->log)
		mount->log = (struct util_log){log_line, mount, (enum util_log_level)o->log_level};
	mount->window =
		(mount->opts.slots ? mount->opts.slots : DEFAULT_SLOTS) * mount->opts.nconnect;
	if (mount->opts.max_pinned && mount->opts.max_pinned / 2 < mount->dirty_max)
		mount->dirty_max = mount->opts.max_pinned / 2;
	client_cred_init(&mount->cred, &mount->opts);
	return 0;
}

void client_mount_free(struct nfsrdma *mount)
{
	client_disconnect(mount);
	client_drive_close(mount);
	client_pools_free(mount);
	if (mount->ctx)
		client_ctx_put(mount->ctx);
	free(mount);
}

int client_mount_new(struct nfsrdma **mountp, const char *target, bool server_only,
		     const struct nfsrdma_options *opts, struct util_err *err)
{
	struct nfsrdma_options o;
	struct nfsrdma *mount;
	int ret;

	mount = calloc(1, sizeof(*mount));
	if (!mount)
		return util_err_set(err, -ENOMEM, "out of memory");
	mount_init(mount);
	ret = options_copy(&o, opts, err);
	if (!ret)
		ret = server_only ? client_target_parse_server(&mount->target, target, err)
				  : client_target_parse(&mount->target, target, err);
	if (ret == -ENOTTY)
		ret = -EINVAL;
	if (!ret)
		ret = mount_options(mount, &o, err);
	if (!ret && o.ctx) {
		mount->ctx = o.ctx;
		client_ctx_get(o.ctx);
	} else if (!ret) {
		ret = nfsrdma_ctx_create(&mount->ctx);
	}
	if (ret) {
		client_mount_free(mount);
		return ret;
	}
	*mountp = mount;
	return 0;
}

/* ---- sizes -------------------------------------------------------------------------------- */

/* Of one READ or WRITE: what was asked for, or the most; never above the server's maximum. */
static uint32_t io_size(uint64_t asked, uint32_t server_max, size_t lease_max)
{
	uint64_t size = asked ? asked : CLIENT_IO_MAX;

	if (size > CLIENT_IO_MAX)
		size = CLIENT_IO_MAX;
	if (server_max && size > server_max)
		size = server_max;
	if (size > lease_max)
		size = lease_max;
	if (size > 1024)
		size -= size % 1024;
	return size ? (uint32_t)size : 1;
}

void client_mount_sizes(struct nfsrdma *mount, const struct client_fsinfo *info)
{
	size_t lease_max = mr_pool_max_lease(transport_client_pool(mount->conn[0]));

	mount->rsize = io_size(mount->opts.rsize, info->rtmax, lease_max);
	mount->wsize = io_size(mount->opts.wsize, info->wtmax, lease_max);
	mount->dtsize = info->dtpref;
	if (mount->dtsize < 4096)
		mount->dtsize = 4096;
	if (mount->dtsize > 65536)
		mount->dtsize = 65536;
}

/* ---- mounting ----------------------------------------------------------------------------- */

/* Through one mountd: the export, its handle, and whether the NFS server knows it. */
static int mount_export(struct nfsrdma *mount, struct transport_client *conn, void *arg)
{
	struct client_fsinfo info;
	int err;

	err = client_export_find(mount, conn);
	if (err)
		return err;
	err = client_fsinfo(mount, &mount->export_root, &info);
	if (err) {
		util_err_prefix(&mount->err, "FSINFO of %s", mount->export_path);
		return err;
	}
	client_mount_sizes(mount, &info);
	mount->mounted = true;
	return 0;
}

static int mount_root(struct nfsrdma *mount, unsigned flags)
{
	struct client_walk walk;
	int err;

	mount->root = mount->export_root;
	if (flags & NFSRDMA_AT_EXPORT || !strcmp(mount->root_path, "/"))
		return 0;
	err = client_walk(mount, mount->root_path, CLIENT_WALK_FOLLOW, &walk);
	if (!err)
		err = client_node_attr(mount, &walk.node);
	if (!err && walk.node.attr.attr.type != CLIENT_DIR)
		err = client_error(mount, -ENOTDIR, "not a directory");
	if (err) {
		util_err_prefix(&mount->err, "%s in export %s", mount->root_path,
				mount->export_path);
		return err;
	}
	mount->root = walk.node.fh;
	/* A slash at the end has got its directory. */
	if (mount->root_path[strlen(mount->root_path) - 1] == '/')
		mount->root_path[strlen(mount->root_path) - 1] = '\0';
	return 0;
}

static int mount_once(struct nfsrdma *mount, unsigned flags)
{
	int err = client_connect(mount);

	if (err)
		return err;
	err = client_mountd(mount, mount_export, NULL);
	if (!err)
		err = mount_root(mount, flags);
	if (err) {
		struct util_err words = mount->err;

		client_mountd_umnt(mount);
		client_disconnect(mount);
		mount->call_limit_ms = CLIENT_MOUNT_CALL_MS;
		mount->err = words;
	}
	return err;
}

static void pause_s(unsigned seconds)
{
	struct timespec ts = {.tv_sec = seconds};

	nanosleep(&ts, NULL);
}

static int mount_retry(struct nfsrdma *mount, int (*once)(struct nfsrdma *mount, unsigned flags),
		       unsigned flags)
{
	uint64_t end = util_clock_ns() + mount->opts.retry_min * 60 * UTIL_NS_PER_S;
	unsigned pause = 1;
	int err;

	for (;;) {
		err = once(mount, flags);
		if (!err || !client_transient(err) || util_clock_ns() + pause * UTIL_NS_PER_S > end)
			return err;
		util_log(&mount->log, UTIL_LOG_INFO, "%s; trying again in %u s", mount->err.what,
			 pause);
		pause_s(pause);
		pause = pause < 8 ? pause * 2 : 10;
	}
}

int nfsrdma_mount(struct nfsrdma **mountp, const char *target, const struct nfsrdma_options *opts)
{
	unsigned flags = 0;
	struct nfsrdma *mount;
	struct util_err err;
	int ret;

	util_err_clear(&err);
	ret = client_mount_new(&mount, target, false, opts, &err);
	if (ret)
		return client_fail_err(ret, &err);
	if (opts && opts->size >= sizeof(*opts))
		flags = opts->flags;
	ret = mount_retry(mount, mount_once, flags);
	if (ret) {
		client_fail_mount(mount, ret, "mount", target);
		client_mount_free(mount);
		return ret;
	}
	mount->call_limit_ms = 0;
	util_err_clear(&mount->err);
	*mountp = mount;
	return 0;
}

/* ---- the end ------------------------------------------------------------------------------ */

/* Every asynchronous call ends now; what they held goes back. */
static void umount_cancel(struct nfsrdma *mount)
{
	mount->closing = true;
	mount->in_progress = true; /* callbacks run at once */
	UTIL_LIST_FOR_EACH (node, &mount->files) {
		struct nfsrdma_file *file = UTIL_LIST_ENTRY(node, struct nfsrdma_file, node);

		client_unstable_drop(file, &file->now);
		if (!file->rewrites) /* else what they write from goes with the last of them */
			client_unstable_drop(file, &file->committing);
	}
	client_op_cancel_delayed(mount);
	client_io_unstarve(mount);
	client_bufs_abandon(mount);
}

/* Results that were ready, and what the ends of the last calls made ready. */
static void umount_finish(struct nfsrdma *mount)
{
	struct util_list *node;

	do {
		while ((node = util_list_pop(&mount->ready)))
			client_io_complete(UTIL_LIST_ENTRY(node, struct client_io, node));
		client_io_unstarve(mount);
	} while (!util_list_empty(&mount->ready));
}

void nfsrdma_umount(struct nfsrdma *mount)
{
	if (!mount)
		return;
	if (mount->in_callback) {
		mount->umount_due = true;
		return;
	}
	client_mountd_umnt(mount);
	umount_cancel(mount);
	umount_finish(mount);
	client_disconnect(mount);
	umount_finish(mount);
	client_bufs_free(mount);
	while (!util_list_empty(&mount->files))
		client_file_free(UTIL_LIST_ENTRY(mount->files.next, struct nfsrdma_file, node));
	client_dirs_free(mount);
	client_mount_free(mount);
}

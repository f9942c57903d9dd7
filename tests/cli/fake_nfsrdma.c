/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_nfsrdma.c - files in memory behind the public header.
 */
#include "fake_nfsrdma.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct nfsrdma_buf {
	struct nfsrdma *mount;
	size_t len;
	uint8_t data[];
};

static char last_error[128] = "no error";

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static int fail(int err)
{
	snprintf(last_error, sizeof(last_error), "scripted failure: %s", strerror(-err));
	return err;
}

void fake_init(struct nfsrdma *mount, const char *address)
{
	memset(mount, 0, sizeof(*mount));
	mount->address = address;
	mount->rsize = mount->wsize = 256 << 10;
	mount->seed = 1;
	mount->fail_with = -ESTALE;
	/* always readable: a fake has no reason to let anybody sleep */
	mount->fd = eventfd(1, EFD_CLOEXEC);
}

void fake_fini(struct nfsrdma *mount)
{
	close(mount->fd);
}

void fake_file_init(struct nfsrdma_file *file, size_t size, uint32_t seed)
{
	memset(file, 0, sizeof(*file));
	file->data = calloc(1, FAKE_FILE_MAX);
	file->size = size;
	if (!seed)
		return;
	for (size_t i = 0; i + 4 <= FAKE_FILE_MAX && i < size + 4; i += 4) {
		uint32_t r = next_random(&seed);

		memcpy(file->data + i, &r, 4);
	}
}

void fake_file_fini(struct nfsrdma_file *file)
{
	free(file->data);
}

/* ---- buffers ---- */

int nfsrdma_buf_get(struct nfsrdma *mount, struct nfsrdma_buf **bufp, size_t len, int flags)
{
	if ((mount->bufs_max && mount->bufs_now == mount->bufs_max) ||
	    (mount->buf_len_max && len > mount->buf_len_max))
		return fail(-ENOMEM);
	*bufp = malloc(sizeof(**bufp) + len);
	(*bufp)->mount = mount;
	(*bufp)->len = len;
	memset((*bufp)->data, 0x5a, len);
	mount->bufs_now++;
	return 0;
}

void nfsrdma_buf_put(struct nfsrdma_buf *buf)
{
	if (!buf)
		return;
	buf->mount->bufs_now--;
	free(buf);
}

void *nfsrdma_buf_addr(const struct nfsrdma_buf *buf)
{
	return (void *)buf->data;
}

size_t nfsrdma_buf_len(const struct nfsrdma_buf *buf)
{
	return buf->len;
}

/* ---- calls ---- */

/* Files belong to whichever mount's end names them: the tests keep one mount per file's user. */
static struct nfsrdma *mount_of_buf(const struct nfsrdma_buf *buf)
{
	return buf->mount;
}

static int submit(struct nfsrdma *mount, const struct fake_op *op)
{
	mount->submissions++;
	if (mount->refuse_at && mount->submissions == mount->refuse_at)
		return fail(-ESHUTDOWN);
	if (mount->npending == FAKE_PENDING_MAX)
		abort();
	mount->pending[mount->npending++] = *op;
	if (mount->npending > mount->most_pending)
		mount->most_pending = mount->npending;
	return 0;
}

int nfsrdma_pread_async(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
			size_t len, uint64_t off, nfsrdma_done *done, void *arg)
{
	struct fake_op op = {FAKE_READ, file, buf->data + buf_off, len, off, done, arg};

	if (buf_off > buf->len || len > buf->len - buf_off)
		abort();
	return submit(mount_of_buf(buf), &op);
}

int nfsrdma_pwrite_async(struct nfsrdma_file *file, struct nfsrdma_buf *buf, size_t buf_off,
			 size_t len, uint64_t off, nfsrdma_done *done, void *arg)
{
	struct fake_op op = {FAKE_WRITE, file, buf->data + buf_off, len, off, done, arg};

	if (buf_off > buf->len || len > buf->len - buf_off)
		abort();
	return submit(mount_of_buf(buf), &op);
}

/* The one mount that durable tests use. */
static struct nfsrdma *sync_mount;

int nfsrdma_fsync_async(struct nfsrdma_file *file, nfsrdma_done *done, void *arg)
{
	struct fake_op op = {.kind = FAKE_SYNC, .file = file, .done = done, .arg = arg};

	return submit(sync_mount, &op);
}

static ssize_t run_read(struct nfsrdma *mount, const struct fake_op *op)
{
	size_t n = op->off < op->file->size ? op->file->size - op->off : 0;

	n = n < op->len ? n : op->len;
	if (mount->shorten && n > 1 && next_random(&mount->seed) % 3 == 0)
		n = 1 + next_random(&mount->seed) % (n - 1);
	memcpy(op->mem, op->file->data + op->off, n);
	op->file->reads++;
	return (ssize_t)n;
}

static ssize_t run_write(struct nfsrdma *mount, const struct fake_op *op)
{
	size_t n = op->len;

	if (op->off + n > FAKE_FILE_MAX)
		abort();
	if (mount->shorten && n > 1 && next_random(&mount->seed) % 3 == 0)
		n = 1 + next_random(&mount->seed) % (n - 1);
	memcpy(op->file->data + op->off, op->mem, n);
	if (op->off + n > op->file->size)
		op->file->size = op->off + n;
	op->file->writes++;
	if (mount->nheld < 1024)
		mount->held[mount->nheld++] = (struct fake_held){op->mem, op->off, n};
	return (ssize_t)n;
}

static ssize_t run_sync(struct nfsrdma *mount, const struct fake_op *op)
{
	for (unsigned i = 0; i < mount->nheld; i++) {
		const struct fake_held *h = &mount->held[i];

		if (memcmp(h->mem, op->file->data + h->off, h->len) != 0)
			mount->held_changed++;
	}
	mount->nheld = 0;
	op->file->syncs++;
	return 0;
}

static ssize_t run(struct nfsrdma *mount, const struct fake_op *op)
{
	mount->completions++;
	if (mount->fail_at && mount->completions == mount->fail_at)
		return fail(mount->fail_with);
	if (op->kind == FAKE_SYNC)
		return run_sync(mount, op);
	return op->kind == FAKE_READ ? run_read(mount, op) : run_write(mount, op);
}

int nfsrdma_process(struct nfsrdma *mount, int timeout_ms)
{
	unsigned n = mount->npending ? 1 + next_random(&mount->seed) % mount->npending : 0;

	sync_mount = mount;
	for (unsigned i = 0; i < n; i++) {
		unsigned pick = next_random(&mount->seed) % mount->npending;
		struct fake_op op = mount->pending[pick];

		mount->pending[pick] = mount->pending[--mount->npending];
		op.done(op.arg, run(mount, &op));
	}
	return (int)n;
}

int nfsrdma_fd(struct nfsrdma *mount)
{
	return mount->fd;
}

int nfsrdma_info(struct nfsrdma *mount, struct nfsrdma_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	snprintf(info->address, sizeof(info->address), "%s", mount->address);
	strcpy(info->export_path, "/e");
	info->rsize = mount->rsize;
	info->wsize = mount->wsize;
	return 0;
}

/* ---- what the rest of the tool links to ---- */

const char *nfsrdma_strerror_last(void)
{
	return last_error;
}

const char *nfsrdma_hint_last(void)
{
	return "";
}

const char *nfsrdma_version(void)
{
	return NFSRDMA_VERSION;
}

int nfsrdma_ctx_create(struct nfsrdma_ctx **ctxp)
{
	*ctxp = NULL;
	return 0;
}

void nfsrdma_ctx_destroy(struct nfsrdma_ctx *ctx)
{
}

int nfsrdma_mount(struct nfsrdma **mountp, const char *target, const struct nfsrdma_options *opts)
{
	return fail(-ENOSYS);
}

void nfsrdma_umount(struct nfsrdma *mount)
{
}

int nfsrdma_target_is_remote(const char *target)
{
	return strchr(target, ':') != NULL;
}

void nfsrdma_stats(struct nfsrdma *mount, enum nfsrdma_stats_group group,
		   void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy_file.c - one regular file, from beginning to end.
 *
 * The data is written unstable and made safe once at the end, which is the fast way.  If the server
 * restarts in between it may have lost some of it; fsync says so, and then everything is written
 * again, since the source is still there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "copy.h"
#include "progress.h"

#define ATTEMPTS 3

static void on_progress(void *arg, uint64_t moved)
{
	progress_update(arg, moved);
}

/* Worth looking for holes: the file occupies less than its size. */
static bool is_sparse(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size;
}

/* Move the bytes and make them safe.  The sentence is in job->why. */
static int move_bytes(struct copy *copy, struct transfer_job *job, struct copy_out *out)
{
	int err = 0;

	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		err = transfer_run(copy->transfer, job);
		if (err)
			return err;
		if (job->skip_zeros && out->end.kind != TRANSFER_STREAM)
			err = copy_out_truncate(out, job->end);
		if (!err)
			err = copy_out_sync(out);
		if (err != -EIO)
			break;
	}
	if (err) {
		snprintf(job->why, sizeof(job->why), "%s",
			 out->end.file ? nfsrdma_strerror_last() : strerror(-err));
		snprintf(job->hint, sizeof(job->hint), "%s",
			 out->end.file ? nfsrdma_hint_last() : "");
	}
	return err;
}

/* What went wrong, and what that left behind. */
static void tell_failure(struct copy *copy, const struct transfer_job *job, struct copy_out *out,
			 const struct place *dst, const struct stat *src_st)
{
	char name[CLI_NAME_MAX], left[2 * CLI_NAME_MAX + 128], temp[CLI_NAME_MAX + 32];
	bool beside = out->temp.path;

	cli_safe(dst->shown, name, sizeof(name));
	copy_out_abandon(out, temp, sizeof(temp));
	if (beside)
		snprintf(left, sizeof(left), "%s is as it was before%s", name, temp);
	else
		snprintf(left, sizeof(left), "%llu of %llu bytes are in %s",
			 (unsigned long long)job->moved, (unsigned long long)src_st->st_size, name);
	cli_error(copy->cli, "%s: %s (%s%s%s)", name, job->why, job->hint, job->hint[0] ? "; " : "",
		  left);
}

static int copy_open_files(struct copy *copy, struct transfer_job *job, struct copy_out *out,
			   const struct place *dst, const struct stat *src_st)
{
	struct progress progress;
	int err;

	job->dst = out->end;
	job->size = (uint64_t)src_st->st_size;
	job->skip_zeros = is_sparse(src_st) && out->end.kind != TRANSFER_STREAM;
	job->stop = copy->stop;
	job->progress = on_progress;
	job->progress_arg = &progress;
	progress_start(&progress, copy->cli, dst->shown, job->size);
	err = move_bytes(copy, job, out);
	progress_end(&progress, !err);
	if (err) {
		tell_failure(copy, job, out, dst, src_st);
		return err;
	}
	err = copy_out_commit(copy, out, dst, src_st);
	if (err)
		return err;
	copy->files++;
	copy->bytes += job->moved;
	return 0;
}

int copy_regular(struct copy *copy, const struct place *src, const struct stat *src_st,
		 const struct place *dst, const struct stat *dst_st)
{
	struct transfer_job job = {.moved = 0};
	struct copy_out out;
	int err = copy_in_open(copy, src, &job.src);

	if (err)
		return err;
	err = copy_out_open(copy, dst, dst_st, src_st->st_mode, &out);
	if (!err) {
		err = copy_open_files(copy, &job, &out, dst, src_st);
		if (err)
			copy_out_abandon(&out, NULL, 0);
	}
	copy_in_close(&job.src);
	if (!err && copy->cli->verbosity > 0 && !copy->cli->json)
		printf("%s -> %s\n", src->shown, dst->shown);
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_write.c - write [-a | --offset N] TARGET: standard input to a file.
 *
 * Without options the file is replaced when the input has come to its end, as cp does.  With -a the
 * input goes behind what is there, with --offset over it; then it is written in place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "copy.h"
#include "interrupt.h"
#include "progress.h"

static void on_progress(void *arg, uint64_t moved)
{
	progress_update(arg, moved);
}

/* Standard input, bigger gulps where it is a pipe. */
static struct transfer_end standard_input(void)
{
	(void)fcntl(0, F_SETPIPE_SZ, 1 << 20);
	return (struct transfer_end){.kind = TRANSFER_STREAM, .fd = 0};
}

static int run_job(struct copy *copy, const struct place *dst, struct transfer_job *job)
{
	struct progress progress;
	int err;

	job->src = standard_input();
	job->durable = true;
	job->stop = copy->stop;
	job->progress = on_progress;
	job->progress_arg = &progress;
	progress_start(&progress, copy->cli, dst->shown, 0);
	err = transfer_run(copy->transfer, job);
	progress_end(&progress, !err);
	return err;
}

static void tell(struct copy *copy, const struct place *dst, const struct transfer_job *job,
		 const char *left)
{
	char name[CLI_NAME_MAX];

	cli_error(copy->cli, "%s: %s (%s%s%s)", cli_safe(dst->shown, name, sizeof(name)), job->why,
		  job->hint, job->hint[0] ? "; " : "", left);
}

static void replace(struct copy *copy, const struct place *dst)
{
	struct transfer_job job = {.moved = 0};
	struct copy_out out;
	struct stat st;
	char left[CLI_NAME_MAX + 128], temp[CLI_NAME_MAX + 32];
	bool beside;
	int err = place_stat(dst, &st);

	if (err && err != -ENOENT) {
		place_fail(copy->cli, dst, "stat", err);
		return;
	}
	if (copy_out_open(copy, dst, err ? NULL : &st, 0666, &out))
		return;
	job.dst = out.end;
	err = run_job(copy, dst, &job);
	if (err) {
		beside = out.temp.path;
		copy_out_abandon(&out, temp, sizeof(temp));
		if (beside)
			snprintf(left, sizeof(left), "it is as it was before%s", temp);
		else
			snprintf(left, sizeof(left), "%llu bytes are in it",
				 (unsigned long long)job.moved);
		tell(copy, dst, &job, left);
	} else {
		err = copy_out_commit(copy, &out, dst, NULL);
	}
	if (err)
		copy_out_abandon(&out, NULL, 0);
}

static void overwrite(struct copy *copy, const struct place *dst, bool append, uint64_t offset)
{
	struct transfer_job job = {.dst = {.kind = TRANSFER_REMOTE, .mount = dst->mount, .fd = -1}};
	struct stat st;
	char left[128];
	int err;

	if (nfsrdma_open(dst->mount, &job.dst.file, dst->path, O_WRONLY | O_CREAT,
			 0666 & ~copy->umask_bits)) {
		cli_fail(copy->cli);
		return;
	}
	err = append ? nfsrdma_fstat(job.dst.file, &st) : 0;
	if (err) {
		cli_fail(copy->cli);
		nfsrdma_close(job.dst.file);
		return;
	}
	job.dst_off = append ? (uint64_t)st.st_size : offset;
	err = run_job(copy, dst, &job);
	if (err) {
		snprintf(left, sizeof(left), "%llu bytes were written from offset %llu on",
			 (unsigned long long)job.moved, (unsigned long long)job.dst_off);
		tell(copy, dst, &job, left);
	}
	if (nfsrdma_close(job.dst.file) && !err)
		cli_fail(copy->cli);
}

static void run_write(struct cli *cli, int argc, char **argv)
{
	struct copy copy = {.cli = cli, .umask_bits = cli_umask()};
	struct cli_target target;
	struct place dst;
	uint64_t offset = 0;

	if (cli->flags['a'] && cli->flags['O']) {
		cli_usage(cli, "-a and --offset exclude each other");
		return;
	}
	if (cli->flags['O'] && util_size_parse(cli->values['O'], 1, &offset)) {
		cli_usage(cli, "--offset %s: not a number of bytes", cli->values['O']);
		return;
	}
	if (cli_target_open(cli, argv[0], &target))
		return;
	dst = (struct place){.mount = target.mount, .path = target.path, .shown = argv[0]};
	if (transfer_create(&copy.transfer, cli)) {
		cli_error(cli, "out of memory");
	} else {
		copy.stop = interrupt_catch();
		if (cli->flags['a'] || cli->flags['O'])
			overwrite(&copy, &dst, cli->flags['a'], offset);
		else
			replace(&copy, &dst);
		transfer_destroy(copy.transfer);
		interrupt_release();
	}
	cli_target_close(&target);
}

const struct cli_command cmd_write = {
	.name = "write",
	.operands = "[-a | --offset N] TARGET",
	.summary = "standard input to a file",
	.min_operands = 1,
	.max_operands = 1,
	.options = "aO:",
	.run = run_write,
};

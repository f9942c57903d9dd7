/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cli.h - what the commands of nfsrdma share.
 *
 * A command is a function that gets the invocation (struct cli) and its operands, says what went
 * wrong with cli_error or cli_fail, and goes on with the next operand where that makes sense.  The
 * exit status is kept in the invocation: 0 done, 1 an operation failed, 2 usage.
 */
#ifndef TOOLS_NFSRDMA_CLI_H
#define TOOLS_NFSRDMA_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "client/nfsrdma.h"
#include "util/util.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli;

struct cli_command {
	const char *name;
	const char *operands; /* "[-p] TARGET..." */
	const char *summary;
	int min_operands, max_operands; /* max -1: any number */
	const char *options;		/* getopt's, this command's own */
	/* Own options are in cli->flags and cli->values. */
	void (*run)(struct cli *cli, int argc, char **argv);
};

struct cli_mount; /* target.c */

struct cli {
	const struct cli_command *command; /* NULL before it is known */
	const char *opts;		   /* -o, joined */
	char *opts_joined;
	int verbosity; /* -1 quiet, 0, 1, 2 */
	bool json, stats, no_progress;
	bool out_is_terminal;
	bool flags[128];	 /* own options that were given, by letter */
	const char *values[128]; /* and what they were given */
	struct nfsrdma_ctx *ctx; /* made with the first mount */
	struct cli_mount *mounts;
	size_t nmounts;
	bool progress_shown; /* a bar is on the terminal: errors go below it */
	int status;
};

/* ---- options.c ---- */

/* Global options before and after the command, then its own.  Returns the number of operands left
 * in argv, or -1 when the program is done (help, version, usage error): cli->status says how. */
int cli_parse(struct cli *cli, int argc, char ***argvp, const struct cli_command *const *commands);

/* ---- report.c ---- */

/* "nfsrdma: COMMAND: what", status 1. */
void cli_error(struct cli *cli, const char *fmt, ...) UTIL_PRINTF(2, 3);
/* The same for a wrong invocation, status 2. */
void cli_usage(struct cli *cli, const char *fmt, ...) UTIL_PRINTF(2, 3);
/* What the library said last, with its hint. */
void cli_fail(struct cli *cli);
/* "doing PATH: why" for a local path; error is a negative errno. */
void cli_fail_local(struct cli *cli, const char *doing, const char *path, int error);
/* nfsrdma_options.log */
void cli_log(void *arg, enum nfsrdma_log_level level, const char *line);
/* --stats: the counters of every mount. */
void cli_print_stats(struct cli *cli);

/* ---- target.c ---- */

/* An operand that names something on a server. */
struct cli_target {
	struct nfsrdma *mount; /* the invocation's: targets of one export share it */
	char *path;	       /* beneath the export, begins with '/' */
	const char *text;      /* as typed */
};

/* 0, or -errno after telling the user.  The mount's root is the export. */
int cli_target_open(struct cli *cli, const char *text, struct cli_target *target);
void cli_target_close(struct cli_target *target);
/* Run fn on each operand as a target, one after the other whatever fails. */
void cli_each_target(struct cli *cli, int argc, char **argv,
		     void (*fn)(struct cli *cli, const struct cli_target *target));
void cli_mounts_close(struct cli *cli);
struct nfsrdma *cli_mount_at(const struct cli *cli, size_t i); /* NULL past the last */
/* The two name the same server. */
bool cli_same_server(const struct cli *cli, struct nfsrdma *a, struct nfsrdma *b);

/* ---- output.c ---- */

/* Flush and check standard output. */
void cli_flush(struct cli *cli);
/* A name on standard output: escaped on a terminal, as it is elsewhere. */
void cli_print_name(const struct cli *cli, const char *name);
/* A name for a message, always escaped; returns buf. */
const char *cli_safe(const char *name, char *buf, size_t len);
#define CLI_NAME_MAX 1024
/* "1.5G", "17", as ls -h; returns buf. */
const char *cli_human(uint64_t bytes, char buf[8]);
/* "drwxr-xr-x" */
const char *cli_mode_text(mode_t mode, char buf[11]);
/* "regular file" */
const char *cli_type_name(mode_t mode);
/* What follows the last '/' that has something after it, "" for "/" and "". */
char *cli_basename(const char *path);
/* dir + '/' + name */
char *cli_join(const char *dir, const char *name);

/* ---- mode.c ---- */

/* Octal or symbolic (chmod(1)); mode is the file's now, umask_bits what a missing "ugoa" leaves
 * out.  -EINVAL. */
int cli_mode_apply(const char *text, mode_t mode, mode_t umask_bits, mode_t *resultp);
/* The process's umask, without a moment in which it is another. */
mode_t cli_umask(void);

/* ---- owner.c ---- */

/* "USER[:GROUP]" or ":GROUP", names or numbers; what is not said is (uid_t)-1, (gid_t)-1.  -EINVAL.
 */
int cli_owner_parse(const char *text, uid_t *uidp, gid_t *gidp);
/* "root", or the number where there is no name; returns buf. */
const char *cli_user_name(uid_t uid, char buf[33]);
const char *cli_group_name(gid_t gid, char buf[33]);

#endif

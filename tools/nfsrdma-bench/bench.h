/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - what the files of nfsrdma-bench share.
 *
 * main.c reads the options, starts a private server where there is no target, has run.c carry out
 * the rounds (children are threads, child.c, each with a client of its own, client_*.c), and hands
 * the results to three printers: report.c (iozone's lines), notes.c (ours, prefixed "# ") and
 * json.c.
 */
#ifndef NFSRDMA_BENCH_H
#define NFSRDMA_BENCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "client/nfsrdma.h"
#include "iommu-aware/iommu.h"
#include "mr/mr.h"
#include "util/util.h"

/* ---- options ------------------------------------------------------------------------------ */

enum bench_client_kind { BENCH_CLIENT_NFSRDMA, BENCH_CLIENT_LIBNFS, BENCH_CLIENT_POSIX };

/* iozone's numbers, as after -i. */
enum { BENCH_I_WRITE = 0, BENCH_I_READ = 1, BENCH_I_COUNT = 13 };

#define BENCH_PREAMBLE_MAX 64
#define BENCH_THREADS_MAX 1024
#define BENCH_DEPTH_MAX 1024

struct bench_options {
	unsigned tests;		    /* bit per iozone number */
	uint64_t file_size, record; /* bytes */
	bool throughput;	    /* -t, or -l and -u */
	unsigned threads_min, threads_max;
	bool range;	  /* -l, -u */
	bool say_threads; /* -T */
	bool direct, fsync_timed, close_timed, o_sync, keep;
	bool no_stonewall, no_retest;
	bool ops, usec; /* -O, -N */
	bool cpu;	/* -+u */
	enum bench_client_kind client;
	const char *posix_dir;
	const char *target;	/* NULL: a private server */
	const char *mount_opts; /* NULL: none */
	const char *json;
	const char *dir; /* of the private server's files, NULL: TMPDIR */
	unsigned depth;
	/* The lines iozone prints while it reads its options, in their order. */
	char preamble[BENCH_PREAMBLE_MAX][96];
	unsigned npreamble;
	unsigned twice; /* index of the preamble line that is printed twice, or none */
	int argc;
	char **argv;
};

enum { BENCH_USAGE = 1, BENCH_HELP, BENCH_VERSION };

/* 0, BENCH_HELP, BENCH_VERSION, or BENCH_USAGE with one line in err->what. */
int bench_options_parse(struct bench_options *opts, int argc, char **argv, struct util_err *err);
extern const char bench_help[];

/* ---- results ------------------------------------------------------------------------------- */

enum bench_test { BENCH_WRITE, BENCH_REWRITE, BENCH_READ, BENCH_REREAD, BENCH_TESTS };

bool bench_test_writes(enum bench_test test);
/* "initial writers" */
const char *bench_test_name(enum bench_test test);

/* The counters of the JSON documents, found by name in what the library reports. */
#define BENCH_LEDGER_FIELDS 12
#define BENCH_TRANSPORT_FIELDS 9

struct bench_counters {
	uint64_t ledger[BENCH_LEDGER_FIELDS], transport[BENCH_TRANSPORT_FIELDS];
};

const char *bench_ledger_name(unsigned i);
const char *bench_transport_name(unsigned i);
enum { BENCH_T_RPCS, BENCH_T_DOORBELLS, BENCH_T_CREDIT_WAITS = 4 };
/* to += from, to -= from */
void bench_counters_add(struct bench_counters *to, const struct bench_counters *from);
void bench_counters_sub(struct bench_counters *to, const struct bench_counters *from);

struct bench_latency {
	double p50, p95, p99, p999, max; /* us */
};

struct bench_cpu {
	double user, system, server; /* s; server < 0: not ours to see */
};

struct bench_result {
	enum bench_test test;
	unsigned children;
	bool cut; /* ended early by the user */
	uint64_t bytes, ops;
	/* in ops where opts->ops, else in kB of 1024 bytes */
	double children_rate, parent_rate, min_rate, max_rate, avg_rate, min_xfer;
	double wall_s;
	struct bench_cpu cpu;
	struct bench_latency latency;
	bool counted; /* counters are valid */
	struct bench_counters counters;
};

struct bench_results {
	struct bench_result *result;
	unsigned count, room;
};

/* ---- facts about where it ran, for the header and JSON ----------------------------------------
 */

struct bench_env {
	char host[72], kernel[200], cpu[96];
	unsigned cpus;
	const char *client;
	char where[300]; /* in words */
	bool mounted;	 /* info is known */
	struct nfsrdma_info info;
	struct iommu_facts facts;
	struct iommu_device device;
	char iommu[400];
};

void bench_env_gather(struct bench_env *env);
/* After the first mount: fabric, device, sizes. */
void bench_env_mounted(struct bench_env *env, const struct nfsrdma_info *info);

/* ---- clients: who does the I/O ----------------------------------------------------------------
 */

struct bench_place {
	const char *target;	       /* SERVER:/DIR, or a local folder (posix) */
	const char *opts;	       /* of the mount */
	uint16_t nfs_port, mount_port; /* libnfs; 0: look up */
};

struct bench_slot;
/* One finished operation: bytes or -errno.  Called from wait(); may submit the next. */
void bench_slot_done(struct bench_slot *slot, ssize_t n);

enum bench_open { BENCH_OPEN_CREATE, BENCH_OPEN_WRITE, BENCH_OPEN_READ };

/*
 * A *site* is shared by all children (the context), an *io* belongs to one child's thread, with at
 * most one file open.  All return 0 or -errno with err filled.
 */
struct bench_io;
struct bench_site;

struct bench_client_ops {
	const char *name;
	int (*site_open)(struct bench_site **sitep, const struct bench_options *opts,
			 const struct bench_place *place, struct util_err *err);
	void (*site_close)(struct bench_site *site);
	int (*io_open)(struct bench_io **iop, struct bench_site *site, struct util_err *err);
	void (*io_close)(struct bench_io *io);
	/* depth buffers of record bytes each, for reading or for writing; addr[] gets them. */
	int (*buffers_get)(struct bench_io *io, bool write, void **addr, struct util_err *err);
	void (*buffers_put)(struct bench_io *io);
	int (*file_open)(struct bench_io *io, const char *name, enum bench_open how,
			 struct util_err *err);
	int (*file_sync)(struct bench_io *io, struct util_err *err);
	int (*file_close)(struct bench_io *io, struct util_err *err);
	int (*file_remove)(struct bench_io *io, const char *name, struct util_err *err);
	/* Start one record from or to buffer index; bench_slot_done() follows from wait(). */
	int (*submit)(struct bench_io *io, struct bench_slot *slot, unsigned index, bool write,
		      uint64_t off);
	/* At least one completion, unless nothing is outstanding. */
	int (*wait)(struct bench_io *io, struct util_err *err);
	/* false: it has no such counters. */
	bool (*counters)(struct bench_io *io, struct bench_counters *counters);
	bool (*info)(struct bench_io *io, struct nfsrdma_info *info);
};

/* NULL where the library was left out. */
const struct bench_client_ops *bench_client_nfsrdma(void);
const struct bench_client_ops *bench_client_libnfs(void);
const struct bench_client_ops *bench_client_posix(void);

/* ---- the private server ------------------------------------------------------------------------
 */

struct bench_server;

/* need: bytes of files it must hold.  -errno with err filled; nothing is left behind. */
int bench_server_start(struct bench_server **serverp, const struct bench_options *opts,
		       uint64_t need, struct util_err *err);
void bench_server_stop(struct bench_server *server); /* NULL is fine */
void bench_server_place(const struct bench_server *server, struct bench_place *place);
double bench_server_cpu_s(const struct bench_server *server);

/* ---- running
 * ------------------------------------------------------------------------------------- */

struct bench_run {
	const struct bench_options *opts;
	const struct bench_client_ops *client;
	struct bench_site *site;
	struct bench_server *server; /* may be NULL */
	struct bench_env *env;
	struct bench_results *results;
	int signal_fd; /* SIGINT, SIGTERM, SIGHUP */
	bool interrupted;
	uint64_t give_up_ns; /* interrupted: wait no longer than this for the children */
	FILE *out;
};

/* All rounds, printing as they finish. 0, -EINTR (results hold what there is), or -errno. */
int bench_run(struct bench_run *run, struct util_err *err);

/* ---- printers
 * --------------------------------------------------------------------------------------- */

/* date as ctime() writes it, with its newline. */
void report_preamble(FILE *out, const struct bench_options *opts, const char *date);
void report_round(FILE *out, const struct bench_options *opts, unsigned children, bool first);
void report_test(FILE *out, const struct bench_options *opts, const struct bench_result *r);
void report_round_end(FILE *out);
/* Without -t: the table. */
void report_table_head(FILE *out);
void report_table_row(FILE *out, const struct bench_options *opts, const struct bench_result *r,
		      unsigned count);
void report_end(FILE *out);

void notes_header(FILE *out, const struct bench_options *opts, const struct bench_env *env);
void notes_footer(FILE *out, const struct bench_env *env, const struct bench_results *results);

int bench_json_write(FILE *file, const struct bench_options *opts, const struct bench_env *env,
		     const struct bench_results *results);

#endif

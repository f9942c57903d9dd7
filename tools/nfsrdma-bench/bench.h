/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - what the files of nfsrdma-bench share.
 *
 * main.c reads the options (options.h) and makes a plan of them (plan.c): one case for a plain run,
 * several for --sweep and for several --client.  For each case, round by round, run.c carries out
 * the tests (children are threads, child.c, each with a client of its own, client.h), and iozone's
 * lines (report.c) and ours (notes.c) are printed as they come.  At the end everything is put into
 * one JSON document (doc.c), and all that comes after reads that document: the file of --json, the
 * sweep's table, --csv, --report, --baseline, --compare.
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
#include "tools/nfsrdma-bench/options.h"
#include "util/util.h"

#define BENCH_KB 1024.0

/* ---- tests: what is done to a file (tests.c) --------------------------------------------------
 */

/* In the order of iozone's throughput mode; then those that only its table has. */
enum bench_test {
	BENCH_WRITE,
	BENCH_REWRITE,
	BENCH_READ,
	BENCH_REREAD,
	BENCH_REVERSE,
	BENCH_STRIDE,
	BENCH_RANDOM_READ,
	BENCH_MIXED,
	BENCH_RANDOM_WRITE,
	BENCH_PWRITE,
	BENCH_PREAD,
	BENCH_FWRITE,
	BENCH_FREAD,
	BENCH_THROUGHPUT_TESTS,
	BENCH_RECORD_REWRITE = BENCH_THROUGHPUT_TESTS,
	BENCH_REFWRITE,
	BENCH_REFREAD,
	BENCH_REPWRITE,
	BENCH_REPREAD,
	BENCH_PWRITEV,
	BENCH_REPWRITEV,
	BENCH_PREADV,
	BENCH_REPREADV,
	BENCH_TESTS
};

enum bench_order { BENCH_FORWARD, BENCH_BACKWARD, BENCH_STRIDED, BENCH_RANDOM, BENCH_SAME };
enum bench_how { BENCH_RECORDS, BENCH_STREAM, BENCH_VECTOR };

struct bench_test_info {
	char name[20];	 /* "initial writers": in iozone's lines and in JSON */
	char tabs[3];	 /* behind it in iozone's lines */
	char excel[20];	 /* "Writer report" without the last word */
	char chart[16];	 /* "  Initial write": in the throughput mode's chart */
	unsigned width;	 /* of the count in iozone's lines */
	unsigned number; /* after -i */
	int column;	 /* in the table */
	bool writes, retest;
	enum bench_order order;
	enum bench_how how;
};

extern const struct bench_test_info bench_test_info[BENCH_TESTS];

static inline bool bench_test_writes(enum bench_test test)
{
	return bench_test_info[test].writes;
}

static inline const char *bench_test_name(enum bench_test test)
{
	return bench_test_info[test].name;
}

/* Columns of the table: iozone's 13, and 8 more with -E. */
#define BENCH_COLUMNS 21
#define BENCH_COLUMNS_PLAIN 13
/* The test in that column. */
enum bench_test bench_column_test(unsigned column);
/* Is it to be run? */
bool bench_wants(const struct bench_options *opts, enum bench_test test);
/* The tests of a round in their order: throughput mode's, or the table's. */
unsigned bench_test_order(const struct bench_options *opts, enum bench_test list[BENCH_TESTS]);

/* ---- results ------------------------------------------------------------------------------- */

/* The counters of the JSON documents, found by name in what the library reports. */
#define BENCH_LEDGER_FIELDS 17
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
void bench_latency_of(struct bench_latency *latency, const struct util_hist *ns);

struct bench_cpu {
	double user, system, server; /* s; server < 0: not ours to see */
};

/* What one child did. */
struct bench_part {
	double rate, xfer; /* as below */
	double wall_s, cpu_s;
	int node_buffers, node_thread; /* as in bench_numa */
};

#define BENCH_NODE_UNKNOWN (-1)
#define BENCH_NODE_SEVERAL (-2)

/* NUMA nodes: numbers, or one of the above. */
struct bench_numa {
	int device, buffers, threads;
};

struct bench_result {
	enum bench_test test;
	unsigned children;
	uint64_t file_size, record;
	bool cut; /* ended early by the user, or by a failure */
	uint64_t bytes, ops;
	/* in ops where opts->ops, else in kB of 1024 bytes */
	double children_rate, parent_rate, min_rate, max_rate, avg_rate, min_xfer;
	double wall_s;
	struct bench_cpu cpu;
	struct bench_latency latency;
	struct bench_numa numa;
	bool counted; /* counters are valid */
	struct bench_counters counters;
	struct bench_part *parts; /* one per child; owned by the results */
};

/* Where a page lies, and where this thread runs. */
int bench_node_of(void *addr);
int bench_node_here(void);
int bench_node_fold(int a, int b);
/* "0", "unknown", "several"; buf may be used. */
const char *bench_node_name(int node, char *buf, size_t len);
/* "local", "remote", "mixed", "unknown". */
const char *bench_numa_placement(const struct bench_numa *numa);

/* From parts: the sums, the least and the most, the nodes. */
void bench_result_sum(struct bench_result *r);

struct bench_results {
	struct bench_result *result;
	unsigned count, room;
};

/* 0 or -ENOMEM.  The new element is zeroed and not counted before the caller raises count. */
int bench_results_room(struct bench_results *results, struct bench_result **rp);
void bench_results_free(struct bench_results *results);

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
	unsigned warnings; /* about machine and device: why figures may disappoint */
	struct iommu_advice warning[IOMMU_MAX_ADVICE];
};

void bench_env_gather(struct bench_env *env);
/* After the first mount: fabric, device, sizes. */
void bench_env_mounted(struct bench_env *env, const struct nfsrdma_info *info);

/* ---- the private server ------------------------------------------------------------------------
 */

struct bench_server;
struct bench_place;

/* need: bytes of files it must hold.  -errno with err filled; nothing is left behind. */
int bench_server_start(struct bench_server **serverp, const char *dir, uint64_t need,
		       struct util_err *err);
void bench_server_stop(struct bench_server *server); /* NULL is fine */
/* Where a client with these mount options finds it; buf holds the options. */
void bench_server_place(const struct bench_server *server, const char *mount_opts, char *buf,
			size_t len, struct bench_place *place);
double bench_server_cpu_s(const struct bench_server *server);
/* Its folder, for the header; a descriptor that is readable when it has ended. */
const char *bench_server_dir(const struct bench_server *server);
int bench_server_pidfd(const struct bench_server *server);

/* ---- the plan: cases and rounds (plan.c) -------------------------------------------------------
 */

#define BENCH_SETS_MAX 8

struct bench_set {
	char key[32], value[64];
};

struct bench_case {
	struct bench_options opts; /* the command line's, with what this case changes */
	struct bench_set set[BENCH_SETS_MAX];
	unsigned nsets;
	char label[160]; /* "mr=pool proto=rdma"; "" for the only case */
	char mount_opts[512];
	char place_opts[640]; /* what the private server adds */
	struct bench_env env;
	struct bench_results *round; /* plan's rounds of them */
};

struct bench_plan {
	const struct bench_options *opts;
	struct bench_case *cases;
	unsigned ncases, rounds;
	bool complete;
	struct util_err err; /* why it is not */
};

/* 0, or BENCH_USAGE with a line in err, or -ENOMEM. */
int bench_plan_make(struct bench_plan *plan, const struct bench_options *opts,
		    struct util_err *err);
void bench_plan_free(struct bench_plan *plan);
/* The largest set of files a round of any case needs. */
uint64_t bench_plan_bytes(const struct bench_plan *plan);

/* ---- running ------------------------------------------------------------------------------- */

struct bench_client_ops;
struct bench_site;
struct bench_group;

struct bench_run {
	const struct bench_options *opts;
	const struct bench_client_ops *client;
	struct bench_site *site;
	struct bench_server *server; /* may be NULL */
	struct bench_group *group;   /* the other ranks */
	struct bench_env *env;
	struct bench_results *results;
	int signal_fd; /* SIGINT, SIGTERM, SIGHUP */
	bool interrupted;
	uint64_t give_up_ns; /* wait no longer than this for the children */
	bool preamble, end;  /* print iozone's preamble; its last lines */
	bool header, mount;  /* our header; what the mount is like */
	bool quiet;	     /* no lines per test (ranks but the first) */
	FILE *out;
	/* Called before the process ends with children that cannot be waited for. */
	void (*last_words)(void *arg, const struct util_err *err);
	void *last_words_arg;
};

/* All rounds of children, printing as they finish. 0, -EINTR (results hold what there is), or
 * -errno. */
int bench_run(struct bench_run *run, struct util_err *err);

/* ---- printers ------------------------------------------------------------------------------ */

/* date as ctime() writes it, with its newline. */
void report_preamble(FILE *out, const struct bench_options *opts, const char *date);
void report_round(FILE *out, const struct bench_options *opts, unsigned children, bool first);
void report_test(FILE *out, const struct bench_options *opts, const struct bench_result *r);
void report_round_end(FILE *out);
/* Without -t: the table. */
void report_table_head(FILE *out, const struct bench_options *opts);
void report_table_row(FILE *out, const struct bench_options *opts, const struct bench_result *r,
		      unsigned count);
void report_end(FILE *out);
/* A cell of the table. */
double report_cell(const struct bench_options *opts, const struct bench_result *r);
/* -R: the chart of throughput mode comes before the last line, those of the table after it. */
void report_excel_chart(FILE *out, const struct bench_options *opts,
			const struct bench_results *results);
void report_excel_tables(FILE *out, const struct bench_options *opts,
			 const struct bench_results *results);

void notes_header(FILE *out, const struct bench_options *opts, const struct bench_env *env);
void notes_mount(FILE *out, const struct bench_env *env);
void notes_footer(FILE *out, const struct bench_options *opts, const struct bench_env *env,
		  const struct bench_results *results);

#endif

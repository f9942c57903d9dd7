/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - what was asked for.
 *
 * options.c knows how words are taken apart and what is ours; options_iozone.c has iozone's
 * letters.
 */
#ifndef NFSRDMA_BENCH_OPTIONS_H
#define NFSRDMA_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

enum bench_client_kind { BENCH_CLIENT_NFSRDMA, BENCH_CLIENT_LIBNFS, BENCH_CLIENT_POSIX };

/* iozone's numbers, as after -i. */
enum {
	BENCH_I_WRITE,
	BENCH_I_READ,
	BENCH_I_RANDOM,
	BENCH_I_REVERSE,
	BENCH_I_RECORD_REWRITE,
	BENCH_I_STRIDE,
	BENCH_I_FWRITE,
	BENCH_I_FREAD,
	BENCH_I_MIX,
	BENCH_I_PWRITE,
	BENCH_I_PREAD,
	BENCH_I_PWRITEV,
	BENCH_I_PREADV,
	BENCH_I_COUNT
};

#define BENCH_PREAMBLE_MAX 64
#define BENCH_THREADS_MAX 1024
#define BENCH_DEPTH_MAX 1024
#define BENCH_LIST_MAX 32
#define BENCH_SWEEPS_MAX 8
#define BENCH_CLIENTS_MAX 4
#define BENCH_ROUNDS_MAX 100
#define BENCH_FILES_MAX 4096 /* documents to compare */

enum bench_verify { BENCH_VERIFY_NOT, BENCH_VERIFY_PATTERN, BENCH_VERIFY_ALL };

struct bench_client_choice {
	enum bench_client_kind kind;
	const char *dir; /* of posix:DIR */
};

struct bench_options {
	/* what is done */
	unsigned tests;		    /* bit per iozone number */
	bool extended;		    /* -E: the table has the columns of 9 to 12 */
	bool tests_left_out;	    /* some have no throughput mode, as in iozone */
	uint64_t file_size, record; /* bytes */
	uint64_t stride;	    /* records */
	unsigned mix_reads; /* -+p: per cent of the children that read; 0: every other one */
	bool mix_sequential, jitter, no_retest, no_truncate, existing, one_file;
	/* the matrix: -a, or several -s or -r */
	bool matrix, no_cross, sizes_chosen;
	uint64_t file_min, file_max, record_min, record_max;
	unsigned multiplier;
	uint64_t files[BENCH_LIST_MAX], records[BENCH_LIST_MAX];
	unsigned nfiles, nrecords;
	/* how many do it */
	bool throughput, range;
	unsigned children[BENCH_THREADS_MAX], nchildren, children_max;
	bool constant_total; /* -+k */
	bool say_threads;    /* -T */
	int bind;	     /* -P: first CPU; -1: none */
	unsigned delay_ms;   /* -d: between the starts of children */
	/* how */
	bool direct, fsync_timed, close_timed, o_sync, o_dsync, keep, no_stonewall, multi_buffer;
	unsigned depth;
	unsigned rate;	   /* -+O: operations per second and child */
	unsigned think_ms; /* -J */
	bool think_timed;  /* -+J */
	unsigned rest_s;   /* -+q: between tests */
	enum bench_verify verify;
	uint8_t pattern;
	double duration_s, warmup_s;
	unsigned give_up_s; /* without any progress */
	bool shared;
	/* what is printed */
	bool ops, usec; /* -O, -N */
	bool cpu;	/* -+u */
	bool each_child, excel, latency_files;
	unsigned cache_kb, cache_line;
	bool progress; /* never, when false */
	/* who and where */
	struct bench_client_choice clients[BENCH_CLIENTS_MAX];
	unsigned nclients;
	const char *target;	/* NULL: a private server */
	const char *mount_opts; /* NULL: none */
	const char *dir;	/* of the private server's files, NULL: TMPDIR */
	const char *file;	/* -f */
	char **file_names;	/* -F: children_max of them */
	bool mpi;
	/* several runs */
	const char *sweeps[BENCH_SWEEPS_MAX]; /* "mr=pool,window" */
	unsigned nsweeps, rounds;
	/* documents */
	const char *json, *csv, *report;
	const char *baseline;
	double fail_below;
	char **compare; /* NULL terminated part of argv; NULL: no comparison */
	unsigned ncompare;
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

/* ---- between the two files ------------------------------------------------------------------ */

#define OPTIONS_KB UINT64_C(1024)
/* One record is one buffer. */
#define OPTIONS_RECORD_MAX (UINT64_C(1) << 30)
#define OPTIONS_FILE_MAX (UINT64_C(1) << 50)

/* Where parsing stands: the word, what is left of it, what follows. */
struct options_state {
	struct bench_options *opts;
	struct util_err *err;
	char **next;	  /* the following words */
	const char *rest; /* of this word */
	char name[24];	  /* "-s", for messages */
	bool low_set, high_set, auto_set, min_set, max_set, posix_async, posix_async_copy;
	bool pattern_set, depth_set;
};

int options_bad(struct options_state *st, const char *what);
/* A line of iozone's preamble. */
void options_line(struct options_state *st, const char *fmt, ...) UTIL_PRINTF(2, 3);
/* The rest of the word, or the next one; NULL: there is none. */
const char *options_argument(struct options_state *st);
int options_text(struct options_state *st, const char **textp);
int options_number(struct options_state *st, uint64_t min, uint64_t max, unsigned *valuep);
int options_size(struct options_state *st, uint64_t max, uint64_t *sizep);
/* One letter of iozone's; second: of those after "-+". */
int options_iozone_letter(struct options_state *st, char letter, bool second);
/* What only makes sense or nonsense together; fills in defaults. */
int options_iozone_check(struct options_state *st);

#endif

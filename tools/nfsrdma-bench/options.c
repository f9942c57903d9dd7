/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - how the command line is taken apart, and the options that are ours.
 *
 * Letters may be joined with their argument or apart from it (-s1g, -s 1g), letters without
 * argument may be clustered (-ec), and "-+u" is a letter of a second alphabet; what they mean is in
 * options_iozone.c.  Long options are ours; they take their argument after "=" or as the next word.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/options.h"

/* What iozone does without -s and -r. */
#define OPTIONS_FILE_SIZE (512 * OPTIONS_KB)
#define OPTIONS_RECORD (4 * OPTIONS_KB)
#define OPTIONS_STRIDE 17
#define OPTIONS_GIVE_UP_S 60
#define OPTIONS_SECONDS_MAX 1e6

const char bench_help[] =
	"usage: nfsrdma-bench [iozone's options] [--target SERVER:/DIR] [-o OPTS] ...\n"
	"\n"
	"What (sizes: a bare number is kB; k, m, g; letters and arguments joined or apart):\n"
	"  -i N    test: 0 write 1 read 2 random 3 backwards 4 rewrite record 5 stride 6 fwrite\n"
	"          7 fread 8 mix 9 pwrite 10 pread 11 pwritev 12 preadv; again for more\n"
	"  -s SIZE file per child   -r SIZE record   -j N  stride   -+p N  share of reads in the "
	"mix\n"
	"  -a      matrix of sizes: files -n..-g, records -y..-q, -z all of them, -+x N "
	"multiplier\n"
	"  -t N    throughput mode with N children (again, or -l N -u N, for several numbers);\n"
	"          -T call them threads, -P N bind them, -F NAMES their files, -+k constant total\n"
	"How:\n"
	"  -I direct I/O  -o O_SYNC  -+D O_DSYNC  -e fsync and -c close in the time  -w keep "
	"files\n"
	"  -H N, -k N asynchronous depth  -m many buffers  -x no stone-walling  -+n no re-tests\n"
	"  -K jitter  -J MS think time  -+O N operations per second  -+q S rest  -V N, -+d verify\n"
	"Output:\n"
	"  -R tables for a spreadsheet  -b FILE as CSV  -O per second  -N us  -C each child  -M  "
	"-+u\n"
	"  -Q offset and latency files\n"
	"\n"
	"Ours:\n"
	"  --target SERVER:/DIR   write there; without it a private nfsrdmad on loopback\n"
	"  --client WHO           nfsrdma, libnfs or posix:DIR; several: turn by turn, compared\n"
	"  -o OPTS                mount options, as for nfsrdma\n"
	"  --sweep KEY=A,B,...    run with each value of a mount option (or depth, record);\n"
	"                         several: all combinations, turn by turn\n"
	"  --rounds N             how often each (1; 3 with --sweep; 5 with several --client)\n"
	"  --depth N              records outstanding per child      --shared  one mount for all\n"
	"  --duration S           run for a time, not for a size     --warmup S  before it counts\n"
	"  --verify               check every byte read              --give-up S  without "
	"progress\n"
	"  --json FILE --csv FILE --report FILE.svg|.png|.html       (- is standard output)\n"
	"  --compare A.json B.json ...    a table with ratios, nothing is run\n"
	"  --baseline A.json [--fail-below 0.95]   exit 1 when slower: for git bisect run\n"
	"  --dir DIR              where the private server keeps its files\n"
	"  --mpi                  under mpirun: the ranks' children act as one    --no-progress\n"
	"\n"
	"Lines that start with # are ours; all others are as iozone prints them.\n";

int options_bad(struct options_state *st, const char *what)
{
	util_err_set(st->err, -EINVAL, "%s: %s", st->name, what);
	return BENCH_USAGE;
}

void options_line(struct options_state *st, const char *fmt, ...)
{
	struct bench_options *opts = st->opts;
	va_list ap;

	if (opts->npreamble == BENCH_PREAMBLE_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(opts->preamble[opts->npreamble++], sizeof(opts->preamble[0]), fmt, ap);
	va_end(ap);
}

const char *options_argument(struct options_state *st)
{
	const char *arg = st->rest;

	st->rest = "";
	if (*arg)
		return arg;
	return *st->next ? *st->next++ : NULL;
}

int options_number(struct options_state *st, uint64_t min, uint64_t max, unsigned *valuep)
{
	const char *arg = options_argument(st);
	uint64_t value;

	if (!arg)
		return options_bad(st, "needs a number");
	if (util_u64_parse(arg, max, &value) || value < min) {
		util_err_set(st->err, -EINVAL, "%s: '%.40s' is not a number from %llu to %llu",
			     st->name, arg, (unsigned long long)min, (unsigned long long)max);
		return BENCH_USAGE;
	}
	*valuep = (unsigned)value;
	return 0;
}

int options_size(struct options_state *st, uint64_t max, uint64_t *sizep)
{
	const char *arg = options_argument(st);

	if (!arg)
		return options_bad(st, "needs a size (a bare number is kB; k, m, g)");
	if (util_size_parse(arg, OPTIONS_KB, sizep) || *sizep == 0 || *sizep > max) {
		util_err_set(st->err, -EINVAL, "%s: '%.40s' is not a size (like 64k, 1m, 4g)",
			     st->name, arg);
		return BENCH_USAGE;
	}
	if (*sizep % OPTIONS_KB)
		return options_bad(st, "sizes are whole kB");
	return 0;
}

int options_text(struct options_state *st, const char **textp)
{
	const char *arg = options_argument(st);

	if (!arg || !*arg)
		return options_bad(st, "needs an argument");
	*textp = arg;
	return 0;
}

/* ---- ours ------------------------------------------------------------------------------------
 */

static int options_real(struct options_state *st, double max, double *valuep)
{
	const char *arg = options_argument(st);
	char *end = NULL;
	double value;

	if (!arg || !*arg)
		return options_bad(st, "needs a number");
	value = strtod(arg, &end);
	/* The negation refuses what is not a number, too. */
	if (*end || !(value > 0 && value <= max)) {
		util_err_set(st->err, -EINVAL, "%s: '%.40s' is not a number above 0, at most %g",
			     st->name, arg, max);
		return BENCH_USAGE;
	}
	*valuep = value;
	return 0;
}

static int options_target(struct options_state *st)
{
	return options_text(st, &st->opts->target);
}

static int options_client(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	struct bench_client_choice *client = &opts->clients[opts->nclients];
	const char *who = NULL;
	int ret = options_text(st, &who);

	if (ret)
		return ret;
	if (opts->nclients == BENCH_CLIENTS_MAX)
		return options_bad(st, "at most 4 of them");
	if (!strcmp(who, "nfsrdma")) {
		client->kind = BENCH_CLIENT_NFSRDMA;
	} else if (!strcmp(who, "libnfs")) {
		client->kind = BENCH_CLIENT_LIBNFS;
	} else if (!strncmp(who, "posix:", 6) && who[6]) {
		client->kind = BENCH_CLIENT_POSIX;
		client->dir = who + 6;
	} else {
		return options_bad(st, "who does the I/O is nfsrdma, libnfs or posix:DIR");
	}
	opts->nclients++;
	return 0;
}

static int options_depth(struct options_state *st)
{
	st->depth_set = true;
	return options_number(st, 1, BENCH_DEPTH_MAX, &st->opts->depth);
}

static int options_json(struct options_state *st)
{
	return options_text(st, &st->opts->json);
}

static int options_csv(struct options_state *st)
{
	return options_text(st, &st->opts->csv);
}

static int options_report(struct options_state *st)
{
	int ret = options_text(st, &st->opts->report);
	const char *dot = ret ? NULL : strrchr(st->opts->report, '.');

	if (ret)
		return ret;
	if (!dot || (strcmp(dot, ".html") && strcmp(dot, ".svg") && strcmp(dot, ".png")))
		return options_bad(st, "a report's name ends in .html, .svg or .png");
	return 0;
}

static int options_dir(struct options_state *st)
{
	return options_text(st, &st->opts->dir);
}

static int options_sweep(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	const char *arg = NULL, *eq;
	int ret = options_text(st, &arg);

	if (ret)
		return ret;
	eq = strchr(arg, '=');
	if (!eq || eq == arg || !eq[1])
		return options_bad(st, "is KEY=A,B,...: a mount option and its values");
	if (opts->nsweeps == BENCH_SWEEPS_MAX)
		return options_bad(st, "at most 8 of them");
	opts->sweeps[opts->nsweeps++] = arg;
	return 0;
}

static int options_rounds(struct options_state *st)
{
	return options_number(st, 1, BENCH_ROUNDS_MAX, &st->opts->rounds);
}

static int options_duration(struct options_state *st)
{
	return options_real(st, OPTIONS_SECONDS_MAX, &st->opts->duration_s);
}

static int options_warmup(struct options_state *st)
{
	return options_real(st, OPTIONS_SECONDS_MAX, &st->opts->warmup_s);
}

static int options_give_up(struct options_state *st)
{
	return options_number(st, 1, 86400, &st->opts->give_up_s);
}

static int options_baseline(struct options_state *st)
{
	return options_text(st, &st->opts->baseline);
}

static int options_fail_below(struct options_state *st)
{
	return options_real(st, 100, &st->opts->fail_below);
}

static int options_verify(struct options_state *st)
{
	st->opts->verify = BENCH_VERIFY_ALL;
	return 0;
}

static int options_shared(struct options_state *st)
{
	st->opts->shared = true;
	return 0;
}

static int options_mpi(struct options_state *st)
{
	st->opts->mpi = true;
	return 0;
}

static int options_no_progress(struct options_state *st)
{
	st->opts->progress = false;
	return 0;
}

/* All words up to the next option. */
static int options_compare(struct options_state *st)
{
	struct bench_options *opts = st->opts;

	if (*st->rest)
		return options_bad(st, "its files are words of their own: --compare A.json B.json");
	opts->compare = st->next;
	while (*st->next && (*st->next)[0] != '-' && opts->ncompare < BENCH_FILES_MAX) {
		st->next++;
		opts->ncompare++;
	}
	return opts->ncompare < 2 ? options_bad(st, "needs at least two files") : 0;
}

static const struct {
	char name[16];
	bool flag; /* takes no argument */
	int (*parse)(struct options_state *st);
} options_long_names[] = {
	{"target", false, options_target},
	{"client", false, options_client},
	{"depth", false, options_depth},
	{"json", false, options_json},
	{"csv", false, options_csv},
	{"report", false, options_report},
	{"dir", false, options_dir},
	{"sweep", false, options_sweep},
	{"rounds", false, options_rounds},
	{"duration", false, options_duration},
	{"warmup", false, options_warmup},
	{"give-up", false, options_give_up},
	{"baseline", false, options_baseline},
	{"fail-below", false, options_fail_below},
	{"compare", false, options_compare},
	{"verify", true, options_verify},
	{"shared", true, options_shared},
	{"mpi", true, options_mpi},
	{"no-progress", true, options_no_progress},
};

static int options_long(struct options_state *st, const char *word)
{
	size_t len = strcspn(word, "=");

	snprintf(st->name, sizeof(st->name), "--%.*s", (int)(len < 20 ? len : 20), word);
	st->rest = word[len] ? word + len + 1 : "";
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(options_long_names); i++) {
		if (strlen(options_long_names[i].name) != len ||
		    strncmp(options_long_names[i].name, word, len))
			continue;
		if (options_long_names[i].flag && word[len])
			return options_bad(st, "takes no argument");
		return options_long_names[i].parse(st);
	}
	return options_bad(st, "unknown option (see --help)");
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* A word of letters: "-s1g", "-ec", "-+u". */
static int options_word(struct options_state *st)
{
	int ret = 0;

	while (!ret && *st->rest) {
		char letter = *st->rest++;
		bool second = letter == '+' && *st->rest;

		if (second)
			letter = *st->rest++;
		snprintf(st->name, sizeof(st->name), "-%s%c", second ? "+" : "", letter);
		ret = options_iozone_letter(st, letter, second);
	}
	return ret;
}

static bool options_has_client(const struct bench_options *opts, enum bench_client_kind kind)
{
	for (unsigned i = 0; i < opts->nclients; i++)
		if (opts->clients[i].kind == kind)
			return true;
	return false;
}

static int options_check_clients(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	bool remote = options_has_client(opts, BENCH_CLIENT_NFSRDMA) ||
		      options_has_client(opts, BENCH_CLIENT_LIBNFS);

	strcpy(st->name, "-o");
	if (opts->mount_opts && !remote)
		return options_bad(st, "mount options mean nothing to posix");
	strcpy(st->name, "--target");
	if (opts->target && !remote)
		return options_bad(st, "posix: writes to its own folder");
	strcpy(st->name, "--sweep");
	if (opts->nsweeps && !options_has_client(opts, BENCH_CLIENT_NFSRDMA))
		return options_bad(st, "mount options mean nothing to this client");
	strcpy(st->name, "--shared");
	if (opts->shared && (opts->nclients != 1 || opts->clients[0].kind != BENCH_CLIENT_NFSRDMA))
		return options_bad(st, "only nfsrdma's mounts can be shared");
	snprintf(st->name, sizeof(st->name), "-i %u", opts->tests >> BENCH_I_PWRITEV & 1 ? 11 : 12);
	if (opts->tests >> BENCH_I_PWRITEV && options_has_client(opts, BENCH_CLIENT_LIBNFS))
		return options_bad(st, "libnfs has no vectors");
	return 0;
}

static int options_check_runs(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	bool several = opts->nsweeps || opts->nclients > 1 || opts->rounds > 1;

	if (!opts->rounds)
		opts->rounds = opts->nsweeps ? 3 : opts->nclients > 1 ? 5 : 1;
	strcpy(st->name, "-R");
	if (opts->excel && several)
		return options_bad(st, "tables for a spreadsheet are of one run: use --csv");
	strcpy(st->name, "-a");
	if (opts->matrix && several)
		return options_bad(st, "a matrix is one run: --sweep record=4k,256k does several");
	strcpy(st->name, opts->rate ? "-+O" : "-J");
	if ((opts->rate || opts->think_ms) &&
	    opts->tests & (1u << BENCH_I_FWRITE | 1u << BENCH_I_FREAD | 1u << BENCH_I_PWRITEV |
			   1u << BENCH_I_PREADV))
		return options_bad(st, "a pace means nothing to -i 6, 7, 11 and 12 here");
	strcpy(st->name, "--duration");
	if (opts->duration_s > 0 && opts->matrix)
		return options_bad(st, "a time means nothing to a matrix of sizes");
	strcpy(st->name, "-Q");
	if (opts->latency_files && (opts->duration_s > 0 || opts->warmup_s > 0))
		return options_bad(st, "one line per record: not with --duration or --warmup");
	strcpy(st->name, "--mpi");
	if (opts->mpi && !opts->throughput)
		return options_bad(st, "ranks are children of throughput mode: add -t N");
	if (opts->mpi && opts->file_names)
		return options_bad(st, "files are named by number: not with -F");
	strcpy(st->name, "--fail-below");
	if (opts->fail_below > 0 && !opts->baseline)
		return options_bad(st, "below what? name it with --baseline A.json");
	return 0;
}

static int options_check(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	int ret;

	if (opts->compare)
		return 0;
	if (!opts->nclients)
		opts->nclients = 1; /* nfsrdma is 0 */
	ret = options_iozone_check(st);
	if (!ret)
		ret = options_check_clients(st);
	if (!ret)
		ret = options_check_runs(st);
	if (opts->twice >= opts->npreamble)
		opts->twice = BENCH_PREAMBLE_MAX;
	return ret;
}

int bench_options_parse(struct bench_options *opts, int argc, char **argv, struct util_err *err)
{
	struct options_state st = {.opts = opts, .err = err, .next = argv + 1};
	int ret = 0;

	memset(opts, 0, sizeof(*opts));
	opts->file_size = OPTIONS_FILE_SIZE;
	opts->record = OPTIONS_RECORD;
	opts->stride = OPTIONS_STRIDE;
	opts->multiplier = 2;
	opts->bind = -1;
	opts->depth = 1;
	opts->cache_kb = 1024;
	opts->cache_line = 32;
	opts->give_up_s = OPTIONS_GIVE_UP_S;
	opts->progress = true;
	opts->twice = BENCH_PREAMBLE_MAX;
	opts->argc = argc;
	opts->argv = argv;
	while (!ret && *st.next) {
		const char *word = *st.next++;

		if (!strcmp(word, "--help") || !strcmp(word, "-h"))
			return BENCH_HELP;
		if (!strcmp(word, "--version") || !strcmp(word, "-v"))
			return BENCH_VERSION;
		if (!strncmp(word, "--", 2)) {
			ret = options_long(&st, word + 2);
		} else if (word[0] == '-' && word[1]) {
			st.rest = word + 1;
			ret = options_word(&st);
		} else {
			util_err_set(err, -EINVAL, "'%.60s': not an option (see --help)", word);
			ret = BENCH_USAGE;
		}
	}
	return ret ? ret : options_check(&st);
}

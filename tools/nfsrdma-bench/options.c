/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - iozone's options with iozone's meaning, and ours beside them.
 *
 * Letters may be joined with their argument or apart from it (-s1g, -s 1g), letters without
 * argument may be clustered (-ec), and "-+u" is a letter of a second alphabet.  iozone prints a
 * line for most options while it reads them; those lines are gathered here in the order of the
 * options.
 *
 * -o has two meanings.  iozone's stands alone and asks for O_SYNC; ours takes mount options.  As
 * iozone has no arguments that are not options', the word after -o decides: "-o -i0" is iozone's,
 * "-o rsize=64k" is ours.
 *
 * What iozone knows and we do not do yet is refused by name, not ignored: a benchmark that skips
 * what it was asked for is worse than none.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/bench.h"

#define OPTIONS_KB UINT64_C(1024)

/* What iozone does without -s and -r. */
#define OPTIONS_FILE_SIZE (512 * OPTIONS_KB)
#define OPTIONS_RECORD (4 * OPTIONS_KB)
/* One record is one buffer. */
#define OPTIONS_RECORD_MAX (UINT64_C(1) << 30)
#define OPTIONS_FILE_MAX (UINT64_C(1) << 50)

const char bench_help[] =
	"usage: nfsrdma-bench [iozone's options] [--target SERVER:/DIR] [-o OPTS] [--depth N]\n"
	"                     [--client nfsrdma|libnfs|posix:DIR] [--json FILE] [--dir DIR]\n"
	"\n"
	"  -i N    test: 0 write and rewrite, 1 read and re-read; may be given again (-i0 -i1)\n"
	"  -s SIZE file size per child (a bare number is kB; k, m, g)\n"
	"  -r SIZE record size\n"
	"  -t N    throughput mode with N children; -l N -u N a range of them; -T call them "
	"threads\n"
	"  -I      direct I/O         -o      O_SYNC           -w   keep the files\n"
	"  -e      fsync in the time  -c      close in the time\n"
	"  -x      no stone-walling   -+n     no re-tests\n"
	"  -O      operations per second      -N   microseconds per operation\n"
	"  -M      name the machine           -+u  CPU utilization\n"
	"\n"
	"  --target SERVER:/DIR   write there; without it a private nfsrdmad on loopback\n"
	"  --client WHO           who does the I/O\n"
	"  -o OPTS                mount options, as for nfsrdma\n"
	"  --depth N              records outstanding per child\n"
	"  --json FILE            results as JSON (- is standard output)\n"
	"  --dir DIR              where the private server keeps its files\n"
	"\n"
	"Lines that start with # are ours; all others are as iozone prints them.\n";

/* Where parsing stands: the word, what is left of it, what follows. */
struct options_state {
	struct bench_options *opts;
	struct util_err *err;
	char **next;	  /* the following words */
	const char *rest; /* of this word */
	char name[24];	  /* "-s", for messages */
	bool low_set, high_set;
};

static int options_bad(struct options_state *st, const char *what)
{
	util_err_set(st->err, -EINVAL, "%s: %s", st->name, what);
	return BENCH_USAGE;
}

static void UTIL_PRINTF(2, 3) options_line(struct options_state *st, const char *fmt, ...)
{
	struct bench_options *opts = st->opts;
	va_list ap;

	if (opts->npreamble == BENCH_PREAMBLE_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(opts->preamble[opts->npreamble++], sizeof(opts->preamble[0]), fmt, ap);
	va_end(ap);
}

/* The rest of the word, or the next one. */
static const char *options_argument(struct options_state *st)
{
	const char *arg = st->rest;

	st->rest = "";
	if (*arg)
		return arg;
	return *st->next ? *st->next++ : NULL;
}

static int options_number(struct options_state *st, uint64_t min, uint64_t max, unsigned *valuep)
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

static int options_size(struct options_state *st, uint64_t max, uint64_t *sizep)
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

/* ---- iozone's letters -------------------------------------------------------------------------
 */

static int options_test(struct options_state *st)
{
	unsigned test;
	int ret = options_number(st, 0, BENCH_I_COUNT - 1, &test);

	if (ret)
		return ret;
	if (test > BENCH_I_READ) {
		util_err_set(st->err, -EINVAL, "-i %u: this test is not there yet (0 and 1 are)",
			     test);
		return BENCH_USAGE;
	}
	st->opts->tests |= 1u << test;
	return 0;
}

static int options_file_size(struct options_state *st)
{
	int ret = options_size(st, OPTIONS_FILE_MAX, &st->opts->file_size);

	if (!ret)
		options_line(st, "\tFile size set to %llu kB",
			     (unsigned long long)(st->opts->file_size / OPTIONS_KB));
	return ret;
}

static int options_record(struct options_state *st)
{
	int ret = options_size(st, OPTIONS_RECORD_MAX, &st->opts->record);

	if (!ret)
		options_line(st, "\tRecord Size %llu kB",
			     (unsigned long long)(st->opts->record / OPTIONS_KB));
	return ret;
}

static int options_children(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	int ret = options_number(st, 1, BENCH_THREADS_MAX, &opts->threads_min);

	opts->threads_max = opts->threads_min;
	opts->throughput = true;
	return ret;
}

static int options_low(struct options_state *st)
{
	st->low_set = true;
	return options_number(st, 1, BENCH_THREADS_MAX, &st->opts->threads_min);
}

static int options_high(struct options_state *st)
{
	st->high_set = true;
	return options_number(st, 1, BENCH_THREADS_MAX, &st->opts->threads_max);
}

static int options_threads(struct options_state *st)
{
	st->opts->say_threads = true;
	return 0;
}

static int options_direct(struct options_state *st)
{
	st->opts->direct = true;
	options_line(st, "\tO_DIRECT feature enabled");
	return 0;
}

static int options_fsync(struct options_state *st)
{
	st->opts->fsync_timed = true;
	options_line(st, "\tInclude fsync in write timing");
	return 0;
}

static int options_close(struct options_state *st)
{
	st->opts->close_timed = true;
	options_line(st, "\tInclude close in write timing");
	return 0;
}

/* iozone's, unless a word follows that can only be ours. */
static int options_sync_or_mount(struct options_state *st)
{
	if (*st->rest || (*st->next && (*st->next)[0] != '-')) {
		st->opts->mount_opts = options_argument(st);
		return 0;
	}
	st->opts->o_sync = true;
	options_line(st, "\tSYNC Mode. ");
	return 0;
}

static int options_keep(struct options_state *st)
{
	st->opts->keep = true;
	options_line(st, "\tSetting no_unlink");
	return 0;
}

static int options_no_stonewall(struct options_state *st)
{
	st->opts->no_stonewall = true;
	options_line(st, "\tStonewall disabled");
	return 0;
}

static int options_ops(struct options_state *st)
{
	st->opts->ops = true;
	options_line(st, "\tOPS Mode. Output is in operations per second.");
	return 0;
}

static int options_usec(struct options_state *st)
{
	st->opts->usec = true;
	options_line(st, "\tMicroseconds/op Mode. Output is in microseconds per operation.");
	return 0;
}

/*
 * QUIRK(iozone): the machine's name overflows the room iozone has for a line into the next one's,
 * which is therefore printed once behind the name and once more in its own right.  Parsers have
 * seen it like that for twenty years.
 */
static int options_machine(struct options_state *st)
{
	char host[72] = "unknown";

	gethostname(host, sizeof(host) - 1);
	options_line(st, "\n\tMachine = Linux %s", host);
	st->opts->twice = st->opts->npreamble;
	return 0;
}

static int options_no_retest(struct options_state *st)
{
	st->opts->no_retest = true;
	options_line(st, "\tNo retest option selected");
	return 0;
}

static int options_cpu(struct options_state *st)
{
	st->opts->cpu = true;
	options_line(st, "\tCPU utilization Resolution = %5.3f seconds.", 0.0);
	options_line(st, "\tCPU utilization Excel chart enabled");
	return 0;
}

struct options_letter {
	char letter;
	int (*parse)(struct options_state *st); /* NULL: not there yet */
	char what[40];
};

static const struct options_letter options_letters[] = {
	{'i', options_test, ""},
	{'s', options_file_size, ""},
	{'r', options_record, ""},
	{'t', options_children, ""},
	{'l', options_low, ""},
	{'u', options_high, ""},
	{'T', options_threads, ""},
	{'I', options_direct, ""},
	{'e', options_fsync, ""},
	{'c', options_close, ""},
	{'o', options_sync_or_mount, ""},
	{'w', options_keep, ""},
	{'x', options_no_stonewall, ""},
	{'O', options_ops, ""},
	{'N', options_usec, ""},
	{'M', options_machine, ""},
	{'a', NULL, "the automatic matrix"},
	{'A', NULL, "the automatic matrix"},
	{'z', NULL, "the automatic matrix"},
	{'n', NULL, "the automatic matrix"},
	{'g', NULL, "the automatic matrix"},
	{'y', NULL, "the automatic matrix"},
	{'q', NULL, "the automatic matrix"},
	{'R', NULL, "Excel reports"},
	{'b', NULL, "a CSV file"},
	{'C', NULL, "bytes by each child"},
	{'f', NULL, "a named file"},
	{'F', NULL, "named files"},
	{'j', NULL, "strides"},
	{'H', NULL, "asynchronous I/O (see --depth)"},
	{'k', NULL, "asynchronous I/O (see --depth)"},
	{'K', NULL, "jitter"},
	{'J', NULL, "think time"},
	{'m', NULL, "several buffers"},
	{'P', NULL, "binding to CPUs"},
	{'S', NULL, "the cache size"},
	{'L', NULL, "the cache line size"},
	{'Q', NULL, "offset and latency files"},
	{'V', NULL, "a pattern to verify"},
};

static const struct options_letter options_plus_letters[] = {
	{'u', options_cpu, ""},
	{'n', options_no_retest, ""},
	{'d', NULL, "diagnostics"},
	{'p', NULL, "the share of reads in a mix"},
	{'k', NULL, "a constant total size"},
	{'m', NULL, "client machines"},
	{'x', NULL, "the multiplier of sizes"},
};

static int options_letter(struct options_state *st, const struct options_letter *table,
			  size_t count, char letter)
{
	for (size_t i = 0; i < count; i++) {
		if (table[i].letter != letter)
			continue;
		if (table[i].parse)
			return table[i].parse(st);
		util_err_set(st->err, -EINVAL, "%s: %s: not there yet", st->name, table[i].what);
		return BENCH_USAGE;
	}
	return options_bad(st, "unknown option (see --help)");
}

/* A word of letters: "-s1g", "-ec", "-+u". */
static int options_word(struct options_state *st)
{
	int ret = 0;

	while (!ret && *st->rest) {
		char letter = *st->rest++;

		if (letter == '+' && *st->rest) {
			letter = *st->rest++;
			snprintf(st->name, sizeof(st->name), "-+%c", letter);
			ret = options_letter(st, options_plus_letters,
					     UTIL_ARRAY_SIZE(options_plus_letters), letter);
		} else {
			snprintf(st->name, sizeof(st->name), "-%c", letter);
			ret = options_letter(st, options_letters, UTIL_ARRAY_SIZE(options_letters),
					     letter);
		}
	}
	return ret;
}

/* ---- ours
 * ------------------------------------------------------------------------------------------ */

static int options_text(struct options_state *st, const char **textp)
{
	const char *arg = options_argument(st);

	if (!arg || !*arg)
		return options_bad(st, "needs an argument");
	*textp = arg;
	return 0;
}

static int options_target(struct options_state *st)
{
	return options_text(st, &st->opts->target);
}

static int options_client(struct options_state *st)
{
	const char *who = NULL;
	int ret = options_text(st, &who);

	if (ret)
		return ret;
	if (!strcmp(who, "nfsrdma")) {
		st->opts->client = BENCH_CLIENT_NFSRDMA;
	} else if (!strcmp(who, "libnfs")) {
		st->opts->client = BENCH_CLIENT_LIBNFS;
	} else if (!strncmp(who, "posix:", 6) && who[6]) {
		st->opts->client = BENCH_CLIENT_POSIX;
		st->opts->posix_dir = who + 6;
	} else {
		return options_bad(st, "who does the I/O is nfsrdma, libnfs or posix:DIR");
	}
	return 0;
}

static int options_depth(struct options_state *st)
{
	return options_number(st, 1, BENCH_DEPTH_MAX, &st->opts->depth);
}

static int options_json(struct options_state *st)
{
	return options_text(st, &st->opts->json);
}

static int options_dir(struct options_state *st)
{
	return options_text(st, &st->opts->dir);
}

static int options_long(struct options_state *st, const char *word)
{
	static const struct {
		char name[16];
		int (*parse)(struct options_state *st); /* NULL: not there yet */
	} table[] = {
		{"target", options_target},
		{"client", options_client},
		{"depth", options_depth},
		{"json", options_json},
		{"dir", options_dir},
		{"shared", NULL},
		{"csv", NULL},
		{"report", NULL},
		{"compare", NULL},
		{"baseline", NULL},
		{"fail-below", NULL},
		{"sweep", NULL},
		{"verify", NULL},
		{"duration", NULL},
		{"warmup", NULL},
		{"mpi", NULL},
	};
	size_t len = strcspn(word, "=");

	snprintf(st->name, sizeof(st->name), "--%.*s", (int)(len < 20 ? len : 20), word);
	st->rest = word[len] ? word + len + 1 : "";
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(table); i++) {
		if (strlen(table[i].name) != len || strncmp(table[i].name, word, len))
			continue;
		return table[i].parse ? table[i].parse(st) : options_bad(st, "not there yet");
	}
	return options_bad(st, "unknown option (see --help)");
}

/* ---- the whole
 * --------------------------------------------------------------------------------------- */

static int options_check_children(struct options_state *st)
{
	struct bench_options *opts = st->opts;

	if (!st->low_set && !st->high_set)
		return 0;
	strcpy(st->name, "-l and -u");
	if (!st->low_set || !st->high_set)
		return options_bad(st, "a range needs both");
	if (opts->threads_min > opts->threads_max)
		return options_bad(st, "the least is above the most");
	opts->throughput = true;
	opts->range = true;
	return 0;
}

static int options_check(struct options_state *st)
{
	struct bench_options *opts = st->opts;

	strcpy(st->name, "-r");
	if (opts->record > opts->file_size)
		return options_bad(st, "the record is larger than the file");
	strcpy(st->name, "-N");
	if (opts->usec && opts->throughput)
		return options_bad(st,
				   "microseconds per operation in throughput mode: not there yet");
	strcpy(st->name, "-o");
	if (opts->mount_opts && opts->client == BENCH_CLIENT_POSIX)
		return options_bad(st, "mount options mean nothing to posix");
	strcpy(st->name, "--target");
	if (opts->target && opts->client == BENCH_CLIENT_POSIX)
		return options_bad(st, "posix: writes to its own folder");
	if (!opts->tests)
		opts->tests = 1u << BENCH_I_WRITE | 1u << BENCH_I_READ;
	if (opts->twice >= opts->npreamble)
		opts->twice = BENCH_PREAMBLE_MAX;
	return options_check_children(st);
}

int bench_options_parse(struct bench_options *opts, int argc, char **argv, struct util_err *err)
{
	struct options_state st = {.opts = opts, .err = err, .next = argv + 1};
	int ret = 0;

	*opts = (struct bench_options){
		.file_size = OPTIONS_FILE_SIZE,
		.record = OPTIONS_RECORD,
		.threads_min = 1,
		.threads_max = 1,
		.depth = 1,
		.twice = BENCH_PREAMBLE_MAX,
		.argc = argc,
		.argv = argv,
	};
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options_iozone.c - iozone's letters with iozone's meaning.
 *
 * iozone prints a line for most options while it reads them; those lines are gathered here in the
 * order of the options.  Most letters set one field and say so, hence the table; what needs more
 * has a function.
 *
 * -o has two meanings.  iozone's stands alone and asks for O_SYNC; ours takes mount options.  As
 * iozone has no arguments that are not options', the word after -o decides: "-o -i0" is iozone's,
 * "-o rsize=64k" is ours.
 *
 * What can mean nothing here is refused by name, not ignored: a benchmark that skips what it was
 * asked for is worse than none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/options.h"

/* The matrix without -n -g -y -q, as iozone's. */
#define IOZONE_FILE_MIN (64 * OPTIONS_KB)
#define IOZONE_FILE_MAX (512 * OPTIONS_KB * OPTIONS_KB)
#define IOZONE_RECORD_MIN (4 * OPTIONS_KB)
#define IOZONE_RECORD_MAX (16 * OPTIONS_KB * OPTIONS_KB)

#define IOZONE_THROUGHPUT_TESTS                                                                    \
	(1u << BENCH_I_WRITE | 1u << BENCH_I_READ | 1u << BENCH_I_RANDOM | 1u << BENCH_I_REVERSE | \
	 1u << BENCH_I_STRIDE | 1u << BENCH_I_FWRITE | 1u << BENCH_I_FREAD | 1u << BENCH_I_MIX |   \
	 1u << BENCH_I_PWRITE | 1u << BENCH_I_PREAD)
#define IOZONE_TABLE_TESTS 0xffu
#define IOZONE_EXTENDED_TESTS                                                                      \
	(1u << BENCH_I_PWRITE | 1u << BENCH_I_PREAD | 1u << BENCH_I_PWRITEV | 1u << BENCH_I_PREADV)

static int iozone_test(struct options_state *st)
{
	unsigned test;
	int ret = options_number(st, 0, BENCH_I_COUNT - 1, &test);

	if (!ret)
		st->opts->tests |= 1u << test;
	return ret;
}

static int iozone_list_add(struct options_state *st, uint64_t *list, unsigned *countp,
			   uint64_t value)
{
	for (unsigned i = 0; i < *countp; i++)
		if (list[i] == value)
			return 0;
	if (*countp == BENCH_LIST_MAX)
		return options_bad(st, "at most 32 of them");
	list[(*countp)++] = value;
	return 0;
}

static int iozone_file_size(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	int ret = options_size(st, OPTIONS_FILE_MAX, &opts->file_size);

	if (ret)
		return ret;
	options_line(st, "\tFile size set to %llu kB",
		     (unsigned long long)(opts->file_size / OPTIONS_KB));
	return iozone_list_add(st, opts->files, &opts->nfiles, opts->file_size);
}

static int iozone_record(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	int ret = options_size(st, OPTIONS_RECORD_MAX, &opts->record);

	if (ret)
		return ret;
	options_line(st, "\tRecord Size %llu kB", (unsigned long long)(opts->record / OPTIONS_KB));
	return iozone_list_add(st, opts->records, &opts->nrecords, opts->record);
}

static int iozone_file_min(struct options_state *st)
{
	int ret = options_size(st, OPTIONS_FILE_MAX, &st->opts->file_min);

	st->min_set = true;
	options_line(st, "\tUsing minimum file size of %llu kilobytes.",
		     (unsigned long long)(st->opts->file_min / OPTIONS_KB));
	return ret;
}

static int iozone_file_max(struct options_state *st)
{
	int ret = options_size(st, OPTIONS_FILE_MAX, &st->opts->file_max);

	st->max_set = true;
	options_line(st, "\tUsing maximum file size of %llu kilobytes.",
		     (unsigned long long)(st->opts->file_max / OPTIONS_KB));
	return ret;
}

static int iozone_record_min(struct options_state *st)
{
	int ret = options_size(st, OPTIONS_RECORD_MAX, &st->opts->record_min);

	options_line(st, "\tUsing Minimum Record Size %llu kB",
		     (unsigned long long)(st->opts->record_min / OPTIONS_KB));
	return ret;
}

static int iozone_record_max(struct options_state *st)
{
	int ret = options_size(st, OPTIONS_RECORD_MAX, &st->opts->record_max);

	options_line(st, "\tUsing Maximum Record Size %llu kB",
		     (unsigned long long)(st->opts->record_max / OPTIONS_KB));
	return ret;
}

static int iozone_auto(struct options_state *st)
{
	st->auto_set = true;
	options_line(st, "\tAuto Mode");
	return 0;
}

static int iozone_auto_2(struct options_state *st)
{
	st->auto_set = true;
	st->opts->no_cross = true;
	st->opts->tests |= 1u << BENCH_I_WRITE | 1u << BENCH_I_READ;
	options_line(st, "\tAuto Mode 2. This option is obsolete. Use -az -i0 -i1 ");
	return 0;
}

static int iozone_children(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	unsigned n = 0;
	int ret = options_number(st, 1, BENCH_THREADS_MAX, &n);

	if (ret)
		return ret;
	if (opts->nchildren == BENCH_LIST_MAX)
		return options_bad(st, "at most 32 of them");
	opts->children[opts->nchildren++] = n;
	opts->throughput = true;
	if (n > opts->children_max)
		opts->children_max = n;
	return 0;
}

/* -l and -u are kept in the last two places until the check. */
static int iozone_low(struct options_state *st)
{
	st->low_set = true;
	return options_number(st, 1, BENCH_THREADS_MAX, &st->opts->children[BENCH_THREADS_MAX - 2]);
}

static int iozone_high(struct options_state *st)
{
	st->high_set = true;
	return options_number(st, 1, BENCH_THREADS_MAX, &st->opts->children[BENCH_THREADS_MAX - 1]);
}

static int iozone_names(struct options_state *st)
{
	struct bench_options *opts = st->opts;

	if (!opts->throughput)
		return options_bad(st, "comes after -t N, which says how many names follow");
	if (*st->rest)
		return options_bad(st, "its names are words of their own");
	opts->file_names = st->next;
	for (unsigned i = 0; i < opts->children_max; i++)
		if (!*st->next || (*st->next)[0] == '-')
			return options_bad(st, "needs a name for each child");
		else
			st->next++;
	return 0;
}

/* iozone's, unless a word follows that can only be ours. */
static int iozone_sync_or_mount(struct options_state *st)
{
	if (*st->rest || (*st->next && (*st->next)[0] != '-')) {
		st->opts->mount_opts = options_argument(st);
		return 0;
	}
	st->opts->o_sync = true;
	options_line(st, "\tSYNC Mode. ");
	return 0;
}

/*
 * QUIRK(iozone): the machine's name overflows the room iozone has for a line into the next one's,
 * which is therefore printed once behind the name and once more in its own right.  Parsers have
 * seen it like that for twenty years.
 */
static int iozone_machine(struct options_state *st)
{
	char host[72] = "unknown";

	gethostname(host, sizeof(host) - 1);
	options_line(st, "\n\tMachine = Linux %s", host);
	st->opts->twice = st->opts->npreamble;
	return 0;
}

static int iozone_cpu(struct options_state *st)
{
	st->opts->cpu = true;
	options_line(st, "\tCPU utilization Resolution = %5.3f seconds.", 0.0);
	options_line(st, "\tCPU utilization Excel chart enabled");
	return 0;
}

static int iozone_async_copy(struct options_state *st)
{
	int ret = options_number(st, 1, BENCH_DEPTH_MAX, &st->opts->depth);

	st->posix_async_copy = true;
	options_line(st, "\tPOSIX async I/O (with bcopy). Depth %u", st->opts->depth);
	return ret;
}

static int iozone_async(struct options_state *st)
{
	int ret = options_number(st, 1, BENCH_DEPTH_MAX, &st->opts->depth);

	st->posix_async = true;
	options_line(st, "\tPOSIX Async I/O (no bcopy). Depth %u ", st->opts->depth);
	return ret;
}

/* A processor that is not there cannot be meant. */
static int iozone_bind(struct options_state *st)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cpu = 0;
	int ret = options_number(st, 0, cpus > 1 ? (unsigned)cpus - 1 : 0, &cpu);

	st->opts->bind = (int)cpu;
	options_line(st, "\tBinding of processors beginning with %u ", cpu);
	return ret;
}

static int iozone_stride(struct options_state *st)
{
	unsigned records = 0;
	int ret = options_number(st, 1, UINT32_MAX, &records);

	st->opts->stride = records;
	return ret;
}

#define IOZONE_INVALID "\tPerformance measurements are invalid in this mode."

static int iozone_pattern(struct options_state *st)
{
	unsigned byte = 0;
	int ret = options_number(st, 0, 255, &byte);

	if (!byte)
		byte = 0xa5; /* as iozone */
	st->opts->pattern = (uint8_t)byte;
	st->opts->verify = BENCH_VERIFY_PATTERN;
	options_line(st, "\tVerify Mode. Pattern %x", byte * 0x01010101u);
	options_line(st, IOZONE_INVALID);
	return ret;
}

static int iozone_diagnostics(struct options_state *st)
{
	st->opts->verify = BENCH_VERIFY_ALL;
	options_line(st, "\t>>> I/O Diagnostic mode enabled. <<<");
	options_line(st, IOZONE_INVALID);
	return 0;
}

static int iozone_mix(struct options_state *st)
{
	int ret = options_number(st, 1, 100, &st->opts->mix_reads);

	options_line(st, "\tPercent read in mix test is %u", st->opts->mix_reads);
	return ret;
}

static int iozone_rate(struct options_state *st)
{
	int ret = options_number(st, 1, 100000000, &st->opts->rate);

	options_line(st, "\tRate control active %u Ops/sec .", st->opts->rate);
	return ret;
}

static int iozone_rest(struct options_state *st)
{
	int ret = options_number(st, 0, 86400, &st->opts->rest_s);

	options_line(st, "\tDelay %u seconds between tests enabled.", st->opts->rest_s);
	return ret;
}

/* Latencies are told in any case. */
static int iozone_histogram(struct options_state *st)
{
	options_line(st, "\tHistogram summary enabled.");
	return 0;
}

static int iozone_existing(struct options_state *st)
{
	st->opts->existing = st->opts->keep = true;
	options_line(st, "\t>>> No Verify mode. <<<");
	return 0;
}

static int iozone_csv(struct options_state *st)
{
	st->opts->excel = true;
	return options_text(st, &st->opts->csv);
}

static int iozone_file_name(struct options_state *st)
{
	return options_text(st, &st->opts->file);
}

/* ---- the tables -------------------------------------------------------------------------------
 */

enum iozone_kind { IOZONE_CALL, IOZONE_FLAG, IOZONE_NUMBER, IOZONE_REFUSED };

struct iozone_letter {
	char letter;
	enum iozone_kind kind;
	int (*parse)(struct options_state *st); /* CALL */
	size_t field;				/* FLAG: a bool, NUMBER: an unsigned */
	const char *text;			/* the line, or NULL; REFUSED: why */
	unsigned max;				/* NUMBER */
};

#define CALL(letter, fn)                                                                           \
	{                                                                                          \
		letter, IOZONE_CALL, fn, 0, NULL, 0                                                \
	}
#define FLAG(letter, field, line)                                                                  \
	{                                                                                          \
		letter, IOZONE_FLAG, NULL, offsetof(struct bench_options, field), line, 0          \
	}
#define NUMBER(letter, field, max)                                                                 \
	{                                                                                          \
		letter, IOZONE_NUMBER, NULL, offsetof(struct bench_options, field), NULL, max      \
	}
#define REFUSED(letter, why)                                                                       \
	{                                                                                          \
		letter, IOZONE_REFUSED, NULL, 0, why, 0                                            \
	}

static const struct iozone_letter iozone_first[] = {
	CALL('i', iozone_test),
	CALL('s', iozone_file_size),
	CALL('r', iozone_record),
	CALL('a', iozone_auto),
	CALL('A', iozone_auto_2),
	CALL('n', iozone_file_min),
	CALL('g', iozone_file_max),
	CALL('y', iozone_record_min),
	CALL('q', iozone_record_max),
	FLAG('z', no_cross, "\tCross over of record size disabled."),
	FLAG('E', extended, NULL),
	CALL('t', iozone_children),
	CALL('l', iozone_low),
	CALL('u', iozone_high),
	FLAG('T', say_threads, NULL),
	CALL('P', iozone_bind),
	NUMBER('d', delay_ms, 60000),
	FLAG('I', direct, "\tO_DIRECT feature enabled"),
	FLAG('e', fsync_timed, "\tInclude fsync in write timing"),
	FLAG('c', close_timed, "\tInclude close in write timing"),
	CALL('o', iozone_sync_or_mount),
	FLAG('w', keep, "\tSetting no_unlink"),
	CALL('f', iozone_file_name),
	CALL('F', iozone_names),
	FLAG('x', no_stonewall, "\tStonewall disabled"),
	CALL('j', iozone_stride),
	CALL('H', iozone_async_copy),
	CALL('k', iozone_async),
	FLAG('K', jitter, "\tDisrupted read patterns selected."),
	NUMBER('J', think_ms, 60000),
	FLAG('m', multi_buffer, "\tMulti_buffer. Work area 16777216 bytes"),
	CALL('V', iozone_pattern),
	FLAG('O', ops, "\tOPS Mode. Output is in operations per second."),
	FLAG('N', usec, "\tMicroseconds/op Mode. Output is in microseconds per operation."),
	CALL('M', iozone_machine),
	FLAG('R', excel, "\tExcel chart generation enabled"),
	CALL('b', iozone_csv),
	FLAG('C', each_child, NULL),
	FLAG('Q', latency_files, "\tOffset/latency files enabled."),
	NUMBER('S', cache_kb, 1u << 30),
	NUMBER('L', cache_line, 1u << 20),
	REFUSED('B', "files are not mapped here: the library reads and writes"),
	REFUSED('D', "files are not mapped here: there is no msync"),
	REFUSED('G', "files are not mapped here: there is no msync"),
	REFUSED('Z', "files are not mapped here"),
	REFUSED('W', "NFSv3 without NLM has no locks"),
	REFUSED('U', "nothing is cached by the client, so there is nothing to unmount for"),
	REFUSED('p', "buffers are moved by the RDMA fabric, not by way of the CPU's cache"),
	REFUSED('X', "telemetry files are not read"),
	REFUSED('Y', "telemetry files are not read"),
};

static const struct iozone_letter iozone_second[] = {
	CALL('u', iozone_cpu),
	FLAG('n', no_retest, "\tNo retest option selected"),
	CALL('d', iozone_diagnostics),
	CALL('p', iozone_mix),
	FLAG('k', constant_total, NULL),
	NUMBER('x', multiplier, 1024),
	CALL('O', iozone_rate),
	CALL('q', iozone_rest),
	FLAG('B', mix_sequential, "\t>>> Sequential Mixed workload. <<<"),
	FLAG('D', o_dsync, "\t>>> O_DSYNC mode enabled. <<<"),
	CALL('E', iozone_existing),
	FLAG('J', think_timed, "\t>>> Think time is included in throughput cal. <<<"),
	FLAG('N', no_truncate, NULL),
	FLAG('V', one_file, "\t>>> Shared file mode enabled. <<<"),
	CALL('z', iozone_histogram),
	REFUSED('m', "other machines join by MPI: mpirun nfsrdma-bench --mpi"),
	REFUSED('c', "other machines join by MPI: mpirun nfsrdma-bench --mpi"),
	REFUSED('h', "other machines join by MPI: mpirun nfsrdma-bench --mpi"),
	REFUSED('i', "other machines join by MPI: mpirun nfsrdma-bench --mpi"),
	REFUSED('s', "other machines join by MPI: mpirun nfsrdma-bench --mpi"),
	REFUSED('t', "there is no speed check of the network; see nfsrdma doctor"),
	REFUSED('l', "NFSv3 without NLM has no locks"),
	REFUSED('L', "NFSv3 without NLM has no locks"),
	REFUSED('A', "files are not mapped here: there is no madvise"),
	REFUSED('r', "reads come from the server in any case"),
	REFUSED('b', "bursts are not made; see -+O for a rate"),
	REFUSED('F', "files are always made anew; see -+N for the contrary"),
	REFUSED('K', "use -+p for the share of reads"),
	REFUSED('T', "see -Q for a file with each operation's latency"),
	REFUSED('w', "data is not made to be deduplicated"),
	REFUSED('y', "data is not made to be deduplicated"),
	REFUSED('C', "data is not made to be deduplicated"),
	REFUSED('S', "data is not made to be deduplicated"),
	REFUSED('W', "data is not made to be deduplicated"),
	REFUSED('H', "there is no PIT server here"),
	REFUSED('P', "there is no PIT server here"),
	REFUSED('X', "there is no short circuit here"),
	REFUSED('Z', "there are no old data sets here"),
	REFUSED('a', "it does nothing in iozone either"),
};

static int iozone_apply(struct options_state *st, const struct iozone_letter *l)
{
	char *field = (char *)st->opts + l->field;

	switch (l->kind) {
	case IOZONE_CALL:
		return l->parse(st);
	case IOZONE_NUMBER:
		return options_number(st, 1, l->max, (unsigned *)field);
	case IOZONE_REFUSED:
		return options_bad(st, l->text);
	case IOZONE_FLAG:
		break;
	}
	*(bool *)field = true;
	if (l->text)
		options_line(st, "%s", l->text);
	return 0;
}

int options_iozone_letter(struct options_state *st, char letter, bool second)
{
	const struct iozone_letter *table = second ? iozone_second : iozone_first;
	size_t count = second ? UTIL_ARRAY_SIZE(iozone_second) : UTIL_ARRAY_SIZE(iozone_first);

	for (size_t i = 0; i < count; i++)
		if (table[i].letter == letter)
			return iozone_apply(st, &table[i]);
	return options_bad(st, "unknown option (see --help)");
}

/* ---- what goes together -----------------------------------------------------------------------
 */

static int iozone_check_children(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	unsigned low = st->low_set ? opts->children[BENCH_THREADS_MAX - 2] : 1;
	unsigned high = st->high_set ? opts->children[BENCH_THREADS_MAX - 1] : low;

	if (!st->low_set && !st->high_set) {
		if (!opts->nchildren)
			opts->children[opts->nchildren++] = opts->children_max = 1;
		return 0;
	}
	strcpy(st->name, "-l and -u");
	if (low > high)
		return options_bad(st, "the least is above the most");
	if (opts->nchildren)
		return options_bad(st, "a range of children leaves no room for -t");
	for (unsigned n = low; n <= high; n++)
		opts->children[opts->nchildren++] = n;
	opts->children_max = high;
	opts->throughput = opts->range = true;
	return 0;
}

static int iozone_check_matrix(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	bool sizes = st->min_set || st->max_set || opts->record_min || opts->record_max;

	opts->matrix = st->auto_set || opts->nfiles > 1 || opts->nrecords > 1;
	strcpy(st->name, "-a");
	if (opts->throughput && (opts->matrix || sizes))
		return options_bad(st, "a matrix of sizes does not go with throughput mode");
	if (!opts->matrix)
		return sizes ? options_bad(st, "-n -g -y -q are sizes of a matrix: add -a") : 0;
	opts->sizes_chosen = opts->nfiles || opts->nrecords || opts->record_min || opts->record_max;
	if (!st->min_set)
		opts->file_min = IOZONE_FILE_MIN;
	if (!st->max_set)
		opts->file_max = IOZONE_FILE_MAX;
	if (!opts->record_min)
		opts->record_min = IOZONE_RECORD_MIN;
	if (!opts->record_max)
		opts->record_max = IOZONE_RECORD_MAX;
	if (opts->file_min > opts->file_max || opts->record_min > opts->record_max)
		return options_bad(st, "the least size is above the most");
	return opts->multiplier < 2 ? options_bad(st, "-+x multiplies by 2 at least") : 0;
}

static int iozone_check_tests(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	unsigned all = opts->throughput ? IOZONE_THROUGHPUT_TESTS
		       : opts->extended ? IOZONE_TABLE_TESTS | IOZONE_EXTENDED_TESTS
					: IOZONE_TABLE_TESTS;

	strcpy(st->name, "-i");
	if (!opts->tests)
		opts->tests = all;
	if (!opts->throughput && opts->tests >> BENCH_I_MIX & 1)
		return options_bad(st, "8, the mix, is of children that read and write: add -t N");
	if (!opts->throughput && opts->tests & IOZONE_EXTENDED_TESTS)
		opts->extended = true;
	if (opts->throughput && opts->tests & ~IOZONE_THROUGHPUT_TESTS) {
		opts->tests &= IOZONE_THROUGHPUT_TESTS;
		opts->tests_left_out = true;
		if (!opts->tests)
			return options_bad(st, "4, 11 and 12 are not throughput tests (in iozone)");
	}
	strcpy(st->name, "-+E");
	if (opts->existing && opts->tests & (1u << BENCH_I_WRITE | 1u << BENCH_I_RECORD_REWRITE |
					     1u << BENCH_I_FWRITE | 1u << BENCH_I_MIX |
					     1u << BENCH_I_PWRITE | 1u << BENCH_I_PWRITEV))
		return options_bad(st, "an existing file is only read: choose tests with -i");
	if (opts->existing && !opts->file && !opts->file_names)
		return options_bad(st, "which file? name it with -f or -F");
	return 0;
}

static int iozone_check_names(struct options_state *st)
{
	struct bench_options *opts = st->opts;

	strcpy(st->name, "-f");
	if (opts->file && opts->file_names)
		return options_bad(st, "and -F exclude each other");
	if (opts->file && opts->throughput)
		return options_bad(st, "names one file: use -F with several children");
	strcpy(st->name, "-F");
	if (opts->file_names && opts->range)
		return options_bad(st, "goes with -t N");
	return 0;
}

int options_iozone_check(struct options_state *st)
{
	struct bench_options *opts = st->opts;
	int ret = iozone_check_children(st);

	if (!ret)
		ret = iozone_check_matrix(st);
	if (!ret)
		ret = iozone_check_tests(st);
	if (!ret)
		ret = iozone_check_names(st);
	if (ret)
		return ret;
	strcpy(st->name, "-N");
	if (opts->usec && opts->throughput)
		return options_bad(st, "microseconds per operation are not for throughput mode "
				       "(nor in iozone): see latency below the lines");
	strcpy(st->name, "-H and -k");
	if (st->posix_async && st->posix_async_copy)
		return options_bad(st, "exclude each other");
	strcpy(st->name, "-+k");
	if (opts->constant_total && opts->file_size / opts->children_max < opts->record)
		return options_bad(st, "a child's part of the total is less than a record");
	strcpy(st->name, "-r");
	if (opts->record > opts->file_size && !opts->matrix)
		return options_bad(st, "the record is larger than the file");
	return 0;
}

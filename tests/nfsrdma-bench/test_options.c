/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "tools/nfsrdma-bench/bench.h"
#include "tools/nfsrdma-bench/matrix.h"

TestSuite(bench_options);

/* line is split at blanks, in place. */
static int parse(struct bench_options *opts, char *line, struct util_err *err)
{
	static char *argv[64];
	char *save = NULL;
	int argc = 0;

	argv[argc++] = "nfsrdma-bench";
	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	memset(err, 0, sizeof(*err));
	return bench_options_parse(opts, argc, argv, err);
}

static void accept_line(struct bench_options *opts, const char *line)
{
	struct util_err err;
	char copy[256];

	strcpy(copy, line);
	cr_assert_eq(parse(opts, copy, &err), 0, "%s: %s", line, err.what);
}

Test(bench_options, letters_may_be_joined_or_apart)
{
	static const char lines[][64] = {
		"-i0 -i1 -s1g -r256k -t12 -I",
		"-i 0 -i 1 -s 1g -r 256k -t 12 -I",
		"-Ii0 -i1 -s1048576 -r256 -t12",
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lines); i++) {
		struct bench_options opts;

		accept_line(&opts, lines[i]);
		cr_assert_eq(opts.tests, 3);
		cr_assert_eq(opts.file_size, 1u << 30, "%s", lines[i]);
		cr_assert_eq(opts.record, 256u << 10);
		cr_assert_eq(opts.nchildren, 1);
		cr_assert_eq(opts.children[0], 12);
		cr_assert_eq(opts.children_max, 12);
		cr_assert(opts.direct && opts.throughput);
	}
}

Test(bench_options, a_bare_size_is_in_kb)
{
	struct bench_options opts;

	accept_line(&opts, "-s 2048 -r 4");
	cr_assert_eq(opts.file_size, 2u << 20);
	cr_assert_eq(opts.record, 4096);
	accept_line(&opts, "");
	cr_assert_eq(opts.file_size, 512u << 10);
	cr_assert_eq(opts.record, 4096);
	cr_assert_eq(opts.tests, 0xff);
	cr_assert_eq(opts.depth, 1);
	cr_assert_not(opts.throughput);
}

Test(bench_options, o_alone_is_iozones_and_with_a_word_it_is_ours)
{
	struct bench_options opts;

	accept_line(&opts, "-i0 -o");
	cr_assert(opts.o_sync);
	cr_assert_null(opts.mount_opts);
	accept_line(&opts, "-o -i0");
	cr_assert(opts.o_sync);
	accept_line(&opts, "-o rsize=64k,crc=on -i0");
	cr_assert_not(opts.o_sync);
	cr_assert_str_eq(opts.mount_opts, "rsize=64k,crc=on");
	accept_line(&opts, "-oproto=tcp");
	cr_assert_str_eq(opts.mount_opts, "proto=tcp");
}

Test(bench_options, ours_take_their_argument_joined_or_apart)
{
	struct bench_options opts;

	accept_line(&opts, "--target srv:/x --depth=8 --client libnfs --json out.json");
	cr_assert_eq(opts.depth, 8);
	cr_assert_str_eq(opts.target, "srv:/x");
	cr_assert_eq(opts.nclients, 1);
	cr_assert_eq(opts.clients[0].kind, BENCH_CLIENT_LIBNFS);
	cr_assert_str_eq(opts.json, "out.json");
}

Test(bench_options, without_i_all_tests_of_the_mode_are_run)
{
	struct bench_options opts;

	accept_line(&opts, "-t2");
	cr_assert(bench_wants(&opts, BENCH_MIXED) && bench_wants(&opts, BENCH_PREAD));
	cr_assert_not(bench_wants(&opts, BENCH_RECORD_REWRITE));
	accept_line(&opts, "-s1m");
	cr_assert(bench_wants(&opts, BENCH_RECORD_REWRITE) && bench_wants(&opts, BENCH_REFREAD));
	cr_assert_not(bench_wants(&opts, BENCH_MIXED) || bench_wants(&opts, BENCH_PWRITE));
	accept_line(&opts, "-E");
	cr_assert(bench_wants(&opts, BENCH_PWRITE) && bench_wants(&opts, BENCH_REPREADV));
}

Test(bench_options, no_retest_leaves_the_second_passes_out)
{
	struct bench_options opts;

	accept_line(&opts, "-+n -i0 -i1 -i6");
	cr_assert(bench_wants(&opts, BENCH_WRITE) && bench_wants(&opts, BENCH_FWRITE));
	cr_assert_not(bench_wants(&opts, BENCH_REWRITE) || bench_wants(&opts, BENCH_REFWRITE));
}

Test(bench_options, iozones_letters_set_what_they_mean)
{
	struct bench_options opts;

	accept_line(&opts, "-i0 -i8 -t4 -F a b c d -+p 30 -j 5 -H 8 -P0 -C -Q -S 2048 -L64 -V 7");
	cr_assert_eq(opts.mix_reads, 30);
	cr_assert_eq(opts.stride, 5);
	cr_assert_eq(opts.depth, 8);
	cr_assert_eq(opts.bind, 0);
	cr_assert_eq(opts.cache_kb, 2048);
	cr_assert_eq(opts.cache_line, 64);
	cr_assert_eq(opts.pattern, 7);
	cr_assert_eq(opts.verify, BENCH_VERIFY_PATTERN);
	cr_assert_str_eq(opts.file_names[3], "d");
	cr_assert(opts.each_child && opts.latency_files);
	accept_line(&opts, "-i0 -x -K -m -J20 -+J -+k -+d -+D -+N -+q2 -+O100 -t2 -d5");
	cr_assert(opts.no_stonewall && opts.jitter && opts.multi_buffer && opts.constant_total);
	cr_assert(opts.think_timed && opts.o_dsync && opts.no_truncate);
	cr_assert_eq(opts.verify, BENCH_VERIFY_ALL);
	cr_assert_eq(opts.think_ms, 20);
	cr_assert_eq(opts.rest_s, 2);
	cr_assert_eq(opts.rate, 100);
	cr_assert_eq(opts.delay_ms, 5);
}

Test(bench_options, numbers_of_children_are_a_list_or_a_range)
{
	struct bench_options opts;

	accept_line(&opts, "-t1 -t4 -t2");
	cr_assert_eq(opts.nchildren, 3);
	cr_assert_eq(opts.children[1], 4);
	cr_assert_eq(opts.children_max, 4);
	accept_line(&opts, "-l2 -u4");
	cr_assert_eq(opts.nchildren, 3);
	cr_assert_eq(opts.children[0], 2);
	cr_assert_eq(opts.children_max, 4);
	/* As in iozone: a missing -l is 1, a missing -u is -l. */
	accept_line(&opts, "-u3");
	cr_assert_eq(opts.nchildren, 3);
	accept_line(&opts, "-l3");
	cr_assert_eq(opts.nchildren, 1);
}

Test(bench_options, rounds_follow_from_what_is_compared)
{
	struct bench_options opts;

	accept_line(&opts, "-i0");
	cr_assert_eq(opts.rounds, 1);
	accept_line(&opts, "-i0 --sweep mr=pool,window");
	cr_assert_eq(opts.rounds, 3);
	accept_line(&opts, "-i0 --client nfsrdma --client posix:/tmp");
	cr_assert_eq(opts.rounds, 5);
	accept_line(&opts, "-i0 --client nfsrdma --client posix:/tmp --rounds 2");
	cr_assert_eq(opts.rounds, 2);
}

Test(bench_options, what_can_mean_nothing_is_refused_by_name)
{
	static const char letters[][4] = {"-B",	 "-D",	"-G",  "-Z",  "-W",  "-p",  "-+m", "-+t",
					  "-+A", "-+l", "-+w", "-+b", "-+K", "-+T", "-+r", "-+X"};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(letters); i++) {
		struct bench_options opts;
		struct util_err err;
		char copy[8];

		strcpy(copy, letters[i]);
		cr_assert_eq(parse(&opts, copy, &err), BENCH_USAGE, "%s", letters[i]);
		cr_assert(!strncmp(err.what, letters[i], strlen(letters[i])), "%s", err.what);
		cr_assert_null(strstr(err.what, "unknown"), "%s", err.what);
	}
}

Test(bench_options, what_is_wrong_is_named_in_one_line)
{
	static const char cases[][2][80] = {
		{"-i 13", "'13' is not a number from 0 to 12"},
		{"-i", "-i: needs a number"},
		{"-s", "-s: needs a size"},
		{"-s 0", "'0' is not a size"},
		{"-s 1x", "'1x' is not a size"},
		{"-s -1", "'-1' is not a size"},
		{"-s 99999999999999999999", "is not a size"},
		{"-s 64 -r 128", "-r: the record is larger than the file"},
		{"-t 0", "'0' is not a number from 1 to 1024"},
		{"-t 9999", "is not a number"},
		{"-P 99999", "-P: '99999' is not a number from 0 to"},
		{"-l 3 -u 2", "the least is above the most"},
		{"-l 1 -u 2 -t 3", "leaves no room for -t"},
		{"-i8", "add -t N"},
		{"-i4 -t2", "not throughput tests"},
		{"-a -t2", "does not go with throughput mode"},
		{"-n64", "sizes of a matrix: add -a"},
		{"-a -n512 -g64", "the least size is above the most"},
		{"-f x -t2", "use -F with several children"},
		{"-F a", "comes after -t N"},
		{"-t3 -F a b", "needs a name for each child"},
		{"-H4 -k4", "exclude each other"},
		{"-t4 -+k -s8k", "less than a record"},
		{"-+E -i0 -f x", "an existing file is only read"},
		{"-+E -i1", "which file?"},
		{"-i11 --client libnfs", "libnfs has no vectors"},
		{"-i6 -+O5", "a pace means nothing"},
		{"-V 256", "is not a number from 0 to 255"},
		{"-+Z", "-+Z: there are no old data sets"},
		{"-+ ", "-+: unknown option"},
		{"-?", "-?: unknown option"},
		{"--sweep mr", "--sweep: is KEY=A,B"},
		{"--sweep mr=pool -R", "use --csv"},
		{"--sweep mr=pool --client libnfs", "mean nothing to this client"},
		{"--nonsense", "--nonsense: unknown option"},
		{"--verify=yes", "--verify: takes no argument"},
		{"--depth 0", "--depth: '0' is not a number from 1"},
		{"--duration nan", "'nan' is not a number above 0"},
		{"--duration -3", "is not a number above 0"},
		{"--duration 1 -a", "means nothing to a matrix"},
		{"--duration 1 -Q", "one line per record"},
		{"--client me", "--client: who does the I/O is"},
		{"--json", "--json: needs an argument"},
		{"--report x.pdf", "ends in .html, .svg or .png"},
		{"--fail-below 0.9", "below what?"},
		{"--compare a.json", "needs at least two files"},
		{"--mpi", "add -t N"},
		{"--shared --client libnfs", "only nfsrdma's mounts"},
		{"stray", "'stray': not an option"},
		{"-N -t2", "not for throughput mode"},
		{"--client posix:/tmp --target a:/b", "writes to its own folder"},
		{"--client posix:/tmp -o rsize=1m", "mount options mean nothing to posix"},
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct bench_options opts;
		struct util_err err;
		char copy[80];

		strcpy(copy, cases[i][0]);
		cr_assert_eq(parse(&opts, copy, &err), BENCH_USAGE, "%s", cases[i][0]);
		cr_assert(strstr(err.what, cases[i][1]), "%s: %s", cases[i][0], err.what);
		cr_assert_null(strchr(err.what, '\n'));
	}
}

Test(bench_options, many_options_do_not_overflow_the_preamble)
{
	char *argv[140] = {"nfsrdma-bench"};
	struct bench_options opts;
	struct util_err err;

	for (unsigned i = 1; i < 139; i++)
		argv[i] = "-I";
	cr_assert_eq(bench_options_parse(&opts, 139, argv, &err), 0);
	cr_assert_eq(opts.npreamble, BENCH_PREAMBLE_MAX);
}

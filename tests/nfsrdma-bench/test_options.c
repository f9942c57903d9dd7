/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "tools/nfsrdma-bench/bench.h"

TestSuite(bench_options);

/* line is split at blanks, in place. */
static int parse(struct bench_options *opts, char *line, struct util_err *err)
{
	static char *argv[32];
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
		cr_assert_eq(opts.threads_min, 12);
		cr_assert_eq(opts.threads_max, 12);
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
	cr_assert_eq(opts.tests, 3);
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
	cr_assert_eq(opts.client, BENCH_CLIENT_LIBNFS);
	cr_assert_str_eq(opts.json, "out.json");
}

Test(bench_options, what_is_wrong_is_named_in_one_line)
{
	static const char cases[][2][64] = {
		{"-i2", "-i 2: this test is not there yet"},
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
		{"-l 2", "-l and -u: a range needs both"},
		{"-l 3 -u 2", "the least is above the most"},
		{"-R", "-R: Excel reports: not there yet"},
		{"-+d", "-+d: diagnostics: not there yet"},
		{"-+Z", "-+Z: unknown option"},
		{"-Z", "-Z: unknown option"},
		{"-+", "-+: unknown option"},
		{"--sweep mr=pool", "--sweep: not there yet"},
		{"--nonsense", "--nonsense: unknown option"},
		{"--depth 0", "--depth: '0' is not a number from 1"},
		{"--client me", "--client: who does the I/O is"},
		{"--json", "--json: needs an argument"},
		{"stray", "'stray': not an option"},
		{"-N -t2", "not there yet"},
		{"--client posix:/tmp --target a:/b", "writes to its own folder"},
		{"--client posix:/tmp -o rsize=1m", "mount options mean nothing to posix"},
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct bench_options opts;
		struct util_err err;
		char copy[64];

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

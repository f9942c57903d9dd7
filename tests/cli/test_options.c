/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_options.c - the command line (tools/nfsrdma/options.c).
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nfsrdma/cli.h"

static const struct cli_command list = {.name = "list",
					.operands = "[-lh] X...",
					.min_operands = 1,
					.max_operands = -1,
					.options = "lh"};
static const struct cli_command put = {.name = "put",
				       .operands = "[--offset N] X",
				       .min_operands = 1,
				       .max_operands = 1,
				       .options = "arO:"};
static const struct cli_command *const commands[] = {&list, &put, NULL};

#define MAX_ARGS 16

/* Split at blanks; argv must be writable. */
static int parse(struct cli *cli, const char *line, char ***argvp)
{
	static char text[256], *argv[MAX_ARGS + 1];
	int argc = 0;

	memset(cli, 0, sizeof(*cli));
	snprintf(text, sizeof(text), "nfsrdma %s", line);
	for (char *word = strtok(text, " "); word && argc < MAX_ARGS; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	*argvp = argv;
	return cli_parse(cli, argc, argvp, commands);
}

Test(cli_options, globals_stand_before_or_after_the_command)
{
	struct cli cli;
	char **argv;

	cr_assert_eq(parse(&cli, "-o a=1 --json -v list -l x -o b --stats -v y", &argv), 2);
	cr_assert_str_eq(cli.opts, "a=1,b");
	cr_assert(cli.json);
	cr_assert(cli.stats);
	cr_assert_eq(cli.verbosity, 2);
	cr_assert(cli.flags['l']);
	cr_assert_not(cli.flags['h']);
	cr_assert_str_eq(argv[0], "x");
	cr_assert_str_eq(argv[1], "y");
	free(cli.opts_joined);
}

Test(cli_options, after_two_dashes_everything_is_an_operand)
{
	struct cli cli;
	char **argv;

	cr_assert_eq(parse(&cli, "list -- -l --json", &argv), 2);
	cr_assert_not(cli.json);
	cr_assert_str_eq(argv[0], "-l");
}

Test(cli_options, long_options_of_a_command_become_its_letters)
{
	struct cli cli;
	char **argv;

	cr_assert_eq(parse(&cli, "put --offset 17 --recursive x", &argv), 1);
	cr_assert(cli.flags['O']);
	cr_assert_str_eq(cli.values['O'], "17");
	cr_assert(cli.flags['r']);
}

static const char usage_errors[][40] = {
	"",
	"lst x",
	"list",
	"put x y",
	"list -a x",
	"list --offset 1 x",
	"put --offset",
	"-o",
	"--jsn list x",
	"list --nothing x",
	"put -O",
};

Test(cli_options, what_makes_no_sense_is_status_2_and_one_line, .init = cr_redirect_stderr)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(usage_errors); i++) {
		struct cli cli;
		char **argv;

		cr_assert_eq(parse(&cli, usage_errors[i], &argv), -1, "'%s'", usage_errors[i]);
		cr_assert_eq(cli.status, CLI_USAGE, "'%s'", usage_errors[i]);
		free(cli.opts_joined);
	}
}

Test(cli_options, help_and_version_are_status_0, .init = cr_redirect_stdout)
{
	static const char lines[][24] = {"--help", "--version", "list --help", "put --version"};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(lines); i++) {
		struct cli cli;
		char **argv;

		cr_assert_eq(parse(&cli, lines[i], &argv), -1);
		cr_assert_eq(cli.status, CLI_OK);
	}
}

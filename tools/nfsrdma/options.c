/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - the command line: global options, the command, its own options.
 *
 * Global options are understood on both sides of the command, since that is where fingers put them;
 * none of them has the letter of a command's own.  `--` ends options.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum {
	OPT_JSON = 1000,
	OPT_STATS,
	OPT_NO_PROGRESS,
	OPT_HELP,
	OPT_VERSION,
	OPT_OFFSET,
	OPT_RECURSIVE
};

/* --offset and --recursive are own options spelled out: they become their letter. */
static const struct option long_options[] = {
	{"json", no_argument, NULL, OPT_JSON},
	{"stats", no_argument, NULL, OPT_STATS},
	{"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
	{"verbose", no_argument, NULL, 'v'},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{"offset", required_argument, NULL, OPT_OFFSET},
	{"recursive", no_argument, NULL, OPT_RECURSIVE},
	{NULL, 0, NULL, 0},
};

static void print_help(const struct cli_command *const *commands)
{
	printf("Usage: nfsrdma [-o OPTS] [-v|-q] [--json] [--stats] [--no-progress] COMMAND "
	       "ARGS...\n"
	       "Files on an NFSv3 server over RDMA or TCP, without mounting it.\n\n"
	       "A TARGET is SERVER:/PATH, [v6]:/PATH or "
	       "nfs://SERVER[:PORT]/PATH[?opt=val&opt]\n\n");
	for (size_t i = 0; commands[i]; i++)
		printf("  %-9s %-34s %s\n", commands[i]->name, commands[i]->operands,
		       commands[i]->summary);
	printf("\n"
	       "  -o OPTS        mount options as in nfs(5): proto=rdma|tcp, port=, rsize=, soft, "
	       "...\n"
	       "  -v, -q         say more (twice: everything), say only errors\n"
	       "  --json         print JSON\n"
	       "  --stats        print the pin ledger's and the transport's counters at the end\n"
	       "  --no-progress  no progress bar\n"
	       "  --version      print the version\n\n"
	       "Exit status: 0 done, 1 an operation failed, 2 wrong usage.  See nfsrdma(1).\n");
}

static int add_opts(struct cli *cli, const char *opts)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", cli->opts ? cli->opts : "", cli->opts ? "," : "", opts) < 0)
		return -ENOMEM;
	free(cli->opts_joined);
	cli->opts = cli->opts_joined = joined;
	return 0;
}

static int done(struct cli *cli, int status)
{
	cli->status = status;
	return -1;
}

/* One option of getopt_long's.  1: go on, -1: the program is done. */
static int take_option(struct cli *cli, int opt, const struct cli_command *const *commands)
{
	switch (opt) {
	case 'o':
		return add_opts(cli, optarg) ? done(cli, CLI_FAILED) : 1;
	case 'v':
		cli->verbosity++;
		return 1;
	case 'q':
		cli->verbosity = -1;
		return 1;
	case OPT_JSON:
		cli->json = true;
		return 1;
	case OPT_STATS:
		cli->stats = true;
		return 1;
	case OPT_NO_PROGRESS:
		cli->no_progress = true;
		return 1;
	case OPT_HELP:
		if (cli->command)
			printf("Usage: nfsrdma %s %s\n%s.  See nfsrdma(1).\n", cli->command->name,
			       cli->command->operands, cli->command->summary);
		else
			print_help(commands);
		return done(cli, CLI_OK);
	case OPT_VERSION:
		printf("nfsrdma %s\n", nfsrdma_version());
		return done(cli, CLI_OK);
	default:
		return 0;
	}
}

/* An option that is the command's own. */
static int take_own(struct cli *cli, int opt, int argc, char **argv)
{
	const char *own = cli->command ? cli->command->options : "";

	if (opt == OPT_OFFSET)
		opt = 'O';
	if (opt == OPT_RECURSIVE)
		opt = strchr(own, 'r') ? 'r' : 'R';
	if (opt > 0 && opt < 128 && opt != '?' && opt != ':' && strchr(own, opt)) {
		cli->flags[opt] = true;
		cli->values[opt] = optarg;
		return 1;
	}
	if (opt == ':')
		cli_usage(cli, "option '%s' needs a value", argv[optind - 1]);
	else if (optopt && optopt < 128)
		cli_usage(cli, "unknown option '-%c'", optopt);
	else
		cli_usage(cli, "unknown option '%s'", argv[optind - 1 < argc ? optind - 1 : 0]);
	return done(cli, CLI_USAGE);
}

/* Options from where getopt stands up to the first operand (before the command) or of all of argv.
 */
static int take_options(struct cli *cli, int argc, char **argv,
			const struct cli_command *const *commands)
{
	char letters[64];
	int opt, more;

	snprintf(letters, sizeof(letters), "%s:o:vq%s", cli->command ? "" : "+",
		 cli->command ? cli->command->options : "");
	opterr = 0;
	optind = 0; /* glibc: begin anew */
	optopt = 0;
	while ((opt = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
		more = take_option(cli, opt, commands);
		if (more == 0)
			more = take_own(cli, opt, argc, argv);
		if (more < 0)
			return -1;
		optopt = 0;
	}
	return optind;
}

static const struct cli_command *find_command(const char *name,
					      const struct cli_command *const *commands)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int check_operands(struct cli *cli, int n)
{
	const struct cli_command *c = cli->command;

	if (n >= c->min_operands && (c->max_operands < 0 || n <= c->max_operands))
		return n;
	cli_usage(cli, "%s operands: nfsrdma %s %s",
		  n < c->min_operands ? "not enough" : "too many", c->name, c->operands);
	return -1;
}

int cli_parse(struct cli *cli, int argc, char ***argvp, const struct cli_command *const *commands)
{
	char **argv = *argvp;
	int first = take_options(cli, argc, argv, commands);

	if (first < 0)
		return -1;
	if (first == argc) {
		cli_usage(cli, "no command (see nfsrdma --help)");
		return -1;
	}
	cli->command = find_command(argv[first], commands);
	if (!cli->command) {
		char name[CLI_NAME_MAX];

		cli_usage(cli, "unknown command '%s' (see nfsrdma --help)",
			  cli_safe(argv[first], name, sizeof(name)));
		return -1;
	}
	argc -= first;
	argv += first;
	first = take_options(cli, argc, argv, commands);
	if (first < 0)
		return -1;
	*argvp = argv + first;
	return check_operands(cli, argc - first);
}

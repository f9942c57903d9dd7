/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_doctor.c - doctor TARGET: every step to a first READ, what is found there, and the remedy.
 */
#include <stdio.h>

#include "commands.h"
#include "json.h"

static const char *const verdicts[] = {"ok", "warn", "FAIL"};

static void print_finding(void *arg, const struct nfsrdma_finding *f)
{
	struct cli *cli = arg;
	char detail[CLI_NAME_MAX];
	struct cli_json *doc;

	if (f->verdict == NFSRDMA_FAIL)
		cli->status = CLI_FAILED;
	if (cli->json) {
		doc = cli_json_object();
		cli_json_text(doc, "verdict", verdicts[f->verdict]);
		cli_json_text(doc, "step", f->step);
		cli_json_name(doc, "detail", f->detail);
		cli_json_name(doc, "remedy", f->remedy);
		cli_json_print(doc, stdout);
		return;
	}
	printf("%-4s %s: %s%s%s\n", verdicts[f->verdict], f->step,
	       cli_safe(f->detail, detail, sizeof(detail)), f->remedy[0] ? "; remedy: " : "",
	       f->remedy);
	fflush(stdout); /* a step may take seconds: the one before it is seen meanwhile */
}

static void run_doctor(struct cli *cli, int argc, char **argv)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	int ret;

	opts.opts = cli->opts;
	opts.log = cli_log;
	opts.log_arg = cli;
	opts.log_level = cli->verbosity > 0 ? NFSRDMA_LOG_INFO : NFSRDMA_LOG_ERROR;
	ret = nfsrdma_doctor(argv[0], &opts, print_finding, cli);
	if (ret && cli->status == CLI_OK)
		cli_usage(cli, "%s", nfsrdma_strerror_last());
}

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.operands = "TARGET",
	.summary = "find out what is missing between here and a READ",
	.min_operands = 1,
	.max_operands = 1,
	.options = "",
	.run = run_doctor,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - what is told on standard error: one line per failure, the log, the counters.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "json.h"

static void print_line(struct cli *cli, const char *what, const char *hint)
{
	fflush(stdout);
	/* a progress bar stands in this line: wipe it */
	if (cli->progress_shown)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "nfsrdma: %s%s%s", cli->command ? cli->command->name : "",
		cli->command ? ": " : "", what);
	if (hint && hint[0])
		fprintf(stderr, " (%s)", hint);
	fputc('\n', stderr);
}

void cli_error(struct cli *cli, const char *fmt, ...)
{
	char what[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	print_line(cli, what, NULL);
	if (cli->status == CLI_OK)
		cli->status = CLI_FAILED;
}

void cli_usage(struct cli *cli, const char *fmt, ...)
{
	char what[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	print_line(cli, what, NULL);
	cli->status = CLI_USAGE;
}

void cli_fail(struct cli *cli)
{
	print_line(cli, nfsrdma_strerror_last(), nfsrdma_hint_last());
	if (cli->status == CLI_OK)
		cli->status = CLI_FAILED;
}

void cli_fail_local(struct cli *cli, const char *doing, const char *path, int error)
{
	char name[CLI_NAME_MAX];

	cli_error(cli, "%s %s: %s", doing, cli_safe(path, name, sizeof(name)), strerror(-error));
}

void cli_log(void *arg, enum nfsrdma_log_level level, const char *line)
{
	struct cli *cli = arg;

	if (cli->progress_shown)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "nfsrdma: %s%s\n", level == NFSRDMA_LOG_WARN ? "warning: " : "", line);
}

static void print_counter(void *arg, const char *name, uint64_t value)
{
	fprintf(stderr, "%s %s %llu\n", (const char *)arg, name, (unsigned long long)value);
}

static void add_counter(void *arg, const char *name, uint64_t value)
{
	cli_json_u64(arg, name, value);
}

static void print_stats_json(struct nfsrdma *mount, const struct nfsrdma_info *info)
{
	struct cli_json *doc = cli_json_object();
	struct cli_json *part = cli_json_child(doc, "ledger");

	nfsrdma_stats(mount, NFSRDMA_STATS_LEDGER, add_counter, part);
	part = cli_json_child(doc, "transport");
	nfsrdma_stats(mount, NFSRDMA_STATS_TRANSPORT, add_counter, part);
	cli_json_text(doc, "server", info->server);
	cli_json_text(doc, "export", info->export_path);
	cli_json_text(doc, "fabric", info->fabric);
	cli_json_text(doc, "mr", info->mr_mode);
	cli_json_text(doc, "pool", info->pool);
	if (info->invalidations[0])
		cli_json_text(doc, "invalidations", info->invalidations);
	cli_json_text(doc, "iommu", info->iommu);
	cli_json_print(doc, stderr);
}

void cli_print_stats(struct cli *cli)
{
	struct nfsrdma *mount;

	for (size_t i = 0; (mount = cli_mount_at(cli, i)); i++) {
		struct nfsrdma_info info = {.size = sizeof(info)};

		nfsrdma_info(mount, &info);
		if (cli->json) {
			print_stats_json(mount, &info);
			continue;
		}
		fprintf(stderr, "mount %s:%s over %s (%s)\n", info.server, info.export_path,
			info.fabric, info.address);
		fprintf(stderr, "pool %s\n%s\n", info.pool, info.iommu);
		if (info.invalidations[0])
			fprintf(stderr, "invalidations %s\n", info.invalidations);
		nfsrdma_stats(mount, NFSRDMA_STATS_LEDGER, print_counter, (void *)"ledger");
		nfsrdma_stats(mount, NFSRDMA_STATS_TRANSPORT, print_counter, (void *)"transport");
	}
}

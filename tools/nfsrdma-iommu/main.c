/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - nfsrdma-iommu: what the machine's IOMMU makes of registered memory.
 *
 * Exit status: 0 done; 1 something failed (one line on stderr); 2 usage; 130 interrupted.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client/nfsrdma.h"
#include "tools/nfsrdma-iommu/tool.h"

static const struct {
	char name[8];
	int (*run)(int argc, char **argv);
} commands[] = {
	{"show", cmd_show}, {"cost", cmd_cost},	  {"watch", cmd_watch},
	{"iova", cmd_iova}, {"model", cmd_model},
};

static const char help[] =
	"usage: nfsrdma-iommu COMMAND [OPTIONS]\n"
	"       nfsrdma-iommu --help | --version\n"
	"\n"
	"  show [--root DIR] [--device D] [--json]\n"
	"      facts about this machine and its RDMA devices, the policy that follows, advice\n"
	"  cost [--fabric iwarp|verbs] [--address A] [--sizes 4k,1m,...] [--json]\n"
	"      registration and release, by size and kind of page\n"
	"  cost --vfio PCI [--api type1|iommufd] [--ios N] [--sizes ...] [--json]\n"
	"      map and unmap of a real IOMMU, with a device that is bound to vfio-pci\n"
	"  watch [PID] [--interval S] [--count N] [--dir DIR] [--json]\n"
	"      pins, ledgers, IOMMU maps and unmaps as they happen\n"
	"  iova [--threads N] [--allocator magazine|tree] [--seconds S] [--json]\n"
	"      how fast I/O addresses are allocated, side by side with a tree under one lock\n"
	"  model [--figures CSV] [--costs JSON] [--threads N] [--record SIZE] [--link GBITS] "
	"[--inval-us US]\n"
	"        [--policy off|passthrough|lazy|strict|all] [--mode pool|window|per-io|all] "
	"[--cases] "
	"[--json]\n"
	"      throughput by a queueing model, against published figures\n"
	"\n"
	"nfsrdma-iommu(1) describes them.\n";

int tool_fail(const char *command, const struct util_err *err)
{
	fprintf(stderr, "nfsrdma-iommu: %s: %s", command, err->what);
	if (err->hint[0])
		fprintf(stderr, " (%s)", err->hint);
	fputc('\n', stderr);
	return 1;
}

int tool_usage(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "nfsrdma-iommu: %s: ", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs(" (see nfsrdma-iommu --help)\n", stderr);
	return TOOL_USAGE;
}

int tool_option(const char *command, int c, char **argv)
{
	const char *word = argv[optind - 1], *next = argv[optind];

	if (c == ':')
		return tool_usage(command, "%s: needs a value", word);
	/* Of one dash, a letter is wrong, and the word is not done with. */
	if (optopt && next && next[0] == '-' && next[1] == optopt)
		word = next;
	else if (optopt && !strncmp(word, "--", 2))
		return tool_usage(command, "%s: takes no value", word);
	return tool_usage(command, "%s: unknown option", word);
}

/* Help and version are printed: out, or a line that says why not. */
static int tool_printed(void)
{
	struct util_err err = {0};
	int ret = report_flush(stdout);

	if (!ret)
		return 0;
	util_err_set(&err, ret, "%s", strerror(-ret));
	return tool_fail("write", &err);
}

bool tool_number(const char *command, const char *option, const char *text, uint64_t min,
		 uint64_t max, uint64_t *valuep)
{
	if (util_u64_parse(text, max, valuep) == 0 && *valuep >= min)
		return true;
	tool_usage(command, "%s %s: not a number from %llu to %llu", option, text,
		   (unsigned long long)min, (unsigned long long)max);
	return false;
}

static int tool_help(void)
{
	fputs(help, stdout);
	return tool_printed();
}

static bool tool_wants_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

int main(int argc, char **argv)
{
	if (util_stdio_reserve())
		return 1;
	if (argc < 2) {
		fputs(help, stderr);
		return TOOL_USAGE;
	}
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (tool_wants_help(argv[i]))
			return tool_help();
	if (!strcmp(argv[1], "--version")) {
		printf("nfsrdma-iommu %s\n", NFSRDMA_VERSION);
		return tool_printed();
	}
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return tool_usage(argv[1], "no such command");
}

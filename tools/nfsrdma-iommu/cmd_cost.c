/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_cost.c - nfsrdma-iommu cost: what it costs to make memory reachable, and to end it.
 *
 * For each size and each kind of page: the median time of both, and what the kernel books while it
 * holds, read where it books it: VmPin and VmLck of this process, and the system's count of pins,
 * which is exact only after it has been gathered from all CPUs (root writes vm.stat_refresh for
 * that).
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/nfsrdma-iommu/cost.h"

#define COST_MAX_REPEATS 51
#define COST_CELL_NS (60 * UTIL_NS_PER_MS)

struct cost_cell {
	double enter_us, leave_us;
	unsigned repeats;
	int64_t pinned_kb, locked_kb, pins; /* grew so much while it held */
	bool pins_exact;
	int err;
};

/* Gather the counters of all CPUs; false: not root. */
static bool cost_refresh(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, "1", 1) == 1;

	if (fd >= 0)
		close(fd);
	return done;
}

static int64_t cost_pins_now(const struct iommu_pins *p)
{
	return (int64_t)(p->foll_pin_acquired - p->foll_pin_released);
}

/* Once, with the books open: what is booked while the range is reachable. */
static void cost_books(const struct cost_bench *bench, const struct memory *m, uint64_t len,
		       enum memory_kind kind, struct cost_cell *cell)
{
	struct iommu_pins before, during;

	cell->pins_exact = cost_refresh();
	iommu_pins_read(&before, 0, NULL);
	cell->err = bench->enter(bench->arg, m, len, kind);
	if (cell->err)
		return;
	cost_refresh();
	iommu_pins_read(&during, 0, NULL);
	bench->leave(bench->arg, len);
	cell->pinned_kb = (int64_t)(during.vm_pin_kb - before.vm_pin_kb);
	cell->locked_kb = (int64_t)(during.vm_lck_kb - before.vm_lck_kb);
	cell->pins = cost_pins_now(&during) - cost_pins_now(&before);
}

static int cost_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double cost_median_us(uint64_t *ns, unsigned count)
{
	qsort(ns, count, sizeof(*ns), cost_compare);
	return (double)ns[count / 2] / 1000.0;
}

static void cost_time(const struct cost_bench *bench, const struct memory *m, uint64_t len,
		      enum memory_kind kind, struct cost_cell *cell)
{
	uint64_t enter[COST_MAX_REPEATS], leave[COST_MAX_REPEATS];
	uint64_t end = util_clock_ns() + COST_CELL_NS;
	unsigned n = 0;

	do {
		uint64_t begin = util_clock_ns(), middle;

		cell->err = bench->enter(bench->arg, m, len, kind);
		if (cell->err)
			break;
		middle = util_clock_ns();
		bench->leave(bench->arg, len);
		enter[n] = middle - begin;
		leave[n++] = util_clock_ns() - middle;
	} while (n < COST_MAX_REPEATS && (n < 3 || util_clock_ns() < end));
	cell->repeats = n;
	if (!n)
		return;
	cell->enter_us = cost_median_us(enter, n);
	cell->leave_us = cost_median_us(leave, n);
}

/* Why a range cannot be had; beside "no memory" stands the limit that is often meant. */
static const char *cost_why(int err, char *buf, size_t len)
{
	struct iommu_facts facts;
	char limit[24];

	iommu_probe(&facts, NULL);
	if (err == -ENOMEM && !facts.ipc_lock && facts.memlock_known &&
	    facts.memlock_soft != UINT64_MAX)
		snprintf(buf, len, "%s (the memlock limit is %s, see ulimit -l)", strerror(-err),
			 util_size_format(facts.memlock_soft, limit, sizeof(limit)));
	else
		snprintf(buf, len, "%s", strerror(-err));
	return buf;
}

static void cost_cell_json(struct report *r, const struct cost_bench *bench, uint64_t size,
			   enum memory_kind kind, const struct cost_cell *cell)
{
	char name[24], why[128];

	report_item(r, "");
	report_number(r, "size", size, "");
	report_text(r, "page", memory_name(kind));
	if (cell->err) {
		report_text(r, "error", cost_why(cell->err, why, sizeof(why)));
		report_close(r);
		return;
	}
	snprintf(name, sizeof(name), "%s_us", bench->enter_name);
	report_real(r, name, cell->enter_us, "");
	snprintf(name, sizeof(name), "%s_us", bench->leave_name);
	report_real(r, name, cell->leave_us, "");
	report_number(r, "repeats", cell->repeats, "");
	report_signed(r, "vm_pin_kb", cell->pinned_kb);
	report_signed(r, "vm_lck_kb", cell->locked_kb);
	report_signed(r, "pins", cell->pins);
	report_bool(r, "pins_exact", cell->pins_exact);
	report_close(r);
}

static void cost_cell_text(struct report *r, uint64_t size, enum memory_kind kind,
			   const struct cost_cell *cell)
{
	char text[24], why[128];

	util_size_format(size, text, sizeof(text));
	if (cell->err)
		report_line(r, "%10s %5s  %s", text, memory_name(kind),
			    cost_why(cell->err, why, sizeof(why)));
	else
		report_line(r, "%10s %5s %12.1f %12.1f %10lld %10lld %8s%lld", text,
			    memory_name(kind), cell->enter_us, cell->leave_us,
			    (long long)cell->pinned_kb, (long long)cell->locked_kb,
			    cell->pins_exact ? "" : "~", (long long)cell->pins);
}

/* Sizes that are no whole pages of a kind say nothing that a smaller page does not. */
static bool cost_makes_sense(enum memory_kind kind, uint64_t size)
{
	return kind == MEMORY_4K || size % memory_page(kind) == 0;
}

void cost_table(struct report *r, const struct cost_options *opts, const struct cost_bench *bench)
{
	report_line(r, "%10s %5s %9s us %9s us %10s %10s %8s", "size", "page", bench->enter_name,
		    bench->leave_name, "VmPin kB", "VmLck kB", "pins");
	report_list(r, "rows", "");
	for (unsigned i = 0; i < opts->sizes; i++)
		for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
			struct cost_cell cell = {0};
			struct memory m;

			if (!cost_makes_sense(kind, opts->size[i]) ||
			    memory_map(&m, kind, opts->size[i]))
				continue;
			cost_books(bench, &m, opts->size[i], kind, &cell);
			if (!cell.err)
				cost_time(bench, &m, opts->size[i], kind, &cell);
			if (report_is_json(r))
				cost_cell_json(r, bench, opts->size[i], kind, &cell);
			else
				cost_cell_text(r, opts->size[i], kind, &cell);
			memory_unmap(&m);
		}
	report_close(r);
}

/* ---- the command --------------------------------------------------------------------------- */

/* "4k,1m,64m": whole pages, up to 1 GiB. */
static bool cost_sizes(struct cost_options *opts, const char *text)
{
	char one[24];

	opts->sizes = 0;
	while (*text) {
		size_t len = strcspn(text, ",");
		uint64_t size;

		if (len == 0 || len >= sizeof(one) || opts->sizes == COST_MAX_SIZES)
			return false;
		memcpy(one, text, len);
		one[len] = '\0';
		if (util_size_parse(one, 1, &size) || size == 0 || size % 4096 ||
		    size > UINT64_C(1) << 30)
			return false;
		opts->size[opts->sizes++] = size;
		text += len;
		if (*text == ',' && !*++text)
			return false;
	}
	return opts->sizes > 0;
}

static bool cost_api(struct cost_options *opts, const char *text)
{
	opts->api = strcmp(text, "type1") ? IOMMU_VFIO_IOMMUFD : IOMMU_VFIO_TYPE1;
	return opts->api == IOMMU_VFIO_TYPE1 || !strcmp(text, "iommufd");
}

int cmd_cost(int argc, char **argv)
{
	static const struct option options[] = {
		{"fabric", required_argument, NULL, 'f'}, {"address", required_argument, NULL, 'a'},
		{"sizes", required_argument, NULL, 's'},  {"vfio", required_argument, NULL, 'v'},
		{"api", required_argument, NULL, 'i'},	  {"ios", required_argument, NULL, 'n'},
		{"json", no_argument, NULL, 'j'},	  {0},
	};
	struct cost_options opts = {0};
	int c;

	cost_sizes(&opts, "4k,64k,256k,1m,4m,16m,64m");
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (c) {
		case 'f':
			opts.fabric = optarg;
			break;
		case 'a':
			opts.address = optarg;
			break;
		case 'v':
			opts.vfio = optarg;
			break;
		case 's':
			if (!cost_sizes(&opts, optarg))
				return tool_usage("cost",
						  "--sizes %s: a list like 4k,1m,64m of at most 1g",
						  optarg);
			break;
		case 'i':
			if (!cost_api(&opts, optarg))
				return tool_usage("cost", "--api %s: type1 or iommufd", optarg);
			break;
		case 'n':
			if (!tool_number("cost", "--ios", optarg, 1, 1000000, &opts.ios))
				return TOOL_USAGE;
			break;
		case 'j':
			opts.json = true;
			break;
		default:
			return tool_option("cost", c, argv);
		}
	}
	if (optind < argc)
		return tool_usage("cost", "unexpected argument '%s'", argv[optind]);
	if (!opts.vfio && (opts.ios || opts.api != IOMMU_VFIO_AUTO))
		return tool_usage("cost", "--ios and --api go with --vfio");
	if (opts.vfio && (opts.fabric || opts.address))
		return tool_usage("cost", "--fabric and --address go without --vfio");
	opts.fabric = opts.fabric ? opts.fabric : "iwarp";
	opts.address = opts.address ? opts.address : "127.0.0.1";
	return opts.vfio ? cost_vfio(&opts) : cost_fabric(&opts);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_show.c - nfsrdma-iommu show: facts, the policy that follows from them, and advice.
 *
 * Everything comes from iommu-aware/; with --root from a copy of another machine's /sys and /proc.
 * Nothing here fails for what is missing there: a report full of unknowns is an answer.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nfsrdma-iommu/tool.h"

#define SHOW_MAX_DEVICES 64

struct show_options {
	const char *root, *device;
	bool json;
};

static void show_unit(struct report *r, const struct iommu_unit *unit)
{
	report_item(r, unit->name);
	if (report_is_json(r))
		report_text(r, "name", unit->name);
	report_text(r, "driver", unit->driver);
	if (unit->known) {
		report_hex(r, "cap", unit->cap);
		report_hex(r, "ecap", unit->ecap);
		report_bool(r, "caching_mode", unit->caching_mode);
		report_bool(r, "coherent_page_walk", unit->coherent_walk);
		report_bool(r, "superpages_2m", unit->super_2m);
		report_bool(r, "superpages_1g", unit->super_1g);
		report_bool(r, "passthrough", unit->passthrough);
		report_bool(r, "queued_invalidation", unit->queued);
		report_number(r, "address_bits", unit->address_bits, "");
		report_number(r, "domains", unit->domains, "");
	} else {
		report_null(r, "cap", "not told");
	}
	report_close(r);
}

static void show_iommu(struct report *r, const struct iommu_facts *f)
{
	static const enum iommu_domain_type types[] = {
		IOMMU_DOMAIN_IDENTITY, IOMMU_DOMAIN_DMA,     IOMMU_DOMAIN_DMA_FQ,
		IOMMU_DOMAIN_BLOCKED,  IOMMU_DOMAIN_UNKNOWN,
	};

	report_open(r, "iommu", "iommu");
	report_bool(r, "present", f->present);
	report_text(r, "driver", f->driver);
	report_text(r, "command_line", f->cmdline_iommu);
	report_number(r, "groups", f->groups, "");
	report_open(r, "groups_of_type", "groups of type");
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(types); i++)
		report_number(r, iommu_domain_name(types[i]), f->groups_of[types[i]], "");
	report_close(r);
	report_number(r, "unit_count", f->units, "");
	report_list(r, "units", "");
	for (unsigned i = 0; i < f->units && i < IOMMU_MAX_UNITS; i++)
		show_unit(r, &f->unit[i]);
	report_close(r);
	report_close(r);
}

static void show_limit(struct report *r, const char *name, bool known, uint64_t value)
{
	if (!known)
		report_null(r, name, "unknown");
	else if (value == UINT64_MAX)
		report_null(r, name, "unlimited");
	else
		report_number(r, name, value, "bytes");
}

static void show_lockers(struct report *r, const struct iommu_lockers *l)
{
	char title[80];

	report_number(r, "user", l->uid, "");
	report_number(r, "user_processes_with_pins", l->count, "");
	report_number(r, "user_pinned_kb", l->pinned_kb, "kB");
	report_number(r, "user_locked_kb", l->locked_kb, "kB");
	report_list(r, "user_processes", "");
	for (unsigned i = 0; i < l->listed; i++) {
		snprintf(title, sizeof(title), "process %d", l->locker[i].pid);
		report_item(r, title);
		if (report_is_json(r))
			report_signed(r, "pid", l->locker[i].pid);
		report_text(r, "name", l->locker[i].name);
		report_number(r, "vm_pin_kb", l->locker[i].pinned_kb, "kB");
		report_number(r, "vm_lck_kb", l->locker[i].locked_kb, "kB");
		report_close(r);
	}
	report_close(r);
}

static void show_memory(struct report *r, const struct iommu_survey *s)
{
	const struct iommu_facts *f = &s->facts;

	report_open(r, "memory", "memory");
	report_number(r, "hugepages_2m_total", f->huge_2m_total, "");
	report_number(r, "hugepages_2m_free", f->huge_2m_free, "");
	report_number(r, "hugepages_1g_total", f->huge_1g_total, "");
	report_number(r, "hugepages_1g_free", f->huge_1g_free, "");
	report_text(r, "transparent_hugepages", f->thp);
	show_limit(r, "memlock_soft", f->memlock_known, f->memlock_soft);
	show_limit(r, "memlock_hard", f->memlock_known, f->memlock_hard);
	report_bool(r, "memlock_binds", !f->ipc_lock && f->memlock_soft != UINT64_MAX);
	if (s->pins.foll_pin_known) {
		report_number(r, "pins_acquired", s->pins.foll_pin_acquired, "");
		report_number(r, "pins_released", s->pins.foll_pin_released, "");
	} else {
		report_null(r, "pins_acquired", "not counted");
		report_null(r, "pins_released", "not counted");
	}
	show_lockers(r, &s->lockers);
	report_close(r);
}

/* One row of the distance table, as numactl prints it. */
static void show_distances(struct report *r, const struct iommu_numa *numa, unsigned from)
{
	char text[IOMMU_MAX_NODES * 4 + 1], *p = text;

	for (unsigned to = 0; to < IOMMU_MAX_NODES; to++)
		if (numa->distance[from][to])
			p += sprintf(p, "%s%u", p > text ? " " : "", numa->distance[from][to]);
	*p = '\0';
	report_text(r, "distances", text);
}

static void show_numa(struct report *r, const struct iommu_survey *s)
{
	const struct iommu_numa *numa = &s->numa;
	char title[24];

	report_open(r, "numa", "numa");
	report_number(r, "nodes", s->facts.nodes, "");
	report_list(r, "node", "");
	for (unsigned node = 0; node < IOMMU_MAX_NODES; node++) {
		if (!((numa->memory | numa->threads) >> node & 1) && !numa->distance[node][node])
			continue;
		snprintf(title, sizeof(title), "node %u", node);
		report_item(r, title);
		if (report_is_json(r))
			report_number(r, "id", node, "");
		report_bool(r, "memory", numa->memory >> node & 1);
		report_bool(r, "threads_allowed", numa->threads >> node & 1);
		show_distances(r, numa, node);
		report_close(r);
	}
	report_close(r);
	report_close(r);
}

static void show_machine(struct report *r, const struct iommu_facts *f)
{
	report_open(r, "machine", "machine");
	report_text(r, "kernel", f->kernel);
	report_text(r, "command_line", f->cmdline);
	report_number(r, "cpus", f->cpus, "");
	report_text(r, "cpu_vendor", f->cpu_vendor);
	report_bool(r, "guest", f->guest);
	report_close(r);
}

static void show_advice(struct report *r, const struct iommu_survey *s,
			const struct iommu_device *dev, const struct iommu_geometry *geo)
{
	struct iommu_advice advice[IOMMU_MAX_ADVICE];
	unsigned count = iommu_advise(advice, s, dev, geo);
	char title[80];

	report_list(r, "advice", count ? "advice" : "");
	for (unsigned i = 0; i < count; i++) {
		const char *level = advice[i].level == IOMMU_ADVICE_WARN ? "warn" : "note";

		snprintf(title, sizeof(title), "%s %s", level, advice[i].id);
		report_item(r, title);
		if (report_is_json(r)) {
			report_text(r, "id", advice[i].id);
			report_text(r, "level", level);
		}
		report_text(r, "fact", advice[i].fact);
		report_text(r, "consequence", advice[i].consequence);
		report_text(r, "remedy", advice[i].remedy);
		report_text(r, "source", advice[i].source);
		report_close(r);
	}
	report_close(r);
}

/* What holds whichever device is used. */
static void show_general(struct report *r, const struct iommu_survey *s)
{
	struct iommu_geometry geo;

	iommu_policy_geometry(&geo, &s->facts, NULL, 0);
	show_advice(r, s, NULL, &geo);
}

/* ---- a device ----------------------------------------------------------------------------- */

static void show_policy(struct report *r, const struct iommu_geometry *geo,
			const struct iommu_device *dev)
{
	struct iommu_batching batching;

	iommu_policy_batching(&batching, dev);
	report_open(r, "policy", "policy");
	report_number(r, "page_size", geo->page_size, "bytes");
	report_number(r, "slab_size", geo->slab_size, "bytes");
	if (geo->node < 0)
		report_null(r, "node", "any");
	else
		report_signed(r, "node", geo->node);
	report_text(r, "why", geo->why);
	report_number(r, "invalidations_batch", batching.most, "");
	report_number(r, "invalidations_wait", batching.hold_ns, "ns");
	report_text(r, "invalidations_why", batching.why);
	report_close(r);
}

static void show_device_facts(struct report *r, const struct iommu_device *dev)
{
	report_text(r, "kind", dev->rdma ? "rdma" : "network");
	report_bool(r, "bus_device_found", dev->found);
	report_text(r, "rides_on", dev->rides_on);
	report_text(r, "pci", dev->pci);
	report_text(r, "driver", dev->driver);
	report_text(r, "iommu_unit", dev->unit);
	report_text(r, "domain", iommu_domain_name(dev->domain));
	if (dev->group < 0)
		report_null(r, "group", "none");
	else
		report_signed(r, "group", dev->group);
	if (dev->node < 0)
		report_null(r, "node", "unknown");
	else
		report_signed(r, "node", dev->node);
	if (dev->link_bps)
		report_number(r, "link_bps", dev->link_bps, "bit/s");
	else
		report_null(r, "link_bps", "unknown");
	if (dev->relaxed_ordering < 0)
		report_null(r, "relaxed_ordering", "unknown (root can see it)");
	else
		report_bool(r, "relaxed_ordering", dev->relaxed_ordering);
}

static void show_device(struct report *r, const struct iommu_survey *s, const char *name,
			const char *root)
{
	struct iommu_geometry geo;
	struct iommu_device dev;
	char title[96];

	iommu_probe_device(&dev, name, root);
	iommu_policy_geometry(&geo, &s->facts, &dev, 0);
	snprintf(title, sizeof(title), "device %s", dev.name);
	report_item(r, title);
	if (report_is_json(r))
		report_text(r, "name", dev.name);
	show_device_facts(r, &dev);
	show_policy(r, &geo, &dev);
	show_advice(r, s, &dev, &geo);
	report_close(r);
}

static void show_devices(struct report *r, const struct iommu_survey *s,
			 const struct show_options *opts)
{
	char names[SHOW_MAX_DEVICES][IOMMU_NAME_MAX];
	unsigned count = 0;

	if (!opts->device)
		count = iommu_list_devices(names, SHOW_MAX_DEVICES, opts->root);
	report_list(r, "devices", "");
	if (opts->device)
		show_device(r, s, opts->device, opts->root);
	for (unsigned i = 0; i < count; i++)
		show_device(r, s, names[i], opts->root);
	report_close(r);
}

static int show_run(const struct show_options *opts)
{
	struct report *r = report_begin(stdout, opts->json, "nfsrdma-iommu-show/1");
	struct iommu_survey survey;
	struct util_err err = {0};
	int ret;

	if (!r)
		return 1;
	iommu_probe_survey(&survey, opts->root);
	show_machine(r, &survey.facts);
	show_iommu(r, &survey.facts);
	show_memory(r, &survey);
	show_numa(r, &survey);
	show_general(r, &survey);
	show_devices(r, &survey, opts);
	ret = report_end(r);
	if (!ret)
		return 0;
	util_err_set(&err, ret, "write the report: %s", strerror(-ret));
	return tool_fail("show", &err);
}

int cmd_show(int argc, char **argv)
{
	static const struct option options[] = {
		{"root", required_argument, NULL, 'r'},
		{"device", required_argument, NULL, 'd'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	struct show_options opts = {0};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (c) {
		case 'r':
			opts.root = optarg;
			break;
		case 'd':
			opts.device = optarg;
			break;
		case 'j':
			opts.json = true;
			break;
		default:
			return tool_option("show", c, argv);
		}
	}
	if (optind < argc)
		return tool_usage("show", "unexpected argument '%s'", argv[optind]);
	return show_run(&opts);
}

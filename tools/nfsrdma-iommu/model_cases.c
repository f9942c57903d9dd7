/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_cases.c - the other published cases: four ways in which an IOMMU, or pins, cost what nobody
 * expected.
 *
 * The figures are the data's; what happened, which counter of ours shows it and the command that
 * does the same at small scale are written here.  Each figure is also given per operation, and
 * against the first of its setup and metric, because that is what can be compared elsewhere.
 */
#include <string.h>

#include "tools/nfsrdma-iommu/model_tables.h"
#include "util/util.h"

struct model_case {
	const char *source, *name; /* source: as the data's begins */
	const char *what, *counter, *command;
};

static const struct model_case cases[] = {
	{
		.source = "gup-pin-tracking",
		.name = "pins per I/O against pins once",
		.what = "Direct I/O pins its pages for each I/O; a patch made each pin dearer.",
		.counter = "ledger: registrations and pages_charged per I/O (0 in mr=pool); pins "
			   "of nfsrdma-iommu watch",
		.command = "nfsrdma-bench --sweep mr=pool,per-io -i0 -i2 -+n -s16m -r4k -t1",
	},
	{
		.source = "iova-lock-contention",
		.name = "addresses and flush queue under one lock",
		.what = "Each map took a bus address from a tree under a lock, each unmap put it "
			"into a queue under another; the second was left alone with 0.29 of the "
			"rate.",
		.counter = "nfsrdma-iommu iova: of control, magazine over tree",
		.command = "nfsrdma-iommu iova --threads 2",
	},
	{
		.source = "ice-strict-vs-fq",
		.name = "strict against lazy",
		.what = "A driver's domain became strict by accident: each unmap waited for its "
			"invalidation.",
		.counter = "domain in nfsrdma-iommu show; ledger: iommu_flushes per I/O (1 in "
			   "strict, 0 in lazy)",
		.command = "nfsrdma-bench -o fabric=iwarp,mr=per-io,iommu-inval-ns=2000 --sweep "
			   "iommu=off,lazy,strict -i0 -i2 -+n -s16m -r4k -t1",
	},
	{
		.source = "remote-numa-unmap",
		.name = "local against remote node",
		.what = "The same I/O from the CPU of another node than the device's; never fully "
			"explained.",
		.counter = "numa in the bench's results; advice device-on-other-node of "
			   "nfsrdma-iommu show",
		.command = "tests/vm/run.sh iommu-numa",
	},
};

/* The first with the same source, setup and metric: what a figure is held against. */
static const struct iommu_model_figure *case_first(const struct iommu_model_cases *all, unsigned i)
{
	const struct iommu_model_figure *f = &all->figure[i], *first = all->figure;

	while (strcmp(first->source, f->source) || strcmp(first->setup, f->setup) ||
	       strcmp(first->metric, f->metric))
		first++;
	return first;
}

static void case_figure(struct report *r, const struct iommu_model_figure *f, double ratio)
{
	double us = iommu_model_figure_us(f);

	if (!report_is_json(r)) {
		report_line(r, "  %12.1f %-7s %8.3f us %5.2f  %s; %s", f->value, f->unit, us, ratio,
			    f->variant, f->setup);
		return;
	}
	report_item(r, "");
	report_text(r, "setup", f->setup);
	report_text(r, "variant", f->variant);
	report_text(r, "metric", f->metric);
	report_real(r, "value", f->value, "");
	report_text(r, "unit", f->unit);
	if (us > 0)
		report_real(r, "us_per_operation", us, "");
	else
		report_null(r, "us_per_operation", "-");
	report_real(r, "of_first", ratio, "");
	report_close(r);
}

static void case_figures(struct report *r, const struct iommu_model_cases *all,
			 const struct model_case *c)
{
	report_list(r, "figures", "published, per operation (of a bandwidth: 4 KiB), of the first");
	for (unsigned i = 0; i < all->figures; i++)
		if (!strncmp(all->figure[i].source, c->source, strlen(c->source)))
			case_figure(r, &all->figure[i],
				    all->figure[i].value / case_first(all, i)->value);
	report_close(r);
}

void model_cases(struct report *r)
{
	struct iommu_model_cases all;

	if (iommu_model_cases_parse(&all, iommu_model_cases_csv, strlen(iommu_model_cases_csv),
				    NULL))
		return;
	report_line(r, "%s", "");
	report_list(r, "cases", "other published cases");
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		report_item(r, cases[i].name);
		if (report_is_json(r))
			report_text(r, "name", cases[i].name);
		report_text(r, "source", cases[i].source);
		report_text(r, "what", cases[i].what);
		case_figures(r, &all, &cases[i]);
		report_text(r, "counter", cases[i].counter);
		report_text(r, "command", cases[i].command);
		report_close(r);
	}
	report_close(r);
}

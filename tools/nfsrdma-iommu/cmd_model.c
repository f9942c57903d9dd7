/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_model.c - nfsrdma-iommu model: throughput from what maps cost, against published figures.
 *
 * Four tables: the parameters with where each comes from, the published rows with what the model
 * makes of them, predictions (model_predictions.c), and the other published cases (model_cases.c).
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nfsrdma-iommu/model_tables.h"

/* ---- parameters ----------------------------------------------------------------------------- */

static void model_parameter(struct report *r, const char *name, double value, const char *unit,
			    const char *source)
{
	if (!report_is_json(r)) {
		report_line(r, "%-20s %12.3f %-8s %s", name, value, unit, source);
		return;
	}
	report_item(r, "");
	report_text(r, "name", name);
	report_real(r, "value", value, "");
	report_text(r, "unit", unit);
	report_text(r, "source", source);
	report_close(r);
}

static void model_parameters(struct report *r, const struct iommu_model_fit *fit,
			     const struct model_options *opts)
{
	static const struct {
		const char *name, *unit;
	} free_ones[IOMMU_MODEL_PARAMETERS] = {
		{"read_delay", "us"}, {"write_delay", "us"}, {"page_extra", "us/page"}};
	const struct model_costs *costs = &opts->costs;
	char source[160];

	report_list(r, "parameters", "parameters");
	for (unsigned i = 0; i < IOMMU_MODEL_PARAMETERS; i++) {
		const struct iommu_model_estimate *e = &fit->parameter[i];

		snprintf(source, sizeof(source),
			 "fitted; %.3f to %.3f by either row alone; 10 %% more is %.1f %% "
			 "throughput",
			 e->low, e->high, e->slope_pct);
		model_parameter(r, free_ones[i].name, e->value, free_ones[i].unit, source);
	}
	model_parameter(r, "map_before", IOMMU_MODEL_MAP_BEFORE_US, "us",
			"published: traced, a map of 30 pages");
	model_parameter(r, "map_after", IOMMU_MODEL_MAP_AFTER_US, "us",
			"published: traced; not in the fit");
	model_parameter(r, "fdr_link", IOMMU_MODEL_LINK_BPS / 1e9, "Gbit/s",
			"FDR 4x: 56.25 Gbit/s, 64 of 66 bits");
	model_parameter(r, "cpu", IOMMU_MODEL_CPU_US, "us",
			"published: CPU time per record; not in the fit, a floor of the delays");
	model_parameter(r, "map_call", costs->us.map_call_us, "us", costs->map_source);
	model_parameter(r, "map_page", costs->us.map_page_us, "us/page", costs->map_source);
	model_parameter(r, "register_call", costs->us.register_call_us, "us",
			costs->register_source);
	model_parameter(r, "register_page", costs->us.register_page_us, "us/page",
			costs->register_source);
	model_parameter(r, "invalidation", costs->us.inval_us, "us",
			opts->inval_given ? "given: --inval-us"
					  : "not known: 0, strict is an upper bound");
	report_close(r);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void model_rows(struct report *r, const struct iommu_model_figures *figures)
{
	report_line(r, "%s", "");
	report_list(r, "rows", "published rows, kB/s");
	report_line(r, "%-14s %-16s %10s %10s %8s  %s", "kernel", "test", "published", "predicted",
		    "error %", "role");
	for (unsigned i = 0; i < figures->rows; i++) {
		const struct iommu_model_row *row = &figures->row[i];

		if (!report_is_json(r)) {
			report_line(r, "%-14s %-16s %10.0f %10.0f %+8.1f  %s", row->kernel,
				    row->test, row->published_kBps, row->predicted_kBps,
				    row->error_pct, iommu_model_role_names[row->role]);
			continue;
		}
		report_item(r, "");
		report_text(r, "kernel_commit", row->kernel);
		report_text(r, "test", row->test);
		report_real(r, "published_kBps", row->published_kBps, "");
		report_real(r, "predicted_kBps", row->predicted_kBps, "");
		report_real(r, "error_pct", row->error_pct, "");
		report_text(r, "role", iommu_model_role_names[row->role]);
		report_close(r);
	}
	report_close(r);
}

int cmd_model(int argc, char **argv)
{
	struct iommu_model_figures figures;
	struct model_options opts;
	struct iommu_model_fit fit;
	struct util_err err = {0};
	struct report *r;
	int ret = model_options_parse(&opts, &figures, argc, argv);

	if (ret)
		return ret;
	if (iommu_model_fit(&fit, &figures, &err))
		return tool_usage("model", "figures: %s", err.what);
	r = report_begin(stdout, opts.json, "nfsrdma-iommu-model/1");
	if (!r) {
		util_err_set(&err, -ENOMEM, "out of memory");
		return tool_fail("model", &err);
	}
	if (!opts.cases_alone) {
		model_parameters(r, &fit, &opts);
		model_rows(r, &figures);
		model_predictions(r, &fit, &figures, &opts);
	}
	model_cases(r);
	ret = report_end(r);
	if (!ret)
		return 0;
	util_err_set(&err, ret, "write the report: %s", strerror(-ret));
	return tool_fail("model", &err);
}

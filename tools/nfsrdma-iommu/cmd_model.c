/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_model.c - nfsrdma-iommu model: throughput from what maps cost, against published figures.
 *
 * Three tables: the parameters with where each comes from, the published rows with what the model
 * makes of them, and predictions: of the traced map costs alone, of the mended kernel, and of every
 * policy and mode for the threads, record and link that were asked for.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "iommu-aware/iommu.h"
#include "tools/nfsrdma-iommu/model_options.h"

/* One line of the predictions.  Published 0: nobody measured it. */
struct prediction {
	const char *name, *policy, *mode, *note;
	bool write;
	struct iommu_model_load load;
	uint64_t record;
	double delay_low_us, delay_high_us; /* of which the truth is somewhere between */
	double published_kBps;
};

/* What the model makes of it, in kB/s. */
struct outcome {
	double kBps, low, high, bound, error_pct;
	const char *bound_by;
};

static double model_at(const struct prediction *p, double delay_us)
{
	struct iommu_model_load load = p->load;

	load.delay_us = delay_us;
	return iommu_model_rate(&load, p->record);
}

static void model_prediction_json(struct report *r, const struct prediction *p,
				  const struct outcome *o)
{
	report_item(r, "");
	report_text(r, "name", p->name);
	report_text(r, "direction", p->write ? "write" : "read");
	report_text(r, "policy", p->policy);
	report_text(r, "mode", p->mode);
	report_number(r, "threads", p->load.threads, "");
	report_number(r, "record", p->record, "");
	report_real(r, "link_us", p->load.link_us, "");
	report_real(r, "maps_us", p->load.maps_us, "");
	report_real(r, "delay_us", p->load.delay_us, "");
	report_real(r, "predicted_kBps", o->kBps, "");
	report_real(r, "low_kBps", o->low, "");
	report_real(r, "high_kBps", o->high, "");
	report_real(r, "bound_kBps", o->bound, "");
	report_text(r, "bound_by", o->bound_by);
	if (p->published_kBps > 0) {
		report_real(r, "published_kBps", p->published_kBps, "");
		report_real(r, "error_pct", o->error_pct, "");
	} else {
		report_null(r, "published_kBps", "-");
		report_null(r, "error_pct", "-");
	}
	report_text(r, "note", p->note);
	report_close(r);
}

static void model_prediction_text(struct report *r, const struct prediction *p,
				  const struct outcome *o)
{
	char error[16] = "";

	if (p->published_kBps > 0)
		snprintf(error, sizeof(error), "%+.1f", o->error_pct);
	report_line(r, "%-24s %-5s %-11s %-6s %9.0f %9.0f-%-9.0f %9.0f %-7s %9.0f %6s %s", p->name,
		    p->write ? "write" : "read", p->policy, p->mode, o->kBps, o->low, o->high,
		    o->bound, o->bound_by, p->published_kBps, error, p->note);
}

static void model_predict(struct report *r, const struct prediction *p)
{
	struct outcome o = {
		.kBps = iommu_model_rate(&p->load, p->record),
		.low = model_at(p, p->delay_high_us),
		.high = model_at(p, p->delay_low_us),
	};

	o.bound = iommu_model_bound(&p->load, p->record, &o.bound_by);
	if (p->published_kBps > 0)
		o.error_pct = (o.kBps / p->published_kBps - 1) * 100;
	if (report_is_json(r))
		model_prediction_json(r, p, &o);
	else
		model_prediction_text(r, p, &o);
}

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
	model_parameter(r, "map_call", opts->costs.map_call_us, "us", opts->costs_source);
	model_parameter(r, "map_page", opts->costs.map_page_us, "us/page", opts->costs_source);
	model_parameter(r, "register_call", opts->costs.register_call_us, "us", opts->costs_source);
	model_parameter(r, "register_page", opts->costs.register_page_us, "us/page",
			opts->costs_source);
	model_parameter(r, "invalidation", opts->costs.inval_us, "us",
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

/* ---- predictions ---------------------------------------------------------------------------- */

/* What was published of the first test in that direction, by a kernel that counts; 0: nothing. */
static double model_published(const struct iommu_model_figures *figures, bool write,
			      bool page_by_page)
{
	for (unsigned i = 0; i < figures->rows; i++) {
		const struct iommu_model_row *row = &figures->row[i];

		if (row->role != IOMMU_MODEL_EXCLUDED && row->write == write &&
		    row->page_by_page == page_by_page)
			return row->published_kBps;
	}
	return 0;
}

/* What the traced costs say by themselves: before and after, nothing fitted. */
static void model_traced(struct report *r, const struct iommu_model_figures *figures)
{
	static const struct {
		const char *name;
		double map_us;
		bool page_by_page;
	} kernels[] = {
		{"traced, before", IOMMU_MODEL_MAP_BEFORE_US, false},
		{"traced, after", IOMMU_MODEL_MAP_AFTER_US, true},
	};

	for (unsigned i = 0; i < 2 * UTIL_ARRAY_SIZE(kernels); i++) {
		struct prediction p = {.name = kernels[i / 2].name,
				       .policy = "as then",
				       .mode = "per-io",
				       .note = "map costs, link and CPU alone",
				       .write = i % 2,
				       .record = IOMMU_MODEL_RECORD};

		p.load.threads = IOMMU_MODEL_THREADS;
		p.load.link_us = iommu_model_link_us(IOMMU_MODEL_LINK_BPS, p.record);
		p.load.maps_us = kernels[i / 2].map_us * IOMMU_MODEL_RECORD / IOMMU_MODEL_PAGE /
				 IOMMU_MODEL_MAP_PAGES;
		p.load.delay_us = p.delay_low_us = p.delay_high_us = IOMMU_MODEL_CPU_US;
		p.published_kBps = model_published(figures, p.write, kernels[i / 2].page_by_page);
		model_predict(r, &p);
	}
}

/* The mended kernel maps in one call again; and what that machine would do without maps. */
static void model_machine(struct report *r, const struct iommu_model_fit *fit)
{
	for (unsigned i = 0; i < 4; i++) {
		struct prediction p = {.name = i < 2 ? "933fcd01e97e2" : "that machine, pool",
				       .policy = i < 2 ? "as then" : "any",
				       .mode = i < 2 ? "per-io" : "pool",
				       .note = i < 2 ? "the mend, as before the regression"
						     : "no maps",
				       .write = i % 2,
				       .record = IOMMU_MODEL_RECORD};

		iommu_model_fit_load(fit, p.write, false, &p.load);
		p.delay_low_us = p.delay_high_us = p.load.delay_us;
		if (i < 2)
			p.published_kBps = p.write ? 4.43e6 : 5.87e6;
		else
			p.load.maps_us = 0;
		model_predict(r, &p);
	}
}

/*
 * Only one size of record was published, so how much of a delay grows with it is not known: none of
 * it and all of it but the CPU's floor are the two ends.
 */
static void model_asked(struct report *r, const struct iommu_model_fit *fit,
			const struct model_options *opts, const unsigned what[3])
{
	struct prediction p = {.name = "as asked",
			       .policy = iommu_model_policy_names[what[0]],
			       .mode = iommu_model_mode_names[what[1]],
			       .write = what[2],
			       .record = opts->record,
			       .note = ""};
	double known, scaled, own;

	iommu_model_fit_load(fit, p.write, false, &p.load);
	known = p.load.delay_us;
	scaled = known * (double)opts->record / IOMMU_MODEL_RECORD;
	if (scaled < IOMMU_MODEL_CPU_US)
		scaled = IOMMU_MODEL_CPU_US;
	own = iommu_model_register_us(&opts->costs, opts->record, what[1]);
	p.delay_low_us = own + (scaled < known ? scaled : known);
	p.delay_high_us = own + (scaled < known ? known : scaled);
	p.load.threads = (unsigned)opts->threads;
	p.load.delay_us = own + scaled;
	p.load.link_us = iommu_model_link_us(opts->link_bps, opts->record);
	p.load.maps_us = iommu_model_maps_us(&opts->costs, opts->record, what[0], what[1]);
	if (what[0] == IOMMU_MODEL_STRICT && what[1] == IOMMU_MODEL_PER_IO && !opts->inval_given)
		p.note = "at most: --inval-us not given";
	model_predict(r, &p);
}

static void model_predictions(struct report *r, const struct iommu_model_fit *fit,
			      const struct iommu_model_figures *figures,
			      const struct model_options *opts)
{
	unsigned what[3];

	report_line(r, "%s", "");
	report_list(r, "predictions", "predictions, kB/s");
	report_line(r, "%-24s %-5s %-11s %-6s %9s %9s-%-9s %9s %-7s %9s %6s", "what", "", "policy",
		    "mode", "predicted", "low", "high", "bound", "by", "published", "error%");
	model_traced(r, figures);
	model_machine(r, fit);
	for (what[0] = 0; what[0] < IOMMU_MODEL_POLICIES; what[0]++)
		for (what[1] = 0; what[1] < IOMMU_MODEL_MODES; what[1]++)
			for (what[2] = 0; what[2] < 2; what[2]++)
				if ((opts->policies >> what[0] & 1) && (opts->modes >> what[1] & 1))
					model_asked(r, fit, opts, what);
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
	model_parameters(r, &fit, &opts);
	model_rows(r, &figures);
	model_predictions(r, &fit, &figures, &opts);
	ret = report_end(r);
	if (!ret)
		return 0;
	util_err_set(&err, ret, "write the report: %s", strerror(-ret));
	return tool_fail("model", &err);
}

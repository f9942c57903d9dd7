/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_predictions.c - what the model says beyond the rows it was fitted to: of the traced map
 * costs alone, of the mended kernel, of that machine without maps, and of every policy and mode for
 * the threads, record and link that were asked for.
 */
#include <string.h>

#include "tools/nfsrdma-iommu/model_tables.h"
#include "util/util.h"

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
	char published[16] = "-", error[16] = "-";

	if (p->published_kBps > 0) {
		snprintf(published, sizeof(published), "%.0f", p->published_kBps);
		snprintf(error, sizeof(error), "%+.1f", o->error_pct);
	}
	report_line(r, "%-24s %-5s %-11s %-6s %9.0f %9.0f-%-9.0f %9.0f %-7s %9s %6s %s", p->name,
		    p->write ? "write" : "read", p->policy, p->mode, o->kBps, o->low, o->high,
		    o->bound, o->bound_by, published, error, p->note);
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

/* ---- which ones ----------------------------------------------------------------------------- */

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

/* The mended kernel maps in one call again; its name and figures are the data's. */
static void model_mend(struct report *r, const struct iommu_model_fit *fit)
{
	struct iommu_model_cases mend;

	if (iommu_model_cases_parse(&mend, iommu_model_mend_csv, strlen(iommu_model_mend_csv),
				    NULL))
		return;
	for (unsigned i = 0; i < mend.figures; i++) {
		const struct iommu_model_figure *f = &mend.figure[i];
		struct prediction p = {.name = f->variant,
				       .policy = "as then",
				       .mode = "per-io",
				       .note = "the mend, as before the regression",
				       .write = !strcmp(f->metric, "write"),
				       .record = IOMMU_MODEL_RECORD,
				       .published_kBps = f->value};

		if (!p.write && strcmp(f->metric, "read"))
			continue;
		iommu_model_fit_load(fit, p.write, false, &p.load);
		p.delay_low_us = p.delay_high_us = p.load.delay_us;
		model_predict(r, &p);
	}
}

/* A delay less all that registering can have been in it. */
static double model_without_registering(double delay_us)
{
	return delay_us > IOMMU_MODEL_CPU_US ? delay_us - IOMMU_MODEL_CPU_US : 0;
}

/* What the machine of the figures would do without maps.  Registering stays in its delay. */
static void model_pool(struct report *r, const struct iommu_model_fit *fit)
{
	for (unsigned i = 0; i < 2; i++) {
		struct prediction p = {.name = "that machine, pool",
				       .policy = "any",
				       .mode = "pool",
				       .note = "no maps",
				       .write = i,
				       .record = IOMMU_MODEL_RECORD};

		iommu_model_fit_load(fit, p.write, false, &p.load);
		p.load.maps_us = 0;
		p.delay_high_us = p.load.delay_us;
		p.delay_low_us = model_without_registering(p.load.delay_us);
		model_predict(r, &p);
	}
}

static const char *model_note(const struct model_options *opts, unsigned policy, unsigned mode)
{
	if (mode != IOMMU_MODEL_PER_IO)
		return "";
	if (opts->costs.maps_within)
		return "maps are within registering, whatever the policy";
	return policy == IOMMU_MODEL_STRICT && !opts->inval_given ? "at most: --inval-us not given"
								  : "";
}

static void model_asked(struct report *r, const struct iommu_model_fit *fit,
			const struct model_options *opts, const unsigned what[3])
{
	struct prediction p = {.name = "as asked",
			       .policy = iommu_model_policy_names[what[0]],
			       .mode = iommu_model_mode_names[what[1]],
			       .note = model_note(opts, what[0], what[1]),
			       .write = what[2],
			       .record = opts->record};
	struct iommu_model_span delay;

	iommu_model_fit_load(fit, p.write, false, &p.load);
	iommu_model_delay(&delay, p.load.delay_us,
			  iommu_model_register_us(&opts->costs.us, opts->record), opts->record,
			  what[1]);
	p.load.delay_us = delay.value;
	p.delay_low_us = delay.low;
	if (what[1] != IOMMU_MODEL_PER_IO && !opts->costs.registers_measured)
		p.delay_low_us = model_without_registering(delay.low);
	p.delay_high_us = delay.high;
	p.load.threads = (unsigned)opts->threads;
	p.load.link_us = iommu_model_link_us(opts->link_bps, opts->record);
	p.load.maps_us = iommu_model_maps_us(&opts->costs.us, opts->record, what[0], what[1]);
	model_predict(r, &p);
}

void model_predictions(struct report *r, const struct iommu_model_fit *fit,
		       const struct iommu_model_figures *figures, const struct model_options *opts)
{
	unsigned what[3];

	report_line(r, "%s", "");
	report_list(r, "predictions", "predictions, kB/s");
	report_line(r, "%-24s %-5s %-11s %-6s %9s %9s-%-9s %9s %-7s %9s %6s", "what", "", "policy",
		    "mode", "predicted", "low", "high", "bound", "by", "published", "error%");
	model_traced(r, figures);
	model_mend(r, fit);
	model_pool(r, fit);
	for (what[0] = 0; what[0] < IOMMU_MODEL_POLICIES; what[0]++)
		for (what[1] = 0; what[1] < IOMMU_MODEL_MODES; what[1]++)
			for (what[2] = 0; what[2] < 2; what[2]++)
				if ((opts->policies >> what[0] & 1) && (opts->modes >> what[1] & 1))
					model_asked(r, fit, opts, what);
	report_close(r);
}

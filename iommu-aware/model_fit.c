/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_fit.c - three parameters from three cells of the published table.
 *
 * Throughput falls as any parameter grows, so each is found by bisection: first the delay of either
 * direction from the kernel that maps a list in one call, then what page by page adds, from the
 * READs of the kernel that does so.  The WRITEs of that kernel are not looked at; they are the
 * test.
 */
#include <errno.h>
#include <string.h>

#include "iommu-aware/model.h"
#include "util/util.h"

#define MODEL_MOST_US 1e5
#define MODEL_STEPS 100

static const struct {
	const char *name;
	bool write, page_by_page; /* the cell that determines it */
} cells[IOMMU_MODEL_PARAMETERS] = {
	[IOMMU_MODEL_READ_DELAY] = {"READ of a kernel that maps in one call", false, false},
	[IOMMU_MODEL_WRITE_DELAY] = {"WRITE of a kernel that maps in one call", true, false},
	[IOMMU_MODEL_PAGE_EXTRA] = {"READ of a kernel that maps page by page", false, true},
};

void iommu_model_fit_load(const struct iommu_model_fit *fit, bool write, bool page_by_page,
			  struct iommu_model_load *load)
{
	const double pages = (double)IOMMU_MODEL_RECORD / IOMMU_MODEL_PAGE;
	double page_us = IOMMU_MODEL_MAP_BEFORE_US / IOMMU_MODEL_MAP_PAGES;

	if (page_by_page)
		page_us += fit->parameter[IOMMU_MODEL_PAGE_EXTRA].value;
	load->threads = IOMMU_MODEL_THREADS;
	load->delay_us =
		fit->parameter[write ? IOMMU_MODEL_WRITE_DELAY : IOMMU_MODEL_READ_DELAY].value;
	load->link_us = iommu_model_link_us(IOMMU_MODEL_LINK_BPS, IOMMU_MODEL_RECORD);
	load->maps_us = pages * page_us;
}

static double model_predict(const struct iommu_model_fit *fit, bool write, bool page_by_page)
{
	struct iommu_model_load load;

	iommu_model_fit_load(fit, write, page_by_page, &load);
	return iommu_model_rate(&load, IOMMU_MODEL_RECORD);
}

/* The value at which the model gives published on average, or one below 0 or at the most there is.
 */
static double model_solve(const struct iommu_model_fit *fit, unsigned which, double kBps)
{
	struct iommu_model_fit trial = *fit;
	double low = 0, high = MODEL_MOST_US;

	trial.parameter[which].value = 0;
	if (model_predict(&trial, cells[which].write, cells[which].page_by_page) < kBps)
		return -1;
	for (unsigned i = 0; i < MODEL_STEPS; i++) {
		double middle = (low + high) / 2;

		trial.parameter[which].value = middle;
		if (model_predict(&trial, cells[which].write, cells[which].page_by_page) > kBps)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool model_decides(const struct iommu_model_row *row, unsigned which)
{
	return row->role == IOMMU_MODEL_FITTED && row->write == cells[which].write &&
	       row->page_by_page == cells[which].page_by_page;
}

static int model_estimate(struct iommu_model_fit *fit, unsigned which,
			  const struct iommu_model_figures *figures, struct util_err *err)
{
	struct iommu_model_estimate *e = &fit->parameter[which];
	struct iommu_model_fit more;
	double inverse = 0, most = 0, least = 0, before;
	unsigned rows = 0;

	for (unsigned i = 0; i < figures->rows; i++) {
		double kBps = figures->row[i].published_kBps;

		if (!model_decides(&figures->row[i], which))
			continue;
		/* sum(m / p - 1) = 0 where m = rows / sum(1 / p) */
		inverse += 1 / kBps;
		most = kBps > most ? kBps : most;
		least = !rows++ || kBps < least ? kBps : least;
	}
	if (!rows)
		return util_err_set(err, -EINVAL, "no row for %s", cells[which].name);
	e->value = model_solve(fit, which, rows / inverse);
	e->low = model_solve(fit, which, most);
	e->high = model_solve(fit, which, least);
	if (e->value < 0 || e->value > MODEL_MOST_US * 0.999)
		return util_err_set(err, -ERANGE, "%s: %.0f kB/s is beyond what the model can give",
				    cells[which].name, rows / inverse);
	if (e->low < 0)
		e->low = 0;
	more = *fit;
	more.parameter[which].value *= 1.1;
	before = model_predict(fit, cells[which].write, cells[which].page_by_page);
	e->slope_pct =
		(model_predict(&more, cells[which].write, cells[which].page_by_page) / before - 1) *
		100;
	return 0;
}

int iommu_model_fit(struct iommu_model_fit *fit, struct iommu_model_figures *figures,
		    struct util_err *err)
{
	memset(fit, 0, sizeof(*fit));
	for (unsigned which = 0; which < IOMMU_MODEL_PARAMETERS; which++) {
		int ret = model_estimate(fit, which, figures, err);

		if (ret)
			return ret;
	}
	for (unsigned i = 0; i < figures->rows; i++) {
		struct iommu_model_row *row = &figures->row[i];

		row->predicted_kBps = model_predict(fit, row->write, row->page_by_page);
		row->error_pct = (row->predicted_kBps / row->published_kBps - 1) * 100;
	}
	return 0;
}

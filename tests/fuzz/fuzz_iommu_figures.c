/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_iommu_figures.c - tables of published figures that say anything.
 *
 * The first byte picks the parser.  What is taken over is positive, bounded, terminated and
 * printable; a fit of it gives finite numbers or refuses; what is refused names its line.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "iommu-aware/model.h"
#include "tests/fuzz/fuzz.h"
#include "util/util.h"

static void check_text(const char *text, size_t room)
{
	size_t len = strnlen(text, room);

	FUZZ_CHECK(len > 0 && len < room);
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(isprint((unsigned char)text[i]));
}

static void rows(const char *text, size_t len)
{
	struct iommu_model_figures figures;
	struct iommu_model_fit fit;
	struct util_err err = {0};

	if (iommu_model_figures_parse(&figures, text, len, &err)) {
		FUZZ_CHECK(!strncmp(err.what, "line ", 5));
		return;
	}
	FUZZ_CHECK(figures.rows <= IOMMU_MODEL_MAX_ROWS);
	for (unsigned i = 0; i < figures.rows; i++)
		FUZZ_CHECK(figures.row[i].published_kBps > 0);
	if (iommu_model_fit(&fit, &figures, &err)) {
		FUZZ_CHECK(err.what[0]);
		return;
	}
	for (unsigned i = 0; i < IOMMU_MODEL_PARAMETERS; i++)
		FUZZ_CHECK(isfinite(fit.parameter[i].value) && fit.parameter[i].value >= 0);
	for (unsigned i = 0; i < figures.rows; i++)
		FUZZ_CHECK(isfinite(figures.row[i].error_pct) && figures.row[i].predicted_kBps > 0);
}

static void cases(const char *text, size_t len)
{
	struct iommu_model_cases all;
	struct util_err err = {0};

	if (iommu_model_cases_parse(&all, text, len, &err)) {
		FUZZ_CHECK(!strncmp(err.what, "line ", 5));
		return;
	}
	FUZZ_CHECK(all.figures <= IOMMU_MODEL_MAX_FIGURES);
	for (unsigned i = 0; i < all.figures; i++) {
		const struct iommu_model_figure *f = &all.figure[i];

		check_text(f->source, sizeof(f->source));
		check_text(f->setup, sizeof(f->setup));
		check_text(f->variant, sizeof(f->variant));
		check_text(f->metric, sizeof(f->metric));
		check_text(f->unit, sizeof(f->unit));
		FUZZ_CHECK(f->value > 0 && isfinite(iommu_model_figure_us(f)));
	}
}

FUZZ_TARGET(iommu_figures)
{
	if (size == 0)
		return 0;
	if (data[0] & 1)
		cases((const char *)data + 1, size - 1);
	else
		rows((const char *)data + 1, size - 1);
	return 0;
}

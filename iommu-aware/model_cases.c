/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_cases.c - the other published figures: the texts compiled in, and their parser.
 *
 * A line is source,setup,variant,metric,value,unit; a field in double quotes may hold commas.  What
 * comes out is printable and terminated, whatever went in.
 */
#include <errno.h>
#include <string.h>

#include "iommu-aware/model.h"
#include "iommu-aware/model_text.h"
#include "util/util.h"

const char iommu_model_cases_csv[] =
#include "iommu-aware/model_cases.inc"
	;

const char iommu_model_mend_csv[] =
#include "iommu-aware/model_mend.inc"
	;

/* The next field, without its quotes; false: a quote that does not end before a comma. */
static bool case_field(struct model_text *line, struct model_text *fieldp)
{
	if (line->at == line->end || *line->at != '"') {
		*fieldp = iommu_model_text_cut(line, ',');
		return true;
	}
	line->at++;
	if (!memchr(line->at, '"', (size_t)(line->end - line->at)))
		return false;
	*fieldp = iommu_model_text_cut(line, '"');
	return line->at == line->end || *line->at++ == ',';
}

/* NULL, or what is wrong with the line. */
static const char *case_figure(struct iommu_model_figure *f, struct model_text line)
{
	const struct {
		char *to;
		size_t room;
	} words[] = {{f->source, sizeof(f->source)},
		     {f->setup, sizeof(f->setup)},
		     {f->variant, sizeof(f->variant)},
		     {f->metric, sizeof(f->metric)}};
	struct model_text field;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(words); i++)
		if (!case_field(&line, &field) ||
		    !iommu_model_text_copy(field, words[i].to, words[i].room))
			return "a field is empty, too long or not printable";
	if (!case_field(&line, &field) || !iommu_model_text_positive(field, &f->value))
		return "value is no positive number";
	if (!case_field(&line, &field) || !iommu_model_text_copy(field, f->unit, sizeof(f->unit)))
		return "unit is empty, too long or not printable";
	return line.at == line.end ? NULL : "more than six fields";
}

int iommu_model_cases_parse(struct iommu_model_cases *cases, const char *text, size_t len,
			    struct util_err *err)
{
	struct model_text all = {text, text + len}, line;
	const char *wrong;
	unsigned number;

	memset(cases, 0, sizeof(*cases));
	if (!iommu_model_text_is(iommu_model_text_line(&all),
				 "source,setup,variant,metric,value,unit"))
		return util_err_set(err, -EINVAL,
				    "line 1: is not source,setup,variant,metric,value,unit");
	for (number = 2; all.at < all.end; number++) {
		line = iommu_model_text_line(&all);
		if (line.at == line.end)
			continue;
		if (cases->figures == IOMMU_MODEL_MAX_FIGURES)
			return util_err_set(err, -EINVAL, "line %u: more than %d figures", number,
					    IOMMU_MODEL_MAX_FIGURES);
		wrong = case_figure(&cases->figure[cases->figures], line);
		if (wrong)
			return util_err_set(err, -EINVAL, "line %u: %s", number, wrong);
		cases->figures++;
	}
	return 0;
}

double iommu_model_figure_us(const struct iommu_model_figure *figure)
{
	static const struct {
		char unit[8];
		double of; /* operations are 1 of these, or 4 KiB in them */
	} units[] = {{"IOPS", 1}, {"1/s", 1}, {"MiB/s", 1.0 / 256}, {"Mbit/s", 4096 * 8 / 1e6}};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(units); i++)
		if (!strcmp(figure->unit, units[i].unit))
			return units[i].of / figure->value * 1e6;
	return 0;
}

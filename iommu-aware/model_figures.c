/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_figures.c - published figures: the text compiled in, and the parser for anybody's.
 *
 * Each role is given by kernel and direction, before any fit, never by how well a row turns out.
 * Readers and re-readers of one kernel are twins, so a cell of both is held out as a whole.
 */
#include <errno.h>
#include <string.h>

#include "iommu-aware/model.h"
#include "iommu-aware/model_text.h"
#include "util/util.h"

const char iommu_model_cx3_csv[] =
#include "iommu-aware/model_cx3.inc"
	;

const char *const iommu_model_role_names[IOMMU_MODEL_ROLES] = {"fitted", "held-out", "excluded"};

static const struct {
	char commit[16];
	bool page_by_page;
	enum iommu_model_role read, write;
} kernels[] = {
	{"65f746e8285f", false, IOMMU_MODEL_FITTED, IOMMU_MODEL_FITTED},
	{"c062db039f40", false, IOMMU_MODEL_EXCLUDED, IOMMU_MODEL_EXCLUDED},
	{"c588072bba6b", true, IOMMU_MODEL_FITTED, IOMMU_MODEL_HELD_OUT},
};

static const struct {
	char name[20];
	bool write;
} tests[] = {
	{"initial writers", true},
	{"rewriters", true},
	{"readers", false},
	{"re-readers", false},
};

/* One line of data; NULL, or what is wrong with it. */
static const char *model_row(struct iommu_model_row *row, struct model_text line)
{
	struct model_text kernel = iommu_model_text_cut(&line, ','),
			  test = iommu_model_text_cut(&line, ',');
	size_t k = 0, t = 0;

	while (k < UTIL_ARRAY_SIZE(kernels) && !iommu_model_text_is(kernel, kernels[k].commit))
		k++;
	while (t < UTIL_ARRAY_SIZE(tests) && !iommu_model_text_is(test, tests[t].name))
		t++;
	if (k == UTIL_ARRAY_SIZE(kernels))
		return "a kernel that the model does not know";
	if (t == UTIL_ARRAY_SIZE(tests))
		return "a test that the model does not know";
	if (!iommu_model_text_positive(iommu_model_text_cut(&line, ','), &row->published_kBps))
		return "children_kBps is no positive number";
	memcpy(row->kernel, kernels[k].commit, sizeof(row->kernel));
	memcpy(row->test, tests[t].name, sizeof(row->test));
	row->write = tests[t].write;
	row->page_by_page = kernels[k].page_by_page;
	row->role = row->write ? kernels[k].write : kernels[k].read;
	return NULL;
}

int iommu_model_figures_parse(struct iommu_model_figures *figures, const char *text, size_t len,
			      struct util_err *err)
{
	static const char columns[] = "kernel_commit,test,children_kBps";
	struct model_text all = {text, text + len}, line = iommu_model_text_cut(&all, '\n');
	unsigned number = 1;

	memset(figures, 0, sizeof(*figures));
	if ((size_t)(line.end - line.at) < strlen(columns) ||
	    memcmp(line.at, columns, strlen(columns)))
		return util_err_set(err, -EINVAL, "line 1: does not begin with %s", columns);
	while (all.at < all.end) {
		const char *wrong;

		line = iommu_model_text_line(&all);
		number++;
		if (line.at == line.end)
			continue;
		if (figures->rows == IOMMU_MODEL_MAX_ROWS)
			return util_err_set(err, -EINVAL, "line %u: more than %d rows", number,
					    IOMMU_MODEL_MAX_ROWS);
		wrong = model_row(&figures->row[figures->rows], line);
		if (wrong)
			return util_err_set(err, -EINVAL, "line %u: %s", number, wrong);
		figures->rows++;
	}
	return 0;
}

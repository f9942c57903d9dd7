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

/* What is left of a line, cut from the left. */
struct model_text {
	const char *at, *end;
};

static struct model_text model_cut(struct model_text *from, char by)
{
	struct model_text part = {from->at, from->end};
	const char *found = memchr(from->at, by, (size_t)(from->end - from->at));

	part.end = found ? found : from->end;
	from->at = found ? found + 1 : from->end;
	return part;
}

static bool model_is(struct model_text text, const char *word)
{
	size_t len = (size_t)(text.end - text.at);

	return len == strlen(word) && !memcmp(text.at, word, len);
}

/* "4732581.09": digits and at most one point, positive, below 1e12. */
static bool model_positive(struct model_text text, double *valuep)
{
	double value = 0, unit = 1;
	bool point = false;

	if (text.end - text.at > 20)
		return false;
	for (; text.at < text.end; text.at++) {
		if (*text.at == '.' && !point) {
			point = true;
			continue;
		}
		if (*text.at < '0' || *text.at > '9')
			return false;
		value = value * 10 + (*text.at - '0');
		unit *= point ? 10 : 1;
	}
	*valuep = value / unit;
	return *valuep > 0 && *valuep < 1e12;
}

/* One line of data; NULL, or what is wrong with it. */
static const char *model_row(struct iommu_model_row *row, struct model_text line)
{
	struct model_text kernel = model_cut(&line, ','), test = model_cut(&line, ',');
	size_t k = 0, t = 0;

	while (k < UTIL_ARRAY_SIZE(kernels) && !model_is(kernel, kernels[k].commit))
		k++;
	while (t < UTIL_ARRAY_SIZE(tests) && !model_is(test, tests[t].name))
		t++;
	if (k == UTIL_ARRAY_SIZE(kernels))
		return "a kernel that the model does not know";
	if (t == UTIL_ARRAY_SIZE(tests))
		return "a test that the model does not know";
	if (!model_positive(model_cut(&line, ','), &row->published_kBps))
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
	struct model_text all = {text, text + len}, line = model_cut(&all, '\n');
	unsigned number = 1;

	memset(figures, 0, sizeof(*figures));
	if ((size_t)(line.end - line.at) < strlen(columns) ||
	    memcmp(line.at, columns, strlen(columns)))
		return util_err_set(err, -EINVAL, "line 1: does not begin with %s", columns);
	while (all.at < all.end) {
		const char *wrong;

		line = model_cut(&all, '\n');
		number++;
		if (line.end > line.at && line.end[-1] == '\r')
			line.end--;
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

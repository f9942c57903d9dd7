/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_costs.c - measured costs: a line through the sizes of a document of nfsrdma-iommu cost.
 *
 * A call and its pages, by least squares of the *relative* errors: sizes go from 4 KiB to 64 MiB,
 * and a line through the times as they are would be the largest size's alone.  Neither part is
 * below 0.
 */
#include "tools/nfsrdma-iommu/model_costs.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "util/util.h"

#define COSTS_MOST_PAGES 1e9
#define COSTS_MOST_US 1e9

/* Sums over rows, each weighted with 1 / y^2. */
struct costs_sums {
	double n, w, wx, wy, wxx, wxy, first_x;
	bool several; /* more than one size */
};

static void costs_add(struct costs_sums *s, double x, double y)
{
	double w = 1 / (y * y);

	if (s->n > 0 && (x > s->first_x || x < s->first_x))
		s->several = true;
	s->first_x = s->n > 0 ? s->first_x : x;
	s->n++;
	s->w += w;
	s->wx += w * x;
	s->wy += w * y;
	s->wxx += w * x * x;
	s->wxy += w * x * y;
}

/* False: there are no two sizes that tell calls from pages. */
static bool costs_line(const struct costs_sums *s, double *callp, double *pagep)
{
	double det = s->w * s->wxx - s->wx * s->wx, page, call;

	if (!s->several || !(det > 1e-9 * s->w * s->wxx))
		return false;
	page = (s->w * s->wxy - s->wx * s->wy) / det;
	call = (s->wy - page * s->wx) / s->w;
	if (page < 0) {
		page = 0;
		call = s->wy / s->w;
	} else if (call < 0) {
		call = 0;
		page = s->wxy / s->wxx;
	}
	*callp = call;
	*pagep = page;
	return true;
}

/* A row of 4 KiB pages with both times counts; false: one that cannot be. */
static bool costs_row(struct costs_sums *s, const json_t *row, const char *const keys[2])
{
	const char *page = json_string_value(json_object_get(row, "page"));
	const json_t *enter = json_object_get(row, keys[0]);
	const json_t *leave = json_object_get(row, keys[1]);
	double x = json_number_value(json_object_get(row, "size")) / IOMMU_MODEL_PAGE;
	double y = json_number_value(enter) + json_number_value(leave);

	if (!page || strcmp(page, "4k") || !json_is_number(enter) || !json_is_number(leave))
		return true;
	if (!(x >= 1 && x <= COSTS_MOST_PAGES && y >= 1e-6 && y <= COSTS_MOST_US))
		return false;
	costs_add(s, x, y);
	return true;
}

/* 1: the document has them; 0: it does not. */
static int costs_of(const json_t *rows, const char *const keys[2], double *callp, double *pagep,
		    struct util_err *err)
{
	struct costs_sums s = {0};
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (!costs_row(&s, row, keys))
			return util_err_set(err, -EINVAL, "row %zu: no such size or time", i + 1);
	}
	return costs_line(&s, callp, pagep);
}

static int costs_document(struct model_costs *costs, const json_t *doc, struct util_err *err)
{
	static const char *const map[2] = {"map_us", "unmap_us"};
	static const char *const reg[2] = {"register_us", "release_us"};
	const char *schema = json_string_value(json_object_get(doc, "schema"));
	const json_t *rows = json_object_get(doc, "rows");
	int maps, registers;

	if (!schema || strcmp(schema, "nfsrdma-iommu-cost/1"))
		return util_err_set(err, -EINVAL, "not written by nfsrdma-iommu cost --json");
	maps = costs_of(rows, map, &costs->us.map_call_us, &costs->us.map_page_us, err);
	if (maps < 0)
		return maps;
	registers =
		costs_of(rows, reg, &costs->us.register_call_us, &costs->us.register_page_us, err);
	if (registers < 0)
		return registers;
	if (!maps && !registers)
		return util_err_set(err, -EINVAL, "no two sizes with 4k pages");
	if (maps)
		costs->map_source = "measured: --costs, by VFIO, which pins as well";
	if (registers)
		costs->register_source = "measured: --costs";
	costs->registers_measured |= registers;
	costs->maps_within |= registers && json_is_true(json_object_get(doc, "maps_included"));
	if (costs->maps_within) {
		costs->us.map_call_us = costs->us.map_page_us = 0;
		costs->map_source = "within registering, which was measured behind this IOMMU";
	}
	return 0;
}

void model_costs_published(struct model_costs *costs)
{
	*costs = (struct model_costs){
		.us.map_page_us = IOMMU_MODEL_MAP_BEFORE_US / IOMMU_MODEL_MAP_PAGES,
		.map_source = "published: map_before by the page",
		.register_source = "not known: 0, or within the delays",
	};
}

int model_costs_read(struct model_costs *costs, const char *path, struct util_err *err)
{
	json_error_t error;
	json_t *doc = json_load_file(path, 0, &error);
	int ret;

	if (!doc)
		return util_err_set(err, -EINVAL, "%s", error.text);
	ret = costs_document(costs, doc, err);
	json_decref(doc);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_options.c - the options of nfsrdma-iommu model, and the files they name.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nfsrdma-iommu/model_options.h"

#define MODEL_FIGURES_MAX (64 * 1024)
#define MODEL_RECORD_MAX (UINT64_C(1) << 30)

/* "54.5": digits, at most one point, within [0, most]. */
static bool model_decimal(const char *text, double most, double *valuep)
{
	char *end;

	if (!text[0] || strspn(text, "0123456789.") != strlen(text))
		return false;
	*valuep = strtod(text, &end);
	return !*end && *valuep <= most;
}

static bool model_name(const char *text, const char *const *names, unsigned count, unsigned *bitsp)
{
	if (!strcmp(text, "all")) {
		*bitsp = (1U << count) - 1;
		return true;
	}
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(text, names[i])) {
			*bitsp = 1U << i;
			return true;
		}
	return false;
}

static int model_figures_file(struct iommu_model_figures *figures, const char *path)
{
	char text[MODEL_FIGURES_MAX + 1];
	struct util_err err = {0};
	FILE *in = fopen(path, "re");
	size_t len;
	bool bad;

	if (!in)
		return tool_usage("model", "--figures %s: %s", path, strerror(errno));
	len = fread(text, 1, sizeof(text), in);
	bad = ferror(in);
	fclose(in);
	if (bad)
		return tool_usage("model", "--figures %s: cannot be read", path);
	if (len > MODEL_FIGURES_MAX)
		return tool_usage("model", "--figures %s: larger than %d bytes", path,
				  MODEL_FIGURES_MAX);
	if (iommu_model_figures_parse(figures, text, len, &err))
		return tool_usage("model", "--figures %s: %s", path, err.what);
	return 0;
}

/* ---- --costs: a document of nfsrdma-iommu cost ----------------------------------------------- */

/* Least squares of us over pages, from the rows with small pages; false: fewer than two. */
static bool model_line(const json_t *rows, const char *const keys[2], double *callp, double *pagep)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *page = json_string_value(json_object_get(row, "page"));
		const json_t *enter = json_object_get(row, keys[0]);
		const json_t *leave = json_object_get(row, keys[1]);
		double x = json_number_value(json_object_get(row, "size")) / IOMMU_MODEL_PAGE;
		double y = json_number_value(enter) + json_number_value(leave);

		if (!page || strcmp(page, "4k") || !json_is_number(enter) ||
		    !json_is_number(leave) || x < 1 || y < 0)
			continue;
		n++;
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
	}
	if (n < 2 || n * sxx - sx * sx <= 0)
		return false;
	*pagep = (n * sxy - sx * sy) / (n * sxx - sx * sx);
	*pagep = *pagep > 0 ? *pagep : 0;
	*callp = (sy - *pagep * sx) / n;
	*callp = *callp > 0 ? *callp : 0;
	return true;
}

static int model_costs_file(struct model_options *opts, const char *path)
{
	static const char *const map[2] = {"map_us", "unmap_us"};
	static const char *const reg[2] = {"register_us", "release_us"};
	json_error_t error;
	json_t *doc = json_load_file(path, 0, &error);
	const char *schema = json_string_value(json_object_get(doc, "schema"));
	const json_t *rows = json_object_get(doc, "rows");
	int ret = 0;

	if (!doc)
		ret = tool_usage("model", "--costs %s: %s", path, error.text);
	else if (!schema || strcmp(schema, "nfsrdma-iommu-cost/1"))
		ret = tool_usage("model", "--costs %s: not written by nfsrdma-iommu cost --json",
				 path);
	else if (model_line(rows, map, &opts->costs.map_call_us, &opts->costs.map_page_us) ||
		 model_line(rows, reg, &opts->costs.register_call_us,
			    &opts->costs.register_page_us))
		opts->costs_source = "measured: --costs; what it does not have is published or 0";
	else
		ret = tool_usage("model", "--costs %s: no two sizes with 4k pages", path);
	json_decref(doc);
	return ret;
}

/* ---- the options ---------------------------------------------------------------------------- */

static int model_option(struct model_options *opts, struct iommu_model_figures *figures, int c)
{
	double value;

	switch (c) {
	case 'f':
		return model_figures_file(figures, optarg);
	case 'c':
		return model_costs_file(opts, optarg);
	case 't':
		return tool_number("model", "--threads", optarg, 1, IOMMU_MODEL_MAX_THREADS,
				   &opts->threads)
			       ? 0
			       : TOOL_USAGE;
	case 'r':
		if (util_size_parse(optarg, 1024, &opts->record) || opts->record < 1024 ||
		    opts->record > MODEL_RECORD_MAX)
			return tool_usage("model", "--record %s: a size from 1k to 1g", optarg);
		return 0;
	case 'l':
		if (!model_decimal(optarg, 1e4, &value) || value < 0.001)
			return tool_usage("model", "--link %s: data rate in Gbit/s, to 10000",
					  optarg);
		opts->link_bps = value * 1e9;
		return 0;
	case 'i':
		opts->inval_given = model_decimal(optarg, 1e6, &opts->costs.inval_us);
		return opts->inval_given
			       ? 0
			       : tool_usage("model", "--inval-us %s: microseconds", optarg);
	case 'p':
		return model_name(optarg, iommu_model_policy_names, IOMMU_MODEL_POLICIES,
				  &opts->policies)
			       ? 0
			       : tool_usage("model",
					    "--policy %s: off, passthrough, lazy, strict or all",
					    optarg);
	case 'm':
		return model_name(optarg, iommu_model_mode_names, IOMMU_MODEL_MODES, &opts->modes)
			       ? 0
			       : tool_usage("model", "--mode %s: pool, window, per-io or all",
					    optarg);
	default:
		opts->json = true;
		return 0;
	}
}

int model_options_parse(struct model_options *opts, struct iommu_model_figures *figures, int argc,
			char **argv)
{
	static const struct option options[] = {
		{"figures", required_argument, NULL, 'f'},
		{"costs", required_argument, NULL, 'c'},
		{"threads", required_argument, NULL, 't'},
		{"record", required_argument, NULL, 'r'},
		{"link", required_argument, NULL, 'l'},
		{"inval-us", required_argument, NULL, 'i'},
		{"policy", required_argument, NULL, 'p'},
		{"mode", required_argument, NULL, 'm'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	int c, ret;

	*opts = (struct model_options){
		.threads = IOMMU_MODEL_THREADS,
		.record = IOMMU_MODEL_RECORD,
		.link_bps = IOMMU_MODEL_LINK_BPS,
		.policies = (1U << IOMMU_MODEL_POLICIES) - 1,
		.modes = (1U << IOMMU_MODEL_MODES) - 1,
		.costs.map_page_us = IOMMU_MODEL_MAP_BEFORE_US / IOMMU_MODEL_MAP_PAGES,
		.costs_source = "published: map_before a page; the rest is not known: 0",
	};
	iommu_model_figures_parse(figures, iommu_model_cx3_csv, strlen(iommu_model_cx3_csv), NULL);
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return tool_usage("model", "%s: %s", argv[optind - 1],
					  c == ':' ? "needs a value" : "unknown option");
		ret = model_option(opts, figures, c);
		if (ret)
			return ret;
	}
	if (optind < argc)
		return tool_usage("model", "unexpected argument '%s'", argv[optind]);
	return 0;
}

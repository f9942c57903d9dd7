/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_options.c - the options of nfsrdma-iommu model, and the files they name.
 */
#include <errno.h>
#include <getopt.h>
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

static int model_costs_file(struct model_options *opts, const char *path)
{
	struct util_err err = {0};

	if (model_costs_read(&opts->costs, path, &err))
		return tool_usage("model", "--costs %s: %s", path, err.what);
	return 0;
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
		opts->inval_given = model_decimal(optarg, 1e6, &opts->costs.us.inval_us);
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
	case 'C':
		opts->cases_alone = true;
		return 0;
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
		{"cases", no_argument, NULL, 'C'},
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
	};
	model_costs_published(&opts->costs);
	iommu_model_figures_parse(figures, iommu_model_cx3_csv, strlen(iommu_model_cx3_csv), NULL);
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return tool_option("model", c, argv);
		ret = model_option(opts, figures, c);
		if (ret)
			return ret;
	}
	if (optind < argc)
		return tool_usage("model", "unexpected argument '%s'", argv[optind]);
	return 0;
}

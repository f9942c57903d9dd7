/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_options.h - what nfsrdma-iommu model is asked.
 */
#ifndef NFSRDMA_IOMMU_MODEL_OPTIONS_H
#define NFSRDMA_IOMMU_MODEL_OPTIONS_H

#include "tools/nfsrdma-iommu/model_costs.h"
#include "tools/nfsrdma-iommu/tool.h"

struct model_options {
	uint64_t threads, record; /* record in bytes */
	double link_bps;
	unsigned policies, modes; /* a bit each */
	struct model_costs costs;
	bool inval_given, cases_alone, json;
};

/* 0, or the exit status after one line on stderr. */
int model_options_parse(struct model_options *opts, struct iommu_model_figures *figures, int argc,
			char **argv);

#endif

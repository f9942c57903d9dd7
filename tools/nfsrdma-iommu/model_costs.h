/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_costs.h - what maps and registrations cost, from documents of nfsrdma-iommu cost.
 */
#ifndef NFSRDMA_IOMMU_MODEL_COSTS_H
#define NFSRDMA_IOMMU_MODEL_COSTS_H

#include <stdbool.h>

#include "iommu-aware/iommu.h"

struct model_costs {
	struct iommu_model_costs us;
	const char *map_source, *register_source;
	bool registers_measured;
	bool maps_within; /* registering was measured behind a translating IOMMU: it maps as well */
};

/* What is known without a measurement: a map, as it was traced before the regression. */
void model_costs_published(struct model_costs *costs);
/*
 * Take over what the document at path has: maps, or registrations.  -EINVAL and err: it cannot be
 * read, is no such document, or has no two sizes.
 */
int model_costs_read(struct model_costs *costs, const char *path, struct util_err *err);

#endif

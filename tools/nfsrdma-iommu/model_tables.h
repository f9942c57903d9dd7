/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_tables.h - the tables of nfsrdma-iommu model.
 */
#ifndef NFSRDMA_IOMMU_MODEL_TABLES_H
#define NFSRDMA_IOMMU_MODEL_TABLES_H

#include "tools/nfsrdma-iommu/model_options.h"

void model_predictions(struct report *r, const struct iommu_model_fit *fit,
		       const struct iommu_model_figures *figures, const struct model_options *opts);
/* The other published figures, what they mean, and what shows the same here. */
void model_cases(struct report *r);

#endif

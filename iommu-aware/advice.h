/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice.h - what the rules of advice are made with; advice*.c only.
 *
 * A rule looks at the facts and adds one piece of advice or none.  Rules know nothing of each
 * other, so each can be read, tested and disputed alone.
 */
#ifndef NFSRDMA_IOMMU_ADVICE_H
#define NFSRDMA_IOMMU_ADVICE_H

#include "iommu-aware/internal.h"

struct iommu_advisor {
	const struct iommu_survey *survey;
	const struct iommu_facts *facts; /* survey's */
	const struct iommu_device *dev;	 /* NULL: the machine */
	const struct iommu_geometry *geo;
	struct iommu_advice *advice;
	unsigned count;
};

/* A fresh piece of advice with its fact; a spare one that nobody sees when there are too many. */
struct iommu_advice *iommu_advice_add(struct iommu_advisor *a, enum iommu_advice_level level,
				      const char *id, const char *fmt, ...) UTIL_PRINTF(4, 5);

#define IOMMU_ADVICE_TEXT(field, ...) snprintf(field, sizeof(field), __VA_ARGS__)

/* The device's DMA goes through page tables. */
static inline bool iommu_advisor_translated(const struct iommu_advisor *a)
{
	return a->dev &&
	       (a->dev->domain == IOMMU_DOMAIN_DMA || a->dev->domain == IOMMU_DOMAIN_DMA_FQ);
}

/* The unit in front of the device; without knowing which, the first that is known. */
const struct iommu_unit *iommu_advisor_unit(const struct iommu_advisor *a);

/* Of a device. */
void iommu_advise_domain(struct iommu_advisor *a);	/* advice_domain.c */
void iommu_advise_passthrough(struct iommu_advisor *a); /* advice_options.c */
void iommu_advise_node(struct iommu_advisor *a);	/* advice_memory.c */
/* Of the machine. */
void iommu_advise_options(struct iommu_advisor *a);
void iommu_advise_memory(struct iommu_advisor *a);

#endif

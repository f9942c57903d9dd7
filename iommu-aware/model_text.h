/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_text.h - hostile text cut into lines and fields, for the parsers of published figures.
 */
#ifndef NFSRDMA_IOMMU_MODEL_TEXT_H
#define NFSRDMA_IOMMU_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* What is left of a text, cut from the left. */
struct model_text {
	const char *at, *end;
};

/* What stands before the first of these bytes, which goes as well; without one, all of it. */
struct model_text iommu_model_text_cut(struct model_text *from, char by);
/* The same for a line, without its "\r". */
struct model_text iommu_model_text_line(struct model_text *from);
bool iommu_model_text_is(struct model_text text, const char *word);
/* Terminated; false: empty, no room, or not printable. */
bool iommu_model_text_copy(struct model_text text, char *to, size_t room);
/* "4732581.09": digits and at most one point, positive, below 1e12. */
bool iommu_model_text_positive(struct model_text text, double *valuep);

#endif

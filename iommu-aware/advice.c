/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice.c - from facts to words: what was found, what follows, what to do, who says so.
 *
 * The rules are in three files, by what they look at: the device's domain and its IOMMU, the words
 * of the command line against what became of them, memory and nodes.  Pure: everything was gathered
 * before.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "iommu-aware/advice.h"

struct iommu_advice *iommu_advice_add(struct iommu_advisor *a, enum iommu_advice_level level,
				      const char *id, const char *fmt, ...)
{
	/* One more than callers see takes what does not fit. */
	struct iommu_advice *advice = &a->advice[a->count];
	va_list ap;

	if (a->count < IOMMU_MAX_ADVICE)
		a->count++;
	memset(advice, 0, sizeof(*advice));
	advice->id = id;
	advice->level = level;
	va_start(ap, fmt);
	vsnprintf(advice->fact, sizeof(advice->fact), fmt, ap);
	va_end(ap);
	return advice;
}

const struct iommu_unit *iommu_advisor_unit(const struct iommu_advisor *a)
{
	const struct iommu_facts *f = a->facts;
	const struct iommu_unit *first = NULL;

	for (unsigned i = 0; i < f->units && i < IOMMU_MAX_UNITS; i++) {
		if (!f->unit[i].known)
			continue;
		if (a->dev && a->dev->unit[0] && !strcmp(a->dev->unit, f->unit[i].name))
			return &f->unit[i];
		if (!first)
			first = &f->unit[i];
	}
	return first;
}

/* Warnings first, each kind in the order of its rules. */
static unsigned iommu_advice_sort(struct iommu_advice *to, const struct iommu_advice *from,
				  unsigned count)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++)
		if (from[i].level == IOMMU_ADVICE_WARN)
			to[n++] = from[i];
	for (unsigned i = 0; i < count; i++)
		if (from[i].level == IOMMU_ADVICE_NOTE)
			to[n++] = from[i];
	return n;
}

unsigned iommu_advise(struct iommu_advice advice[IOMMU_MAX_ADVICE],
		      const struct iommu_survey *survey, const struct iommu_device *dev,
		      const struct iommu_geometry *geo)
{
	struct iommu_advice made[IOMMU_MAX_ADVICE + 1];
	struct iommu_advisor a = {
		.survey = survey,
		.facts = &survey->facts,
		.dev = dev,
		.geo = geo,
		.advice = made,
	};

	if (dev) {
		iommu_advise_domain(&a);
		iommu_advise_passthrough(&a);
		iommu_advise_node(&a);
	} else {
		iommu_advise_options(&a);
		iommu_advise_memory(&a);
	}
	return iommu_advice_sort(advice, made, a.count);
}

/* Append what is a warning; returns how many there are then. */
unsigned iommu_warnings_add(struct iommu_advice advice_out[IOMMU_MAX_ADVICE], unsigned have,
			    const struct iommu_survey *survey, const struct iommu_device *dev)
{
	struct iommu_advice advice[IOMMU_MAX_ADVICE];
	struct iommu_geometry geo;
	unsigned count;

	iommu_policy_geometry(&geo, &survey->facts, dev, 0);
	count = iommu_advise(advice, survey, dev, &geo);
	for (unsigned i = 0; i < count && have < IOMMU_MAX_ADVICE; i++)
		if (advice[i].level == IOMMU_ADVICE_WARN)
			advice_out[have++] = advice[i];
	return have;
}

unsigned iommu_warnings(struct iommu_advice advice[IOMMU_MAX_ADVICE], const char *device,
			const char *root)
{
	struct iommu_survey survey;
	struct iommu_device dev;
	unsigned count;

	iommu_probe_survey(&survey, root);
	count = iommu_warnings_add(advice, 0, &survey, NULL);
	if (!device || !device[0])
		return count;
	iommu_probe_device(&dev, device, root);
	return iommu_warnings_add(advice, count, &survey, &dev);
}

static void iommu_advice_log(const struct util_log *log, const struct iommu_advice *advice,
			     unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		util_log(log, UTIL_LOG_INFO, "%s: %s: %s", advice[i].id, advice[i].fact,
			 advice[i].remedy);
}

void iommu_warnings_log(const struct util_log *log, const char *device)
{
	struct iommu_advice advice[IOMMU_MAX_ADVICE];

	if (log->fn && log->level >= UTIL_LOG_INFO)
		iommu_advice_log(log, advice, iommu_warnings(advice, device, NULL));
}

void iommu_warnings_log_device(const struct util_log *log, const char *device)
{
	struct iommu_advice advice[IOMMU_MAX_ADVICE];
	struct iommu_survey survey;
	struct iommu_device dev;

	if (!log->fn || log->level < UTIL_LOG_INFO)
		return;
	iommu_probe_survey(&survey, NULL);
	iommu_probe_device(&dev, device, NULL);
	iommu_advice_log(log, advice, iommu_warnings_add(advice, 0, &survey, &dev));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice_options.c - advice from the kernel command line, held against what became of it.
 *
 * The command line never concludes anything, but it says what somebody believed.  Three beliefs go
 * wrong in public reports: an option that the kernel does not know (it says nothing about it), one
 * that another overrides, and an IOMMU that is not there at all.
 */
#include <stdio.h>
#include <string.h>

#include "iommu-aware/advice.h"

static const char iommu_src_parameters[] = "Linux admin-guide/kernel-parameters.txt";

struct iommu_noop {
	char word[24]; /* as people write it */
	char only[12]; /* with this IOMMU driver alone; "": all */
	char why[96];
	char instead[96];
};

/* Words that are accepted in silence and do nothing. */
static const struct iommu_noop iommu_noops[] = {
	{"amd_iommu=pt", "", "amd_iommu= knows no pt", "iommu=pt or iommu.passthrough=1"},
	{"amd_iommu=on", "", "amd_iommu= knows no on: it is on unless off is asked for",
	 "nothing: leave it out"},
	{"intel_iommu=pt", "", "intel_iommu= knows no pt", "intel_iommu=on iommu=pt"},
	{"iommu=strict", "", "iommu= knows no strict on x86", "iommu.strict=1"},
	{"iommu=lazy", "", "iommu= knows no lazy", "iommu.strict=0"},
	{"iommu=on", "", "iommu= knows no on",
	 "intel_iommu=on on Intel; nothing on AMD, where it is the default"},
	{"intel_iommu=on", "amd", "intel_iommu= is not for this machine's IOMMU",
	 "nothing: it is the default here"},
	{"iommu=pt", "smmu", "iommu= is x86's", "iommu.passthrough=1"},
	{"amd_iommu=off", "intel", "amd_iommu= is not for this machine's IOMMU", "intel_iommu=off"},
};

static bool iommu_cmdline_has(const char *cmdline, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = cmdline; *p; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		if (!strncmp(p, word, len) && (p[len] == ' ' || p[len] == '\0' || p[len] == ','))
			return true;
	}
	return false;
}

static bool iommu_asked_passthrough(const struct iommu_facts *f)
{
	static const char words[][24] = {"iommu=pt", "iommu.passthrough=1", "amd_iommu=pt",
					 "intel_iommu=pt"};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(words); i++)
		if (iommu_cmdline_has(f->cmdline, words[i]))
			return true;
	return false;
}

static void iommu_advise_noops(struct iommu_advisor *a)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(iommu_noops); i++) {
		const struct iommu_noop *noop = &iommu_noops[i];
		struct iommu_advice *advice;

		if (!iommu_cmdline_has(a->facts->cmdline, noop->word) ||
		    (noop->only[0] && strcmp(noop->only, a->facts->driver)))
			continue;
		advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "option-does-nothing",
					  "the kernel was booted with %s", noop->word);
		IOMMU_ADVICE_TEXT(advice->consequence, "it does nothing: %s", noop->why);
		IOMMU_ADVICE_TEXT(advice->remedy, "%s", noop->instead);
		IOMMU_ADVICE_TEXT(advice->source, "%s", iommu_src_parameters);
	}
}

void iommu_advise_passthrough(struct iommu_advisor *a)
{
	struct iommu_advice *advice;

	if (!iommu_advisor_translated(a) || !iommu_asked_passthrough(a->facts))
		return;
	advice = iommu_advice_add(
		a, IOMMU_ADVICE_WARN, "passthrough-not-effective",
		"passthrough was asked for (%s), and %s is in a domain of type %s",
		a->facts->cmdline_iommu, a->dev->name, iommu_domain_name(a->dev->domain));
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "its DMA is translated: what is measured here is not passthrough");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "iommu=pt (x86) or iommu.passthrough=1; if that is there already, the "
			  "group was switched at run time or its device is one the kernel does not "
			  "trust: unbind its driver and echo identity "
			  ">/sys/kernel/iommu_groups/%d/type",
			  a->dev->group);
	IOMMU_ADVICE_TEXT(advice->source, "/sys/kernel/iommu_groups/%d/type against /proc/cmdline",
			  a->dev->group);
}

/* Asked to translate, and there is nothing that could. */
static void iommu_advise_absent(struct iommu_advisor *a)
{
	struct iommu_advice *advice;

	if (a->facts->present || (!iommu_cmdline_has(a->facts->cmdline, "intel_iommu=on") &&
				  !iommu_cmdline_has(a->facts->cmdline, "iommu=force")))
		return;
	advice = iommu_advice_add(a, IOMMU_ADVICE_WARN, "iommu-absent",
				  "an IOMMU was asked for (%s), and there is no group",
				  a->facts->cmdline_iommu);
	IOMMU_ADVICE_TEXT(
		advice->consequence,
		"no DMA is translated%s, whatever the kernel's log says of \"Translated\" "
		"or \"lazy mode\": those lines are printed without an IOMMU too",
		a->facts->guest ? " by this guest" : "");
	IOMMU_ADVICE_TEXT(advice->remedy, "%s",
			  a->facts->guest ? "give the guest a virtual IOMMU if it is to have one"
					  : "switch VT-d or AMD-Vi on in the firmware's setup");
	IOMMU_ADVICE_TEXT(advice->source, "/sys/kernel/iommu_groups is empty");
}

static void iommu_advise_spelling(struct iommu_advisor *a)
{
	struct iommu_advice *advice;

	if (!iommu_cmdline_has(a->facts->cmdline, "intel_iommu=strict") &&
	    !strstr(a->facts->cmdline_iommu, ",strict"))
		return;
	advice = iommu_advice_add(a, IOMMU_ADVICE_NOTE, "intel-strict-spelling",
				  "strict invalidation was asked for by intel_iommu=");
	IOMMU_ADVICE_TEXT(advice->consequence,
			  "it is the old spelling and wins over iommu.strict=0 given beside it");
	IOMMU_ADVICE_TEXT(advice->remedy,
			  "take strict out of intel_iommu= and say iommu.strict=1 or 0");
	IOMMU_ADVICE_TEXT(advice->source, "%s", iommu_src_parameters);
}

void iommu_advise_options(struct iommu_advisor *a)
{
	iommu_advise_noops(a);
	iommu_advise_absent(a);
	iommu_advise_spelling(a);
}

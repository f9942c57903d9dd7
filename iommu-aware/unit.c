/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unit.c - what each piece of IOMMU hardware says it can do.
 *
 * The drivers export their capability registers; the bits that decide what a map or an unmap costs
 * are few, and they are decoded here:
 *
 *   VT-d (Intel's architecture specification, "Capability Register" and "Extended Capability
 *   Register"): caching mode, widest address, second-stage large pages, number of domains;
 * page-walk coherency, queued invalidation, pass-through. AMD (I/O virtualization specification,
 * "IOMMU Capability Header" and "Extended Feature Register"): NpCache is its caching mode.  Page
 * sizes up to 1 GiB and coherent walks are a given.
 *
 * SMMU and virtio-iommu export nothing, so nothing is claimed for them.
 */
#include <stdio.h>
#include <string.h>

#include "iommu-aware/internal.h"

static unsigned iommu_bits(uint64_t value, unsigned low, unsigned count)
{
	return (unsigned)(value >> low & ((UINT64_C(1) << count) - 1));
}

static void iommu_unit_vtd(struct iommu_unit *unit)
{
	unit->domains = 1u << (4 + 2 * iommu_bits(unit->cap, 0, 3));
	unit->caching_mode = iommu_bits(unit->cap, 7, 1);
	unit->address_bits = iommu_bits(unit->cap, 16, 6) + 1;
	unit->super_2m = iommu_bits(unit->cap, 34, 1);
	unit->super_1g = iommu_bits(unit->cap, 35, 1);
	unit->coherent_walk = iommu_bits(unit->ecap, 0, 1);
	unit->queued = iommu_bits(unit->ecap, 1, 1);
	unit->passthrough = iommu_bits(unit->ecap, 6, 1);
}

static void iommu_unit_amd(struct iommu_unit *unit)
{
	/* HATS: 0, 1, 2 stand for tables of 4, 5, 6 levels of 9 bits above the page. */
	unsigned levels = 4 + iommu_bits(unit->ecap, 10, 2);

	unit->domains = 1u << 16;
	unit->caching_mode = iommu_bits(unit->cap, 26, 1);
	unit->address_bits = levels > 5 ? 64 : 12 + 9 * levels;
	unit->super_2m = unit->super_1g = true;
	unit->coherent_walk = true;
	unit->queued = true;
	unit->passthrough = true;
}

static bool iommu_unit_register(uint64_t *valuep, const char *unit, const char *file,
				const char *root)
{
	char text[64];

	*valuep = 0;
	return iommu_read_line(text, sizeof(text), root, "/sys/class/iommu/%s/%s", unit, file) &&
	       iommu_text_number(text, "", 16, valuep);
}

static void iommu_unit_read(struct iommu_unit *unit, const char *name, const char *root)
{
	if (!strcmp(unit->driver, "intel")) {
		unit->known = iommu_unit_register(&unit->cap, name, "intel-iommu/cap", root) &&
			      iommu_unit_register(&unit->ecap, name, "intel-iommu/ecap", root);
		if (unit->known)
			iommu_unit_vtd(unit);
	} else if (!strcmp(unit->driver, "amd")) {
		unit->known = iommu_unit_register(&unit->cap, name, "amd-iommu/cap", root) &&
			      iommu_unit_register(&unit->ecap, name, "amd-iommu/features", root);
		if (unit->known)
			iommu_unit_amd(unit);
	}
}

/* The names under /sys/class/iommu are the drivers' own: dmar0, ivhd0, smmu3.0x..., virtio0. */
static const char *iommu_unit_driver(const char *name)
{
	static const struct {
		char prefix[12], driver[8];
	} known[] = {
		{"dmar", "intel"},    {"ivhd", "amd"},	    {"smmu", "smmu"},
		{"arm-smmu", "smmu"}, {"virtio", "virtio"},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(known); i++)
		if (!strncmp(name, known[i].prefix, strlen(known[i].prefix)))
			return known[i].driver;
	return "";
}

struct iommu_unit_walk {
	struct iommu_facts *facts;
	const char *root;
};

/* Folders come in any order; the report should not. */
static struct iommu_unit *iommu_unit_slot(struct iommu_facts *facts, const char *name)
{
	unsigned used = facts->units < IOMMU_MAX_UNITS ? facts->units : IOMMU_MAX_UNITS;
	unsigned at = 0;

	while (at < used && strcmp(facts->unit[at].name, name) < 0)
		at++;
	facts->units++;
	if (at == IOMMU_MAX_UNITS)
		return NULL;
	if (used == IOMMU_MAX_UNITS)
		used--;
	memmove(&facts->unit[at + 1], &facts->unit[at], (used - at) * sizeof(facts->unit[0]));
	memset(&facts->unit[at], 0, sizeof(facts->unit[at]));
	return &facts->unit[at];
}

static void iommu_unit_add(void *arg, const char *name)
{
	const struct iommu_unit_walk *walk = arg;
	const char *driver = iommu_unit_driver(name);
	char shown[sizeof(walk->facts->unit[0].name)];
	struct iommu_unit *unit;

	if (driver[0])
		snprintf(walk->facts->driver, sizeof(walk->facts->driver), "%s", driver);
	util_text_escape(name, strlen(name), shown, sizeof(shown));
	unit = iommu_unit_slot(walk->facts, shown);
	if (!unit)
		return;
	memcpy(unit->name, shown, sizeof(shown));
	snprintf(unit->driver, sizeof(unit->driver), "%s", driver);
	iommu_unit_read(unit, name, walk->root);
}

void iommu_probe_units(struct iommu_facts *facts, const char *root)
{
	struct iommu_unit_walk walk = {.facts = facts, .root = root};

	iommu_read_dir(iommu_unit_add, &walk, root, "/sys/class/iommu");
}

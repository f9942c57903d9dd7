/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost_rhythm.c - the two rhythms of registration on a real IOMMU, side by side.
 *
 * A slab as the pool makes it, and records that walk through it.  "pool": the slab is mapped before
 * the first I/O and unmapped behind the last.  "per-io": each record is mapped, used and unmapped.
 * This is what mr=pool and mr=per-io ask of the IOMMU on an RDMA NIC, without the NIC: fabrics that
 * ride on an Ethernet driver cannot show it, because registering memory there maps nothing.
 *
 * "Used" is a copy by the device into the record, where it can copy; whether it arrived is checked
 * and its time left out.  The kernel's own trace events count what a map of ours comes down to: one
 * of theirs for each piece of memory that hangs together.
 */
#include <string.h>

#include "tools/nfsrdma-iommu/cost.h"

/* QEMU's edu reaches 28 bits: 16 MiB + 32 MiB of slab end far below. */
#define RHYTHM_IOVA (UINT64_C(16) << 20)
#define RHYTHM_SLAB_MAX (UINT64_C(32) << 20)
#define RHYTHM_USES 8 /* I/Os in which the device copies: it takes milliseconds */

struct rhythm {
	struct iommu_vfio *vfio;
	const struct memory *slab;
	uint64_t slab_len, record, ios;
	uint64_t maps, unmaps, ns; /* ours, and the time within */
	unsigned used, arrived;
	struct iommu_trace *trace;			      /* NULL: not root's, or no tracefs */
	struct iommu_trace_counts before, first, last, after; /* all of it; the I/Os alone */
	int err;
};

static void rhythm_look(const struct rhythm *y, struct iommu_trace_counts *counts)
{
	if (y->trace)
		iommu_trace_read(y->trace, counts);
}

static void rhythm_map(struct rhythm *y, uint64_t at, uint64_t len)
{
	uint64_t begin = util_clock_ns();

	y->err = iommu_vfio_map(y->vfio, (char *)y->slab->addr + at, len, RHYTHM_IOVA + at);
	y->ns += util_clock_ns() - begin;
	y->maps += !y->err;
}

static void rhythm_unmap(struct rhythm *y, uint64_t at, uint64_t len)
{
	uint64_t begin = util_clock_ns();

	y->err = iommu_vfio_unmap(y->vfio, len, RHYTHM_IOVA + at);
	y->ns += util_clock_ns() - begin;
	y->unmaps += !y->err;
}

/* The device writes what it has read from the record's second half into its first. */
static void rhythm_use(struct rhythm *y, uint64_t at)
{
	unsigned char *record = (unsigned char *)y->slab->addr + at;
	uint32_t half = y->record / 2 < IOMMU_VFIO_COPY_MAX ? (uint32_t)(y->record / 2)
							    : IOMMU_VFIO_COPY_MAX;

	if (!iommu_vfio_can_copy(y->vfio) || y->used == RHYTHM_USES)
		return;
	y->used++;
	memset(record, 0, half);
	memset(record + half, (int)(y->used + 0x40), half);
	if (!iommu_vfio_copy(y->vfio, RHYTHM_IOVA + at + half, half, false) &&
	    !iommu_vfio_copy(y->vfio, RHYTHM_IOVA + at, half, true) &&
	    !memcmp(record, record + half, half))
		y->arrived++;
}

static void rhythm_ios(struct rhythm *y, bool per_io)
{
	uint64_t records = y->slab_len / y->record;

	for (uint64_t i = 0; i < y->ios && !y->err; i++) {
		uint64_t at = i % records * y->record;

		if (per_io)
			rhythm_map(y, at, y->record);
		if (!y->err)
			rhythm_use(y, at);
		if (per_io && !y->err)
			rhythm_unmap(y, at, y->record);
	}
}

static void rhythm_run(struct rhythm *y, bool per_io)
{
	rhythm_look(y, &y->before);
	if (!per_io)
		rhythm_map(y, 0, y->slab_len);
	rhythm_look(y, &y->first);
	if (!y->err)
		rhythm_ios(y, per_io);
	rhythm_look(y, &y->last);
	if (!per_io && y->maps)
		rhythm_unmap(y, 0, y->slab_len);
	rhythm_look(y, &y->after);
}

static void rhythm_report(struct report *r, const struct rhythm *y, const char *name)
{
	double ios = (double)y->ios;

	report_item(r, name);
	report_text(r, "rhythm", name);
	report_number(r, "record", y->record, "");
	report_number(r, "slab", y->slab_len, "");
	report_number(r, "ios", y->ios, "");
	if (y->err)
		report_text(r, "error", strerror(-y->err));
	report_number(r, "maps", y->maps, "");
	report_number(r, "unmaps", y->unmaps, "");
	report_real(r, "us_per_io", (double)y->ns / 1000.0 / ios, "");
	report_number(r, "used_by_device", y->used, "");
	report_number(r, "arrived", y->arrived, "");
	if (y->trace) {
		report_number(r, "kernel_maps", y->after.maps - y->before.maps, "");
		report_number(r, "kernel_unmaps", y->after.unmaps - y->before.unmaps, "");
		report_real(r, "kernel_maps_per_io", (double)(y->last.maps - y->first.maps) / ios,
			    "");
		report_real(r, "kernel_unmaps_per_io",
			    (double)(y->last.unmaps - y->first.unmaps) / ios, "");
	} else {
		report_null(r, "kernel_maps", "not traced");
	}
	report_close(r);
}

static void rhythm_one(struct report *r, struct rhythm y, bool per_io)
{
	rhythm_run(&y, per_io);
	rhythm_report(r, &y, per_io ? "per-io" : "pool");
}

/* The slab the pool would make here, of the smallest pages: what every machine has. */
static uint64_t rhythm_slab(struct report *r)
{
	struct iommu_device dev = {.node = -1};
	struct iommu_geometry geo;
	struct iommu_facts facts;

	iommu_probe(&facts, NULL);
	iommu_policy_geometry(&geo, &facts, &dev, 0);
	report_text(r, "policy", geo.why);
	return geo.slab_size < RHYTHM_SLAB_MAX ? geo.slab_size : RHYTHM_SLAB_MAX;
}

void cost_rhythms(struct report *r, const struct cost_options *opts, struct iommu_vfio *vfio)
{
	struct rhythm y = {.vfio = vfio, .slab_len = rhythm_slab(r), .ios = opts->ios};
	struct util_err err = {0};
	struct memory slab;

	if (memory_map(&slab, MEMORY_4K, y.slab_len)) {
		report_null(r, "rhythms", "no memory for a slab");
		return;
	}
	y.slab = &slab;
	if (iommu_trace_open(&y.trace, NULL, &err))
		report_text(r, "untraced", err.what);
	report_list(r, "rhythms", "");
	for (unsigned i = 0; i < opts->sizes; i++) {
		y.record = opts->size[i];
		if (y.record > y.slab_len)
			continue;
		rhythm_one(r, y, false);
		rhythm_one(r, y, true);
	}
	report_close(r);
	iommu_trace_close(y.trace);
	memory_unmap(&slab);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost_vfio.c - maps and unmaps of a real IOMMU, and the proof that they are what they say.
 *
 * The proof needs a device that copies on demand (QEMU's edu): what it reads at a mapped bus
 * address is what we wrote, what it writes there arrives, and after the unmap it reaches the memory
 * no more.
 */
#include <errno.h>
#include <string.h>

#include "tools/nfsrdma-iommu/cost.h"

#define VFIO_IOVA (UINT64_C(16) << 20)
#define VFIO_PROOF_LEN 2048
#define VFIO_PAGE UINT64_C(4096)
/* QEMU's edu reaches 28 bits, and its proof uses two pages; larger ranges go above 4 GiB. */
#define VFIO_IOVA_LARGE (UINT64_C(1) << 32)

struct vfio_bench {
	struct iommu_vfio *vfio;
	uint64_t iova;
};

static int vfio_enter(void *arg, const struct memory *m, uint64_t len, enum memory_kind kind)
{
	struct vfio_bench *b = arg;

	(void)kind;
	return iommu_vfio_map(b->vfio, m->addr, len, b->iova);
}

static void vfio_leave(void *arg, uint64_t len)
{
	struct vfio_bench *b = arg;

	iommu_vfio_unmap(b->vfio, len, b->iova);
}

/* To the device and back to another page. */
static bool vfio_round_trip(struct vfio_bench *b, unsigned char *from, unsigned char *to)
{
	for (unsigned i = 0; i < VFIO_PROOF_LEN; i++)
		from[i] = (unsigned char)(i * 31 + 7);
	memset(to, 0, VFIO_PROOF_LEN);
	return !iommu_vfio_copy(b->vfio, VFIO_IOVA, VFIO_PROOF_LEN, false) &&
	       !iommu_vfio_copy(b->vfio, VFIO_IOVA + VFIO_PAGE, VFIO_PROOF_LEN, true) &&
	       !memcmp(from, to, VFIO_PROOF_LEN);
}

/* The bus addresses lead nowhere now: the memory must stay as it is. */
static bool vfio_out_of_reach(struct vfio_bench *b, unsigned char *to)
{
	memset(to, 0xa5, VFIO_PROOF_LEN);
	iommu_vfio_copy(b->vfio, VFIO_IOVA + VFIO_PAGE, VFIO_PROOF_LEN, true);
	for (unsigned i = 0; i < VFIO_PROOF_LEN; i++)
		if (to[i] != 0xa5)
			return false;
	return true;
}

static void vfio_prove(struct report *r, struct vfio_bench *b)
{
	bool mapped = false, unmapped = false;
	struct memory m;

	if (!iommu_vfio_can_copy(b->vfio) || memory_map(&m, MEMORY_4K, 2 * VFIO_PAGE)) {
		report_null(r, "dma_reaches_mapped", "not tried: the device cannot copy on demand");
		report_null(r, "dma_stops_at_unmap", "not tried");
		return;
	}
	if (!iommu_vfio_map(b->vfio, m.addr, 2 * VFIO_PAGE, VFIO_IOVA)) {
		unsigned char *page = m.addr;

		mapped = vfio_round_trip(b, page, page + VFIO_PAGE);
		iommu_vfio_unmap(b->vfio, 2 * VFIO_PAGE, VFIO_IOVA);
		unmapped = vfio_out_of_reach(b, page + VFIO_PAGE);
	}
	report_bool(r, "dma_reaches_mapped", mapped);
	report_bool(r, "dma_stops_at_unmap", unmapped);
	memory_unmap(&m);
}

static int vfio_report(const struct cost_options *opts, struct vfio_bench *b, struct util_err *err)
{
	const struct cost_bench bench = {
		.arg = b,
		.enter = vfio_enter,
		.leave = vfio_leave,
		.enter_name = "map",
		.leave_name = "unmap",
	};
	struct iommu_facts facts;
	struct report *r;
	char line[400];
	int ret;

	iommu_probe(&facts, NULL);
	r = report_begin(stdout, opts->json, "nfsrdma-iommu-cost/1");
	if (!r)
		return util_err_set(err, -ENOMEM, "out of memory");
	report_text(r, "vfio", opts->vfio);
	report_text(r, "api", iommu_vfio_api(b->vfio));
	report_text(r, "machine", iommu_summary(&facts, NULL, line, sizeof(line)));
	/* A guest's IOMMU is software: its counts are results, its times are the emulator's. */
	report_bool(r, "emulated", facts.guest);
	if (iommu_vfio_page_sizes(b->vfio))
		report_hex(r, "page_sizes", iommu_vfio_page_sizes(b->vfio));
	else
		report_null(r, "page_sizes", "not told");
	vfio_prove(r, b);
	if (facts.guest)
		report_line(r, "(times: emulated)");
	b->iova = VFIO_IOVA_LARGE;
	if (opts->ios)
		cost_rhythms(r, opts, b->vfio);
	else
		cost_table(r, opts, &bench);
	ret = report_end(r);
	return ret ? util_err_set(err, ret, "write the report: %s", strerror(-ret)) : 0;
}

int cost_vfio(const struct cost_options *opts)
{
	struct util_err err = {0};
	struct vfio_bench b = {0};
	int ret = iommu_vfio_open(&b.vfio, opts->vfio, opts->api, &err);

	if (!ret) {
		ret = vfio_report(opts, &b, &err);
		iommu_vfio_close(b.vfio);
	}
	return ret ? tool_fail("cost", &err) : 0;
}

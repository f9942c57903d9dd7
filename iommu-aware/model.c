/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.c - the queueing network, and what a record costs at its stations.
 */
#include "iommu-aware/model.h"

const char *const iommu_model_policy_names[IOMMU_MODEL_POLICIES] = {"off", "passthrough", "lazy",
								    "strict"};
const char *const iommu_model_mode_names[IOMMU_MODEL_MODES] = {"pool", "window", "per-io"};

double iommu_model_mva(const double demand_us[IOMMU_MODEL_STATIONS], double delay_us,
		       unsigned threads)
{
	double queue[IOMMU_MODEL_STATIONS] = {0}, stay[IOMMU_MODEL_STATIONS], rate = 0;

	for (unsigned n = 1; n <= threads; n++) {
		double cycle = delay_us;

		/* Who arrives sees the queue of a network with one thread fewer. */
		for (unsigned i = 0; i < IOMMU_MODEL_STATIONS; i++) {
			stay[i] = demand_us[i] * (1 + queue[i]);
			cycle += stay[i];
		}
		rate = n / cycle;
		for (unsigned i = 0; i < IOMMU_MODEL_STATIONS; i++)
			queue[i] = rate * stay[i];
	}
	return rate;
}

/* Records per microsecond -> kB/s. */
static double model_kBps(double per_us, uint64_t record)
{
	return per_us * 1e6 * (double)record / 1024;
}

double iommu_model_rate(const struct iommu_model_load *load, uint64_t record)
{
	const double demand[IOMMU_MODEL_STATIONS] = {load->link_us, load->maps_us};

	return model_kBps(iommu_model_mva(demand, load->delay_us, load->threads), record);
}

double iommu_model_bound(const struct iommu_model_load *load, uint64_t record,
			 const char **bound_byp)
{
	double alone = load->delay_us + load->link_us + load->maps_us;
	double least = alone / load->threads;
	const char *by = "threads";

	if (load->link_us > least) {
		least = load->link_us;
		by = "link";
	}
	if (load->maps_us > least) {
		least = load->maps_us;
		by = "maps";
	}
	*bound_byp = by;
	return model_kBps(1 / least, record);
}

static uint64_t model_pages(uint64_t record)
{
	return (record + IOMMU_MODEL_PAGE - 1) / IOMMU_MODEL_PAGE;
}

double iommu_model_maps_us(const struct iommu_model_costs *costs, uint64_t record,
			   enum iommu_model_policy policy, enum iommu_model_mode mode)
{
	uint64_t pages = model_pages(record);
	double calls = (double)((pages + IOMMU_MODEL_MAP_PAGES - 1) / IOMMU_MODEL_MAP_PAGES), us;

	if (mode != IOMMU_MODEL_PER_IO || policy < IOMMU_MODEL_LAZY)
		return 0;
	us = calls * costs->map_call_us + (double)pages * costs->map_page_us;
	/* Lazy shares one among 256 unmaps. */
	return us + calls * costs->inval_us / (policy == IOMMU_MODEL_STRICT ? 1 : 256);
}

double iommu_model_register_us(const struct iommu_model_costs *costs, uint64_t record)
{
	return costs->register_call_us + (double)model_pages(record) * costs->register_page_us;
}

static double model_least(double a, double b)
{
	return a < b ? a : b;
}

void iommu_model_delay(struct iommu_model_span *span, double fitted_us, double register_us,
		       uint64_t record, enum iommu_model_mode mode)
{
	double within = model_least(register_us, IOMMU_MODEL_CPU_US);
	double own = mode == IOMMU_MODEL_PER_IO ? register_us : 0;
	double scaled = fitted_us * (double)record / IOMMU_MODEL_RECORD, least;

	if (scaled < IOMMU_MODEL_CPU_US)
		scaled = IOMMU_MODEL_CPU_US;
	least = model_least(scaled, fitted_us) - within;
	span->value = scaled - within + own;
	span->low = (least > 0 ? least : 0) + own;
	span->high = (scaled > fitted_us ? scaled : fitted_us) + own;
}

double iommu_model_link_us(double link_bps, uint64_t record)
{
	return (double)record * 8 / link_bps * 1e6;
}

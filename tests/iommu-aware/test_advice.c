/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>

#include "iommu-aware/internal.h"

#define TREE(name) TEST_TREES name
#define MIB (UINT64_C(1) << 20)

TestSuite(iommu_advice, .timeout = 20);

/* "id id ..." of what is said about device of tree ("": the machine). */
static const char *said(const char *tree, const char *device, char *out, size_t len)
{
	struct iommu_advice advice[IOMMU_MAX_ADVICE];
	struct iommu_survey survey;
	struct iommu_geometry geo;
	struct iommu_device dev;
	unsigned count;

	iommu_probe_survey(&survey, tree);
	iommu_probe_device(&dev, device[0] ? device : "none", tree);
	iommu_policy_geometry(&geo, &survey.facts, device[0] ? &dev : NULL, 0);
	count = iommu_advise(advice, &survey, device[0] ? &dev : NULL, &geo);
	out[0] = '\0';
	for (unsigned i = 0; i < count; i++) {
		const struct iommu_advice *a = &advice[i];

		cr_assert(a->fact[0] && a->consequence[0] && a->remedy[0] && a->source[0], "%s",
			  a->id);
		cr_assert_lt(strlen(a->fact), sizeof(a->fact) - 1, "%s is cut", a->id);
		cr_assert_lt(strlen(a->consequence), sizeof(a->consequence) - 1, "%s is cut",
			     a->id);
		cr_assert_lt(strlen(a->remedy), sizeof(a->remedy) - 1, "%s is cut", a->id);
		cr_assert_lt(strlen(a->source), sizeof(a->source) - 1, "%s is cut", a->id);
		cr_assert(i == 0 || advice[i - 1].level >= a->level, "warnings come first");
		snprintf(out + strlen(out), len - strlen(out), "%s%s", i ? " " : "", a->id);
	}
	return out;
}

Test(iommu_advice, table_of_trees)
{
	static const struct {
		char tree[24], device[16], ids[200];
	} cases[] = {
		{"intel-strict", "", "memlock-small"},
		{"intel-strict", "mlx5_0",
		 "strict-invalidation strict-many-cpus device-on-other-node "
		 "slab-beyond-iova-cache"},
		{"intel-lazy", "", ""},
		{"intel-lazy", "mlx5_0", "lazy-invalidation slab-beyond-iova-cache"},
		{"intel-pt", "", "no-huge-pages"},
		{"intel-pt", "mlx5_0", "not-translated"},
		{"intel-old", "", "no-huge-pages memlock-small intel-strict-spelling"},
		{"intel-old", "mlx4_0", "strict-invalidation incoherent-page-walk no-superpages"},
		{"guest-caching-mode", "", "memlock-small no-huge-pages"},
		{"guest-caching-mode", "eth0",
		 "strict-invalidation caching-mode incoherent-page-walk driver-maps-packets"},
		{"guest-virtio", "mlx5_0", "strict-invalidation slab-beyond-iova-cache"},
		{"amd", "", "option-does-nothing no-huge-pages"},
		{"amd", "mlx5_0",
		 "strict-invalidation passthrough-not-effective slab-beyond-iova-cache"},
		{"amd-lazy", "", "option-does-nothing"},
		{"amd-lazy", "mlx5_0", "lazy-invalidation slab-beyond-iova-cache"},
		{"smmu", "", "option-does-nothing"},
		{"smmu", "mlx5_0",
		 "strict-invalidation strict-many-cpus passthrough-not-effective "
		 "slab-beyond-iova-cache"},
		{"software", "", "memlock-small memlock-shared no-huge-pages"},
		{"software", "rxe0", "lazy-invalidation driver-maps-packets"},
		{"software", "siw0", "not-translated driver-maps-packets"},
		{"none", "", "iommu-absent no-huge-pages memlock-small"},
		{"none", "lo", ""},
		{"hostile", "odd0", "domain-unknown"},
	};
	static const char trees[] = TEST_TREES;
	char out[400], root[sizeof(trees) + 24];

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		snprintf(root, sizeof(root), "%s%.24s", trees, cases[i].tree);
		cr_expect_str_eq(said(root, cases[i].device, out, sizeof(out)), cases[i].ids,
				 "%s %s: %s", cases[i].tree, cases[i].device, out);
	}
}

static struct iommu_survey roomy(void)
{
	return (struct iommu_survey){
		.facts = {.nodes = 1,
			  .cpus = 1,
			  .huge_2m_free = 1,
			  .memlock_soft = UINT64_MAX,
			  .memlock_hard = UINT64_MAX},
	};
}

static bool advised(const struct iommu_survey *survey, const struct iommu_device *dev,
		    const char *id)
{
	struct iommu_advice advice[IOMMU_MAX_ADVICE];
	struct iommu_geometry geo;
	unsigned count;

	iommu_policy_geometry(&geo, &survey->facts, dev, 0);
	count = iommu_advise(advice, survey, dev, &geo);
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(advice[i].id, id))
			return true;
	return false;
}

Test(iommu_advice, a_machine_where_nothing_is_wrong_hears_nothing)
{
	struct iommu_survey survey = roomy();
	struct iommu_advice advice[IOMMU_MAX_ADVICE];
	struct iommu_geometry geo;

	iommu_policy_geometry(&geo, &survey.facts, NULL, 0);
	cr_assert_eq(iommu_advise(advice, &survey, NULL, &geo), 0);
}

Test(iommu_advice, options_are_whole_words)
{
	struct iommu_survey survey = roomy();
	static const struct {
		char cmdline[40], driver[16];
		bool said;
	} cases[] = {
		{"amd_iommu=pt", "", true},
		{"quiet amd_iommu=pt ro", "", true},
		{"xamd_iommu=pt", "", false},
		{"amd_iommu=ptx", "", false},
		{"iommu=strict,pt", "intel", true},
		{"iommu.strict=1", "intel", false},
		{"intel_iommu=on", "intel", false},
		{"intel_iommu=on", "amd", true},
		{"iommu=pt", "intel", false},
		{"iommu=pt", "smmu", true},
		{"", "", false},
	};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		strcpy(survey.facts.cmdline, cases[i].cmdline);
		strcpy(survey.facts.driver, cases[i].driver);
		cr_expect_eq(advised(&survey, NULL, "option-does-nothing"), cases[i].said, "%s",
			     cases[i].cmdline);
	}
}

Test(iommu_advice, relaxed_ordering_is_an_rdma_devices_and_must_be_known_off)
{
	struct iommu_survey survey = roomy();
	struct iommu_device dev = {.rdma = true, .found = true, .group = -1, .node = -1};

	dev.relaxed_ordering = 0;
	cr_assert(advised(&survey, &dev, "relaxed-ordering-unused"));
	dev.relaxed_ordering = 1;
	cr_assert_not(advised(&survey, &dev, "relaxed-ordering-unused"));
	dev.relaxed_ordering = -1;
	cr_assert_not(advised(&survey, &dev, "relaxed-ordering-unused"));
	dev.relaxed_ordering = 0;
	dev.rdma = false;
	cr_assert_not(advised(&survey, &dev, "relaxed-ordering-unused"));
}

Test(iommu_advice, warnings_are_the_machines_and_the_devices_and_no_notes)
{
	struct iommu_advice advice[IOMMU_MAX_ADVICE];

	cr_assert_eq(iommu_warnings(advice, NULL, TREE("intel-strict")), 1);
	cr_assert_str_eq(advice[0].id, "memlock-small");
	cr_assert_eq(iommu_warnings(advice, "mlx5_0", TREE("intel-strict")), 4);
	cr_assert_str_eq(advice[3].id, "device-on-other-node");
	cr_assert_eq(iommu_warnings(advice, "mlx5_0", TREE("intel-lazy")), 0);
	cr_assert_eq(iommu_warnings(advice, "", "/nonexistent"), 1);
	cr_assert_str_eq(advice[0].id, "no-huge-pages");
}

Test(iommu_advice, many_cpus_begin_at_sixteen)
{
	struct iommu_survey survey = roomy();
	struct iommu_device dev = {.rdma = true, .domain = IOMMU_DOMAIN_DMA};

	survey.facts.cpus = 15;
	cr_assert_not(advised(&survey, &dev, "strict-many-cpus"));
	survey.facts.cpus = 16;
	cr_assert(advised(&survey, &dev, "strict-many-cpus"));
	dev.domain = IOMMU_DOMAIN_DMA_FQ;
	cr_assert_not(advised(&survey, &dev, "strict-many-cpus"));
}

Test(iommu_advice, the_unit_in_front_of_the_device_is_the_one_that_counts)
{
	struct iommu_survey survey = roomy();
	struct iommu_device dev = {.rdma = true, .domain = IOMMU_DOMAIN_DMA, .unit = "dmar1"};

	survey.facts.units = 2;
	survey.facts.unit[0] = (struct iommu_unit){
		.name = "dmar0", .known = true, .coherent_walk = true, .super_2m = true};
	survey.facts.unit[1] = (struct iommu_unit){.name = "dmar1", .known = true};
	cr_assert(advised(&survey, &dev, "no-superpages"));
	strcpy(dev.unit, "dmar0");
	cr_assert_not(advised(&survey, &dev, "no-superpages"));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The software RNIC behind the software IOMMU: every access is looked up, and what is not mapped
 * ends the connection. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/iwarp/pair.h"
#include "transport/iwarp/internal.h"

#define SEGMENT (IWARP_ULPDU_OURS - IWARP_DDP_TAGGED_LEN)
#define PAGE 4096u

TestSuite(iwarp_iommu, .timeout = 60);

static struct iommu_sw *iommu_of(struct pair *pair, int e)
{
	return iwarp_domain_of(pair->end[e].domain)->iommu;
}

static struct iommu_sw_stats stats_of(struct pair *pair, int e)
{
	struct iommu_sw_stats stats;

	iommu_sw_stats(iommu_of(pair, e), &stats);
	return stats;
}

/* Bytes at end 0, which asks, and at end 1. */
struct transfer {
	struct pair pair;
	struct memory near, far;
	enum fabric_op op;
	size_t len;
};

static void transfer_open(struct transfer *t, const struct pair_options *opts, enum fabric_op op,
			  size_t len)
{
	bool reads = op == FABRIC_OP_READ;

	t->op = op;
	t->len = len;
	pair_open(&t->pair, opts);
	memory_open(&t->near, &t->pair, 0, len, reads ? MR_ACCESS_READ_SINK : 0);
	memory_open(&t->far, &t->pair, 1, len,
		    reads ? MR_ACCESS_REMOTE_READ : MR_ACCESS_REMOTE_WRITE);
	memory_fill(reads ? &t->far : &t->near, 6);
}

static void transfer_start(struct transfer *t)
{
	struct fabric_sge sge = memory_sge(&t->near, 0, t->len);

	cr_assert_eq(pair_post(&t->pair, 0, t->op, &sge, t->far.reg.iova, t->far.reg.rkey, 0, 1),
		     0);
}

static void transfer_close(struct transfer *t)
{
	memory_close(&t->near);
	memory_close(&t->far);
	pair_close(&t->pair);
}

Test(iwarp_iommu, every_tagged_segment_is_looked_up)
{
	enum { SIZE = 1 << 20 };
	const uint64_t segments = (SIZE + SEGMENT - 1) / SEGMENT;

	for (int plain = 0; plain < 2; plain++) {
		for (int policy = IOMMU_SW_LAZY; policy <= IOMMU_SW_STRICT; policy++) {
			const struct pair_options opts = {
				.plain = plain, .iommu.policy = (enum iommu_sw_policy)policy};
			struct transfer t;

			transfer_open(&t, &opts, FABRIC_OP_READ, SIZE);
			transfer_start(&t);
			cr_assert_eq(pair_next(&t.pair, 0).status, FABRIC_WC_OK);
			cr_expect(memory_is_filled(&t.near, 0, SIZE, 6));
			cr_expect_geq(stats_of(&t.pair, 0).lookups, segments);
			cr_expect_geq(stats_of(&t.pair, 1).lookups, segments);
			cr_expect_eq(stats_of(&t.pair, 0).faults, 0);
			cr_expect_eq(stats_of(&t.pair, 0).maps, 1);
			transfer_close(&t);

			transfer_open(&t, &opts, FABRIC_OP_WRITE, SIZE);
			transfer_start(&t);
			cr_assert_eq(pair_next(&t.pair, 0).status, FABRIC_WC_OK);
			pair_settle(&t.pair, 50);
			cr_expect(memory_is_filled(&t.far, 0, SIZE, 6));
			cr_expect_geq(stats_of(&t.pair, 1).lookups, segments);
			transfer_close(&t);
		}
	}
}

/* Take a page from under a transfer of which the first bytes are there; both ends end. */
static void revoke_page(struct transfer *t, int e, const struct memory *m, const char *what)
{
	const char *words;

	iommu_sw_revoke(iommu_of(&t->pair, e), iwarp_region_bus(&m->reg) + t->len - PAGE, PAGE);
	pair_until_disconnected(&t->pair, 0);
	pair_until_disconnected(&t->pair, 1);
	words = t->pair.end[e].conn->err.what;
	cr_expect(strstr(words, "IOMMU fault") && strstr(words, what) &&
			  strstr(words, "not mapped"),
		  "%s", words);
	cr_expect_eq(t->pair.end[e].conn->err.code, -EFAULT);
	words = t->pair.end[!e].conn->err.what;
	/* A segment half out whose rest is gone leaves no place for a Terminate. */
	cr_expect(strstr(words, "RDMAP: local catastrophic error") ||
			  (!strcmp(what, "read") && strstr(words, "in the middle of a message")),
		  "%s", words);
	cr_expect_geq(stats_of(&t->pair, e).faults, 1);
}

Test(iwarp_iommu, a_page_unmapped_in_mid_transfer_is_a_fault)
{
	enum { SIZE = 48 << 20 };

	for (int plain = 0; plain < 2; plain++) {
		const struct pair_options opts = {.plain = plain, .iommu.policy = IOMMU_SW_STRICT};
		struct transfer t;

		transfer_open(&t, &opts, FABRIC_OP_WRITE, SIZE);
		transfer_start(&t);
		while (!memory_is_filled(&t.far, 0, PAGE, 6))
			pair_turn(&t.pair);
		revoke_page(&t, 1, &t.far, "write");
		cr_expect(!memory_is_filled(&t.far, SIZE - PAGE, PAGE, 6));
		transfer_close(&t);

		transfer_open(&t, &opts, FABRIC_OP_READ, SIZE);
		transfer_start(&t);
		while (!memory_is_filled(&t.near, 0, PAGE, 6))
			pair_turn(&t.pair);
		revoke_page(&t, 0, &t.near, "write");
		cr_expect(!memory_is_filled(&t.near, SIZE - PAGE, PAGE, 6));
		transfer_close(&t);

		transfer_open(&t, &opts, FABRIC_OP_READ, SIZE);
		transfer_start(&t);
		while (!memory_is_filled(&t.near, 0, PAGE, 6))
			pair_turn(&t.pair);
		revoke_page(&t, 1, &t.far, "read");
		cr_expect(!memory_is_filled(&t.near, SIZE - PAGE, PAGE, 6));
		transfer_close(&t);
	}
}

Test(iwarp_iommu, a_registration_maps_once_and_its_end_unmaps)
{
	static const struct {
		enum iommu_sw_policy policy;
		unsigned maps, flushes;
	} rows[] = {{IOMMU_SW_PASSTHROUGH, 0, 0}, {IOMMU_SW_LAZY, 1, 0}, {IOMMU_SW_STRICT, 1, 1}};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(rows); i++) {
		const struct pair_options opts = {.iommu.policy = rows[i].policy};
		struct memory m;
		struct pair pair;

		pair_open(&pair, &opts);
		memory_open(&m, &pair, 0, 65536, MR_ACCESS_REMOTE_WRITE);
		cr_expect_eq(m.reg.iova_maps, rows[i].maps);
		cr_expect_eq(stats_of(&pair, 0).maps, rows[i].maps);
		memory_close(&m);
		cr_expect_eq(stats_of(&pair, 0).unmaps, rows[i].maps);
		cr_expect_eq(stats_of(&pair, 0).flushes, rows[i].flushes);
		iommu_sw_flush(iommu_of(&pair, 0));
		cr_expect_eq(stats_of(&pair, 0).bus_bytes_now, 0);
		pair_close(&pair);
	}
}

Test(iwarp_iommu, off_means_that_there_is_none)
{
	const struct pair_options opts = {0};
	struct pair pair;

	pair_open(&pair, &opts);
	cr_expect_null(iommu_of(&pair, 0));
	pair_close(&pair);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* test_limits.c - adaptation to devices, on figures that real devices gave. */
#include "tests/verbs/rig.h"

static struct ibv_device_attr siw(void)
{
	return (struct ibv_device_attr){.vendor_id = 0x626d74,
					.max_qp_wr = 32768,
					.max_sge = 6,
					.max_sge_rd = 1,
					.max_cqe = 3276800,
					.max_mw = 0,
					.max_qp_rd_atom = 128,
					.max_qp_init_rd_atom = 128};
}

static struct ibv_device_attr rxe(void)
{
	return (struct ibv_device_attr){.vendor_id = 0xffffff,
					.max_qp_wr = 1048576,
					.max_sge = 32,
					.max_sge_rd = 32,
					.max_cqe = 32767,
					.max_mw = 524287,
					.device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B,
					.max_qp_rd_atom = 128,
					.max_qp_init_rd_atom = 128};
}

Test(verbs_limits, siw_has_six_sges_one_of_them_for_reads_and_no_windows)
{
	struct ibv_device_attr dev = siw();
	struct ibv_port_attr port = {.max_msg_sz = UINT32_MAX};
	struct fabric_attr attr = {0};

	verbs_limits(&attr, &dev, &port);
	cr_expect_eq(attr.max_sge, 6);
	cr_expect_eq(attr.max_read_sge, 1);
	cr_expect_eq(attr.max_rd_atomic, 128);
	cr_expect_eq(attr.max_msg, UINT32_MAX);
	cr_expect_not(attr.windows);
	cr_expect(verbs_quirks(&dev) & VERBS_QUIRK_FORCES_VA);
	cr_expect_not(verbs_quirks(&dev) & VERBS_QUIRK_INV_FLAG);
}

Test(verbs_limits, rxe_has_windows_short_messages_and_its_own_invalidation_flag)
{
	struct ibv_device_attr dev = rxe();
	struct ibv_port_attr port = {.max_msg_sz = 8 << 20};
	struct fabric_attr attr = {0};

	verbs_limits(&attr, &dev, &port);
	cr_expect_eq(attr.max_msg, 8 << 20);
	cr_expect(attr.windows);
	/* Both queues of a connection fit the longest completion queue the device makes. */
	cr_expect_leq(attr.max_send_wr + attr.max_recv_wr, 32767);
	cr_expect(verbs_quirks(&dev) & VERBS_QUIRK_INV_FLAG);
	cr_expect_not(verbs_quirks(&dev) & VERBS_QUIRK_FORCES_VA);
}

Test(verbs_limits, a_hardware_device_has_no_quirks)
{
	struct ibv_device_attr dev = {.vendor_id = 0x02c9};

	cr_expect_eq(verbs_quirks(&dev), 0);
}

Test(verbs_limits, nonsense_from_a_device_becomes_the_least_that_works)
{
	struct ibv_device_attr dev = {.max_sge = -1, .max_qp_wr = 0, .max_qp_rd_atom = -5};
	struct ibv_port_attr port = {0};
	struct fabric_attr attr = {0};

	verbs_limits(&attr, &dev, &port);
	cr_expect_eq(attr.max_sge, 1);
	cr_expect_eq(attr.max_read_sge, 1);
	cr_expect_eq(attr.max_send_wr, 1);
	cr_expect_eq(attr.max_rd_atomic, 0);
	cr_expect_gt(attr.max_msg, 0);
}

Test(verbs_limits, read_depth_fits_the_octet_the_connection_manager_has)
{
	struct ibv_device_attr dev = {.max_qp_rd_atom = 4096, .max_qp_init_rd_atom = 1000};
	struct ibv_port_attr port = {0};
	struct fabric_attr attr = {0};

	verbs_limits(&attr, &dev, &port);
	cr_expect_eq(attr.max_rd_atomic, 255);
}

Test(verbs_limits, port_rates_are_the_kernels)
{
	static const struct {
		uint8_t width, speed;
		uint64_t gbps_x10;
	} rates[] = {
		{2, 1, 100},   {2, 4, 400},    {2, 16, 560}, {2, 32, 1000},
		{2, 64, 2000}, {2, 128, 4000}, {1, 32, 250}, {16, 64, 1000},
		{8, 4, 1200},  {3, 4, 0},      {2, 3, 0},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(rates); i++)
		cr_expect_eq(verbs_link_bps(rates[i].width, rates[i].speed),
			     rates[i].gbps_x10 * 100000000, "width %u speed %u", rates[i].width,
			     rates[i].speed);
}

Test(verbs_limits, access_grants_exactly_what_was_asked_for)
{
	static const struct {
		unsigned access, ib, iwarp;
	} cases[] = {
		{0, 0, 0},
		{MR_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE},
		{MR_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ},
		{MR_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE,
		 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE},
		/* iWARP writes a read's data as a peer would. */
		{MR_ACCESS_READ_SINK, IBV_ACCESS_LOCAL_WRITE,
		 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
		{MR_ACCESS_WINDOW_BIND | MR_ACCESS_LOCAL_WRITE,
		 IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE,
		 IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		cr_expect_eq(verbs_access_flags(cases[i].access, false), cases[i].ib, "case %zu",
			     i);
		cr_expect_eq(verbs_access_flags(cases[i].access, true), cases[i].iwarp, "case %zu",
			     i);
	}
}

Test(verbs_ring, retires_what_came_before_and_refuses_what_is_not_outstanding)
{
	struct verbs_ring ring;
	struct verbs_slot slot;

	cr_assert_eq(verbs_ring_init(&ring, 5), 0);
	/* Positions wrap: begin just before the end of 32 bits. */
	ring.head = ring.tail = UINT32_MAX - 1;
	for (uint64_t i = 0; i < 5; i++)
		verbs_ring_push(&ring, 50 + i, i == 2);
	cr_expect_eq(verbs_ring_room(&ring), 0);
	cr_expect(verbs_ring_retire(&ring, UINT32_MAX - 1 + 2, &slot));
	cr_expect_eq(slot.wr_id, 52);
	cr_expect(slot.signaled);
	cr_expect_eq(verbs_ring_used(&ring), 2);
	cr_expect_not(verbs_ring_retire(&ring, UINT32_MAX - 1 + 1, &slot), "twice");
	cr_expect_not(verbs_ring_retire(&ring, 77, &slot), "never posted");
	cr_expect(verbs_ring_pop(&ring, &slot));
	cr_expect_eq(slot.wr_id, 53);
	cr_expect(verbs_ring_pop(&ring, &slot));
	cr_expect_not(verbs_ring_pop(&ring, &slot));
	verbs_ring_fini(&ring);
}

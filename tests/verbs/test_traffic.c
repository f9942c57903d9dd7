/* SPDX-License-Identifier: BSD-2-Clause */
/* test_traffic.c - posting, completions, windows, and how connections end. */
#include <errno.h>
#include <unistd.h>

#include "tests/verbs/rig.h"

TestSuite(verbs_post, .init = mock_init);
TestSuite(verbs_end, .init = mock_init);
TestSuite(verbs_mr, .init = mock_init);

static char data[4096];

static struct fabric_sge whole(void)
{
	return (struct fabric_sge){.ptr = data, .iova = 0xabc000, .len = sizeof(data), .lkey = 9};
}

Test(verbs_post, a_chain_is_one_doorbell_and_only_what_was_asked_for_completes)
{
	struct fabric_sge sge = whole();
	struct fabric_wr wr[3] = {rig_send(1, 0, &sge), rig_send(2, 0, &sge),
				  rig_send(3, FABRIC_WR_SIGNALED | FABRIC_WR_FENCE, &sge)};
	struct fabric_counters counters;
	struct rig rig;

	rig_connect(&rig, 0);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	cr_assert_eq(OPS->post_send(rig.conn, wr), 0);
	cr_expect_eq(mock.qp->doorbells, 1);
	cr_expect_eq(mock.qp->nsends, 3);
	cr_expect_eq(mock.qp->send_sges[0][0].addr, 0xabc000, "the device gets region addresses");
	cr_expect_eq(mock.qp->sends[2].send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	mock_complete_to_signaled(mock.qp);
	cr_assert_eq(rig_poll(&rig), 1);
	cr_expect_eq(rig.wc[0].type, FABRIC_WC_SEND);
	cr_expect_eq(rig.wc[0].wr_id, 3);
	cr_expect_eq(rig.wc[0].status, FABRIC_WC_OK);
	OPS->cq_counters(rig.cq, &counters);
	cr_expect_eq(counters.doorbells, 1);
	cr_expect_eq(counters.bytes_sent, 3 * sizeof(data));
	cr_expect_eq(counters.completions_signalled, 1);
	rig_close(&rig);
}

Test(verbs_post, inline_data_is_named_by_process_address)
{
	struct fabric_sge sge = {.ptr = data, .iova = 0xabc000, .len = 32, .lkey = 9};
	struct fabric_wr wr = rig_send(1, FABRIC_WR_INLINE, &sge);
	struct rig rig;

	rig_connect(&rig, 0);
	cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
	cr_expect_eq(mock.qp->send_sges[0][0].addr, (uintptr_t)data);
	cr_expect(mock.qp->sends[0].send_flags & IBV_SEND_INLINE);
	rig_close(&rig);
}

Test(verbs_post, what_the_queue_pair_cannot_take_is_refused_whole)
{
	struct fabric_sge sge = whole(), three[3] = {whole(), whole(), whole()};
	struct fabric_wr good = rig_send(1, 0, &sge), bad = rig_send(2, FABRIC_WR_INLINE, &sge);
	struct rig rig;

	rig_connect(&rig, 0);
	good.next = &bad;
	cr_expect_eq(OPS->post_send(rig.conn, &good), -EINVAL, "inline beyond the room");
	bad = rig_send(2, 0, three);
	bad.nsge = 3;
	cr_expect_eq(OPS->post_send(rig.conn, &good), -EINVAL, "more SGEs than asked for");
	bad = rig_send(2, 0, NULL);
	bad.op = FABRIC_OP_BIND;
	cr_expect_eq(OPS->post_send(rig.conn, &good), -EINVAL, "a bind without a window");
	cr_expect_eq(mock.qp->nsends, 0);
	cr_expect_eq(mock.qp->doorbells, 0);
	rig_close(&rig);
}

Test(verbs_post, a_read_keeps_to_the_devices_sges)
{
	struct fabric_sge two[2] = {whole(), whole()};
	struct fabric_wr wr = rig_send(1, FABRIC_WR_SIGNALED, two);
	struct fabric_counters counters;
	struct rig rig;

	mock.dev.max_sge_rd = 1;
	rig_connect(&rig, 0);
	wr.op = FABRIC_OP_READ;
	wr.u.remote.iova = 0x1234;
	wr.u.remote.rkey = 0x55;
	wr.nsge = 2;
	cr_expect_eq(OPS->post_send(rig.conn, &wr), -EINVAL);
	wr.nsge = 1;
	cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
	cr_expect_eq(mock.qp->sends[0].opcode, IBV_WR_RDMA_READ);
	cr_expect_eq(mock.qp->sends[0].wr.rdma.remote_addr, 0x1234);
	cr_expect_eq(mock.qp->sends[0].wr.rdma.rkey, 0x55);
	mock_complete_send(mock.qp, IBV_WC_SUCCESS);
	cr_expect_eq(rig_poll(&rig), 1);
	OPS->cq_counters(rig.cq, &counters);
	cr_expect_eq(counters.bytes_received, sizeof(data));
	rig_close(&rig);
}

Test(verbs_post, a_full_queue_is_told_and_completions_make_room)
{
	struct fabric_sge sge = whole();
	struct rig rig;

	rig_connect(&rig, 0);
	/* Nobody asks for a completion; the fabric does, so that the queue cannot stick. */
	for (int round = 0; round < 10; round++) {
		int posted = 0;

		for (;;) {
			struct fabric_wr wr = rig_send(1, 0, &sge);
			int ret = OPS->post_send(rig.conn, &wr);

			if (ret == -ENOMEM)
				break;
			cr_assert_eq(ret, 0);
			posted++;
		}
		cr_assert_gt(posted, 0, "round %d: the queue is stuck", round);
		while (mock.qp->nsends - mock.qp->sends_done >= 4)
			mock_complete_to_signaled(mock.qp);
		cr_expect_eq(rig_poll(&rig), 0, "nobody asked");
	}
	rig_close(&rig);
}

Test(verbs_post, a_refused_doorbell_changes_nothing)
{
	struct fabric_sge sge = whole();
	struct fabric_wr wr = rig_send(1, FABRIC_WR_SIGNALED, &sge);
	struct rig rig;

	rig_connect(&rig, 0);
	mock.post_send_takes = 0;
	cr_expect_eq(OPS->post_send(rig.conn, &wr), -ENOMEM);
	cr_expect_eq(rig.conn->state, FABRIC_CONN_ESTABLISHED);
	mock.post_send_takes = -1;
	for (int i = 0; i < 8; i++)
		cr_assert_eq(OPS->post_send(rig.conn, &wr), 0, "the room is all there");
	rig_close(&rig);
}

Test(verbs_post, a_chain_cut_by_the_device_counts_as_posted_and_ends_the_connection)
{
	struct fabric_sge sge = whole();
	struct fabric_wr wr[2] = {rig_send(1, FABRIC_WR_SIGNALED, &sge),
				  rig_send(2, FABRIC_WR_SIGNALED, &sge)};
	struct rig rig;

	rig_connect(&rig, 0);
	mock.post_send_takes = 1;
	wr[0].next = &wr[1];
	cr_assert_eq(OPS->post_send(rig.conn, wr), 0);
	cr_assert_eq(rig_poll(&rig), 3);
	cr_expect_eq(rig.wc[0].wr_id, 1);
	cr_expect_eq(rig.wc[1].wr_id, 2);
	cr_expect_eq(rig.wc[1].status, FABRIC_WC_FLUSHED);
	cr_expect_eq(rig.wc[2].type, FABRIC_EV_DISCONNECTED);
	rig_close(&rig);
}

Test(verbs_post, receives_complete_in_order_with_their_lengths)
{
	struct rig rig;

	rig_connect(&rig, 4);
	mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 10, 0, 0);
	mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 20, IBV_WC_WITH_INV, 0xbeef);
	cr_assert_eq(rig_poll(&rig), 2);
	cr_expect_eq(rig.wc[0].wr_id, 100);
	cr_expect_eq(rig.wc[0].byte_len, 10);
	cr_expect_not(rig.wc[0].invalidated);
	cr_expect_eq(rig.wc[1].wr_id, 101);
	cr_expect(rig.wc[1].invalidated);
	cr_expect_eq(rig.wc[1].invalidated_rkey, 0xbeef);
	rig_close(&rig);
}

Test(verbs_post, on_rxe_alone_bit_two_means_invalidated)
{
	for (int is_rxe = 0; is_rxe < 2; is_rxe++) {
		struct rig rig;

		mock_init();
		mock.dev.vendor_id = is_rxe ? 0xffffff : 0x15b3;
		rig_connect(&rig, 1);
		mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 10, IBV_WC_IP_CSUM_OK, 0xbeef);
		cr_assert_eq(rig_poll(&rig), 1);
		cr_expect_eq(rig.wc[0].invalidated, is_rxe != 0);
		rig_close(&rig);
	}
}

Test(verbs_post, without_the_device_feature_an_invalidating_send_is_a_plain_one)
{
	for (int able = 0; able < 2; able++) {
		struct fabric_sge sge = whole();
		struct fabric_wr wr = rig_send(1, 0, &sge);
		struct rig rig;

		mock_init();
		if (!able)
			mock.dev.device_cap_flags &= ~(unsigned)IBV_DEVICE_MEM_MGT_EXTENSIONS;
		rig_connect(&rig, 0);
		wr.op = FABRIC_OP_SEND_INV;
		wr.u.inv_rkey = 0x42;
		cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
		cr_expect_eq(mock.qp->sends[0].opcode, able ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND);
		cr_expect_eq(mock.qp->sends[0].invalidate_rkey, 0x42);
		/* siw's library looks here. */
		cr_expect_eq(mock.qp->sends[0].wr.rdma.rkey, 0x42);
		rig_close(&rig);
	}
}

Test(verbs_post, a_completion_before_the_sleep_is_not_slept_over)
{
	struct rig rig;

	rig_connect(&rig, 2);
	/* Asleep: an event wakes it. */
	mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 10, 0, 0);
	cr_expect_eq(OPS->cq_wait(rig.cq, 1000), 0);
	cr_expect_eq(OPS->cq_poll(rig.cq, rig.wc, 64), 1);
	/* Awake, and about to sleep: no event, arming finds it. */
	mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 11, 0, 0);
	cr_expect_eq(OPS->cq_arm(rig.cq), 1);
	cr_expect_eq(OPS->cq_poll(rig.cq, rig.wc, 64), 1);
	cr_expect_eq(rig.wc[0].byte_len, 11);
	cr_expect_eq(OPS->cq_poll(rig.cq, rig.wc, 64), 0);
	cr_expect_eq(OPS->cq_arm(rig.cq), 0);
	cr_expect_eq(OPS->cq_wait(rig.cq, 0), -ETIME);
	rig_close(&rig);
}

/* What a wake-up costs: the sleep and reading the event; and once a poll was empty, nothing more.
 */
Test(verbs_post, waking_up_is_two_system_calls)
{
	struct fabric_counters before, after;
	struct rig rig;

	rig_connect(&rig, 4);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(OPS->cq_poll(rig.cq, rig.wc, 64), 0);
		cr_assert_eq(OPS->cq_arm(rig.cq), 0);
		OPS->cq_counters(rig.cq, &before);
		mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 10 + i, 0, 0);
		cr_expect_eq(OPS->cq_wait(rig.cq, 10000), 0);
		cr_expect_eq(OPS->cq_poll(rig.cq, rig.wc, 64), 1);
		cr_expect_eq(rig.wc[0].byte_len, 10 + i);
		OPS->cq_counters(rig.cq, &after);
		cr_expect_eq(after.receive_calls - before.receive_calls, 2);
	}
	rig_close(&rig);
}

Test(verbs_post, a_busy_caller_still_hears_the_peers_goodbye)
{
	struct rig rig;
	int n = 0;

	rig_connect(&rig, 2);
	mock_event(mock.id, RDMA_CM_EVENT_DISCONNECTED, 0);
	for (int i = 0; i < 1000 && rig.conn->state != FABRIC_CONN_CLOSED; i++) {
		n += OPS->cq_poll(rig.cq, rig.wc, 64);
		usleep(1000);
	}
	cr_expect_eq(rig.conn->state, FABRIC_CONN_CLOSED, "after %d completions", n);
	rig_close(&rig);
}

/* ---- the end ----------------------------------------------------------------------------- */

static void expect_end(struct rig *rig, int sends, int recvs, int code)
{
	int n = rig_poll(rig);

	cr_assert_eq(n, sends + recvs + 1);
	for (int i = 0; i < n - 1; i++)
		(rig->wc[i].type == FABRIC_WC_SEND ? sends-- : recvs--);
	cr_expect_eq(sends, 0);
	cr_expect_eq(recvs, 0);
	cr_expect_eq(rig->wc[n - 1].type, FABRIC_EV_DISCONNECTED);
	cr_expect_eq(rig->conn->err.code, code, "%s", rig->conn->err.what);
	cr_expect_eq(rig->conn->state, FABRIC_CONN_CLOSED);
	cr_expect_null(mock.qp, "the queue pair is gone by then");
}

Test(verbs_end, the_peers_goodbye_flushes_all_and_is_orderly)
{
	struct fabric_sge sge = whole();
	struct fabric_wr wr[2] = {rig_send(1, 0, &sge), rig_send(2, FABRIC_WR_SIGNALED, &sge)};
	struct rig rig;

	rig_connect(&rig, 3);
	wr[0].next = &wr[1];
	cr_assert_eq(OPS->post_send(rig.conn, wr), 0);
	mock_event(mock.id, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_end(&rig, 1, 3, 0);
	cr_expect_eq(mock.disconnects, 1, "the peer's goodbye is answered");
	cr_expect_eq(OPS->post_send(rig.conn, wr), -ENOTCONN);
	rig_close(&rig);
}

Test(verbs_end, what_completed_before_the_end_is_delivered_first)
{
	struct rig rig;

	rig_connect(&rig, 2);
	mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 55, 0, 0);
	mock_event(mock.id, RDMA_CM_EVENT_DISCONNECTED, 0);
	cr_assert_eq(rig_poll(&rig), 3);
	cr_expect_eq(rig.wc[0].status, FABRIC_WC_OK);
	cr_expect_eq(rig.wc[0].byte_len, 55);
	cr_expect_eq(rig.wc[1].status, FABRIC_WC_FLUSHED);
	cr_expect_eq(rig.wc[2].type, FABRIC_EV_DISCONNECTED);
	rig_close(&rig);
}

Test(verbs_end, a_failed_send_says_what_the_device_said_even_unsignalled)
{
	struct fabric_sge sge = whole();
	struct fabric_wr wr = rig_send(1, 0, &sge);
	struct rig rig;

	rig_connect(&rig, 1);
	cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
	mock_complete_send(mock.qp, IBV_WC_REM_ACCESS_ERR);
	expect_end(&rig, 1, 1, -EACCES);
	cr_expect_eq(rig.wc[0].status, FABRIC_WC_REMOTE_ACCESS);
	cr_expect(says(rig.conn->err.what, "10.0.0.2"));
	rig_close(&rig);
}

Test(verbs_end, a_flush_takes_its_reason_from_the_cm_where_it_has_one)
{
	struct rig rig;

	rig_connect(&rig, 1);
	/* The flushed completion is polled first, the CM's event lies behind it. */
	cr_assert_eq(OPS->cq_poll(rig.cq, rig.wc, 64), 0);
	mock_complete_recv(mock.qp, IBV_WC_WR_FLUSH_ERR, 0, 0, 0);
	mock_event(mock.id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	expect_end(&rig, 0, 1, -ENODEV);
	rig_close(&rig);
}

Test(verbs_end, a_failure_found_after_the_peers_goodbye_is_still_the_reason)
{
	struct fabric_sge sge = whole();
	struct fabric_wr wr = rig_send(1, FABRIC_WR_SIGNALED, &sge);
	struct rig rig;

	rig_connect(&rig, 0);
	cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
	mock_complete_send(mock.qp, IBV_WC_REM_ACCESS_ERR);
	mock_event(mock.id, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_end(&rig, 1, 0, -EACCES);
	rig_close(&rig);
}

Test(verbs_end, a_failure_after_our_own_goodbye_is_no_reason)
{
	struct fabric_sge sge = whole();
	struct fabric_wr wr = rig_send(1, FABRIC_WR_SIGNALED, &sge);
	struct rig rig;

	rig_connect(&rig, 0);
	cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
	OPS->conn_disconnect(rig.conn);
	mock_complete_send(mock.qp, IBV_WC_RETRY_EXC_ERR);
	expect_end(&rig, 1, 0, 0);
	rig_close(&rig);
}

Test(verbs_end, a_refusing_cm_ends_its_connections_with_words)
{
	struct rig rig;

	rig_connect(&rig, 2);
	mock_event(mock.id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	mock.fail_call = "rdma_get_cm_event";
	mock.fail_errno = EACCES;
	expect_end(&rig, 0, 2, -EACCES);
	cr_expect(says(rig.conn->err.hint, "credentials"));
	cr_expect_eq(OPS->cq_wait(rig.cq, 0), -ETIME, "it would wake us for ever");
	rig_close(&rig);
}

Test(verbs_end, a_flush_alone_is_a_lost_connection)
{
	struct rig rig;

	rig_connect(&rig, 1);
	mock_complete_recv(mock.qp, IBV_WC_WR_FLUSH_ERR, 0, 0, 0);
	expect_end(&rig, 0, 1, -ECONNRESET);
	rig_close(&rig);
}

Test(verbs_end, our_own_goodbye_is_idempotent_and_tells_once)
{
	struct rig rig;

	rig_connect(&rig, 2);
	OPS->conn_disconnect(rig.conn);
	OPS->conn_disconnect(rig.conn);
	expect_end(&rig, 0, 2, 0);
	cr_expect_eq(mock.disconnects, 1);
	cr_expect_eq(rig_poll(&rig), 0);
	rig_close(&rig);
}

Test(verbs_end, the_flush_may_be_polled_one_by_one)
{
	struct rig rig;
	int n = 0;

	rig_connect(&rig, 4);
	OPS->conn_disconnect(rig.conn);
	while (OPS->cq_poll(rig.cq, rig.wc, 1) == 1)
		n++;
	cr_expect_eq(n, 5);
	cr_expect_eq(rig.wc[0].type, FABRIC_EV_DISCONNECTED);
	rig_close(&rig);
}

Test(verbs_end, destroying_with_everything_outstanding_is_clean)
{
	struct fabric_sge sge = whole();
	struct fabric_wr wr = rig_send(1, FABRIC_WR_SIGNALED, &sge);
	struct rig rig;

	rig_connect(&rig, 8);
	cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
	mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 1, 0, 0);
	mock_event(mock.id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_close(&rig);
}

Test(verbs_end, destroying_one_connection_leaves_its_neighbour_alone)
{
	struct fabric_conn_params params = rig_params();
	struct fabric_conn *other;
	struct mock_qp *first;
	struct rig rig;

	rig_connect(&rig, 2);
	first = mock.qp;
	cr_assert_eq(OPS->conn_connect(rig.cq, &params, &other, &rig.err), 0);
	cr_assert_eq(rig_poll(&rig), 1);
	OPS->conn_destroy(other);
	mock_complete_recv(first, IBV_WC_SUCCESS, 7, 0, 0);
	cr_assert_eq(rig_poll(&rig), 1);
	cr_expect_eq(rig.wc[0].conn, rig.conn);
	rig_close(&rig);
}

/* ---- memory ------------------------------------------------------------------------------ */

static int reg(struct rig *rig, void *addr, size_t len, unsigned access,
	       struct mr_registration *out)
{
	struct mr_provider *p = rig->domain->provider;

	return p->ops->register_memory(p, addr, len, 4096, access, out, &rig->err);
}

static void dereg(struct rig *rig, struct mr_registration *r)
{
	rig->domain->provider->ops->deregister_memory(rig->domain->provider, r);
}

Test(verbs_mr, no_process_address_goes_on_the_wire)
{
	static _Alignas(4096) char pages[3 * 4096];
	struct mr_registration a, b;
	struct rig rig;

	rig_open(&rig);
	cr_assert_eq(reg(&rig, pages, sizeof(pages), MR_ACCESS_REMOTE_READ, &a), 0);
	cr_assert_eq(reg(&rig, pages + 100, 5000, MR_ACCESS_REMOTE_WRITE, &b), 0);
	cr_expect_neq(a.iova, (uintptr_t)pages);
	cr_expect_eq(a.iova % 4096, 0);
	cr_expect_eq(b.iova % 4096, 100, "congruent to the memory");
	cr_expect_eq(a.pages_charged, 3);
	cr_expect_eq(b.pages_charged, 2, "5000 bytes from offset 100 touch two pages");
	cr_expect_eq(a.iova_maps, 1);
	cr_expect(b.iova >= a.iova + sizeof(pages) || a.iova >= b.iova + 2 * 4096, "disjoint");
	cr_expect(mock.last_access & IBV_ACCESS_REMOTE_WRITE);
	dereg(&rig, &a);
	dereg(&rig, &b);
	cr_expect_eq(iommu_space_used(verbs_domain(rig.domain)->space), 0);
	rig_close(&rig);
}

Test(verbs_mr, where_the_device_insists_the_region_address_is_the_process_address)
{
	for (int silent = 0; silent < 2; silent++) {
		static char page[4096];
		struct mr_registration a;
		struct rig rig;

		mock_init();
		if (silent)
			mock.dev.vendor_id = 0x626d74; /* siw says nothing */
		else
			mock.iova_refused = true;
		rig_open(&rig);
		cr_assert_eq(reg(&rig, page, sizeof(page), MR_ACCESS_REMOTE_READ, &a), 0);
		cr_expect_eq(a.iova, (uintptr_t)page);
		cr_expect_eq(mock.last_iova, (uintptr_t)page);
		dereg(&rig, &a);
		rig_close(&rig);
	}
}

Test(verbs_mr, a_refused_registration_names_the_cause_and_gives_the_address_back)
{
	static char page[4096];
	struct mr_registration a;
	struct rig rig;

	rig_open(&rig);
	mock.fail_call = "ibv_reg_mr";
	mock.fail_errno = EFAULT;
	cr_expect_eq(reg(&rig, page, sizeof(page), MR_ACCESS_LOCAL_WRITE, &a), -EFAULT);
	cr_expect(says(rig.err.what, "cannot be pinned"));
	cr_expect(says(rig.err.what, "mock0"));
	cr_expect_eq(iommu_space_used(verbs_domain(rig.domain)->space), 0);
	cr_expect_eq(reg(&rig, page, 0, MR_ACCESS_LOCAL_WRITE, &a), -EINVAL);
	rig_close(&rig);
}

Test(verbs_mr, binding_a_window_changes_its_key_when_posted)
{
	static char page[4096];
	struct mr_registration a;
	struct mr_window window = {0};
	struct mr_provider *p;
	struct fabric_wr wr = {.wr_id = 1, .op = FABRIC_OP_BIND};
	uint32_t before;
	struct rig rig;

	rig_connect(&rig, 0);
	p = rig.domain->provider;
	cr_assert_eq(reg(&rig, page, sizeof(page), MR_ACCESS_WINDOW_BIND, &a), 0);
	cr_assert_eq(p->ops->window_alloc(p, &window), 0);
	before = window.rkey;
	wr.u.bind.window = &window;
	wr.u.bind.reg = &a;
	wr.u.bind.iova = a.iova + 16;
	wr.u.bind.len = 64;
	wr.u.bind.access = MR_ACCESS_REMOTE_READ;
	cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
	cr_expect_eq(window.rkey, ibv_inc_rkey(before));
	cr_expect_eq(mock.qp->sends[0].bind_mw.rkey, window.rkey);
	cr_expect_eq(mock.qp->sends[0].bind_mw.bind_info.addr, a.iova + 16);
	cr_expect_eq(mock.qp->sends[0].bind_mw.bind_info.mw_access_flags, IBV_ACCESS_REMOTE_READ);
	/* rxe's library looks here for the key to replace. */
	cr_expect_eq(((struct verbs_window *)window.priv)->mw->rkey, window.rkey);
	/* A refused bind leaves the key as it is. */
	mock.post_send_takes = 0;
	cr_expect_lt(OPS->post_send(rig.conn, &wr), 0);
	cr_expect_eq(window.rkey, ibv_inc_rkey(before));
	p->ops->window_free(p, &window);
	dereg(&rig, &a);
	rig_close(&rig);
}

/* rxe waits 50 s for a window that holds the queue pair. */
Test(verbs_mr, windows_go_before_the_queue_pair_they_are_bound_on)
{
	static char page[4096];
	struct mr_window windows[2] = {0};
	struct mr_registration a;
	struct mr_provider *p;
	struct fabric_wr wr = {.wr_id = 1, .op = FABRIC_OP_BIND, .u.bind = {.reg = &a, .len = 64}};
	struct rig rig;

	rig_connect(&rig, 0);
	p = rig.domain->provider;
	cr_assert_eq(reg(&rig, page, sizeof(page), MR_ACCESS_WINDOW_BIND, &a), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(p->ops->window_alloc(p, &windows[i]), 0);
		wr.u.bind.window = &windows[i];
		wr.u.bind.iova = a.iova;
		cr_assert_eq(OPS->post_send(rig.conn, &wr), 0);
	}
	p->ops->window_free(p, &windows[0]);
	cr_assert_eq(mock.windows, 1);
	OPS->conn_destroy(rig.conn);
	rig.conn = NULL;
	cr_expect_eq(mock.windows_under_qp, 0);
	cr_expect_eq(mock.windows, 0);
	p->ops->window_free(p, &windows[1]);
	cr_expect_null(windows[1].priv);
	dereg(&rig, &a);
	rig_close(&rig);
}

Test(verbs_mr, a_device_without_windows_says_so)
{
	struct mr_window window = {0};
	struct mr_provider *p;
	struct rig rig;

	mock.dev.device_cap_flags = 0;
	rig_open(&rig);
	p = rig.domain->provider;
	cr_expect_eq(p->max_windows, 0);
	cr_expect_eq(p->ops->window_alloc(p, &window), -EOPNOTSUPP);
	rig_close(&rig);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* test_connect.c - devices, domains, and the active side's walk, with each step failing. */
#include <errno.h>

#include "tests/verbs/rig.h"

TestSuite(verbs_domain, .init = mock_init);
TestSuite(verbs_connect, .init = mock_init);

static int open_domain(struct rig *rig)
{
	struct sockaddr_in peer = rig_addr("10.0.0.2", 20049);

	memset(rig, 0, sizeof(*rig));
	cr_assert_eq(OPS->open(&rig->fabric, NULL, &rig->err), 0);
	return OPS->domain_open(rig->fabric, (struct sockaddr *)&peer, sizeof(peer), 50,
				&rig->domain, &rig->err);
}

Test(verbs_domain, without_a_device_says_so_and_touches_nothing)
{
	struct rig rig;

	mock.no_device = true;
	cr_expect_eq(open_domain(&rig), -ENODEV);
	cr_expect(says(rig.err.what, "no RDMA device"));
	cr_expect(says(rig.err.hint, "iwarp"));
	cr_expect_eq(mock.calls, 0);
	rig_close(&rig);
}

Test(verbs_domain, without_the_cm_module_names_it)
{
	struct rig rig;

	mock.no_cm = true;
	cr_expect_eq(open_domain(&rig), -ENODEV);
	cr_expect(says(rig.err.hint, "rdma_ucm"));
	rig_close(&rig);
}

Test(verbs_domain, without_a_route_over_a_device_says_so)
{
	struct rig rig;

	mock.address = (struct mock_answer){.type = RDMA_CM_EVENT_ADDR_ERROR, .status = -ENODEV};
	cr_expect_eq(open_domain(&rig), -ENODEV);
	cr_expect(says(rig.err.what, "routes to 10.0.0.2"));
	rig_close(&rig);
}

Test(verbs_domain, gives_up_on_a_silent_cm_in_time)
{
	struct rig rig;

	mock.address.type = -1;
	cr_expect_eq(open_domain(&rig), -ETIMEDOUT);
	rig_close(&rig);
}

Test(verbs_domain, every_failing_step_leaves_nothing_behind)
{
	struct rig rig;
	unsigned total;

	cr_assert_eq(open_domain(&rig), 0);
	total = mock.calls;
	rig_close(&rig);
	for (unsigned i = 0; i < total; i++) {
		int ret;

		mock_init();
		mock.fail_call = "*";
		mock.fail_after = (int)i;
		ret = open_domain(&rig);
		/* What is only tried out (inline room, region addresses) may fail. */
		cr_expect(ret == 0 || (ret < 0 && rig.err.what[0]), "step %u", i);
		if (ret)
			rig.domain = NULL;
		rig_close(&rig);
	}
}

Test(verbs_domain, finds_the_inline_room_by_trying)
{
	struct rig rig;

	mock.max_inline = 300;
	cr_assert_eq(open_domain(&rig), 0);
	cr_expect_eq(rig.domain->attr.max_inline, 256);
	cr_expect_str_eq(rig.domain->attr.device, "mock0");
	cr_expect_eq(rig.domain->attr.link_bps, UINT64_C(40000000000));
	rig_close(&rig);
}

Test(verbs_connect, walks_to_established_with_private_data_both_ways)
{
	struct fabric_conn_params params = rig_params();
	struct rig rig;

	mock.connect.private_len = 3;
	memcpy(mock.connect.private_data, "xyz", 3);
	memcpy(params.private_data, "hello", 5);
	params.private_len = 5;
	rig_open(&rig);
	cr_assert_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), 0);
	cr_expect_eq(rig.conn->state, FABRIC_CONN_CONNECTING);
	cr_expect_neq(OPS->cq_deadline(rig.cq), 0);
	rig_post_recvs(&rig, 8, 100);
	cr_assert_eq(rig_poll(&rig), 1);
	cr_expect_eq(rig.wc[0].type, FABRIC_EV_ESTABLISHED);
	cr_expect_eq(rig.wc[0].conn, rig.conn);
	cr_expect_eq(rig.conn->peer_private_len, 3);
	cr_expect_eq(memcmp(rig.conn->peer_private, "xyz", 3), 0);
	cr_expect_eq(mock.connect_param.private_data_len, 5);
	cr_expect_eq(memcmp(mock.connect_private, "hello", 5), 0);
	cr_expect_eq(mock.connect_param.responder_resources, 16);
	cr_expect_eq(OPS->cq_deadline(rig.cq), 0, "the set-up's deadline is gone");
	/* What was posted before there was a queue pair came in one chain. */
	cr_expect_eq(mock.qp->nrecvs, 8);
	cr_expect_eq(mock.qp->recv_doorbells, 1);
	rig_close(&rig);
}

Test(verbs_connect, sends_before_the_connection_stands_are_refused)
{
	struct fabric_conn_params params = rig_params();
	struct fabric_wr wr = rig_send(1, FABRIC_WR_SIGNALED, NULL);
	struct rig rig;

	rig_open(&rig);
	cr_assert_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), 0);
	cr_expect_eq(OPS->post_send(rig.conn, &wr), -ENOTCONN);
	rig_close(&rig);
}

/* Connect, expect the end with code, all eight receives flushed before it. */
static void expect_failure(struct rig *rig, int code)
{
	struct fabric_conn_params params = rig_params();

	rig_open(rig);
	cr_assert_eq(OPS->conn_connect(rig->cq, &params, &rig->conn, &rig->err), 0);
	rig_post_recvs(rig, 8, 100);
	cr_assert_eq(rig_poll(rig), 9);
	for (int i = 0; i < 8; i++) {
		cr_expect_eq(rig->wc[i].type, FABRIC_WC_RECV);
		cr_expect_eq(rig->wc[i].status, FABRIC_WC_FLUSHED);
		cr_expect_eq(rig->wc[i].wr_id, 100 + i);
	}
	cr_expect_eq(rig->wc[8].type, FABRIC_EV_DISCONNECTED);
	cr_expect_eq(rig->conn->state, FABRIC_CONN_CLOSED);
	cr_expect_eq(rig->conn->err.code, code, "%s", rig->conn->err.what);
	cr_expect(says(rig->conn->err.what, "10.0.0.2"), "%s", rig->conn->err.what);
	cr_expect_eq(rig_poll(rig), 0, "nothing after the last word");
	rig_close(rig);
}

Test(verbs_connect, each_failing_event_ends_it_with_its_reason)
{
	struct rig rig;
	struct mock_answer *step;

	for (int i = 0; i < 4; i++) {
		mock_init();
		rig_open(&rig); /* the domain's own resolution must succeed */
		rig_close(&rig);
		mock_init();
		step = i == 0 ? &mock.route : &mock.connect;
		step->type = i == 0   ? RDMA_CM_EVENT_ROUTE_ERROR
			     : i == 1 ? RDMA_CM_EVENT_REJECTED
			     : i == 2 ? RDMA_CM_EVENT_UNREACHABLE
				      : RDMA_CM_EVENT_CONNECT_ERROR;
		step->status = i == 1 ? 8 : -EHOSTUNREACH;
		expect_failure(&rig, i == 1 ? -ECONNREFUSED : -EHOSTUNREACH);
	}
}

Test(verbs_connect, each_failing_call_ends_it_with_its_reason)
{
	static const char *const calls[] = {"rdma_resolve_route", "rdma_create_qp", "ibv_post_recv",
					    "rdma_connect"};
	struct rig rig;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(calls); i++) {
		struct fabric_conn_params params = rig_params();

		mock_init();
		rig_open(&rig);
		mock.fail_call = calls[i];
		mock.fail_errno = EINVAL;
		cr_assert_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), 0);
		rig_post_recvs(&rig, 2, 100);
		cr_assert_eq(rig_poll(&rig), 3, "%s", calls[i]);
		cr_expect_eq(rig.wc[2].type, FABRIC_EV_DISCONNECTED);
		cr_expect_eq(rig.conn->err.code, -EINVAL, "%s: %s", calls[i], rig.conn->err.what);
		rig_close(&rig);
	}
}

Test(verbs_connect, a_silent_peer_is_given_up_at_the_deadline)
{
	struct fabric_conn_params params = rig_params();
	struct rig rig;

	mock.connect.type = -1;
	params.timeout_ms = 30;
	rig_open(&rig);
	cr_assert_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), 0);
	cr_expect_eq(rig_poll(&rig), 0);
	/* The sleep ends by itself when the deadline is there. */
	while (OPS->cq_wait(rig.cq, -1) == 0 && !rig_poll(&rig))
		;
	cr_expect_eq(rig.wc[0].type, FABRIC_EV_DISCONNECTED);
	cr_expect_eq(rig.conn->err.code, -ETIMEDOUT);
	rig_close(&rig);
}

Test(verbs_connect, a_route_that_moved_to_another_device_is_an_error_not_a_crash)
{
	struct fabric_conn_params params = rig_params();
	struct rig rig;

	rig_open(&rig);
	mock.other_device = true;
	cr_assert_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), 0);
	cr_assert_eq(rig_poll(&rig), 1);
	cr_expect_eq(rig.conn->err.code, -ENODEV);
	cr_expect(says(rig.conn->err.what, "mock0"));
	rig_close(&rig);
}

Test(verbs_connect, parameters_beyond_the_device_are_refused_with_both_numbers)
{
	struct fabric_conn_params params = rig_params();
	struct rig rig;

	rig_open(&rig);
	params.max_send_wr = 100000;
	cr_expect_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), -EINVAL);
	cr_expect(says(rig.err.what, "100000"));
	params = rig_params();
	params.max_sge = 31;
	cr_expect_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), -EINVAL);
	rig_close(&rig);
}

Test(verbs_connect, a_reserved_port_is_searched_for)
{
	struct fabric_conn_params params = rig_params();
	struct rig rig;
	uint16_t port;

	rig_open(&rig);
	params.resvport = true;
	mock.fail_bind_ports = 20;
	cr_assert_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), 0);
	port = ntohs(((struct sockaddr_in *)&mock.bound)->sin_port);
	cr_expect(port >= 512 && port < 1024, "%u", port);
	rig_close(&rig);
}

Test(verbs_connect, no_right_to_reserved_ports_is_explained)
{
	struct fabric_conn_params params = rig_params();
	struct rig rig;

	rig_open(&rig);
	params.resvport = true;
	mock.fail_call = "rdma_bind_addr";
	mock.fail_errno = EACCES;
	cr_expect_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), -EACCES);
	cr_expect(says(rig.err.hint, "noresvport"));
	rig_close(&rig);
}

Test(verbs_connect, destroying_in_any_stage_leaves_nothing_behind)
{
	/* The walk stops at this step's silence; destroy there. */
	for (int stop = 0; stop < 4; stop++) {
		struct fabric_conn_params params = rig_params();
		struct rig rig;

		mock_init();
		rig_open(&rig);
		if (stop == 0)
			mock.address.type = -1;
		else if (stop == 1)
			mock.route.type = -1;
		else if (stop == 2)
			mock.connect.type = -1;
		cr_assert_eq(OPS->conn_connect(rig.cq, &params, &rig.conn, &rig.err), 0);
		rig_post_recvs(&rig, 4, 100);
		/* With events still lying in the channels, and after they were taken. */
		if (stop < 3)
			rig_poll(&rig);
		rig_close(&rig);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* test_listen.c - listeners, requests, accept, reject. */
#include <errno.h>
#include <poll.h>

#include "tests/verbs/rig.h"

TestSuite(verbs_listen, .init = mock_init);

struct server {
	struct rig rig;
	struct fabric_listener *listener;
	struct fabric_request *req;
};

static void server_listen(struct server *server)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct sockaddr_storage bound;

	memset(server, 0, sizeof(*server));
	cr_assert_eq(OPS->open(&server->rig.fabric, NULL, NULL), 0);
	cr_assert_eq(OPS->listen(server->rig.fabric, (struct sockaddr *)&any, sizeof(any), &bound,
				 &server->listener, &server->rig.err),
		     0);
	cr_expect_eq(ntohs(((struct sockaddr_in *)&bound)->sin_port), 34567);
}

static void server_request(struct server *server)
{
	mock_request("ask", 3);
	cr_assert_eq(OPS->listener_poll(server->listener, &server->req), 0);
	server->rig.domain = server->req->domain;
	cr_assert_eq(OPS->cq_create(server->req->domain, 64, &server->rig.cq, NULL), 0);
}

/* The domain is the request's and the cq's: neither is the rig's to put. */
static void server_close(struct server *server)
{
	server->rig.domain = NULL;
	if (server->listener)
		OPS->listener_close(server->listener);
	rig_close(&server->rig);
}

Test(verbs_listen, without_a_device_says_so)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct server server = {0};

	mock.no_device = true;
	cr_assert_eq(OPS->open(&server.rig.fabric, NULL, NULL), 0);
	cr_expect_eq(OPS->listen(server.rig.fabric, (struct sockaddr *)&any, sizeof(any), NULL,
				 &server.listener, &server.rig.err),
		     -ENODEV);
	server_close(&server);
}

Test(verbs_listen, a_port_in_use_is_explained_and_nothing_left)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct server server = {0};

	mock.fail_call = "rdma_listen";
	mock.fail_errno = EADDRINUSE;
	cr_assert_eq(OPS->open(&server.rig.fabric, NULL, NULL), 0);
	cr_expect_eq(OPS->listen(server.rig.fabric, (struct sockaddr *)&any, sizeof(any), NULL,
				 &server.listener, &server.rig.err),
		     -EADDRINUSE);
	cr_expect(server.rig.err.hint[0]);
	server_close(&server);
}

Test(verbs_listen, polls_empty_until_a_request_comes)
{
	struct server server;

	server_listen(&server);
	cr_expect_eq(OPS->listener_poll(server.listener, &server.req), -EAGAIN);
	server_request(&server);
	cr_expect_eq(server.req->peer_private_len, 3);
	cr_expect_eq(memcmp(server.req->peer_private, "ask", 3), 0);
	cr_expect_eq(((struct sockaddr_in *)&server.req->peer)->sin_port, htons(1023));
	OPS->request_reject(server.req);
	cr_expect_eq(mock.rejects, 1);
	server_close(&server);
}

Test(verbs_listen, accepts_after_receives_are_posted_and_answers_with_private_data)
{
	struct fabric_conn_params params = rig_params();
	struct server server;

	server_listen(&server);
	server_request(&server);
	memcpy(params.private_data, "yes", 3);
	params.private_len = 3;
	cr_assert_eq(OPS->conn_accept(server.rig.cq, server.req, &params, &server.rig.conn, NULL),
		     0);
	rig_post_recvs(&server.rig, 8, 100);
	cr_expect_eq(mock.qp->nrecvs, 8, "posted before the peer hears of us");
	cr_expect_eq(mock.accept_param.private_data_len, 0);
	cr_assert_eq(OPS->conn_start(server.rig.conn), 0);
	cr_expect_eq(mock.accept_param.private_data_len, 3);
	/* No more reads than either side can do: the peer wants 4 of us and grants 8. */
	cr_expect_eq(mock.accept_param.responder_resources, 4);
	cr_expect_eq(mock.accept_param.initiator_depth, 8);
	cr_assert_eq(rig_poll(&server.rig), 1);
	cr_expect_eq(server.rig.wc[0].type, FABRIC_EV_ESTABLISHED);
	cr_expect_eq(memcmp(server.rig.conn->peer_private, "ask", 3), 0);
	server_close(&server);
}

Test(verbs_listen, the_first_message_may_overtake_the_word_that_the_connection_stands)
{
	struct fabric_conn_params params = rig_params();
	struct server server;

	mock.accept.type = -1;
	server_listen(&server);
	server_request(&server);
	cr_assert_eq(OPS->conn_accept(server.rig.cq, server.req, &params, &server.rig.conn, NULL),
		     0);
	rig_post_recvs(&server.rig, 2, 100);
	cr_assert_eq(OPS->conn_start(server.rig.conn), 0);
	cr_expect_eq(rig_poll(&server.rig), 0);
	mock_complete_recv(mock.qp, IBV_WC_SUCCESS, 40, 0, 0);
	cr_assert_eq(rig_poll(&server.rig), 2);
	cr_expect_eq(server.rig.wc[0].type, FABRIC_EV_ESTABLISHED);
	cr_expect_eq(server.rig.wc[1].type, FABRIC_WC_RECV);
	cr_expect_eq(server.rig.wc[1].byte_len, 40);
	/* The late word is not told twice. */
	mock_event(mock.id, RDMA_CM_EVENT_ESTABLISHED, 0);
	cr_expect_eq(rig_poll(&server.rig), 0);
	server_close(&server);
}

Test(verbs_listen, a_peer_gone_before_it_stood_is_an_end_not_an_establishment)
{
	struct fabric_conn_params params = rig_params();
	struct server server;

	mock.accept.type = -1;
	server_listen(&server);
	server_request(&server);
	cr_assert_eq(OPS->conn_accept(server.rig.cq, server.req, &params, &server.rig.conn, NULL),
		     0);
	rig_post_recvs(&server.rig, 1, 100);
	cr_assert_eq(OPS->conn_start(server.rig.conn), 0);
	mock_complete_recv(mock.qp, IBV_WC_WR_FLUSH_ERR, 0, 0, 0);
	cr_assert_eq(rig_poll(&server.rig), 2);
	cr_expect_eq(server.rig.wc[0].status, FABRIC_WC_FLUSHED);
	cr_expect_eq(server.rig.wc[1].type, FABRIC_EV_DISCONNECTED);
	server_close(&server);
}

Test(verbs_listen, a_failing_accept_leaves_the_request_to_be_rejected)
{
	static const char *const calls[] = {"ibv_create_cq", "rdma_create_qp", "rdma_migrate_id"};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(calls); i++) {
		struct fabric_conn_params params = rig_params();
		struct server server;

		mock_init();
		server_listen(&server);
		server_request(&server);
		mock.fail_call = calls[i];
		cr_expect_lt(OPS->conn_accept(server.rig.cq, server.req, &params, &server.rig.conn,
					      &server.rig.err),
			     0);
		cr_expect(server.rig.err.what[0]);
		OPS->request_reject(server.req);
		server_close(&server);
	}
}

Test(verbs_listen, a_peer_that_gave_up_makes_start_fail_and_the_connection_end)
{
	struct fabric_conn_params params = rig_params();
	struct server server;

	server_listen(&server);
	server_request(&server);
	cr_assert_eq(OPS->conn_accept(server.rig.cq, server.req, &params, &server.rig.conn, NULL),
		     0);
	mock.fail_call = "rdma_accept";
	mock.fail_errno = EINVAL;
	cr_expect_eq(OPS->conn_start(server.rig.conn), -EINVAL);
	cr_assert_eq(rig_poll(&server.rig), 1);
	cr_expect_eq(server.rig.wc[0].type, FABRIC_EV_DISCONNECTED);
	server_close(&server);
}

Test(verbs_listen, requests_of_one_device_share_its_domain)
{
	struct fabric_request *second;
	struct server server;

	server_listen(&server);
	server_request(&server);
	mock_request("two", 3);
	cr_assert_eq(OPS->listener_poll(server.listener, &second), 0);
	cr_expect_eq(second->domain, server.req->domain);
	OPS->request_reject(second);
	OPS->request_reject(server.req);
	server_close(&server);
}

Test(verbs_listen, the_domain_lives_until_the_listener_closes)
{
	struct fabric_domain *domain;
	struct server server;

	server_listen(&server);
	server_request(&server);
	domain = server.req->domain;
	OPS->request_reject(server.req);
	OPS->cq_destroy(server.rig.cq);
	server.rig.cq = NULL;
	cr_expect_str_eq(domain->attr.device, "mock0");
	mock_request("two", 3);
	cr_assert_eq(OPS->listener_poll(server.listener, &server.req), 0);
	cr_expect_eq(server.req->domain, domain, "the same, not a new one");
	OPS->request_reject(server.req);
	server_close(&server);
}

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

Test(verbs_listen, a_refusing_cm_is_not_asked_for_ever)
{
	struct server server;

	server_listen(&server);
	mock_request("ask", 3);
	cr_expect(readable(OPS->listener_fd(server.listener)));
	mock.fail_call = "rdma_get_cm_event";
	mock.fail_errno = EACCES;
	cr_expect_eq(OPS->listener_poll(server.listener, &server.req), -EAGAIN);
	cr_expect_not(readable(OPS->listener_fd(server.listener)), "it would wake us for ever");
	server_close(&server);
}

Test(verbs_listen, closing_with_a_request_unpolled_leaves_nothing)
{
	struct server server;

	server_listen(&server);
	mock_request("ask", 3);
	server_close(&server);
}

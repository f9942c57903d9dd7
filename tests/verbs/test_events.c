/* SPDX-License-Identifier: BSD-2-Clause */
/* test_events.c - what a device says out of turn is said, once, and wakes nobody for ever. */
#include <errno.h>
#include <stdio.h>

#include "tests/verbs/rig.h"

TestSuite(verbs_events, .init = mock_init);

/* The last line of the log, and how many there were. */
struct told {
	char line[256];
	enum util_log_level level;
	unsigned count;
};

static void keep(void *arg, enum util_log_level level, const char *line)
{
	struct told *told = arg;

	snprintf(told->line, sizeof(told->line), "%s", line);
	told->level = level;
	told->count++;
}

/* rig_open with a log; what opening said is forgotten. */
static void open_told(struct rig *rig, const struct util_log *log, struct told *told)
{
	struct sockaddr_in peer = rig_addr("10.0.0.2", 20049);
	struct fabric_options options = {.log = log};

	memset(rig, 0, sizeof(*rig));
	cr_assert_eq(OPS->open(&rig->fabric, &options, &rig->err), 0);
	cr_assert_eq(OPS->domain_open(rig->fabric, (struct sockaddr *)&peer, sizeof(peer), 1000,
				      &rig->domain, &rig->err),
		     0, "%s", rig->err.what);
	cr_assert_eq(OPS->cq_create(rig->domain, 64, &rig->cq, &rig->err), 0, "%s", rig->err.what);
	*told = (struct told){0};
}

Test(verbs_events, a_port_that_goes_down_wakes_the_cq_and_is_said_once)
{
	struct told told;
	struct util_log log = {.fn = keep, .arg = &told, .level = UTIL_LOG_DEBUG};
	struct rig rig;

	open_told(&rig, &log, &told);
	cr_expect_eq(rig_poll(&rig), 0);
	mock_async(IBV_EVENT_PORT_ERR, 1);
	cr_expect_eq(OPS->cq_wait(rig.cq, 1000), 0);
	cr_expect_eq(rig_poll(&rig), 0);
	cr_expect_eq(told.count, 1);
	cr_expect_eq(told.level, UTIL_LOG_WARN);
	cr_expect(says(told.line, "mock0") && says(told.line, "down") && says(told.line, "port 1"),
		  "%s", told.line);
	cr_expect_eq(OPS->cq_wait(rig.cq, 0), -ETIME);
	cr_expect_eq(mock.async_taken, 0, "each is acknowledged");
	rig_close(&rig);
}

Test(verbs_events, each_event_has_words)
{
	struct told told;
	struct util_log log = {.fn = keep, .arg = &told, .level = UTIL_LOG_DEBUG};
	struct rig rig;

	open_told(&rig, &log, &told);
	for (int type = IBV_EVENT_CQ_ERR; type <= IBV_EVENT_WQ_FATAL; type++) {
		mock_async((enum ibv_event_type)type, 2);
		cr_expect_eq(OPS->cq_wait(rig.cq, 1000), 0);
		cr_expect_eq(rig_poll(&rig), 0);
		cr_expect(says(told.line, "verbs: mock0: a") || says(told.line, ": the ") ||
				  says(told.line, ": something"),
			  "%d: %s", type, told.line);
	}
	cr_expect_eq(told.count, IBV_EVENT_WQ_FATAL + 1);
	rig_close(&rig);
}

Test(verbs_events, events_that_cannot_be_read_do_not_keep_the_cq_awake)
{
	struct rig rig;

	rig_connect(&rig, 1);
	mock.async_lost = true;
	mock_async(IBV_EVENT_DEVICE_FATAL, 0);
	cr_expect_eq(OPS->cq_wait(rig.cq, 1000), 0);
	cr_expect_eq(rig_poll(&rig), 0);
	cr_expect_eq(OPS->cq_wait(rig.cq, 0), -ETIME);
	cr_expect_eq(rig.conn->state, FABRIC_CONN_ESTABLISHED, "events are words only");
	rig_close(&rig);
}

/* A Send that is never acknowledged, with the port in that state; the hint of the end. */
static void end_by_silence(struct rig *rig, enum ibv_port_state state)
{
	struct fabric_wr wr = rig_send(1, FABRIC_WR_SIGNALED, NULL);

	mock_init();
	rig_connect(rig, 1);
	cr_assert_eq(OPS->post_send(rig->conn, &wr), 0);
	mock.port.state = state;
	mock_complete_send(mock.qp, IBV_WC_RETRY_EXC_ERR);
	cr_assert_gt(rig_poll(rig), 0);
	cr_expect_eq(rig->conn->err.code, -ETIMEDOUT, "%s", rig->conn->err.what);
}

Test(verbs_events, silence_is_explained_by_the_own_port_if_that_is_down)
{
	struct rig rig;

	end_by_silence(&rig, IBV_PORT_DOWN);
	cr_expect(says(rig.conn->err.hint, "port 1 of RDMA device mock0 is down"), "%s",
		  rig.conn->err.hint);
	rig_close(&rig);
	end_by_silence(&rig, IBV_PORT_ACTIVE);
	cr_expect(says(rig.conn->err.hint, "is the server up"), "%s", rig.conn->err.hint);
	rig_close(&rig);
}

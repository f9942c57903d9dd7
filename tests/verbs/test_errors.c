/* SPDX-License-Identifier: BSD-2-Clause */
/* test_errors.c - every completion and CM error has a code and words. */
#include <errno.h>

#include "tests/verbs/rig.h"

Test(verbs_errors, completion_statuses_map_to_the_fabrics)
{
	static const struct {
		enum ibv_wc_status in;
		enum fabric_wc_status out;
		int code;
	} cases[] = {
		{IBV_WC_SUCCESS, FABRIC_WC_OK, 0},
		{IBV_WC_WR_FLUSH_ERR, FABRIC_WC_FLUSHED, -ECONNRESET},
		{IBV_WC_LOC_LEN_ERR, FABRIC_WC_LENGTH, -EMSGSIZE},
		{IBV_WC_LOC_PROT_ERR, FABRIC_WC_LOCAL_PROTECTION, -EFAULT},
		{IBV_WC_REM_ACCESS_ERR, FABRIC_WC_REMOTE_ACCESS, -EACCES},
		{IBV_WC_REM_OP_ERR, FABRIC_WC_REMOTE_ERROR, -EREMOTEIO},
		{IBV_WC_RETRY_EXC_ERR, FABRIC_WC_RETRY, -ETIMEDOUT},
		{IBV_WC_RNR_RETRY_EXC_ERR, FABRIC_WC_RNR, -ENOBUFS},
		{IBV_WC_FATAL_ERR, FABRIC_WC_OTHER, -EIO},
		{(enum ibv_wc_status)9999, FABRIC_WC_OTHER, -EIO},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		cr_expect_eq(verbs_wc_status(cases[i].in), cases[i].out, "status %d", cases[i].in);
		cr_expect_eq(verbs_wc_errno(cases[i].in), cases[i].code, "status %d", cases[i].in);
	}
}

Test(verbs_errors, every_status_but_success_fails)
{
	for (int i = IBV_WC_SUCCESS + 1; i <= IBV_WC_TM_RNDV_INCOMPLETE; i++) {
		cr_expect_neq(verbs_wc_status((enum ibv_wc_status)i), FABRIC_WC_OK);
		cr_expect_lt(verbs_wc_errno((enum ibv_wc_status)i), 0);
	}
}

static int event_err(struct util_err *err, enum rdma_cm_event_type event, int status, bool iwarp)
{
	struct sockaddr_in peer = rig_addr("10.0.0.2", 20049);

	return verbs_cm_event_err(err, event, status, iwarp, (struct sockaddr *)&peer);
}

Test(verbs_errors, a_rejection_for_want_of_a_listener_is_a_refused_connection)
{
	struct util_err err;

	cr_expect_eq(event_err(&err, RDMA_CM_EVENT_REJECTED, 8, false), -ECONNREFUSED);
	cr_expect(says(err.what, "10.0.0.2 port 20049"));
	cr_expect(says(err.what, "nothing listens"));
	cr_expect(err.hint[0]);
	cr_expect_eq(event_err(&err, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, true), -ECONNREFUSED);
	cr_expect(says(err.what, "Connection refused"));
	/* What siw reports for an MPA reply with the reject bit. */
	cr_expect_eq(event_err(&err, RDMA_CM_EVENT_REJECTED, -ECONNRESET, true), -ECONNREFUSED);
	cr_expect(says(err.what, "rejected"));
}

Test(verbs_errors, each_reason_of_rejection_has_a_code_and_words)
{
	static const int reasons[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
				      15, 16, 17, 24, 25, 26, 27, 28, 29, 30, 31, 32, 35};
	struct util_err err;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(reasons); i++) {
		int code = event_err(&err, RDMA_CM_EVENT_REJECTED, reasons[i], false);

		cr_expect_lt(code, 0);
		cr_expect_eq(err.code, code);
		cr_expect(says(err.what, "rejected: "), "%d: %s", reasons[i], err.what);
	}
}

Test(verbs_errors, a_failed_completion_names_the_devices_own_word_and_number)
{
	struct sockaddr_in peer = rig_addr("10.0.0.2", 20049);
	struct ibv_wc wc = {.status = IBV_WC_LOC_QP_OP_ERR, .vendor_err = 0x8a};
	struct util_err err;

	verbs_wc_err(&err, &wc, (struct sockaddr *)&peer);
	cr_expect_eq(err.code, -EIO);
	cr_expect(says(err.what, "10.0.0.2") && says(err.what, "mock's failure") &&
			  says(err.what, "0x8a"),
		  "%s", err.what);
	cr_expect(err.hint[0]);
}

Test(verbs_errors, an_unknown_reason_of_rejection_is_named_by_number)
{
	struct util_err err;

	cr_expect_eq(event_err(&err, RDMA_CM_EVENT_REJECTED, 99, false), -ECONNREFUSED);
	cr_expect(says(err.what, "99"));
}

Test(verbs_errors, no_device_on_the_route_says_so_with_a_remedy)
{
	struct util_err err;

	cr_expect_eq(event_err(&err, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, false), -ENODEV);
	cr_expect(says(err.what, "RDMA device that routes to 10.0.0.2"));
	cr_expect(says(err.hint, "rdma link"));
}

Test(verbs_errors, every_ending_event_has_words_and_an_orderly_end_has_none)
{
	static const enum rdma_cm_event_type events[] = {
		RDMA_CM_EVENT_ADDR_ERROR,  RDMA_CM_EVENT_ROUTE_ERROR, RDMA_CM_EVENT_CONNECT_ERROR,
		RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED,    RDMA_CM_EVENT_DEVICE_REMOVAL,
		RDMA_CM_EVENT_ADDR_CHANGE};
	static const int statuses[] = {0, 1, 28, -ETIMEDOUT, -ECONNRESET, -EPROTO};
	struct util_err err;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(events); i++)
		for (size_t j = 0; j < UTIL_ARRAY_SIZE(statuses); j++) {
			cr_expect_lt(event_err(&err, events[i], statuses[j], j % 2), 0);
			cr_expect_lt(err.code, 0);
			cr_expect(says(err.what, "10.0.0.2"), "%s", err.what);
		}
	cr_expect_eq(event_err(&err, RDMA_CM_EVENT_DISCONNECTED, 0, false), 0);
	cr_expect_eq(err.code, 0);
}

Test(verbs_errors, addresses_of_both_families_read_well)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(20049)};
	char text[VERBS_ADDR_TEXT];

	inet_pton(AF_INET6, "fe80::1", &six.sin6_addr);
	cr_expect_str_eq(verbs_addr_text((struct sockaddr *)&six, text, sizeof(text)),
			 "[fe80::1] port 20049");
}

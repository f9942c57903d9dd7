/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_rpc.c - RPC headers: what is dropped, what is refused, and with which words.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cases.h"
#include "wire/wire.h"

#define CALL_WORDS "00000009 00000000 00000002 000186a3 00000003 00000001 "

static int decode(const char *hex, struct wire_rpc_call *call, struct wire_rpc_error *error)
{
	static uint8_t msg[1024];
	struct wire_dec d;

	memset(error, 0xa5, sizeof(*error));
	wire_dec_init(&d, msg, case_hex(hex, msg, sizeof(msg)));
	return wire_rpc_call_decode(&d, call, error);
}

Test(wire_rpc, a_message_of_no_bytes_is_short_wherever_it_stands)
{
	struct wire_dec d;

	wire_dec_init(&d, NULL, 0);
	cr_assert_not_null(d.p);
	cr_assert_eq(wire_dec_left(&d), 0);
	cr_assert_not_null(wire_get_fixed(&d, 0));
	cr_assert(!d.bad);
	cr_assert_eq(wire_get_u32(&d), 0);
	cr_assert(d.bad);
}

Test(wire_rpc, a_reply_is_no_call)
{
	struct wire_rpc_call call;
	struct wire_rpc_error error;

	cr_assert_eq(decode("00000009 00000001 00000000 00000000 00000000 00000000", &call, &error),
		     -EBADMSG);
}

Test(wire_rpc, a_foreign_rpc_version_is_answered_with_ours)
{
	struct wire_rpc_call call;
	struct wire_rpc_error error;

	cr_assert_eq(decode("00000009 00000000 00000003 000186a3 00000003", &call, &error),
		     -EPROTO);
	cr_assert_eq(call.xid, 9);
	cr_assert(error.denied);
	cr_assert_eq(error.stat, 0);
	cr_assert_eq(error.low, 2);
	cr_assert_eq(error.high, 2);
}

/* Credentials that are refused, each with its reason. */
static const struct refusal {
	char hex[256];
	uint32_t auth_stat;
	char why[40];
} refusals[] = {
	{CALL_WORDS "00000001 00000191", WIRE_AUTH_BADCRED, "body of 401 bytes"},
	{CALL_WORDS "00000001 ffffffff 00000000", WIRE_AUTH_BADCRED, "body of 4 GiB"},
	{CALL_WORDS "00000000 00000000 00000000 00000191", WIRE_AUTH_BADVERF, "long verifier"},
	{CALL_WORDS "00000001 00000014 00000000 00000000 00000000 00000000 00000011 "
		    "00000000 00000000",
	 WIRE_AUTH_BADCRED, "17 groups"},
	{CALL_WORDS "00000001 00000014 00000000 00000000 00000000 00000000 00000001 "
		    "00000000 00000000",
	 WIRE_AUTH_BADCRED, "a group missing"},
	{CALL_WORDS "00000001 00000018 00000000 00000000 00000000 00000000 00000000 00000000 "
		    "00000000 00000000",
	 WIRE_AUTH_BADCRED, "something after the groups"},
	{CALL_WORDS "00000001 00000014 00000000 00000100 00000000 00000000 00000000 "
		    "00000000 00000000",
	 WIRE_AUTH_BADCRED, "machine name of 256 bytes"},
	{CALL_WORDS "00000001 00000014 00000000 00000000 00000000 00000000 00000000 "
		    "00000001 00000000",
	 WIRE_AUTH_BADVERF, "verifier that is not null"},
};

Test(wire_rpc, credentials_that_do_not_decode_are_refused_with_the_reason)
{
	struct wire_rpc_call call;
	struct wire_rpc_error error;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];

		cr_assert_eq(decode(r->hex, &call, &error), -EPROTO, "%s", r->why);
		cr_assert_eq(call.xid, 9, "%s", r->why);
		cr_assert(error.denied, "%s", r->why);
		cr_assert_eq(error.stat, 1, "%s", r->why);
		cr_assert_eq(error.auth_stat, r->auth_stat, "%s: %u", r->why, error.auth_stat);
		cr_assert_not(call.has_cred, "%s", r->why);
	}
}

Test(wire_rpc, an_unknown_flavor_is_left_to_the_service)
{
	struct wire_rpc_call call;
	struct wire_rpc_error error;

	cr_assert_eq(decode(CALL_WORDS "00000006 00000004 01020304 00000006 00000004 01020304",
			    &call, &error),
		     0);
	cr_assert_eq(call.flavor, 6);
	cr_assert_not(call.has_cred);
	cr_assert_eq(call.header_len, 24 + 12 + 12);
}

Test(wire_rpc, sixteen_groups_and_the_longest_machine_name_pass)
{
	struct wire_cred cred = {.uid = 1, .gid = 2, .ngroups = WIRE_MAX_GROUPS};
	struct wire_rpc_call call;
	struct wire_rpc_error error;
	uint8_t msg[512];
	struct wire_enc e;
	struct wire_dec d;

	memset(cred.machine, 'm', WIRE_MAX_MACHINE);
	for (uint32_t i = 0; i < WIRE_MAX_GROUPS; i++)
		cred.groups[i] = 100 + i;
	wire_enc_init(&e, msg, sizeof(msg));
	wire_rpc_call_encode(&e, 1, 2, 3, 4, &cred);
	cr_assert_eq(wire_enc_len(&e), 24 + 8 + (20 + 64 + 64) + 8);
	wire_dec_init(&d, msg, wire_enc_len(&e));
	cr_assert_eq(wire_rpc_call_decode(&d, &call, &error), 0);
	cr_assert_str_eq(call.cred.machine, cred.machine);
	cr_assert_eq(call.cred.groups[15], 115);
}

Test(wire_rpc, a_longer_machine_name_is_cut_and_its_neighbours_stay)
{
	uint8_t msg[512];
	struct wire_enc e;
	struct wire_dec d;
	struct wire_rpc_call call;
	struct wire_rpc_error error;
	size_t head = case_hex(CALL_WORDS "00000001", msg, sizeof(msg));

	wire_enc_init(&e, msg + head, sizeof(msg) - head);
	wire_put_u32(&e, 20 + 256);
	wire_put_u32(&e, 0);
	wire_put_u32(&e, 255);
	memset(wire_put_space(&e, 256), 'n', 256);
	wire_put_u32(&e, 77);
	wire_put_u32(&e, 88);
	wire_put_u32(&e, 0);
	wire_put_u64(&e, 0);
	wire_dec_init(&d, msg, head + wire_enc_len(&e));
	cr_assert_eq(wire_rpc_call_decode(&d, &call, &error), 0);
	cr_assert_eq(strlen(call.cred.machine), WIRE_MAX_MACHINE);
	cr_assert_eq(call.cred.uid, 77);
	cr_assert_eq(call.cred.gid, 88);
}

Test(wire_rpc, replies_of_no_known_kind_are_malformed)
{
	static const char kinds[][160] = {
		"00000009 00000000 00000000 00000000 00000000 00000000", /* a call */
		"00000009 00000001 00000002 00000000 00000000 00000000", /* reply_stat 2 */
		"00000009 00000001 00000000 00000000 00000000 00000006", /* accept_stat 6 */
		"00000009 00000001 00000001 00000002 00000000 00000000", /* reject_stat 2 */
		"00000009 00000001 00000000 00000000 00000194 00000000", /* verifier of 404 */
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct wire_rpc_error error;
		uint8_t msg[64];
		struct wire_dec d;
		uint32_t xid;

		wire_dec_init(&d, msg, case_hex(kinds[i], msg, sizeof(msg)));
		cr_assert_eq(wire_rpc_reply_decode(&d, &xid, &error), -EBADMSG, "kind %zu", i);
		cr_assert(d.bad);
		cr_assert_eq(xid, 9);
	}
}

Test(wire_rpc, the_success_header_is_24_bytes)
{
	uint8_t msg[64];
	struct wire_enc e;

	wire_enc_init(&e, msg, sizeof(msg));
	wire_rpc_reply_encode(&e, 1);
	cr_assert_eq(wire_enc_len(&e), WIRE_RPC_REPLY_LEN);
}

static const struct meaning {
	struct wire_rpc_error error;
	int err;
	char word[16];
} meanings[] = {
	{{.stat = WIRE_SUCCESS}, 0, "success"},
	{{.stat = WIRE_PROG_UNAVAIL}, -EPROTONOSUPPORT, "program"},
	{{.stat = WIRE_PROG_MISMATCH}, -EPROTONOSUPPORT, "version"},
	{{.stat = WIRE_PROC_UNAVAIL}, -EOPNOTSUPP, "procedure"},
	{{.stat = WIRE_GARBAGE_ARGS}, -EREMOTEIO, "arguments"},
	{{.stat = WIRE_SYSTEM_ERR}, -EREMOTEIO, "system error"},
	{{.denied = true, .stat = 0}, -EPROTONOSUPPORT, "RPC version"},
	{{.denied = true, .stat = 1, .auth_stat = WIRE_AUTH_BADCRED}, -EACCES, "bad seal"},
	{{.denied = true, .stat = 1, .auth_stat = WIRE_AUTH_TOOWEAK}, -EPERM, "too weak"},
	{{.denied = true, .stat = 1, .auth_stat = 99}, -EACCES, "failed"},
};

Test(wire_rpc, every_refusal_has_an_errno_and_words)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		const struct meaning *m = &meanings[i];

		cr_assert_eq(wire_rpc_error_errno(&m->error), m->err, "row %zu", i);
		cr_assert_not_null(strstr(wire_rpc_error_text(&m->error), m->word), "row %zu: %s",
				   i, wire_rpc_error_text(&m->error));
	}
}

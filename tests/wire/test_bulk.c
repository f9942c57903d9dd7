/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bulk.c - READ, WRITE, READLINK, SYMLINK where they can lie, and finding data in half a
 * reply.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cases.h"
#include "guard.h"
#include "pieces.h"

static struct wire_dec decoder(const char *hex)
{
	static uint8_t msg[CASE_MESSAGE_MAX];
	struct wire_dec d;

	wire_dec_init(&d, msg, case_hex(hex, msg, sizeof(msg)));
	return d;
}

Test(wire_bulk, a_read_whose_count_is_not_what_it_carries_is_refused)
{
	static const char lies[][160] = {
		OK3 NO "00000006" YES NAME_HELLO,
		OK3 NO "00000004" YES NAME_HELLO,
		OK3 NO "ffffffff" YES NAME_HELLO,
	};
	struct wire_read_res r;

	for (size_t i = 0; i < 3; i++) {
		struct wire_dec d = decoder(lies[i]);

		cr_assert_eq(wire_read_res_decode(&d, &r, false), -EBADMSG);
		d = decoder(lies[i]);
		cr_assert_eq(wire_read_res_decode(&d, &r, true), -EBADMSG);
	}
}

Test(wire_bulk, write_arguments_that_contradict_themselves_are_refused)
{
	static const char lies[][160] = {
		FH "00000000 00000000 00000006 00000000" NAME_HELLO, /* count */
		FH "00000000 00000000 00000005 00000003" NAME_HELLO, /* stable_how 3 */
	};
	struct wire_write_args a;

	for (size_t i = 0; i < 2; i++) {
		struct wire_dec d = decoder(lies[i]);

		cr_assert_eq(wire_write_args_decode(&d, &a, false), -EBADMSG);
	}
}

Test(wire_bulk, a_commitment_nobody_knows_is_refused)
{
	struct wire_dec d = decoder(OK3 WCC "00001000 00000003" VERF);
	struct wire_write_res r;

	cr_assert_eq(wire_write_res_decode(&d, &r), -EBADMSG);
}

Test(wire_bulk, a_handle_of_65_bytes_is_refused)
{
	uint8_t msg[256] = {0, 0, 0, 65};
	struct wire_read_args a;
	struct wire_dec d;

	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_read_args_decode(&d, &a), -EBADMSG);
	msg[3] = 64;
	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_read_args_decode(&d, &a), 0);
	cr_assert_eq(a.fh.len, 64);
}

Test(wire_bulk, a_handle_too_long_is_not_encoded)
{
	struct wire_read_args a = {.fh.len = 65};
	uint8_t msg[256];
	struct wire_enc e;

	wire_enc_init(&e, msg, sizeof(msg));
	wire_read_args_encode(&e, &a);
	cr_assert(e.overflow);
}

Test(wire_bulk, a_target_longer_than_a_path_is_refused)
{
	struct wire_readlink_res r;
	struct wire_symlink_args a;
	struct wire_dec d = decoder(OK3 NO "00001001");

	cr_assert_eq(wire_readlink_res_decode(&d, &r, true), -EBADMSG);
	d = decoder(FH NAME_A SATTR_NONE "00001001");
	cr_assert_eq(wire_symlink_args_decode(&d, &a, true), -EBADMSG);
}

Test(wire_bulk, a_time_set_in_an_unknown_way_is_refused)
{
	struct wire_symlink_args a;
	struct wire_dec d = decoder(FH NAME_A NO NO NO NO "00000003 00000000" NAME_A);

	cr_assert_eq(wire_symlink_args_decode(&d, &a, false), -EBADMSG);
}

/* ---- finding the data while the reply is still coming in ---- */

typedef ssize_t find_fn(const uint8_t *results, size_t len, size_t *data_len);

static void grows_to(find_fn *find, const char *hex, size_t at, size_t len)
{
	struct guard g = guard_create(CASE_MESSAGE_MAX);
	uint8_t msg[CASE_MESSAGE_MAX];
	size_t total = case_hex(hex, msg, sizeof(msg)), data_len = 0;

	for (size_t have = 0; have <= total; have++) {
		ssize_t got;

		memcpy(g.end - have, msg, have);
		got = find(g.end - have, have, &data_len);
		if (have < at) {
			cr_assert_eq(got, -EAGAIN, "%zu bytes: %zd", have, got);
			continue;
		}
		cr_assert_eq(got, (ssize_t)at, "%zu bytes: %zd", have, got);
		cr_assert_eq(data_len, len);
	}
	guard_destroy(&g);
}

Test(wire_bulk, read_data_is_found_as_soon_as_its_length_is_there)
{
	/* status, follows, 84 of attributes, count, eof, length */
	grows_to(wire_read_res_find_data, OK3 POST_ATTR "00000005" YES NAME_HELLO, 8 + 84 + 12, 5);
	grows_to(wire_read_res_find_data, OK3 NO "00000005" NO NAME_HELLO, 8 + 12, 5);
	grows_to(wire_read_res_find_data, OK3 NO "00000000" YES "00000000", 8 + 12, 0);
}

Test(wire_bulk, a_link_target_is_found_as_soon_as_its_length_is_there)
{
	grows_to(wire_readlink_res_find_data, OK3 POST_ATTR NAME_HELLO, 8 + 84 + 4, 5);
	grows_to(wire_readlink_res_find_data, OK3 NO NAME_A, 8 + 4, 1);
}

static ssize_t find(find_fn *fn, const char *hex)
{
	struct wire_dec d = decoder(hex);
	size_t data_len;

	return fn(d.start, wire_dec_left(&d), &data_len);
}

Test(wire_bulk, an_error_reply_has_no_data)
{
	cr_assert_eq(find(wire_read_res_find_data, "00000046" NO), -ENODATA);
	cr_assert_eq(find(wire_readlink_res_find_data, "00000016"), -ENODATA);
}

Test(wire_bulk, data_is_not_looked_for_in_nonsense)
{
	cr_assert_eq(find(wire_read_res_find_data, OK3 "00000002"), -EBADMSG);
	cr_assert_eq(find(wire_read_res_find_data, OK3 NO "00000005 00000007 00000005"), -EBADMSG);
	cr_assert_eq(find(wire_read_res_find_data, OK3 NO "00000005 00000000 00000006"), -EBADMSG);
	cr_assert_eq(find(wire_readlink_res_find_data, OK3 NO "ffffffff"), -EBADMSG);
}

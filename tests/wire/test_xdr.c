/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_xdr.c - the cursors, and the bridge to generated codecs.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cases.h"
#include "guard.h"
#include "wire/nfs3_xdr.h"

Test(wire_xdr, opaque_is_padded_with_zeros_to_a_word)
{
	uint8_t buf[16];
	struct wire_enc e;

	for (size_t len = 0; len <= 8; len++) {
		memset(buf, 0xff, sizeof(buf));
		wire_enc_init(&e, buf, sizeof(buf));
		wire_put_opaque(&e, "12345678", len);
		cr_assert_eq(wire_enc_len(&e), 4 + (len + 3) / 4 * 4);
		for (size_t i = 4 + len; i < wire_enc_len(&e); i++)
			cr_assert_eq(buf[i], 0);
	}
}

Test(wire_xdr, after_an_overflow_nothing_more_is_written)
{
	uint8_t buf[8] = {0};
	struct wire_enc e;

	wire_enc_init(&e, buf, 6);
	wire_put_u32(&e, 1);
	wire_put_u64(&e, UINT64_MAX);
	cr_assert(e.overflow);
	wire_put_fixed(&e, "ab", 0);
	wire_put_u32(&e, 2);
	cr_assert_eq(wire_enc_len(&e), 4);
	cr_assert_arr_eq(buf + 4, "\0\0\0\0", 4);
}

Test(wire_xdr, lengths_near_the_end_of_size_t_do_not_wrap)
{
	uint8_t buf[8];
	struct wire_enc e;

	for (size_t less = 0; less < 8; less++) {
		wire_enc_init(&e, buf, sizeof(buf));
		wire_put_fixed(&e, buf, SIZE_MAX - less);
		cr_assert(e.overflow);
		wire_enc_init(&e, buf, sizeof(buf));
		wire_put_opaque(&e, buf, SIZE_MAX - less);
		cr_assert(e.overflow);
		cr_assert_eq(wire_enc_len(&e), 0);
		wire_enc_init(&e, buf, sizeof(buf));
		cr_assert_null(wire_put_space(&e, SIZE_MAX - less));
	}
}

Test(wire_xdr, a_length_that_leaves_no_room_for_its_padding_is_bad)
{
	/* five bytes, and only two of the three bytes of padding */
	static const uint8_t msg[] = {0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0};
	struct guard g = guard_create(sizeof(msg));
	struct wire_dec d;
	size_t len;

	memcpy(g.end - sizeof(msg), msg, sizeof(msg));
	wire_dec_init(&d, g.end - sizeof(msg), sizeof(msg));
	cr_assert_null(wire_get_opaque(&d, 100, &len));
	cr_assert(d.bad);
	cr_assert_eq(len, 0);
	guard_destroy(&g);
}

Test(wire_xdr, an_opaque_longer_than_its_bound_is_bad)
{
	static const uint8_t msg[] = {0, 0, 0, 4, 1, 2, 3, 4};
	struct wire_dec d;
	size_t len;

	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_null(wire_get_opaque(&d, 3, &len));
	cr_assert(d.bad);
	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_get_opaque(&d, 4, &len), msg + 4);
	cr_assert_eq(len, 4);
}

Test(wire_xdr, a_boolean_is_zero_or_one)
{
	static const uint8_t msg[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1};
	struct wire_dec d;

	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert(wire_get_bool(&d));
	cr_assert_not(wire_get_bool(&d));
	cr_assert_not(d.bad);
	cr_assert_not(wire_get_bool(&d));
	cr_assert(d.bad);
	cr_assert_not(wire_get_bool(&d), "a bad cursor returns zeros");
}

Test(wire_xdr, a_name_longer_than_255_is_refused_by_generated_codecs_without_allocating)
{
	uint8_t msg[4 + 4 + 4 + 256];
	struct wire_enc e;
	struct wire_dec d;
	LOOKUP3args args;

	wire_enc_init(&e, msg, sizeof(msg));
	wire_put_opaque(&e, "abcd", 4);
	wire_put_u32(&e, 256);
	memset(e.p, 'x', 256);
	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_xdr_decode(&d, xdr_LOOKUP3args, &args), -EBADMSG);
	cr_assert(d.bad);
	cr_assert_null(args.what.dir.data.data_val, "a failed decode leaves nothing to free");
	cr_assert_null(args.what.name.filename3_val);
}

Test(wire_xdr, a_nul_inside_a_name_is_seen)
{
	static const uint8_t msg[] = {0, 0, 0, 0, 0, 0, 0, 3, 'a', 0, 'b', 0};
	struct wire_dec d;
	LOOKUP3args args;

	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_xdr_decode(&d, xdr_LOOKUP3args, &args), 0);
	cr_assert_eq(args.what.name.filename3_len, 3);
	cr_assert_arr_eq(args.what.name.filename3_val, "a\0b", 3);
	wire_xdr_free(xdr_LOOKUP3args, &args);
}

Test(wire_xdr, generated_codecs_go_on_where_the_cursor_stands)
{
	uint8_t msg[64];
	struct wire_enc e;
	struct wire_dec d;
	GETATTR3args in = {.object.data = {3, (char *)"abc"}}, out;

	wire_enc_init(&e, msg, sizeof(msg));
	wire_put_u32(&e, 7);
	cr_assert_eq(wire_xdr_encode(&e, xdr_GETATTR3args, &in), 0);
	wire_put_u32(&e, 9);
	cr_assert_eq(wire_enc_len(&e), 4 + 8 + 4);
	wire_dec_init(&d, msg, wire_enc_len(&e));
	cr_assert_eq(wire_get_u32(&d), 7);
	cr_assert_eq(wire_xdr_decode(&d, xdr_GETATTR3args, &out), 0);
	cr_assert_eq(wire_get_u32(&d), 9);
	cr_assert_eq(wire_dec_left(&d), 0);
	cr_assert_eq(out.object.data.data_len, 3);
	wire_xdr_free(xdr_GETATTR3args, &out);
}

Test(wire_xdr, an_unknown_discriminant_is_refused)
{
	/* createmode3 7 */
	uint8_t msg[128];
	size_t len = case_hex("00000001 61000000 00000001 61000000 00000007 00000000 00000000", msg,
			      sizeof(msg));
	struct wire_dec d;
	CREATE3args args;

	wire_dec_init(&d, msg, len);
	cr_assert_eq(wire_xdr_decode(&d, xdr_CREATE3args, &args), -EBADMSG);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cases.c - what must hold for every message and every codec.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cases.h"
#include "guard.h"

/* An object on the stack, aligned for anything. */
union object {
	uint8_t bytes[CASE_OBJECT_MAX];
	uint64_t align;
	void *pointer;
};

typedef void each_fn(const struct wire_case *c, struct guard *g, const uint8_t *msg, size_t len);

static void for_each_case(each_fn *fn)
{
	struct guard g = guard_create(CASE_MESSAGE_MAX);

	for (size_t l = 0; l < CASE_LISTS; l++) {
		for (size_t i = 0; i < case_list(l)->count; i++) {
			uint8_t msg[CASE_MESSAGE_MAX];
			size_t len = case_bytes(&case_list(l)->cases[i], msg);

			fn(&case_list(l)->cases[i], &g, msg, len);
		}
	}
	guard_destroy(&g);
}

/* Decode len bytes that end where memory ends. */
static int decode_at_end(const struct wire_case *c, struct guard *g, const uint8_t *msg, size_t len,
			 union object *o, struct wire_dec *d)
{
	uint8_t *at = g->end - len;

	memcpy(at, msg, len);
	memset(o, 0xa5, sizeof(*o));
	wire_dec_init(d, at, len);
	return c->decode(d, o);
}

static void release(const struct wire_case *c, union object *o)
{
	if (c->release)
		c->release(o);
}

static void means_what_it_says(const struct wire_case *c, struct guard *g, const uint8_t *msg,
			       size_t len)
{
	union object o;
	struct wire_dec d;
	int err = decode_at_end(c, g, msg, len, &o, &d);

	cr_assert_eq(err, 0, "%s: decode: %d", c->name, err);
	cr_assert_not(d.bad, "%s", c->name);
	cr_assert_eq(wire_dec_left(&d), 0, "%s: %zu bytes left over", c->name, wire_dec_left(&d));
	c->check(&o);
	release(c, &o);
}

Test(wire_cases, golden_bytes_decode_to_their_meaning)
{
	for_each_case(means_what_it_says);
}

static void encodes_back(const struct wire_case *c, struct guard *g, const uint8_t *msg, size_t len)
{
	union object o;
	uint8_t out[CASE_MESSAGE_MAX];
	struct wire_dec d;
	struct wire_enc e;

	cr_assert_eq(decode_at_end(c, g, msg, len, &o, &d), 0);
	wire_enc_init(&e, out, sizeof(out));
	c->encode(&e, &o);
	release(c, &o);
	cr_assert_not(e.overflow, "%s", c->name);
	cr_assert_eq(wire_enc_len(&e), len, "%s: %zu bytes, not %zu", c->name, wire_enc_len(&e),
		     len);
	for (size_t i = 0; i < len; i++)
		cr_assert_eq(out[i], msg[i], "%s: byte %zu", c->name, i);
}

Test(wire_cases, meanings_encode_to_the_golden_bytes)
{
	for_each_case(encodes_back);
}

static void refuses_cuts(const struct wire_case *c, struct guard *g, const uint8_t *msg, size_t len)
{
	union object o;
	struct wire_dec d;

	for (size_t cut = 0; cut < len; cut++) {
		int err = decode_at_end(c, g, msg, cut, &o, &d);

		cr_assert_lt(err, 0, "%s: accepted %zu of %zu bytes", c->name, cut, len);
		cr_assert_leq(wire_dec_pos(&d), cut);
	}
}

Test(wire_cases, a_message_cut_at_any_byte_is_refused)
{
	for_each_case(refuses_cuts);
}

static void survives_wild_words(const struct wire_case *c, struct guard *g, const uint8_t *msg,
				size_t len)
{
	static const uint32_t wild[] = {0xffffffff, 0xfffffffe, 0xfffffffd, 0xfffffffc,
					0x80000000, 0x7fffffff, 0x7ffffffc, 0x00010000,
					0x00000003, 0x00000100, 0};
	uint8_t bent[CASE_MESSAGE_MAX];
	union object o;
	struct wire_dec d;

	for (size_t at = 0; at + 4 <= len; at += 4) {
		for (size_t w = 0; w < sizeof(wild) / sizeof(wild[0]); w++) {
			memcpy(bent, msg, len);
			bent[at] = (uint8_t)(wild[w] >> 24);
			bent[at + 1] = (uint8_t)(wild[w] >> 16);
			bent[at + 2] = (uint8_t)(wild[w] >> 8);
			bent[at + 3] = (uint8_t)wild[w];
			if (decode_at_end(c, g, bent, len, &o, &d) == 0)
				release(c, &o);
			cr_assert_leq(wire_dec_pos(&d), len, "%s: word %zu", c->name, at / 4);
		}
	}
}

Test(wire_cases, no_word_of_a_message_can_lead_the_decoder_astray)
{
	for_each_case(survives_wild_words);
}

static void refuses_small_buffers(const struct wire_case *c, struct guard *g, const uint8_t *msg,
				  size_t len)
{
	static uint8_t source[CASE_MESSAGE_MAX];
	union object o;
	struct wire_dec d;
	struct wire_enc e;

	/* The object may point into the message: decode a copy that stays. */
	memcpy(source, msg, len);
	wire_dec_init(&d, source, len);
	cr_assert_eq(c->decode(&d, &o), 0);
	for (size_t room = 0; room < len; room++) {
		uint8_t *at = g->end - room;

		memset(g->base, 0xee, (size_t)(g->end - g->base));
		wire_enc_init(&e, at, room);
		c->encode(&e, &o);
		cr_assert(e.overflow, "%s: fitted into %zu of %zu bytes", c->name, room, len);
		cr_assert_leq(wire_enc_len(&e), room);
		cr_assert_eq(at[-1], 0xee, "%s: wrote in front of its buffer", c->name);
	}
	wire_enc_init(&e, g->end - len, len);
	c->encode(&e, &o);
	cr_assert_not(e.overflow, "%s: needs more than its length", c->name);
	release(c, &o);
}

Test(wire_cases, an_encoder_says_when_its_buffer_is_too_small_and_stays_inside)
{
	for_each_case(refuses_small_buffers);
}

Test(wire_cases, a_spent_cursor_stays_spent)
{
	for (size_t l = 0; l < CASE_LISTS; l++) {
		for (size_t i = 0; i < case_list(l)->count; i++) {
			const struct wire_case *c = &case_list(l)->cases[i];
			uint8_t msg[CASE_MESSAGE_MAX];
			size_t len = case_bytes(c, msg);
			union object o;
			struct wire_dec d;

			memset(&o, 0, sizeof(o));
			wire_dec_init(&d, msg, len);
			d.bad = true;
			cr_assert_lt(c->decode(&d, &o), 0, "%s", c->name);
			cr_assert_eq(wire_dec_pos(&d), 0, "%s moved a bad cursor", c->name);
		}
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_readdir.c - long lists, lists without an end, and lists cut to fit.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cases.h"
#include "pieces.h"

#define MANY 100000

static struct wire_dirent entry(uint64_t id, char name[32])
{
	struct wire_dirent ent = {.fileid = id, .cookie = id + 1, .name = (const uint8_t *)name};

	ent.name_len = (uint32_t)snprintf(name, 32, "file-%llu", (unsigned long long)id);
	return ent;
}

static void many_entries(bool plus)
{
	struct wire_readdir_head head = {.status = 0}, got_head;
	size_t len = (size_t)MANY * 256;
	uint8_t *msg = malloc(len);
	struct wire_enc e;
	struct wire_dec d;
	struct wire_dirent ent;
	char name[32];
	bool eof = false;
	uint64_t count = 0;
	int more;

	wire_enc_init(&e, msg, len);
	wire_readdir_head_encode(&e, &head);
	for (uint64_t i = 0; i < MANY; i++) {
		ent = entry(i, name);
		ent.attr.present = i % 3 == 0;
		ent.has_fh = i % 2 == 0;
		ent.fh.len = ent.has_fh ? 28 : 0;
		cr_assert(wire_dirent_encode(&e, &ent, plus));
	}
	wire_readdir_end_encode(&e, true);
	cr_assert_not(e.overflow);

	wire_dec_init(&d, msg, wire_enc_len(&e));
	cr_assert_eq(wire_readdir_head_decode(&d, &got_head), 0);
	while ((more = wire_dirent_next(&d, &ent, plus, &eof)) > 0) {
		cr_assert_eq(ent.fileid, count);
		cr_assert_eq(ent.has_fh, plus && count % 2 == 0);
		count++;
	}
	cr_assert_eq(more, 0);
	cr_assert_eq(count, MANY);
	cr_assert(eof);
	cr_assert_eq(wire_dec_left(&d), 0);
	free(msg);
}

/* A decoder that recursed over 100000 entries would need more than these 128 KiB. */
static void small_stack(void)
{
	struct rlimit limit = {128 << 10, 128 << 10};

	cr_assert_eq(setrlimit(RLIMIT_STACK, &limit), 0);
}

Test(wire_readdir, a_list_of_100000_entries_needs_no_stack, .init = small_stack)
{
	many_entries(false);
	many_entries(true);
}

static int entries_until(const char *hex, bool plus, int *result)
{
	uint8_t msg[CASE_MESSAGE_MAX];
	struct wire_dirent ent;
	struct wire_dec d;
	bool eof = true;
	int count = 0;

	wire_dec_init(&d, msg, case_hex(hex, msg, sizeof(msg)));
	while ((*result = wire_dirent_next(&d, &ent, plus, &eof)) > 0)
		count++;
	return count;
}

#define ENTRY_A YES "00000000 00000005" NAME_A "00000000 00000001 "

Test(wire_readdir, entries_before_a_missing_end_are_good_and_the_end_is_an_error)
{
	int result;

	cr_assert_eq(entries_until(ENTRY_A ENTRY_A, false, &result), 2);
	cr_assert_eq(result, -EBADMSG);
	cr_assert_eq(entries_until(ENTRY_A ENTRY_A NO, false, &result), 2);
	cr_assert_eq(result, -EBADMSG);
	cr_assert_eq(entries_until(ENTRY_A ENTRY_A NO YES, false, &result), 2);
	cr_assert_eq(result, 0);
}

Test(wire_readdir, a_name_of_256_bytes_is_refused)
{
	uint8_t msg[512] = {0};
	struct wire_dirent ent;
	struct wire_dec d;
	bool eof;

	msg[3] = 1;
	msg[14] = 1; /* the length: 256 */
	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_dirent_next(&d, &ent, false, &eof), -EBADMSG);
}

Test(wire_readdir, an_entry_is_as_long_as_its_size_says)
{
	char name[32];
	uint8_t msg[512];

	for (int kind = 0; kind < 8; kind++) {
		struct wire_dirent ent = entry(12345, name);
		bool plus = kind & 4;
		struct wire_enc e;

		ent.attr.present = kind & 1;
		ent.has_fh = kind & 2;
		ent.fh.len = 13;
		wire_enc_init(&e, msg, sizeof(msg));
		cr_assert(wire_dirent_encode(&e, &ent, plus));
		cr_assert_eq(wire_enc_len(&e), wire_dirent_size(&ent, plus), "kind %d", kind);
	}
}

Test(wire_readdir, an_entry_that_leaves_no_room_for_the_end_is_not_written)
{
	char name[32];
	struct wire_dirent ent = entry(7, name);
	size_t size = wire_dirent_size(&ent, true);
	uint8_t msg[512];
	struct wire_enc e;

	for (size_t room = 0; room < size + 8; room++) {
		wire_enc_init(&e, msg, room);
		cr_assert_not(wire_dirent_encode(&e, &ent, true), "%zu bytes", room);
		cr_assert_eq(wire_enc_len(&e), 0);
		cr_assert_not(e.overflow, "a full reply is not an error");
	}
	wire_enc_init(&e, msg, size + 8);
	cr_assert(wire_dirent_encode(&e, &ent, true));
	wire_readdir_end_encode(&e, false);
	cr_assert_not(e.overflow);
}

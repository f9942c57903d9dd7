/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_handle.c - handles: what they say, and that nobody else can say it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/server/double.h"

/* ---- SipHash: the reference's test vectors, key 00..0f, message 00 01 02 ... ------------- */

Test(server_siphash, gives_the_published_vectors)
{
	static const uint64_t expected[] = {
		UINT64_C(0x726fdb47dd0e0e31), UINT64_C(0x74f839c593dc67fd),
		UINT64_C(0x0d6c8009d9a94f5a), UINT64_C(0x85676696d7fb7e2d),
		UINT64_C(0xcf2794e0277187b7), UINT64_C(0x18765564cd99a68d),
		UINT64_C(0xcbc9466e58fee3ce), UINT64_C(0xab0200f58b01d137),
		UINT64_C(0x93f5f5799a932462),
	};
	uint8_t key[16], text[16], out[16];
	/* of the empty message, 128 bits */
	static const uint8_t empty[16] = {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
					  0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};

	for (unsigned i = 0; i < 16; i++)
		key[i] = text[i] = (uint8_t)i;
	for (size_t len = 0; len < UTIL_ARRAY_SIZE(expected); len++)
		cr_expect_eq(server_siphash(key, text, len), expected[len], "length %zu", len);
	/* 15 bytes is the paper's own example. */
	cr_expect_eq(server_siphash(key, text, 15), UINT64_C(0xa129ca6149be45e5));
	server_siphash_128(key, text, 0, out);
	cr_expect_arr_eq(out, empty, 16);
}

/* ---- encoding --------------------------------------------------------------------------- */

static void fill_handle(struct server_handle *h, uint8_t kind, uint8_t id_len, uint8_t hint_len)
{
	memset(h, 0, sizeof(*h));
	h->export_id = 0x01020304;
	h->id.kind = kind;
	h->id.type = kind == SERVER_ID_KERNEL ? 0x81 : 0;
	h->id.len = id_len;
	memset(h->id.bytes, 0xa5, id_len);
	h->hint.type = kind == SERVER_ID_KERNEL && hint_len ? 0x82 : 0;
	h->hint.len = hint_len;
	memset(h->hint.bytes, 0x5a, hint_len);
}

Test(server_handle, comes_back_as_it_was)
{
	static const uint8_t key[16] = {1};
	static const struct {
		uint8_t kind, id_len, hint_len;
	} cases[] = {
		{SERVER_ID_KERNEL, 8, 8},  {SERVER_ID_KERNEL, 8, 0}, {SERVER_ID_KERNEL, 20, 20},
		{SERVER_ID_KERNEL, 44, 0}, {SERVER_ID_WALK, 16, 0},  {SERVER_ID_WALK, 16, 28},
		{SERVER_ID_NULL, 12, 0},   {SERVER_ID_KERNEL, 0, 0},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct server_handle h, back;
		struct wire_fh fh;

		fill_handle(&h, cases[i].kind, cases[i].id_len, cases[i].hint_len);
		server_handle_encode(key, &h, &fh);
		cr_assert_leq(fh.len, 64);
		cr_assert_eq(server_handle_decode(key, &fh, &back), 0, "case %zu", i);
		cr_expect(server_id_equal(&h.id, &back.id));
		cr_expect_eq(back.export_id, h.export_id);
		cr_expect_eq(back.hint.len, h.hint.len);
		cr_expect_eq(back.hint.type, h.hint.type);
		cr_expect_arr_eq(back.hint.bytes, h.hint.bytes, h.hint.len);
	}
}

Test(server_handle, leaves_out_a_hint_it_has_no_room_for)
{
	static const uint8_t key[16] = {1};
	struct server_handle h, back;
	struct wire_fh fh;

	fill_handle(&h, SERVER_ID_KERNEL, 24, 24);
	server_handle_encode(key, &h, &fh);
	cr_assert_eq(server_handle_decode(key, &fh, &back), 0);
	cr_expect_eq(back.hint.len, 0);
	cr_expect(server_id_equal(&h.id, &back.id));
}

Test(server_handle, with_any_bit_flipped_is_refused)
{
	static const uint8_t key[16] = {1}, other[16] = {2};
	struct server_handle h, back;
	struct wire_fh fh, bad;

	fill_handle(&h, SERVER_ID_KERNEL, 8, 8);
	server_handle_encode(key, &h, &fh);
	for (size_t bit = 0; bit < fh.len * 8; bit++) {
		bad = fh;
		bad.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_expect_eq(server_handle_decode(key, &bad, &back), -EBADF, "bit %zu", bit);
	}
	for (uint32_t len = 0; len <= 64; len++) {
		bad = fh;
		bad.len = len;
		if (len != fh.len)
			cr_expect_eq(server_handle_decode(key, &bad, &back), -EBADF);
	}
	cr_expect_eq(server_handle_decode(other, &fh, &back), -EBADF);
}

/* ---- on a server ------------------------------------------------------------------------ */

/* Each claim for handles the kernel opens and for those that are walked to. */
static const unsigned both_kinds[] = {0, FIXTURE_WALK};

#define FOR_BOTH_KINDS(flags)                                                                      \
	for (unsigned kind_ = 0, flags = both_kinds[0]; kind_ < 2;                                 \
	     kind_++, flags = both_kinds[kind_ & 1])

Test(server_handle, forged_or_foreign_reaches_nothing)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_fh fh, bad;
		uint8_t foreign[16] = {9};
		struct server_handle h;

		fixture_file(f, "file", "text");
		cr_assert_eq(fixture_lookup(f, &f->root, "file", &fh), NFS3_OK);
		for (size_t i = 0; i < fh.len; i++) {
			bad = fh;
			bad.data[i] ^= 0x10;
			cr_expect_eq(fixture_getattr(f, &bad, NULL), NFS3ERR_BADHANDLE, "byte %zu",
				     i);
		}
		/* the very same object, signed with another server's key */
		cr_assert_eq(server_handle_decode(f->srv->key, &fh, &h), 0);
		server_handle_encode(foreign, &h, &bad);
		cr_expect_eq(fixture_getattr(f, &bad, NULL), NFS3ERR_BADHANDLE);
		/* ours, of an export that is no more */
		h.export_id++;
		server_handle_encode(f->srv->key, &h, &bad);
		cr_expect_eq(fixture_getattr(f, &bad, NULL), NFS3ERR_STALE);
		bad.len = 0;
		cr_expect_eq(fixture_getattr(f, &bad, NULL), NFS3ERR_BADHANDLE);
		fixture_close(f, false);
	}
}

Test(server_handle, survives_a_restart_at_any_depth)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_fh fh[40], dir = f->root;
		struct wire_read_res res;
		char folder[128];

		for (int i = 0; i < 39; i++) {
			cr_assert_eq(fixture_mkdir(f, &dir, "d", 0777, &fh[i]), NFS3_OK);
			dir = fh[i];
		}
		cr_assert_eq(fixture_create(f, &dir, "file", 0666, &fh[39]), NFS3_OK);
		snprintf(folder, sizeof(folder), "%s", f->dir);
		fixture_close(f, true);

		f = fixture_open(flags, folder);
		/* deepest first, so that nothing is cached */
		cr_expect_eq(fixture_read(f, &fh[39], 0, 10, &res), NFS3_OK);
		for (int i = 38; i >= 0; i--)
			cr_expect_eq(fixture_getattr(f, &fh[i], NULL), NFS3_OK, "depth %d", i);
		fixture_close(f, false);
	}
}

Test(server_handle, of_a_removed_file_is_stale)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_fh fh, dir;

		cr_assert_eq(fixture_create(f, &f->root, "file", 0666, &fh), NFS3_OK);
		cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0777, &dir), NFS3_OK);
		cr_assert_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &f->root, "file"), NFS3_OK);
		cr_assert_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, &f->root, "dir"), NFS3_OK);
		cr_expect_eq(fixture_getattr(f, &fh, NULL), NFS3ERR_STALE);
		cr_expect_eq(fixture_getattr(f, &dir, NULL), NFS3ERR_STALE);
		cr_expect_eq(fixture_create(f, &dir, "x", 0666, NULL), NFS3ERR_STALE);
		/* and when the server was not told */
		cr_assert_eq(fixture_create(f, &f->root, "local", 0666, &fh), NFS3_OK);
		server_as_self(f->w);
		cr_assert_eq(unlink(fixture_path(f, "local")), 0);
		cr_expect_eq(fixture_getattr(f, &fh, NULL), NFS3ERR_STALE);
		fixture_close(f, false);
	}
}

Test(server_handle, of_a_reused_inode_number_is_stale)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_attr attr;
		struct wire_fh fh;
		struct stat st;
		bool reused = false;

		cr_assert_eq(fixture_create(f, &f->root, "file", 0666, &fh), NFS3_OK);
		cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
		cr_assert_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &f->root, "file"), NFS3_OK);
		for (int i = 0; i < 50 && !reused; i++) {
			char name[16];

			snprintf(name, sizeof(name), "n%d", i);
			fixture_file(f, name, "other");
			cr_assert_eq(stat(fixture_path(f, name), &st), 0);
			reused = st.st_ino == attr.fileid;
		}
		cr_expect_eq(fixture_getattr(f, &fh, NULL), NFS3ERR_STALE);
		fixture_close(f, false);
	}
}

Test(server_handle, stays_good_when_renamed)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_fh a, b, file;
		char folder[128];

		cr_assert_eq(fixture_mkdir(f, &f->root, "a", 0777, &a), NFS3_OK);
		cr_assert_eq(fixture_mkdir(f, &f->root, "b", 0777, &b), NFS3_OK);
		cr_assert_eq(fixture_create(f, &a, "file", 0666, &file), NFS3_OK);
		cr_assert_eq(fixture_rename(f, &a, "file", &b, "other"), NFS3_OK);
		cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3_OK);
		cr_assert_eq(fixture_rename(f, &f->root, "b", &a, "c"), NFS3_OK);
		cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3_OK);
		/* after a restart its folder is no longer where the handle says */
		snprintf(folder, sizeof(folder), "%s", f->dir);
		fixture_close(f, true);
		f = fixture_open(flags, folder);
		cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3_OK);
		cr_expect_eq(fixture_getattr(f, &b, NULL), NFS3_OK);
		fixture_close(f, false);
	}
}

static void wait_for_proof_to_age(void)
{
	usleep(150 * 1000);
}

Test(server_handle, of_what_was_moved_out_of_the_export_is_stale)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_fh dir, file, inner;
		char out[256], folder[128];

		cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0777, &dir), NFS3_OK);
		cr_assert_eq(fixture_create(f, &dir, "inner", 0666, &inner), NFS3_OK);
		cr_assert_eq(fixture_create(f, &f->root, "file", 0666, &file), NFS3_OK);
		server_as_self(f->w);
		snprintf(out, sizeof(out), "%s/secret", f->dir);
		cr_assert_eq(rename(fixture_path(f, "file"), out), 0);
		snprintf(out, sizeof(out), "%s/secrets", f->dir);
		cr_assert_eq(rename(fixture_path(f, "dir"), out), 0);
		wait_for_proof_to_age();
		cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3ERR_STALE);
		cr_expect_eq(fixture_getattr(f, &dir, NULL), NFS3ERR_STALE);
		cr_expect_eq(fixture_getattr(f, &inner, NULL), NFS3ERR_STALE);
		cr_expect_eq(fixture_create(f, &dir, "evil", 0666, NULL), NFS3ERR_STALE);
		/* nor for a server that never saw them inside */
		snprintf(folder, sizeof(folder), "%s", f->dir);
		fixture_close(f, true);
		f = fixture_open(flags, folder);
		cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3ERR_STALE);
		cr_expect_eq(fixture_getattr(f, &inner, NULL), NFS3ERR_STALE);
		fixture_close(f, false);
	}
}

Test(server_handle, finds_the_link_inside_when_another_is_outside)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		char out[256], folder[128];
		struct wire_fh dir, file;

		cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0777, &dir), NFS3_OK);
		cr_assert_eq(fixture_create(f, &dir, "file", 0666, &file), NFS3_OK);
		server_as_self(f->w);
		snprintf(out, sizeof(out), "%s/outside", f->dir);
		cr_assert_eq(link(fixture_path(f, "dir/file"), out), 0);
		snprintf(folder, sizeof(folder), "%s", f->dir);
		fixture_close(f, true);
		/* make the kernel know it by the outside name first */
		cr_assert_eq(access(out, F_OK), 0);
		f = fixture_open(flags, folder);
		cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3_OK);
		/* the inside one goes: what is left is none of ours */
		cr_assert_eq(unlink(fixture_path(f, "dir/file")), 0);
		wait_for_proof_to_age();
		cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3ERR_STALE);
		fixture_close(f, false);
	}
}

Test(server_handle, of_a_file_named_like_a_removed_one_works)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_fh fh;

		cr_assert_eq(fixture_create(f, &f->root, "x (deleted)", 0666, &fh), NFS3_OK);
		wait_for_proof_to_age();
		cr_expect_eq(fixture_getattr(f, &fh, NULL), NFS3_OK);
		fixture_close(f, false);
	}
}

Test(server_handle, dotdot_of_the_root_is_the_root)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_fh up, dir, sub;

		cr_assert_eq(fixture_lookup(f, &f->root, "..", &up), NFS3_OK);
		cr_expect(up.len == f->root.len && !memcmp(up.data, f->root.data, up.len));
		cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0777, &dir), NFS3_OK);
		cr_assert_eq(fixture_mkdir(f, &dir, "sub", 0777, &sub), NFS3_OK);
		cr_assert_eq(fixture_lookup(f, &sub, "..", &up), NFS3_OK);
		cr_expect(up.len == dir.len && !memcmp(up.data, dir.data, up.len));
		cr_assert_eq(fixture_lookup(f, &dir, "..", &up), NFS3_OK);
		cr_expect(up.len == f->root.len && !memcmp(up.data, f->root.data, up.len));
		fixture_close(f, false);
	}
}

Test(server_handle, a_symlink_is_never_followed)
{
	FOR_BOTH_KINDS(flags)
	{
		struct fixture *f = fixture_open(flags, NULL);
		struct wire_attr attr;
		struct wire_fh fh;

		server_as_self(f->w);
		cr_assert_eq(symlink("/etc", fixture_path(f, "evil")), 0);
		cr_assert_eq(fixture_lookup(f, &f->root, "evil", &fh), NFS3_OK);
		cr_assert_eq(fixture_getattr(f, &fh, &attr), NFS3_OK);
		cr_expect_eq(attr.type, NF3LNK);
		cr_expect_eq(fixture_lookup(f, &fh, "passwd", NULL), NFS3ERR_NOTDIR);
		cr_expect_eq(fixture_create(f, &fh, "x", 0666, NULL), NFS3ERR_NOTDIR);
		cr_expect_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &fh, "passwd"), NFS3ERR_NOTDIR);
		fixture_close(f, false);
	}
}

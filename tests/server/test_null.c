/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_null.c - the null export.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/server/double.h"
#include "tools/nfsrdmad/null.h"

static struct fixture *open_null(struct wire_fh *root)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);

	server_null_root(f->srv, root);
	return f;
}

Test(server_null, reads_zeros_and_swallows_writes)
{
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh root, fh, got;
	struct fixture *f = open_null(&root);
	static uint8_t data[100000];

	memset(data, 0xff, sizeof(data));
	cr_expect_eq(fixture_lookup(f, &root, "file", NULL), NFS3ERR_NOENT);
	cr_assert_eq(fixture_create(f, &root, "file", 0644, &fh), NFS3_OK);
	cr_assert_eq(fixture_lookup(f, &root, "file", &got), NFS3_OK);
	cr_expect(got.len == fh.len && !memcmp(got.data, fh.data, fh.len));
	for (int rdma = 0; rdma < 2; rdma++) {
		f->rdma = rdma;
		f->sink_room = rdma ? 1 << 20 : 0;
		cr_assert_eq(fixture_write(f, &fh, 50, data, sizeof(data), WIRE_UNSTABLE, &w),
			     NFS3_OK);
		cr_expect_eq(w.count, sizeof(data));
		cr_expect_eq(w.wcc.after.attr.size, sizeof(data) + 50);
		cr_assert_eq(fixture_read(f, &fh, 10, 1000, &r), NFS3_OK);
		cr_expect_eq(r.count, 1000);
		cr_expect(!r.eof);
		for (unsigned i = 0; i < r.count; i++)
			cr_assert_eq(r.data[i], 0);
		cr_assert_eq(fixture_read(f, &fh, sizeof(data), 1000, &r), NFS3_OK);
		cr_expect_eq(r.count, 50);
		cr_expect(r.eof);
		cr_assert_eq(fixture_read(f, &fh, UINT64_MAX, 1000, &r), NFS3_OK);
		cr_expect(r.count == 0 && r.eof);
	}
	cr_expect_eq(fixture_write(f, &fh, INT64_MAX, data, 1, WIRE_UNSTABLE, &w), NFS3ERR_FBIG);
	wire_put_fh(fixture_args(f), &fh);
	wire_put_u64(&f->args, 0);
	wire_put_u32(&f->args, 0);
	cr_expect_eq(fixture_call(f, WIRE_NFS3_COMMIT), NFS3_OK);
	fixture_close(f, false);
}

Test(server_null, has_names_like_a_file_system)
{
	struct wire_fh root, dir, file, got;
	struct fixture *f = open_null(&root);

	cr_assert_eq(fixture_mkdir(f, &root, "dir", 0755, &dir), NFS3_OK);
	cr_assert_eq(fixture_create(f, &dir, "file", 0644, &file), NFS3_OK);
	cr_expect_eq(fixture_mkdir(f, &root, "dir", 0755, NULL), NFS3ERR_EXIST);
	cr_expect_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, &root, "dir"), NFS3ERR_NOTEMPTY);
	cr_expect_eq(fixture_rename(f, &root, "dir", &dir, "x"), NFS3ERR_INVAL);
	cr_assert_eq(fixture_rename(f, &dir, "file", &root, "moved"), NFS3_OK);
	cr_assert_eq(fixture_lookup(f, &root, "moved", &got), NFS3_OK);
	cr_expect(got.len == file.len && !memcmp(got.data, file.data, got.len));
	cr_assert_eq(fixture_lookup(f, &dir, "..", &got), NFS3_OK);
	cr_expect(got.len == root.len && !memcmp(got.data, root.data, got.len));
	cr_assert_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, &root, "dir"), NFS3_OK);
	cr_assert_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &root, "moved"), NFS3_OK);
	cr_expect_eq(fixture_getattr(f, &file, NULL), NFS3ERR_STALE);
	cr_expect_eq(fixture_getattr(f, &dir, NULL), NFS3ERR_STALE);
	got = file;
	got.data[10] ^= 1;
	cr_expect_eq(fixture_getattr(f, &got, NULL), NFS3ERR_BADHANDLE);
	fixture_close(f, false);
}

Test(server_null, lists_all_its_names)
{
	struct wire_fh root;
	struct fixture *f = open_null(&root);
	unsigned seen = 0;
	uint64_t cookie = 0;
	bool eof = false;
	char name[32];

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "file%d", i);
		cr_assert_eq(fixture_create(f, &root, name, 0644, NULL), NFS3_OK);
	}
	while (!eof) {
		struct wire_readdir_args a = {
			.dir = root, .cookie = cookie, .dircount = 8192, .maxcount = 8192};
		struct wire_readdir_head head;
		struct wire_dirent ent;

		wire_readdir_args_encode(fixture_args(f), &a, true);
		fixture_call_bare(f, WIRE_NFS3_READDIRPLUS);
		cr_assert_eq(wire_readdir_head_decode(&f->res, &head), 0);
		cr_assert_eq(head.status, NFS3_OK);
		while (wire_dirent_next(&f->res, &ent, true, &eof) == 1) {
			cr_expect(ent.attr.present && ent.has_fh);
			cookie = ent.cookie;
			seen++;
		}
		cr_assert(!f->res.bad);
	}
	cr_expect_eq(seen, 302);
	fixture_close(f, false);
}

Test(server_null, runs_out_of_names_politely)
{
	struct wire_fh root;
	struct fixture *f = open_null(&root);
	uint32_t status = NFS3_OK;
	unsigned made = 0;
	char name[32];

	while (status == NFS3_OK && made < 100000) {
		snprintf(name, sizeof(name), "file%u", made);
		status = fixture_create(f, &root, name, 0644, NULL);
		made += status == NFS3_OK;
	}
	cr_expect_eq(status, NFS3ERR_NOSPC);
	cr_expect_eq(made, 65535);
	cr_assert_eq(fixture_name_call(f, WIRE_NFS3_REMOVE, &root, "file7"), NFS3_OK);
	cr_expect_eq(fixture_create(f, &root, "new", 0644, NULL), NFS3_OK);
	fixture_close(f, false);
}

Test(server_null, is_not_there_unless_asked_for)
{
	struct wire_fh root;
	struct fixture *with = open_null(&root), *without = fixture_open(0, NULL);

	cr_expect_eq(fixture_getattr(with, &root, NULL), NFS3_OK);
	cr_expect_eq(fixture_getattr(without, &root, NULL), NFS3ERR_BADHANDLE);
	fixture_close(with, false);
	fixture_close(without, false);
}

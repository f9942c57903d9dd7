/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_data.c - READ, WRITE, COMMIT.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/server/double.h"

Test(server_data, what_was_written_is_read)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh fh;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	cr_assert_eq(fixture_write(f, &fh, 0, "hello, world", 12, WIRE_UNSTABLE, &w), NFS3_OK);
	cr_expect_eq(w.count, 12);
	cr_expect_eq(w.committed, WIRE_UNSTABLE);
	cr_assert(w.wcc.before.present && w.wcc.after.present);
	cr_expect_eq(w.wcc.before.size, 0);
	cr_expect_eq(w.wcc.after.attr.size, 12);
	cr_assert_eq(fixture_read(f, &fh, 0, 100, &r), NFS3_OK);
	cr_expect_eq(r.count, 12);
	cr_expect(r.eof);
	cr_expect_arr_eq(r.data, "hello, world", 12);
	cr_assert_eq(fixture_read(f, &fh, 7, 3, &r), NFS3_OK);
	cr_expect_eq(r.count, 3);
	cr_expect(!r.eof);
	cr_expect_arr_eq(r.data, "wor", 3);
	fixture_close(f, false);
}

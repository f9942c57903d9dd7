/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mount.c - MOUNT: paths that are none, too many flavors, long lists of exports and groups.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "pieces.h"

Test(wire_mount, a_path_with_a_nul_inside_is_refused)
{
	static const uint8_t msg[] = {0, 0, 0, 4, '/', 'a', 0, 'b'};
	char path[WIRE_PATH_MAX + 1];
	struct wire_dec d;

	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_mnt_args_decode(&d, path), -EBADMSG);
	cr_assert_str_empty(path);
}

Test(wire_mount, a_path_of_1024_bytes_passes_and_one_more_does_not)
{
	static char path[1026], got[WIRE_PATH_MAX + 1];
	static uint8_t msg[2048];
	struct wire_enc e;
	struct wire_dec d;

	memset(path, 'p', 1025);
	wire_enc_init(&e, msg, sizeof(msg));
	wire_mnt_args_encode(&e, path);
	cr_assert(e.overflow);
	wire_enc_init(&e, msg, sizeof(msg));
	wire_put_opaque(&e, path, 1025);
	wire_dec_init(&d, msg, wire_enc_len(&e));
	cr_assert_eq(wire_mnt_args_decode(&d, got), -EBADMSG);

	path[1024] = '\0';
	wire_enc_init(&e, msg, sizeof(msg));
	wire_mnt_args_encode(&e, path);
	wire_dec_init(&d, msg, wire_enc_len(&e));
	cr_assert_eq(wire_mnt_args_decode(&d, got), 0);
	cr_assert_str_eq(got, path);
}

Test(wire_mount, of_many_flavors_the_first_sixteen_are_kept)
{
	uint8_t msg[256];
	struct wire_mnt_res r;
	struct wire_enc e;
	struct wire_dec d;

	wire_enc_init(&e, msg, sizeof(msg));
	wire_put_u32(&e, 0);
	wire_put_opaque(&e, "handle", 6);
	wire_put_u32(&e, 40);
	for (uint32_t i = 0; i < 40; i++)
		wire_put_u32(&e, 1000 + i);
	wire_dec_init(&d, msg, wire_enc_len(&e));
	cr_assert_eq(wire_mnt_res_decode(&d, &r), 0);
	cr_assert_eq(r.nflavors, 16);
	cr_assert_eq(r.flavors[15], 1015);
	cr_assert_eq(wire_dec_left(&d), 0);
}

Test(wire_mount, more_flavors_than_bytes_are_refused_at_once)
{
	uint8_t msg[64];
	size_t len = case_hex(OK3 FH "ffffffff 00000001", msg, sizeof(msg));
	struct wire_mnt_res r;
	struct wire_dec d;

	wire_dec_init(&d, msg, len);
	cr_assert_eq(wire_mnt_res_decode(&d, &r), -EBADMSG);
	cr_assert_eq(r.nflavors, 0);
}

Test(wire_mount, all_the_groups_of_an_export_can_be_seen)
{
	uint8_t msg[128];
	size_t len = case_hex(YES NAME_HELLO YES NAME_A YES NAME_HELLO NO NO, msg, sizeof(msg));
	struct wire_export x;
	struct wire_dec d;
	const uint8_t *name;
	uint32_t name_len;

	wire_dec_init(&d, msg, len);
	cr_assert_eq(wire_export_next(&d, &x), 1);
	cr_assert_eq(x.ngroups, 2);
	cr_assert_eq(wire_export_group_next(&x.groups, &name, &name_len), 1);
	cr_assert_eq(name_len, 1);
	cr_assert_eq(wire_export_group_next(&x.groups, &name, &name_len), 1);
	cr_assert_arr_eq(name, "hello", 5);
	cr_assert_eq(wire_export_group_next(&x.groups, &name, &name_len), 0);
	cr_assert_eq(wire_export_next(&d, &x), 0);
}

Test(wire_mount, a_list_of_100000_exports_needs_no_stack)
{
	size_t len = 100000 * 32, count = 0;
	uint8_t *msg = malloc(len);
	struct wire_export x;
	struct wire_enc e;
	struct wire_dec d;
	int more;

	wire_enc_init(&e, msg, len);
	for (int i = 0; i < 100000; i++)
		wire_export_encode(&e, "/e", i % 2 ? "*" : NULL);
	wire_export_end_encode(&e);
	cr_assert_not(e.overflow);
	wire_dec_init(&d, msg, wire_enc_len(&e));
	while ((more = wire_export_next(&d, &x)) > 0)
		count++;
	cr_assert_eq(more, 0);
	cr_assert_eq(count, 100000);
	free(msg);
}

Test(wire_mount, statuses_become_errnos)
{
	cr_assert_eq(wire_mount_errno(0), 0);
	cr_assert_eq(wire_mount_errno(1), -EPERM);
	cr_assert_eq(wire_mount_errno(2), -ENOENT);
	cr_assert_eq(wire_mount_errno(5), -EIO);
	cr_assert_eq(wire_mount_errno(13), -EACCES);
	cr_assert_eq(wire_mount_errno(20), -ENOTDIR);
	cr_assert_eq(wire_mount_errno(22), -EINVAL);
	cr_assert_eq(wire_mount_errno(63), -ENAMETOOLONG);
	cr_assert_eq(wire_mount_errno(10004), -EOPNOTSUPP);
	cr_assert_eq(wire_mount_errno(10006), -EREMOTEIO);
	cr_assert_eq(wire_mount_errno(4711), -EIO);
}

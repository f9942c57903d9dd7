/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_text.c - sizes, modes, names as people read them (tools/nfsrdma/output.c, owner.c).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdma/cli.h"

static const struct {
	uint64_t bytes;
	char text[8];
} sizes[] = {
	{0, "0"},
	{1023, "1023"},
	{1024, "1.0K"},
	{1025, "1.1K"},
	{10 * 1024, "10K"},
	{10 * 1024 + 1, "11K"},
	{1023 * 1024, "1023K"},
	{1024 * 1024 - 1, "1.0M"},
	{UINT64_C(5) << 30, "5.0G"},
	{UINT64_C(1536) << 30, "1.5T"},
	{UINT64_C(1) << 60, "1.0E"},
	{UINT64_MAX, "16E"},
};

Test(cli_text, sizes_have_at_most_three_digits_and_are_rounded_up)
{
	char buf[8];

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(sizes); i++)
		cr_assert_str_eq(cli_human(sizes[i].bytes, buf), sizes[i].text, "%s for %s", buf,
				 sizes[i].text);
}

static const struct {
	mode_t mode;
	char text[11];
} modes[] = {
	{S_IFREG | 0644, "-rw-r--r--"},
	{S_IFDIR | 01777, "drwxrwxrwt"},
	{S_IFDIR | 01666, "drw-rw-rwT"},
	{S_IFREG | 04755, "-rwsr-xr-x"},
	{S_IFREG | 02644, "-rw-r-Sr--"},
	{S_IFLNK | 0777, "lrwxrwxrwx"},
	{S_IFSOCK, "s---------"},
	{S_IFIFO | 0400, "pr--------"},
	{S_IFBLK | 060, "b---rw----"},
	{S_IFCHR | 01, "c--------x"},
	{0644, "?rw-r--r--"},
};

Test(cli_text, modes_read_as_ls_writes_them)
{
	char buf[11];

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(modes); i++)
		cr_assert_str_eq(cli_mode_text(modes[i].mode, buf), modes[i].text);
}

static const struct {
	char path[16], name[16];
} names[] = {
	{"/a/b", "b"}, {"/a/b//", "b"}, {"b", "b"}, {"/", ""}, {"", ""}, {"a/.", "."}, {"//x", "x"},
};

Test(cli_text, the_last_name_of_a_path_is_found)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(names); i++) {
		char *name = cli_basename(names[i].path);

		cr_assert_str_eq(name, names[i].name, "'%s'", names[i].path);
		free(name);
	}
}

Test(cli_text, paths_are_joined_with_one_slash)
{
	char *path = cli_join("/", "x");

	cr_assert_str_eq(path, "/x");
	free(path);
	path = cli_join("a/b//", "x");
	cr_assert_str_eq(path, "a/b/x");
	free(path);
}

Test(cli_text, what_could_drive_a_terminal_is_escaped)
{
	char buf[64];

	cr_assert_str_eq(cli_safe("a\033[2Jb\n", buf, sizeof(buf)), "a\\x1b[2Jb\\n");
}

Test(cli_text, owners_are_names_or_numbers)
{
	uid_t uid = 1;
	gid_t gid = 1;

	cr_assert_eq(cli_owner_parse("root", &uid, &gid), 0);
	cr_assert_eq(uid, 0);
	cr_assert_eq(gid, (gid_t)-1);
	cr_assert_eq(cli_owner_parse("123:456", &uid, &gid), 0);
	cr_assert_eq(uid, 123);
	cr_assert_eq(gid, 456);
	cr_assert_eq(cli_owner_parse(":7", &uid, &gid), 0);
	cr_assert_eq(uid, (uid_t)-1);
	cr_assert_eq(gid, 7);
}

Test(cli_text, what_is_no_owner_is_refused)
{
	static const char wrong[][24] = {"",   ":",	"no-such-user-here", "1:no-such-group",
					 "-1", "1:2:3", "4294967295",	     "1x"};
	uid_t uid;
	gid_t gid;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(wrong); i++)
		cr_assert_eq(cli_owner_parse(wrong[i], &uid, &gid), -EINVAL, "'%s'", wrong[i]);
}

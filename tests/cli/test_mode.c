/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mode.c - modes as chmod(1) takes them; the expected values are coreutils'.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/stat.h>

#include "tools/nfsrdma/cli.h"

static const struct {
	char text[20];
	mode_t from, to; /* with umask 022 */
} good[] = {
	{"0", S_IFREG | 0777, 0},
	{"644", S_IFREG | 0777, 0644},
	{"04755", S_IFREG, 04755},
	{"u+x", S_IFREG | 0644, 0744},
	{"+x", S_IFREG | 0644, 0755},
	{"+w", S_IFREG | 0444, 0644}, /* the umask holds back g and o */
	{"a+w", S_IFREG | 0444, 0666},
	{"go-r", S_IFREG | 0644, 0600},
	{"u=rwx,go=rx", S_IFREG | 0, 0755},
	{"g=u", S_IFREG | 0740, 0770},
	{"o=g", S_IFREG | 0750, 0755},
	{"a+X", S_IFREG | 0644, 0644},
	{"a+X", S_IFREG | 0744, 0755},
	{"a+X", S_IFDIR | 0644, 0755},
	{"u+s,g+s", S_IFREG | 0755, 06755},
	{"+t", S_IFDIR | 0755, 01755},
	{"u-s", S_IFREG | 04755, 0755},
	{"u+r-w", S_IFREG | 0200, 0400},
	{"=", S_IFREG | 0777, 0},
	{"go=", S_IFREG | 0777, 0700},
};

Test(cli_mode, clauses_and_octal_do_what_chmod_does)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(good); i++) {
		mode_t mode = 0;

		cr_assert_eq(cli_mode_apply(good[i].text, good[i].from, 022, &mode), 0, "%s",
			     good[i].text);
		cr_assert_eq(mode, good[i].to, "%s: %o", good[i].text, (unsigned)mode);
	}
}

Test(cli_mode, what_is_no_mode_is_refused)
{
	static const char wrong[][12] = {"",	"8",	"0888", "10000", "u",	   "u+q",
					 "x+r", "u+r,", ",u+r", "rwx",	 "7777777"};
	mode_t mode = 04711;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(wrong); i++) {
		cr_assert_eq(cli_mode_apply(wrong[i], S_IFREG | 0644, 022, &mode), -EINVAL, "'%s'",
			     wrong[i]);
		cr_assert_eq(mode, 04711, "nothing is put out on failure");
	}
}

Test(cli_mode, the_umask_is_read_without_changing_it)
{
	umask(027);
	cr_assert_eq(cli_umask(), 027);
	cr_assert_eq(umask(022), 027);
}

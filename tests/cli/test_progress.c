/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_progress.c - the progress bar's line.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tools/nfsrdma/progress.h"

static struct progress half_way(void)
{
	struct progress p = {.total = UINT64_C(2) << 30, .done = UINT64_C(1) << 30};

	strcpy(p.name, "srv:/e/file");
	return p;
}

Test(cli_progress, it_shows_share_amount_rate_and_time_left)
{
	struct progress p = half_way();
	char line[256];

	progress_format(&p, 4 * UTIL_NS_PER_S, 120, line, sizeof(line));
	cr_assert_str_eq(line,
			 "srv:/e/file   50% [##########          ] 1 GiB  256 MiB/s  0:04 left");
}

Test(cli_progress, an_unknown_total_shows_amount_and_rate)
{
	struct progress p = half_way();
	char line[256];

	p.total = 0;
	progress_format(&p, 4 * UTIL_NS_PER_S, 120, line, sizeof(line));
	cr_assert_str_eq(line, "srv:/e/file  1 GiB  256 MiB/s");
}

Test(cli_progress, hours_are_shown_as_such)
{
	struct progress p = half_way();
	char line[256];

	progress_format(&p, 7384 * UTIL_NS_PER_S, 120, line, sizeof(line));
	cr_assert_not_null(strstr(line, "2:03:04 left"), "%s", line);
}

Test(cli_progress, it_is_never_wider_than_the_terminal)
{
	struct progress p = half_way();
	char line[256];

	memset(p.name, 'n', sizeof(p.name) - 1);
	for (unsigned width = 1; width < 200; width++) {
		progress_format(&p, 3 * UTIL_NS_PER_S, width, line, sizeof(line));
		cr_assert_lt(strlen(line), width, "%u columns: %s", width, line);
	}
}

Test(cli_progress, nothing_moved_yet_and_more_than_there_was_are_both_shown)
{
	struct progress p = half_way();
	char line[256];

	p.done = 0;
	progress_format(&p, UTIL_NS_PER_S, 120, line, sizeof(line));
	cr_assert_not_null(strstr(line, "  0% ["), "%s", line);
	p.done = 3 * p.total;
	progress_format(&p, UTIL_NS_PER_S, 120, line, sizeof(line));
	cr_assert_not_null(strstr(line, "100% [####################]"), "%s", line);
}

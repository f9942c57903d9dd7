/* SPDX-License-Identifier: BSD-2-Clause */
/* transport/rpc/timer.c: the schedules. */
#include <criterion/criterion.h>

#include "transport/rpc/internal.h"

TestSuite(rpc_timer, .timeout = 10);

Test(rpc_timer, back_off_starts_at_once_then_doubles_from_100_ms_to_30_s)
{
	static const uint32_t want_ms[] = {0,	 100,  200,   400,   800,   1600,
					   3200, 6400, 12800, 25600, 30000, 30000};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(want_ms); i++)
		cr_assert_eq(transport_backoff_ms(i), want_ms[i], "attempt %u", i);
	cr_assert_eq(transport_backoff_ms(UINT32_MAX), 30000);
}

Test(rpc_timer, time_outs_double_up_to_ten_minutes)
{
	cr_assert_eq(transport_timeout_ms(60000, 0), 60000);
	cr_assert_eq(transport_timeout_ms(60000, 1), 120000);
	cr_assert_eq(transport_timeout_ms(60000, 2), 240000);
	cr_assert_eq(transport_timeout_ms(60000, 9), 600000);
	cr_assert_eq(transport_timeout_ms(60000, UINT32_MAX), 600000);
	cr_assert_eq(transport_timeout_ms(1, 5), 32);
	/* a timeo beyond the cap is what the user wants */
	cr_assert_eq(transport_timeout_ms(700000, 3), 700000);
}

Test(rpc_timer, patience_is_the_sum_of_all_sendings)
{
	cr_assert_eq(transport_patience_ms(100, 0), 100);
	cr_assert_eq(transport_patience_ms(100, 2), 100 + 200 + 400);
	cr_assert_eq(transport_patience_ms(60000, 2), 420000);
	/* 60 + 120 + 240 + 480 s, then 600 s each */
	cr_assert_eq(transport_patience_ms(60000, 5), 900000 + 2 * UINT64_C(600000));
	cr_assert_eq(transport_patience_ms(600000, UINT32_MAX), UINT64_C(600000) << 32);
}

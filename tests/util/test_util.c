/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <unistd.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <errno.h>

#include "util/util.h"

Test(util_size, parses_what_people_type)
{
	static const struct {
		const char *text;
		uint64_t unit;
		int err;
		uint64_t size;
	} cases[] = {
		{"0", 1, 0, 0},
		{"1", 1024, 0, 1024},
		{"64k", 1, 0, 65536},
		{"64K", 1024, 0, 65536},
		{"1m", 1, 0, 1048576},
		{"2g", 1, 0, UINT64_C(2) << 30},
		{"1T", 1, 0, UINT64_C(1) << 40},
		{"18446744073709551615", 1, 0, UINT64_MAX},
		{"18446744073709551616", 1, -ERANGE, 0},
		{"16777216t", 1, -ERANGE, 0},
		{"", 1, -EINVAL, 0},
		{"k", 1, -EINVAL, 0},
		{"-1", 1, -EINVAL, 0},
		{"+1", 1, -EINVAL, 0},
		{" 1", 1, -EINVAL, 0},
		{"1kb", 1, -EINVAL, 0},
		{"1.5m", 1, -EINVAL, 0},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		uint64_t size = 77;
		int err = util_size_parse(cases[i].text, cases[i].unit, &size);

		cr_expect_eq(err, cases[i].err, "\"%s\": %d", cases[i].text, err);
		cr_expect_eq(size, err ? 77 : cases[i].size, "\"%s\"", cases[i].text);
	}
}

Test(util_size, formats_for_people)
{
	char buf[32];

	cr_expect_str_eq(util_size_format(17, buf, sizeof(buf)), "17 B");
	cr_expect_str_eq(util_size_format(65536, buf, sizeof(buf)), "64 KiB");
	cr_expect_str_eq(util_size_format(1536, buf, sizeof(buf)), "1.5 KiB");
	cr_expect_str_eq(util_size_format(UINT64_MAX, buf, sizeof(buf)), "16 EiB");
}

Test(util_size, decimal_numbers_are_bounded)
{
	uint64_t v = 0;

	cr_expect_eq(util_u64_parse("65535", 65535, &v), 0);
	cr_expect_eq(v, 65535);
	cr_expect_eq(util_u64_parse("65536", 65535, &v), -ERANGE);
	cr_expect_eq(util_u64_parse("1k", 65535, &v), -EINVAL);
	cr_expect_eq(util_u64_parse("", 65535, &v), -EINVAL);
}

Test(util_text, escapes_what_could_drive_a_terminal)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"tab\tnl\n", "tab\\tnl\\n"},
		{"\x1b[31m", "\\x1b[31m"},
		{"back\\slash", "back\\\\slash"},
		{"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},
		{"\xc2\x9b", "\\xc2\\x9b"},	     /* C1 CSI */
		{"\xc0\xaf", "\\xc0\\xaf"},	     /* overlong */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"\xe2\x82\xac", "\xe2\x82\xac"},
		{"\xe2\x82", "\\xe2\\x82"},
		{"\x7f", "\\x7f"},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		char out[64];
		size_t n = util_text_escape(cases[i].in, strlen(cases[i].in), out, sizeof(out));

		cr_expect_str_eq(out, cases[i].out);
		cr_expect_eq(n, strlen(cases[i].out));
	}
}

Test(util_text, never_writes_past_the_end_or_splits_an_escape)
{
	char out[16];

	for (size_t len = 0; len <= 8; len++) {
		memset(out, '#', sizeof(out));
		cr_expect_eq(util_text_escape("a\x1b"
					      "b",
					      3, out, len),
			     6);
		for (size_t i = len; i < sizeof(out); i++)
			cr_expect_eq(out[i], '#');
		if (len)
			cr_expect(memchr(out, '\0', len) != NULL);
		if (len >= 2 && len < 6)
			cr_expect_str_eq(out, "a");
	}
}

Test(util_err, carries_cause_and_remedy_and_a_prefix)
{
	struct util_err err = {0};

	cr_expect_eq(util_err_set(&err, -ECONNREFUSED, "port %d: refused", 9), -ECONNREFUSED);
	util_err_hint(&err, "is it running?");
	util_err_prefix(&err, "mount %s", "x");
	cr_expect_str_eq(err.what, "mount x: port 9: refused");
	cr_expect_str_eq(err.hint, "is it running?");
	cr_expect_eq(util_err_set(NULL, -EIO, "nobody listens"), -EIO);
	util_err_set(&err, -EIO, "again");
	cr_expect_str_eq(err.hint, "");
}

Test(util_list, keeps_order_and_survives_double_removal)
{
	struct item {
		int n;
		struct util_list node;
	} a = {.n = 1}, b = {.n = 2}, c = {.n = 3};
	struct util_list head = UTIL_LIST_INIT(head), other = UTIL_LIST_INIT(other);
	int sum = 0;

	util_list_add(&head, &a.node);
	util_list_add(&other, &b.node);
	util_list_add(&other, &c.node);
	util_list_splice(&head, &other);
	cr_expect(util_list_empty(&other));
	UTIL_LIST_FOR_EACH (pos, &head)
		sum = sum * 10 + UTIL_LIST_ENTRY(pos, struct item, node)->n;
	cr_expect_eq(sum, 123);
	util_list_del(&b.node);
	util_list_del(&b.node);
	cr_expect_eq(UTIL_LIST_ENTRY(util_list_pop(&head), struct item, node)->n, 1);
	cr_expect_eq(UTIL_LIST_ENTRY(util_list_pop(&head), struct item, node)->n, 3);
	cr_expect_null(util_list_pop(&head));
}

Test(util_hist, quantiles_of_a_uniform_distribution_are_within_one_bucket)
{
	static struct util_hist h;

	util_hist_init(&h);
	for (uint64_t v = 1; v <= 100000; v++)
		util_hist_add(&h, v);
	for (int q = 1; q < 100; q++) {
		double want = q * 1000.0, got = (double)util_hist_quantile(&h, q / 100.0);

		cr_expect(got >= want * 0.99 && got <= want * 1.01, "p%d: %f", q, got);
	}
	cr_expect_eq(util_hist_quantile(&h, 0), 1);
	cr_expect_eq(util_hist_quantile(&h, 1), 100000);
	cr_expect_eq(h.sum, UINT64_C(5000050000));
}

Test(util_hist, every_value_lands_in_a_bucket_that_names_it)
{
	static struct util_hist h;

	for (unsigned shift = 0; shift < 64; shift++) {
		for (int d = -1; d <= 1; d++) {
			uint64_t v = (UINT64_C(1) << shift) + (uint64_t)(int64_t)d;

			util_hist_init(&h);
			util_hist_add(&h, v);
			cr_expect_eq(util_hist_quantile(&h, 0.5), v);
		}
	}
}

Test(util_hist, merging_is_adding)
{
	static struct util_hist a, b;

	util_hist_init(&a);
	util_hist_init(&b);
	cr_expect_eq(util_hist_quantile(&a, 0.5), 0);
	util_hist_add(&a, 10);
	util_hist_add(&b, 1000);
	util_hist_merge(&a, &b);
	cr_expect_eq(a.count, 2);
	cr_expect_eq(a.min, 10);
	cr_expect_eq(a.max, 1000);
	cr_expect_eq(util_hist_quantile(&a, 0.5), 10);
}

Test(util_clock, a_deadline_never_comes_early)
{
	uint64_t now = util_clock_ns();

	cr_expect_eq(util_clock_until_ms(0), -1);
	cr_expect_eq(util_clock_until_ms(now), 0);
	cr_expect(util_clock_until_ms(now + 1000 * UTIL_NS_PER_S) > 900000);
	cr_expect(util_clock_until_ms(UINT64_MAX) > 0);
}

static void closed_then_reserved(int fd)
{
	close(fd);
	cr_assert_eq(util_stdio_reserve(), 0);
	cr_assert_geq(fcntl(fd, F_GETFD), 0, "taken again");
}

Test(util_stdio, closed_streams_are_taken_and_stay_useless)
{
	int socket_fd;
	char c;

	closed_then_reserved(0);
	closed_then_reserved(1);
	closed_then_reserved(2);
	socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_gt(socket_fd, 2);
	cr_assert(read(0, &c, 1) < 0 && errno == EBADF);
	cr_assert(write(1, "x", 1) < 0 && errno == EBADF);
	cr_assert(write(2, "x", 1) < 0 && errno == EBADF);
	close(socket_fd);
}

Test(util_stdio, open_streams_are_left_alone)
{
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	dup2(fds[1], 1);
	cr_assert_eq(util_stdio_reserve(), 0);
	cr_assert_eq(write(1, "x", 1), 1);
}

/* ---- tickers ------------------------------------------------------------------------------ */

/* Between two readings of the clock, give or take what a ticker may be off by. */
static void check_ticker(struct util_ticker *t, uint64_t *last_ns)
{
	uint64_t before = util_clock_ns(), ns = util_ticker_ns(t), after = util_clock_ns();

	cr_assert(ns + UTIL_TICKER_OFF_NS >= before && ns <= after + UTIL_TICKER_OFF_NS,
		  "%lld ns before, %lld ns after", (long long)(ns - before),
		  (long long)(after - ns));
	cr_assert_geq(ns, *last_ns);
	*last_ns = ns;
}

Test(util_ticker, is_the_clock_whoever_is_asked)
{
	static const enum util_ticker_wish wishes[] = {UTIL_TICKER_AUTO, UTIL_TICKER_CLOCK,
						       UTIL_TICKER_COUNTER};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(wishes); i++) {
		struct util_ticker t;
		uint64_t last_ns = 0, end_ns = util_clock_ns() + 300 * UTIL_NS_PER_MS;

		util_ticker_init(&t, wishes[i]);
		if (wishes[i] == UTIL_TICKER_CLOCK)
			cr_assert(!t.counting);
		while (last_ns < end_ns)
			check_ticker(&t, &last_ns);
		usleep(100000);
		check_ticker(&t, &last_ns);
		check_ticker(&t, &last_ns);
	}
}

Test(util_ticker, the_counter_is_asked_instead_of_the_clock)
{
	struct util_ticker t;

	util_ticker_init(&t, UTIL_TICKER_COUNTER);
	if (!t.counting)
		return; /* this machine's is not invariant */
	for (uint64_t end_ns = util_clock_ns() + 50 * UTIL_NS_PER_MS; util_clock_ns() < end_ns;)
		util_ticker_ns(&t);
	cr_assert(t.counting);
	cr_assert_gt(t.ns_per_tick, 0);
	/* an anchor in the past is believed until its span is over */
	t.anchor_ns -= UTIL_NS_PER_S;
	t.last_ns = 0;
	t.span_ticks = UINT64_MAX;
	cr_assert_lt(util_ticker_ns(&t), util_clock_ns() - UTIL_NS_PER_S / 2);
}

Test(util_ticker, a_counter_that_disagrees_is_given_up)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		struct util_ticker t;
		uint64_t last_ns = 0;

		util_ticker_init(&t, UTIL_TICKER_COUNTER);
		if (!t.counting)
			return;
		for (uint64_t end_ns = util_clock_ns() + 20 * UTIL_NS_PER_MS; last_ns < end_ns;)
			check_ticker(&t, &last_ns);
		if (backwards)
			t.anchor_ticks += UINT64_C(1) << 60; /* now it stands before the anchor */
		else
			t.ns_per_tick *= 2;
		t.span_ticks = 0;
		for (uint64_t end_ns = util_clock_ns() + 20 * UTIL_NS_PER_MS;
		     t.counting && util_clock_ns() < end_ns;)
			util_ticker_ns(&t);
		cr_assert(!t.counting);
		check_ticker(&t, &last_ns);
	}
}

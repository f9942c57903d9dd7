/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * criterion.h - as much of Criterion's face as a few suites need where Criterion cannot run.
 *
 * Criterion maps memory at an address a User Mode Linux guest does not have, so in the guest a
 * suite is compiled with this header in front of the real one and linked with main.c, which runs
 * each test in a process of its own and prints TAP.  Found by the include path alone: the suites'
 * sources are the same.
 */
#ifndef NFSRDMA_TESTS_VM_PLAIN_CRITERION_H
#define NFSRDMA_TESTS_VM_PLAIN_CRITERION_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct plain_test {
	const char *name;
	void (*run)(void);
	struct plain_test *next;
};

void plain_add(struct plain_test *test);
/* A claim that does not hold is printed; a fatal one ends the test. */
void plain_check(bool good, bool fatal, const char *file, int line, const char *claim,
		 const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void plain_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#define Test(suite, test, ...)                                                                     \
	static void suite##_##test(void);                                                          \
	__attribute__((constructor)) static void suite##_##test##_add(void)                        \
	{                                                                                          \
		static struct plain_test self = {#test, suite##_##test, NULL};                     \
                                                                                                   \
		plain_add(&self);                                                                  \
	}                                                                                          \
	static void suite##_##test(void)
#define TestSuite(...) struct plain_suite

#define PLAIN_CHECK(cond, fatal, text, ...)                                                        \
	plain_check(cond, fatal, __FILE__, __LINE__, text, " " __VA_ARGS__)

#define cr_assert(c, ...) PLAIN_CHECK((c), true, #c, __VA_ARGS__)
#define cr_assert_eq(a, b, ...) PLAIN_CHECK((a) == (b), true, #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) PLAIN_CHECK((a) != (b), true, #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) PLAIN_CHECK((a) < (b), true, #a " < " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) PLAIN_CHECK((a) > (b), true, #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) PLAIN_CHECK((a) >= (b), true, #a " >= " #b, __VA_ARGS__)
#define cr_expect(c, ...) PLAIN_CHECK((c), false, #c, __VA_ARGS__)
#define cr_expect_not(c, ...) PLAIN_CHECK(!(c), false, "not " #c, __VA_ARGS__)
#define cr_expect_eq(a, b, ...) PLAIN_CHECK((a) == (b), false, #a " == " #b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) PLAIN_CHECK((a) != (b), false, #a " != " #b, __VA_ARGS__)
#define cr_skip_test(...) plain_skip(" " __VA_ARGS__)

#endif

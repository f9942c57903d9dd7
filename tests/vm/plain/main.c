/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - runs the tests of a suite that was compiled with the criterion.h beside this file.
 *
 * Each in a process of its own, for at most two minutes, in the order they are written in.  TAP on
 * standard output, a test's underscores as blanks; what a failed claim has to say comes before its
 * line.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 120
#define FAILED 1
#define SKIPPED 77

static struct plain_test *first, **last = &first;
static bool failed; /* of the test's own process */

void plain_add(struct plain_test *test)
{
	*last = test;
	last = &test->next;
}

void plain_check(bool good, bool fatal, const char *file, int line, const char *claim,
		 const char *fmt, ...)
{
	va_list args;

	if (good)
		return;
	printf("# %s:%d: %s:", file, line, claim);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	failed = true;
	if (fatal)
		exit(FAILED);
}

void plain_skip(const char *fmt, ...)
{
	va_list args;

	printf("# skipped:");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	exit(SKIPPED);
}

static int run(const struct plain_test *test)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child < 0)
		return -1;
	if (!child) {
		alarm(SECONDS);
		test->run();
		exit(failed ? FAILED : 0);
	}
	return waitpid(child, &status, 0) == child ? status : -1;
}

/* An argument: only tests whose names contain it. */
int main(int argc, char **argv)
{
	unsigned n = 0, bad = 0;

	for (struct plain_test *test = first; test; test = test->next) {
		time_t started = time(NULL);
		int status = argc < 2 || strstr(test->name, argv[1]) ? run(test) : SKIPPED << 8;
		bool skip = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
		bool good = status == 0 || skip;

		if (WIFSIGNALED(status))
			printf("# ended by signal %d (%d: it took too long)\n", WTERMSIG(status),
			       SIGALRM);
		printf("%sok %u - ", good ? "" : "not ", ++n);
		for (const char *c = test->name; *c; c++)
			putchar(*c == '_' ? ' ' : *c);
		printf("%s\n", skip ? " # SKIP see above, or not asked for" : "");
		printf("# in %ld s\n", (long)(time(NULL) - started));
		bad += !good;
	}
	printf("1..%u\n", n);
	return bad != 0;
}

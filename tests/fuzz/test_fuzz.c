/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fuzz.c - replays every target's corpus in the ordinary build, and a little more.
 *
 * Each input is given as it is, cut at every byte, and with every byte replaced by a few awkward
 * ones, always ending where memory ends: a decoder that reads one byte too far dies here without a
 * sanitizer.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/targets.h"
#include "tests/wire/guard.h"

/* Which binary this is (see local.mk), and at how many bytes it bends and cuts: at every n-th. */
#ifndef FUZZ_LIST
#define FUZZ_LIST FUZZ_TARGETS
#define FUZZ_STEP 1
#endif

#define INPUT_MAX 32768

typedef int target_fn(const uint8_t *data, size_t size);

static void run_at_end(target_fn *target, const struct guard *g, const uint8_t *input, size_t len)
{
	memcpy(g->end - len, input, len);
	target(g->end - len, len);
}

/* Every byte of short inputs, some of long ones. */
static size_t step_of(size_t len)
{
	return FUZZ_STEP * (1 + len / 512);
}

static void run_bent(target_fn *target, const struct guard *g, uint8_t *input, size_t len)
{
	static const uint8_t awkward[] = {0x00, 0x01, 0x7f, 0x80, 0xff};

	for (size_t at = 0; at < len; at += step_of(len)) {
		uint8_t was = input[at];

		for (size_t i = 0; i < sizeof(awkward); i++) {
			input[at] = awkward[i];
			run_at_end(target, g, input, len);
		}
		input[at] = was;
	}
}

static void run_file(target_fn *target, const struct guard *g, const char *path)
{
	static uint8_t input[INPUT_MAX];
	FILE *f = fopen(path, "rb");
	size_t len;

	cr_assert_not_null(f, "%s", path);
	len = fread(input, 1, sizeof(input), f);
	cr_assert(feof(f), "%s: longer than %d bytes", path, INPUT_MAX - 1);
	fclose(f);
	for (size_t cut = 0; cut <= len; cut += step_of(len))
		run_at_end(target, g, input, cut);
	run_at_end(target, g, input, len);
	run_bent(target, g, input, len);
}

static void replay(target_fn *target, const char *name)
{
	struct guard g = guard_create(INPUT_MAX);
	struct dirent *ent;
	char path[4096];
	size_t count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", FUZZ_CORPUS, name);
	dir = opendir(path);
	cr_assert_not_null(dir, "%s", path);
	while ((ent = readdir(dir))) {
		if (ent->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", FUZZ_CORPUS, name, ent->d_name);
		run_file(target, &g, path);
		count++;
	}
	closedir(dir);
	cr_assert_gt(count, 0, "%s has no corpus", name);
	guard_destroy(&g);
}

#define REPLAY(name)                                                                               \
	int fuzz_##name(const uint8_t *data, size_t size);                                         \
	Test(fuzz, name##_survives_its_corpus)                                                     \
	{                                                                                          \
		replay(fuzz_##name, #name);                                                        \
	}
FUZZ_LIST(REPLAY)

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.h - how a fuzz target is written, so that it serves two masters.
 *
 *	#include "tests/fuzz/fuzz.h"
 *
 *	FUZZ_TARGET(wire_rpc_call)
 *	{
 *		... data, size ...
 *		return 0;
 *	}
 *
 * In a build with --enable-fuzz (clang) each target is a libFuzzer program of its own.  In every
 *other build all targets are linked into tests/fuzz/test_fuzz, which replays the committed corpora.
 *
 * To add one: the file fuzz_NAME.c, a line in targets.h, the lines in local.mk, seeds in
 *corpus/NAME/. A target that sees what may not be calls FUZZ_CHECK, which aborts.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define FUZZ_CHECK(claim)                                                                          \
	do {                                                                                       \
		if (!(claim))                                                                      \
			abort();                                                                   \
	} while (0)

#ifdef FUZZ_ENGINE
#define FUZZ_ENTRY(name)                                                                           \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                              \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                               \
	{                                                                                          \
		return fuzz_##name(data, size);                                                    \
	}
#else
#define FUZZ_ENTRY(name)
#endif

#define FUZZ_TARGET(name)                                                                          \
	int fuzz_##name(const uint8_t *data, size_t size);                                         \
	FUZZ_ENTRY(name)                                                                           \
	int fuzz_##name(const uint8_t *data, size_t size)

#endif

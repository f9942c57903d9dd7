/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * size.c - numbers and sizes as people type and read them.
 */
#include "util/util.h"

#include <errno.h>
#include <stdio.h>

/* Digits at text into *valuep; the end is returned, NULL when there are none or they overflow. */
static const char *parse_digits(const char *text, uint64_t *valuep, int *err)
{
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value)) {
			*err = -ERANGE;
			return NULL;
		}
	}
	if (p == text) {
		*err = -EINVAL;
		return NULL;
	}
	*valuep = value;
	return p;
}

/* 10 for k, 20 for m ...; 0 for anything else. */
static unsigned suffix_shift(char c)
{
	switch (c) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	case 't':
	case 'T':
		return 40;
	default:
		return 0;
	}
}

int util_size_parse(const char *text, uint64_t bare_unit, uint64_t *sizep)
{
	uint64_t value, unit = bare_unit;
	int err = 0;
	const char *end = parse_digits(text, &value, &err);

	if (!end)
		return err;
	if (*end) {
		unsigned shift = suffix_shift(*end);

		if (!shift || end[1])
			return -EINVAL;
		unit = UINT64_C(1) << shift;
	}
	if (__builtin_mul_overflow(value, unit, &value))
		return -ERANGE;
	*sizep = value;
	return 0;
}

int util_u64_parse(const char *text, uint64_t max, uint64_t *valuep)
{
	uint64_t value;
	int err = 0;
	const char *end = parse_digits(text, &value, &err);

	if (!end)
		return err;
	if (*end)
		return -EINVAL;
	if (value > max)
		return -ERANGE;
	*valuep = value;
	return 0;
}

const char *util_size_format(uint64_t size, char *buf, size_t len)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	unsigned i = 0;
	double value = (double)size;

	while (value >= 1024 && i + 1 < UTIL_ARRAY_SIZE(unit)) {
		value /= 1024;
		i++;
	}
	if (i == 0 || value == (double)(uint64_t)value)
		snprintf(buf, len, "%.0f %s", value, unit[i]);
	else
		snprintf(buf, len, "%.1f %s", value, unit[i]);
	return buf;
}

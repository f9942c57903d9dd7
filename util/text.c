/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.c - names from a server, made safe to print.
 *
 * A name may hold any byte but '/' and NUL.  Control characters could drive a terminal, so they
 * are escaped; so is whatever is not well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF), the C1 controls, and the backslash itself, so that the result is
 * unambiguous.
 */
#include "util/util.h"

#include <stdio.h>

/* Length of the printable character at s, 0 when it must be escaped. */
static size_t printable(const unsigned char *s, size_t left)
{
	static const struct {
		unsigned char lo, hi, len, second_lo, second_hi;
	} forms[] = {
		{0xc2, 0xc2, 2, 0xa0, 0xbf}, /* U+0080..U+009F are controls */
		{0xc3, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
		{0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f},
		{0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
		{0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
	};

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f && s[0] != '\\';
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(forms); i++) {
		if (s[0] < forms[i].lo || s[0] > forms[i].hi)
			continue;
		if (forms[i].len > left || s[1] < forms[i].second_lo || s[1] > forms[i].second_hi)
			return 0;
		for (size_t k = 2; k < forms[i].len; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].len;
	}
	return 0;
}

static size_t escape_byte(unsigned char c, char out[5])
{
	const char *named = "\nn\tt\rr\\\\";

	for (const char *p = named; *p; p += 2) {
		if ((unsigned char)*p == c) {
			out[0] = '\\';
			out[1] = p[1];
			return 2;
		}
	}
	return (size_t)snprintf(out, 5, "\\x%02x", c);
}

size_t util_text_escape(const char *name, size_t name_len, char *out, size_t out_len)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t used = 0, total = 0;
	bool full = false;

	for (size_t i = 0; i < name_len;) {
		char esc[5];
		size_t take = printable(s + i, name_len - i);
		const char *from = take ? name + i : esc;
		size_t n = take ? take : escape_byte(s[i], esc);

		total += n;
		i += take ? take : 1;
		full = full || n + 1 > out_len - used || !out_len;
		if (full)
			continue;
		memcpy(out + used, from, n);
		used += n;
	}
	if (out_len)
		out[used] = '\0';
	return total;
}

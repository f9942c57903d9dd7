/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * err.c - an error on its way to the user: what was tried and why it failed, and the remedy.
 */
#include "util/util.h"

#include <stdio.h>

int util_err_set(struct util_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	return code;
}

void util_err_hint(struct util_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
}

void util_err_prefix(struct util_err *err, const char *fmt, ...)
{
	char old[sizeof(err->what)];
	va_list ap;
	int n;

	if (!err)
		return;
	memcpy(old, err->what, sizeof(old));
	va_start(ap, fmt);
	n = vsnprintf(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->what))
		snprintf(err->what + n, sizeof(err->what) - (size_t)n, ": %s", old);
}

void util_err_clear(struct util_err *err)
{
	if (err)
		memset(err, 0, sizeof(*err));
}

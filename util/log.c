/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/util.h"

#include <stdio.h>

void util_log(const struct util_log *log, enum util_log_level level, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!log || !log->fn || level > log->level)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log->fn(log->arg, level, line);
}

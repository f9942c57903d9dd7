/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases.c - the lists of cases in one place, and their text made bytes.
 */
#include "cases.h"

#include <stdlib.h>

const struct wire_case_list *case_list(size_t i)
{
	static const struct wire_case_list *const lists[CASE_LISTS] = {
		&cases_nfs3_names, &cases_nfs3_rest, &cases_bulk,
		&cases_readdir,	   &cases_rpc,	     &cases_mount,
	};

	return lists[i];
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	abort();
}

size_t case_hex(const char *hex, uint8_t *buf, size_t max)
{
	size_t len = 0;

	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		if (len == max)
			abort();
		buf[len++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
		hex++;
	}
	return len;
}

size_t case_bytes(const struct wire_case *c, uint8_t buf[CASE_MESSAGE_MAX])
{
	return case_hex(c->hex, buf, CASE_MESSAGE_MAX);
}

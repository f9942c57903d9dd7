/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * suggest.c - what did the user mean?  The names nearest to a misspelt one.
 *
 * Distance counts insertions, deletions, replacements and swaps of neighbours (optimal string
 * alignment), so "rszie" is one step from "rsize".  A name is offered when at most two steps, and
 * fewer than half its letters, away: "ro" is not a suggestion for "xy".
 */
#include <stdio.h>

#include "client/options.h"

#define MAX_WORD 63
#define MAX_SHOWN 3

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

size_t client_suggest_distance(const char *a, const char *b)
{
	size_t rows[3][MAX_WORD + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	size_t na = strnlen(a, MAX_WORD + 1), nb = strnlen(b, MAX_WORD + 1);

	if (na > MAX_WORD || nb > MAX_WORD)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = before;

		before = above;
		above = row;
		row = spare;
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
				      above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return row[nb];
}

static size_t reach(const char *word, const char *name)
{
	size_t d = client_suggest_distance(word, name);
	size_t len = strlen(name);

	/* a prefix of at least three letters is a near miss however long the rest is */
	if (d > 2 && strlen(word) >= 3 && !strncmp(word, name, strlen(word)))
		return 2;
	return d <= 2 && d * 2 < len + 1 ? d : SIZE_MAX;
}

const char *client_suggest(const char *word, const char *const *names, size_t n, char *out,
			   size_t out_len)
{
	size_t used = 0, shown = 0;

	out[0] = '\0';
	for (size_t want = 0; want <= 2; want++) {
		for (size_t i = 0; i < n && shown < MAX_SHOWN; i++) {
			if (reach(word, names[i]) != want)
				continue;
			if (used + strlen(names[i]) + 3 > out_len)
				return out;
			used += (size_t)snprintf(out + used, out_len - used, "%s%s",
						 shown ? ", " : "", names[i]);
			shown++;
		}
	}
	return out;
}

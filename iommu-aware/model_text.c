/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_text.c - cutting hostile text: nothing here reads beyond end, allocates, or needs a NUL.
 */
#include "iommu-aware/model_text.h"

#include <string.h>

struct model_text iommu_model_text_cut(struct model_text *from, char by)
{
	struct model_text part = {from->at, from->end};
	const char *found = memchr(from->at, by, (size_t)(from->end - from->at));

	part.end = found ? found : from->end;
	from->at = found ? found + 1 : from->end;
	return part;
}

struct model_text iommu_model_text_line(struct model_text *from)
{
	struct model_text line = iommu_model_text_cut(from, '\n');

	if (line.end > line.at && line.end[-1] == '\r')
		line.end--;
	return line;
}

bool iommu_model_text_is(struct model_text text, const char *word)
{
	size_t len = (size_t)(text.end - text.at);

	return len == strlen(word) && !memcmp(text.at, word, len);
}

bool iommu_model_text_copy(struct model_text text, char *to, size_t room)
{
	size_t len = (size_t)(text.end - text.at);

	if (len == 0 || len >= room)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text.at[i] < ' ' || text.at[i] > '~')
			return false;
	memcpy(to, text.at, len);
	to[len] = '\0';
	return true;
}

bool iommu_model_text_positive(struct model_text text, double *valuep)
{
	double value = 0, unit = 1;
	bool point = false;

	if (text.end - text.at > 20)
		return false;
	for (; text.at < text.end; text.at++) {
		if (*text.at == '.' && !point) {
			point = true;
			continue;
		}
		if (*text.at < '0' || *text.at > '9')
			return false;
		value = value * 10 + (*text.at - '0');
		unit *= point ? 10 : 1;
	}
	*valuep = value / unit;
	return *valuep > 0 && *valuep < 1e12;
}

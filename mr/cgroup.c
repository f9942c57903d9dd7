/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cgroup.c - how much memory the control group leaves this process (version 2 hierarchy).
 *
 * The limit that binds is the smallest of the group's own and those of the groups above it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mr/internal.h"

/* The number in a file; UINT64_MAX where there is none, or where it says "max". */
static uint64_t mr_read_limit(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long limit = UINT64_MAX;

	if (!file)
		return UINT64_MAX;
	if (fscanf(file, "%llu", &limit) != 1)
		limit = UINT64_MAX;
	fclose(file);
	return limit;
}

/* "0::/a/b": the process's group. */
static bool mr_read_group(const char *root, char *group, size_t len)
{
	char path[512], line[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, "0::/", 4);
		if (found)
			snprintf(group, len, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
	}
	fclose(file);
	return found;
}

uint64_t mr_cgroup_limit(const char *root)
{
	char group[512], path[1200];
	uint64_t least = UINT64_MAX;

	if (!mr_read_group(root, group, sizeof(group)))
		return UINT64_MAX;
	for (char *end = group + strlen(group);; end = strrchr(group, '/')) {
		uint64_t limit;

		if (!end)
			return least;
		*end = '\0';
		snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s/memory.max", root, group);
		limit = mr_read_limit(path);
		if (limit < least)
			least = limit;
	}
}

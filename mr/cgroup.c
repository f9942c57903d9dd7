/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cgroup.c - how much memory the control group leaves this process.
 *
 * The limit that binds is the smallest of the group's own and those of the groups above it.  Both
 * hierarchies are looked at: version 2 (memory.max), and version 1 where the memory controller is
 * there (memory.limit_in_bytes).  In a container the path of the group may be the host's while what
 * is mounted begins at the container: the walk up ends at the root of the mount, which then is the
 * container's own group.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mr/internal.h"

/* One hierarchy: where it is mounted, and the file of a group that has the limit. */
struct mr_hierarchy {
	const char *mount, *file;
};

static const struct mr_hierarchy mr_v2 = {"/sys/fs/cgroup", "memory.max"};
static const struct mr_hierarchy mr_v1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"};

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

/*
 * A line of /proc/self/cgroup: ID:CONTROLLERS:/PATH, where version 2 has ID 0 and no controllers.
 * The hierarchy it is of, NULL: one without memory.  *pathp: where its path begins.
 */
static const struct mr_hierarchy *mr_parse_line(char *line, char **pathp)
{
	char *controllers = strchr(line, ':'), *path, *save = NULL;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path || path[1] != '/')
		return NULL;
	*controllers++ = *path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	*pathp = path;
	if (!strcmp(line, "0") && !*controllers)
		return &mr_v2;
	for (char *word = strtok_r(controllers, ",", &save); word;
	     word = strtok_r(NULL, ",", &save))
		if (!strcmp(word, "memory"))
			return &mr_v1;
	return NULL;
}

/* The group at path and all above it.  path is used up. */
static void mr_climb(struct mr_cgroup *cgroup, const char *root, const struct mr_hierarchy *h,
		     char *path)
{
	char file[1200];
	size_t skip = strlen(root);

	for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
		uint64_t limit;

		*end = '\0';
		snprintf(file, sizeof(file), "%s%s%s/%s", root, h->mount, path, h->file);
		limit = mr_read_limit(file);
		if (limit >= cgroup->limit)
			continue;
		cgroup->limit = limit;
		/* The end of a long name says more than its beginning. */
		if (strlen(file + skip) >= sizeof(cgroup->file))
			skip = strlen(file) + 1 - sizeof(cgroup->file);
		memcpy(cgroup->file, file + skip, strlen(file + skip) + 1);
		skip = strlen(root);
	}
}

void mr_cgroup_read(struct mr_cgroup *cgroup, const char *root)
{
	char name[512], line[1024], *path;
	const struct mr_hierarchy *h;
	FILE *file;

	*cgroup = (struct mr_cgroup){.limit = UINT64_MAX};
	snprintf(name, sizeof(name), "%s/proc/self/cgroup", root);
	file = fopen(name, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		h = mr_parse_line(line, &path);
		if (h)
			mr_climb(cgroup, root, h, path);
	}
	fclose(file);
}

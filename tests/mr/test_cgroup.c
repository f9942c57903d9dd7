/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control group's limit, in trees of either version and on this machine.  (A group that really
 * binds: the guest of tests/vm/scenarios/mr-limits.sh.)
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "mr/internal.h"

TestSuite(mr_cgroup);

struct tree {
	char root[32];
};

static void tree_open(struct tree *t)
{
	strcpy(t->root, "/tmp/mr-cgroup.XXXXXX");
	cr_assert(mkdtemp(t->root));
}

static void tree_put(struct tree *t, const char *path, const char *text)
{
	char cmd[1500], full[1000];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", t->root, path);
	snprintf(cmd, sizeof(cmd), "mkdir -p $(dirname %s)", full);
	cr_assert_eq(system(cmd), 0);
	file = fopen(full, "w");
	cr_assert(file, "%s", full);
	fputs(text, file);
	fclose(file);
}

static void expect(struct tree *t, uint64_t limit, const char *file)
{
	struct mr_cgroup cgroup;

	mr_cgroup_read(&cgroup, t->root);
	cr_expect_eq(cgroup.limit, limit, "%lu", (unsigned long)cgroup.limit);
	cr_expect_str_eq(cgroup.file, file);
}

static void tree_close(struct tree *t)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -r %s", t->root);
	cr_assert_eq(system(cmd), 0);
}

Test(mr_cgroup, the_smallest_limit_of_the_group_and_those_above_counts)
{
	struct tree t;

	tree_open(&t);
	expect(&t, UINT64_MAX, "");
	tree_put(&t, "/proc/self/cgroup", "1:name=x:/z\n0::/a/b\n");
	tree_put(&t, "/sys/fs/cgroup/a/b/memory.max", "max\n");
	expect(&t, UINT64_MAX, "");
	tree_put(&t, "/sys/fs/cgroup/a/memory.max", "1048576\n");
	expect(&t, 1048576, "/sys/fs/cgroup/a/memory.max");
	tree_put(&t, "/sys/fs/cgroup/a/b/memory.max", "65536\n");
	expect(&t, 65536, "/sys/fs/cgroup/a/b/memory.max");
	tree_close(&t);
}

Test(mr_cgroup, version_1_has_its_own_file_and_mount)
{
	struct tree t;

	tree_open(&t);
	tree_put(&t, "/proc/self/cgroup", "5:cpu,cpuacct:/c\n4:hugetlb,memory:/a/b\n0::/\n");
	tree_put(&t, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	tree_put(&t, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2097152\n");
	tree_put(&t, "/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1\n");
	expect(&t, 2097152, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
	tree_close(&t);
}

/* The path is the host's, and what is mounted begins at the container. */
Test(mr_cgroup, in_a_container_the_root_of_the_mount_is_the_group)
{
	struct tree t;

	tree_open(&t);
	tree_put(&t, "/proc/self/cgroup", "4:memory:/docker/0123\n0::/docker/0123\n");
	tree_put(&t, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "4194304\n");
	expect(&t, 4194304, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
	tree_put(&t, "/sys/fs/cgroup/memory.max", "3145728\n");
	expect(&t, 3145728, "/sys/fs/cgroup/memory.max");
	tree_close(&t);
}

Test(mr_cgroup, a_long_name_keeps_its_end)
{
	char path[500] = "/sys/fs/cgroup", line[500] = "0::";
	struct mr_cgroup cgroup;
	struct tree t;

	tree_open(&t);
	for (unsigned i = 0; i < 8; i++) {
		strcat(line, "/a-slice-of-some-length");
		strcat(path, "/a-slice-of-some-length");
	}
	tree_put(&t, "/proc/self/cgroup", line);
	strcat(path, "/memory.max");
	tree_put(&t, path, "12345\n");
	mr_cgroup_read(&cgroup, t.root);
	cr_expect_eq(cgroup.limit, 12345);
	cr_expect_eq(strlen(cgroup.file), sizeof(cgroup.file) - 1);
	cr_expect(strstr(path, cgroup.file), "%s", cgroup.file);
	tree_close(&t);
}

Test(mr_cgroup, lines_that_make_no_sense_are_passed_over)
{
	static const char *const lines[] = {"",		  "\n",		"0\n",	   "0:\n",
					    "0::\n",	  "0::x\n",	":::::\n", "0:memory\n",
					    "memory:/\n", "4:memory:\n"};
	struct tree t;

	tree_open(&t);
	tree_put(&t, "/sys/fs/cgroup/memory.max", "1\n");
	tree_put(&t, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "1\n");
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lines); i++) {
		tree_put(&t, "/proc/self/cgroup", lines[i]);
		expect(&t, UINT64_MAX, "");
	}
	tree_put(&t, "/proc/self/cgroup", "0::/\n");
	tree_put(&t, "/sys/fs/cgroup/memory.max", "nonsense\n");
	expect(&t, UINT64_MAX, "");
	tree_close(&t);
}

/* Whatever this machine has: what is said is what the file says that is named. */
Test(mr_cgroup, what_is_said_here_is_in_the_file_that_is_named)
{
	unsigned long long limit = 0;
	struct mr_cgroup cgroup;
	FILE *file;

	mr_cgroup_read(&cgroup, "");
	if (cgroup.file[0] != '/' || strncmp(cgroup.file, "/sys/", 5)) {
		cr_assert(cgroup.limit == UINT64_MAX || cgroup.file[0], "a limit has its file");
		return;
	}
	file = fopen(cgroup.file, "r");
	cr_assert(file, "%s", cgroup.file);
	cr_assert_eq(fscanf(file, "%llu", &limit), 1);
	fclose(file);
	cr_expect_eq(cgroup.limit, limit);
}

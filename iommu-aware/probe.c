/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - the machine's facts, from sysfs and procfs.
 *
 * Whether translation is in force is taken from the IOMMU groups alone.  The kernel command line
 * is collected because it explains, but it never concludes: people set amd_iommu=pt, and kernels
 * booted with the IOMMU off still print that they translate.
 *
 * Nothing here fails.  A file that is missing, unreadable, endless or full of rubbish leaves its
 * fact at zero, and every other fact is still gathered.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "iommu-aware/internal.h"

/* Bit of CAP_IPC_LOCK in CapEff (capability.h). */
#define IOMMU_CAP_IPC_LOCK 14

struct iommu_group_walk {
	struct iommu_facts *facts;
	const char *root;
};

static void iommu_count_group(void *arg, const char *name)
{
	const struct iommu_group_walk *walk = arg;
	uint64_t number;

	if (util_u64_parse(name, UINT32_MAX, &number))
		return;
	walk->facts->groups++;
	walk->facts->groups_of[iommu_group_domain((unsigned)number, walk->root)]++;
}

static void iommu_probe_groups(struct iommu_facts *facts, const char *root)
{
	struct iommu_group_walk walk = {.facts = facts, .root = root};

	iommu_read_dir(iommu_count_group, &walk, root, "/sys/kernel/iommu_groups");
	facts->present = facts->groups > 0;
}

/* Keep the words whose key speaks of an IOMMU ("iommu=pt", "intel_iommu=on", "iommu.strict=0"). */
static void iommu_pick_words(struct iommu_facts *facts)
{
	size_t used = 0;

	for (const char *p = facts->cmdline; *p;) {
		size_t len, key;

		p += strspn(p, " ");
		len = strcspn(p, " ");
		key = strcspn(p, " =");
		if (memmem(p, key, "iommu", 5) &&
		    len + (used > 0) < sizeof(facts->cmdline_iommu) - used) {
			if (used)
				facts->cmdline_iommu[used++] = ' ';
			memcpy(facts->cmdline_iommu + used, p, len);
			used += len;
		}
		p += len;
	}
	facts->cmdline_iommu[used] = '\0';
}

static void iommu_probe_memory(struct iommu_facts *facts, const char *root)
{
	static const char huge[] = "/sys/kernel/mm/hugepages/hugepages-";
	char line[128];
	char *open, *close;
	uint64_t nodes;

	iommu_read_u64(&facts->huge_2m_total, root, "%s2048kB/nr_hugepages", huge);
	iommu_read_u64(&facts->huge_2m_free, root, "%s2048kB/free_hugepages", huge);
	iommu_read_u64(&facts->huge_1g_total, root, "%s1048576kB/nr_hugepages", huge);
	iommu_read_u64(&facts->huge_1g_free, root, "%s1048576kB/free_hugepages", huge);

	/* "always [madvise] never": the bracket holds the choice. */
	if (iommu_read_line(line, sizeof(line), root,
			    "/sys/kernel/mm/transparent_hugepage/enabled") &&
	    (open = strchr(line, '[')) && (close = strchr(open, ']'))) {
		*close = '\0';
		snprintf(facts->thp, sizeof(facts->thp), "%.15s", open + 1);
	}
	if (iommu_read_line(line, sizeof(line), root, "/sys/devices/system/node/has_memory"))
		facts->nodes = (unsigned)iommu_list_bits(line, &nodes, IOMMU_MAX_NODES);
	if (facts->nodes == 0)
		facts->nodes = 1;
}

/* One column of "Max locked memory   8388608   unlimited   bytes". */
static uint64_t iommu_limit_column(const char **pp)
{
	const char *p = *pp + strspn(*pp, " \t");
	size_t len = strcspn(p, " \t\n");
	char word[24];
	uint64_t value;

	*pp = p + len;
	if (len >= sizeof(word))
		return 0;
	memcpy(word, p, len);
	word[len] = '\0';
	if (!strcmp(word, "unlimited"))
		return UINT64_MAX;
	return util_u64_parse(word, UINT64_MAX, &value) ? 0 : value;
}

static void iommu_probe_limits(struct iommu_facts *facts, const char *root)
{
	static const char key[] = "Max locked memory";
	char text[4096];
	const char *p;
	uint64_t caps;
	struct rlimit rl;

	if ((!root || !*root) && !getrlimit(RLIMIT_MEMLOCK, &rl)) {
		facts->memlock_known = true;
		facts->memlock_soft = rl.rlim_cur == RLIM_INFINITY ? UINT64_MAX : rl.rlim_cur;
		facts->memlock_hard = rl.rlim_max == RLIM_INFINITY ? UINT64_MAX : rl.rlim_max;
	} else if (iommu_read_bytes(text, sizeof(text), root, "/proc/self/limits") > 0 &&
		   (p = strstr(text, key))) {
		p += sizeof(key) - 1;
		facts->memlock_soft = iommu_limit_column(&p);
		facts->memlock_hard = iommu_limit_column(&p);
		facts->memlock_known = true;
	}
	if (iommu_read_bytes(text, sizeof(text), root, "/proc/self/status") > 0 &&
	    iommu_text_number(text, "CapEff:", 16, &caps))
		facts->ipc_lock = caps >> IOMMU_CAP_IPC_LOCK & 1;
}

/* "vendor_id : GenuineIntel" and "flags : ... hypervisor ..." of the first processor. */
static void iommu_probe_cpus(struct iommu_facts *facts, const char *root)
{
	uint64_t bits[128];
	char text[8192];
	char *line, *end;

	if (iommu_read_line(text, sizeof(text), root, "/sys/devices/system/cpu/online"))
		facts->cpus = (unsigned)iommu_list_bits(text, bits, 64 * UTIL_ARRAY_SIZE(bits));
	if (facts->cpus == 0)
		facts->cpus = 1;
	if (iommu_read_bytes(text, sizeof(text), root, "/proc/cpuinfo") <= 0)
		return;
	line = strstr(text, "vendor_id");
	if (line && line[strcspn(line, ":\n")] == ':') {
		line = strchr(line, ':');
		line += 1 + strspn(line + 1, " \t");
		util_text_escape(line, strcspn(line, "\n"), facts->cpu_vendor,
				 sizeof(facts->cpu_vendor));
	}
	line = strstr(text, "\nflags");
	end = line ? strchr(line + 1, '\n') : NULL;
	if (end)
		*end = '\0';
	facts->guest = line && strstr(line, " hypervisor");
}

void iommu_probe(struct iommu_facts *facts, const char *root)
{
	memset(facts, 0, sizeof(*facts));
	iommu_probe_groups(facts, root);
	iommu_probe_units(facts, root);
	iommu_read_line(facts->cmdline, sizeof(facts->cmdline), root, "/proc/cmdline");
	iommu_pick_words(facts);
	iommu_probe_cpus(facts, root);
	iommu_probe_memory(facts, root);
	iommu_probe_limits(facts, root);
	iommu_read_line(facts->kernel, sizeof(facts->kernel), root, "/proc/sys/kernel/osrelease");
}

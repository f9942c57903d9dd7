/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * env.c - where it ran: without these facts a figure is an anecdote.
 */
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/nfsrdma-bench/bench.h"

static void env_cpu(struct bench_env *env)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(env->cpu, sizeof(env->cpu), "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !value)
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\n")] = '\0';
		util_text_escape(value, strlen(value), env->cpu, sizeof(env->cpu));
		break;
	}
	if (f)
		fclose(f);
}

void bench_env_gather(struct bench_env *env)
{
	struct utsname name;

	memset(env, 0, sizeof(*env));
	if (!uname(&name)) {
		snprintf(env->host, sizeof(env->host), "%s", name.nodename);
		snprintf(env->kernel, sizeof(env->kernel), "%s %s %s", name.release, name.version,
			 name.machine);
	}
	env->cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	env_cpu(env);
	iommu_probe(&env->facts, NULL);
	iommu_summary(&env->facts, NULL, env->iommu, sizeof(env->iommu));
	env->warnings = iommu_warnings(env->warning, NULL, NULL);
}

void bench_env_mounted(struct bench_env *env, const struct nfsrdma_info *info)
{
	env->mounted = true;
	env->info = *info;
	env->warnings = iommu_warnings(env->warning, info->device, NULL);
	iommu_probe_device(&env->device, info->device[0] ? info->device : "none", NULL);
	if (info->iommu[0])
		snprintf(env->iommu, sizeof(env->iommu), "%s", info->iommu);
	else
		iommu_summary(&env->facts, &env->device, env->iommu, sizeof(env->iommu));
}

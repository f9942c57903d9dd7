/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.c - the one honest line every tool prints about the machine.
 *
 * The effective domain type stands first and the command line beside it, because they are known to
 * disagree.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "iommu-aware/internal.h"

struct iommu_text {
	char *buf;
	size_t len, used;
};

static void UTIL_PRINTF(2, 3) iommu_text_add(struct iommu_text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->used >= t->len)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, t->len - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n;
}

static void iommu_text_domain(struct iommu_text *t, const struct iommu_facts *facts,
			      const struct iommu_device *dev)
{
	const char *words = facts->cmdline_iommu[0] ? facts->cmdline_iommu : "silent";

	if (!facts->present) {
		iommu_text_add(t, "iommu none (no groups; command line: %s)", words);
		return;
	}
	if (!dev)
		iommu_text_add(t, "iommu %s", facts->driver[0] ? facts->driver : "present");
	else
		iommu_text_add(t, "iommu %s", iommu_domain_name(dev->domain));
	iommu_text_add(t, " (%s%s%u groups; command line: %s)", dev ? facts->driver : "",
		       dev && facts->driver[0] ? ", " : "", facts->groups, words);
}

static void iommu_text_device(struct iommu_text *t, const struct iommu_device *dev)
{
	iommu_text_add(t, " device %s", dev->name);
	if (dev->group >= 0)
		iommu_text_add(t, " group %d", dev->group);
	if (dev->node >= 0)
		iommu_text_add(t, " node %d", dev->node);
}

const char *iommu_summary(const struct iommu_facts *facts, const struct iommu_device *dev,
			  char *buf, size_t len)
{
	struct iommu_text t = {.buf = buf, .len = len};
	char size[24];

	if (len == 0)
		return buf;
	buf[0] = '\0';
	iommu_text_domain(&t, facts, dev);
	if (dev)
		iommu_text_device(&t, dev);
	iommu_text_add(&t, " hugepages-2m %llu/%llu", (unsigned long long)facts->huge_2m_free,
		       (unsigned long long)facts->huge_2m_total);
	if (facts->thp[0])
		iommu_text_add(&t, " thp %s", facts->thp);
	if (facts->ipc_lock || facts->memlock_soft == UINT64_MAX)
		iommu_text_add(&t, " memlock unlimited%s", facts->ipc_lock ? " (privileged)" : "");
	else
		iommu_text_add(&t, " memlock %s",
			       util_size_format(facts->memlock_soft, size, sizeof(size)));
	return buf;
}

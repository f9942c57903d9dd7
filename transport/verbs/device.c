/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.c - is there a device, and what can it do?
 *
 * Three facts no query tells are found out by trying, once per domain: how much a queue pair takes
 * inline, whether a region may have an address of our choice, and whether the CM is there at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/verbs/internal.h"

#define VERBS_NO_DEVICE_HINT "fabric=iwarp needs no RDMA device; 'rdma link' lists those there are"

int verbs_device_present(struct util_err *err)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	if (list)
		ibv_free_device_list(list);
	if (list && count > 0)
		return 0;
	util_err_set(err, -ENODEV, "no RDMA device on this machine");
	util_err_hint(err, VERBS_NO_DEVICE_HINT);
	return -ENODEV;
}

int verbs_channel_open(struct rdma_event_channel **channelp, struct util_err *err)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int code, flags;

	if (!channel) {
		code = errno ? -errno : -ENODEV;
		util_err_set(err, code, "opening the RDMA connection manager: %s", strerror(-code));
		util_err_hint(err, code == -EACCES ? "/dev/infiniband/rdma_cm is not accessible to "
						     "this user"
						   : "is the kernel module rdma_ucm loaded "
						     "(modprobe rdma_ucm)?");
		return code;
	}
	flags = fcntl(channel->fd, F_GETFL);
	if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		code = -errno;
		rdma_destroy_event_channel(channel);
		return util_err_set(err, code, "RDMA connection manager: %s", strerror(-code));
	}
	*channelp = channel;
	return 0;
}

/* Inline room of a queue pair with cap; -1 if the device refuses one. */
static int try_qp_inline(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t max_sge, uint32_t want)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = max_sge,
			.max_recv_sge = 1,
			.max_inline_data = want},
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		return -1;
	ibv_destroy_qp(qp);
	return (int)(init.cap.max_inline_data > want ? init.cap.max_inline_data : want);
}

/*
 * The most a queue pair will take inline, of the sizes a small RPC has.  Above 1 KiB the copy at
 * post time costs more than the device's read of the buffer.
 */
static uint32_t probe_inline(struct ibv_context *verbs, struct ibv_pd *pd, uint32_t max_sge)
{
	static const uint32_t sizes[] = {1024, 512, 256, 128, 64};
	struct ibv_cq *cq = ibv_create_cq(verbs, 8, NULL, NULL, 0);
	int got = -1;

	if (!cq)
		return 0;
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(sizes) && got < 0; i++)
		got = try_qp_inline(pd, cq, max_sge, sizes[i]);
	ibv_destroy_cq(cq);
	return got > 0 ? (uint32_t)got : 0;
}

/*
 * Does the device refuse a region address of our choice?  A device that lacks the feature says so;
 * one that ignores it in silence is a quirk.  Running out of lockable memory proves nothing.
 */
static bool refuses_iova(struct ibv_pd *pd)
{
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	bool refused = false;

	if (page == MAP_FAILED)
		return false;
	mr = ibv_reg_mr_iova2(pd, page, len, VERBS_SPACE_BASE, IBV_ACCESS_LOCAL_WRITE);
	if (mr)
		ibv_dereg_mr(mr);
	else
		refused = errno != ENOMEM;
	munmap(page, len);
	return refused;
}

int verbs_device_query(struct verbs_domain *domain, uint8_t port, struct util_err *err)
{
	struct fabric_attr *attr = &domain->base.attr;
	struct ibv_context *verbs = domain->verbs;
	const char *name = ibv_get_device_name(verbs->device);
	struct ibv_device_attr dev = {0};
	struct ibv_port_attr port_attr = {0};
	struct iommu_device facts;
	int ret;

	ret = ibv_query_device(verbs, &dev);
	if (ret)
		return util_err_set(err, -ret, "querying RDMA device %s: %s", name, strerror(ret));
	ret = ibv_query_port(verbs, port, &port_attr);
	if (ret)
		return util_err_set(err, -ret, "querying port %u of RDMA device %s: %s", port, name,
				    strerror(ret));
	verbs_limits(attr, &dev, &port_attr);
	snprintf(attr->device, sizeof(attr->device), "%s", name);
	iommu_probe_device(&facts, name, NULL);
	attr->numa_node = facts.node;
	domain->quirks = verbs_quirks(&dev);
	domain->iwarp = verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	domain->send_inv = domain->iwarp || (dev.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS);
	attr->max_inline = probe_inline(verbs, domain->pd, attr->max_sge);
	if (refuses_iova(domain->pd))
		domain->quirks |= VERBS_QUIRK_FORCES_VA;
	attr->region_addresses = !(domain->quirks & VERBS_QUIRK_FORCES_VA);
	verbs_provider_init(domain, &dev);
	return 0;
}

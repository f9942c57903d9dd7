/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain.c - protection domains of our own on devices that librdmacm opened.
 *
 * A requester opens one domain per (device, server): it asks the CM which device routes to the
 * peer, and keeps the cm id it asked with as the *anchor*.  A responder has one domain per device
 * its requests come in on; its anchor is an id bound to the local address of the first request.
 *
 * The anchor matters because librdmacm closes a device's context when the device has gone and no
 * id is bound to it any more; our protection domain, regions and queues live in that context.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "transport/verbs/internal.h"

static void set_port(struct sockaddr_storage *addr, uint16_t port_be)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = port_be;
	else
		((struct sockaddr_in *)addr)->sin_port = port_be;
}

static void close_anchor(struct verbs_domain *domain)
{
	if (domain->anchor)
		rdma_destroy_id(domain->anchor);
	if (domain->channel)
		rdma_destroy_event_channel(domain->channel);
	domain->anchor = NULL;
	domain->channel = NULL;
}

static int open_anchor(struct verbs_domain *domain, struct util_err *err)
{
	int ret = verbs_channel_open(&domain->channel, err);

	if (ret)
		return ret;
	if (rdma_create_id(domain->channel, &domain->anchor, NULL, RDMA_PS_TCP)) {
		ret = -errno;
		util_err_set(err, ret, "creating an RDMA cm id: %s", strerror(-ret));
		domain->anchor = NULL;
		close_anchor(domain);
	}
	return ret;
}

/* Wait for the one event that address resolution brings. */
static int await_address(struct verbs_domain *domain, const struct sockaddr *peer, int timeout_ms,
			 struct util_err *err)
{
	struct pollfd pfd = {.fd = domain->channel->fd, .events = POLLIN};
	uint64_t deadline_ns = util_clock_ns() + (uint64_t)timeout_ms * UTIL_NS_PER_MS;
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	int status;

	while (rdma_get_cm_event(domain->channel, &event)) {
		int left = util_clock_until_ms(deadline_ns);

		if (errno != EAGAIN && errno != EINTR)
			return util_err_set(err, -errno, "RDMA connection manager: %s",
					    strerror(errno));
		if (left == 0)
			return verbs_cm_event_err(err, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, false,
						  peer);
		poll(&pfd, 1, left);
	}
	type = event->event;
	status = event->status;
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_ADDR_RESOLVED && domain->anchor->verbs)
		return 0;
	return verbs_cm_event_err(err, RDMA_CM_EVENT_ADDR_ERROR, status ? status : -ENODEV, false,
				  peer);
}

static int resolve_anchor(struct verbs_domain *domain, const struct sockaddr *peer, int timeout_ms,
			  struct util_err *err)
{
	/* librdmacm takes a non-const address and only reads it. */
	if (rdma_resolve_addr(domain->anchor, NULL, (struct sockaddr *)peer, timeout_ms))
		return verbs_cm_event_err(err, RDMA_CM_EVENT_ADDR_ERROR, errno ? -errno : -ENODEV,
					  false, peer);
	return await_address(domain, peer, timeout_ms, err);
}

/* The anchor knows its device: allocate the protection domain and find out what the device can. */
static int domain_fill(struct verbs_domain *domain, struct util_err *err)
{
	int ret;

	domain->verbs = domain->anchor->verbs;
	domain->pd = ibv_alloc_pd(domain->verbs);
	if (!domain->pd)
		return util_err_set(err, errno ? -errno : -ENOMEM,
				    "allocating a protection domain on RDMA device %s: %s",
				    ibv_get_device_name(domain->verbs->device), strerror(errno));
	ret = verbs_events_open(domain->verbs);
	if (ret)
		return util_err_set(err, ret, "the events of RDMA device %s: %s",
				    ibv_get_device_name(domain->verbs->device), strerror(-ret));
	ret = verbs_device_query(domain, domain->anchor->port_num, err);
	if (ret)
		return ret;
	if (domain->quirks & VERBS_QUIRK_FORCES_VA)
		return 0;
	ret = iommu_space_create(&domain->space, VERBS_SPACE_BASE, VERBS_SPACE_LIMIT);
	if (ret)
		util_err_set(err, ret, "allocating region addresses: %s", strerror(-ret));
	return ret;
}

static void domain_free(struct verbs_domain *domain)
{
	if (domain->space)
		iommu_space_destroy(domain->space);
	if (domain->pd)
		ibv_dealloc_pd(domain->pd);
	close_anchor(domain);
	free(domain);
}

static struct verbs_domain *domain_alloc(struct verbs_fabric *fabric)
{
	struct verbs_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return NULL;
	domain->base.fabric = &fabric->base;
	domain->base.provider = &domain->provider;
	domain->fabric = fabric;
	domain->refs = 1;
	util_list_init(&domain->node);
	return domain;
}

int verbs_domain_open(struct fabric *base, const struct sockaddr *peer, socklen_t peer_len,
		      int timeout_ms, struct fabric_domain **domainp, struct util_err *err)
{
	struct verbs_fabric *fabric = verbs_fabric(base);
	struct verbs_domain *domain;
	char text[VERBS_ADDR_TEXT];
	int ret;

	ret = verbs_device_present(err);
	if (ret)
		return ret;
	domain = domain_alloc(fabric);
	if (!domain)
		return util_err_set(err, -ENOMEM, "opening an RDMA device: out of memory");
	ret = open_anchor(domain, err);
	if (ret)
		goto err_free;
	ret = resolve_anchor(domain, peer, timeout_ms > 0 ? timeout_ms : 10000, err);
	if (ret)
		goto err_free;
	ret = domain_fill(domain, err);
	if (ret)
		goto err_free;
	util_log(fabric->log, UTIL_LOG_INFO, "verbs: device %s routes to %s",
		 domain->base.attr.device, verbs_addr_text(peer, text, sizeof(text)));
	*domainp = &domain->base;
	return 0;

err_free:
	domain_free(domain);
	return ret;
}

void verbs_domain_put(struct fabric_domain *base)
{
	struct verbs_domain *domain = verbs_domain(base);
	struct verbs_fabric *fabric = domain->fabric;
	bool last;

	pthread_mutex_lock(&fabric->lock);
	last = --domain->refs == 0;
	if (last)
		util_list_del(&domain->node);
	pthread_mutex_unlock(&fabric->lock);
	if (last)
		domain_free(domain);
}

/* A new domain on the device that id came in on. */
static int domain_bind(struct verbs_fabric *fabric, struct rdma_cm_id *id,
		       struct verbs_domain **domainp, struct util_err *err)
{
	struct verbs_domain *domain = domain_alloc(fabric);
	struct sockaddr_storage local = {0};
	int ret;

	if (!domain)
		return util_err_set(err, -ENOMEM, "opening an RDMA device: out of memory");
	ret = open_anchor(domain, err);
	if (ret)
		goto err_free;
	memcpy(&local, &id->route.addr.src_storage, sizeof(local));
	set_port(&local, 0);
	if (rdma_bind_addr(domain->anchor, (struct sockaddr *)&local) || !domain->anchor->verbs) {
		ret = errno ? -errno : -ENODEV;
		util_err_set(err, ret, "binding to the RDMA device of a request: %s",
			     strerror(-ret));
		goto err_free;
	}
	ret = domain_fill(domain, err);
	if (ret)
		goto err_free;
	*domainp = domain;
	return 0;

err_free:
	domain_free(domain);
	return ret;
}

int verbs_domain_serve(struct verbs_fabric *fabric, struct rdma_cm_id *id,
		       struct verbs_domain **domainp, struct util_err *err)
{
	struct verbs_domain *domain;
	int ret = 0;

	pthread_mutex_lock(&fabric->lock);
	UTIL_LIST_FOR_EACH (pos, &fabric->served) {
		domain = UTIL_LIST_ENTRY(pos, struct verbs_domain, node);
		if (domain->verbs == id->verbs) {
			domain->refs++;
			*domainp = domain;
			goto out;
		}
	}
	ret = domain_bind(fabric, id, domainp, err);
	if (!ret)
		util_list_add(&fabric->served, &(*domainp)->node);
out:
	pthread_mutex_unlock(&fabric->lock);
	return ret;
}

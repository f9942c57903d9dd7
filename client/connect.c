/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect.c - the connections of a mount: which addresses, which transport, how many.
 *
 * Every address of the server is tried once, in the resolver's order; the last failure is told.
 * RDMA is the default.  With fallback=tcp, plain NFS on port 2049 is tried after it, and a warning
 * logged: a silent fallback would be measured as if it were RDMA.
 */
#include <string.h>
#include <sys/socket.h>

#include "client/internal.h"

bool client_transient(int err)
{
	switch (err) {
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -ECONNABORTED:
	case -EPIPE:
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -EHOSTDOWN:
	case -ENETUNREACH:
	case -ENETDOWN:
	case -EAGAIN:
		return true;
	default:
		return false;
	}
}

void client_params(const struct nfsrdma *mount, struct transport_client_params *params)
{
	const struct client_options *o = &mount->opts;

	memset(params, 0, sizeof(*params));
	params->proto = mount->proto == CLIENT_PROTO_TCP ? TRANSPORT_TCP : TRANSPORT_RDMA;
	params->fabric = (enum transport_fabric)o->fabric;
	if (o->iommu != IOMMU_SW_OFF && o->fabric == TRANSPORT_FABRIC_AUTO)
		params->fabric = TRANSPORT_FABRIC_IWARP; /* it has one */
	params->addr = mount->addr;
	params->addr_len = mount->addr_len;
	memcpy(params->server, mount->target.host,
	       strnlen(mount->target.host, sizeof(params->server) - 1));
	params->resvport = o->resvport;
	params->inline_size = o->inline_size;
	params->slots = o->slots;
	params->crc = (enum fabric_crc)o->crc;
	params->iommu.policy = (enum iommu_sw_policy)o->iommu;
	params->iommu.inval_ns = o->iommu_inval_ns;
	/* pool.log stays NULL: the pool may outlive this mount */
	params->pool.mode = (enum mr_mode)o->mr_mode;
	params->pool.monitor = (enum mr_monitor_wish)o->mr_monitor;
	params->pool.verify = params->pool.poison = o->mr_verify;
	params->pool.max_pinned = o->max_pinned;
	params->pool.hugepages = (enum mr_hugepages)o->hugepages;
	params->pool.numa_node = o->numa_node;
	params->timeo_ms = o->timeo_ds * 100;
	params->retrans = o->retrans;
	params->soft = o->soft;
	params->connect_timeout_ms = CLIENT_MOUNT_CALL_MS;
	params->log = &mount->log;
}

static int connect_all(struct nfsrdma *mount)
{
	struct transport_client_params params;
	int err;

	client_params(mount, &params);
	util_err_clear(&mount->err);
	while (mount->nconns < mount->opts.nconnect) {
		err = transport_client_create(&mount->conn[mount->nconns], mount->ctx->transport,
					      &params, &mount->err);
		if (err) {
			client_disconnect(mount);
			return err;
		}
		mount->nconns++;
	}
	return 0;
}

/* One transport over all addresses. */
static int connect_proto(struct nfsrdma *mount, enum client_proto proto, uint16_t port)
{
	struct client_addrs addrs;
	int err;

	err = client_resolve(&addrs, mount->target.host, (int)mount->opts.family, port,
			     &mount->err);
	if (err)
		return err;
	mount->proto = proto;
	for (unsigned i = 0; i < addrs.n; i++) {
		mount->addr = addrs.addr[i];
		mount->addr_len = addrs.len[i];
		err = connect_all(mount);
		if (!err)
			return 0;
		util_log(&mount->log, UTIL_LOG_INFO, "%s", mount->err.what);
	}
	if (!mount->err.hint[0] && err == -ECONNREFUSED)
		util_err_hint(&mount->err,
			      proto == CLIENT_PROTO_TCP
				      ? "is an NFS server listening on that port? -o port= chooses "
					"another"
				      : "is an NFS/RDMA server listening on that port? -o port= "
					"chooses another, -o proto=tcp does without RDMA");
	return err;
}

int client_connect(struct nfsrdma *mount)
{
	const struct client_options *o = &mount->opts;
	bool tcp = o->proto == CLIENT_PROTO_TCP;
	uint32_t port = mount->target.port ? mount->target.port : o->port;
	struct util_err first;
	int err;

	if (!port)
		port = tcp ? CLIENT_PORT_TCP : CLIENT_PORT_RDMA;
	err = connect_proto(mount, tcp ? CLIENT_PROTO_TCP : CLIENT_PROTO_RDMA, (uint16_t)port);
	if (!err)
		client_log_policy(mount);
	if (!err || tcp || !o->fallback_tcp)
		return err;
	first = mount->err;
	util_log(&mount->log, UTIL_LOG_WARN, "%s; falling back to tcp", first.what);
	if (connect_proto(mount, CLIENT_PROTO_TCP, CLIENT_PORT_TCP)) {
		mount->err = first;
		return err;
	}
	return 0;
}

void client_disconnect(struct nfsrdma *mount)
{
	if (mount->aux)
		transport_client_destroy(mount->aux);
	mount->aux = NULL;
	while (mount->nconns)
		transport_client_destroy(mount->conn[--mount->nconns]);
}

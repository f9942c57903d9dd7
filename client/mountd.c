/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mountd.c - who answers MOUNT?
 *
 * In this order:
 *   mountproto=rdma        the NFS connection itself, nobody else
 *   mountport=             RPC to that port of mounthost= (or the server), nobody else
 *   rpcbind                asked for at most 2 s; then RPC to the port it names
 *   the NFS connection     where rpcbind does not answer, knows no MOUNT, or sent us to one that
 *                          does not help.  nfsrdmad takes MOUNT there, nfsd answers PROG_UNAVAIL.
 *
 * RPC is over TCP, or over UDP if mountproto=udp.  The last is asked even if rpcbind's mountd said
 * no: on a machine with two servers rpcbind speaks for the other one.
 */
#include <netinet/in.h>
#include <string.h>

#include "client/internal.h"

static bool over_udp(const struct nfsrdma *mount)
{
	return mount->opts.mountproto == CLIENT_MOUNT_UDP;
}

/* A datagram that is not answered is sent again after 1, 2, 4 s; after 8 more that was all. */
#define UDP_TIMEO_MS 1000
#define UDP_RETRANS 3

/* RPC to addr, for MOUNT. */
static int mountd_connect(struct nfsrdma *mount, const struct sockaddr_storage *addr, socklen_t len)
{
	struct transport_client_params params;

	client_params(mount, &params);
	params.proto = over_udp(mount) ? TRANSPORT_UDP : TRANSPORT_TCP;
	if (over_udp(mount)) {
		params.timeo_ms = UDP_TIMEO_MS;
		params.retrans = UDP_RETRANS;
	}
	params.addr = *addr;
	params.addr_len = len;
	params.soft = true;
	if (mount->call_limit_ms)
		params.connect_timeout_ms = (int)mount->call_limit_ms;
	util_err_clear(&mount->err);
	return transport_client_create(&mount->aux, mount->ctx->transport, &params, &mount->err);
}

static void mountd_disconnect(struct nfsrdma *mount)
{
	if (mount->aux)
		transport_client_destroy(mount->aux);
	mount->aux = NULL;
}

static int ask_at(struct nfsrdma *mount, const struct sockaddr_storage *addr, socklen_t len,
		  client_mountd_fn *fn, void *arg)
{
	char shown[80];
	int err = mountd_connect(mount, addr, len);

	if (err) {
		util_err_prefix(&mount->err, "MOUNT");
		return err;
	}
	err = fn(mount, mount->aux, arg);
	mountd_disconnect(mount);
	if (!err)
		mount->mountd_addr = *addr;
	else
		util_log(&mount->log, UTIL_LOG_INFO, "MOUNT at %s: %s",
			 client_addr_format(addr, shown, sizeof(shown)), mount->err.what);
	return err;
}

static int ask_nfs(struct nfsrdma *mount, client_mountd_fn *fn, void *arg)
{
	mount->mountd_addr.ss_family = AF_UNSPEC;
	return fn(mount, mount->conn[0], arg);
}

/* mounthost=, or the address NFS is at. */
static int mountd_host(struct nfsrdma *mount, struct sockaddr_storage *addr, socklen_t *len)
{
	struct client_addrs addrs;
	int err;

	*addr = mount->addr;
	*len = mount->addr_len;
	if (!mount->opts.mounthost[0])
		return 0;
	err = client_resolve(&addrs, mount->opts.mounthost, (int)mount->opts.family, 0,
			     &mount->err);
	if (err)
		return err;
	*addr = addrs.addr[0];
	*len = addrs.len[0];
	return 0;
}

/* The port rpcbind names, 0 with the reason in why. */
static uint16_t mountd_port(struct nfsrdma *mount, const struct sockaddr_storage *addr,
			    socklen_t len, struct util_err *why)
{
	const bool six = addr->ss_family == AF_INET6;
	const char *netid = over_udp(mount) ? (six ? "udp6" : "udp") : (six ? "tcp6" : "tcp");
	uint16_t port = 0;
	int err;

	util_err_clear(why);
	err = transport_rpcbind_getport(mount->ctx->transport, (const struct sockaddr *)addr, len,
					WIRE_MOUNT_PROG, 3, netid, CLIENT_RPCBIND_MS, &port, why);
	if (err && !why->what[0])
		util_err_set(why, err, "rpcbind: %s", strerror(-err));
	if (!err && !port)
		util_err_set(why, -EPROTONOSUPPORT, "rpcbind knows no MOUNT there");
	return err ? 0 : port;
}

/* Does this failure only mean that MOUNT is not spoken there? */
static bool unspoken(int err)
{
	return err == -EPROTONOSUPPORT || err == -EOPNOTSUPP || err == -ETIMEDOUT || err == -EIO ||
	       client_transient(err);
}

static int ask_both(struct nfsrdma *mount, struct sockaddr_storage *addr, socklen_t len,
		    client_mountd_fn *fn, void *arg)
{
	struct util_err first;
	uint32_t first_status = 0;
	uint16_t port = mountd_port(mount, addr, len, &first);
	int err, nfs_err;

	if (port) {
		client_addr_set_port(addr, port);
		err = ask_at(mount, addr, len, fn, arg);
		if (!err)
			return 0;
		first = mount->err;
		first_status = mount->nfs_status;
	} else {
		err = first.code;
	}
	nfs_err = ask_nfs(mount, fn, arg);
	if (!nfs_err || !unspoken(nfs_err))
		return nfs_err;
	if (!port) {
		util_err_set(&mount->err, nfs_err,
			     "nobody answers MOUNT: %s, and not on the NFS connection (%s)",
			     first.what, strerror(-nfs_err));
		util_err_hint(&mount->err, "-o mountport=PORT names mountd's port");
		return nfs_err;
	}
	mount->err = first;
	mount->nfs_status = first_status;
	return err;
}

int client_mountd(struct nfsrdma *mount, client_mountd_fn *fn, void *arg)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int err;

	if (mount->opts.mountproto == CLIENT_MOUNT_NFS_CONN)
		return ask_nfs(mount, fn, arg);
	err = mountd_host(mount, &addr, &len);
	if (err)
		return err;
	if (mount->opts.mountport) {
		client_addr_set_port(&addr, (uint16_t)mount->opts.mountport);
		return ask_at(mount, &addr, len, fn, arg);
	}
	return ask_both(mount, &addr, len, fn, arg);
}

/* A courtesy to the server's list of mounts: bounded, and its failure is nobody's. */
void client_mountd_umnt(struct nfsrdma *mount)
{
	struct transport_client *conn = mount->conn[0];
	socklen_t len = mount->mountd_addr.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								 : sizeof(struct sockaddr_in);

	if (!mount->mounted)
		return;
	mount->mounted = false;
	mount->call_limit_ms = CLIENT_UMNT_MS;
	if (mount->mountd_addr.ss_family != AF_UNSPEC) {
		if (mountd_connect(mount, &mount->mountd_addr, len))
			return;
		conn = mount->aux;
	}
	client_umnt(mount, conn, mount->export_path);
	mountd_disconnect(mount);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpcbind.c - asking and telling port 111, over a TCP client of our own.
 *
 * Version 4 is asked first, because it knows transports by name (netid "rdma"); a host that has
 * only the port mapper answers PROG_MISMATCH and is asked by version 2, which knows TCP and UDP
 * alone. RFC 1833.  Everything is bounded by one deadline, connecting included.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "transport/transport.h"
#include "wire/wire.h"

#define RPCBIND_PROG 100000

/* One call and what became of it. */
struct exchange {
	bool done;
	int status;
	/* decode results into out, of whatever type the procedure has */
	int (*decode)(struct wire_dec *d, void *out);
	void *out;
	struct util_err *err;
};

static void exchange_done(struct transport_call *call)
{
	struct exchange *x = call->arg;

	x->status = call->status;
	if (x->status == 0 && x->decode(&call->results, x->out))
		x->status = util_err_set(x->err, -EBADMSG, "rpcbind sent a malformed answer");
	else if (x->status && x->err)
		*x->err = call->err;
	x->done = true;
	transport_call_put(call);
}

static int exchange_run(struct transport_client *client, struct exchange *x)
{
	while (!x->done) {
		transport_client_wait(client, -1);
		transport_client_process(client);
	}
	return x->status;
}

/* Submits call, whose arguments are encoded, and waits for its end. */
static int exchange_submit(struct transport_client *client, struct transport_call *call,
			   uint64_t end_ns, struct exchange *x)
{
	int err;

	call->deadline_ns = end_ns;
	call->done = exchange_done;
	call->arg = x;
	err = transport_call_submit(call);
	if (err) {
		transport_call_put(call);
		return err;
	}
	return exchange_run(client, x);
}

static int ask_v4(struct transport_client *client, uint32_t proc,
		  const struct wire_rpcbind_rpcb *rpcb, uint64_t end_ns, struct exchange *x)
{
	struct transport_call *call;
	int err = transport_call_get(client, RPCBIND_PROG, WIRE_RPCBIND_VERS, proc, NULL, &call);

	if (err)
		return err;
	wire_rpcbind_rpcb_encode(&call->args, rpcb);
	call->reply_max = 256;
	return exchange_submit(client, call, end_ns, x);
}

static int ask_v2(struct transport_client *client, uint32_t proc,
		  const struct wire_rpcbind_map *map, uint64_t end_ns, struct exchange *x)
{
	struct transport_call *call;
	int err =
		transport_call_get(client, RPCBIND_PROG, WIRE_RPCBIND_PMAP_VERS, proc, NULL, &call);

	if (err)
		return err;
	wire_rpcbind_map_encode(&call->args, map);
	call->reply_max = 64;
	return exchange_submit(client, call, end_ns, x);
}

static int decode_uaddr(struct wire_dec *d, void *out)
{
	return wire_rpcbind_uaddr_decode(d, out);
}

static int decode_port(struct wire_dec *d, void *out)
{
	return wire_rpcbind_port_decode(d, out);
}

static int decode_bool(struct wire_dec *d, void *out)
{
	return wire_rpcbind_bool_decode(d, out);
}

/* ---- connecting ------------------------------------------------------------------------- */

static void set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static int rpcbind_connect(struct transport_ctx *ctx, const struct sockaddr *addr, socklen_t len,
			   bool resvport, int timeout_ms, struct transport_client **clientp,
			   struct util_err *err)
{
	struct transport_client_params params = {
		.proto = TRANSPORT_TCP,
		.addr_len = len,
		.resvport = resvport,
		.timeo_ms = (uint32_t)timeout_ms,
		.soft = true,
		.connect_timeout_ms = timeout_ms,
		.pool = {.numa_node = -1},
	};
	int code;

	if (len > sizeof(params.addr))
		return util_err_set(err, -EINVAL, "rpcbind: address too long");
	memcpy(&params.addr, addr, len);
	set_port(&params.addr, WIRE_RPCBIND_PORT);
	snprintf(params.server, sizeof(params.server), "rpcbind");
	code = transport_client_create(clientp, ctx, &params, err);
	if (code)
		util_err_prefix(err, "rpcbind");
	return code;
}

/* ---- look up ---------------------------------------------------------------------------- */

/* The protocol number the port mapper knows a netid by; 0: none. */
static uint32_t pmap_prot(const char *netid)
{
	if (strcmp(netid, "tcp") == 0 || strcmp(netid, "tcp6") == 0)
		return IPPROTO_TCP;
	if (strcmp(netid, "udp") == 0 || strcmp(netid, "udp6") == 0)
		return IPPROTO_UDP;
	return 0;
}

static int getport_v2(struct transport_client *client, uint32_t prog, uint32_t vers,
		      const char *netid, uint64_t end_ns, uint16_t *portp, struct util_err *err)
{
	const struct wire_rpcbind_map map = {.prog = prog, .vers = vers, .prot = pmap_prot(netid)};
	uint16_t port = 0;
	struct exchange x = {.decode = decode_port, .out = &port, .err = err};
	int code;

	if (!map.prot) { /* the port mapper knows no such thing */
		*portp = 0;
		return 0;
	}
	code = ask_v2(client, WIRE_RPCBIND_GETPORT, &map, end_ns, &x);
	if (code == 0)
		*portp = port;
	return code;
}

static int getport(struct transport_client *client, uint32_t prog, uint32_t vers, const char *netid,
		   uint64_t end_ns, uint16_t *portp, struct util_err *err)
{
	struct wire_rpcbind_rpcb rpcb = {.prog = prog, .vers = vers};
	char uaddr[WIRE_RPCBIND_UADDR_MAX + 1] = "";
	struct exchange x = {.decode = decode_uaddr, .out = uaddr, .err = err};
	int code;

	snprintf(rpcb.netid, sizeof(rpcb.netid), "%s", netid);
	code = ask_v4(client, WIRE_RPCBIND_GETADDR, &rpcb, end_ns, &x);
	if (code == -EPROTONOSUPPORT || code == -EOPNOTSUPP) {
		util_err_clear(err);
		return getport_v2(client, prog, vers, netid, end_ns, portp, err);
	}
	if (code)
		return code;
	if (uaddr[0] == '\0') {
		*portp = 0;
		return 0;
	}
	if (wire_rpcbind_uaddr_port(uaddr, portp))
		return util_err_set(err, -EBADMSG, "rpcbind sent a malformed address");
	return 0;
}

int transport_rpcbind_getport(struct transport_ctx *ctx, const struct sockaddr *addr, socklen_t len,
			      uint32_t prog, uint32_t vers, const char *netid, int timeout_ms,
			      uint16_t *portp, struct util_err *err)
{
	uint64_t end_ns = util_clock_ns() + (uint64_t)timeout_ms * UTIL_NS_PER_MS;
	struct transport_client *client;
	int code = rpcbind_connect(ctx, addr, len, false, timeout_ms, &client, err);

	if (code)
		return code;
	code = getport(client, prog, vers, netid, end_ns, portp, err);
	transport_client_destroy(client);
	return code;
}

/* ---- register --------------------------------------------------------------------------- */

/* rpcbind lets only local callers change anything, and may ask for a port below 1024. */
static int local_connect(struct transport_ctx *ctx, int timeout_ms,
			 struct transport_client **clientp)
{
	const struct sockaddr_in loopback = {.sin_family = AF_INET,
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr *addr = (const struct sockaddr *)&loopback;
	int err = rpcbind_connect(ctx, addr, sizeof(loopback), true, timeout_ms, clientp, NULL);

	if (err == -EACCES || err == -EADDRINUSE)
		err = rpcbind_connect(ctx, addr, sizeof(loopback), false, timeout_ms, clientp,
				      NULL);
	return err;
}

static int change_v2(struct transport_client *client, uint32_t proc,
		     const struct wire_rpcbind_rpcb *rpcb, uint16_t port, uint64_t end_ns,
		     bool *okp)
{
	const struct wire_rpcbind_map map = {.prog = rpcb->prog,
					     .vers = rpcb->vers,
					     .prot = pmap_prot(rpcb->netid),
					     .port = port};
	struct exchange x = {.decode = decode_bool, .out = okp};

	if (!map.prot)
		return -EPROTONOSUPPORT;
	return ask_v2(client, proc, &map, end_ns, &x);
}

/* SET or UNSET; 0, -EEXIST when rpcbind says no. */
static int change(struct transport_ctx *ctx, uint32_t proc, struct wire_rpcbind_rpcb *rpcb,
		  uint16_t port, int timeout_ms)
{
	uint64_t end_ns = util_clock_ns() + (uint64_t)timeout_ms * UTIL_NS_PER_MS;
	bool ok = false;
	struct exchange x = {.decode = decode_bool, .out = &ok};
	struct transport_client *client;
	int err = local_connect(ctx, timeout_ms, &client);

	if (err)
		return err;
	snprintf(rpcb->owner, sizeof(rpcb->owner), "nfsrdmad");
	err = ask_v4(client, proc, rpcb, end_ns, &x);
	if (err == -EPROTONOSUPPORT || err == -EOPNOTSUPP)
		err = change_v2(client, proc, rpcb, port, end_ns, &ok);
	transport_client_destroy(client);
	if (err)
		return err;
	return ok ? 0 : -EEXIST;
}

int transport_rpcbind_set(struct transport_ctx *ctx, uint32_t prog, uint32_t vers,
			  const char *netid, uint16_t port, int timeout_ms)
{
	struct wire_rpcbind_rpcb rpcb = {.prog = prog, .vers = vers};
	size_t len = strlen(netid);
	const char *any = len > 0 && netid[len - 1] == '6' ? "::" : "0.0.0.0";

	snprintf(rpcb.netid, sizeof(rpcb.netid), "%s", netid);
	if (!wire_rpcbind_uaddr_format(any, port, rpcb.uaddr))
		return -EINVAL;
	return change(ctx, WIRE_RPCBIND_SET, &rpcb, port, timeout_ms);
}

int transport_rpcbind_unset(struct transport_ctx *ctx, uint32_t prog, uint32_t vers,
			    const char *netid, int timeout_ms)
{
	struct wire_rpcbind_rpcb rpcb = {.prog = prog, .vers = vers};

	snprintf(rpcb.netid, sizeof(rpcb.netid), "%s", netid);
	return change(ctx, WIRE_RPCBIND_UNSET, &rpcb, 0, timeout_ms);
}

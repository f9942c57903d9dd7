/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transport/rpc/rpcbind.c against a scripted rpcbind: each test has a network of its own, in which
 * port 111 is ours.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "transport/transport.h"

#define RPCBIND_PROG 100000
#define NFS_PROG 100003

enum kind { KIND_RPCBIND, KIND_PORTMAP, KIND_SILENT, KIND_MANGLED };

static enum kind kind;
static struct transport_server *server;
static struct transport_ctx *ctx;
static struct transport_request *held[8];
static unsigned nheld;
static struct wire_rpcbind_rpcb last; /* what was set or unset */
static uint32_t last_proc, last_vers;
static bool answer = true;

/* ---- the scripted rpcbind ------------------------------------------------------------------ */

static void reply_uaddr(struct transport_request *req, const char *uaddr)
{
	wire_put_opaque(&req->results, uaddr, strlen(uaddr));
}

static void serve_v4(struct transport_request *req)
{
	struct wire_rpcbind_rpcb rpcb;

	cr_assert_eq(wire_rpcbind_rpcb_decode(&req->args, &rpcb), 0);
	if (req->call.proc != WIRE_RPCBIND_GETADDR) {
		last = rpcb;
		wire_put_bool(&req->results, answer);
	} else if (kind == KIND_MANGLED) {
		reply_uaddr(req, "127.0.0.1.300.1");
	} else if (rpcb.prog == NFS_PROG && strcmp(rpcb.netid, "rdma") == 0) {
		reply_uaddr(req, "0.0.0.0.78.81");
	} else if (rpcb.prog == NFS_PROG && strcmp(rpcb.netid, "tcp") == 0) {
		reply_uaddr(req, "0.0.0.0.8.1");
	} else {
		reply_uaddr(req, "");
	}
}

static void serve_v2(struct transport_request *req)
{
	struct wire_rpcbind_map map;

	cr_assert_eq(wire_rpcbind_map_decode(&req->args, &map), 0);
	cr_assert_eq(map.prot, IPPROTO_TCP);
	if (req->call.proc != WIRE_RPCBIND_GETPORT) {
		last.prog = map.prog;
		wire_put_bool(&req->results, answer);
	} else {
		wire_put_u32(&req->results, map.prog == NFS_PROG ? 2049 : 0);
	}
}

static void dispatch(void *arg, struct transport_request *req)
{
	const struct wire_rpc_error mismatch = {.stat = WIRE_PROG_MISMATCH, .low = 2, .high = 2};

	cr_assert_eq(req->call.prog, RPCBIND_PROG);
	last_proc = req->call.proc;
	last_vers = req->call.vers;
	if (kind == KIND_SILENT) {
		cr_assert_lt(nheld, 8);
		held[nheld++] = req;
		return;
	}
	if (kind == KIND_PORTMAP && req->call.vers != 2) {
		transport_request_reply_error(req, &mismatch);
		return;
	}
	cr_assert_eq(transport_request_begin(req, 256), 0);
	if (req->call.vers == 2)
		serve_v2(req);
	else
		serve_v4(req);
	transport_request_reply(req);
}

static void worker_stop(void *arg, struct transport_worker *worker)
{
	while (nheld > 0)
		transport_request_drop(held[--nheld]);
}

/* ---- a network of one's own ---------------------------------------------------------------- */

static bool own_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd, err;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	err = ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	return err == 0;
}

static void start(enum kind k)
{
	const struct transport_service service = {.dispatch = dispatch, .worker_stop = worker_stop};
	const struct transport_server_params params = {.service = &service,
						       .threads = 1,
						       .tcp_port = 111,
						       .rdma_port = -1,
						       .iwarp_port = -1};
	struct util_err err = {0};

	if (!own_network())
		cr_skip_test("network namespaces are not allowed here");
	kind = k;
	cr_assert_eq(transport_ctx_create(&ctx, NULL), 0);
	cr_assert_eq(transport_server_create(&server, &params, &err), 0, "%s", err.what);
	cr_assert_eq(transport_server_start(server), 0);
}

static void stop(void)
{
	if (server)
		transport_server_destroy(server);
	if (ctx)
		transport_ctx_put(ctx);
}

TestSuite(rpc_rpcbind, .fini = stop, .timeout = 30);

static int lookup(uint32_t prog, const char *netid, int timeout_ms, uint16_t *portp,
		  struct util_err *err)
{
	const struct sockaddr_in addr = {.sin_family = AF_INET,
					 .sin_port = htons(20049), /* of no matter */
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return transport_rpcbind_getport(ctx, (const struct sockaddr *)&addr, sizeof(addr), prog, 3,
					 netid, timeout_ms, portp, err);
}

Test(rpc_rpcbind, finds_ports_by_transport)
{
	struct util_err err = {0};
	uint16_t port = 1;

	start(KIND_RPCBIND);
	cr_assert_eq(lookup(NFS_PROG, "rdma", 2000, &port, &err), 0, "%s", err.what);
	cr_assert_eq(port, 20049);
	cr_assert_eq(lookup(NFS_PROG, "tcp", 2000, &port, &err), 0, "%s", err.what);
	cr_assert_eq(port, 2049);
	cr_assert_eq(lookup(4711, "tcp", 2000, &port, &err), 0, "%s", err.what);
	cr_assert_eq(port, 0, "not registered");
}

Test(rpc_rpcbind, falls_back_to_the_port_mapper)
{
	struct util_err err = {0};
	uint16_t port = 1;

	start(KIND_PORTMAP);
	cr_assert_eq(lookup(NFS_PROG, "tcp", 2000, &port, &err), 0, "%s", err.what);
	cr_assert_eq(port, 2049);
	cr_assert_eq(last_vers, 2);
	cr_assert_eq(lookup(NFS_PROG, "rdma", 2000, &port, &err), 0, "%s", err.what);
	cr_assert_eq(port, 0, "it cannot know");
	cr_assert_eq(transport_rpcbind_set(ctx, NFS_PROG, 3, "tcp", 2049, 2000), 0);
	cr_assert_eq(last_proc, WIRE_RPCBIND_SET);
	cr_assert_eq(last.prog, NFS_PROG);
	cr_assert_eq(transport_rpcbind_set(ctx, NFS_PROG, 3, "rdma", 2049, 2000), -EPROTONOSUPPORT);
}

Test(rpc_rpcbind, registers_and_removes)
{
	start(KIND_RPCBIND);
	cr_assert_eq(transport_rpcbind_set(ctx, NFS_PROG, 3, "rdma", 20049, 2000), 0);
	cr_assert_eq(last_proc, WIRE_RPCBIND_SET);
	cr_assert_eq(last.prog, NFS_PROG);
	cr_assert_eq(last.vers, 3);
	cr_assert_str_eq(last.netid, "rdma");
	cr_assert_str_eq(last.uaddr, "0.0.0.0.78.81");
	cr_assert_eq(transport_rpcbind_set(ctx, NFS_PROG, 3, "tcp6", 2049, 2000), 0);
	cr_assert_str_eq(last.uaddr, "::.8.1");
	cr_assert_eq(transport_rpcbind_unset(ctx, NFS_PROG, 3, "rdma", 2000), 0);
	cr_assert_eq(last_proc, WIRE_RPCBIND_UNSET);
	answer = false;
	cr_assert_eq(transport_rpcbind_set(ctx, NFS_PROG, 3, "tcp", 2049, 2000), -EEXIST);
}

Test(rpc_rpcbind, a_silent_one_is_waited_for_no_longer_than_asked)
{
	struct util_err err = {0};
	uint16_t port = 77;
	uint64_t begin_ns;

	start(KIND_SILENT);
	begin_ns = util_clock_ns();
	cr_assert_eq(lookup(NFS_PROG, "tcp", 150, &port, &err), -ETIMEDOUT);
	cr_assert_lt(util_clock_ns() - begin_ns, 10 * UTIL_NS_PER_S);
	cr_assert_neq(err.what[0], '\0');
	cr_assert_eq(port, 77, "outputs only on success");
}

Test(rpc_rpcbind, an_absent_one_is_told_at_once)
{
	struct util_err err = {0};
	uint16_t port = 77;

	start(KIND_RPCBIND);
	transport_server_destroy(server);
	server = NULL;
	cr_assert_eq(lookup(NFS_PROG, "tcp", 5000, &port, &err), -ECONNREFUSED);
	cr_assert(strstr(err.what, "rpcbind"), "%s", err.what);
	cr_assert_eq(transport_rpcbind_set(ctx, NFS_PROG, 3, "tcp", 2049, 5000), -ECONNREFUSED);
}

Test(rpc_rpcbind, a_mangled_address_is_refused)
{
	struct util_err err = {0};
	uint16_t port = 77;

	start(KIND_MANGLED);
	cr_assert_eq(lookup(NFS_PROG, "tcp", 2000, &port, &err), -EBADMSG);
	cr_assert_eq(port, 77);
}

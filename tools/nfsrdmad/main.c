/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - nfsrdmad: serve folders by NFSv3 over RDMA and TCP.
 *
 * The main thread sets everything up, starts the workers, prints the ready line, and from then on
 * waits for a signal, tidying up once a second.  It withdraws its rpcbind registrations and stops
 * the workers when SIGTERM or SIGINT comes.
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "iommu-aware/iommu.h"
#include "tools/nfsrdmad/key.h"
#include "tools/nfsrdmad/options.h"
#include "tools/nfsrdmad/server.h"

#define MAX_FDS 65536
#define RPCBIND_TIMEOUT_MS 1000

static void log_line(void *arg, enum util_log_level level, const char *line)
{
	fprintf(stderr, "nfsrdmad: %s\n", line);
}

static void complain(const struct util_err *err)
{
	if (err->hint[0])
		fprintf(stderr, "nfsrdmad: %s (%s)\n", err->what, err->hint);
	else
		fprintf(stderr, "nfsrdmad: %s\n", err->what);
}

/* ---- limits and privileges -------------------------------------------------------------- */

/* Raise the soft limit to the hard one, as far as is any use; returns what holds. */
static unsigned raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 1024;
	if (limit.rlim_cur < MAX_FDS && limit.rlim_cur < limit.rlim_max) {
		rlim_t old = limit.rlim_cur;

		limit.rlim_cur = limit.rlim_max < MAX_FDS ? limit.rlim_max : MAX_FDS;
		if (setrlimit(RLIMIT_NOFILE, &limit))
			limit.rlim_cur = old;
	}
	return limit.rlim_cur < MAX_FDS ? (unsigned)limit.rlim_cur : MAX_FDS;
}

/* Settle on whose behalf we act, and keep no more power than that takes. */
static int settle_privileges(struct server *srv, struct util_err *err)
{
	int ret;

	srv->privileged = server_cred_privileged();
	if (!srv->privileged)
		return 0;
	if (setgroups(0, NULL))
		return util_err_set(err, -errno, "give up groups: %s", strerror(errno));
	ret = server_cred_limit();
	if (ret)
		return util_err_set(err, ret, "give up capabilities: %s", strerror(-ret));
	return 0;
}

static void print_identity(const struct server *srv)
{
	if (srv->privileged)
		fprintf(stderr,
			"nfsrdmad: privileged: acts with callers' credentials, root squash %s\n",
			srv->root_squash ? "on" : "off");
	else
		fprintf(stderr, "nfsrdmad: unprivileged: acts as user %u for every caller\n",
			(unsigned)geteuid());
}

static int load_key(struct server *srv, const struct options *o, struct util_err *err)
{
	bool kept;
	int ret = server_key_load(o->state, srv->key, &kept, err);

	if (!ret && !kept) {
		fprintf(stderr,
			"nfsrdmad: %s: file handles will not survive a restart (give --state "
			"DIR)\n",
			err->what);
		util_err_clear(err);
	}
	return ret;
}

/* ---- rpcbind ---------------------------------------------------------------------------- */

struct registration {
	uint32_t prog;
	const char *netid;
	uint16_t port;
	bool done;
};

static void rpcbind_register(struct transport_ctx *ctx, struct registration *regs, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		int ret;

		if (!regs[i].port)
			continue;
		ret = transport_rpcbind_set(ctx, regs[i].prog, 3, regs[i].netid, regs[i].port,
					    RPCBIND_TIMEOUT_MS);
		regs[i].done = ret == 0;
		if (ret == -ECONNREFUSED || ret == -ETIMEDOUT)
			return; /* no rpcbind here: clients give port= */
		if (ret)
			fprintf(stderr,
				"nfsrdmad: rpcbind does not take program %u on %s: %s (another "
				"server?)\n",
				regs[i].prog, regs[i].netid, strerror(-ret));
	}
}

static void rpcbind_withdraw(struct transport_ctx *ctx, const struct registration *regs,
			     unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (regs[i].done)
			transport_rpcbind_unset(ctx, regs[i].prog, 3, regs[i].netid,
						RPCBIND_TIMEOUT_MS);
}

/* ---- serving ---------------------------------------------------------------------------- */

static void print_json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static int print_ready(const struct server *srv, const struct transport_server *ts,
		       struct util_err *err)
{
	printf("{\"ready\":true,\"rdma_port\":%u,\"tcp_port\":%u,\"exports\":[",
	       transport_server_rdma_port(ts), transport_server_tcp_port(ts));
	for (unsigned i = 0; i < srv->exports.count; i++) {
		if (i)
			putchar(',');
		print_json_text(srv->exports.list[i].name);
	}
	printf("]}\n");
	if (fflush(stdout))
		return util_err_set(err, -errno, "ready line: %s", strerror(errno));
	return 0;
}

/* Nobody reading is no reason to stop serving. */
static void print_counts(struct server *srv)
{
	server_tally_print(&srv->tally, stdout);
	if (fflush(stdout))
		clearerr(stdout);
}

static void wait_for_signal(struct server *srv, const sigset_t *signals)
{
	const struct timespec second = {.tv_sec = 1};

	for (;;) {
		int signal = sigtimedwait(signals, NULL, &second);

		if (signal == SIGUSR1)
			print_counts(srv);
		else if (signal > 0)
			return;
		server_tick(srv);
	}
}

static int create_transport(struct server *srv, const struct options *o,
			    const struct transport_service *service, unsigned nofile,
			    struct transport_server **tsp, struct util_err *err)
{
	struct transport_server_params params = {
		.service = service,
		.threads = o->threads,
		.nlisten = o->nlisten,
		.tcp_port = o->tcp_port,
		.rdma_port = o->port,
		.iwarp_port = o->iwarp_port,
		.fabric_verbs = o->fabric_verbs,
		.fabric_iwarp = o->fabric_iwarp,
		.max_data = srv->max_data,
		.max_connections = nofile / 4 < 4096 ? nofile / 4 : 4096,
		.no_io_uring = o->no_io_uring,
		.pool = {.numa_node = -1, .log = srv->log},
		.log = srv->log,
	};

	memcpy(params.listen, o->listen, sizeof(params.listen));
	memcpy(params.listen_len, o->listen_len, sizeof(params.listen_len));
	return transport_server_create(tsp, &params, err);
}

static int serve(struct server *srv, const struct options *o, unsigned nofile,
		 const sigset_t *signals, struct util_err *err)
{
	const struct transport_service service = {
		.dispatch = server_dispatch,
		.worker_start = server_worker_start,
		.worker_stop = server_worker_stop,
		.arg = srv,
	};
	struct transport_server *ts;
	struct transport_ctx *ctx;
	int ret;

	ret = transport_ctx_create(&ctx, srv->log);
	if (ret)
		return util_err_set(err, ret, "set up: %s", strerror(-ret));
	/*
	 * Before the ports are bound: the RDMA devices' descriptors may be used only by threads
	 * with the very credentials that opened them (the kernel's ib_safe_file_access()), and
	 * setting credentials makes new ones.  Ports below 1024 need CAP_NET_BIND_SERVICE, which is
	 * kept.
	 */
	ret = settle_privileges(srv, err);
	if (!ret)
		ret = create_transport(srv, o, &service, nofile, &ts, err);
	if (ret)
		goto out_ctx;
	srv->apart = srv->privileged && transport_server_listens(ts, TRANSPORT_FABRIC_VERBS);
	ret = transport_server_start(ts);
	if (ret)
		util_err_set(err, ret, "start workers: %s", strerror(-ret));
	if (!ret) {
		uint16_t tcp = transport_server_tcp_port(ts), rdma = transport_server_rdma_port(ts);
		struct registration regs[] = {
			{WIRE_NFS_PROG, "tcp", tcp, false},
			{WIRE_MOUNT_PROG, "tcp", tcp, false},
			{WIRE_NFS_PROG, "rdma", rdma, false},
		};

		if (o->rpcbind)
			rpcbind_register(ctx, regs, UTIL_ARRAY_SIZE(regs));
		print_identity(srv);
		iommu_warnings_log(srv->log, NULL); /* of this machine's memory and IOMMU */
		ret = print_ready(srv, ts, err);
		if (!ret)
			wait_for_signal(srv, signals);
		rpcbind_withdraw(ctx, regs, UTIL_ARRAY_SIZE(regs));
		transport_server_stop(ts);
	}
	transport_server_destroy(ts);
out_ctx:
	transport_ctx_put(ctx);
	return ret;
}

static int run(struct server *srv, const struct options *o, struct util_err *err)
{
	unsigned nofile = raise_nofile();
	sigset_t signals;
	int ret;

	/* Workers inherit the mask: signals come to the main thread only. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	umask(0);

	ret = load_key(srv, o, err);
	if (!ret)
		ret = server_exports_prepare(&srv->exports, srv->key, o->read_only, err);
	if (!ret)
		ret = server_init(srv, nofile / 2, err);
	if (ret)
		return ret;
	ret = serve(srv, o, nofile, &signals, err);
	server_fini(srv);
	return ret;
}

int main(int argc, char **argv)
{
	struct util_log log = {.fn = log_line};
	struct util_err err = {.code = 0};
	struct options o;
	struct server *srv = calloc(1, sizeof(*srv));
	int ret;

	if (!srv || util_stdio_reserve()) {
		fprintf(stderr, "nfsrdmad: no memory, or no /dev/null\n");
		free(srv);
		return 1;
	}
	server_exports_init(&srv->exports);
	o.exports = &srv->exports;
	switch (options_parse(&o, argc, argv, &err)) {
	case OPTIONS_HELP:
		fputs(options_help, stdout);
		ret = 0;
		break;
	case OPTIONS_VERSION:
		printf("nfsrdmad %s\n", PACKAGE_VERSION);
		ret = 0;
		break;
	case OPTIONS_BAD:
		complain(&err);
		ret = 2;
		break;
	case OPTIONS_FAIL:
		complain(&err);
		ret = 1;
		break;
	default:
		log.level = o.level;
		srv->log = &log;
		srv->root_squash = o.root_squash;
		srv->no_io_uring = o.no_io_uring;
		srv->max_data = SERVER_MAX_DATA;
		ret = run(srv, &o, &err) ? 1 : 0;
		if (ret)
			complain(&err);
	}
	server_exports_close(&srv->exports);
	free(srv);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen.c - the server's listening ends, and handing new connections to workers.
 *
 * All listeners are watched by worker 0, which gives connections away round robin.  A
 * connection counts against max_connections from its acceptance until its link reports it gone;
 * one too many is closed at once, which tells its client more than leaving it in the backlog.
 *
 * RDMA listens by every fabric that was asked for, at one port where possible.  Having no verbs
 * device is no error while something else listens; nor is iwarp finding its port taken by a
 * verbs device that owns real TCP ports (siw), unless iwarp was given a port of its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "transport/rpc/worker.h"

#define BACKLOG 512
/* Connections accepted before other descriptors get their turn */
#define ACCEPT_BATCH 64
/* Out of descriptors or memory: look again after this */
#define PAUSE_NS (100 * UTIL_NS_PER_MS)
/* Tries to find a port free on all addresses, when any port will do */
#define PORT_TRIES 16

/* ---- addresses -------------------------------------------------------------------------- */

static void addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static uint16_t addr_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

static const char *addr_text(const struct sockaddr_storage *addr, char *buf, socklen_t len)
{
	const void *ip = addr->ss_family == AF_INET6
				 ? (const void *)&((const struct sockaddr_in6 *)addr)->sin6_addr
				 : (const void *)&((const struct sockaddr_in *)addr)->sin_addr;

	return inet_ntop(addr->ss_family, ip, buf, len) ? buf : "?";
}

static int bind_error(struct util_err *err, int code, const char *what,
		      const struct sockaddr_storage *addr)
{
	char host[INET6_ADDRSTRLEN];

	util_err_set(err, code, "listen for %s on %s port %u: %s", what,
		     addr_text(addr, host, sizeof(host)), addr_port(addr), strerror(-code));
	if (code == -EADDRINUSE)
		util_err_hint(err, "another server has this port; port 0 picks a free one");
	else if (code == -EACCES)
		util_err_hint(err, "ports below 1024 need root or CAP_NET_BIND_SERVICE");
	return code;
}

/* ---- handing over ----------------------------------------------------------------------- */

/* A connection on its way to a worker. */
struct handover {
	int fd;
	struct sockaddr_storage peer;
	const struct fabric_ops *ops;
	struct fabric_request *req;
};

static void take_over(struct transport_worker *w, void *arg)
{
	struct handover *h = arg;

	if (!w->stopping && h->ops) {
		rpcrdma_responder_adopt(w, h->ops, h->req);
	} else if (!w->stopping) {
		tcp_responder_adopt(w, h->fd, &h->peer);
	} else {
		if (h->ops)
			h->ops->request_reject(h->req);
		else
			close(h->fd);
		transport_worker_conn_closed(w);
	}
	free(h);
}

static bool count_in(struct transport_server *server)
{
	if (atomic_fetch_add(&server->nconns, 1) < server->params.max_connections)
		return true;
	atomic_fetch_sub(&server->nconns, 1);
	util_log(server->params.log, UTIL_LOG_WARN, "connection refused: there are %u already",
		 server->params.max_connections);
	return false;
}

static void hand_over(struct transport_server *server, const struct handover *from)
{
	struct transport_worker *w = &server->workers[server->next_worker];
	struct handover *h;

	if (!count_in(server))
		goto err_refuse;
	server->next_worker = (server->next_worker + 1) % server->nworkers;
	h = malloc(sizeof(*h));
	if (!h)
		goto err_count;
	*h = *from;
	if (w->index == 0)
		take_over(w, h);
	else if (transport_worker_post(w, take_over, h))
		goto err_free;
	return;

err_free:
	free(h);
err_count:
	transport_worker_conn_closed(w);
err_refuse:
	if (from->ops)
		from->ops->request_reject(from->req);
	else
		close(from->fd);
}

/* ---- accepting -------------------------------------------------------------------------- */

static void pause_listeners(struct transport_server *server)
{
	UTIL_LIST_FOR_EACH (node, &server->listeners) {
		struct transport_listener *l =
			UTIL_LIST_ENTRY(node, struct transport_listener, node);

		if (l->fd < 0)
			continue;
		transport_worker_unwatch(&server->workers[0], l->fd);
		l->paused = true;
	}
	server->resume_ns = util_clock_ns() + PAUSE_NS;
}

static void tcp_acceptable(void *arg)
{
	struct transport_listener *l = arg;
	struct transport_server *server = l->server;

	for (int i = 0; i < ACCEPT_BATCH; i++) {
		struct handover h = {0};
		socklen_t len = sizeof(h.peer);

		h.fd = accept4(l->fd, (struct sockaddr *)&h.peer, &len,
			       SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (h.fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (h.fd < 0) {
			if (errno != EAGAIN) {
				util_log(server->params.log, UTIL_LOG_ERROR, "accept: %s",
					 strerror(errno));
				pause_listeners(server);
			}
			return;
		}
		util_sock_accepted(h.fd);
		hand_over(server, &h);
	}
}

static void rdma_acceptable(void *arg)
{
	struct transport_listener *l = arg;

	for (int i = 0; i < ACCEPT_BATCH; i++) {
		struct handover h = {.fd = -1, .ops = l->ops};

		if (l->ops->listener_poll(l->listener, &h.req))
			return;
		hand_over(l->server, &h);
	}
}

static int watch_one(struct transport_listener *l)
{
	struct transport_worker *w = &l->server->workers[0];

	l->paused = false;
	if (l->ops)
		return transport_worker_watch(w, l->ops->listener_fd(l->listener), rdma_acceptable,
					      l);
	return transport_worker_watch(w, l->fd, tcp_acceptable, l);
}

static uint64_t listeners_deadline(void *arg)
{
	struct transport_server *server = arg;
	uint64_t at_ns = server->resume_ns;

	UTIL_LIST_FOR_EACH (node, &server->listeners) {
		struct transport_listener *l =
			UTIL_LIST_ENTRY(node, struct transport_listener, node);
		uint64_t one_ns = l->ops ? l->ops->listener_deadline(l->listener) : 0;

		if (one_ns && (!at_ns || one_ns < at_ns))
			at_ns = one_ns;
	}
	return at_ns;
}

static void listeners_fire(void *arg)
{
	struct transport_server *server = arg;

	UTIL_LIST_FOR_EACH (node, &server->listeners) {
		struct transport_listener *l =
			UTIL_LIST_ENTRY(node, struct transport_listener, node);

		if (l->ops)
			rdma_acceptable(l);
	}
	if (!server->resume_ns || util_clock_ns() < server->resume_ns)
		return;
	server->resume_ns = 0;
	UTIL_LIST_FOR_EACH (node, &server->listeners) {
		struct transport_listener *l =
			UTIL_LIST_ENTRY(node, struct transport_listener, node);

		if (l->paused)
			watch_one(l);
	}
}

int transport_listen_watch(struct transport_server *server)
{
	int err;

	UTIL_LIST_FOR_EACH (node, &server->listeners) {
		err = watch_one(UTIL_LIST_ENTRY(node, struct transport_listener, node));
		if (err)
			return err;
	}
	return transport_worker_timer(&server->workers[0], listeners_deadline, listeners_fire,
				      server);
}

void transport_listen_unwatch(struct transport_server *server)
{
	server->resume_ns = 0;
	UTIL_LIST_FOR_EACH (node, &server->listeners) {
		struct transport_listener *l =
			UTIL_LIST_ENTRY(node, struct transport_listener, node);

		transport_worker_unwatch(&server->workers[0],
					 l->ops ? l->ops->listener_fd(l->listener) : l->fd);
	}
}

/* ---- listening -------------------------------------------------------------------------- */

static struct transport_listener *listener_add(struct transport_server *server)
{
	struct transport_listener *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->server = server;
	l->fd = -1;
	util_list_add(&server->listeners, &l->node);
	return l;
}

static void listener_close(struct transport_listener *l)
{
	if (l->listener)
		l->ops->listener_close(l->listener);
	if (l->fd >= 0)
		close(l->fd);
	util_list_del(&l->node);
	free(l);
}

static void close_tcp(struct transport_server *server)
{
	UTIL_LIST_FOR_EACH_SAFE (node, &server->listeners) {
		struct transport_listener *l =
			UTIL_LIST_ENTRY(node, struct transport_listener, node);

		if (!l->ops)
			listener_close(l);
	}
}

void transport_listen_close(struct transport_server *server)
{
	UTIL_LIST_FOR_EACH_SAFE (node, &server->listeners)
		listener_close(UTIL_LIST_ENTRY(node, struct transport_listener, node));
}

bool transport_server_listens(const struct transport_server *server, enum transport_fabric fabric)
{
	const struct fabric_ops *ops =
		fabric == TRANSPORT_FABRIC_VERBS ? &verbs_fabric_ops : &iwarp_fabric_ops;

	UTIL_LIST_FOR_EACH (node, &server->listeners)
		if (UTIL_LIST_ENTRY(node, struct transport_listener, node)->ops == ops)
			return true;
	return false;
}

static int tcp_socket_listen(const struct sockaddr_storage *addr, socklen_t len)
{
	const int on = 1;
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* inherited by what is accepted */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (addr->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	util_sock_unpaced(fd);
	if (bind(fd, (const struct sockaddr *)addr, len) || listen(fd, BACKLOG)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int listen_tcp_one(struct transport_server *server, unsigned i, uint16_t *portp,
			  struct util_err *err)
{
	struct sockaddr_storage addr = server->params.listen[i];
	socklen_t len = sizeof(addr);
	struct transport_listener *l = listener_add(server);

	if (!l)
		return util_err_set(err, -ENOMEM, "listen: out of memory");
	addr_set_port(&addr, *portp);
	l->fd = tcp_socket_listen(&addr, server->params.listen_len[i]);
	if (l->fd < 0) {
		bind_error(err, l->fd, "tcp", &addr);
		return l->fd;
	}
	if (getsockname(l->fd, (struct sockaddr *)&addr, &len) == 0)
		*portp = addr_port(&addr);
	return 0;
}

static int listen_tcp_at(struct transport_server *server, uint16_t port, struct util_err *err)
{
	for (unsigned i = 0; i < server->params.nlisten; i++) {
		int code = listen_tcp_one(server, i, &port, err);

		if (code) {
			close_tcp(server);
			return code;
		}
	}
	server->tcp_port = port;
	return 0;
}

static int listen_tcp(struct transport_server *server, struct util_err *err)
{
	int tries = server->params.tcp_port == 0 ? PORT_TRIES : 1;
	int code = 0;

	if (server->params.tcp_port < 0)
		return 0;
	/* A port that is free on the first address need not be free on the others. */
	while (tries-- > 0) {
		code = listen_tcp_at(server, (uint16_t)server->params.tcp_port, err);
		if (code != -EADDRINUSE)
			break;
	}
	return code;
}

static int listen_fabric_one(struct transport_server *server, struct fabric *fabric, unsigned i,
			     uint16_t *portp, struct util_err *err)
{
	struct sockaddr_storage addr = server->params.listen[i], bound = {0};
	struct fabric_listener *listener;
	struct transport_listener *l;
	int code;

	addr_set_port(&addr, *portp);
	code = fabric->ops->listen(fabric, (struct sockaddr *)&addr, server->params.listen_len[i],
				   &bound, &listener, err);
	if (code)
		return code;
	l = listener_add(server);
	if (!l) {
		fabric->ops->listener_close(listener);
		return util_err_set(err, -ENOMEM, "listen: out of memory");
	}
	l->ops = fabric->ops;
	l->listener = listener;
	*portp = addr_port(&bound);
	return 0;
}

/* On all addresses at *portp, which is set if it was 0. */
static int listen_fabric(struct transport_server *server, const struct fabric_ops *ops,
			 unsigned slot, uint16_t *portp, struct util_err *err)
{
	const struct fabric_options opts = {
		.crc = server->params.crc,
		.no_io_uring = server->params.no_io_uring,
		.log = server->params.log,
	};
	int code = ops->open(&server->fabrics[slot], &opts, err);

	for (unsigned i = 0; code == 0 && i < server->params.nlisten; i++)
		code = listen_fabric_one(server, server->fabrics[slot], i, portp, err);
	if (code == 0 && server->rdma_port == 0)
		server->rdma_port = *portp;
	return code;
}

static int listen_rdma(struct transport_server *server, struct util_err *err)
{
	const struct transport_server_params *p = &server->params;
	uint16_t port = p->rdma_port > 0 ? (uint16_t)p->rdma_port : 0;
	uint16_t iwarp_port;
	struct util_err verbs_err = {0};
	int code;

	if (p->rdma_port < 0 && p->iwarp_port <= 0 && !p->fabric_ops)
		return 0;
	if (p->fabric_ops) {
		code = listen_fabric(server, p->fabric_ops, 2, &port, err);
		if (code)
			return code;
	}
	if (p->fabric_verbs && p->rdma_port >= 0) {
		code = listen_fabric(server, &verbs_fabric_ops, 0, &port, &verbs_err);
		if (code && !p->fabric_iwarp) {
			if (err)
				*err = verbs_err;
			return code;
		}
		if (code)
			util_log(p->log, UTIL_LOG_INFO, "not listening by verbs: %s",
				 verbs_err.what);
	}
	if (!p->fabric_iwarp)
		return 0;
	iwarp_port = p->iwarp_port > 0 ? (uint16_t)p->iwarp_port : port;
	code = listen_fabric(server, &iwarp_fabric_ops, 1, &iwarp_port, err);
	if (code == -EADDRINUSE && p->iwarp_port < 0 && server->rdma_port != 0) {
		util_log(p->log, UTIL_LOG_WARN,
			 "not listening by iwarp: port %u belongs to a verbs device", port);
		util_err_clear(err);
		return 0;
	}
	return code;
}

int transport_listen_all(struct transport_server *server, struct util_err *err)
{
	int code = listen_tcp(server, err);

	return code ? code : listen_rdma(server, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen.c - the responder's side of set-up: listeners, requests, accept and reject.
 *
 * A listener has an event channel of its own, polled by whoever owns the listener.  A request that
 * is accepted moves to the channel of the cq that accepts it, with whatever events wait for it;
 * from then on it belongs to that cq's thread.
 *
 * A request whose peer gave up meanwhile is found out when it is accepted: rdma_accept() fails.
 * The listener does not follow requests it has given out, because another thread may own them.
 *
 * Half-open requests are the kernel's: what it hands up is complete, and it keeps at most the
 * backlog of them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/verbs/internal.h"

#define VERBS_BACKLOG 128
/* From our reply to the peer's word that it has it. */
#define VERBS_START_MS 10000
/* Requests refused in one poll before the caller's loop gets its turn again. */
#define VERBS_EVENTS_MAX 64
/* RDMA devices of one machine. */
#define VERBS_DEVICES_MAX 64

struct verbs_listener {
	struct fabric_listener base;
	int epoll_fd; /* watches the channel, until that is lost */
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	/* One reference for each device requests came in on: what the server made on a domain, its
	 * pool first of all, outlives single connections. */
	struct verbs_domain *domains[VERBS_DEVICES_MAX];
	unsigned ndomains;
};

static struct verbs_listener *verbs_listener(struct fabric_listener *base)
{
	return UTIL_CONTAINER_OF(base, struct verbs_listener, base);
}

static int bind_and_listen(struct rdma_cm_id *id, const struct sockaddr *addr)
{
	int on = 1;

	/* Restarting a server must not wait for the connections of the one before. */
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on));
	if (addr->sa_family == AF_INET6)
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on));
	if (rdma_bind_addr(id, (struct sockaddr *)addr) || rdma_listen(id, VERBS_BACKLOG))
		return errno ? -errno : -EIO;
	return 0;
}

static int open_channel(struct verbs_listener *listener, struct util_err *err)
{
	struct epoll_event event = {.events = EPOLLIN};
	int ret = verbs_channel_open(&listener->events, err);

	if (ret)
		return ret;
	listener->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (listener->epoll_fd >= 0 &&
	    !epoll_ctl(listener->epoll_fd, EPOLL_CTL_ADD, listener->events->fd, &event))
		return 0;
	ret = util_err_set(err, -errno, "an epoll descriptor: %s", strerror(errno));
	if (listener->epoll_fd >= 0)
		close(listener->epoll_fd);
	rdma_destroy_event_channel(listener->events);
	return ret;
}

int verbs_listen(struct fabric *fabric, const struct sockaddr *addr, socklen_t len,
		 struct sockaddr_storage *bound, struct fabric_listener **listenerp,
		 struct util_err *err)
{
	struct verbs_listener *listener;
	char text[VERBS_ADDR_TEXT];
	int ret;

	ret = verbs_device_present(err);
	if (ret)
		return ret;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return util_err_set(err, -ENOMEM, "listening on RDMA: out of memory");
	listener->base.fabric = fabric;
	ret = open_channel(listener, err);
	if (ret)
		goto err_free;
	if (rdma_create_id(listener->events, &listener->id, NULL, RDMA_PS_TCP)) {
		ret = util_err_set(err, -errno, "creating an RDMA cm id: %s", strerror(errno));
		goto err_channel;
	}
	ret = bind_and_listen(listener->id, addr);
	if (ret) {
		util_err_set(err, ret, "listening for RDMA on %s: %s",
			     verbs_addr_text(addr, text, sizeof(text)), strerror(-ret));
		util_err_hint(err, ret == -EADDRINUSE ? "another server (the kernel's nfsd?) has "
							"that port"
				   : ret == -ENODEV   ? "no RDMA device has that address"
						      : "");
		goto err_id;
	}
	if (bound)
		*bound = listener->id->route.addr.src_storage;
	*listenerp = &listener->base;
	return 0;

err_id:
	rdma_destroy_id(listener->id);
err_channel:
	close(listener->epoll_fd);
	rdma_destroy_event_channel(listener->events);
err_free:
	free(listener);
	return ret;
}

int verbs_listener_fd(struct fabric_listener *listener)
{
	return verbs_listener(listener)->epoll_fd;
}

uint64_t verbs_listener_deadline(struct fabric_listener *listener)
{
	return 0;
}

void verbs_listener_close(struct fabric_listener *base)
{
	struct verbs_listener *listener = verbs_listener(base);

	rdma_destroy_id(listener->id);
	close(listener->epoll_fd);
	rdma_destroy_event_channel(listener->events);
	for (unsigned i = 0; i < listener->ndomains; i++)
		verbs_domain_put(&listener->domains[i]->base);
	free(listener);
}

static void refuse(struct rdma_cm_id *id)
{
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

/* The domain of the device id came in on: one reference for the request, one for the listener. */
static int request_domain(struct verbs_listener *listener, struct rdma_cm_id *id,
			  struct verbs_domain **domainp, struct util_err *err)
{
	struct verbs_fabric *fabric = verbs_fabric(listener->base.fabric);
	struct verbs_domain *domain;
	int ret;

	ret = verbs_domain_serve(fabric, id, domainp, err);
	if (ret)
		return ret;
	for (unsigned i = 0; i < listener->ndomains; i++)
		if (listener->domains[i] == *domainp)
			return 0;
	if (listener->ndomains == VERBS_DEVICES_MAX) {
		verbs_domain_put(&(*domainp)->base);
		return util_err_set(err, -ENOSPC, "more than %d RDMA devices", VERBS_DEVICES_MAX);
	}
	ret = verbs_domain_serve(fabric, id, &domain, err);
	if (ret) {
		verbs_domain_put(&(*domainp)->base);
		return ret;
	}
	listener->domains[listener->ndomains++] = domain;
	return 0;
}

/* A request out of a connect-request event, which is acknowledged here. */
static struct verbs_request *take_request(struct verbs_listener *listener,
					  struct rdma_cm_event *event)
{
	struct verbs_fabric *fabric = verbs_fabric(listener->base.fabric);
	struct rdma_cm_id *id = event->id;
	struct verbs_request *req = calloc(1, sizeof(*req));
	struct verbs_domain *domain;
	struct util_err err = {0};
	size_t len = event->param.conn.private_data ? event->param.conn.private_data_len : 0;

	if (req) {
		memcpy(req->base.peer_private, event->param.conn.private_data ?: "", len);
		req->base.peer_private_len = (uint16_t)len;
		req->param = event->param.conn;
		req->param.private_data = NULL;
		req->param.private_data_len = 0;
	}
	rdma_ack_cm_event(event);
	id->context = NULL;
	if (!req || request_domain(listener, id, &domain, &err)) {
		util_log(fabric->log, UTIL_LOG_WARN, "verbs: a connection request refused: %s",
			 req ? err.what : "out of memory");
		free(req);
		refuse(id);
		return NULL;
	}
	req->id = id;
	req->base.domain = &domain->base;
	req->base.local = id->route.addr.src_storage;
	req->base.peer = id->route.addr.dst_storage;
	return req;
}

/* Requests that can not be taken would wake the caller for ever: say so once, and be deaf. */
static void channel_lost(struct verbs_listener *listener, int code)
{
	util_log(
		verbs_fabric(listener->base.fabric)->log, UTIL_LOG_ERROR,
		"verbs: no more connections by RDMA: the connection manager refuses its events: %s "
		"(%s)",
		strerror(-code), verbs_errno_hint(code));
	epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, listener->events->fd, NULL);
}

int verbs_listener_poll(struct fabric_listener *base, struct fabric_request **reqp)
{
	struct verbs_listener *listener = verbs_listener(base);
	struct rdma_cm_event *event;
	struct verbs_request *req;

	for (int i = 0; i < VERBS_EVENTS_MAX; i++) {
		if (rdma_get_cm_event(listener->events, &event)) {
			if (errno != EAGAIN && errno != EINTR)
				channel_lost(listener, -errno);
			return -EAGAIN;
		}
		if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
			/* Of requests given up by their peers, or of the device: see above. */
			rdma_ack_cm_event(event);
			continue;
		}
		req = take_request(listener, event);
		if (req) {
			*reqp = &req->base;
			return 0;
		}
	}
	return -EAGAIN;
}

static void request_free(struct verbs_request *req)
{
	verbs_domain_put(req->base.domain);
	free(req);
}

void verbs_request_reject(struct fabric_request *base)
{
	struct verbs_request *req = UTIL_CONTAINER_OF(base, struct verbs_request, base);

	refuse(req->id);
	request_free(req);
}

static void adopt_request(struct verbs_conn *conn, const struct verbs_request *req)
{
	conn->id = req->id;
	conn->id->context = conn;
	conn->accept = req->param;
	conn->stage = VERBS_ACCEPTED;
	conn->base.local = req->base.local;
	conn->base.peer = req->base.peer;
	memcpy(conn->base.peer_private, req->base.peer_private, req->base.peer_private_len);
	conn->base.peer_private_len = req->base.peer_private_len;
}

/*
 * The request's domain is the cq's: the caller made a cq on it.  The cq keeps the domain, so the
 * request's reference goes with the request.  On failure the request is still the caller's to
 * reject.
 */
int verbs_conn_accept(struct fabric_cq *base, struct fabric_request *reqbase,
		      const struct fabric_conn_params *params, struct fabric_conn **connp,
		      struct util_err *err)
{
	struct verbs_request *req = UTIL_CONTAINER_OF(reqbase, struct verbs_request, base);
	struct verbs_cq *cq = verbs_cq(base);
	struct verbs_conn *conn;
	int ret;

	if (base->domain != reqbase->domain)
		return util_err_set(err, -EINVAL, "accepting on a queue of another RDMA device");
	ret = verbs_conn_new(cq, params, &conn, err);
	if (ret)
		return ret;
	adopt_request(conn, req);
	ret = verbs_conn_make_qp(conn, err);
	if (ret)
		goto err_destroy;
	if (rdma_migrate_id(conn->id, cq->events)) {
		ret = util_err_set(err, -errno, "moving an RDMA connection to its thread: %s",
				   strerror(errno));
		goto err_destroy;
	}
	request_free(req);
	*connp = &conn->base;
	return 0;

err_destroy:
	/* The id stays with the request. */
	if (conn->id->qp)
		rdma_destroy_qp(conn->id);
	conn->id->context = NULL;
	conn->id = NULL;
	verbs_conn_destroy(&conn->base);
	return ret;
}

/*
 * In a request's event, responder_resources is what the peer wants of us and initiator_depth what
 * it allows us (rdma_get_cm_event(3)): stay within both.
 */
static void limit_reads(struct rdma_conn_param *param, const struct rdma_conn_param *asked)
{
	if (param->responder_resources > asked->responder_resources)
		param->responder_resources = asked->responder_resources;
	if (param->initiator_depth > asked->initiator_depth)
		param->initiator_depth = asked->initiator_depth;
}

int verbs_conn_start(struct fabric_conn *base)
{
	struct verbs_conn *conn = verbs_conn(base);
	struct rdma_conn_param param;
	struct util_err err;
	char text[VERBS_ADDR_TEXT];
	int ret;

	if (conn->stage != VERBS_ACCEPTED)
		return conn->stage >= VERBS_ENDING ? -ENOTCONN : -EINVAL;
	verbs_conn_param_fill(conn, &param);
	limit_reads(&param, &conn->accept);
	conn->stage = VERBS_STARTING;
	verbs_conn_set_deadline(conn, VERBS_START_MS);
	if (!rdma_accept(conn->id, &param)) {
		verbs_conn_heat(conn);
		return 0;
	}
	ret = errno ? -errno : -EIO;
	util_err_set(&err, ret, "accepting the RDMA connection of %s: %s",
		     verbs_addr_text((struct sockaddr *)&base->peer, text, sizeof(text)),
		     strerror(-ret));
	verbs_conn_end(conn, &err);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect.c - the CM's side of connections: the active set-up, and the events of both roles.
 *
 * The active side walks address -> route -> queue pair -> connect, each step started by the event
 * that ended the one before; the whole walk has one deadline, because the CM's own time-outs add up
 * to minutes.  Receives posted meanwhile wait for the queue pair.
 *
 * An event is copied and acknowledged before it is acted on: destroying a cm id waits for
 * unacknowledged events of its own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "transport/verbs/internal.h"

#define VERBS_SETUP_MS 10000
/* A burst of events does not keep completions waiting for long. */
#define VERBS_EVENTS_MAX 64
/* Reserved ports, tried from the top; below 512 well-known services live. */
#define VERBS_RESVPORT_HIGH 1023
#define VERBS_RESVPORT_LOW 512

/* Depths of RDMA Reads both ways, retries, and our private data. */
void verbs_conn_param_fill(const struct verbs_conn *conn, struct rdma_conn_param *param)
{
	uint8_t reads = (uint8_t)conn->base.cq->domain->attr.max_rd_atomic;

	*param = (struct rdma_conn_param){
		.private_data = conn->params.private_len ? conn->params.private_data : NULL,
		.private_data_len = (uint8_t)conn->params.private_len,
		.responder_resources = reads,
		.initiator_depth = reads,
		.flow_control = 1,
		/* Transport retries: with the CM's usual packet life time some seconds. */
		.retry_count = 6,
		/* Credits keep a receive ready at all times: a few retries are for the unforeseen.
		 * (7 would mean for ever, and a stuck peer would never be reported.) */
		.rnr_retry_count = 6,
	};
}

static void copy_addrs(struct verbs_conn *conn)
{
	conn->base.local = conn->id->route.addr.src_storage;
	if (conn->id->route.addr.dst_storage.ss_family)
		conn->base.peer = conn->id->route.addr.dst_storage;
}

static void end_with_event(struct verbs_conn *conn, const struct rdma_cm_event *event)
{
	struct util_err err = {0};

	verbs_cm_event_err(&err, event->event, event->status, verbs_conn_domain(conn)->iwarp,
			   (struct sockaddr *)&conn->base.peer);
	verbs_conn_end(conn, &err);
}

/* errno of a librdmacm call that failed, as the connection's end. */
static void end_with_errno(struct verbs_conn *conn, enum rdma_cm_event_type event)
{
	struct rdma_cm_event words = {.event = event, .status = errno ? -errno : -EIO};

	end_with_event(conn, &words);
}

static int left_ms(const struct verbs_conn *conn)
{
	int ms = util_clock_until_ms(conn->deadline_ns);

	return ms > 0 ? ms : 1;
}

static void on_address(struct verbs_conn *conn)
{
	struct verbs_domain *domain = verbs_conn_domain(conn);
	char text[VERBS_ADDR_TEXT];
	struct util_err err;

	if (conn->stage != VERBS_ADDRESS)
		return;
	if (conn->id->verbs != domain->verbs) {
		util_err_set(
			&err, -ENODEV, "the route to %s no longer uses RDMA device %s",
			verbs_addr_text((struct sockaddr *)&conn->base.peer, text, sizeof(text)),
			domain->base.attr.device);
		util_err_hint(&err, "mount anew to use the other device");
		verbs_conn_end(conn, &err);
		return;
	}
	copy_addrs(conn);
	conn->stage = VERBS_ROUTE;
	if (rdma_resolve_route(conn->id, left_ms(conn)))
		end_with_errno(conn, RDMA_CM_EVENT_ROUTE_ERROR);
}

static void on_route(struct verbs_conn *conn)
{
	struct rdma_conn_param param;
	struct util_err err;
	int ret;

	if (conn->stage != VERBS_ROUTE)
		return;
	ret = verbs_conn_make_qp(conn, &err);
	if (ret) {
		verbs_conn_end(conn, &err);
		return;
	}
	ret = verbs_post_early(conn);
	if (ret) {
		util_err_set(&err, ret, "posting receives: %s", strerror(-ret));
		verbs_conn_end(conn, &err);
		return;
	}
	verbs_conn_param_fill(conn, &param);
	conn->stage = VERBS_CONNECTING;
	if (rdma_connect(conn->id, &param))
		end_with_errno(conn, RDMA_CM_EVENT_CONNECT_ERROR);
}

static void on_established(struct verbs_conn *conn, const void *data, size_t len)
{
	if (conn->stage == VERBS_CONNECTING) {
		if (len > sizeof(conn->base.peer_private))
			len = sizeof(conn->base.peer_private);
		if (len)
			memcpy(conn->base.peer_private, data, len);
		conn->base.peer_private_len = (uint16_t)len;
	} else if (conn->stage != VERBS_STARTING) {
		return;
	}
	copy_addrs(conn);
	verbs_conn_established(conn);
}

/* event is a copy; the private data it points to lies in data. */
static void handle_event(struct verbs_conn *conn, const struct rdma_cm_event *event,
			 const void *data, size_t len)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		on_address(conn);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		on_route(conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(conn, data, len);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		end_with_event(conn, event);
		break;
	default: /* TIMEWAIT_EXIT, multicast: nothing to do */
		break;
	}
}

/*
 * Events can no longer be taken, and those that lie there would keep the cq awake for ever: look
 * away, and end what depends on them.
 */
static void channel_lost(struct verbs_cq *cq, int code)
{
	struct util_err err;

	util_err_set(&err, code, "the RDMA connection manager refuses its events: %s",
		     strerror(-code));
	util_err_hint(&err, "%s", verbs_errno_hint(code));
	epoll_ctl(cq->epoll_fd, EPOLL_CTL_DEL, cq->events->fd, NULL);
	UTIL_LIST_FOR_EACH (pos, &cq->conns)
		verbs_conn_end(UTIL_LIST_ENTRY(pos, struct verbs_conn, node), &err);
}

void verbs_connect_events(struct verbs_cq *cq)
{
	struct rdma_cm_event *event, copy;
	struct verbs_conn *conn;
	uint8_t data[256];
	size_t len;

	for (int i = 0; i < VERBS_EVENTS_MAX; i++) {
		cq->counters.receive_calls++;
		if (rdma_get_cm_event(cq->events, &event)) {
			if (errno != EAGAIN && errno != EINTR)
				channel_lost(cq, -errno);
			return;
		}
		copy = *event;
		conn = event->id->context;
		len = event->param.conn.private_data ? event->param.conn.private_data_len : 0;
		if (len)
			memcpy(data, event->param.conn.private_data, len);
		rdma_ack_cm_event(event);
		if (conn)
			handle_event(conn, &copy, data, len);
	}
}

/* ---- the active side's start ------------------------------------------------------------- */

/* Bind to a port below 1024 of the address in local, or of any address of the peer's family. */
static int bind_reserved(struct rdma_cm_id *id, const struct fabric_conn_params *params)
{
	struct sockaddr_storage addr = params->local;
	/* Starting points differ between connections, so that not all try the same port first. */
	uint16_t span = VERBS_RESVPORT_HIGH - VERBS_RESVPORT_LOW + 1;
	uint16_t first = (uint16_t)(util_clock_ns() / 1000 % span);

	if (!addr.ss_family)
		addr.ss_family = params->peer.ss_family;
	for (uint16_t i = 0; i < span; i++) {
		uint16_t port = htons((uint16_t)(VERBS_RESVPORT_HIGH - (first + i) % span));

		if (addr.ss_family == AF_INET6)
			((struct sockaddr_in6 *)&addr)->sin6_port = port;
		else
			((struct sockaddr_in *)&addr)->sin_port = port;
		if (!rdma_bind_addr(id, (struct sockaddr *)&addr))
			return 0;
		if (errno != EADDRINUSE)
			return -errno;
	}
	return -EADDRINUSE;
}

static int bind_local(struct rdma_cm_id *id, const struct fabric_conn_params *params,
		      struct util_err *err)
{
	char text[VERBS_ADDR_TEXT];
	int on = 1, ret;

	if (params->resvport && !(params->local.ss_family && params->local_len)) {
		ret = bind_reserved(id, params);
		if (!ret)
			return 0;
		util_err_set(err, ret, "binding an RDMA connection to a port below 1024: %s",
			     strerror(-ret));
		util_err_hint(err, ret == -EACCES ? "needs CAP_NET_BIND_SERVICE; noresvport does "
						    "without (the export must be 'insecure')"
						  : "");
		return ret;
	}
	if (!params->local.ss_family)
		return 0;
	/* The port of the connection before may linger: the server knows us by it. */
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on));
	if (!rdma_bind_addr(id, (struct sockaddr *)&params->local))
		return 0;
	ret = -errno;
	return util_err_set(err, ret, "binding an RDMA connection to %s: %s",
			    verbs_addr_text((struct sockaddr *)&params->local, text, sizeof(text)),
			    strerror(-ret));
}

int verbs_conn_connect(struct fabric_cq *base, const struct fabric_conn_params *params,
		       struct fabric_conn **connp, struct util_err *err)
{
	struct verbs_cq *cq = verbs_cq(base);
	struct verbs_conn *conn;
	int ret;

	ret = verbs_conn_new(cq, params, &conn, err);
	if (ret)
		return ret;
	conn->stage = VERBS_ADDRESS;
	conn->base.peer = params->peer;
	if (rdma_create_id(cq->events, &conn->id, conn, RDMA_PS_TCP)) {
		ret = util_err_set(err, -errno, "creating an RDMA cm id: %s", strerror(errno));
		conn->id = NULL;
		goto err_destroy;
	}
	ret = bind_local(conn->id, params, err);
	if (ret)
		goto err_destroy;
	verbs_conn_set_deadline(conn, params->timeout_ms > 0 ? params->timeout_ms : VERBS_SETUP_MS);
	if (rdma_resolve_addr(conn->id, NULL, (struct sockaddr *)&conn->params.peer,
			      left_ms(conn))) {
		ret = verbs_cm_event_err(err, RDMA_CM_EVENT_ADDR_ERROR, errno ? -errno : -ENODEV,
					 verbs_domain(base->domain)->iwarp,
					 (struct sockaddr *)&conn->base.peer);
		goto err_destroy;
	}
	*connp = &conn->base;
	return 0;

err_destroy:
	verbs_conn_destroy(&conn->base);
	return ret;
}

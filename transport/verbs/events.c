/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.c - what a device says out of turn, in words: a port that went down, a queue that failed.
 *
 * Asynchronous events lie in the device's context, which librdmacm shares between all domains of
 * the process on that device.  Whoever looks first takes an event, says it in the log and
 * acknowledges it; so nothing but words may hang on one.  Connections end by their failed
 * completions and by CM events, which come to each of them; where one ended by silence, the port's
 * state is asked for, and said.
 *
 * NB: destroying a queue pair or completion queue waits for its events that were taken and not
 * acknowledged; they are acknowledged at once, so it cannot wait here.
 */
#include <errno.h>
#include <fcntl.h>

#include "transport/verbs/internal.h"

/* Events in one look, before completions get their turn again. */
#define VERBS_ASYNC_MAX 16

static const struct {
	enum ibv_event_type type;
	enum util_log_level level;
	const char *words;
} verbs_async_table[] = {
	{IBV_EVENT_DEVICE_FATAL, UTIL_LOG_ERROR, "the device failed and must be reset"},
	{IBV_EVENT_PORT_ERR, UTIL_LOG_WARN, "a port went down"},
	{IBV_EVENT_PORT_ACTIVE, UTIL_LOG_INFO, "a port is up"},
	{IBV_EVENT_LID_CHANGE, UTIL_LOG_INFO, "a port's LID changed"},
	{IBV_EVENT_PKEY_CHANGE, UTIL_LOG_INFO, "a port's partition keys changed"},
	{IBV_EVENT_GID_CHANGE, UTIL_LOG_INFO, "a port's addresses changed"},
	{IBV_EVENT_SM_CHANGE, UTIL_LOG_INFO, "a port has another subnet manager"},
	{IBV_EVENT_CLIENT_REREGISTER, UTIL_LOG_INFO, "the subnet manager asks for registrations"},
	{IBV_EVENT_CQ_ERR, UTIL_LOG_ERROR, "a completion queue overflowed"},
	{IBV_EVENT_QP_FATAL, UTIL_LOG_ERROR, "a queue pair failed"},
	{IBV_EVENT_QP_REQ_ERR, UTIL_LOG_WARN, "a peer sent a request that is not one"},
	{IBV_EVENT_QP_ACCESS_ERR, UTIL_LOG_WARN, "a peer asked for memory it has no right to"},
	{IBV_EVENT_COMM_EST, UTIL_LOG_DEBUG, "a first message overtook the connection manager"},
	{IBV_EVENT_SQ_DRAINED, UTIL_LOG_DEBUG, "a send queue is drained"},
	{IBV_EVENT_PATH_MIG, UTIL_LOG_INFO, "a connection took its other path"},
	{IBV_EVENT_PATH_MIG_ERR, UTIL_LOG_WARN, "a connection could not take its other path"},
};

static bool of_port(enum ibv_event_type type)
{
	return (type >= IBV_EVENT_PORT_ACTIVE && type <= IBV_EVENT_SM_CHANGE) ||
	       type == IBV_EVENT_CLIENT_REREGISTER || type == IBV_EVENT_GID_CHANGE;
}

static void tell(const struct verbs_domain *domain, const struct ibv_async_event *event)
{
	const struct util_log *log = domain->fabric->log;
	const char *device = domain->base.attr.device, *words = "something happened";
	enum util_log_level level = UTIL_LOG_DEBUG;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(verbs_async_table); i++) {
		if (verbs_async_table[i].type != event->event_type)
			continue;
		words = verbs_async_table[i].words;
		level = verbs_async_table[i].level;
	}
	if (of_port(event->event_type))
		util_log(log, level, "verbs: %s: %s (port %d)", device, words,
			 event->element.port_num);
	else
		util_log(log, level, "verbs: %s: %s (event %d)", device, words, event->event_type);
}

int verbs_events_open(struct ibv_context *verbs)
{
	int flags = fcntl(verbs->async_fd, F_GETFL);

	if (flags < 0 || fcntl(verbs->async_fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int verbs_events_take(const struct verbs_domain *domain)
{
	struct ibv_async_event event;

	for (int i = 0; i < VERBS_ASYNC_MAX; i++) {
		if (ibv_get_async_event(domain->verbs, &event))
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		tell(domain, &event);
		ibv_ack_async_event(&event);
	}
	return 0;
}

void verbs_events_explain(const struct verbs_conn *conn, struct util_err *err)
{
	struct ibv_port_attr port = {0};

	if (err->code != -ETIMEDOUT || !conn->id || !conn->id->verbs)
		return;
	if (ibv_query_port(conn->id->verbs, conn->id->port_num, &port) ||
	    port.state == IBV_PORT_ACTIVE)
		return;
	util_err_hint(err, "port %u of RDMA device %s is down: see 'rdma link', cable and switch",
		      conn->id->port_num, verbs_conn_domain(conn)->base.attr.device);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagram.c - RPC over UDP, requester: for MOUNT where a firewall or an old server knows nothing
 * else.  One datagram is one message (RFC 5531 section 11 frames only streams).
 *
 * Nothing is connected, so an attempt succeeds at once.  Sending again is the core's way of doing
 * without a connection that does not answer: it drops this one and replays the call by its XID,
 * from the same local port, so that the server may recognise it.
 *
 * Bulk data does not go this way, and no message is cut: calls and replies have one datagram each.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp/internal.h"

#define DATAGRAM_MAX 65507 /* what IPv4 carries: 2^16 - 1, less the IP and UDP headers */

struct datagram_link {
	struct transport_link link; /* first */
	struct mr_pool *pool;
	int fd;	    /* -1: none */
	bool fresh; /* link_up is due */
	struct tcp_counts counts;
	uint8_t in[DATAGRAM_MAX + 1]; /* one more shows what is too long */
};

static struct datagram_link *datagram_of(struct transport_link *link)
{
	return UTIL_CONTAINER_OF(link, struct datagram_link, link);
}

static int datagram_create(struct transport_client *client, struct transport_link **linkp,
			   struct util_err *err)
{
	struct datagram_link *link = calloc(1, sizeof(*link));
	int code;

	if (!link)
		return util_err_set(err, -ENOMEM, "udp: out of memory");
	code = transport_plain_pool_get(client->ctx, &client->params, &link->pool, err);
	if (code) {
		free(link);
		return code;
	}
	link->link.ops = &tcp_datagram_link_ops;
	link->link.client = client;
	link->fd = -1;
	*linkp = &link->link;
	return 0;
}

static void datagram_disconnect(struct transport_link *l)
{
	struct datagram_link *link = datagram_of(l);

	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	link->fresh = false;
}

static void datagram_destroy(struct transport_link *l)
{
	struct datagram_link *link = datagram_of(l);

	datagram_disconnect(l);
	transport_plain_pool_put(l->client->ctx, link->pool);
	free(link);
}

static int datagram_connect(struct transport_link *l, struct util_err *err)
{
	struct datagram_link *link = datagram_of(l);
	struct transport_client *client = l->client;
	int code;

	code = tcp_socket_connect(&client->params, &client->local, client->local_len, &link->fd,
				  err);
	if (code)
		return code;
	client->local_len = sizeof(client->local);
	if (getsockname(link->fd, (struct sockaddr *)&client->local, &client->local_len))
		client->local.ss_family = 0;
	link->fresh = true;
	return 0;
}

/* ---- out -------------------------------------------------------------------------------- */

static ssize_t datagram_send(struct datagram_link *link, const struct transport_call *call)
{
	ssize_t n;

	do {
		n = send(link->fd, call->msg, call->msg_len, MSG_NOSIGNAL | MSG_DONTWAIT);
		link->counts.doorbells++;
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* The kernel has no room: as good as lost on the way, and sent again like that. */
static bool datagram_lost(ssize_t n)
{
	return n == -EAGAIN || n == -ENOBUFS;
}

/* Nobody is there, or no way leads there: asking again would not help. */
static void datagram_refuse(struct transport_call *call, int code)
{
	struct util_err err = {0};

	tcp_socket_refused(code, &call->client->params, &err);
	transport_client_fail(call, &err);
}

static int datagram_flush(struct transport_link *l)
{
	struct datagram_link *link = datagram_of(l);
	struct transport_client *client = l->client;

	while (!util_list_empty(&client->queue) && client->nsent < client->params.slots) {
		struct transport_call *call =
			UTIL_LIST_ENTRY(client->queue.next, struct transport_call, node);
		ssize_t n = datagram_send(link, call);

		if (n < 0 && !datagram_lost(n)) {
			datagram_refuse(call, (int)n);
			continue;
		}
		if (n > 0)
			link->counts.bytes_sent += (uint64_t)n;
		transport_client_sent(call);
	}
	return 0;
}

/* ---- in --------------------------------------------------------------------------------- */

/* An ICMP error, of one call or another. */
static void datagram_refused(struct transport_link *l, int code)
{
	UTIL_LIST_FOR_EACH_SAFE (node, &l->client->sent)
		datagram_refuse(UTIL_LIST_ENTRY(node, struct transport_call, node), code);
}

static void datagram_process(struct transport_link *l)
{
	struct datagram_link *link = datagram_of(l);

	if (link->fresh) {
		link->fresh = false;
		transport_client_link_up(l->client);
		return;
	}
	for (;;) {
		ssize_t n = recv(link->fd, link->in, sizeof(link->in), MSG_DONTWAIT);
		struct transport_call *call = NULL;

		link->counts.receive_calls++;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			datagram_refused(l, -errno);
		if (n < 0)
			return;
		link->counts.bytes_received += (uint64_t)n;
		if (n >= 4 && n <= DATAGRAM_MAX)
			call = transport_client_find(l->client, util_get_be32(link->in));
		if (call)
			transport_client_reply(call, link->in, (size_t)n);
	}
}

static int datagram_wait(struct transport_link *l, int timeout_ms)
{
	struct datagram_link *link = datagram_of(l);
	struct pollfd pfd = {.fd = link->fd, .events = POLLIN};
	int n;

	if (link->fresh)
		return 0;
	n = poll(&pfd, 1, timeout_ms);
	if (n < 0)
		return -errno;
	return n > 0 ? 0 : -ETIME;
}

static int datagram_fd(struct transport_link *l, uint32_t *events)
{
	struct datagram_link *link = datagram_of(l);

	*events = link->fresh ? EPOLLOUT : EPOLLIN;
	return link->fd;
}

static int datagram_arm(struct transport_link *l)
{
	return datagram_of(l)->fresh;
}

static uint64_t datagram_deadline(struct transport_link *l)
{
	return 0;
}

static void datagram_abandon(struct transport_link *l, struct transport_call *call)
{
	/* nothing here points to it */
}

static int datagram_check_call(struct transport_link *l, const struct transport_call *call)
{
	return call->data_len || call->msg_len > DATAGRAM_MAX ? -EMSGSIZE : 0;
}

static void datagram_counters(const struct transport_link *l, struct transport_counters *counters)
{
	tcp_counts_add(&UTIL_CONTAINER_OF(l, struct datagram_link, link)->counts, counters);
}

static struct mr_pool *datagram_pool(struct transport_link *l)
{
	return datagram_of(l)->pool;
}

static const char *datagram_fabric_name(const struct transport_link *l)
{
	return "udp";
}

const struct transport_link_ops tcp_datagram_link_ops = {
	.name = "udp",
	.create = datagram_create,
	.destroy = datagram_destroy,
	.connect = datagram_connect,
	.disconnect = datagram_disconnect,
	.flush = datagram_flush,
	.process = datagram_process,
	.wait = datagram_wait,
	.fd = datagram_fd,
	.arm = datagram_arm,
	.deadline = datagram_deadline,
	.abandon = datagram_abandon,
	.check_call = datagram_check_call,
	.counters = datagram_counters,
	.pool = datagram_pool,
	.attr = tcp_no_attr,
	.fabric_name = datagram_fabric_name,
	.agreed = tcp_nothing_agreed,
};

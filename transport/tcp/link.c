/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.c - NFS over TCP, requester: a connection's life, and its face to the core.
 *
 * Sending is send.c's, receiving receive.c's, sockets socket.c's.
 *
 * A call may be given up at any moment.  If it is being received, the rest of its record is thrown
 * away.  If it is being sent, its record cannot be finished, since the bulk data is the caller's
 * again: the connection is dropped, and everything else is sent anew on the next one.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/tcp/internal.h"

#define STAGE_SIZE 65536

static int link_create(struct transport_client *client, struct transport_link **linkp,
		       struct util_err *err)
{
	struct tcp_link *link = calloc(1, sizeof(*link));
	int code;

	if (!link)
		return util_err_set(err, -ENOMEM, "tcp: out of memory");
	code = tcp_stream_init(&link->in, STAGE_SIZE);
	if (code) {
		util_err_set(err, code, "tcp: out of memory");
		goto err_free;
	}
	code = transport_plain_pool_get(client->ctx, &client->params, &link->pool, err);
	if (code)
		goto err_stream;
	link->link.ops = &tcp_link_ops;
	link->link.client = client;
	link->fd = -1;
	*linkp = &link->link;
	return 0;

err_stream:
	tcp_stream_free(&link->in);
err_free:
	free(link);
	return code;
}

static void link_destroy(struct transport_link *l)
{
	struct tcp_link *link = tcp_link_of(l);

	if (link->fd >= 0)
		close(link->fd);
	transport_plain_pool_put(l->client->ctx, link->pool);
	tcp_stream_free(&link->in);
	free(link->msg);
	free(link);
}

static int link_connect(struct transport_link *l, struct util_err *err)
{
	struct tcp_link *link = tcp_link_of(l);
	struct transport_client *client = l->client;
	int code;

	code = tcp_socket_connect(&client->params, &client->local, client->local_len, &link->fd,
				  err);
	if (code)
		return code;
	link->connecting = true;
	link->connect_end_ns =
		util_clock_ns() + (uint64_t)client->params.connect_timeout_ms * UTIL_NS_PER_MS;
	return 0;
}

static void link_disconnect(struct transport_link *l)
{
	struct tcp_link *link = tcp_link_of(l);

	if (link->fd >= 0)
		tcp_socket_abort(link->fd);
	link->fd = -1;
	link->connecting = link->blocked = false;
	link->partial = NULL;
	tcp_link_receive_reset(link);
}

/* Has the attempt come to an end? */
static void finish_connect(struct tcp_link *link)
{
	struct transport_client *client = link->link.client;
	struct util_err err = {0};
	int code = tcp_socket_connected(link->fd, &client->params, &err);
	char addr[TCP_ADDR_TEXT];

	if (code == -EINPROGRESS) {
		if (util_clock_ns() < link->connect_end_ns)
			return;
		code = util_err_set(&err, -ETIMEDOUT, "connect to %s: no answer within %d ms",
				    tcp_addr_text(&client->params.addr, addr, sizeof(addr)),
				    client->params.connect_timeout_ms);
		util_err_hint(&err,
			      "is the address right, the host up, and no firewall in between?");
	}
	link->connecting = false;
	if (code) {
		transport_client_link_down(client, &err);
		return;
	}
	client->local_len = sizeof(client->local);
	if (getsockname(link->fd, (struct sockaddr *)&client->local, &client->local_len))
		client->local.ss_family = 0;
	transport_client_link_up(client);
}

static void link_process(struct transport_link *l)
{
	struct tcp_link *link = tcp_link_of(l);
	struct util_err err = {0};
	int code;

	if (link->connecting) {
		finish_connect(link);
		return;
	}
	if (link->blocked) {
		link->blocked = false;
		if (tcp_link_flush(l)) {
			transport_client_link_down(l->client, &l->client->last_err);
			return;
		}
	}
	code = tcp_link_receive(link, &err);
	if (code)
		transport_client_link_down(l->client, &err);
}

static int link_fd(struct transport_link *l, uint32_t *events)
{
	struct tcp_link *link = tcp_link_of(l);

	*events = link->connecting ? EPOLLOUT : EPOLLIN;
	if (link->blocked)
		*events |= EPOLLOUT;
	return link->fd;
}

static int link_wait(struct transport_link *l, int timeout_ms)
{
	struct tcp_link *link = tcp_link_of(l);
	struct pollfd pfd = {.fd = link->fd, .events = POLLIN};
	int n;

	if (link->connecting)
		pfd.events = POLLOUT;
	else if (link->blocked)
		pfd.events |= POLLOUT;
	n = poll(&pfd, 1, timeout_ms);
	if (n < 0)
		return -errno;
	return n > 0 ? 0 : -ETIME;
}

static int link_arm(struct transport_link *l)
{
	return 0; /* a socket is level-triggered by nature, and process() leaves nothing in the
		     stage */
}

static uint64_t link_deadline(struct transport_link *l)
{
	struct tcp_link *link = tcp_link_of(l);

	return link->connecting ? link->connect_end_ns : 0;
}

static void link_abandon(struct transport_link *l, struct transport_call *call)
{
	struct tcp_link *link = tcp_link_of(l);
	struct util_err err = {0};

	tcp_link_receive_abandon(link, call);
	if (link->partial != call)
		return;
	link->partial = NULL;
	/* Nothing more may leave on this connection before the core drops it. */
	link->blocked = true;
	util_err_set(&err, -ECANCELED, "a call to %s was given up while it was being sent",
		     l->client->params.server);
	transport_client_link_down(l->client, &err);
}

static int link_check_call(struct transport_link *l, const struct transport_call *call)
{
	/* a record's length has 31 bits; nothing near it is ever meant */
	return call->data_len > INT32_MAX / 2 ? -EMSGSIZE : 0;
}

void tcp_counts_add(const struct tcp_counts *counts, struct transport_counters *counters)
{
	counters->doorbells += counts->doorbells;
	counters->receive_calls += counts->receive_calls;
	counters->bytes_sent += counts->bytes_sent;
	counters->bytes_received += counts->bytes_received;
}

const struct fabric_attr *tcp_no_attr(const struct transport_link *l)
{
	return NULL;
}

int tcp_nothing_agreed(const struct transport_link *l, struct transport_agreed *agreed)
{
	return -EOPNOTSUPP;
}

static void link_counters(const struct transport_link *l, struct transport_counters *counters)
{
	tcp_counts_add(&UTIL_CONTAINER_OF(l, struct tcp_link, link)->counts, counters);
}

static struct mr_pool *link_pool(struct transport_link *l)
{
	return tcp_link_of(l)->pool;
}

static const char *link_fabric_name(const struct transport_link *l)
{
	return "tcp";
}

const struct transport_link_ops tcp_link_ops = {
	.name = "tcp",
	.create = link_create,
	.destroy = link_destroy,
	.connect = link_connect,
	.disconnect = link_disconnect,
	.flush = tcp_link_flush,
	.process = link_process,
	.wait = link_wait,
	.fd = link_fd,
	.arm = link_arm,
	.deadline = link_deadline,
	.abandon = link_abandon,
	.check_call = link_check_call,
	.counters = link_counters,
	.pool = link_pool,
	.attr = tcp_no_attr,
	.fabric_name = link_fabric_name,
	.agreed = tcp_nothing_agreed,
};

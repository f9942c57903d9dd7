/* SPDX-License-Identifier: BSD-2-Clause */
/* mock_cm.c - librdmacm, scripted (see mock.h). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/verbs/mock.h"

#define MOCK_EVENTS_MAX 128

struct ibv_context *mock_resolved_context(void);

struct mock_cm_event {
	struct rdma_cm_event event;
	uint8_t data[256];
};

struct mock_cm_channel {
	struct rdma_event_channel channel;
	struct mock_cm_event *queue[MOCK_EVENTS_MAX];
	unsigned head, tail;
	unsigned ids;
};

struct mock_id {
	struct rdma_cm_id id;
	unsigned taken, acked;
	bool listening, connected;
};

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct mock_cm_channel *channel;

	if (mock.no_cm) {
		errno = ENODEV;
		return NULL;
	}
	if (mock_fails("rdma_create_event_channel"))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	channel->channel.fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK);
	mock.live++;
	return &channel->channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *base)
{
	struct mock_cm_channel *channel = (struct mock_cm_channel *)base;

	if (channel->ids)
		mock_violate("event channel destroyed under its ids");
	close(base->fd);
	free(channel);
	mock.live--;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **idp, void *context,
		   enum rdma_port_space ps)
{
	struct mock_id *id;

	if (mock_fails("rdma_create_id"))
		return -1;
	id = calloc(1, sizeof(*id));
	id->id.channel = channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.port_num = 1;
	((struct mock_cm_channel *)channel)->ids++;
	mock.live++;
	mock.id = *idp = &id->id;
	return 0;
}

static void drop_child(struct mock_id *id)
{
	((struct mock_cm_channel *)id->id.channel)->ids--;
	free(id);
	mock.live--;
}

/* The events in channel that are about id: dropped, or moved to another channel. */
static void move_events(struct mock_cm_channel *from, struct rdma_cm_id *id,
			struct mock_cm_channel *to)
{
	unsigned keep = from->tail, end = from->head;
	uint64_t one = 1;

	for (unsigned i = from->tail; i < end; i++) {
		struct mock_cm_event *event = from->queue[i];

		if (event->event.id != id && event->event.listen_id != id) {
			from->queue[keep++] = event;
			continue;
		}
		if (read(from->channel.fd, &one, sizeof(one)) < 0)
			mock_violate("eventfd out of step");
		if (!to) {
			if (event->event.listen_id == id) /* a request nobody took */
				drop_child((struct mock_id *)event->event.id);
			free(event);
			continue;
		}
		to->queue[to->head++] = event;
		one = 1;
		if (write(to->channel.fd, &one, sizeof(one)) < 0)
			mock_violate("eventfd full");
	}
	from->head = keep;
}

int rdma_destroy_id(struct rdma_cm_id *base)
{
	struct mock_id *id = (struct mock_id *)base;
	struct mock_cm_channel *channel = (struct mock_cm_channel *)base->channel;

	if (base->qp)
		mock_violate("cm id destroyed before its queue pair");
	if (id->taken != id->acked)
		mock_violate("cm id destroyed with an event not acknowledged: it would hang");
	move_events(channel, base, NULL);
	channel->ids--;
	if (mock.id == base)
		mock.id = NULL;
	if (mock.listen_id == base)
		mock.listen_id = NULL;
	free(id);
	mock.live--;
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	if (mock_fails("rdma_migrate_id"))
		return -1;
	move_events((struct mock_cm_channel *)id->channel, id, (struct mock_cm_channel *)channel);
	((struct mock_cm_channel *)id->channel)->ids--;
	((struct mock_cm_channel *)channel)->ids++;
	id->channel = channel;
	return 0;
}

static struct mock_cm_event *push(struct rdma_cm_id *id, struct rdma_event_channel *base, int type,
				  int status)
{
	struct mock_cm_channel *channel = (struct mock_cm_channel *)base;
	struct mock_cm_event *event = calloc(1, sizeof(*event));
	uint64_t one = 1;

	event->event.id = id;
	event->event.event = (enum rdma_cm_event_type)type;
	event->event.status = status;
	channel->queue[channel->head++] = event;
	if (write(base->fd, &one, sizeof(one)) < 0)
		mock_violate("eventfd full");
	return event;
}

void mock_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status)
{
	push(id, id->channel, type, status);
}

static void answer(struct rdma_cm_id *id, const struct mock_answer *with)
{
	struct mock_cm_event *event;

	if (with->type < 0)
		return;
	event = push(id, id->channel, with->type, with->status);
	if (!with->private_len)
		return;
	memcpy(event->data, with->private_data, with->private_len);
	event->event.param.conn.private_data = event->data;
	event->event.param.conn.private_data_len = with->private_len;
}

int rdma_get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **eventp)
{
	struct mock_cm_channel *channel = (struct mock_cm_channel *)base;
	struct mock_cm_event *event;
	uint64_t one;

	if (channel->tail == channel->head) {
		errno = EAGAIN;
		return -1;
	}
	if (mock.fail_call && !strcmp(mock.fail_call, "rdma_get_cm_event")) {
		errno = mock.fail_errno;
		return -1;
	}
	if (read(base->fd, &one, sizeof(one)) < 0)
		mock_violate("eventfd out of step");
	event = channel->queue[channel->tail++];
	if (event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		((struct mock_id *)event->event.listen_id)->taken++;
	else
		((struct mock_id *)event->event.id)->taken++;
	if (event->event.event == RDMA_CM_EVENT_ADDR_RESOLVED)
		event->event.id->verbs = mock_resolved_context();
	*eventp = &event->event;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		((struct mock_id *)event->listen_id)->acked++;
	else
		((struct mock_id *)event->id)->acked++;
	memset(event, 0xee, sizeof(struct mock_cm_event));
	free(event);
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (mock.fail_bind_ports > 0) {
		mock.fail_bind_ports--;
		errno = EADDRINUSE;
		return -1;
	}
	if (mock_fails("rdma_bind_addr"))
		return -1;
	memcpy(&id->route.addr.src_storage, addr, sizeof(struct sockaddr_in));
	memcpy(&mock.bound, addr, sizeof(struct sockaddr_in));
	if (((struct sockaddr_in *)addr)->sin_addr.s_addr != htonl(INADDR_ANY))
		id->verbs = mock.context;
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	if (mock_fails("rdma_resolve_addr"))
		return -1;
	memcpy(&id->route.addr.dst_storage, dst, sizeof(struct sockaddr_in));
	id->route.addr.src_sin.sin_family = AF_INET;
	id->route.addr.src_sin.sin_addr.s_addr = htonl(0x0a000001);
	answer(id, &mock.address);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	if (mock_fails("rdma_resolve_route"))
		return -1;
	answer(id, &mock.route);
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	if (mock_fails("rdma_create_qp"))
		return -1;
	if (id->verbs != pd->context)
		mock_violate("queue pair on another device than its protection domain");
	id->qp = ibv_create_qp(pd, init);
	if (!id->qp)
		return -1;
	((struct mock_qp *)id->qp)->id = id;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (mock_fails("rdma_connect"))
		return -1;
	mock.connect_param = *param;
	if (param->private_data_len)
		memcpy(mock.connect_private, param->private_data, param->private_data_len);
	((struct mock_id *)id)->connected = true;
	answer(id, &mock.connect);
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	if (mock_fails("rdma_listen"))
		return -1;
	if (!id->route.addr.src_sin.sin_port)
		id->route.addr.src_sin.sin_port = htons(34567);
	mock.listen_id = id;
	mock.listen_channel = id->channel;
	return 0;
}

void mock_request(const void *private_data, uint8_t len)
{
	struct rdma_cm_id *id;
	struct mock_cm_event *event;

	rdma_create_id(mock.listen_channel, &id, NULL, RDMA_PS_TCP);
	id->verbs = mock.context;
	id->route.addr.src_sin = (struct sockaddr_in){.sin_family = AF_INET,
						      .sin_port = htons(34567),
						      .sin_addr.s_addr = htonl(0x0a000001)};
	id->route.addr.dst_sin = (struct sockaddr_in){.sin_family = AF_INET,
						      .sin_port = htons(1023),
						      .sin_addr.s_addr = htonl(0x0a000009)};
	event = push(id, mock.listen_channel, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	event->event.listen_id = mock.listen_id;
	event->event.param.conn.responder_resources = 4;
	event->event.param.conn.initiator_depth = 8;
	memcpy(event->data, private_data, len);
	event->event.param.conn.private_data = event->data;
	event->event.param.conn.private_data_len = len;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (mock_fails("rdma_accept"))
		return -1;
	mock.accept_param = *param;
	answer(id, &mock.accept);
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t len)
{
	mock.rejects++;
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	mock.disconnects++;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* listen.c - listeners and connection requests of the fake. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/fake/internal.h"

struct fake_listen *fake_listen_find(uint16_t port)
{
	UTIL_LIST_FOR_EACH (pos, &fake_world.listens) {
		struct fake_listen *l = UTIL_LIST_ENTRY(pos, struct fake_listen, node);

		if (l->port == port)
			return l;
	}
	return NULL;
}

struct fake_listen *fake_listen_add(uint16_t port)
{
	struct fake_listen *l = calloc(1, sizeof(*l));

	l->port = port ? port : fake_world.next_port++;
	l->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	util_list_init(&l->requests);
	util_list_init(&l->peers);
	util_list_add(&fake_world.listens, &l->node);
	fake_world.objects++;
	return l;
}

void fake_request_add(struct fake_listen *l, struct fake_conn *from)
{
	struct fake_request *req;

	if (l->raw) {
		fake_raw_establish(l, from);
		return;
	}
	req = calloc(1, sizeof(*req));
	req->from = from;
	req->req.domain = &l->domain->domain;
	l->domain->refs++;
	memcpy(req->req.peer_private, from->params.private_data, from->params.private_len);
	req->req.peer_private_len = from->params.private_len;
	req->req.peer = from->conn.local;
	req->req.local = from->conn.peer;
	util_list_add(&l->requests, &req->node);
	fake_world.objects++;
	fake_signal(l->event_fd);
}

void fake_requests_forget(struct util_list *requests, const struct fake_conn *from)
{
	UTIL_LIST_FOR_EACH (pos, requests) {
		struct fake_request *r = UTIL_LIST_ENTRY(pos, struct fake_request, node);

		if (r->from == from)
			r->from = NULL;
	}
}

int fake_listen_open(struct fabric *fabric, const struct sockaddr *addr, socklen_t len,
		     struct sockaddr_storage *bound, struct fabric_listener **listenerp,
		     struct util_err *err)
{
	struct sockaddr_storage ss = {0};
	struct fake_listen *l;
	int code;

	memcpy(&ss, addr, len);
	fake_lock();
	code = fake_may_fail();
	if (code == 0 && fake_port_of(&ss) && fake_listen_find(fake_port_of(&ss)))
		code = -EADDRINUSE;
	if (code) {
		fake_unlock();
		return util_err_set(err, code, "fake: listen: %s", strerror(-code));
	}
	l = fake_listen_add(fake_port_of(&ss));
	l->listener.fabric = fabric;
	l->domain = fake_domain_create(fabric);
	((struct sockaddr_in *)&ss)->sin_port = htons(l->port);
	*bound = ss;
	fake_unlock();
	*listenerp = &l->listener;
	return 0;
}

int fake_listener_fd(struct fabric_listener *listener)
{
	return ((struct fake_listen *)listener)->event_fd;
}

int fake_listener_poll(struct fabric_listener *listener, struct fabric_request **reqp)
{
	struct fake_listen *l = (struct fake_listen *)listener;
	struct util_list *node;
	uint64_t count;

	fake_lock();
	node = util_list_pop(&l->requests);
	if (node) {
		util_list_add(&fake_world.fetched, node);
		*reqp = &UTIL_LIST_ENTRY(node, struct fake_request, node)->req;
	} else if (read(l->event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		fake_violate("eventfd: %s", strerror(errno));
	fake_unlock();
	return node ? 0 : -EAGAIN;
}

uint64_t fake_listener_deadline(struct fabric_listener *listener)
{
	(void)listener;
	return 0;
}

void fake_listener_close(struct fabric_listener *listener)
{
	struct fake_listen *l = (struct fake_listen *)listener;
	struct fabric_request *req;

	while (fake_listener_poll(listener, &req) == 0)
		fake_request_reject(req);
	fake_lock();
	util_list_del(&l->node);
	if (l->domain)
		fake_domain_release(l->domain);
	fake_world.objects--;
	fake_unlock();
	close(l->event_fd);
	free(l);
}

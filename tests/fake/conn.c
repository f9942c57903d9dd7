/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conn.c - connections of the fake: a pair of ends, or one end and a raw peer.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "tests/fake/internal.h"

uint16_t fake_port_of(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

void fake_conn_init(struct fake_conn *c, const void *owner)
{
	c->owner = owner;
	util_list_init(&c->node);
	util_list_init(&c->sq);
	util_list_init(&c->rq);
	util_list_init(&c->msgs);
	c->advanced = &c->sq;
	fake_world.objects++;
}

static void event(struct fake_conn *c, enum fabric_wc_type type)
{
	struct fabric_wc wc = {.conn = &c->conn, .type = type};

	if (!c->raw)
		fake_cq_add((struct fake_cq *)c->conn.cq, &wc);
}

static void set_private(struct fake_conn *to, const struct fake_conn *from)
{
	/* As a CM does, private data is padded on its way. */
	memset(to->conn.peer_private, 0, sizeof(to->conn.peer_private));
	memcpy(to->conn.peer_private, from->params.private_data, from->params.private_len);
	to->conn.peer_private_len = from->params.private_len;
}

void fake_establish(struct fake_conn *a, struct fake_conn *b)
{
	struct fake_conn *both[] = {a, b};

	a->other = b;
	b->other = a;
	set_private(a, b);
	set_private(b, a);
	for (int i = 0; i < 2; i++) {
		both[i]->conn.state = FABRIC_CONN_ESTABLISHED;
		event(both[i], FABRIC_EV_ESTABLISHED);
	}
}

static void end_one(struct fake_conn *c, const char *why)
{
	if (c->over)
		return;
	if (!c->raw)
		fake_conn_flush(c);
	c->over = true;
	fake_windows_drop(c);
	c->conn.state = FABRIC_CONN_CLOSED;
	if (why)
		util_err_set(&c->conn.err, -ECONNRESET, "fake: %s", why);
	event(c, FABRIC_EV_DISCONNECTED);
}

void fake_conn_end(struct fake_conn *c, const char *why)
{
	struct fake_conn *other = c->other;

	end_one(c, why);
	if (other)
		end_one(other, NULL);
}

/* The end is about to be freed: nobody points to it any more. */
void fake_conn_detach(struct fake_conn *c)
{
	struct util_list *node;

	if (c->other)
		c->other->other = NULL;
	UTIL_LIST_FOR_EACH (pos, &fake_world.listens)
		fake_requests_forget(&UTIL_LIST_ENTRY(pos, struct fake_listen, node)->requests, c);
	fake_requests_forget(&fake_world.fetched, c);
	util_list_del(&c->node);
	while ((node = util_list_pop(&c->sq)))
		free(UTIL_LIST_ENTRY(node, struct fake_wr, node));
	while ((node = util_list_pop(&c->rq)))
		free(UTIL_LIST_ENTRY(node, struct fake_rr, node));
	while ((node = util_list_pop(&c->msgs)))
		free(UTIL_LIST_ENTRY(node, struct fake_msg, node));
	fake_world.objects--;
}

static struct fake_conn *conn_create(struct fabric_cq *fcq, const struct fabric_conn_params *params)
{
	struct fake_cq *cq = (struct fake_cq *)fcq;
	const struct fabric_attr *attr = &fcq->domain->attr;
	struct fake_conn *c = calloc(1, sizeof(*c));

	if (params->max_send_wr > attr->max_send_wr || params->max_recv_wr > attr->max_recv_wr ||
	    params->max_sge > attr->max_sge || params->max_inline > attr->max_inline ||
	    params->max_send_wr == 0 || params->max_recv_wr == 0)
		fake_violate("connection parameters beyond the device's");
	fake_conn_init(c, fcq->domain->provider);
	c->conn.cq = fcq;
	c->conn.context = params->context;
	c->params = *params;
	util_list_add(&cq->conns, &c->node);
	return c;
}

int fake_conn_connect(struct fabric_cq *cq, const struct fabric_conn_params *params,
		      struct fabric_conn **connp, struct util_err *err)
{
	struct fake_listen *l;
	struct fake_conn *c;
	int code;

	fake_lock();
	fake_world.seen.connects++;
	code = fake_may_fail();
	if (code) {
		fake_unlock();
		return util_err_set(err, code, "fake: scripted failure");
	}
	c = conn_create(cq, params);
	c->conn.peer = params->peer;
	c->conn.local = params->local;
	if (params->local.ss_family == 0) {
		struct sockaddr_in *sin = (struct sockaddr_in *)&c->conn.local;

		*sin = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_port = htons(fake_world.next_port++)};
	}
	l = fake_listen_find(fake_port_of(&params->peer));
	if (l && !fake_world.refuse)
		fake_request_add(l, c);
	else
		end_one(c, "connection refused");
	fake_unlock();
	*connp = &c->conn;
	return 0;
}

int fake_conn_accept(struct fabric_cq *cq, struct fabric_request *freq,
		     const struct fabric_conn_params *params, struct fabric_conn **connp,
		     struct util_err *err)
{
	struct fake_request *req = (struct fake_request *)freq;
	struct fake_conn *c;
	int code;

	fake_lock();
	code = fake_may_fail();
	if (code == 0 && !req->from)
		code = -ECONNABORTED;
	if (code) {
		fake_unlock();
		return util_err_set(err, code, "fake: scripted failure");
	}
	c = conn_create(cq, params);
	c->conn.peer = freq->peer;
	c->conn.local = freq->local;
	c->other = req->from;
	req->from->other = c;
	set_private(c, req->from);
	util_list_del(&req->node);
	fake_domain_release((struct fake_domain *)freq->domain);
	free(req);
	fake_world.objects--;
	fake_unlock();
	*connp = &c->conn;
	return 0;
}

int fake_conn_start(struct fabric_conn *conn)
{
	struct fake_conn *c = (struct fake_conn *)conn;
	int code;

	fake_lock();
	code = fake_may_fail();
	if (code == 0) {
		if (util_list_empty(&c->rq))
			fake_violate("a connection was started without receives");
		if (c->other)
			fake_establish(c->other, c);
		else
			end_one(c, "the peer went away");
	}
	fake_unlock();
	return code;
}

void fake_request_reject(struct fabric_request *freq)
{
	struct fake_request *req = (struct fake_request *)freq;

	fake_lock();
	if (req->from)
		end_one(req->from, "connection rejected");
	util_list_del(&req->node);
	fake_domain_release((struct fake_domain *)freq->domain);
	fake_world.objects--;
	free(req);
	fake_unlock();
}

void fake_conn_disconnect(struct fabric_conn *conn)
{
	fake_lock();
	fake_conn_end((struct fake_conn *)conn, NULL);
	fake_unlock();
}

void fake_conn_destroy(struct fabric_conn *conn)
{
	struct fake_conn *c = (struct fake_conn *)conn;
	struct fake_cq *cq = (struct fake_cq *)conn->cq;

	fake_lock();
	if (c->other)
		end_one(c->other, NULL);
	UTIL_LIST_FOR_EACH_SAFE (pos, &cq->wcs) {
		struct fake_wc *w = UTIL_LIST_ENTRY(pos, struct fake_wc, node);

		if (w->wc.conn != conn)
			continue;
		if (w->wc.type == FABRIC_WC_SEND || w->wc.type == FABRIC_WC_RECV)
			cq->held--;
		util_list_del(pos);
		free(w);
	}
	fake_conn_detach(c);
	fake_unlock();
	free(c);
}

void fake_cut_all(void)
{
	fake_lock();
	UTIL_LIST_FOR_EACH (pos, &fake_world.cqs) {
		struct fake_cq *cq = UTIL_LIST_ENTRY(pos, struct fake_cq, node);

		UTIL_LIST_FOR_EACH_SAFE (cpos, &cq->conns)
			fake_conn_end(UTIL_LIST_ENTRY(cpos, struct fake_conn, node),
				      "the link was cut");
	}
	fake_unlock();
}

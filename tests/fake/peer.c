/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.c - raw peers: the other end, played by a test byte by byte. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "tests/fake/internal.h"

struct fake_peer *fake_peer_create(const void *private, size_t len)
{
	struct fake_peer *peer = calloc(1, sizeof(*peer));

	fake_conn_init(&peer->conn, peer);
	peer->conn.raw = true;
	if (len > 0)
		memcpy(peer->conn.params.private_data, private, len);
	peer->conn.params.private_len = (uint16_t)len;
	return peer;
}

struct fake_listen *fake_raw_listen(uint16_t port, const void *private, size_t len)
{
	struct fake_listen *l;

	fake_lock();
	l = fake_listen_add(port);
	l->raw = true;
	if (len > 0)
		memcpy(l->private, private, len);
	l->private_len = len;
	fake_unlock();
	return l;
}

void fake_raw_establish(struct fake_listen *l, struct fake_conn *from)
{
	struct fake_peer *peer = fake_peer_create(l->private, l->private_len);

	util_list_add(&l->peers, &peer->conn.node);
	fake_establish(from, &peer->conn);
}

struct fake_peer *fake_raw_accept(struct fake_listen *l)
{
	struct util_list *node;

	fake_lock();
	node = util_list_pop(&l->peers);
	fake_unlock();
	return node ? UTIL_CONTAINER_OF(UTIL_LIST_ENTRY(node, struct fake_conn, node),
					struct fake_peer, conn)
		    : NULL;
}

void fake_raw_close(struct fake_listen *l)
{
	struct fake_peer *peer;

	while ((peer = fake_raw_accept(l)))
		fake_peer_destroy(peer);
	fake_listener_close(&l->listener);
}

struct fake_peer *fake_raw_connect(uint16_t port, const void *private, size_t len)
{
	struct fake_peer *peer = NULL;
	struct fake_listen *l;

	fake_lock();
	l = fake_listen_find(port);
	if (l) {
		peer = fake_peer_create(private, len);
		peer->conn.conn.local.ss_family = AF_INET;
		fake_request_add(l, &peer->conn);
	}
	fake_unlock();
	return peer;
}

bool fake_peer_established(const struct fake_peer *peer)
{
	bool up;

	fake_lock();
	up = peer->conn.conn.state == FABRIC_CONN_ESTABLISHED;
	fake_unlock();
	return up;
}

size_t fake_peer_private(const struct fake_peer *peer, uint8_t *buf, size_t size)
{
	size_t len;

	fake_lock();
	len = peer->conn.conn.peer_private_len;
	memcpy(buf, peer->conn.conn.peer_private, len < size ? len : size);
	fake_unlock();
	return len;
}

ssize_t fake_peer_recv(struct fake_peer *peer, void *buf, size_t size)
{
	struct fake_conn *c = &peer->conn;
	struct util_list *node;
	ssize_t len;

	fake_lock();
	node = util_list_pop(&c->msgs);
	if (node) {
		struct fake_msg *m = UTIL_LIST_ENTRY(node, struct fake_msg, node);

		len = (ssize_t)m->len;
		c->inv = m->inv;
		c->inv_rkey = m->inv_rkey;
		memcpy(buf, m->bytes, m->len < size ? m->len : size);
		free(m);
	} else {
		len = c->over ? -ENOTCONN : -EAGAIN;
	}
	fake_unlock();
	return len;
}

bool fake_peer_invalidated(const struct fake_peer *peer, uint32_t *rkey)
{
	*rkey = peer->conn.inv_rkey;
	return peer->conn.inv;
}

static int peer_send(struct fake_peer *peer, const void *buf, size_t len, const uint32_t *inv)
{
	struct fabric_sge sge = {.ptr = (void *)buf, .len = (uint32_t)len};
	enum fabric_wc_status status;
	int err = 0;

	fake_lock();
	if (peer->conn.over || !peer->conn.other) {
		fake_unlock();
		return -ENOTCONN;
	}
	status = fake_deliver(peer->conn.other, &sge, 1, inv);
	if (status == FABRIC_WC_RNR)
		err = -ENOBUFS;
	else if (status != FABRIC_WC_OK) {
		err = -EMSGSIZE;
		fake_conn_end(peer->conn.other, "local length error");
	}
	fake_unlock();
	return err;
}

int fake_peer_send(struct fake_peer *peer, const void *buf, size_t len)
{
	return peer_send(peer, buf, len, NULL);
}

int fake_peer_send_inv(struct fake_peer *peer, const void *buf, size_t len, uint32_t rkey)
{
	return peer_send(peer, buf, len, &rkey);
}

static int peer_rdma(struct fake_peer *peer, uint32_t rkey, uint64_t iova, void *buf, size_t len,
		     bool write)
{
	uint8_t *remote = NULL;
	int err = -ENOTCONN;

	fake_lock();
	if (!peer->conn.over && peer->conn.other) {
		remote = fake_reach(peer->conn.other, rkey, iova, len,
				    write ? MR_ACCESS_REMOTE_WRITE : MR_ACCESS_REMOTE_READ);
		err = remote ? 0 : -EACCES;
	}
	if (remote && write)
		memcpy(remote, buf, len);
	else if (remote)
		memcpy(buf, remote, len);
	fake_unlock();
	return err;
}

int fake_peer_write(struct fake_peer *peer, uint32_t rkey, uint64_t iova, const void *buf,
		    size_t len)
{
	return peer_rdma(peer, rkey, iova, (void *)buf, len, true);
}

int fake_peer_read(struct fake_peer *peer, uint32_t rkey, uint64_t iova, void *buf, size_t len)
{
	return peer_rdma(peer, rkey, iova, buf, len, false);
}

uint32_t fake_peer_register(struct fake_peer *peer, void *mem, size_t len, unsigned access,
			    uint64_t *iova)
{
	struct fake_region *r;

	fake_lock();
	r = fake_region_add(peer, mem, len, access);
	*iova = r->iova;
	fake_unlock();
	return r->key;
}

unsigned fake_peer_receives(const struct fake_peer *peer)
{
	unsigned n;

	fake_lock();
	n = peer->conn.other ? peer->conn.other->rq_used : 0;
	fake_unlock();
	return n;
}

void fake_peer_disconnect(struct fake_peer *peer)
{
	fake_lock();
	fake_conn_end(&peer->conn, NULL);
	fake_unlock();
}

void fake_peer_destroy(struct fake_peer *peer)
{
	if (!peer)
		return;
	fake_lock();
	fake_conn_end(&peer->conn, NULL);
	UTIL_LIST_FOR_EACH_SAFE (pos, &fake_world.regions) {
		struct fake_region *r = UTIL_LIST_ENTRY(pos, struct fake_region, node);

		if (r->owner != peer)
			continue;
		util_list_del(&r->node);
		fake_world.objects--;
		free(r);
	}
	fake_conn_detach(&peer->conn);
	fake_unlock();
	free(peer);
}

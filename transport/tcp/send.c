/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * send.c - the requester's sending side: a batch of calls, one sendmsg().
 *
 * A call's record is its mark and message up to where bulk data belongs, the data's segments,
 * padding, and the rest of the message; nothing is copied together.  A call counts as sent from its
 * first byte on: what is cut off in the middle is finished before anything else when the socket has
 * room again.
 */
#include <errno.h>
#include <sys/socket.h>

#include "transport/tcp/internal.h"

/* A call takes at most mark+message, 16 segments, padding and a rest. */
#define IOV_PER_CALL (TRANSPORT_MAX_SEGS + 3)
#define BATCH_IOVS 256

static const uint8_t zeros[4];

struct batch {
	struct iovec iov[BATCH_IOVS];
	unsigned niov;
	size_t len;
};

static size_t body_len(const struct transport_call *call)
{
	return call->msg_len + call->data_len + WIRE_PAD(call->data_len);
}

static size_t record_len(const struct transport_call *call)
{
	return TCP_MARK_LEN + body_len(call);
}

/* Add a piece of a record, less what of it was sent before. */
static void batch_add(struct batch *batch, const void *p, size_t len, size_t *skip)
{
	if (*skip >= len) {
		*skip -= len;
		return;
	}
	batch->iov[batch->niov].iov_base = (uint8_t *)p + *skip;
	batch->iov[batch->niov].iov_len = len - *skip;
	batch->len += len - *skip;
	batch->niov++;
	*skip = 0;
}

static void batch_add_data(struct batch *batch, const struct transport_call *call, size_t *skip)
{
	size_t left = call->data_len;

	for (unsigned i = 0; i < call->data_nsegs && left > 0; i++) {
		size_t len = call->data[i].len < left ? call->data[i].len : left;

		batch_add(batch, call->data[i].addr, len, skip);
		left -= len;
	}
	batch_add(batch, zeros, WIRE_PAD(call->data_len), skip);
}

static void batch_add_call(struct batch *batch, struct transport_call *call, size_t skip)
{
	/* mark and msg are one array of bytes on purpose */
	const uint8_t *record = (const uint8_t *)call + offsetof(struct transport_call, mark);
	size_t head = call->data_len > 0 ? call->data_pos : call->msg_len;

	util_put_be32(call->mark, TCP_LAST_FRAGMENT | (uint32_t)body_len(call));
	batch_add(batch, record, TCP_MARK_LEN + head, &skip);
	if (call->data_len == 0)
		return;
	batch_add_data(batch, call, &skip);
	batch_add(batch, record + TCP_MARK_LEN + head, call->msg_len - head, &skip);
}

/* What is cut off first, then from the queue as many as fit into the batch and into the slots. */
static void batch_fill(struct batch *batch, struct tcp_link *link)
{
	struct transport_client *client = link->link.client;
	unsigned slots = client->params.slots - client->nsent;

	batch->niov = 0;
	batch->len = 0;
	if (link->partial)
		batch_add_call(batch, link->partial, link->partial_off);
	UTIL_LIST_FOR_EACH (node, &client->queue) {
		if (slots == 0 || batch->niov + IOV_PER_CALL > BATCH_IOVS)
			break;
		batch_add_call(batch, UTIL_LIST_ENTRY(node, struct transport_call, node), 0);
		slots--;
	}
}

/* n bytes of the batch left: whose were they? */
static void batch_sent(struct tcp_link *link, size_t n)
{
	struct transport_client *client = link->link.client;

	if (link->partial) {
		size_t left = record_len(link->partial) - link->partial_off;

		if (n < left) {
			link->partial_off += n;
			return;
		}
		n -= left;
		link->partial = NULL;
	}
	while (n > 0) {
		struct transport_call *call =
			UTIL_LIST_ENTRY(client->queue.next, struct transport_call, node);
		size_t len = record_len(call);

		transport_client_sent(call);
		if (n < len) {
			link->partial = call;
			link->partial_off = n;
			return;
		}
		n -= len;
	}
}

static ssize_t batch_send(struct tcp_link *link, struct batch *batch)
{
	struct msghdr msg = {.msg_iov = batch->iov, .msg_iovlen = batch->niov};
	ssize_t n;

	do {
		n = sendmsg(link->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		link->counts.doorbells++;
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int tcp_link_flush(struct transport_link *l)
{
	struct tcp_link *link = tcp_link_of(l);
	struct transport_client *client = l->client;
	struct batch batch;
	ssize_t n;

	if (link->blocked)
		return 0; /* process() looks whether that has changed */
	for (;;) {
		batch_fill(&batch, link);
		if (batch.niov == 0)
			break;
		n = batch_send(link, &batch);
		if (n == -EAGAIN) {
			link->blocked = true;
			return 0;
		}
		if (n < 0)
			return tcp_socket_error((int)n, &client->params, &client->last_err);
		link->counts.bytes_sent += (uint64_t)n;
		batch_sent(link, (size_t)n);
		if ((size_t)n < batch.len) {
			link->blocked = true;
			return 0;
		}
	}
	if (!util_list_empty(&client->queue))
		client->counters.credit_waits++;
	return 0;
}

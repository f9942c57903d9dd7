/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.c - see stream.h.
 *
 * A record is one or more fragments; the mark before each is 31 bits of length and one bit that
 * says "last".  Lengths are the peer's: nothing here allocates by them or loops on them.  A
 * fragment of length zero is legal and costs the peer four bytes, so it needs no bound of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/tcp/stream.h"
#include "util/util.h"

int tcp_stream_init(struct tcp_stream *s, size_t size)
{
	memset(s, 0, sizeof(*s));
	s->stage = malloc(size);
	if (!s->stage)
		return -ENOMEM;
	s->size = size;
	return 0;
}

void tcp_stream_free(struct tcp_stream *s)
{
	free(s->stage);
	s->stage = NULL;
}

void tcp_stream_reset(struct tcp_stream *s)
{
	uint8_t *stage = s->stage;
	size_t size = s->size;

	memset(s, 0, sizeof(*s));
	s->stage = stage;
	s->size = size;
}

static bool take_mark(struct tcp_stream *s)
{
	uint32_t mark;

	if (s->end - s->start < TCP_MARK_LEN)
		return false;
	mark = util_get_be32(s->stage + s->start);
	s->start += TCP_MARK_LEN;
	s->last = (mark & TCP_LAST_FRAGMENT) != 0;
	s->frag_left = mark & ~TCP_LAST_FRAGMENT;
	s->record_len += s->frag_left;
	s->inside = true;
	return true;
}

size_t tcp_stream_next(struct tcp_stream *s, const uint8_t **p)
{
	size_t staged;

	while (s->frag_left == 0) {
		if (tcp_stream_ended(s) || !take_mark(s))
			return 0;
	}
	staged = s->end - s->start;
	*p = s->stage + s->start;
	return staged < s->frag_left ? staged : s->frag_left;
}

void tcp_stream_consume(struct tcp_stream *s, size_t n)
{
	s->start += n;
	s->frag_left -= (uint32_t)n;
}

/* Free room behind what is unread: normally nothing or a piece of a mark is moved. */
static void compact(struct tcp_stream *s)
{
	size_t unread = s->end - s->start;

	if (s->start == 0)
		return;
	memmove(s->stage, s->stage + s->start, unread);
	s->start = 0;
	s->end = unread;
}

int tcp_stream_fill(struct tcp_stream *s, int fd, struct iovec *direct, int ndirect,
		    size_t stage_limit, struct tcp_fill *fill)
{
	struct iovec iov[TCP_STREAM_MAX_DIRECT + 1];
	struct msghdr msg = {.msg_iov = iov};
	size_t wanted = 0, room;
	ssize_t n;

	compact(s);
	if (s->end > 0)
		ndirect = 0;
	for (int i = 0; i < ndirect; i++) {
		iov[i] = direct[i];
		wanted += direct[i].iov_len;
	}
	room = s->size - s->end;
	if (room > stage_limit)
		room = stage_limit;
	if (room + wanted == 0)
		return -ENOBUFS;
	iov[ndirect].iov_base = s->stage + s->end;
	iov[ndirect].iov_len = room;
	msg.msg_iovlen = (size_t)ndirect + 1;
	do {
		n = recvmsg(fd, &msg, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	fill->direct = (size_t)n < wanted ? (size_t)n : wanted;
	fill->total = (size_t)n;
	fill->drained = (size_t)n < wanted + room;
	s->frag_left -= (uint32_t)fill->direct;
	s->end += (size_t)n - fill->direct;
	return 1;
}

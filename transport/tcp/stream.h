/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - record marking (RFC 5531 section 11) on the receiving side, for both roles.
 *
 * Bytes come out of the socket into two places by one system call: straight to where the consumer
 * wants the rest of the current fragment (a READ's sink, a WRITE's buffer), and what lies behind
 * that into a small *stage*, where record marks and headers are looked at.
 */
#ifndef NFSRDMA_TCP_STREAM_H
#define NFSRDMA_TCP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define TCP_MARK_LEN 4
#define TCP_LAST_FRAGMENT UINT32_C(0x80000000)

struct tcp_stream {
	uint8_t *stage;
	size_t size, start, end; /* unread: stage[start..end) */
	uint32_t frag_left;	 /* bytes of the current fragment not yet consumed */
	bool last;		 /* the current fragment is the record's last */
	bool inside;		 /* a record has begun and its end was not yet acknowledged */
	uint64_t record_len; /* bytes of the record in this and earlier fragments, as announced */
};

int tcp_stream_init(struct tcp_stream *s, size_t size);
void tcp_stream_free(struct tcp_stream *s);
/* Forget everything: a new connection. */
void tcp_stream_reset(struct tcp_stream *s);

/* Parse marks as needed; the stretch of the current fragment that lies in the stage.  0: nothing
 * (more must be filled), or the record has ended. */
size_t tcp_stream_next(struct tcp_stream *s, const uint8_t **p);
/* n bytes of that stretch were used. */
void tcp_stream_consume(struct tcp_stream *s, size_t n);
/* All of the record's bytes were consumed. */
static inline bool tcp_stream_ended(const struct tcp_stream *s)
{
	return s->inside && s->last && s->frag_left == 0;
}
/* Acknowledge the end: the next mark begins a new record. */
static inline void tcp_stream_end(struct tcp_stream *s)
{
	s->inside = false;
	s->record_len = 0;
}
/* The rest of the record lies in the stage, in one piece. */
static inline bool tcp_stream_rest_staged(const struct tcp_stream *s)
{
	return s->inside && s->last && s->frag_left <= s->end - s->start;
}

/* What one fill did. */
struct tcp_fill {
	size_t direct; /* bytes that went to the direct places: already consumed */
	size_t total;  /* bytes in all */
	bool drained;  /* the socket gave less than it was asked for */
};

/*
 * One recvmsg(): at most frag_left bytes to the ndirect places (none unless the stage is
 * empty), then up to stage_limit bytes to the stage.  Returns 1 (something came), 0 (the peer
 * closed), -EAGAIN, -ENOBUFS (the stage is full: consume first) or another -errno.
 */
int tcp_stream_fill(struct tcp_stream *s, int fd, struct iovec *direct, int ndirect,
		    size_t stage_limit, struct tcp_fill *fill);

#define TCP_STREAM_MAX_DIRECT 17

#endif
